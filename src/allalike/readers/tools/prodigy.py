"""Prodigy: one line for each answer, with the hashes of what was asked."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Prodigy"]

_HASHES = ("_task_hash", "_input_hash")
_BINARY = ("classification", "ner", "spans", "html", "text", "image", "audio", "dep", "diff", "compare")
_MANUAL = ("manual", "relations")  # interfaces whose names hold these have spans marked by hand


class Prodigy(Tool):
    r"""Prodigy's ``db-out``, as JSONL.

    >>> record = '{"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "_session_id": "%s", "answer": "%s"}'
    >>> Prodigy().answers_in({"db-out.jsonl": "\n".join([record % ("ada", "accept"), record % ("bob", "reject")])})
    [('ada', 2, 'accept'), ('bob', 2, 'reject')]
    """

    name: ClassVar[str] = "prodigy"
    title: ClassVar[str] = "Prodigy"
    summary: ClassVar[str] = "answers accept, reject and ignore; choices; spans (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether these are answers to tasks with hashes."""
        records = peek.records
        return any("answer" in record and any(name in record for name in _HASHES) for record in records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the answers; a task is what has the same hash."""
        found = Collection(self, paths, files)
        rows = [(path, record) for path in paths for record in read_records(path)]
        named = any(_annotator(record).there for _, record in rows)
        if not named and len(paths) == 1 and files.worker_from != "filename":
            raise InputError(
                f"{found.where}, holds {len(rows):,} answers and does not say whose they are: no record has"
                " _annotator_id or _session_id. Give one file for each annotator; the file's name is the worker."
            )
        by_file = files.worker_from == "filename" or not named
        workers = [found.worker_of(path) if by_file else _annotator(record).id() for path, record in rows]
        tasks = _tasks(workers, [record for _, record in rows])
        for worker, task, (_, record) in zip(workers, tasks, rows, strict=True):
            _add(found, worker, task, record)
        if any(answer["label"] == "ignore" for answers in found.questions.values() for answer in answers):
            found.remarks.append(
                "'ignore' is read as an answer of its own; name it as one that means no answer"
                " (abstain) to leave it out."
            )
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the records by both hashes, for either may be the task."""
        records = [record for path in paths for record in read_records(path)]
        return {
            str(record.raw(name)): Original(record.value, text=record.raw("text"))
            for name in reversed(_HASHES)
            for record in reversed(records)
        }


def _annotator(record: Node) -> Node:
    return record.first("_annotator_id", "_session_id")


def _tasks(workers: list[Any], records: list[Node]) -> list[Any]:
    """Return the task of each record: the hash of task and question, or of the input if only that joins workers."""
    columns = {name: [record[name].value for record in records] for name in _HASHES}
    for name in _HASHES:
        seen: defaultdict[Any, set[Any]] = defaultdict(set)
        for worker, value in zip(workers, columns[name], strict=True):
            seen[repr(value)].add(worker)
        if None not in columns[name] and any(len(those) > 1 for those in seen.values()):
            return [record[name].id() for record in records]
    name = next((name for name in _HASHES if None not in columns[name]), _HASHES[0])
    return [record[name].id() for record in records]


def _add(found: Collection, worker: Any, task: Any, record: Node) -> None:
    """Add an answer: what was chosen or marked if it was accepted, or else accept, reject or ignore."""
    answer = record["answer"].text()
    view = record["_view_id"].value or ""
    chosen, spans = record["accept"], record["spans"]
    marks = isinstance(view, str) and any(part in view for part in _MANUAL)
    if chosen.there and (record["options"].there or view == "choice"):
        label: Any = tuple(choice.id() for choice in chosen.items())
        kind = "choices"
    elif marks or (spans.there and not view and any("token_start" in str(span.value) for span in spans.items())):
        label, kind = [_span(span) for span in spans.items()], "spans"
    elif view == "text_input" or (record["user_input"].there and not view):
        label, kind = record["user_input"].value, "texts"
    else:
        found.add(worker, task, answer, kind="accept, reject or ignore")
        return
    if answer == "accept":
        found.add(worker, task, label, kind=kind)
    else:
        found.leave_out(f"answers {answer!r}")


def _span(span: Node) -> Any:
    """Return a span of text, or what was drawn on a picture."""
    label = {"label": span["label"].scalar()} if span["label"].there else {}
    if span["points"].there and not span["width"].there:
        return {"points": [point.numbers() for point in span["points"].items()], **label}
    if span["width"].there:
        return {"bbox": [span[key].number() for key in ("x", "y", "width", "height")], **label}
    return [span["start"].number(), span["end"].number(), span["label"].value]
