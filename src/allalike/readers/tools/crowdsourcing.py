"""Crowdsourcing tools: Mechanical Turk, Toloka, Figure Eight, Crowd-Kit, Potato, peerannot, WRENCH and Zooniverse."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.answers.gold import match_truths
from allalike.errors import InputError
from allalike.readers.column_names import SYNONYMS
from allalike.readers.formats.frames import SILENT, as_label_matrix, is_nested
from allalike.readers.tools.base import FileProbe, get, get_numbers
from allalike.readers.tools.frame import Answer, Areas, Export, record_tool, spread
from allalike.readers.tools.sheets import Sheet, as_answers, as_sets, is_blank, list_ticked, sheet_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.readers.tools.sheets import Roles

    Numbered = dict[str, dict[int, str]]  # a name without its number -> number -> name
    Details = dict[str, dict[str, tuple[str, ...]]]  # a choice of a survey -> a question about it -> answers

_TICKS = frozenset({"true", "on", "false", "off", ""})
_NUMBERED = re.compile(r"(.*?)[._-]?(\d{1,3})(\D*)")


@sheet_tool("mturk", "Amazon Mechanical Turk", lambda peek: peek.has_names("HITId", "WorkerId", start="Answer."))
def mturk(sheet: Sheet) -> Roles:
    """Read results of a batch (CSV): HITId, WorkerId, Input.*, Answer.*.

    A HIT is a task, and every form field is a question.
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
        sheet.remarks.append(f"A form shows {len(numbers)} items, each of which is a task, identified by {task}.")
        return worker, task, list(asked)
    if len(set(sheet.cells(task))) > 1:
        sheet.join_units(worker, task, inputs)
    elif sheet.question is None and len(answered := sheet.sort_questions(questions)[0]) > 1:
        n_rows = len(sheet.cells(worker))
        sheet.stack({"answer": answered})
        sheet.columns["question"] = [name for name in answered for _ in range(n_rows)]
        sheet.remarks.append(f"All workers answered the same form: each question is a task: {', '.join(answered)}.")
        return worker, "question", ["answer"]
    return worker, task, questions


def _unpack_forms(sheet: Sheet) -> None:
    """Convert every field of a JSON form into a column."""
    packed = sheet.find("Answer.taskAnswers")
    if packed is None:
        return
    forms: list[dict[str, str]] = []
    for row, cell in enumerate(sheet.cells(packed)):
        forms.append({})
        try:
            parts = parse_json(cell) if cell.strip() else []
        except ValueError as error:
            raise InputError(f"{sheet.place(row)}: Answer.taskAnswers is not JSON: {error}. Correct it.") from None
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
    """Join the options of each question into one column, with sets if several are chosen; return the questions."""
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
    """Return the numbered inputs and questions of the items in a form, if both have the same numbers."""
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

    Every output is a question. Empty rows separate assignments.
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
        raise InputError(f"{sheet.where} has no column {task}, and none that begins with INPUT:. Export it with both.")
    sheet.inputs, sheet.truths = inputs, {name: f"GOLDEN:{name.partition(':')[2]}" for name in questions}
    return worker, task, questions


def _fill_assignments(sheet: Sheet, worker: str, status: str | None) -> None:
    """Fill the cells that only the last row of an assignment contains."""
    if bare := sum(not cell.strip() for cell in sheet.cells(worker)):
        sheet.remarks.append(f"{bare:,} rows without {worker} belong to the assignment of the next row with one.")
    for name in filter(None, (worker, status)):
        cells, below = sheet.cells(name), ""
        for row in range(len(cells) - 1, -1, -1):
            below = cells[row] = cells[row] or below


_JOB = ("_worker_id", "_trusted_judgments", "_unit_state", "_last_judgment_at")


@sheet_tool("figure-eight", "Figure Eight / Appen", lambda peek: any(peek.has_names("_unit_id", each) for each in _JOB))
def figure_eight(sheet: Sheet) -> Roles:
    """Read the full report of a job (CSV: _unit_id, _worker_id).

    Columns that differ within a unit are questions, and others are inputs. Several choices are a set. If a gold label
    has several lines, each of them is a correct label.
    """
    remedy = "An aggregated report does not contain workers. Download the full report of the job."
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


