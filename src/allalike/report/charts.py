"""Charts of a report as SVG, from rows of plain data; None if there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.report.drawing import (
    BELOW,
    Axis,
    draw_below,
    draw_beside,
    draw_circle,
    draw_sheet,
    draw_text,
    tag,
)
from allalike.report.panel import list_pairs
from allalike.report.report_data import brief
from allalike.report.workers import all_overlap, find_interval, may_differ
from allalike.result.messages import format_correlation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allalike._core.blocks.block import Array, Floats
    from allalike.report.report_data import Material
    from allalike.report.tasks import ShownTasks
    from allalike.report.workers import People

Row = dict[str, Any]
_MARK = "var(--mark)"
_COLOURS = [f"var(--fault-{number})" for number in range(1, 6)]
_MAX_INTERVALS = 24
_MAX_LARGE = 60  # workers with large marks on a map
_MAX_PAIRED = 40  # judges whose pairs are drawn
_MAX_DOTS = 500
_MAX_BINS = 20
_MIN_GOLD_ANSWERS = 3  # gold labels of a worker, as for the rank correlation
_BESIDE = 32  # width of the numbers of a vertical axis
_ALIAS = 124  # width of the names that replace aliases
_STEP = 18  # from one worker to the next


def draw_charts(
    material: Material, people: People, workers: Row, tasks: ShownTasks, neighbours: Row
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the charts with content, by name, and their captions."""
    unit = material.unit.replace("_", " ").replace("rmse", "RMSE")
    errors = np.asarray(material.workers[material.unit], np.float64)
    rows = list_rows(workers)
    for row, place in zip(rows, neighbours.get("places", ()), strict=False):
        row["x"], row["y"] = map(brief, place)
    if "low" in tasks.found:
        width = np.where(np.isfinite(tasks.found["high"]), tasks.found["high"] - tasks.found["low"], np.nan)
        confidence = chart_bins(width, "width of the intervals of labels", "tasks")
    else:
        confidence = chart_bins(np.empty(0), f"{material.confidence_name} of labels", "tasks", tasks.counts)
    charts = {
        "map": chart_map(rows, unit) if neighbours else None,
        "intervals": _chart_errors_or_ranks(rows, unit),
        "errors": chart_bins(errors, f"{unit} of workers", "workers") if may_differ(material) else None,
        "confidence": confidence,
        "pairs": chart_pairs(list_pairs(material, people)),
        "gold": chart_gold(_gold_rows(material, people), unit if unit != "RMSE" else "squared error"),
    }
    shown = {name: chart for name, chart in charts.items() if chart}
    return shown, {name: _describe(name, material, neighbours) for name in shown}


def list_rows(workers: Row) -> list[Row]:
    """Return the workers of a page, each as a row of a chart."""
    none = [None] * len(workers["answers"])
    names = ("answers", "value", "low", "high", "rank_low", "rank_high", "group")
    columns = zip(*(workers.get(name, none) for name in names), strict=True)
    return [{**dict(zip(names, row, strict=True)), "alias": f"W{place}"} for place, row in enumerate(columns, 1)]


def _chart_errors_or_ranks(rows: list[Row], unit: str) -> str | None:
    """Draw the intervals of errors, or without gold labels the ranges of ranks."""
    ranked = [row for row in rows if row["rank_low"] is not None]
    if not ranked:
        return chart_intervals(rows, unit)
    for row in ranked:
        row["low"], row["high"] = row["rank_low"], row["rank_high"]
        row["value"] = (row["low"] + row["high"]) / 2
    return chart_intervals(ranked, "range of the rank, 1 has the fewest errors", dots=False)


def _gold_rows(material: Material, people: People) -> list[Row]:
    """Return the most active workers with their disparity and their mean distance to gold labels."""
    if not material.run.n_gold or material.run.worker_task is not None:
        return []
    sums, disparity = material.run.sum(material.run.kernels.gold_sums), material.fit.disparity
    known = np.flatnonzero((sums["answers"] >= _MIN_GOLD_ANSWERS) & np.isfinite(disparity))
    known = known[np.argsort(-sums["answers"][known], kind="stable")][:_MAX_DOTS]
    return [
        {
            "alias": f"W{place + 1}",
            "disparity": brief(disparity[worker]),
            "error": brief(sums["distance"][worker] / sums["answers"][worker]),
            "answers": int(sums["answers"][worker]),
        }
        for worker, place in zip(known, people.refer(known), strict=True)
    ]


