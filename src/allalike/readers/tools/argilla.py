"""Argilla: records with the responses of users to one question or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Argilla"]

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
