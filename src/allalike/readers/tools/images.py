"""Marks in pictures: COCO and CVAT, with outlined and painted areas as masks."""

from __future__ import annotations

import io
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.masks import Mask, check_size, of_run_lengths
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_prolog
from allalike.readers.tools.base import (
    Peek,
    UnexpectedValueError,
    get,
    get_list,
    get_number,
    get_numbers,
    get_text,
    read_bytes,
    unexpected,
)
from allalike.readers.tools.frame import AREAS, Answer, Export, mark, record_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from xml.etree.ElementTree import Element  # nosec B405 # its type only

    from allalike.readers.tools.frame import Size

_WORKER = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id")
_FIELDS = {"bbox": "boxes", "keypoints": "points", "segmentation": AREAS, "caption": "texts"}
_SHAPES = {"box": "boxes", "ellipse": "ellipses", "polyline": "polylines", "points": "points"}


# COCO.


class _Document(NamedTuple):
    """A file of COCO: images and categories by their ids, and marks."""

    path: Path
    images: dict[Any, dict[str, Any]]
    categories: dict[Any, dict[str, Any]]
    marks: list[dict[str, Any]]

    @classmethod
    def read(cls, export: Export, path: Path) -> _Document:
        document = export.document(path)
        if isinstance(document, list):  # of results
            document = {"annotations": document}
        images, kinds = (
            {each["id"]: each for each in export.each(get_list(document, key), path, what)}
            for key, what in (("images", "image"), ("categories", "category"))
        )
        marks = list(export.each(get_list(document, "annotations"), path, "annotation"))
        for image in images.values():
            name = str(get(image, "file_name", "id"))
            export.show(name, image, picture=name, sides=(image.get("width"), image.get("height")))
        images = images or {each["image_id"]: {"id": each["image_id"]} for each in marks}
        return cls(path, images, kinds, marks)

    def read_mark(self, found: dict[str, Any], key: str) -> list[Any]:
        """Return the content of a field of a mark, with its class; areas as pairs of class and outline or mask."""
        if not _has(found, key):
            return []
        if key == "caption":
            return [get_text(found, key)]
        number = found.get("category_id")
        category = self.categories.get(number)
        name = number if category is None else category["name"]
        if key == "segmentation":
            if isinstance(found[key], dict):
                return [(name, Mask.of(of_run_lengths(found[key])))]
            outlines = [get_numbers(outline) for outline in get_list(found, key)]
            if any(len(outline) % 2 for outline in outlines):
                raise unexpected(found[key], "x and y of each point", key)
            return [(name, list(zip(outline[::2], outline[1::2], strict=True))) for outline in outlines]
        numbers = get_numbers(found, key)
        if key == "keypoints":
            points = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=False))
            names = get_list(category, "keypoints") or range(1, len(points) + 1)
            return [mark(name, x=x, y=y) for name, (x, y, visible) in zip(names, points, strict=False) if visible]
        if len(numbers) != 4:
            raise unexpected(found[key], "[x, y, width, height]", key)
        score = get_number(found, "score", default=None)
        return [mark(name, bbox=numbers, **({} if score is None else {"score": score}))]


def _has(found: dict[str, Any], key: str) -> bool:
    return bool(found.get(key)) and (key != "keypoints" or found.get("num_keypoints") != 0)


def _is_coco(peek: Peek) -> bool:
    """Return whether a file has pictures and annotations of them, or a list of detections."""
    if not isinstance(peek.document, dict):
        results = ("image_id" in each and not _FIELDS.keys().isdisjoint(each) for each in peek.records)
        return bool(peek.records) and all(results)
    return peek.has("annotations.image_id") or peek.has("images.id", "images.file_name")