def _describe(name: str, material: Material, neighbours: Row) -> str:
    """Return the caption of a chart."""
    if name == "map":
        met = neighbours["met"]
        shared = "" if met > 0.999 else f" {100 * met:.2g} % of the pairs have a task in common."
        return f"Each mark is a worker; similar workers are close. Copies lie on each other.{shared}"
    if name == "intervals":
        interval = find_interval(material)
        what = {
            None: "The workers with the smallest and the largest errors",
            "ci_low": "95 % confidence intervals of the workers' errors",
            "rank_low": "Ranges of the workers' ranks; intervals of their errors need 20 gold labels",
        }[interval and interval[0]]
        return f"{what}. All overlap: no two workers clearly differ." if all_overlap(material) else f"{what}."
    if name == "confidence":
        if material.run.encoding.numeric:
            return "Width of the labels' intervals: tasks at the right need more answers."
        return "Confidence of the labels: tasks at the left need more answers."
    if name == "pairs":
        ratio = "ratio" in material.panel["pairs"][1]
        what = "wrong answers that both gave" if ratio else "correlation of their errors"
        return (
            f"Each field is a pair of judges. A stronger colour means more {what} than expected for independent judges"
            " with the same error rates. Pairs with a border have significantly correlated errors."
        )
    gold = material.summary.gold
    if name == "gold" and gold is not None and gold.disparity_error_correlation is not None:
        return format_correlation(gold.disparity_error_correlation)
    return "Estimated errors of the workers." if name == "errors" else "Distance to the others, and error on gold."


# Charts from rows.


def chart_map(rows: Sequence[Row], unit: str) -> str | None:
    """Draw workers on a map: size shows answers, colour shows error, a numbered ring shows the copy group.

    >>> row = {"x": 0, "y": 0, "alias": "W1", "answers": 5, "value": 0.2, "group": ""}
    >>> chart_map([row, row], "error").count('aria-label="W1"')
    2
    """
    if len(rows) < 2:
        return None
    width, height = 540, 400
    x, y = (Axis.around([row[name] for row in rows], size, "", edge=24) for name, size in (("x", width), ("y", height)))
    large = 600.0 if len(rows) <= _MAX_LARGE else 200.0
    areas = _areas(rows, large / 8, large)
    errors = [row["value"] for row in rows if row["value"] is not None]
    low, high = (min(errors), max(errors)) if errors and min(errors) < max(errors) else (0.0, 1.0)
    bounds = [low + (high - low) * number / len(_COLOURS) for number in range(1, len(_COLOURS))]
    look: Row = {"stroke": "var(--page)", "opacity": 0.9, "role": "img"}
    parts = [tag("rect", x=0, y=0, width=width, height=height, fill="none", stroke="var(--line)")]
    rings = []
    for row, area in zip(rows, areas, strict=True):
        left, top = x.place(row["x"]), height - y.place(row["y"])
        colour = "none" if row["value"] is None else _COLOURS[sum(row["value"] >= bound for bound in bounds)]
        parts.append(draw_circle(left, top, area, fill=colour, aria_label=row["alias"], **look))
        if row["group"] not in ("", None):
            rings.append(draw_circle(left, top, 900.0, fill="none", stroke="currentColor"))
            rings.append(draw_text(left + 18, top - 16, str(row["group"])))
    legend = _list_legend(unit, bounds, sorted(zip((row["answers"] for row in rows), areas, strict=True)), height)
    return draw_sheet(0, 0, width, height + 64, [*parts, *rings, *legend])


def _areas(rows: Sequence[Row], least: float, most: float) -> list[float]:
    top = max(max(row["answers"] for row in rows), 1)
    return [least + (most - least) * row["answers"] / top for row in rows]


def _list_legend(unit: str, bounds: Sequence[float], sizes: Sequence[tuple[int, float]], top: float) -> Iterator[str]:
    """Explain colours, and the smallest and the largest size."""
    yield draw_text(0, top + 18, unit)
    for number, colour in enumerate(_COLOURS):
        yield tag("rect", x=36 * number, y=top + 28, width=36, height=14, fill=colour)
    for number, bound in enumerate(bounds, 1):
        yield draw_text(36 * number, top + 52, f"{bound:.2g}", "middle")
    yield draw_text(210, top + 18, "answers")
    for left, (answers, area) in zip((224, 304), sorted({sizes[0], sizes[-1]}), strict=False):
        yield draw_circle(left, top + 42, area, fill="none", stroke="currentColor")
        yield draw_text(left + 18, top + 42, f"{answers:,}")


