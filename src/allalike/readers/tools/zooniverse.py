"""Zooniverse: classifications, as they are exported, extracted or flattened."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.answers.gold import match_truths
from allalike.errors import InputError
from allalike.readers.tools.annotations import (
    are_outlines,
    draw_outlines,
    find_values,
    list_details,
    make_columns,
    parse_annotations,
)
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.questions import pick_questions
from allalike.readers.tools.sheets import (
    BLANKS,
    as_text,
    find_name,
    keep_rows,
    listed,
    open_sheets,
    sample,
    texts,
    with_columns,
    with_roles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

_WORKER, _TASKS = "user_name", ("subject_ids", "subject_id")
_RAW, _EXTRACTED, _REDUCED = "annotations", "extractor", "reducer"
_DETAILS, _EXPERTS = "details", ("gold_standard", "expert")
_DATA, _CHOICES = "data.", ("choice", "data.choice", "value", "data.value", "data.text", "answer", "label")
_ABOUT_NAMES = """
    classification_id user_name user_id user_ip workflow_id workflow_name workflow_version created_at gold_standard
    expert metadata annotations subject_data subject_ids subject_id task task_index task_label task_type
    total_submissions submission_index extractor data.aggregation_version aggregation_version unnamed: index
"""
_ABOUT = tuple(_ABOUT_NAMES.split())


class Zooniverse(Tool):
    r"""The classifications of a project of Zooniverse.

    >>> rows = ["classification_id,user_name,workflow_id,annotations,subject_ids",
    ...         '1,ada,7,"[{""task"": ""T0"", ""value"": ""Spiral""}]",s1',
    ...         '2,bob,7,"[{""task"": ""T0"", ""value"": ""Disc""}]",s1']
    >>> Zooniverse().answers_in({"classifications.csv": "\n".join(rows)})
    [('ada', 's1', 'Spiral'), ('bob', 's1', 'Disc')]
    """

    name = "zooniverse"
    title = "Zooniverse"
    summary = "classifications (CSV): raw with annotations, extracted, or flattened"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has classifications of subjects, or what was made of them."""
        names = set(peek.names)
        if not names & set(_TASKS):
            return False
        return (
            {"workflow_id", _REDUCED} <= names
            or {_WORKER, "classification_id"} <= names
            or ({_WORKER, _RAW} <= names and "workflow_id" in names)
        )

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open classifications: each task of the workflow is a question."""
        table = open_sheets(paths, files)
        task = find_name(table.names, *_TASKS)
        if task is None or _WORKER not in table.names:
            raise InputError(
                f"{table.where} does not say who classified which subject: it has no column"
                f" {_WORKER if task else _TASKS[0]}. Export the classifications of the project, and not what was"
                " made of them."
            )
        table = _with_names(table)
        if _RAW in table.names:
            table, questions = _unpacked(table)
        elif _EXTRACTED in table.names:
            table, questions = _extracted(table)
        else:
            table, questions = _flattened(table)
        told, truths = _of_experts(table), {name: f"{name} gold" for name in questions}
        if files.golden and told:
            table = _set_apart(table, task, truths)
        label, remark = pick_questions(table, questions, tag=files.tag)
        return with_roles(table, self.name, _WORKER, task, label, [remark, *told], truths)


def _unpacked(table: Table) -> tuple[Table, list[str]]:
    """Put the answers to every task of the workflow in a column of its own."""
    cells = texts(table, _RAW)
    flows = texts(table, "workflow_id") if "workflow_id" in table.names else [""] * len(cells)
    several = len(set(flows)) > 1
    found: list[dict[str, Any]] = []
    wordings: dict[str, set[str]] = {}
    for row, (cell, flow) in enumerate(zip(cells, flows, strict=True), start=1):
        values: dict[str, Any] = {}
        for question, wording, value in find_values(parse_annotations(cell, table.where, row)):
            name = f"{flow}:{question}" if several else question
            values[name] = value
            wordings.setdefault(name, set()).update(filter(None, [wording]))
        found.append(values)
    if not wordings:
        raise InputError(f"{table.where} has no annotations.")
    names = sorted(wordings, key=lambda name: (-sum(values.get(name) is not None for values in found), name))
    changed = [f"{name} ({len(wordings[name])})" for name in sorted(names) if len(wordings[name]) > 1]
    remark = f"These questions changed their wording: {', '.join(changed)}." if changed else ""
    table = _with_details(with_columns(table, make_columns(names, found)), names, found)
    table, names = _with_areas(table, names, found)
    return replace(table, remarks=(*table.remarks, *filter(None, [remark]))), names


def _with_areas(table: Table, names: list[str], found: Sequence[Mapping[str, Any]]) -> tuple[Table, list[str]]:
    """Make masks of outlines, in a column for each tool."""
    outlined = [name for name in names if are_outlines(row.get(name) for row in found)]
    if not outlined:
        return table, names
    subjects = texts(table, str(find_name(table.names, *_TASKS)))
    about = texts(table, "metadata") if "metadata" in table.names else [""] * len(found)
    areas = {name: draw_outlines(name, found, subjects, about, table.where) for name in outlined}
    columns: dict[str, Callable[[], Any]] = {
        title: partial(list, masks) for drawn in areas.values() for title, masks in drawn.items()
    }
    return with_columns(table, columns), [title for name in names for title in areas.get(name, [name])]


def _with_details(table: Table, names: Sequence[str], found: Sequence[Mapping[str, Any]]) -> Table:
    """Keep what is said of the choices of surveys, such as how many there are, where only a reader asks for it."""
    listed = {name: list_details([values.get(name) for values in found]) for name in names}
    beside = {f"{name} {_DETAILS}": (lambda rows=rows: rows) for name, rows in listed.items() if rows}
    details = {name: f"{name} {_DETAILS}" for name, rows in listed.items() if rows}
    return replace(with_columns(table, beside), names=table.names, details=details)


def _extracted(table: Table) -> tuple[Table, list[str]]:
    """Read extracts: one column that has the answer, or one for each answer, which has a number where it was given."""
    data = [name for name in table.names if name.startswith(_DATA) and name not in _ABOUT]
    label = next((name for name in _CHOICES if name in data), None)
    if label is not None:
        return _spread(table, label, _listed(table, label))
    counts = {name: texts(table, name) for name in data}
    if not counts or not all(_is_count(cell) for cells in counts.values() for cell in cells):
        raise InputError(
            f"{table.where} has extracts that are no answers to a question: {', '.join(data) or 'none'}. Give the"
            " classifications of the project instead."
        )
    rows = zip(*counts.values(), strict=True)
    options = [name.removeprefix(_DATA) for name in data]
    given = [
        [option for option, cell in zip(options, row, strict=True) if cell not in BLANKS and option != "None"]
        for row in rows
    ]
    return _spread(table, "answer", [answers or None for answers in given])


def _flattened(table: Table) -> tuple[Table, list[str]]:
    """Read rows with one answer each, or with one column for each question."""
    label = next((name for name in _CHOICES if name in table.names), None)
    if label is not None:
        return _spread(table, label, None)
    return table, [name for name in table.names if name and not name.casefold().startswith(_ABOUT)]


def _spread(table: Table, label: str, values: list[Any] | None) -> tuple[Table, list[str]]:
    """Give every task of the workflow a column of its own, where rows belong to several."""
    tasks = texts(table, "task") if "task" in table.names else []
    kinds = sorted(set(tasks))
    if len(kinds) < 2:
        if values is None:
            return table, [label]
        return with_columns(table, make_columns([label], [{label: value} for value in values])), [label]
    cells = _listed(table, label) if values is None else values
    found = [{task: value} for task, value in zip(tasks, cells, strict=True)]
    return with_columns(table, make_columns(kinds, found)), kinds


def _listed(table: Table, name: str) -> list[Any]:
    return [None if cell.strip() in BLANKS else cell for cell in texts(table, name)]


def _is_count(cell: str) -> bool:
    return cell in BLANKS or cell.replace(".", "", 1).isdigit()


def _with_names(table: Table) -> Table:
    """Name those who did not log in by what else is known about them."""
    people = texts(table, _WORKER)
    nameless = sum(person.strip() in BLANKS for person in people)
    if not nameless:
        return table
    others = [name for name in ("user_id", "user_ip", "classification_id") if name in table.names]
    known = [texts(table, name) for name in others]
    named = [
        person
        if person.strip() not in BLANKS
        else next((cells[row] for cells in known if cells[row] not in BLANKS), "")
        for row, person in enumerate(people)
    ]
    remark = f"{nameless:,} classifications have no user_name; {' or '.join(others)} stands for it."
    columns: dict[str, Callable[[], Any]] = {_WORKER: lambda: as_text(named)}
    return replace(with_columns(table, columns), remarks=(*table.remarks, remark))


def _set_apart(table: Table, task: str, truths: Mapping[str, str]) -> Table:
    """Leave out what experts said, and put it beside the answers of others about the same subject."""
    marks = [list(map(_is_expert, texts(table, name))) for name in _EXPERTS if name in table.names]
    apart, subjects = [any(row) for row in zip(*marks, strict=True)], texts(table, task)
    columns: dict[str, Callable[[], Any]] = {}
    for name, beside in truths.items():
        said = zip(apart, subjects, listed(table.load([name])[name]), strict=True)
        known = match_truths((subject, value) for expert, subject, value in said if expert and value)
        rows = [known.get(subject) for expert, subject in zip(apart, subjects, strict=True) if not expert]
        columns[beside] = partial(list, rows)
    return with_columns(keep_rows(table, ~np.array(apart)), columns)


def _is_expert(cell: str | None) -> bool:
    return (cell or "").strip().casefold() in ("true", "expert")


def _of_experts(table: Table) -> list[str]:
    marks = [name for name in _EXPERTS if name in table.names]
    counts = {name: sum(map(_is_expert, cells)) for name, cells in sample(table, marks).items()}
    return [f"{count:,} classifications are an expert's ({name})." for name, count in counts.items() if count]
