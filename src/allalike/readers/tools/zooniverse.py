"""Zooniverse: classifications, as they are exported, extracted or flattened.

Outlines are those of older tools, ``{"points": [{"x": ..., "y": ...}, ...]}``, and of newer ones, ``{"pathX": [...],
"pathY": [...]}``. How large a picture is stands in the metadata of classifications (``subject_dimensions``), if at all.
"""

from __future__ import annotations

import json
import math
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.answers.gold import match_truths
from allalike.errors import InputError
from allalike.readers.tools.frame import Areas, spread
from allalike.readers.tools.sheets import Sheet, as_answers, is_blank, list_ticked, sheet_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.readers.tools.base import Peek
    from allalike.readers.tools.sheets import Roles

    Details = dict[str, dict[str, tuple[str, ...]]]  # a choice of a survey -> a question about it -> answers

_WORKER, _TASKS = "user_name", ("subject_ids", "subject_id")
_LABELS = ("choice", "data.choice", "value", "data.value", "data.text", "answer", "label")
_ABOUT_NAMES = """
    classification_id user_name user_id user_ip workflow_id workflow_name workflow_version created_at gold_standard
    expert metadata annotations subject_data subject_ids subject_id task task_index task_label task_type
    total_submissions submission_index extractor data.aggregation_version aggregation_version unnamed: index
"""
_ABOUT = tuple(_ABOUT_NAMES.split())
_RANGE = re.compile(r"(?=(?:\d\d){2,3}$)\d+")  # 1150 is 11-50
_TEXT = ("text", "label", "value", "option")  # the first of these that an object has holds its answer


def _is_classified(peek: Peek) -> bool:
    """Return whether a file has classifications of subjects, or what was made of them."""
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
    elif "extractor" in sheet.columns:
        questions = _read_extracts(sheet)
    elif label := next((name for name in _LABELS if name in sheet.columns), None):
        questions = _split_by_task(sheet, label, sheet.cells(label))
    else:
        questions = [name for name in sheet.columns if name and not name.casefold().startswith(_ABOUT)]
    experts = _find_experts(sheet)
    sheet.truths = {name: f"{name} gold" for name in questions}
    if sheet.golden and any(experts):
        _set_apart(sheet, task, experts)
    return _WORKER, task, questions


def _name_people(sheet: Sheet) -> None:
    """Name those who did not log in by what else is known about them."""
    people = sheet.cells(_WORKER)
    nameless = sum(map(is_blank, people))
    if not nameless:
        return
    others = [name for name in ("user_id", "user_ip", "classification_id") if name in sheet.columns]
    for row, ids in enumerate(sheet.rows([_WORKER, *others])):
        people[row] = next((each for each in ids if not is_blank(each)), "")
    sheet.remarks.append(f"{nameless:,} classifications have no user_name; {' or '.join(others)} stands for it.")


def _find_experts(sheet: Sheet) -> list[bool]:
    """Return for each row whether an expert classified, and remark how many did."""
    experts = [False] * len(sheet.cells(_WORKER))
    for name in ("gold_standard", "expert"):
        if name in sheet.columns:
            marks = [cell.strip().casefold() in ("true", "expert") for cell in sheet.cells(name)]
            experts = [any(pair) for pair in zip(experts, marks, strict=True)]
            if any(marks):
                sheet.remarks.append(f"{sum(marks):,} classifications are an expert's ({name}).")
    return experts


def _set_apart(sheet: Sheet, task: str, experts: Sequence[bool]) -> None:
    """Leave out what experts said, and put it beside the answers of others about the same subject."""
    subjects = sheet.cells(task)
    gold = {}
    for name, column in sheet.truths.items():
        rows = zip(experts, subjects, sheet.cells(name), strict=True)
        gold[column] = match_truths((subject, label) for expert, subject, label in rows if expert and label)
    sheet.keep([not expert for expert in experts])
    for column, known in gold.items():
        sheet.columns[column] = [known.get(subject) for subject in sheet.cells(task)]


