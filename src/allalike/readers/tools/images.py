"""Marks in pictures: COCO and CVAT, with outlined and painted areas as masks.

All that a worker drew of a class in a picture is one mask. Where there are several classes, each that somebody drew in
a picture is a task of its own, named after both, as the values of a label map are; who saw the picture and did not
draw the class says that it is not there. Where an export does not say how large a picture is, it is taken to end where
the outlines in it do: the distances of masks do not depend on it.
"""

from __future__ import annotations

import io
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.masks import Mask, check_size, draw, of_run_lengths
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
from allalike.readers.tools.frame import Answer, Export, record_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
    from pathlib import Path
    from xml.etree.ElementTree import Element  # nosec B405 # its type only

    from allalike._core.masks import Part

    Size = tuple[float, float] | None  # height and width
    Marks = defaultdict[str, list[Any]]  # in a picture, by question

_MIN_POINTS = 3  # of an outline that goes around something
_WORKER = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id")
_FIELDS = {"bbox": "boxes", "keypoints": "points", "segmentation": "areas", "caption": "texts"}
_SHAPES = {"box": "boxes", "ellipse": "ellipses", "polyline": "polylines", "points": "points"}
_AREAS = "areas"  # which are drawn as polygons or painted as masks


@dataclass
class Areas:
    """What was drawn in pictures, and how large these are."""

    where: str
    sizes: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    seen: dict[Hashable, dict[Any, None]] = field(default_factory=dict)
    drawn: dict[Hashable, dict[Any, dict[Any, list[Part]]]] = field(default_factory=dict)
    flat: int = 0

    def see(self, worker: Any, picture: Hashable, size: Size = None) -> None:
        """Note that a worker saw a picture, perhaps of a known height and width."""
        self.seen.setdefault(picture, {})[worker] = None
        if size is None:
            return
        try:
            height, width = map(int, size)
            check_size(height, width)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{self.where}: the picture {picture!r} cannot be so large: {error}.") from None
        if self.sizes.setdefault(picture, (height, width)) != (height, width):
            known = " x ".join(map(str, self.sizes[picture]))
            raise InputError(
                f"{self.where}: the picture {picture!r} has {height} x {width} pixels in one place, and {known} in"
                " another (height x width). Correct the file, or leave it out."
            )

    def draw(self, worker: Any, picture: Hashable, kind: Any, part: Part) -> None:
        """Add what a worker drew of a class; what is painted has the size of the picture."""
        if isinstance(part, Mask):
            self.see(worker, picture, (part.height, part.width))
        if isinstance(part, Mask) or len(part) >= _MIN_POINTS:
            self.drawn.setdefault(picture, {}).setdefault(kind, {}).setdefault(worker, []).append(part)
        else:
            self.flat += 1

    def masks(self) -> Iterator[tuple[Any, Any, Any, Mask]]:
        """Yield worker, picture, class and mask, for all who saw a picture in which somebody drew the class."""
        for picture, kinds in self.drawn.items():
            if picture not in self.sizes:
                parts: list[Any] = [part for by in kinds.values() for some in by.values() for part in some]
                width, height = np.max([(1, 1), *(np.max(part, axis=0) for part in parts)], axis=0)
                self.see(next(iter(self.seen[picture])), picture, (np.ceil(height), np.ceil(width)))
            for kind, by in kinds.items():
                for worker in self.seen[picture]:
                    yield worker, picture, kind, draw(by.get(worker, []), *self.sizes[picture])

    def answers(self, export: Export, question: str, gold: Collection[Any] = ()) -> Iterator[Answer]:
        """Yield all masks as answers, and say what was left out or taken for granted."""
        export.leave_out("outlines of fewer than three points", self.flat)
        export.leave_out("pictures in which nobody drew anything", len(self.seen.keys() - self.drawn.keys()))
        if unknown := len(self.drawn.keys() - self.sizes.keys()):
            export.remarks.append(
                f"How large a picture is, is not said of {unknown:,}: they are taken to end where their outlines do."
            )
        several = len({kind for kinds in self.drawn.values() for kind in kinds}) > 1
        for worker, picture, kind, mask in self.masks():
            task, is_gold = f"{picture}/{kind}" if several else picture, (worker, picture) in gold
            yield Answer(worker, task, mask, question, _AREAS, is_gold=is_gold)


# COCO.