@record_tool("coco", "COCO", _is_coco, shows=True)
def coco(export: Export) -> Iterator[Answer]:
    """Read boxes, outlines or key points in pictures, one file for each annotator (JSON).

    File: ``{"images": [...], "categories": [...], "annotations": [{"image_id": 1, "bbox": [1, 2, 30, 40]}]}``, or a
    list of results, which has the annotations alone. The worker is the file's name, or an ``annotator`` of the marks;
    the question names another field than the boxes. Each picture in a file was seen by its owner.
    """
    pages = [_Document.read(export, path) for path in export.paths]
    marks = [found for page in pages for found in page.marks]
    by_file = export.by_file or all(get(found, *_WORKER) is None for found in marks)
    if by_file:
        export.refuse_one_file(f"{len(marks):,} marks in {len(pages[0].images):,} pictures and no annotators")
    key = _choose_field(export, marks)
    for page in pages:
        labels: dict[Any, list[Any]] = {}
        if by_file:
            labels = {(export.places[page.path][0], image): [] for image in page.images}
        for found in export.each(page.marks, page.path, "annotation"):
            worker, image = export.owner if by_file else get(found, *_WORKER), found["image_id"]
            if image not in page.images:
                raise UnexpectedValueError(f"'image_id' is {image!r}, which is the id of no image")
            labels.setdefault((worker, image), []).extend(page.read_mark(found, key))
        for (worker, image), label in labels.items():
            picture = get(page.images[image], "file_name", "id")
            export.see(worker, picture)
            if key != "segmentation":
                yield Answer(worker, picture, "\n".join(label) if key == "caption" else label, key, _FIELDS[key])
                continue
            sides = [get_number(page.images[image], side, default=None) for side in ("height", "width")]
            for name, part in label:
                export.draw(key, worker, picture, name, part, None if None in sides else (sides[0], sides[1]))


def _choose_field(export: Export, marks: list[dict[str, Any]]) -> str:
    """Return which field of marks to read: the first that is there, or that of the question."""
    tag = export.files.question
    keys = [key for key in _FIELDS if any(_has(found, key) for found in marks)]
    if not keys:
        raise InputError(f"{export.where}, holds no marks with one of the fields {', '.join(_FIELDS)}.")
    if tag is not None and tag not in keys:
        proposals = [Proposal({"question": key}) for key in keys]
        raise InputError(f"{export.where}, has no {tag!r}. It has: {', '.join(keys)}.", proposals=proposals)
    if tag is None and len(keys) > 1:
        export.remarks.append(
            f"Read: the field {keys[0]!r} of each mark. There are also {', '.join(keys[1:])} (question)."
        )
    return tag or keys[0]


# CVAT.


def parse_annotations(path: Path) -> Element:
    """Read a file of annotations as XML, without entities."""
    from xml.etree import ElementTree  # nosec B405 # without entities, see below

    data = read_bytes(path)
    check_prolog(path, io.BytesIO(data), "CVAT")
    try:
        return ElementTree.fromstring(data)  # nosec B314 # entities were refused
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path} cannot be read as XML: {error}.") from error


def _is_cvat(peek: Peek) -> bool:
    start = peek.start[:4096]
    marks = ("<meta>", "<image ", "<track ", "<version>")
    return peek.ending == ".xml" and "<annotations" in start and any(each in start for each in marks)


@record_tool("cvat", "CVAT", _is_cvat, shows=True)
def cvat(export: Export) -> Iterator[Answer]:
    """Read tags, boxes, outlines or points in pictures and videos, one file for each annotator (XML).

    Image: ``<image id="0" name="a.jpg"><box label="cat" xtl="1" ytl="2" xbr="31" ybr="42"/></image>``. Questions are
    ``tags``, their attributes, ``boxes``, ``areas`` (polygons and masks), ``polylines``, ``points`` and ``ellipses``.
    Shapes in the tracks of a video are marks of its frames. A frame that one annotator marked was seen by all.
    """
    export.refuse_one_file("the marks of one annotator")
    pages = [_Page(export, path) for path in export.paths]
    frames = {picture for page in pages for picture in page.marks if isinstance(picture, int)}
    for page in pages:
        for picture in [*page.marks, *sorted(frames - page.marks.keys())]:
            export.see(page.worker, picture)
            for question, labels in page.marks.get(picture, {}).items():
                is_shape = question in _SHAPES.values()
                label, kind = (labels, question) if is_shape else (tuple(labels), "classes")
                yield Answer(page.worker, picture, label, question, kind)