def _read_extracts(sheet: Sheet) -> list[str]:
    """Read extracts: one column that has the answer, or one for each answer, which has a number where it was given."""
    data = [name for name in sheet.starting("data.") if name not in _ABOUT]
    label = next((name for name in _LABELS if name in data), None)
    if label is not None:
        return _split_by_task(sheet, label, sheet.cells(label))
    counts = {name.removeprefix("data."): sheet.cells(name) for name in data}
    cells = chain.from_iterable(counts.values())
    if not counts or not all(is_blank(cell) or cell.replace(".", "", 1).isdigit() for cell in cells):
        raise InputError(
            f"{sheet.where} has extracts that are no answers to a question: {', '.join(data) or 'none'}. Give the"
            " classifications of the project instead."
        )
    counts.pop("None", None)
    return _split_by_task(sheet, "answer", [ticked or None for ticked in list_ticked(counts)])


def _split_by_task(sheet: Sheet, label: str, answers: Sequence[Any]) -> list[str]:
    """Give every task of the workflow its own column if rows belong to several; return the columns."""
    answers = [None if is_blank(answer) else answer for answer in answers]
    tasks = sheet.cells("task") if "task" in sheet.columns else []
    if len(set(tasks)) < 2:
        sheet.columns[label] = as_answers(answers)
        return [label]
    names = sorted(set(tasks))
    for name in names:
        rows = zip(answers, tasks, strict=True)
        sheet.columns[name] = as_answers([answer if task == name else None for answer, task in rows])
    return names


# Raw classifications: the answers to each task of a workflow, as JSON.


def _unpack(sheet: Sheet, task: str) -> list[str]:
    """Put the answers to each task of the workflow into a column; return these columns."""
    cells = sheet.cells("annotations")
    flows = sheet.cells("workflow_id") if "workflow_id" in sheet.columns else [""] * len(cells)
    several = len(set(flows)) > 1
    rows: list[dict[str, Any]] = []
    wordings: dict[str, set[str]] = {}
    for row, (cell, flow) in enumerate(zip(cells, flows, strict=True)):
        rows.append({})
        for annotation in _list_annotations(sheet, row, cell):
            wording = annotation.get("task_label")
            for part, answer in _list_answers(annotation.get("value")):
                name = f"{flow}:{annotation['task']}{part}" if several else f"{annotation['task']}{part}"
                rows[-1][name] = answer
                wordings.setdefault(name, set()).update([wording] if isinstance(wording, str) and wording else [])
    if not wordings:
        raise InputError(f"{sheet.where} has no annotations.")
    if changed := [f"{name} ({len(texts)})" for name, texts in sorted(wordings.items()) if len(texts) > 1]:
        sheet.remarks.append(f"These questions changed their wording: {', '.join(changed)}.")
    columns = spread(rows, sheet.where)
    names: list[str] = []
    for name in sorted(columns, key=lambda name: (columns[name].count(None), name)):
        answers = columns[name]
        sheet.columns[name] = as_answers(answers)
        if _are_outlines(answers):
            masks = _draw(sheet, name, task, answers)
            sheet.columns |= masks
            names += masks
        else:
            names.append(name)
        if details := _list_details(answers):
            sheet.columns[f"{name} details"] = details
            sheet.details[name] = f"{name} details"
    return names


def _list_annotations(sheet: Sheet, row: int, cell: str) -> Iterator[dict[str, Any]]:
    """Yield the tasks that a classification answers; a combination of tasks holds others."""
    try:
        found = parse_json(cell) if cell.strip() else []
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise InputError(f"{sheet.place(row)}: the annotations are no JSON list: {cell[:60]!r}.")
    waiting = found[::-1]
    while waiting:
        annotation = waiting.pop()
        if not isinstance(annotation, dict) or "task" not in annotation:
            continue
        value = annotation.get("value")
        if isinstance(value, list) and value and all(isinstance(item, dict) and "task" in item for item in value):
            waiting += value[::-1]
        else:
            yield annotation


