"""Charts of a report, as descriptions in Vega-Lite.

Each takes rows of plain data and returns a chart, or nothing where there is nothing to see. Workers are named by their
aliases; these also stand as the description of each mark, by which the page finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.bins import find_edges
from allalike.report.brevity import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Floats

__all__ = ["chart_bins", "chart_gold", "chart_intervals", "chart_map"]

Chart = dict[str, Any]

_MARK = "var(--mark)"
_FAULTS = [f"var(--fault-{number})" for number in range(1, 6)]
_SHAPES = {"usual": "circle", "no signal": "triangle-up", "few answers": "diamond"}
_MAX_INTERVALS = 24
_MAX_SINGLE_TICKS = 8
_MAX_LARGE = 60  # workers for whom a map has room


def chart_map(rows: Sequence[dict[str, Any]], unit: str) -> Chart | None:
    """Draw workers on a map: size is answers, colour is fault, a ring with a number is a group, shape is a flag.

    >>> row = {"x": 0, "y": 0, "alias": "W1", "answers": 5, "fault": 0.2, "shape": "usual", "group": ""}
    >>> chart_map([row, row], "fault")["layer"][0]["mark"]["type"]
    'point'
    """
    if len(rows) < 2:
        return None
    inside = {"zero": False, "nice": False, "padding": 24}
    place = {name: {"field": name, "type": "quantitative", "axis": None, "scale": inside} for name in ("x", "y")}
    large = 600 if len(rows) <= _MAX_LARGE else 200
    size = {
        "field": "answers",
        "type": "quantitative",
        "scale": {"range": [large // 8, large]},
        "legend": {"title": "answers", "symbolFillColor": "transparent", "values": _ends(rows)},
    }
    shown = [row["fault"] for row in rows if row["fault"] is not None]
    span = [min(shown), max(shown)] if shown and min(shown) < max(shown) else [0, 1]
    colour = {
        "field": "fault",
        "type": "quantitative",
        "scale": {"type": "quantize", "domain": span, "range": _FAULTS},
        "legend": {"title": unit, "format": ".2g", "gradientLength": 140},
    }
    shapes = [shape for shape in _SHAPES if any(row["shape"] == shape for row in rows)]
    shape = {
        "field": "shape",
        "type": "nominal",
        "scale": {"domain": shapes, "range": [_SHAPES[each] for each in shapes]},
        "legend": {"title": None} if len(shapes) > 1 else None,
    }
    dots = {
        "mark": {"type": "point", "filled": True, "opacity": 0.9, "stroke": "var(--page)", "strokeWidth": 1},
        "encoding": {**place, "size": size, "color": colour, "shape": shape, "description": {"field": "alias"}},
    }
    grouped = [{"filter": "datum.group !== ''"}]
    ring = {
        "transform": grouped,
        "mark": {"type": "point", "filled": False, "size": 900, "stroke": "currentColor", "aria": False},
        "encoding": place,
    }
    number = {
        "transform": grouped,
        "mark": {"type": "text", "dx": 18, "dy": -12, "aria": False},
        "encoding": {**place, "text": {"field": "group"}},
    }
    return {
        "width": 540,
        "height": 400,
        "data": {"values": list(rows)},
        "layer": [dots, ring, number],
        "config": {"legend": {"orient": "bottom"}, "view": {"stroke": "var(--line)"}},
    }


def _ends(rows: Sequence[dict[str, Any]]) -> list[int]:
    counts = [row["answers"] for row in rows]
    return sorted({min(counts), max(counts)})


def chart_bins(values: Floats, title: str, what: str, counts: Array | None = None) -> Chart | None:
    """Draw how many values lie where; ``counts`` are those of the twentieths from 0 to 1, if they were counted before.

    >>> chart_bins(np.array([0.1, 0.2, 0.2]), "fault", "workers")["mark"]["type"]
    'bar'
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
    rows = [
        {"from": brief(edges[i]), "to": brief(edges[i + 1]), "n": int(n), "label": _bin(edges, i, int(n), what)}
        for i, n in enumerate(counts)
    ]
    return {
        "width": 380,
        "height": 180,
        "data": {"values": rows},
        "mark": {"type": "bar", "color": _MARK, "binSpacing": 1},
        "encoding": {
            "x": {**_axis("from", title), "bin": {"binned": True}},
            "x2": {"field": "to"},
            "y": _axis("n", what, {"format": ",d", **_whole_ticks(int(max(counts)))}),
            "description": {"field": "label"},
        },
    }


def _whole_ticks(top: int) -> dict[str, Any]:
    """Have ticks at whole numbers where there are so few that others would stand between them."""
    return {"values": list(range(top + 1))} if top <= _MAX_SINGLE_TICKS else {}


def _bin(edges: Floats, i: int, n: int, what: str) -> str:
    return f"{brief(edges[i], 3)} to {brief(edges[i + 1], 3)}: {n:,} {what}"


def chart_intervals(rows: Sequence[dict[str, Any]], unit: str) -> Chart | None:
    """Draw the best and the worst workers with the limits of 95 % of what is known of them, the best above.

    >>> chart_intervals([{"alias": "W1", "value": 0.2, "low": 0.1, "high": 0.4}], "error rate")["height"]["step"]
    18
    """
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    if not known:
        return None
    half = _MAX_INTERVALS // 2
    shown = known if len(known) <= _MAX_INTERVALS else [*known[:half], *known[-half:]]
    order = [row["alias"] for row in shown]
    y = {
        "field": "alias",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {"grid": False, "ticks": False, "minExtent": 120},
    }
    limits = {
        "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
        "mark": {"type": "rule", "color": _MARK, "strokeWidth": 2, "aria": False},
        "encoding": {"x": _axis("low", unit), "x2": {"field": "high"}, "y": y},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 70, "color": _MARK, "opacity": 1},
        "encoding": {"x": _axis("value", unit), "y": y, "description": {"field": "alias"}},
    }
    return {"width": 300, "height": {"step": 18}, "data": {"values": shown}, "layer": [limits, points]}


def chart_gold(rows: Sequence[dict[str, Any]], unit: str) -> Chart | None:
    """Draw each worker's disparity against her distance to known truths.

    >>> row = {"alias": "W1", "disparity": 0.4, "error": 0.2, "answers": 9}
    >>> chart_gold([row, row, row], "error")["mark"]["type"]
    'point'
    """
    if len(rows) < 3:
        return None
    return {
        "width": 380,
        "height": 220,
        "data": {"values": list(rows)},
        "mark": {"type": "point", "filled": True, "color": _MARK, "opacity": 0.75},
        "encoding": {
            "x": _axis("disparity", "disparity: mean distance to the others", {}, zero=False),
            "y": _axis("error", f"{unit} on known truths", {}, zero=False),
            "size": {"field": "answers", "type": "quantitative", "legend": None, "scale": {"range": [40, 300]}},
            "description": {"field": "alias"},
        },
    }


def _axis(field: str, title: str | None, axis: dict[str, Any] | None = None, *, zero: bool = True) -> dict[str, Any]:
    scale = {} if zero else {"scale": {"zero": False, "padding": 12}}
    return {"field": field, "type": "quantitative", "title": title, "axis": {**(axis or {})}, **scale}