class _Page(NamedTuple):
    """A file of COCO: images and categories by their ids, and marks."""

    path: Path
    images: dict[Any, dict[str, Any]]
    categories: dict[Any, dict[str, Any]]
    marks: list[dict[str, Any]]

    @classmethod
    def read(cls, export: Export, path: Path) -> _Page:
        document = export.document(path)
        if isinstance(document, list):  # of results
            document = {"annotations": document}
        images, kinds = (
            {each["id"]: each for each in export.each(get_list(document, key), path, what)}
            for key, what in (("images", "image"), ("categories", "category"))
        )
        marks = list(export.each(get_list(document, "annotations"), path, "annotation"))
        for image in images.values() if export.originals is not None else ():
            name = str(get(image, "file_name", "id"))
            export.show(name, image, picture=name, sides=(image.get("width"), image.get("height")))
        images = images or {mark["image_id"]: {"id": mark["image_id"]} for mark in marks}
        return cls(path, images, kinds, marks)

    def read_mark(self, mark: dict[str, Any], key: str) -> list[Any]:
        """Return what a mark has in a field, each with its class."""
        if not _has(mark, key):
            return []
        if key == "caption":
            return [get_text(mark, key)]
        number = mark.get("category_id")
        category = self.categories.get(number)
        name = number if category is None else category["name"]
        if key == "segmentation":
            if isinstance(mark[key], dict):
                return [(name, Mask.of(of_run_lengths(mark[key])))]
            outlines = [get_numbers(outline) for outline in get_list(mark, key)]
            if any(len(outline) % 2 for outline in outlines):
                raise unexpected(mark[key], "x and y of each point", key)
            return [(name, list(zip(outline[::2], outline[1::2], strict=True))) for outline in outlines]
        numbers = get_numbers(mark, key)
        if key == "keypoints":
            points = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=False))
            names = get_list(category, "keypoints") or range(1, len(points) + 1)
            return [{"x": x, "y": y, "label": name} for name, (x, y, seen) in zip(names, points, strict=False) if seen]
        if len(numbers) != 4:
            raise unexpected(mark[key], "[x, y, width, height]", key)
        about = {"label": name, "score": get_number(mark, "score", default=None)}
        return [{"bbox": numbers, **{each: value for each, value in about.items() if value is not None}}]


def _has(mark: dict[str, Any], key: str) -> bool:
    return bool(mark.get(key)) and (key != "keypoints" or mark.get("num_keypoints") != 0)


def _is_coco(peek: Peek) -> bool:
    """Return whether a file has pictures and annotations of them, or a list of detections."""
    if not isinstance(peek.document, dict):
        results = ("image_id" in each and not _FIELDS.keys().isdisjoint(each) for each in peek.records)
        return bool(peek.records) and all(results)
    lists = [peek.document.get(key) for key in ("images", "annotations")]
    first = [items[0] for items in lists if isinstance(items, list) and items and isinstance(items[0], dict)]
    return any("image_id" in item or {"id", "file_name"} <= item.keys() for item in first)


@record_tool("coco", "COCO", _is_coco, shows=True)
def coco(export: Export) -> Iterator[Answer]:
    """Read boxes, outlines or key points in pictures, one file for each annotator (JSON).

    File: ``{"images": [...], "categories": [...], "annotations": [{"image_id": 1, "bbox": [1, 2, 30, 40]}]}``, or a
    list of results, which has the annotations alone. The worker is the file's name, or an ``annotator`` of the marks,
    the task the picture, and the label its boxes, or what the tag names: keypoints, segmentation, caption. Each picture
    in a file was seen by its owner.
    """
    pages = [_Page.read(export, path) for path in export.paths]
    marks = [mark for page in pages for mark in page.marks]
    by_file = export.by_file or all(get(mark, *_WORKER) is None for mark in marks)
    if by_file:
        export.refuse_one_file(f"{len(marks):,} marks in {len(pages[0].images):,} pictures and does not say whose")
    key = _choose_field(export, marks)
    areas = Areas(export.where)
    for page in pages:
        labels: dict[Any, list[Any]] = {}
        if by_file:
            labels = {(export.place_of(page.path)[0], image): [] for image in page.images}
        for mark in export.each(page.marks, page.path, "annotation"):
            worker, image = export.owner if by_file else get(mark, *_WORKER), mark["image_id"]
            if image not in page.images:
                raise UnexpectedValueError(f"'image_id' is {image!r}, which is the id of no image")
            labels.setdefault((worker, image), []).extend(page.read_mark(mark, key))
        for (worker, image), label in labels.items():
            picture = get(page.images[image], "file_name", "id")
            if key != "segmentation":
                yield Answer(worker, picture, "\n".join(label) if key == "caption" else label, key, _FIELDS[key])
                continue
            height, width = (get_number(page.images[image], side, default=None) for side in ("height", "width"))
            areas.see(worker, picture, None if None in (height, width) else (height, width))
            for name, part in label:
                areas.draw(worker, picture, name, part)
    if key == "segmentation":
        yield from areas.answers(export, key)


