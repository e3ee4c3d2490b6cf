"""Charts of a report, as SVG.

Each takes rows of plain data and returns a picture, or nothing where there is nothing to see. Workers are named by
their aliases; these also are the label of each mark, by which the page finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.bins import find_edges
from allalike.report.brevity import brief
from allalike.report.drawing import BELOW, Axis, draw_below, draw_beside, draw_mark, draw_sheet, draw_text, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allalike._core.blocks.block import Array, Floats

__all__ = ["chart_bins", "chart_gold", "chart_intervals", "chart_map", "chart_pairs"]

Row = dict[str, Any]

_MARK = "var(--mark)"
_FAULTS = [f"var(--fault-{number})" for number in range(1, 6)]
_SHAPES = {"usual": "circle", "no signal": "triangle", "few answers": "diamond"}
_MAX_INTERVALS = 24
_MAX_LARGE = 60  # workers for whom a map has room
_BESIDE = 32  # room for the numbers of an axis that stands upright
_ALIAS = 124  # room for names that take the place of aliases
_STEP = 18  # from one worker to the next
_MAX_PAIRED = 40  # workers whose pairs are drawn


def chart_map(rows: Sequence[Row], unit: str) -> str | None:
    """Draw workers on a map: size is answers, colour is fault, a ring with a number is a group, shape is a flag.

    >>> row = {"x": 0, "y": 0, "alias": "W1", "answers": 5, "fault": 0.2, "shape": "usual", "group": ""}
    >>> chart_map([row, row], "fault").count('aria-label="W1"')
    2
    """
    if len(rows) < 2:
        return None
    width, height = 540, 400
    x, y = (Axis.around([row[name] for row in rows], size, "", edge=24) for name, size in (("x", width), ("y", height)))
    places = [(x.place(row["x"]), height - y.place(row["y"])) for row in rows]
    large = 600.0 if len(rows) <= _MAX_LARGE else 200.0
    areas = _areas(rows, large / 8, large)
    bounds = _bounds([row["fault"] for row in rows if row["fault"] is not None])
    look: Row = {"stroke": "var(--page)", "opacity": 0.9, "role": "img"}
    parts = [tag("rect", x=0, y=0, width=width, height=height, fill="none", stroke="var(--line)")]
    for row, place, area in zip(rows, places, areas, strict=True):
        colour = _colour(row["fault"], bounds)
        parts.append(draw_mark(_SHAPES[row["shape"]], *place, area, fill=colour, aria_label=row["alias"], **look))
    for row, (left, top) in zip(rows, places, strict=True):
        if row["group"] != "":
            parts.append(draw_mark("circle", left, top, 900.0, fill="none", stroke="currentColor"))
            parts.append(draw_text(left + 18, top - 16, str(row["group"])))
    parts += [*_list_colours(unit, bounds, height), *_list_sizes(rows, areas, height), *_list_shapes(rows, height)]
    return draw_sheet(0, 0, width, height + 64, parts)


def _areas(rows: Sequence[Row], least: float, most: float) -> list[float]:
    top = max(max(row["answers"] for row in rows), 1)
    return [least + (most - least) * row["answers"] / top for row in rows]


def _bounds(shown: Sequence[float]) -> list[float]:
    """Return the faults at which one colour ends and the next begins."""
    low, high = (min(shown), max(shown)) if shown and min(shown) < max(shown) else (0.0, 1.0)
    return [low + (high - low) * number / len(_FAULTS) for number in range(1, len(_FAULTS))]


def _colour(fault: float | None, bounds: Sequence[float]) -> str:
    return "none" if fault is None else _FAULTS[sum(fault >= bound for bound in bounds)]


def _list_colours(unit: str, bounds: Sequence[float], top: float) -> Iterator[str]:
    """Say below a map which colour means what."""
    yield draw_text(0, top + 18, unit)
    for number, colour in enumerate(_FAULTS):
        yield tag("rect", x=36 * number, y=top + 28, width=36, height=14, fill=colour)
    for number, bound in enumerate(bounds, 1):
        yield draw_text(36 * number, top + 52, f"{bound:.2g}", "middle")


def _list_sizes(rows: Sequence[Row], areas: Sequence[float], top: float) -> Iterator[str]:
    """Say which size means how many answers: the smallest and the largest."""
    known = sorted((row["answers"], area) for row, area in zip(rows, areas, strict=True))
    yield draw_text(210, top + 18, "answers")
    for left, (answers, area) in zip((224, 304), sorted({known[0], known[-1]}), strict=False):
        yield draw_mark("circle", left, top + 42, area, fill="none", stroke="currentColor")
        yield draw_text(left + 18, top + 42, f"{answers:,}")


def _list_shapes(rows: Sequence[Row], top: float) -> Iterator[str]:
    """Say what shapes mean, where there are several."""
    shapes = [shape for shape in _SHAPES if any(row["shape"] == shape for row in rows)]
    for number, shape in enumerate(shapes if len(shapes) > 1 else []):
        yield draw_mark(_SHAPES[shape], 390, top + 16 + 20 * number, 80.0, fill="currentColor")
        yield draw_text(402, top + 16 + 20 * number, shape)


def chart_bins(values: Floats, title: str, what: str, counts: Array | None = None) -> str | None:
    """Draw how many values lie where; ``counts`` are those of the twentieths from 0 to 1, if they were counted before.

    >>> chart_bins(np.array([0.1, 0.2, 0.2]), "fault", "workers").count("<rect")
    5
    """
    finite = values[np.isfinite(values)]
    if counts is not None:
        used = np.flatnonzero(counts)
        edges = np.linspace(0, 1, 21)
        if not len(used):
            return None
        counts, edges = counts[used[0] :], edges[used[0] :]
    elif len(finite):
        counts, edges = np.histogram(finite, bins=find_edges(finite, 20))
    else:
        return None
    height = 180.0
    x = Axis(float(edges[0]), float(edges[-1]), 380.0, title).ticked()
    y = Axis.over([float(max(counts))], height, what, _BESIDE, least=1.0)
    axes = [*draw_beside(y, x.length), *draw_below(x, height, upright=False)]
    places = [x.place(float(edge)) for edge in edges]
    bars = [
        tag(
            "rect",
            x=places[i] + 0.5,
            y=height - y.place(float(n)),
            width=max(places[i + 1] - places[i] - 1, 0.5),
            height=y.place(float(n)),
            fill=_MARK,
            role="img",
            aria_label=f"{brief(edges[i], 3)} to {brief(edges[i + 1], 3)}: {n:,} {what}",
        )
        for i, n in enumerate(counts)
    ]
    return draw_sheet(-y.room_beside, -8, x.length + y.room_beside + 16, height + BELOW + 8, [*axes, *bars])


def chart_intervals(rows: Sequence[Row], unit: str) -> str | None:
    """Draw the best and the worst workers with the limits of 95 % of what is known of them, the best above.

    >>> chart_intervals([{"alias": "W1", "value": 0.2, "low": 0.1, "high": 0.4}], "error rate").count("W1")
    2
    """
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    if not known:
        return None
    half = _MAX_INTERVALS // 2
    shown = known if len(known) <= _MAX_INTERVALS else [*known[:half], *known[-half:]]
    ends = [row[name] for row in shown for name in ("low", "value", "high") if row[name] is not None]
    x, height = Axis.over(ends, 300.0, unit), _STEP * len(shown)
    marks = [tag("line", x1=0, x2=0, y1=0, y2=height, stroke="currentColor", stroke_opacity=0.5)]
    for number, row in enumerate(shown):
        at = _STEP * (number + 0.5)
        marks.append(draw_text(-10, at, row["alias"], "end"))
        if row["low"] is not None and row["high"] is not None:
            low, high = x.place(row["low"]), x.place(row["high"])
            marks.append(tag("line", x1=low, x2=high, y1=at, y2=at, stroke=_MARK, stroke_width=2))
        dot: Row = {"fill": _MARK, "role": "img", "aria_label": row["alias"]}
        marks.append(draw_mark("circle", x.place(row["value"]), at, 70.0, **dot))
    return draw_sheet(-_ALIAS, 0, x.length + _ALIAS + 16, height + BELOW, [*draw_below(x, height), *marks])


def chart_gold(rows: Sequence[Row], unit: str) -> str | None:
    """Draw each worker's disparity against her distance to known truths.

    >>> row = {"alias": "W1", "disparity": 0.4, "error": 0.2, "answers": 9}
    >>> chart_gold([row, row, row], "error").count("<path")
    3
    """
    if len(rows) < 3:
        return None
    height = 220.0
    x = Axis.around([row["disparity"] for row in rows], 380.0, "disparity: mean distance to the others")
    y = Axis.around([row["error"] for row in rows], height, f"{unit} on known truths", _BESIDE)
    axes = [*draw_beside(y, x.length), *draw_below(x, height)]
    dots = [
        draw_mark(
            "circle",
            x.place(row["disparity"]),
            height - y.place(row["error"]),
            area,
            fill=_MARK,
            opacity=0.75,
            role="img",
            aria_label=row["alias"],
        )
        for row, area in zip(rows, _areas(rows, 40.0, 300.0), strict=True)
    ]
    return draw_sheet(-y.room_beside, -8, x.length + y.room_beside + 16, height + BELOW + 8, [*axes, *dots])


def chart_pairs(pairs: Sequence[tuple[int, int, float, bool]]) -> str | None:
    """Draw pairs of workers, each with how much they are wrong together, from 0 to 1, and whether that counts.

    >>> chart_pairs([(0, 1, 0.3, True), (0, 2, 0.0, False), (1, 2, 0.0, False)]).count("<rect")
    7
    """
    shown = sorted({worker for pair in pairs for worker in pair[:2]})
    if len(shown) < 3 or len(shown) > _MAX_PAIRED:
        return None
    at = {worker: _STEP * place for place, worker in enumerate(shown)}
    side = _STEP * len(shown)
    parts = [tag("rect", x=0, y=0, width=side, height=side, fill="none", stroke="var(--line)")]
    parts += [draw_text(-10, at[worker] + _STEP / 2, f"W{worker + 1}", "end") for worker in shown]
    for left, right, strength, bound in pairs:
        edge = {"stroke": "currentColor", "stroke_width": 1.5} if bound else {"stroke": "none"}
        for x, y in ((at[left], at[right]), (at[right], at[left])):
            look = {"fill": _MARK, "fill_opacity": 0.06 + 0.94 * strength, **edge}
            parts.append(tag("rect", x=x + 1, y=y + 1, width=_STEP - 2, height=_STEP - 2, **look))
    return draw_sheet(-_ALIAS, 0, side + _ALIAS + 16, side, parts)