def _are_pairs(peek: FileProbe) -> bool:
    names = set(peek.names)
    return {"left", "right", "label"} <= names and not names.isdisjoint({"worker", "performer"}) and "task" not in names


@sheet_tool("crowd-kit", "Crowd-Kit", _are_pairs)
def crowd_kit(sheet: Sheet) -> Roles:
    """Read comparisons (CSV): worker, left, right, label; its other tables are plain ones.

    A pair of items is a task. The order of the items does not matter if labels name the better one.
    """
    worker = sheet.need("worker", "performer")
    columns = [sheet.need(name) for name in ("left", "right", "label")]
    rows = sheet.rows(columns)
    named = all(label in (left, right, "") for left, right, label in rows)
    pairs = [sorted([left, right]) if named else [left, right] for left, right, _ in rows]
    sheet.columns["left, right"] = [" | ".join(pair) for pair in pairs]
    sheet.question = None  # there is only one
    return worker, "left, right", columns[2:]


_USERS = ("user", "user_id", "username")


def _is_potato(peek: FileProbe) -> bool:
    has_ids = "instance_id" in peek.names and not set(_USERS).isdisjoint(peek.names)
    return has_ids and any(":::" in name for name in peek.names)


@sheet_tool("potato", "Potato", _is_potato)
def potato(sheet: Sheet) -> Roles:
    """Read annotated instances (CSV, TSV): user, instance_id and question:::option.

    The answer to a question is the set of its filled options.
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


# Answers of peerannot and WRENCH: JSON with one object for all tasks.


def _is_nested(peek: FileProbe) -> bool:
    """Return whether this is a mapping of mappings of labels, and not a table by columns."""
    if peek.ending != ".json" or not is_nested(peek.document):
        return False
    labels = chain.from_iterable(answers.values() for answers in peek.document.values())
    items = chain.from_iterable(label if isinstance(label, list) else [label] for label in labels)
    by_columns = {key.casefold() for key in peek.document} & {word for words in SYNONYMS.values() for word in words}
    return not by_columns and all(item is None or isinstance(item, str | int | float) for item in items)


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
        "The outer keys are read as tasks, and the inner keys as workers. If they are reversed, swap the columns: the"
        " worker is 'task', and the task is 'worker'."
    )


@record_tool("wrench", "WRENCH", lambda peek: isinstance(peek.document, dict) and peek.has("*.weak_labels"))
def wrench(export: Export) -> Iterator[Answer]:
    """Read a label matrix: one label per task and labelling function, -1 if it abstains (JSON).

    File: ``{"0": {"label": 1, "weak_labels": [-1, 0, 1]}}``. The workers are the labelling functions, numbered from 0.
    """
    silent, sizes = 0, set()
    for path in export.paths:
        split = f"{export.places[path][0]}/" if len(export.paths) > 1 else ""  # each file numbers its tasks from 0
        for name, task in export.document(path).items():
            export.at = f"{path}: task {name!r}"
            labels = get_numbers(task, "weak_labels")
            sizes.add(len(labels))
            votes = [(number, label) for number, label in enumerate(labels) if label != SILENT]
            silent += not votes
            for number, label in votes:
                yield Answer(str(number), f"{split}{name}", label, gold=get(task, "label"))
    if len(sizes) > 1:
        raise InputError(f"{export.where}, has tasks with {min(sizes)} and with {max(sizes)} weak labels. Correct it.")
    export.finish = partial(as_label_matrix, silent=silent)


# Zooniverse. Older tools write outlines as ``{"points": [{"x": ..., "y": ...}, ...]}``, and newer tools as
# ``{"pathX": [...], "pathY": [...]}``. The metadata may contain the sizes of images (``subject_dimensions``).

_WORKER, _TASKS = "user_name", ("subject_ids", "subject_id")
_LABELS = ("choice", "data.choice", "value", "data.value", "data.text", "answer", "label")
_ABOUT_NAMES = """
    classification_id user_name user_id user_ip workflow_id workflow_name workflow_version created_at gold_standard
    expert metadata annotations subject_data subject_ids subject_id task task_index task_label task_type
    total_submissions submission_index extractor data.aggregation_version aggregation_version unnamed: index