class _Page:
    """A file of CVAT: marks by picture, or frame of a video, and by question; areas are drawn."""

    def __init__(self, export: Export, path: Path) -> None:
        self.export, self.worker = export, export.places[path][0]
        self.marks: dict[str | int, dict[str, list[Any]]] = {}
        root = parse_annotations(path)
        for number, image in enumerate(root.iter("image"), start=1):
            export.at = f"{path}: image {number}"
            name, size = image.attrib["name"], _read_size(image.get)
            export.show(name, image.attrib, picture=name, sides=(image.get("width"), image.get("height")))
            self.marks.setdefault(name, defaultdict(list))
            for shape in image:
                self.add(name, shape, shape.get("label"), size)
        export.at = f"{path}: original_size"
        size = next((_read_size(video.findtext) for video in root.iter("original_size")), None)
        for number, track in enumerate(root.iter("track"), start=1):
            export.at = f"{path}: track {number}"
            for shape in track:
                if shape.get("outside") != "1":
                    self.add(int(shape.attrib["frame"]), shape, track.get("label"), size)

    def add(self, picture: str | int, shape: Element, kind: str | None, size: Size) -> None:
        """Add a shape: a tag with its attributes, an area, or regions with their class."""
        marks = self.marks.setdefault(picture, defaultdict(list))
        if shape.tag == "tag":
            marks["tags"].append(shape.attrib["label"])
            for attribute in shape.iter("attribute"):
                marks[f"{shape.get('label')}.{attribute.attrib['name']}"].append((attribute.text or "").strip())
        elif shape.tag in ("polygon", "mask"):
            part: Any = _read_points(shape) if shape.tag == "polygon" else _read_mask(shape, size)
            self.export.draw(AREAS, self.worker, picture, kind, part, size)
        elif shape.tag in _SHAPES:
            marks[_SHAPES[shape.tag]] += [mark(kind or None, **region) for region in _read_regions(shape)]
        else:
            self.export.leave_out(f"marks of the kind {shape.tag!r}")


def _read_size(get_side: Callable[[str], str | None]) -> Size:
    """Return height and width, if both are there."""
    height, width = get_side("height"), get_side("width")
    return (_parse(height), _parse(width)) if height and width else None


def _read_regions(shape: Element) -> list[dict[str, Any]]:
    if shape.tag == "box":
        left, top, right, bottom = _read_numbers(shape, "xtl", "ytl", "xbr", "ybr")
        turned = _parse(shape.get("rotation") or "0")
        return [{"bbox": [left, top, right - left, bottom - top], **({"rotation": turned} if turned else {})}]
    if shape.tag == "ellipse":
        x, y, width, height = _read_numbers(shape, "cx", "cy", "rx", "ry")
        return [{"bbox": [x - width, y - height, 2 * width, 2 * height]}]
    points = _read_points(shape)
    return [{"x": x, "y": y} for x, y in points] if shape.tag == "points" else [{"points": points}]


def _read_points(shape: Element) -> list[list[float]]:
    points = [[_parse(part) for part in pair.split(",")] for pair in shape.get("points", "").split(";") if pair.strip()]
    if any(len(point) != 2 for point in points):
        raise UnexpectedValueError(f"'{shape.tag}.points' is {shape.get('points')!r}, where points 'x,y' should be")
    return points


def _read_mask(shape: Element, size: Size) -> Mask:
    """Read run lengths in a box of the picture, row after row."""
    left, top, width, height = map(int, _read_numbers(shape, "left", "top", "width", "height"))
    try:
        runs = list(map(int, shape.get("rle", "").split(",")))
    except ValueError:
        raise UnexpectedValueError(f"'mask.rle' is {shape.get('rle')!r}, where run lengths should be") from None
    painted = of_run_lengths({"size": [width, height], "counts": runs}).T  # whose own go column after column
    rows, columns = map(int, size or (0, 0))
    around = ((top, rows - top - height), (left, columns - left - width))
    if min(map(min, around)) < 0:
        known = "of unknown size" if size is None else f"of {rows} x {columns} pixels"
        raise UnexpectedValueError(f"a mask of {height} x {width} pixels at {top}, {left} is outside a picture {known}")
    check_size(rows, columns)
    return Mask.of(np.pad(painted, around))


def _read_numbers(shape: Element, *names: str) -> list[float]:
    return [_parse(shape.attrib[name]) for name in names]


def _parse(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnexpectedValueError(f"{text!r} stands where a number should be")
    return number
