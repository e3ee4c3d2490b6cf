"""Annotations: what classifications on Zooniverse say about each task of a workflow.

Outlines are those of older tools, ``{"points": [{"x": ..., "y": ...}, ...]}``, and of newer ones, ``{"pathX": [...],
"pathY": [...]}``. How large a picture is stands in the metadata of classifications (``subject_dimensions``), if at all.
"""

from __future__ import annotations

import json
import math
import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.tools.images import Areas
from allalike.readers.tools.sheets import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_RANGE = re.compile(r"(?=(?:\d\d){2,3}$)\d+")  # 1150 is 11-50
_TEXT = ("text", "label", "value", "option")  # the first of these that an object has holds its answer


class Seen(frozenset[str]):
    """What was chosen in a survey, with what is said of each choice: a text for each question, or several.

    >>> seen = Seen.of([{"choice": "LION", "answers": {"HWMN": "2", "DOES": ["EATING", "MOVING"]}}, {"choice": "OWL"}])
    >>> sorted(seen), seen.said
    (['LION', 'OWL'], {'LION': {'HWMN': ('2',), 'DOES': ('EATING', 'MOVING')}, 'OWL': {}})
    """

    said: Mapping[str, Mapping[str, tuple[str, ...]]]

    @classmethod
    def of(cls, items: Iterable[Mapping[str, Any]]) -> Seen:
        """Take the choices of a survey; of one that was chosen twice, what was said first."""
        said: dict[str, dict[str, tuple[str, ...]]] = {}
        for item in items:
            answers = item.get("answers")
            told = answers.items() if isinstance(answers, dict) else ()
            cells = {str(name): tuple(map(str, cell if isinstance(cell, list) else [cell])) for name, cell in told}
            said.setdefault(str(item["choice"]), cells)
        seen = cls(said)
        seen.said = said
        return seen


def list_details(values: Sequence[Any]) -> list[dict[str, dict[str, tuple[str, ...]]]] | None:
    """List what is said of the choices of each row, spelled out, or nothing if nothing is.

    Zooniverse leaves out vowels and signs: N and S are no and yes, and 1150 is 11-50 where 10 can be chosen, too.

    >>> list_details([Seen.of([{"choice": "LION", "answers": {"HWMN": many, "YNG": "S"}}]) for many in ("10", "1150")])
    [{'LION': {'HWMN': ('10',), 'YNG': ('yes',)}}, {'LION': {'HWMN': ('11-50',), 'YNG': ('yes',)}}]
    """
    rows = [value.said if isinstance(value, Seen) else {} for value in values]
    cells: dict[str, set[str]] = {}
    for said in (said for row in rows for said in row.values()):
        for name, given in said.items():
            cells.setdefault(name, set()).update(given)
    spelled = {name: {cell: _spell(cell, given) for cell in given} for name, given in cells.items()}
    if not cells:
        return None
    return [
        {
            thing: {name: tuple(spelled[name][cell] for cell in given) for name, given in said.items()}
            for thing, said in row.items()
        }
        for row in rows
    ]