"""
_ABOUT = tuple(_ABOUT_NAMES.split())
_RANGE = re.compile(r"(?=(?:\d\d){2,3}$)\d+")  # 1150 is 11-50
_TEXT = ("text", "label", "value", "option")  # fields with the answer of an object, in order of preference


def _is_classified(peek: FileProbe) -> bool:
    """Return whether a file contains classifications of subjects, raw or processed."""
    names = set(peek.names)
    known = ({"workflow_id", "reducer"}, {_WORKER, "classification_id"}, {_WORKER, "annotations", "workflow_id"})
    return not names.isdisjoint(_TASKS) and any(each <= names for each in known)


@sheet_tool("zooniverse", "Zooniverse", _is_classified)
def zooniverse(sheet: Sheet) -> Roles:
    """Read classifications (CSV): raw with annotations, extracted, or flattened.

    Each task of the workflow is a question.
    """
    remedy = "Export the classifications of the project: they contain users and subjects."
    task, _ = sheet.need(*_TASKS, remedy=remedy), sheet.need(_WORKER, remedy=remedy)
    _name_people(sheet)
    if "annotations" in sheet.columns:
        questions = _unpack(sheet, task)
    elif label := next((name for name in _LABELS if name in sheet.columns), None):
        questions = _split_by_task(sheet, label, sheet.cells(label))
    elif "extractor" in sheet.columns:
        questions = _read_extracts(sheet)
    else:
        questions = [name for name in sheet.columns if name and not name.casefold().startswith(_ABOUT)]
    marks = [name for name in ("gold_standard", "expert") if name in sheet.columns]
    rows = sheet.rows([_WORKER, *marks])
    experts = [any(cell.strip().casefold() in ("true", "expert") for cell in cells) for _, *cells in rows]
    if any(experts):
        sheet.remarks.append(f"{sum(experts):,} classifications are by experts ({' or '.join(marks)}).")
    sheet.truths = {name: f"{name} gold" for name in questions}
    if sheet.golden and any(experts):
        _set_apart(sheet, task, experts)
    return _WORKER, task, questions


def _name_people(sheet: Sheet) -> None:
    """Use another id for volunteers who were not logged in."""
    others = [name for name in ("user_id", "user_ip", "classification_id") if name in sheet.columns]
    people = [next((cell for cell in ids if not is_blank(cell)), "") for ids in sheet.rows([_WORKER, *others])]
    if nameless := sum(map(is_blank, sheet.cells(_WORKER))):
        sheet.columns[_WORKER] = people
        sheet.remarks.append(f"{nameless:,} classifications have no user_name: {' or '.join(others)} is used instead.")


def _set_apart(sheet: Sheet, task: str, experts: Sequence[bool]) -> None:
    """Move the classifications by experts into columns of gold labels for the same subjects."""
    subjects = sheet.cells(task)
    gold = {}
    for name, column in sheet.truths.items():
        rows = zip(experts, subjects, sheet.cells(name), strict=True)
        gold[column] = match_truths((subject, label) for expert, subject, label in rows if expert and label)
    sheet.keep([not expert for expert in experts])
    for column, known in gold.items():
        sheet.columns[column] = [known.get(subject) for subject in sheet.cells(task)]


def _read_extracts(sheet: Sheet) -> list[str]:
    """Read extracts with one column of counts per possible answer."""
    counts = {name.removeprefix("data."): sheet.cells(name) for name in sheet.starting("data.") if name not in _ABOUT}
    cells = chain.from_iterable(counts.values())
    if not counts or not all(is_blank(cell) or cell.replace(".", "", 1).isdigit() for cell in cells):
        raise InputError(
            f"{sheet.where} has extracts that are not answers to a question: {', '.join(counts) or 'none'}. Give the"
            " classifications of the project instead."
        )
    counts.pop("None", None)
    return _split_by_task(sheet, "answer", [ticked or None for ticked in list_ticked(counts)])


def _split_by_task(sheet: Sheet, label: str, answers: Sequence[Any]) -> list[str]:
    """Make one column per task of the workflow if rows belong to several; return the columns."""
    tasks = sheet.cells("task") if "task" in sheet.columns else [label] * len(answers)
    names = sorted(set(tasks)) if len(set(tasks)) > 1 else [label]
    for name in names:
        rows = zip(answers, tasks, strict=True)
        own = [answer if task == name or len(names) == 1 else None for answer, task in rows]
        sheet.columns[name] = as_answers([None if is_blank(answer) else answer for answer in own])
    return names


# Raw classifications, with the answers to each task of a workflow as JSON.


def _unpack(sheet: Sheet, task: str) -> list[str]:
    """Make one column of answers per task of the workflow; return these columns."""
    cells = sheet.cells("annotations")
    flows = sheet.cells("workflow_id") if "workflow_id" in sheet.columns else [""] * len(cells)
    several = len(set(flows)) > 1
    rows: list[dict[str, Any]] = []
    wordings: dict[str, set[str]] = defaultdict(set)
    for row, (cell, flow) in enumerate(zip(cells, flows, strict=True)):
        rows.append({})
        try:
            found = parse_json(cell) if cell.strip() else []
        except ValueError:
            found = None
        if not isinstance(found, list):
            raise InputError(f"{sheet.place(row)}: the annotations are not a JSON list: {cell[:60]!r}. Correct them.")
        for annotation in _list_annotations(found):
            for part, answer in _list_answers(annotation.get("value")):
                name = f"{flow}:{annotation['task']}{part}" if several else f"{annotation['task']}{part}"
                rows[-1][name] = answer
                wordings[name].add(str(annotation.get("task_label") or ""))
    columns = spread(rows, sheet.where)
    if not columns:
        raise InputError(f"{sheet.where} has no annotations. Export the classifications of the project again.")
    if changed := [f"{name} ({n})" for name in sorted(wordings) if (n := len(wordings[name] - {""})) > 1]:
        sheet.remarks.append(f"The wording of these questions changed: {', '.join(changed)}.")
    names: list[str] = []
    for name in sorted(columns, key=lambda name: (columns[name].count(None), name)):
        answers = columns[name]
        drawn = _draw(sheet, name, task, answers) if _are_outlines(answers) else {name: as_answers(answers)}
        sheet.columns |= drawn
        names += drawn
        if details := _list_details(answers):
            sheet.columns[f"{name} details"] = details
            sheet.details[name] = f"{name} details"
    return names


def _list_annotations(found: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the annotations of a classification, also those nested in a combination of tasks."""
    for annotation in found:
        if isinstance(annotation, dict) and "task" in annotation:
            value = annotation.get("value")
            if isinstance(value, list) and value and all(isinstance(item, dict) and "task" in item for item in value):
                yield from _list_annotations(value)
            else:
                yield annotation