def _choose_field(export: Export, marks: list[dict[str, Any]]) -> str:
    """Return which of a mark's fields to read: the first that is there, or that of the tag."""
    tag = export.files.question
    keys = [key for key in _FIELDS if any(_has(mark, key) for mark in marks)]
    if not keys:
        raise InputError(f"{export.where}, holds no marks with one of the fields {', '.join(_FIELDS)}.")
    if tag is not None and tag not in keys:
        proposals = [Proposal({"question": key}) for key in keys]
        raise InputError(f"{export.where}, has no {tag!r}. It has: {', '.join(keys)}.", proposals=proposals)
    if tag is None and len(keys) > 1:
        export.remarks.append(f"Read: the field {keys[0]!r} of each mark. There are also {', '.join(keys[1:])} (tag).")
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
    return peek.ending == ".xml" and "<annotations" in start and any(mark in start for mark in marks)


@record_tool("cvat", "CVAT", _is_cvat, shows=True)
def cvat(export: Export) -> Iterator[Answer]:
    """Read tags, boxes, outlines or points in pictures and videos, one file for each annotator (XML).

    Image: ``<image id="0" name="a.jpg"><box label="cat" xtl="1" ytl="2" xbr="31" ybr="42"/></image>``. The worker is
    the name of the file or of its folder, the task the picture's name or the number of the frame. Questions are
    ``tags``, their attributes, ``boxes``, ``areas`` (polygons and masks), ``polylines``, ``points`` and ``ellipses``.
    Shapes in the tracks of a video are marks of its frames. A frame that one annotator marked was seen by all.
    """
    export.refuse_one_file("the marks of one annotator")
    roots = {path: parse_annotations(path) for path in export.paths}
    areas = Areas(export.where)
    pages = {path: _read_pictures(export, path, root, areas) for path, root in roots.items()}
    questions = sorted({question for page in pages.values() for marks in page.values() for question in marks})
    frames = {task for page in pages.values() for task in page if isinstance(task, int)}
    for path, page in pages.items():
        worker = export.place_of(path)[0]
        for task in [*page, *sorted(frames - page.keys())]:
            marks: Mapping[str, list[Any]] = page.get(task, {})
            areas.see(worker, task)
            for kind, part in marks.get(_AREAS, []):
                areas.draw(worker, task, kind, part)
            for question in questions:
                if question in _SHAPES.values():
                    yield Answer(worker, task, marks.get(question), question, question)
                elif question != _AREAS:
                    yield Answer(worker, task, tuple(marks.get(question, ())), question, "classes")
    if _AREAS in questions:
        yield from areas.answers(export, _AREAS)


def _read_pictures(export: Export, path: Path, root: Element, areas: Areas) -> dict[str | int, Marks]:
    """Return the marks in each picture, or frame of a video, by question, and note how large it is."""
    worker = export.place_of(path)[0]
    pictures: dict[str | int, Marks] = defaultdict(lambda: defaultdict(list))
    for number, image in enumerate(root.iter("image"), start=1):
        export.at = f"{path}: image {number}"
        name, size = image.attrib["name"], _read_size(image.get)
        export.show(name, image.attrib, picture=name, sides=(image.get("width"), image.get("height")))
        areas.see(worker, name, size)
        marks = pictures[name]
        for shape in image:
            _read_shape(export, marks, shape, shape.get("label"), size)
    export.at = f"{path}: original_size"
    size = next((_read_size(video.findtext) for video in root.iter("original_size")), None)
    for number, track in enumerate(root.iter("track"), start=1):
        export.at = f"{path}: track {number}"
        for shape in track:
            if shape.get("outside") != "1":
                frame = int(shape.attrib["frame"])
                areas.see(worker, frame, size)
                _read_shape(export, pictures[frame], shape, track.get("label"), size)
    return pictures


def _read_size(get_side: Callable[[str], str | None]) -> Size:
    """Return height and width, if both are there."""
    height, width = get_side("height"), get_side("width")
    return (_parse(height), _parse(width)) if height and width else None


def _read_shape(export: Export, marks: Marks, shape: Element, kind: str | None, size: Size) -> None:
    """Add a shape to the marks of a picture: tags with their attributes, areas, or regions with their class."""
    if shape.tag == "tag":
        marks["tags"].append(shape.attrib["label"])
        for attribute in shape.iter("attribute"):
            marks[f"{shape.get('label')}.{attribute.attrib['name']}"].append((attribute.text or "").strip())
    elif shape.tag == "polygon":
        marks[_AREAS].append((kind, _read_points(shape)))
    elif shape.tag == "mask":
        marks[_AREAS].append((kind, _read_mask(shape, size)))
    elif shape.tag in _SHAPES:
        label = {"label": kind} if kind else {}
        marks[_SHAPES[shape.tag]] += [region | label for region in _read_regions(shape)]
    else:
        export.leave_out(f"marks of the kind {shape.tag!r}")


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
