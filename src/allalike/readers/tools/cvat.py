"""CVAT: pictures or videos with tags, boxes and outlines, one file for each annotator."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.masks.packed import Mask, of_run_lengths
from allalike.errors import InputError
from allalike.readers.formats.prologs import check_prolog
from allalike.readers.tools.areas import Areas
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from xml.etree.ElementTree import Element  # nosec B405 # a hint

    from allalike._core.masks.outlines import Part
    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

    Marks = dict[str, list[Any]]  # by question

__all__ = ["CVAT", "parse_annotations"]

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
        marks = {path: dict(_read(path, parse_annotations(path), found, areas)) for path in paths}
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


def _read(path: Path, root: Element, found: Collection, areas: Areas) -> Iterator[tuple[str | int, Marks]]:
    """Yield each picture, or frame of a video, with its marks, and note how large it is."""
    worker = found.worker_of(path)
    for number, image in enumerate(root.iter("image"), start=1):
        where = f"{path}: image {number}"
        marks: Marks = {}
        for shape in image:
            _add(marks, shape, shape.get("label"), where, found)
        name = str(_attribute(image, "name", where).id())
        areas.see(worker, name, _size(image.get, where))
        yield name, marks
    frames: dict[int, Marks] = {}
    for number, track in enumerate(root.iter("track"), start=1):
        where = f"{path}: track {number}"
        for shape in track:
            if shape.get("outside") != "1":
                frame = int(_number(shape, "frame", where))
                _add(frames.setdefault(frame, {}), shape, track.get("label"), where, found)
    size = next((_size(video.findtext, f"{path}: original_size") for video in root.iter("original_size")), None)
    for frame, marks in frames.items():
        areas.see(worker, frame, size)
        yield frame, marks


def _size(get: Callable[[str], str | None], where: str) -> tuple[float, float] | None:
    """Return height and width, if both are there."""
    height, width = get("height"), get("width")
    return (_as_number(height, where, height), _as_number(width, where, width)) if height and width else None


def _add(marks: Marks, shape: Element, label: str | None, where: str, found: Collection) -> None:
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
    points = _points(shape, where)
    return [{"x": x, "y": y} for x, y in points] if shape.tag == "points" else [{"points": points}]


def _points(shape: Element, where: str) -> list[list[float]]:
    return [_point(pair, where) for pair in (shape.get("points") or "").split(";") if pair.strip()]


def _part(shape: Element, size: tuple[int, int] | None, where: str) -> Part:
    """Read a polygon, or a mask: run lengths in a box of the picture, row after row."""
    if shape.tag == "polygon":
        return _points(shape, where)
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