def _list_answers(value: Any) -> list[tuple[str, Any]]:
    """Return the answer to a task, or the numbered answers to several menus.

    An answer is a string, a list of strings, a list of marks, or the details of a survey, which may have no choices.
    """
    answers: list[Any]
    if not isinstance(value, list):
        answers = [_as_text(value)]
    elif not value or not all(isinstance(item, dict) for item in value):
        answers = [[text for text in map(_as_text, value) if text is not None]]
    elif any("choice" in item for item in value):
        answers = [_read_survey(value)]
    elif all(set(item) & {"x", "points", "pathX", "clipPath", "x1"} for item in value):
        answers = [value]
    else:
        answers = [_as_text(item) for item in value]
    parts = [f".{number}" for number in range(1, len(answers) + 1)] if len(answers) > 1 else [""]
    return [(part, answer) for part, answer in zip(parts, answers, strict=True) if answer is not None]


def _as_text(value: Any) -> str | None:
    """Return an answer as text; for an object, its text or else the whole object as JSON."""
    if isinstance(value, dict):
        value = next((value[key] for key in _TEXT if isinstance(value.get(key), str)), value)
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _read_survey(items: Sequence[Mapping[str, Any]]) -> Details:
    """Return the choices of a survey with the details on each; for a repeated choice, the first details."""
    details: Details = {}
    for item in items:
        if item.get("choice") is not None:
            answers = item.get("answers")
            fields = answers.items() if isinstance(answers, dict) else ()
            said = {str(name): tuple(map(str, cell if isinstance(cell, list) else [cell])) for name, cell in fields}
            details.setdefault(str(item["choice"]), said)
    return details