def chart_bins(values: Floats, title: str, what: str, counts: Array | None = None) -> str | None:
    """Draw a histogram of values, or of counts in twenty bins from 0 to 1.

    >>> chart_bins(np.array([0.1, 0.2, 0.2]), "error", "workers").count("<rect")
    5
    """
    finite = values[np.isfinite(values)]
    if counts is not None:
        used = np.flatnonzero(counts)
        if not len(used):
            return None
        counts, edges = counts[used[0] :], np.linspace(0, 1, len(counts) + 1)[used[0] :]
    elif len(finite):
        counts, edges = np.histogram(finite, bins=_find_edges(finite))
    else:
        return None
    height = 180.0
    x = Axis.between(float(edges[0]), float(edges[-1]), 380.0, title)
    y = Axis.over([float(max(counts))], height, what, _BESIDE, least=1.0)
    bars = []
    for number, low, high in zip(counts, edges, edges[1:], strict=False):
        left, tall = x.place(float(low)), y.place(float(number))
        label = f"{brief(low, 3)} to {brief(high, 3)}: {number:,} {what}"
        place: Row = {"x": left + 0.5, "width": max(x.place(float(high)) - left - 1, 0.5)}
        place |= {"y": height - tall, "height": tall}
        bars.append(tag("rect", **place, fill=_MARK, role="img", aria_label=label))
    return _draw_in_axes(x, y, bars, upright=False)


def _find_edges(values: Floats) -> Floats:
    """Return the edges of bins: twice the square root of the number of values, or one bin for equal values."""
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size:  # they differ only by rounding
        half = 0.05 * size or 0.05
        return np.array([low - half, high + half])
    return np.linspace(low, high, int(np.clip(2 * np.sqrt(len(values)), 5, _MAX_BINS)) + 1)


def _draw_in_axes(x: Axis, y: Axis, marks: Sequence[str], *, upright: bool = True) -> str:
    axes = [*draw_beside(y, x.length), *draw_below(x, y.length, upright=upright)]
    return draw_sheet(-y.room_beside, -8, x.length + y.room_beside + 16, y.length + BELOW + 8, [*axes, *marks])


def chart_intervals(rows: Sequence[Row], unit: str, *, dots: bool = True) -> str | None:
    """Draw the intervals of the best and the worst workers, the best above, with estimates as dots.

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
        if dots or row["low"] == row["high"]:
            dot: Row = {"fill": _MARK, "role": "img", "aria_label": row["alias"]}
            marks.append(draw_circle(x.place(row["value"]), at, 70.0, **dot))
    return draw_sheet(-_ALIAS, 0, x.length + _ALIAS + 16, height + BELOW, [*draw_below(x, height), *marks])


def chart_gold(rows: Sequence[Row], unit: str) -> str | None:
    """Draw each worker's disparity against the mean distance to gold labels.

    >>> row = {"alias": "W1", "disparity": 0.4, "error": 0.2, "answers": 9}
    >>> chart_gold([row, row, row], "error").count("<path")
    3
    """
    if len(rows) < 3:
        return None
    x = Axis.around([row["disparity"] for row in rows], 380.0, "disparity: mean distance to the others")
    y = Axis.around([row["error"] for row in rows], 220.0, f"{unit} on gold labels", _BESIDE)
    look: Row = {"fill": _MARK, "opacity": 0.75, "role": "img"}
    dots = []
    for row, area in zip(rows, _areas(rows, 40.0, 300.0), strict=True):
        left, top = x.place(row["disparity"]), y.length - y.place(row["error"])
        dots.append(draw_circle(left, top, area, aria_label=row["alias"], **look))
    return _draw_in_axes(x, y, dots)


def chart_pairs(pairs: Sequence[tuple[int, int, float, bool]]) -> str | None:
    """Draw pairs of judges by the strength of their shared errors, from 0 to 1; significant pairs have a border.

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
    for left, right, strength, correlated in pairs:
        edge = {"stroke": "currentColor", "stroke_width": 1.5} if correlated else {"stroke": "none"}
        for x, y in ((at[left], at[right]), (at[right], at[left])):
            look = {"fill": _MARK, "fill_opacity": 0.06 + 0.94 * strength, **edge}
            parts.append(tag("rect", x=x + 1, y=y + 1, width=_STEP - 2, height=_STEP - 2, **look))
    return draw_sheet(-_ALIAS, 0, side + _ALIAS + 16, side, parts)
