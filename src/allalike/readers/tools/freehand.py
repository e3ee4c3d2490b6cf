"""Freehand: outlines that were drawn on Zooniverse, with polygon and freehand tools, as masks.

The older tools write points as ``{"points": [{"x": ..., "y": ...}, ...]}``, the newer ones ``{"pathX": [...], "pathY":
[...]}``. Each tool of a task, and each frame of a subject, is a question of its own. How large a picture is stands in
the metadata of classifications (``subject_dimensions``), of some of them at least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.tools.areas import Areas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["draw_outlines", "find_outlined"]


def find_outlined(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the questions of which all answers are lists of outlines.

    >>> square = {"points": [{"x": 0, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 2}], "tool": 0}
    >>> find_outlined(["T0", "T1"], [{"T0": [square], "T1": "yes"}, {"T0": []}])
    ['T0']
    """
    return [name for name in names if _are_outlines([row[name] for row in rows if row.get(name) is not None])]


def _are_outlines(answers: Sequence[Any]) -> bool:
    marks = [mark for answer in answers if isinstance(answer, list) for mark in answer]
    every = all(isinstance(answer, list) for answer in answers)
    return every and bool(marks) and all(isinstance(mark, dict) and {"points", "pathX"} & {*mark} for mark in marks)


def draw_outlines(
    name: str, rows: Sequence[Mapping[str, Any]], subjects: Sequence[str], metadata: Sequence[str], where: str
) -> dict[str, list[Any]]:
    """Return a column of masks for each tool and frame of a question; who did not answer it has none.

    >>> square = {"points": [{"x": 0, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 2}, {"x": 0, "y": 2}], "tool": 0}
    >>> about = '{"subject_dimensions": [{"naturalWidth": 3, "naturalHeight": 2}]}'
    >>> draw_outlines("T0", [{"T0": [square]}, {"T0": []}, {}], ["s", "s", "s"], [about, "", ""], "a.csv")
    {'T0': [a mask of 2 x 3 pixels, 4 on, a mask of 2 x 3 pixels, 0 on, None]}
    """
    areas = Areas(where)
    for row, (answers, subject, about) in enumerate(zip(rows, subjects, metadata, strict=True)):
        for frame, size in enumerate(_sizes(about)):
            areas.see(row, (subject, frame), size)
        for mark in answers.get(name) or []:
            frame, tool = _whole(mark, "frame"), mark.get("tool_label") or f"tool {_whole(mark, 'tool', 'toolIndex')}"
            areas.see(row, (subject, frame))
            areas.draw(row, (subject, frame), (tool, frame), _points(mark, f"{where}: row {row + 1}"))
    kinds = sorted({kind for _, kind in areas.drawn})
    drawn = {kind: {picture[0] for picture, each in areas.drawn if each == kind} for kind in kinds}  # type: ignore[index]
    frames = len({frame for _, frame in kinds}) > 1
    columns = {}
    for kind in kinds:
        tool, frame = kind
        title = f"{name}: {tool}, frame {frame + 1}" if frames else f"{name}: {tool}" if len(kinds) > 1 else name
        columns[title] = [
            areas.mask(row, (subject, frame), kind)
            if answers.get(name) is not None and subject in drawn[kind]
            else None
            for row, (answers, subject) in enumerate(zip(rows, subjects, strict=True))
        ]
    return columns


def _whole(mark: Mapping[str, Any], *keys: str) -> int:
    number = next((mark[key] for key in keys if key in mark), 0)
    return number if isinstance(number, int) else 0


def _points(mark: Mapping[str, Any], where: str) -> list[tuple[float, float]]:
    """Return the points of an outline."""
    try:
        if "points" in mark:
            points = [(float(point["x"]), float(point["y"])) for point in mark["points"]]
        else:
            points = [(float(x), float(y)) for x, y in zip(mark["pathX"], mark["pathY"], strict=True)]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: an outline has points without x and y: {str(mark)[:60]!r}.") from error
    return [point for point in points if abs(point[0]) + abs(point[1]) < float("inf")]


def _sizes(about: str) -> list[tuple[float, float] | None]:
    """Return height and width of each frame, as far as the metadata of a classification say."""
    try:
        listed = parse_json(about)["subject_dimensions"] if about.strip() else []
        return [
            (each["naturalHeight"], each["naturalWidth"]) if isinstance(each, dict) else None for each in listed or []
        ]
    except (ValueError, KeyError, TypeError):
        return []
