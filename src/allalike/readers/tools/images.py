"""Image annotation exports: COCO and CVAT, with outlined and painted areas as masks.

All that a worker drew of a class in a picture is one mask. Where there are several classes, each that somebody drew in
a picture is a task of its own, called after both, as the values of a label map are; who saw the picture and did not
draw the class says that it is not there. Where an export does not say how large a picture is, it is taken to end where
the outlines in it do: the distances of masks do not depend on it.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.masks.packed import Mask, check_size, draw, of_run_lengths
from allalike.errors import InputError, Proposal
from allalike.readers.formats.dialects import check_prolog
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_bytes, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from pathlib import Path
    from xml.etree.ElementTree import Element  # nosec B405 # its type only

    from allalike._core.masks.packed import Part
    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

    Marks = dict[str, list[Any]]  # by question

_MIN_POINTS = 3  # of an outline that goes around something


@dataclass
class Areas:
    """What was drawn in pictures, and how large these are.

    >>> areas = Areas("photos.json")
    >>> areas.see("ada", "p1", (2, 3))
    >>> areas.see("bob", "p1", (2, 3))
    >>> areas.draw("ada", "p1", "cat", [(0, 0), (2, 0), (2, 2), (0, 2)])
    >>> [(worker, kind, mask.area) for worker, _, kind, mask in areas.masks()]
    [('ada', 'cat', 4), ('bob', 'cat', 0)]
    """

    where: str
    sizes: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    seen: dict[Hashable, dict[Any, None]] = field(default_factory=dict)
    drawn: dict[Hashable, dict[Any, dict[Any, list[Part]]]] = field(default_factory=dict)
    flat: int = 0

    def see(self, worker: Any, picture: Hashable, size: tuple[float, float] | None = None) -> None:
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
        if not isinstance(part, Mask) and len(part) < _MIN_POINTS:
            self.flat += 1
        else:
            self.drawn.setdefault(picture, {}).setdefault(kind, {}).setdefault(worker, []).append(part)

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

    def add_to(self, found: Collection, question: str) -> None:
        """Add all masks to a collection, and say what was left out or taken for granted."""
        found.leave_out("outlines of fewer than three points", self.flat)
        found.leave_out("pictures in which nobody drew anything", len(self.seen.keys() - self.drawn.keys()))
        if unknown := len(self.drawn.keys() - self.sizes.keys()):
            found.remarks.append(
                f"How large a picture is, is not said of {unknown:,}: they are taken to end where their outlines do."
            )
        several = len({kind for kinds in self.drawn.values() for kind in kinds}) > 1
        for worker, picture, kind, mask in self.masks():
            found.add(worker, f"{picture}/{kind}" if several else picture, mask, question=question, kind="areas")


# COCO: pictures with boxes, outlines and key points, one file for each annotator.


_WORKER = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id")
_KINDS = {"bbox": "boxes", "keypoints": "points", "segmentation": "areas", "caption": "texts"}


class COCO(Tool):
    """COCO's annotations of pictures, and lists of results in its form.

    >>> page = ('{"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 3, "name": "cat"}],'
    ...         ' "annotations": [%s]}')
    >>> mark = '{"image_id": 1, "category_id": 3, "bbox": [1, 2, 30, 40]}'
    >>> COCO().answers_in({"ada.json": page % mark, "bob.json": page % ""})
    [('ada', 'a.jpg', [{'bbox': [1, 2, 30, 40], 'label': 'cat'}]), ('bob', 'a.jpg', [])]
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO"
    summary: ClassVar[str] = "boxes, outlines or key points in pictures, one file for each annotator (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has pictures and annotations of them, or a list of detections."""
        document = peek.document
        if isinstance(document, dict):
            lists = [document.get(key) for key in ("images", "annotations")]
            return any(isinstance(items, list) and bool(items) and _is_coco(items[0]) for items in lists)
        return bool(peek.records) and all(_is_result(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read what each annotator marked in each picture: boxes, or what the tag names."""
        found = Collection(self, paths, files)
        pages = [_File.of(path, read_document(path)) for path in paths]
        marks = [mark for page in pages for mark in page.marks]
        named = any(mark.first(*_WORKER).there for mark in marks)
        by_file = files.worker_from == "filename"
        if len(paths) == 1 and not (named or by_file):
            raise InputError(
                f"{found.where}, holds {len(marks):,} marks in {len(pages[0].pictures):,} pictures and does not say"
                " whose they are. Give one file for each annotator; the file's name is the worker."
            )
        key = _chosen(found, [key for key in _KINDS if any(_has(mark, key) for mark in marks)])
        by_file = by_file or not named
        if key == "segmentation":
            areas = Areas(found.where)
            for page in pages:
                _draw(areas, page, found.worker_of(page.path) if by_file else None)
            areas.add_to(found, key)
        else:
            for page in pages:
                _add(found, page, key, by_file=by_file)
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the pictures."""
        documents = [document for path in paths if isinstance((document := read_document(path)).value, dict)]
        return {
            name: Original(each.value, picture=name, sides=(each.raw("width"), each.raw("height")))
            for page in documents
            for each in page["images"].items()
            if (name := str(each.first("file_name", "id").id()))
        }


def _is_coco(item: Any) -> bool:
    return isinstance(item, dict) and ("image_id" in item or {"id", "file_name"} <= set(item))


def _is_result(record: dict[str, Any]) -> bool:
    return "image_id" in record and any(key in record for key in _KINDS)


def _has(mark: Node, key: str) -> bool:
    return bool(mark[key].value) and (key != "keypoints" or mark["num_keypoints"].value != 0)


def _chosen(found: Collection, keys: list[str]) -> str:
    """Return which of a mark's fields to read: the first that is there, or that of the tag."""
    tag = found.files.tag
    if not keys:
        raise InputError(f"{found.where}, holds no marks with one of the fields {', '.join(_KINDS)}.")
    if tag is not None and tag not in keys:
        raise InputError(
            f"{found.where}, has no {tag!r}. It has: {', '.join(keys)}.",
            proposals=[Proposal({"tag": key}) for key in keys],
        )
    if tag is None and len(keys) > 1:
        found.remarks.append(f"Read: the field {keys[0]!r} of each mark. There are also {', '.join(keys[1:])} (tag).")
    return tag or keys[0]


@dataclass(frozen=True)
class _File:
    """What one file holds: the names of pictures and classes, and the marks."""

    path: Path
    pictures: dict[Any, Any]
    classes: dict[Any, Node]
    marks: list[Node]
    sizes: dict[Any, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, document: Node) -> _File:
        if isinstance(document.value, list):
            marks = document.items()
            return cls(path, {mark["image_id"].id(): mark["image_id"].id() for mark in marks}, {}, marks)
        pictures = {item["id"].id(): item.first("file_name", "id").id() for item in document["images"].items()}
        classes = {item["id"].id(): item for item in document["categories"].items()}
        marks = document["annotations"].items()
        for mark in marks if not pictures else ():
            pictures[mark["image_id"].id()] = mark["image_id"].id()
        sized = [item for item in document["images"].items() if item["height"].there and item["width"].there]
        sizes = {item["id"].id(): (item["height"].number(), item["width"].number()) for item in sized}
        return cls(path, pictures, classes, marks, sizes)

    def picture_of(self, mark: Node) -> Any:
        """Return the name of the picture that a mark is in."""
        picture = self.pictures.get(mark["image_id"].id())
        if picture is None:
            raise mark["image_id"].refused("the id of one of the images")
        return picture

    def class_of(self, mark: Node) -> tuple[Any, Node | None]:
        """Return the name of a mark's class, and what else is said of the class."""
        category = mark["category_id"]
        kind = self.classes.get(category.id()) if category.there else None
        return (kind["name"].scalar() if kind is not None else category.value), kind


def _add(found: Collection, page: _File, key: str, *, by_file: bool) -> None:
    labels: dict[tuple[Any, Any], list[Any]] = {}
    if by_file:
        labels = {(found.worker_of(page.path), picture): [] for picture in page.pictures.values()}
    for mark in page.marks:
        picture = page.picture_of(mark)
        worker = found.worker_of(page.path) if by_file else mark.first(*_WORKER).id()
        label = labels.setdefault((worker, picture), [])
        if _has(mark, key):
            label += _read(page, mark, key)
    for (worker, picture), label in labels.items():
        whole = "\n".join(label) if key == "caption" else label
        found.add(worker, picture, whole, question=key, kind=_KINDS[key])


def _read(page: _File, mark: Node, key: str) -> list[Any]:
    """Return the marks of one annotation, each with its class."""
    if key == "caption":
        return [mark["caption"].text()]
    name, kind = page.class_of(mark)
    more = {
        **({} if name is None else {"label": name}),
        **({"score": mark["score"].number()} if mark["score"].there else {}),
    }
    if key == "bbox":
        box = mark["bbox"].numbers()
        if len(box) != 4:
            raise mark["bbox"].refused("[x, y, width, height]")
        return [{"bbox": box, **more}]
    return _points(mark["keypoints"], kind)


def _draw(areas: Areas, page: _File, owner: str | None) -> None:
    """Draw the outlines and run lengths of a file, whose owner or whose marks say who drew them."""
    for number, picture in page.pictures.items() if owner is not None else ():
        areas.see(owner, picture, page.sizes.get(number))
    for mark in page.marks:
        picture, worker = page.picture_of(mark), owner or mark.first(*_WORKER).id()
        areas.see(worker, picture, page.sizes.get(mark["image_id"].id()))
        for part in _parts(mark["segmentation"]):
            if isinstance(part, Mask):
                areas.see(worker, picture, (part.height, part.width))
            areas.draw(worker, picture, page.class_of(mark)[0], part)


def _parts(drawn: Node) -> list[Part]:
    """Return outlines as points, and run lengths as a mask."""
    if not isinstance(drawn.value, dict):
        return [_pair(outline) for outline in drawn.items()]
    try:
        return [Mask.of(of_run_lengths(drawn.value))]
    except ValueError as error:
        raise InputError(f"{drawn.where}: {drawn.way!r} is no mask: {error}.") from error


def _pair(outline: Node) -> list[tuple[float, float]]:
    numbers = outline.numbers()
    if len(numbers) % 2:
        raise outline.refused("x and y of each point")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _points(keypoints: Node, kind: Node | None) -> list[dict[str, Any]]:
    """Return the points that are labelled, with their names where the class has them."""
    numbers = keypoints.numbers()
    names = [name.scalar() for name in kind["keypoints"].items()] if kind is not None else []
    triples = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=False))
    if not names:
        names = list(range(1, len(triples) + 1))
    return [{"x": x, "y": y, "label": name} for name, (x, y, seen) in zip(names, triples, strict=False) if seen]


