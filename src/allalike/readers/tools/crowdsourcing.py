"""Crowdsourcing tools: Mechanical Turk, Toloka, Figure Eight, Crowd-Kit, Potato, peerannot and WRENCH."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.column_names import SYNONYMS
from allalike.readers.formats.matrices import SILENT, as_label_matrix
from allalike.readers.tools.base import Peek, get, get_numbers
from allalike.readers.tools.frame import Answer, Export, record_tool, spread
from allalike.readers.tools.sheets import Sheet, as_answers, as_sets, is_blank, list_ticked, sheet_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allalike.readers.tools.sheets import Roles

    Numbered = dict[str, dict[int, str]]  # a name without its number -> number -> name

_TICKS = frozenset({"true", "on", "false", "off", ""})
_NUMBERED = re.compile(r"(.*?)[._-]?(\d{1,3})(\D*)")


@sheet_tool("mturk", "Amazon Mechanical Turk", lambda peek: peek.has_names("HITId", "WorkerId", start="Answer."))
def mturk(sheet: Sheet) -> Roles:
    """Read results of a batch (CSV): HITId, WorkerId, Input.*, Answer.*.

    A HIT is a task, and every field of the form a question.
    """
    worker, task = sheet.need("WorkerId"), sheet.need("HITId")
    _unpack_forms(sheet)
    sheet.leave_out(sheet.find("AssignmentStatus"), {"rejected"}, "were rejected")
    inputs, questions = sheet.starting("Input."), _merge_choices(sheet, sheet.starting("Answer."))
    sheet.inputs = [name for name in sheet.columns if name not in questions]
    shown, asked = _find_items(inputs, questions)
    if asked:
        numbers = sorted(next(iter(asked.values())))
        sheet.stack({stem: [names[number] for number in numbers] for stem, names in (shown | asked).items()})
        task = sheet.name_tasks(list(shown))
        sheet.keep([not all(map(is_blank, cells)) for cells in sheet.rows(shown)])
        sheet.remarks.append(f"A form shows {len(numbers)} items; each is a task of its own, identified by {task}.")
        return worker, task, list(asked)
    if len(set(sheet.cells(task))) > 1:
        sheet.join_units(worker, task, inputs)
    elif sheet.question is None and len(answered := sheet.sort_questions(questions)[0]) > 1:
        n_rows = len(sheet.cells(worker))
        sheet.stack({"answer": answered})
        sheet.columns["question"] = [name for name in answered for _ in range(n_rows)]
        sheet.remarks.append(
            f"All people have answered the same form, of which each question is a task: {', '.join(answered)}."
        )
        return worker, "question", ["answer"]
    return worker, task, questions


def _unpack_forms(sheet: Sheet) -> None:
    """Put every field of a JSON form into a column of its own."""
    packed = sheet.find("Answer.taskAnswers")
    if packed is None:
        return
    forms: list[dict[str, str]] = []
    for row, cell in enumerate(sheet.cells(packed)):
        forms.append({})
        try:
            parts = parse_json(cell) if cell.strip() else []
        except ValueError as error:
            raise InputError(f"{sheet.place(row)}: Answer.taskAnswers is not JSON: {error}.") from None
        for number, form in enumerate(parts if isinstance(parts, list) else [parts]):
            _flatten(form, f"{number + 1}" if number else "", forms[-1])
    del sheet.columns[packed]
    for path, cells in spread(forms, sheet.where).items():
        sheet.columns[f"Answer.{path}"] = [cell or "" for cell in cells]


def _flatten(value: Any, path: str, fields: dict[str, str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else str(key), fields)
    elif value is not None:
        fields[path] = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _merge_choices(sheet: Sheet, questions: list[str]) -> list[str]:
    """Join the options of each question into one column, with sets for several choices; return the questions."""
    groups: dict[str, list[str]] = {}
    for name in questions:
        stem, _, option = name.rpartition(".")
        marks = {cell.strip().casefold() for cell in sheet.cells(name)}
        if stem.casefold() != "answer" and option.casefold() != "on" and marks <= _TICKS:
            groups.setdefault(stem, []).append(name)
        elif any("|" in cell for cell in sheet.cells(name)):
            sheet.columns[name] = as_sets(sheet.cells(name), "|") or sheet.cells(name)
    stems: dict[str, str] = {}
    for stem, names in groups.items():
        if len(names) > 1 and stem not in questions:
            options = {name.rpartition(".")[2]: sheet.columns.pop(name) for name in names}
            sheet.columns[stem] = as_answers(list_ticked(options))
            stems |= dict.fromkeys(names, stem)
    return list(dict.fromkeys(stems.get(name, name) for name in questions))


def _find_items(inputs: Sequence[str], questions: Sequence[str]) -> tuple[Numbered, Numbered]:
    """Return the inputs and questions of items that a form shows at once: by their numbers, if both have the same.

    >>> _find_items(["Input.text1", "Input.text2"], ["Answer.q1", "Answer.q2", "Answer.comment"])
    ({'Input.text': {1: 'Input.text1', 2: 'Input.text2'}}, {'Answer.q': {1: 'Answer.q1', 2: 'Answer.q2'}})
    >>> _find_items(["Input.text"], ["Answer.q1", "Answer.q2"])
    ({}, {})
    """
    shown, asked = _group_by_number(inputs), _group_by_number(questions)
    common = [set(names) for names in asked.values() if len(names) > 1 and set(names) in map(set, shown.values())]
    if not common or any(numbers != common[0] for numbers in common):
        return {}, {}
    shown = {stem: names for stem, names in shown.items() if set(names) == common[0]}
    return shown, {stem: names for stem, names in asked.items() if set(names) == common[0]}


def _group_by_number(names: Sequence[str]) -> Numbered:
    groups: Numbered = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            groups.setdefault(match[1] + match[3], {})[int(match[2])] = name
    return groups


@sheet_tool("toloka", "Toloka", lambda peek: peek.has_names("ASSIGNMENT:worker_id", start="OUTPUT:"))
def toloka(sheet: Sheet) -> Roles:
    """Read assignments of a pool (TSV): ASSIGNMENT:worker_id, INPUT:*, OUTPUT:*.

    Every output is a question. Rows between assignments are empty.
    """
    worker, task, status = sheet.need("ASSIGNMENT:worker_id"), "ASSIGNMENT:task_id", sheet.find("ASSIGNMENT:status")
    inputs, questions = sheet.starting("INPUT:"), sheet.starting("OUTPUT:")
    if (inputs or questions) and "" in sheet.cells(worker):
        sheet.keep([any(cells) for cells in sheet.rows([*inputs, *questions])])
        _fill_assignments(sheet, worker, status)
    sheet.leave_out(sheet.find("ACCEPT:verdict"), {"-"}, "are not accepted (ACCEPT:verdict)")
    unfinished = {"rejected", "skipped", "expired", "active", "blocked"}
    sheet.leave_out(status, unfinished, "are not accepted (ASSIGNMENT:status)")
    if task in sheet.columns:
        sheet.join_units(worker, task, inputs)
    elif inputs:
        task = sheet.name_tasks(inputs)
    else:
        raise InputError(f"{sheet.where} has no column {task}, nor any that begins with INPUT:.")
    sheet.inputs, sheet.truths = inputs, {name: f"GOLDEN:{name.partition(':')[2]}" for name in questions}
    return worker, task, questions


def _fill_assignments(sheet: Sheet, worker: str, status: str | None) -> None:
    """Fill the cells that only the last row of an assignment has."""
    if bare := sum(not cell.strip() for cell in sheet.cells(worker)):
        sheet.remarks.append(
            f"{bare:,} rows have no {worker}; they are of the same assignment as the next that has one."
        )
    for name in filter(None, (worker, status)):
        cells, below = sheet.cells(name), ""
        for row in range(len(cells) - 1, -1, -1):
            below = cells[row] = cells[row] or below


_JOB = ("_worker_id", "_trusted_judgments", "_unit_state", "_last_judgment_at")


@sheet_tool("figure-eight", "Figure Eight / Appen", lambda peek: any(peek.has_names("_unit_id", each) for each in _JOB))
def figure_eight(sheet: Sheet) -> Roles:
    """Read the full report of a job (CSV: _unit_id, _worker_id).

    What differs within a unit is a question; what a unit shows to workers does not. Several choices are a set; of
    several lines of other gold any is right.
    """
    remedy = "An aggregated report does not contain workers: download the full report of the job."
    task, worker = (sheet.need(name, remedy=remedy) for name in ("_unit_id", "_worker_id"))
    aside = ("_gold", "_gold_reason", ":confidence", ":variance")
    names = [name for name in sheet.columns if not name.startswith(("_", "orig_")) and not name.endswith(aside)]
    n_units = len(set(sheet.cells(task)))
    questions = [name for name in names if len(set(sheet.rows([task, name]))) > n_units]
    sheet.leave_out(sheet.find("_tainted"), {"true"}, "are tainted")
    sheet.truths = {name: f"{name}_gold" for name in questions or names}
    for name, gold in sheet.truths.items():
        answers = sheet.cells(name)
        sets = as_sets(answers)
        if gold in sheet.columns:
            known = sheet.cells(gold)
            both = None if sets is None else as_sets([*answers, *known])
            single = [None if "\n" in cell.strip() else cell for cell in known]
            sheet.columns[gold] = single if both is None else both[len(known) :]
        sheet.columns[name] = sets or answers
    return worker, task, list(sheet.truths)


def _are_pairs(peek: Peek) -> bool:
    names = set(peek.names)
    return {"left", "right", "label"} <= names and not names.isdisjoint({"worker", "performer"}) and "task" not in names


@sheet_tool("crowd-kit", "Crowd-Kit", _are_pairs)
def crowd_kit(sheet: Sheet) -> Roles:
    """Read comparisons (CSV): worker, left, right, label; its other tables are plain ones.

    Two items are a task, in whatever order they stood, if a label names the better one.
    """
    worker = sheet.need("worker", "performer")
    columns = [sheet.need(name) for name in ("left", "right", "label")]
    rows = sheet.rows(columns)
    named = all(label in (left, right, "") for left, right, label in rows)
    pairs = [sorted([left, right]) if named else [left, right] for left, right, _ in rows]
    sheet.columns["left, right"] = [" | ".join(pair) for pair in pairs]
    sheet.question = None  # there is one question
    return worker, "left, right", columns[2:]


_USERS = ("user", "user_id", "username")


def _is_potato(peek: Peek) -> bool:
    has_ids = "instance_id" in peek.names and not set(_USERS).isdisjoint(peek.names)
    return has_ids and any(":::" in name for name in peek.names)


@sheet_tool("potato", "Potato", _is_potato)
def potato(sheet: Sheet) -> Roles:
    """Read annotated instances (CSV, TSV): user, instance_id and question:::option.

    The options of a question that are filled are its answer.
    """
    worker, task = sheet.need(*_USERS), sheet.need("instance_id")
    groups: dict[str, dict[str, list[str]]] = {}
    for name in list(sheet.columns):
        question, mark, option = name.partition(":::")
        if mark:
            groups.setdefault(question, {})[option] = sheet.cells(name)
    for question, options in groups.items():
        if len(options) == 1:  # a text
            answers: list[Any] = [None if is_blank(cell) else cell for cell in next(iter(options.values()))]
        else:
            answers = [ticked or None for ticked in list_ticked(options)]
        sheet.columns[question] = as_answers(answers)
    return worker, task, list(groups)


# Answers of peerannot and WRENCH: JSON with one object of all tasks.


def _is_nested(peek: Peek) -> bool:
    """Return whether this is a mapping of mappings of labels, and not a table by columns."""
    document = peek.document if peek.ending == ".json" else None
    if not isinstance(document, dict) or not all(isinstance(value, dict) for value in document.values()):
        return False
    labels = [label for value in document.values() for label in value.values()]
    labels = [item for label in labels for item in (label if isinstance(label, list) else [label])]
    by_columns = {key.casefold() for key in document} & {word for words in SYNONYMS.values() for word in words}
    are_labels = all(label is None or isinstance(label, str | int | float) for label in labels)
    return bool(labels) and not by_columns and are_labels


@record_tool("peerannot", "peerannot", _is_nested)
def peerannot(export: Export) -> Iterator[Answer]:
    """Read labels by task and worker, {task: {worker: label}} (JSON).

    File: ``{"photo 1": {"0": 3, "1": 3}, "photo 2": {"0": 5}}``. A list of labels is a set.
    """
    for path in export.paths:
        tasks = export.document(path)
        for task, answers in tasks.items():
            export.at = f"{path}: task {task!r}"
            for worker, label in (answers or {}).items():
                yield Answer(export.worker(worker), task, tuple(label) if isinstance(label, list) else label)
    export.remarks.append(
        "The outer keys are read as tasks, and the inner ones as workers. If it is the other way round, swap the"
        " columns: the worker is 'task', and the task is 'worker'."
    )


@record_tool("wrench", "WRENCH", lambda peek: isinstance(peek.document, dict) and peek.has("*.weak_labels"))
def wrench(export: Export) -> Iterator[Answer]:
    """Read a label matrix: a label of each labelling function for each task, -1 where it abstains (JSON).

    File: ``{"0": {"label": 1, "weak_labels": [-1, 0, 1]}}``. The workers are the labelling functions, numbered from 0.
    """
    silent, sizes = 0, set()
    for path in export.paths:
        split = f"{export.places[path][0]}/" if len(export.paths) > 1 else ""  # each numbers its tasks from 0
        for name, task in export.document(path).items():
            export.at = f"{path}: task {name!r}"
            labels = get_numbers(task, "weak_labels")
            sizes.add(len(labels))
            votes = [(number, label) for number, label in enumerate(labels) if label != SILENT]
            silent += not votes
            for number, label in votes:
                yield Answer(str(number), f"{split}{name}", label, gold=get(task, "label"))
    if len(sizes) > 1:
        raise InputError(f"{export.where}, has tasks with {min(sizes)} and with {max(sizes)} weak labels.")
    export.finish = partial(as_label_matrix, silent=silent)
