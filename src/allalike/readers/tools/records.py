"""Record annotation exports: Argilla, Prodigy and doccano."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.column_names import rate_name
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

_ID = ("id", "external_id", "_server_id", "record_id")
_USER = ("user_id", "username", "user", "annotator")
_ENDING = ".responses"


class Argilla(Tool):
    """Argilla's records as JSON: of its API, of version 1 and of version 2.

    >>> responses = '[{"user_id": "ada", "status": "submitted", "values": {"mood": {"value": "sad"}}}]'
    >>> Argilla().answers_in({"records.jsonl": '{"id": 7, "responses": %s}' % responses})
    [('ada', 7, 'sad')]
    """

    name: ClassVar[str] = "argilla"
    title: ClassVar[str] = "Argilla"
    summary: ClassVar[str] = "records with the responses of users to questions (JSON, JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have responses of users."""
        return any(_has_responses(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the responses to one question; drafts and discarded ones are left out."""
        found = Collection(self, paths, files)
        for path in paths:
            own = len(paths) == 1 or files.worker_from == "filename"
            before = "" if own else f"{'/'.join(filter(None, found.place_of(path)))}:"
            for place, record in enumerate(read_records(path), start=1):
                given = next((record[key] for key in _ID if record[key].there), None)
                task = given.id() if given is not None else f"{before}{place}"
                for question, value, user, status in _responses(record):
                    if status.value in ("discarded", "draft", "missing"):
                        found.leave_out(f"responses that are {status.value}")
                        continue
                    worker = found.worker_of(path) if files.worker_from == "filename" else user.id()
                    label, kind = _label(value)
                    found.add(worker, task, label, question=question, kind=kind)
        return found.table()


def _has_responses(record: dict[str, Any]) -> bool:
    responses = record.get("responses")
    if isinstance(responses, list):
        return any(isinstance(item, dict) and isinstance(item.get("values"), dict) for item in responses)
    if isinstance(responses, dict):
        lists = [items for items in responses.values() if isinstance(items, list)]
        return bool(lists) and all(isinstance(item, dict) and "value" in item for items in lists for item in items)
    flat = any(key.endswith(_ENDING) and f"{key}.users" in record for key in record)
    return flat or any(map(_is_question, record.values()))


def _is_question(value: Any) -> bool:
    """Tell whether a field is a list of responses, as version 1 hands them over."""
    keys = {"user_id", "value", "status"}
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and keys <= set(v) for v in value)


def _responses(record: Node) -> Iterator[tuple[str, Node, Node, Node]]:
    """Yield question, value, user and status of all responses to a record."""
    responses = record["responses"]
    if isinstance(responses.value, list):
        for response in responses.items():
            for question, value in response["values"].fields().items():
                yield question, value["value"], response.first(*_USER), response["status"]
        return
    lists = responses.fields() if responses.there else record.fields()
    for question, values in lists.items():
        if responses.there or _is_question(values.value):
            for response in values.items():
                yield question, response["value"], response.first(*_USER), response["status"]
        elif question.endswith(_ENDING):
            yield from _columns(record, question)


def _columns(record: Node, name: str) -> Iterator[tuple[str, Node, Node, Node]]:
    """Yield the responses of a table with one column for values, one for users and one for states."""
    values, users, states = (record[key].items() for key in (name, f"{name}.users", f"{name}.status"))
    if len(users) != len(values):
        raise record[f"{name}.users"].refused(f"a list of {len(values)} users")
    nothing = Node(None, record, f"{name}.status")
    for place, value in enumerate(values):
        yield name.removesuffix(_ENDING), value, users[place], states[place] if place < len(states) else nothing


def _label(value: Node) -> tuple[Any, str]:
    """Return a response as a label: a class, several, a number, a text, a ranking or spans."""
    if not isinstance(value.value, list):
        if not value.there:
            return None, ""
        answer = value.scalar()
        return ((answer,), "choices") if isinstance(answer, str) else (answer, "ratings")
    items = value.items()
    if items and all(isinstance(item.value, dict) for item in items):
        if all("start" in item.value for item in items):
            return [[item["start"].number(), item["end"].number(), item["label"].value] for item in items], "spans"
        ranked = sorted(items, key=lambda item: item["rank"].number())
        return [item["value"].id() for item in ranked], "rankings"
    return tuple(item.scalar() for item in items), "choices"


# Prodigy: one line for each answer, with the hashes of what was asked.


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


# doccano: documents with labels, spans or texts, of all annotators or one file for each.


_DOCUMENT = ("text", "data", "filename")
_DOCCANO_ID = ("id", "doc_id", "document_id", "example_id")
_LABELS = ("label", "labels", "entities", "cats", "sentences", "bbox")
_DOCCANO_USER = ("username", "user")
_SAID = {*_LABELS, *_DOCCANO_USER, "annotations", "annotation_approver", "relations", "Comments"}


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
        named = any("annotations" in record.value or record.first(*_DOCCANO_USER).there for _, record in records)
        if not named and len(paths) == 1 and not _from_files(found):
            raise InputError(
                f"{found.where}, holds {len(records):,} documents and does not say who labelled them. Give one file"
                " for each annotator, as doccano exports them from a project that is not shared; the file's name is"
                " the worker."
            )
        for path, record in records:
            _doccano_add(found, record, found.worker_of(path))
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
    return any(rate_name(key, "worker") > 0 for key in record if key not in _DOCCANO_USER)


def _doccano_add(found: Collection, record: Node, owner: str) -> None:
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
    user = record.first(*_DOCCANO_USER)
    worker = user.id() if user.there and not _from_files(found) else owner
    for key in _LABELS:
        if key in record.value:
            _add_labels(found, worker, task, record[key].items(), question=key)
    found.leave_out("relations between spans", len(record["relations"].items()))


def _task(record: Node) -> str | int:
    return record.first(*_DOCCANO_ID, *_DOCUMENT).id()


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