# CVAT: pictures or videos with tags, boxes and outlines, one file for each annotator.


_SHAPES = {"box": "boxes", "ellipse": "ellipses", "polyline": "polylines", "points": "points"}
_AREAS = "areas"  # which are drawn as polygons or painted as masks


class CVAT(Tool):
    """CVAT's XML for pictures and for video (versions 1.1).

    >>> seen = '<annotations><version>1.1</version><image id="0" name="a.jpg">%s</image></annotations>'
    >>> box = '<box label="cat" xtl="1" ytl="2" xbr="31" ybr="42"/>'
    >>> CVAT().answers_in({"ada.xml": seen % box, "bob.xml": seen % ""})
    [('ada', 'a.jpg', [{'bbox': [1.0, 2.0, 30.0, 40.0], 'label': 'cat'}]), ('bob', 'a.jpg', [])]
    """

    name: ClassVar[str] = "cvat"
    title: ClassVar[str] = "CVAT"
    summary: ClassVar[str] = "tags, boxes, outlines or points in pictures and videos, one file for each annotator (XML)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file begins with CVAT's annotations."""
        start = peek.start[:4096]
        return (
            peek.ending == ".xml"
            and "<annotations" in start
            and any(mark in start for mark in ("<meta>", "<image ", "<track ", "<version>"))
        )

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read what each annotator marked in each picture or frame."""
        found = Collection(self, paths, files)
        areas = Areas(found.where)
        marks = {path: dict(_cvat_read(path, parse_annotations(path), found, areas)) for path in paths}
        if len(paths) == 1 and files.worker_from != "filename":
            n_marks = sum(len(shapes) for seen in marks[paths[0]].values() for shapes in seen.values())
            raise InputError(
                f"{found.where}, holds {n_marks:,} marks in {len(marks[paths[0]]):,} pictures or frames, of one"
                " annotator. Give one file for each annotator; the file's name, or that of its folder, is the worker."
            )
        questions = {question for seen in marks.values() for shapes in seen.values() for question in shapes}
        frames = {task for seen in marks.values() for task in seen if isinstance(task, int)}
        for path, seen in marks.items():
            worker = found.worker_of(path)
            for task in [*seen, *sorted(frames - set(seen), key=str)]:
                areas.see(worker, task)
                for label, shape, where in seen.get(task, {}).get(_AREAS, []):
                    areas.draw(worker, task, label, _part(shape, areas.sizes.get(task), where))
                for question in sorted(questions - {_AREAS}):
                    shapes = seen.get(task, {}).get(question, [])
                    label = shapes if question in _SHAPES.values() else tuple(shapes)
                    kind = question if question in _SHAPES.values() else "classes"
                    found.add(worker, task, label, question=question, kind=kind)
        if _AREAS in questions:
            areas.add_to(found, _AREAS)
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the pictures."""
        images = [image for path in paths for image in parse_annotations(path).iter("image")]
        return {
            name: Original(image.attrib, picture=name, sides=(image.get("width"), image.get("height")))
            for image in reversed(images)
            if (name := image.get("name"))
        }


