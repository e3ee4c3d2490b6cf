"""Pictures: the charts of a page with the rows they are drawn from, and a sentence for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.report.drawing import chart_bins, chart_gold, chart_intervals, chart_map
from allalike.report.judges import draw_pairs
from allalike.report.material import brief
from allalike.report.people import People, all_overlap, find_interval, may_differ, name_sureness, read_unit
from allalike.result.messages import say_correlation

if TYPE_CHECKING:
    from allalike.report.material import Material
    from allalike.report.tasks import Survey

_MIN_GOLD_ANSWERS = 3  # of a worker to tasks whose truth is known, as for the rank correlation
_MAX_DOTS = 500


def describe_pictures(
    material: Material, people: People, workers: dict[str, Any], survey: Survey, neighbours: dict[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return charts by name, those that show something, and for each what it says in words."""
    unit = read_unit(material).replace("_", " ")
    rows = _worker_rows(workers)
    values = np.asarray(material.workers[read_unit(material)], np.float64)
    numbers = "low" in survey.shown.found
    charts = {
        "map": chart_map(_places(rows, neighbours), unit) if neighbours else None,
        "intervals": _draw_intervals(rows, unit),
        "faults": chart_bins(values, f"{unit} of workers", "workers") if may_differ(material) else None,
        "sureness": (
            chart_bins(survey.sample.doubt, "width of the limits of a truth", "tasks")
            if numbers
            else chart_bins(np.empty(0), f"{name_sureness(material)} of truths", "tasks", survey.counts)
        ),
        "pairs": draw_pairs(material, people),
        "gold": chart_gold(_gold_rows(material, people), unit if unit != "rmse" else "squared error"),
    }
    shown = {name: chart for name, chart in charts.items() if chart}
    return shown, {name: _CAPTIONS[name](material, neighbours) for name in shown}


def _worker_rows(workers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the workers shown, each as a row of a chart."""
    n = len(workers["answers"])
    none = [None] * n
    names = ("answers", "value", "low", "high", "rank_low", "rank_high")
    columns = zip(*(workers.get(name, none) for name in names), workers["group"], workers["flags"], strict=True)
    return [
        {**dict(zip(names, row, strict=False)), "alias": f"W{place}", "group": row[-2], "shape": _shape(row[-1])}
        for place, row in enumerate(columns, 1)
    ]


def _draw_intervals(rows: list[dict[str, Any]], unit: str) -> str | None:
    """Draw the intervals of errors, or without gold labels the ranges of ranks."""
    ranked = [row for row in rows if row["rank_low"] is not None]
    if not ranked:
        return chart_intervals(rows, unit)
    ends = [(row["rank_low"], row["rank_high"]) for row in ranked]
    ranks = [
        {**row, "low": low, "high": high, "value": (low + high) / 2}
        for row, (low, high) in zip(ranked, ends, strict=True)
    ]
    return chart_intervals(ranks, "range of the rank, 1 has the fewest errors", dots=False)


def _shape(flags: list[str]) -> str:
    if any(flag == "uninformative" or flag.startswith("always ") for flag in flags):
        return "uninformative"
    return "few answers" if "few answers" in flags else "usual"


def _places(rows: list[dict[str, Any]], neighbours: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "x": brief(x),
            "y": brief(y),
            "fault": row["value"],
            **{k: row[k] for k in ("alias", "answers", "shape", "group")},
        }
        for row, (x, y) in zip(rows, neighbours["places"], strict=True)
    ]


def _gold_rows(material: Material, people: People) -> list[dict[str, Any]]:
    """Return workers with their disparity and their mean distance to known truths, the most active ones."""
    if not material.run.n_gold or material.run.worker_task is not None:
        return []
    sums = material.run.sum(material.run.kernels.gold_sums)
    asked = np.flatnonzero(sums["answers"] >= _MIN_GOLD_ANSWERS)
    asked = asked[np.argsort(-sums["answers"][asked], kind="stable")][:_MAX_DOTS]
    asked = asked[np.isfinite(material.weighing.disparity[asked])]
    return [
        {
            "alias": f"W{place + 1}",
            "disparity": brief(material.weighing.disparity[i]),
            "error": brief(sums["distance"][i] / sums["answers"][i]),
            "answers": int(sums["answers"][i]),
        }
        for i, place in zip(asked, people.refer(asked), strict=True)
    ]


def _caption_map(material: Material, neighbours: dict[str, Any]) -> str:
    met = "" if neighbours["met"] > 0.999 else f" {100 * neighbours['met']:.2g} % of the pairs have a task in common."
    return (
        "Each mark is a worker; similar workers are close. Good workers are close together, bad ones apart, and copies"
        f" lie on each other.{met}"
    )


def _caption_intervals(material: Material, neighbours: dict[str, Any]) -> str:
    interval = find_interval(material)
    what = {
        None: "The workers with the smallest and the largest errors",
        "ci_low": "95 % confidence intervals of the workers' errors",
        "rank_low": "Ranges of the workers' ranks; intervals of their errors need 20 gold labels",
    }[interval and interval[0]]
    return f"{what}. All overlap: no two workers clearly differ." if all_overlap(material) else f"{what}."


def _caption_sureness(material: Material, neighbours: dict[str, Any]) -> str:
    if material.run.encoding.numeric:
        return "How wide the limits of the truths are: tasks at the right need more answers."
    return "How sure the truths are: tasks at the left need more answers."


def _caption_gold(material: Material, neighbours: dict[str, Any]) -> str:
    gold = material.summary.gold
    if gold is None or gold.disparity_error_correlation is None:
        return "If the dots rise from left to right, distance to the others tells who errs."
    return say_correlation(gold.disparity_error_correlation)


_CAPTIONS = {
    "map": _caption_map,
    "intervals": _caption_intervals,
    "faults": lambda material, neighbours: "Estimated errors of the workers.",
    "sureness": _caption_sureness,
    "pairs": lambda material, neighbours: (
        "Each field is a pair of judges: the stronger its colour, the more "
        + (
            "often both gave the same wrong answer"
            if "ratio" in material.panel["pairs"][1]
            else "their errors correlate"
        )
        + " than is expected of two judges like them. Pairs with a border are wrong together beyond chance."
    ),
    "gold": _caption_gold,
}
