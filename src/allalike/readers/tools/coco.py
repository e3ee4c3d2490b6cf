"""COCO: pictures with boxes, outlines and key points, one file for each annotator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.masks.packed import Mask, of_run_lengths
from allalike.errors import InputError, Proposal
from allalike.readers.tools.areas import Areas
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike._core.masks.outlines import Part
    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["COCO"]

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