def parse_annotations(path: Path) -> Element:
    """Read a file of annotations as XML, without entities."""
    from xml.etree import ElementTree  # nosec B405 # without entities, see below

    data = read_bytes(path)
    check_prolog(path, io.BytesIO(data), CVAT.title)
    try:
        return ElementTree.fromstring(data)  # nosec B314 # entities were refused
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path} cannot be read as XML: {error}.") from error


def _cvat_read(path: Path, root: Element, found: Collection, areas: Areas) -> Iterator[tuple[str | int, Marks]]:
    """Yield each picture, or frame of a video, with its marks, and note how large it is."""
    worker = found.worker_of(path)
    for number, image in enumerate(root.iter("image"), start=1):
        where = f"{path}: image {number}"
        marks: Marks = {}
        for shape in image:
            _cvat_add(marks, shape, shape.get("label"), where, found)
        name = str(_attribute(image, "name", where).id())
        areas.see(worker, name, _size(image.get, where))
        yield name, marks
    frames: dict[int, Marks] = {}
    for number, track in enumerate(root.iter("track"), start=1):
        where = f"{path}: track {number}"
        for shape in track:
            if shape.get("outside") != "1":
                frame = int(_number(shape, "frame", where))
                _cvat_add(frames.setdefault(frame, {}), shape, track.get("label"), where, found)
    size = next((_size(video.findtext, f"{path}: original_size") for video in root.iter("original_size")), None)
    for frame, marks in frames.items():
        areas.see(worker, frame, size)
        yield frame, marks


