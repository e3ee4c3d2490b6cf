"""Summaries: what a result says of itself, in counts, settings and errors, and of its workers.

These are groups who copy or are only alike, and workers whose answers say nothing, or who are clearly worse.
"""

from __future__ import annotations

import dataclasses
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.results.deciding import rank_correlation
from allalike.api.results.tables import fault_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = [
    "Worse",
    "compare_with_gold",
    "describe_answers",
    "describe_confidence",
    "find_versions",
    "find_worse",
    "group_columns",
    "summarise",
]

_MAX_NAMED = 20  # workers and groups that a summary names


def describe_answers(run: Run) -> dict[str, int]:
    """Count answers, workers and tasks for a summary."""
    return {"answers": int(run.answer_counts.sum()), "workers": len(run.workers), "tasks": run.n_tasks}


def find_versions() -> dict[str, str]:
    """Say in a summary with which versions it was found."""
    import pyarrow as pa

    from allalike import __version__

    return {
        "allalike": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def describe_confidence(run: Run, weighing: Weighing, found: TaskTable) -> dict[str, Any]:
    """Say how sure the truths are, and how many answers a task has and how many independent ones they count like."""
    confidence = weighing.insight.confidence
    assert confidence is not None
    voices = {"voices_per_task": found.mean("voices")} if "error_correlation" in confidence else {}
    per_task = {**voices, "answers_per_task": int(run.answer_counts.sum()) / run.n_tasks}
    return _rounded({**confidence, "mean": found.mean("confidence"), **per_task})


def _rounded(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return notes with six digits of each number, of which the last ones depend on the order of additions."""
    return {name: _round(value) for name, value in notes.items()}


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return _rounded(value)
    return [_round(each) for each in value] if isinstance(value, list) else value


def summarise(run: Run, weighing: Weighing, found: TaskTable, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a summary says beside what is compared with known truths, and what looks strange."""
    summary = {
        **describe_answers(run),
        **settings,
        **dataclasses.asdict(weighing.rounds),
        "changed": int(found.total("changed")),
        "tied": int(found.total("tied")),
        **({"abstained": int(found.total("abstained"))} if "min_confidence" in settings else {}),
        **({"confidence": describe_confidence(run, weighing, found)} if weighing.insight.confidence else {}),
        **({"reading": _rounded(weighing.notes)} if weighing.notes else {}),
        **({"trust": _rounded(trust)} if (trust := _describe_trust(run, weighing)) else {}),
        "effective_workers": float(len(run.problems.sizes) / np.square(weighing.weight).sum()),
        **run.notes,
    }
    return {**summary, "versions": find_versions()}


def compare_with_gold(run: Run, weighing: Weighing, found: TaskTable) -> dict[str, Any]:
    """Say how far the truths are from those that are known, where these were not looked at, and who predicted it."""
    errors = {"error": found.mean("gold"), "unweighted_error": found.mean("unweighted_gold")}
    return {**errors, **rank_correlation(run, weighing.disparity)}


def group_columns(run: Run, weighing: Weighing) -> dict[str, Values | Array]:
    """Return the columns of the table of groups: who is in them, whether they copy, and what says so."""
    groups = weighing.insight.groups
    found = () if groups is None else groups.found
    return {
        "group": np.arange(1, len(found) + 1),
        "kind": text_column(["copies" if group.copies else "alike" for group in found]),
        "size": np.array([len(group.members) for group in found], np.int64),
        "members": text_column(["; ".join(map(str, _names(run, group.members))) for group in found]),
        "common": np.array([group.common for group in found], np.int64),
        "shared_rare": np.array([group.rare for group in found], np.int64),
        "fidelity": np.array([group.fidelity for group in found], np.float64),
        "probability": np.array([group.chance for group in found], np.float64),
    }


def _describe_trust(run: Run, weighing: Weighing) -> dict[str, Any]:
    """Say for a summary who copies, who is only alike, and whose answers carry no signal, with the evidence."""
    insight = weighing.insight
    signal, groups = insight.signal, insight.groups
    if signal is None or groups is None:
        return {}
    empty = np.flatnonzero(signal.empty)
    worse = _describe_worse(run, weighing)
    given = run.answer_counts
    without = [
        {"worker": run.workers[int(i)], "signal": float(signal.value[i]), "error": float(signal.error[i])}
        for i in empty[np.argsort(-given[empty], kind="stable")][:_MAX_NAMED]
    ]
    sizes = np.unique(groups.part[~groups.silent], return_counts=True)[1] if groups.part is not None else np.zeros(0)
    return {
        **({"parts": {"number": len(sizes), "largest": int(sizes.max())}} if groups.n_parts > 1 else {}),
        "no_signal": {
            "workers": len(empty),
            "share_of_answers": float(given[empty].sum() / given.sum()),
            "silenced": bool(groups.silent.any()),
            "named": without,
        },
        **({"look_at": worse} if worse else {}),
        "groups": [
            {
                "kind": "copies" if group.copies else "alike",
                "members": _names(run, group.members[:_MAX_NAMED]),
                "size": len(group.members),
                "common": group.common,
                "shared_rare": group.rare,
                "fidelity": None if np.isnan(group.fidelity) else group.fidelity,
                "probability": group.chance,
            }
            for group in groups.found[:_MAX_NAMED]
        ],
        "n_groups": {
            kind: sum(group.copies == copies for group in groups.found)
            for kind, copies in (("copies", True), ("alike", False))
        },
    }


class Worse(NamedTuple):
    """Workers who are clearly worse than the crowd, its mean, and the limits of everybody's fault."""

    workers: Array
    unit: str
    mean: float
    low: Floats
    high: Floats


def find_worse(run: Run, weighing: Weighing) -> Worse | None:
    """Find workers who are clearly worse than the crowd: with signal, enough answers, and limits above its mean."""
    insight = weighing.insight
    faults, signal = insight.faults, insight.signal
    if faults is None or signal is None or len(run.problems.sizes) > 1:
        return None
    columns = fault_columns(weighing, faults)
    fault, low, high = (columns[name] for name in (faults.unit, "low", "high"))
    counts = np.where(np.isfinite(fault), faults.shared, 0.0)
    if not counts.sum():
        return None
    mean = float((counts * np.nan_to_num(fault)).sum() / counts.sum())
    with np.errstate(invalid="ignore"):
        worse = np.flatnonzero((low > mean) & ~faults.few & ~signal.empty)
    return Worse(worse, faults.unit, mean, low, high)


def _describe_worse(run: Run, weighing: Weighing) -> dict[str, Any]:
    """Name the worst of them."""
    found = find_worse(run, weighing)
    if found is None or not len(found.workers):
        return {}
    low, high = found.low, found.high
    named = [
        {"worker": run.workers[int(i)], "low": float(low[i]), "high": float(high[i])}
        for i in found.workers[np.argsort(-low[found.workers], kind="stable")][:_MAX_NAMED]
    ]
    return {"workers": len(found.workers), "unit": found.unit, "crowd": found.mean, "named": named}


def _names(run: Run, members: tuple[int, ...]) -> list[Any]:
    return [run.workers[number] for number in members]