def _spell(cell: str, given: set[str]) -> str:
    if given <= {"N", "S"}:
        return {"N": "no", "S": "yes"}[cell]
    low, high = cell[: len(cell) // 2], cell[len(cell) // 2 :]
    is_range = _RANGE.fullmatch(cell) is not None and int(low) < int(high) and str(int(low) - 1) in given
    return f"{low}-{high}" if is_range else cell


def parse_annotations(cell: str, where: str, row: int) -> list[Any]:
    """Read the annotations of a row.

    >>> parse_annotations('[{"task": "T0", "value": "Yes"}]', "a.csv", 1)
    [{'task': 'T0', 'value': 'Yes'}]
    >>> parse_annotations("[{", "a.csv", 7)
    Traceback (most recent call last):
    allalike.errors.InputError: a.csv: the annotations in row 7 are no JSON list: '[{'.
    """
    try:
        found = parse_json(cell) if cell.strip() else []
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise InputError(f"{where}: the annotations in row {row} are no JSON list: {cell[:60]!r}.")
    return found


def find_values(annotations: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield each task that was answered, its wording, and a string, a list of strings, a set, or a list of marks.

    A set is a survey's, whose choices may be none; a list of strings may be one answer in a list.

    >>> list(find_values([{"task": "T0", "value": ["a", "b"]}, {"task": "T1", "value": 3}, {"task": "T2"}]))
    [('T0', '', ['a', 'b']), ('T1', '', '3')]
    """
    waiting = list(reversed(annotations))  # a combination of tasks holds others
    while waiting:
        annotation = waiting.pop()
        if not isinstance(annotation, dict) or "task" not in annotation:
            continue
        value = annotation.get("value")
        if isinstance(value, list) and value and all(isinstance(item, dict) and "task" in item for item in value):
            waiting.extend(reversed(value))
            continue
        wording = annotation.get("task_label")
        for part, answer in _parts(value):
            if answer is not None:
                yield f"{annotation['task']}{part}", wording if isinstance(wording, str) else "", answer


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return the answer, or those to each of several menus."""
    if not isinstance(value, list):
        return [("", _plain(value))]
    if not value or not all(isinstance(item, dict) for item in value):
        return [("", [text for text in map(_plain, value) if text is not None])]
    if any("choice" in item for item in value):
        return [("", Seen.of(item for item in value if item.get("choice") is not None))]
    if all(set(item) & {"x", "points", "pathX", "clipPath", "x1"} for item in value):
        return [("", value)]
    answers = [_plain(item) for item in value]
    if len(answers) == 1:
        return [("", answers[0])]
    return [(f".{number}", answer) for number, answer in enumerate(answers, start=1)]


def _plain(value: Any) -> str | None:
    """Return one answer as text: of an object its text, or else all of it."""
    if isinstance(value, dict):
        known = next((value[key] for key in _TEXT if isinstance(value.get(key), str)), None)
        value = value if known is None else known
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def make_columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Callable[[], Any]]:
    """Return a column for each task: of text, of sets if some answers have several parts, or of lists of marks.

    >>> columns = make_columns(["T0", "T1"], [{"T0": ["a"]}, {"T0": "b", "T1": ["c", "d"]}])
    >>> columns["T0"]().to_pylist(), columns["T1"]() == [None, frozenset({"c", "d"})]
    (['a', 'b'], True)
    """
    return {name: partial(_column, name, rows) for name in names}


def _column(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    values = [row.get(name) for row in rows]
    if any(isinstance(value, list) and any(isinstance(item, dict) for item in value) for value in values):
        return [value if isinstance(value, list) or value is None else [value] for value in values]
    if any(isinstance(value, frozenset) or (isinstance(value, list) and len(value) > 1) for value in values):
        return [None if value is None else frozenset([value] if isinstance(value, str) else value) for value in values]
    single = [(value[0] if value else None) if isinstance(value, list) else value for value in values]
    return as_text(single)


def are_outlines(answers: Iterable[Any]) -> bool:
    """Tell whether all answers to a question are lists of outlines.

    >>> are_outlines([[{"pathX": [0, 2, 2], "pathY": [0, 0, 2]}], None, []]), are_outlines(["yes"])
    (True, False)
    """
    given = [answer if isinstance(answer, list) else [answer] for answer in answers if answer is not None]
    marks = [mark for answer in given for mark in answer]
    return bool(marks) and all(isinstance(mark, dict) and {"points", "pathX"} & {*mark} for mark in marks)


def draw_outlines(
    name: str, rows: Sequence[Mapping[str, Any]], subjects: Sequence[str], metadata: Sequence[str], where: str
) -> dict[str, list[Any]]:
    """Return a column of masks for each tool of a question, and frame of a subject; who did not answer it has none.

    >>> square = {"points": [{"x": 0, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 2}, {"x": 0, "y": 2}], "tool": 0}
    >>> about = '{"subject_dimensions": [{"naturalWidth": 3, "naturalHeight": 2}]}'
    >>> draw_outlines("T0", [{"T0": [square]}, {"T0": []}, {}], ["s", "s", "s"], [about, "", ""], "a.csv")
    {'T0': [a mask of 2 x 3 pixels, 4 on, a mask of 2 x 3 pixels, 0 on, None]}
    """
    areas = Areas(where)
    for row, (answers, subject, about) in enumerate(zip(rows, subjects, metadata, strict=True)):
        if answers.get(name) is not None:
            areas.see(row, subject, _find_size(about))
        for mark in answers.get(name) or []:
            areas.draw(row, subject, _name_tool(mark), _find_points(mark, f"{where}: row {row + 1}"))
    columns: dict[str, list[Any]] = {}
    for row, _, tool, mask in areas.masks():
        columns.setdefault(tool, [None] * len(rows))[row] = mask
    return {f"{name}: {tool}" if len(columns) > 1 else name: columns[tool] for tool in sorted(columns)}


def _name_tool(mark: Mapping[str, Any]) -> str:
    tool = mark.get("tool_label") or f"tool {mark.get('tool', mark.get('toolIndex', 0))}"
    return f"{tool}, frame {mark['frame']}" if mark.get("frame") else str(tool)


def _find_points(mark: Mapping[str, Any], where: str) -> list[tuple[float, float]]:
    """Return the points of an outline."""
    try:
        old = "points" in mark
        xs, ys = ([each[axis] for each in mark["points"]] if old else mark[f"path{axis.upper()}"] for axis in "xy")
        points = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
    except (KeyError, TypeError, ValueError):
        points = [(math.nan, math.nan)]
    if not all(map(math.isfinite, chain.from_iterable(points))):
        raise InputError(f"{where}: an outline has points without x and y: {str(mark)[:60]!r}.")
    return points


def _find_size(about: str) -> tuple[float, float] | None:
    """Return height and width of the largest frame, if the metadata of a classification say them."""
    try:
        frames = parse_json(about)["subject_dimensions"]
        height, width = (max(float(each[side]) for each in frames) for side in ("naturalHeight", "naturalWidth"))
    except (ValueError, KeyError, TypeError):
        return None
    return height, width