def _size(get: Callable[[str], str | None], where: str) -> tuple[float, float] | None:
    """Return height and width, if both are there."""
    height, width = get("height"), get("width")
    return (_as_number(height, where, height), _as_number(width, where, width)) if height and width else None


def _cvat_add(marks: Marks, shape: Element, label: str | None, where: str, found: Collection) -> None:
    if shape.tag == "tag":
        marks.setdefault("tags", []).append(_attribute(shape, "label", where).id())
        for attribute in shape.iter("attribute"):
            name = f"{shape.get('label')}.{_attribute(attribute, 'name', where).id()}"
            marks.setdefault(name, []).append((attribute.text or "").strip())
    elif shape.tag in ("polygon", "mask"):
        marks.setdefault(_AREAS, []).append((label, shape, where))
    elif shape.tag in _SHAPES:
        marks.setdefault(_SHAPES[shape.tag], []).extend(
            {**region, "label": label} if label else region for region in _regions(shape, where)
        )
    else:
        found.leave_out(f"marks of the kind {shape.tag!r}")


def _regions(shape: Element, where: str) -> list[dict[str, Any]]:
    if shape.tag == "box":
        left, top, right, bottom = (_number(shape, key, where) for key in ("xtl", "ytl", "xbr", "ybr"))
        turned = _number(shape, "rotation", where) if shape.get("rotation") else 0.0
        return [{"bbox": [left, top, right - left, bottom - top], **({"rotation": turned} if turned else {})}]
    if shape.tag == "ellipse":
        x, y, width, height = (_number(shape, key, where) for key in ("cx", "cy", "rx", "ry"))
        return [{"bbox": [x - width, y - height, 2 * width, 2 * height]}]
    points = _cvat_points(shape, where)
    return [{"x": x, "y": y} for x, y in points] if shape.tag == "points" else [{"points": points}]


def _cvat_points(shape: Element, where: str) -> list[list[float]]:
    return [_point(pair, where) for pair in (shape.get("points") or "").split(";") if pair.strip()]


def _part(shape: Element, size: tuple[int, int] | None, where: str) -> Part:
    """Read a polygon, or a mask: run lengths in a box of the picture, row after row."""
    if shape.tag == "polygon":
        return _cvat_points(shape, where)
    left, top, width, height = (int(_number(shape, key, where)) for key in ("left", "top", "width", "height"))
    runs = [int(_as_number(part, f"{where}: mask.rle", part)) for part in (shape.get("rle") or "").split(",")]
    try:
        painted = of_run_lengths({"size": [width, height], "counts": runs}).T  # whose own go column after column
    except ValueError as error:
        raise InputError(f"{where}: a mask cannot be read: {error}.") from error
    rows, columns = size or (0, 0)
    around = ((top, rows - top - height), (left, columns - left - width))
    if min(map(min, around)) < 0:
        known = "whose size is not said" if size is None else f"of {rows} x {columns} pixels"
        raise InputError(f"{where}: a mask of {height} x {width} pixels at {top}, {left} is in no picture {known}.")
    return Mask.of(np.pad(painted, around))


def _point(pair: str, where: str) -> list[float]:
    numbers = [_as_number(part, f"{where}: points", pair) for part in pair.split(",")]
    if len(numbers) != 2:
        raise InputError(f"{where}: {pair!r} is no point 'x,y'.")
    return numbers


def _attribute(element: Element, name: str, where: str) -> Node:
    return Node(element.get(name), where, f"{element.tag}.{name}")


def _number(element: Element, name: str, where: str) -> float:
    return _as_number(str(_attribute(element, name, where).id()), f"{where}: {element.tag}.{name}", element.get(name))


def _as_number(text: str, where: str, given: str | None) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where} is {given!r}, where a number should be.")
    return number
