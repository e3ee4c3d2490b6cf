"""doccano: documents with labels, spans or texts, of all annotators or one file for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.column_names import rate_name
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Doccano"]

_DOCUMENT = ("text", "data", "filename")
_ID = ("id", "doc_id", "document_id", "example_id")
_LABELS = ("label", "labels", "entities", "cats", "sentences", "bbox")
_USER = ("username", "user")
_SAID = {*_LABELS, *_USER, "annotations", "annotation_approver", "relations", "Comments"}


class Doccano(Tool):
    """doccano's export as JSONL or JSON.

    >>> document = '{"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 2, "user": 5}]}'
    >>> Doccano().answers_in({"all.jsonl": document})
    [(4, 7, 1), (5, 7, 2)]
    """

    name: ClassVar[str] = "doccano"
    title: ClassVar[str] = "doccano"
    summary: ClassVar[str] = "documents with the annotations of users, or a file for each annotator (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether these are documents with labels, without a column for the worker."""
        return bool(peek.records) and any(map(_is_document, peek.records)) and not any(map(_is_answer, peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read what each user said of each document."""
        found = Collection(self, paths, files)
        records = [(path, record) for path in paths for record in read_records(path)]
        named = any("annotations" in record.value or record.first(*_USER).there for _, record in records)
        if not named and len(paths) == 1 and not _from_files(found):
            raise InputError(
                f"{found.where}, holds {len(records):,} documents and does not say who labelled them. Give one file"
                " for each annotator, as doccano exports them from a project that is not shared; the file's name is"
                " the worker."
            )
        for path, record in records:
            _add(found, record, found.worker_of(path))
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the documents, without what was said of them."""
        records = [record for path in paths for record in read_records(path)]
        return {
            str(_task(record)): Original(
                {key: value for key, value in record.value.items() if key not in _SAID},
                text=next((record.raw(key) for key in _DOCUMENT[:2] if isinstance(record.raw(key), str)), None),
            )
            for record in reversed(records)
        }


def _is_document(record: dict[str, Any]) -> bool:
    if not any(isinstance(record.get(key), str) for key in _DOCUMENT):
        return False
    if isinstance(record.get("annotations"), list):
        items = record["annotations"]
        return all(isinstance(item, dict) and "user" in item for item in items) and (
            bool(items) or "annotation_approver" in record
        )
    found = [record[key] for key in _LABELS if key in record]
    return bool(found) and all(isinstance(value, list) for value in found)


def _is_answer(record: dict[str, Any]) -> bool:
    """Tell whether a record is a row with a worker, and so not doccano's."""
    return any(rate_name(key, "worker") > 0 for key in record if key not in _USER)


def _add(found: Collection, record: Node, owner: str) -> None:
    task = _task(record)
    if "annotations" in record.value:
        by_user: dict[Any, list[Node]] = {}
        for item in record["annotations"].items():
            by_user.setdefault(owner if _from_files(found) else item["user"].id(), []).append(item)
        if not by_user:
            found.leave_out("documents without an annotation")
        for user, items in by_user.items():
            _add_labels(found, user, task, items)
        return
    user = record.first(*_USER)
    worker = user.id() if user.there and not _from_files(found) else owner
    for key in _LABELS:
        if key in record.value:
            _add_labels(found, worker, task, record[key].items(), question=key)
    found.leave_out("relations between spans", len(record["relations"].items()))


def _task(record: Node) -> str | int:
    return record.first(*_ID, *_DOCUMENT).id()


def _from_files(found: Collection) -> bool:
    return found.files.worker_from == "filename"


def _add_labels(found: Collection, worker: Any, task: Any, items: list[Node], question: str = "") -> None:
    """Add a worker's label of a document: spans, boxes, a text, or classes."""
    kinds = {_kind(item) for item in items}
    if len(kinds) > 1:
        raise InputError(f"{items[0].where}: {items[0].way!r} and what follows are of different kinds.")
    kind = kinds.pop() if kinds else ""
    label: Any = [_READ[kind](item) for item in items]
    if kind == "classes":
        label = tuple(label)
    elif kind == "text":
        label = "\n".join(label)
    found.add(worker, task, label, question=question, kind=kind)


def _kind(item: Node) -> str:
    if isinstance(item.value, dict):
        keys = set(item.value)
        tests = {"spans": "start_offset", "boxes": "width", "polygons": "points", "text": "text"}
        return next((kind for kind, key in tests.items() if key in keys), "classes")
    return "spans" if isinstance(item.value, list) else "classes"


def _read_class(item: Node) -> str | float:
    return (item["label"] if isinstance(item.value, dict) else item).scalar()


def _read_span(item: Node) -> list[Any]:
    if isinstance(item.value, dict):
        start, end, label = item["start_offset"], item["end_offset"], item["label"]
    else:
        if len(item.items()) != 3:
            raise item.refused("[start, end, label]")
        start, end, label = item.items()
    return [start.number(), end.number(), str(label.scalar())]


def _read_box(item: Node) -> dict[str, Any]:
    return {"bbox": [item[key].number() for key in ("x", "y", "width", "height")], "label": item["label"].scalar()}


def _read_polygon(item: Node) -> dict[str, Any]:
    return {"points": item["points"].numbers(), "label": item["label"].scalar()}


_READ: dict[str, Callable[[Node], Any]] = {
    "classes": _read_class,
    "spans": _read_span,
    "boxes": _read_box,
    "polygons": _read_polygon,
    "text": lambda item: item["text"].text(),
}