def _list_answers(value: Any) -> list[tuple[str, Any]]:
    """Return the answer to a task, or those to each of several menus, numbered.

    An answer is a string, a list of strings, a list of marks, or the details of a survey, whose choices may be none.
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
    """Return one answer as text: of an object its text, or else all of it."""
    if isinstance(value, dict):
        value = next((value[key] for key in _TEXT if isinstance(value.get(key), str)), value)
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _read_survey(items: Sequence[Mapping[str, Any]]) -> Details:
    """Return the choices of a survey with what is said of each; of one that was chosen twice, what was said first."""
    details: Details = {}
    for item in items:
        if item.get("choice") is not None:
            answers = item.get("answers")
            fields = answers.items() if isinstance(answers, dict) else ()
            said = {str(name): tuple(map(str, cell if isinstance(cell, list) else [cell])) for name, cell in fields}
            details.setdefault(str(item["choice"]), said)
    return details


def _list_details(answers: Sequence[Any]) -> list[Details] | None:
    """Return what is said of the choices of each row, spelled out, or nothing if nothing is.

    Zooniverse leaves out vowels and signs: N and S are no and yes, and 1150 is 11-50 where 10 can be chosen, too.

    >>> _list_details([{"LION": {"HWMN": (many,), "YNG": ("S",)}} for many in ("10", "1150")])
    [{'LION': {'HWMN': ('10',), 'YNG': ('yes',)}}, {'LION': {'HWMN': ('11-50',), 'YNG': ('yes',)}}]
    """
    rows: list[Details] = [answer if isinstance(answer, dict) else {} for answer in answers]
    cells: dict[str, set[str]] = {}
    for said in (said for row in rows for said in row.values()):
        for name, given in said.items():
            cells.setdefault(name, set()).update(given)
    for said in (said for row in rows for said in row.values()):
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
    """Return a column of masks for each tool of a question, and frame of a subject; who did not answer it has none."""
    areas = Areas(sheet.where)
    subjects = sheet.cells(task)
    for row, outlines in enumerate(answers):
        if outlines is None:
            continue
        areas.measure(subjects[row], _find_size(sheet.cells("metadata")[row]) if "metadata" in sheet.columns else None)
        for mark in outlines:
            tool = mark.get("tool_label") or f"tool {mark.get('tool', mark.get('toolIndex', 0))}"
            frame = f", frame {mark['frame']}" if mark.get("frame") else ""
            points = _find_points(mark)
            if not all(map(math.isfinite, chain.from_iterable(points))):
                raise InputError(f"{sheet.place(row)}: an outline has points without x and y: {str(mark)[:60]!r}.")
            areas.draw(row, subjects[row], f"{tool}{frame}", points)
    columns: dict[str, list[Any]] = {}
    seen = ((row, subjects[row]) for row, outlines in enumerate(answers) if outlines is not None)
    for row, _, tool, mask in areas.masks(seen):
        columns.setdefault(tool, [None] * len(answers))[row] = mask
    return {f"{name}: {tool}" if len(columns) > 1 else name: columns[tool] for tool in sorted(columns)}


def _find_points(mark: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the points of an outline; one that is no number if they cannot be read."""
    try:
        old = "points" in mark
        xs, ys = ([each[axis] for each in mark["points"]] if old else mark[f"path{axis.upper()}"] for axis in "xy")
        return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
    except (KeyError, TypeError, ValueError):
        return [(math.nan, math.nan)]


def _find_size(about: str) -> tuple[float, float] | None:
    """Return height and width of the largest frame, if the metadata of a classification have them."""
    try:
        frames = parse_json(about)["subject_dimensions"]
        height, width = (max(float(each[side]) for each in frames) for side in ("naturalHeight", "naturalWidth"))
    except (ValueError, KeyError, TypeError):
        return None
    return height, width
