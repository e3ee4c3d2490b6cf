"""Amazon Mechanical Turk: the results of a batch."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.items import find_items, stack_items, stack_questions
from allalike.readers.tools.questions import as_sets, list_questions, pick_questions
from allalike.readers.tools.sheets import (
    as_text,
    find_name,
    join_units,
    leave_out,
    open_sheets,
    sample,
    texts,
    with_columns,
    with_roles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["MTurk"]

_ANSWER, _INPUT = "answer.", "input."
_JSON = "taskanswers"
_TICKS = {"true": True, "on": True, "false": False, "off": False, "": False}
_CHECKBOX = "on"


class MTurk(Tool):
    r"""The results of a batch of Amazon Mechanical Turk.

    >>> rows = ["HITId,WorkerId,AssignmentStatus,Input.url,Answer.animal", "H1,ada,Approved,a.jpg,cat",
    ...         "H1,bob,Approved,a.jpg,dog", "H1,eve,Rejected,a.jpg,cat"]
    >>> MTurk().answers_in({"batch.csv": "\n".join(rows)})
    [('ada', 'H1', 'cat'), ('bob', 'H1', 'dog')]
    """

    name = "mturk"
    title = "Amazon Mechanical Turk"
    summary = "results of a batch (CSV): HITId, WorkerId, Input.*, Answer.*"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has workers, HITs and answers."""
        names = [name.strip().casefold() for name in peek.names]
        return {"hitid", "workerid"} <= set(names) and any(name.startswith(_ANSWER) for name in names)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open batches: a HIT is a task, and every field of the form a question."""
        table = open_sheets(paths, files)
        worker, task = find_name(table.names, "WorkerId"), find_name(table.names, "HITId")
        if worker is None or task is None:
            raise InputError(f"{table.where} is no batch of {self.title}: it has no column WorkerId, or none HITId.")
        table = leave_out(table, find_name(table.names, "AssignmentStatus"), {"rejected"}, "were rejected")
        inputs = _beginning(table, _INPUT)
        table, questions = _with_choices(*_unpacked(table, _beginning(table, _ANSWER)))
        shown, asked = find_items(inputs, questions)
        others = [name for name in table.names if name not in questions]
        if asked:
            table, task, questions = stack_items(table, shown, asked)
        elif len(set(texts(table, task))) > 1:
            table = join_units(table, worker, task, inputs)
        elif len(answered := list_questions(table, questions, others)) > 1 and files.tag is None:
            table, task, questions = stack_questions(table, answered)
        label, remark = pick_questions(table, questions, tag=files.tag, inputs=others)
        return with_roles(table, self.name, worker, task, label, [remark])


def _beginning(table: Table, start: str) -> list[str]:
    return [name for name in table.names if name.strip().casefold().startswith(start)]


def _unpacked(table: Table, questions: list[str]) -> tuple[Table, list[str]]:
    """Put every field of a form that came as JSON in a column of its own, as other forms have them."""
    packed = find_name(questions, f"Answer.{_JSON}")
    if packed is None:
        return table, questions
    forms = [_fields(cell, table.where, row) for row, cell in enumerate(texts(table, packed), start=1)]
    columns: dict[str, Callable[[], Any]] = {
        f"{_ANSWER.capitalize()}{path}": partial(_answers_at, path, forms)
        for path in dict.fromkeys(path for form in forms for path in form)
    }
    others = [name for name in questions if name != packed]
    return _without(with_columns(table, columns), [packed]), [
        *others,
        *(name for name in columns if name not in others),
    ]


def _answers_at(path: str, forms: Sequence[Mapping[str, str]]) -> Any:
    return as_text(form.get(path) for form in forms)


def _fields(cell: str, where: str, row: int) -> dict[str, str]:
    if not cell.strip():
        return {}
    fields: dict[str, str] = {}
    try:
        found = parse_json(cell)
        for number, form in enumerate(found if isinstance(found, list) else [found]):
            _flatten(form, f"{number + 1}" if number else "", fields)
    except ValueError as error:
        raise InputError(f"{where}: Answer.taskAnswers in row {row} is no JSON: {error}.") from None
    return fields


def _flatten(value: Any, path: str, fields: dict[str, str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else str(key), fields)
    elif value is not None:
        fields[path] = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _with_choices(table: Table, questions: list[str]) -> tuple[Table, list[str]]:
    """Read the columns of a question's options as one, and cells with several choices as sets."""
    seen = sample(table, questions)
    groups: dict[str, list[str]] = {}
    for name in questions:
        stem, _, option = name.rpartition(".")
        ticks = {str(cell or "").strip().casefold() for cell in seen[name]}
        if stem.casefold() != _ANSWER[:-1] and option.casefold() != _CHECKBOX and ticks <= set(_TICKS):
            groups.setdefault(stem, []).append(name)
    groups = {stem: names for stem, names in groups.items() if len(names) > 1 and stem not in questions}
    columns: dict[str, Callable[[], Any]] = {stem: partial(_choices, table, names) for stem, names in groups.items()}
    for name in questions:
        if any("|" in (cell or "") for cell in seen[name]):
            joined = as_sets(texts(table, name), "|")
            if joined is not None:
                columns[name] = partial(list, joined)
    if not columns:
        return table, questions
    stems = {name: stem for stem, names in groups.items() for name in names}
    merged = _without(with_columns(table, columns), stems)
    return merged, list(dict.fromkeys(stems.get(name, name) for name in questions))


def _without(table: Table, names: Collection[str]) -> Table:
    """Return a table without columns that others stand for."""
    return replace(table, names=[name for name in table.names if name not in names])


def _choices(table: Table, names: list[str]) -> Any:
    """Return the option that is ticked in each row, or the set of those that are, if some rows have several."""
    options = [name.rpartition(".")[2] for name in names]
    cells = zip(*(texts(table, name) for name in names), strict=True)
    ticked = [
        [option for option, cell in zip(options, row, strict=True) if _TICKS.get(cell.strip().casefold())]
        for row in cells
    ]
    if all(len(row) < 2 for row in ticked):
        return as_text([row[0] if row else None for row in ticked])
    return [frozenset(row) for row in ticked]