def _list_details(answers: Sequence[Any]) -> list[Details] | None:
    """Return the details on the choices of each row, spelled out, or None if there are none.

    Zooniverse removes vowels and signs: N and S are no and yes, and 1150 is 11-50 if 10 is also an option.
    """
    rows: list[Details] = [answer if isinstance(answer, dict) else {} for answer in answers]
    choices = [said for row in rows for said in row.values()]
    cells: dict[str, set[str]] = defaultdict(set)
    for said in choices:
        for name, given in said.items():
            cells[name].update(given)
    for said in choices:
        for name, given in said.items():
            said[name] = tuple(_spell(cell, cells[name]) for cell in given)
    return rows if cells else None


def _spell(cell: str, given: set[str]) -> str:
    if given <= {"N", "S"}:
        return {"N": "no", "S": "yes"}[cell]
    low, high = cell[: len(cell) // 2], cell[len(cell) // 2 :]
    is_range = _RANGE.fullmatch(cell) is not None and int(low) < int(high) and str(int(low) - 1) in given
    return f"{low}-{high}" if is_range else cell


def _are_outlines(answers: Sequence[Any]) -> bool:
    """Return whether all answers to a question are lists of outlines."""
    lists = [answer for answer in answers if answer is not None]
    marks = [mark for answer in lists if isinstance(answer, list) for mark in answer]
    outlines = all(isinstance(mark, dict) and {"points", "pathX"} & {*mark} for mark in marks)
    return bool(marks) and outlines and all(isinstance(answer, list) for answer in lists)


def _draw(sheet: Sheet, name: str, task: str, answers: Sequence[Any]) -> dict[str, list[Any]]:
    """Return a column of masks per tool of a question and frame of a subject, with None for missing answers."""
    areas = Areas(sheet.where)
    subjects = sheet.cells(task)
    for row, outlines in enumerate(answers):
        if outlines is None:
            continue
        areas.measure(subjects[row], _find_size(sheet.cells("metadata")[row]) if "metadata" in sheet.columns else None)
        for mark in outlines:
            tool = mark.get("tool_label") or f"tool {mark.get('tool', mark.get('toolIndex', 0))}"
            frame = f", frame {mark['frame']}" if mark.get("frame") else ""
            areas.draw(row, subjects[row], f"{tool}{frame}", _read_points(mark, sheet, row))
    columns: dict[str, list[Any]] = {}
    seen = ((row, subjects[row]) for row, outlines in enumerate(answers) if outlines is not None)
    for row, _, tool, mask in areas.masks(seen):
        columns.setdefault(tool, [None] * len(answers))[row] = mask
    return {f"{name}: {tool}" if len(columns) > 1 else name: columns[tool] for tool in sorted(columns)}


def _read_points(mark: Mapping[str, Any], sheet: Sheet, row: int) -> list[tuple[float, float]]:
    with suppress(KeyError, TypeError, ValueError):
        old = "points" in mark
        xs, ys = ([each[axis] for each in mark["points"]] if old else mark[f"path{axis.upper()}"] for axis in "xy")
        points = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
        if all(map(math.isfinite, chain.from_iterable(points))):
            return points
    raise InputError(f"{sheet.place(row)}: an outline has points without x and y: {str(mark)[:60]!r}. Correct it.")


def _find_size(about: str) -> tuple[float, float] | None:
    """Return the height and width of the largest frame from the metadata of a classification, or None."""
    with suppress(ValueError, KeyError, TypeError):
        frames = parse_json(about)["subject_dimensions"]
        height, width = (max(float(each[side]) for each in frames) for side in ("naturalHeight", "naturalWidth"))
        return height, width
    return None
