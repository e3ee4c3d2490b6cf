"""Summaries: what a result says of itself, in counts, settings and errors."""

from __future__ import annotations

import dataclasses
import platform
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.results.deciding import rank_correlation
from allalike.api.results.groups import describe_trust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["compare_with_gold", "describe_answers", "describe_confidence", "find_versions", "summarise"]


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
        **({"trust": _rounded(trust)} if (trust := describe_trust(run, weighing)) else {}),
        "effective_workers": float(len(run.problems.sizes) / np.square(weighing.weight).sum()),
        **run.notes,
    }
    return {**summary, "versions": find_versions()}


def compare_with_gold(run: Run, weighing: Weighing, found: TaskTable) -> dict[str, Any]:
    """Say how far the truths are from those that are known, where these were not looked at, and who predicted it."""
    errors = {"error": found.mean("gold"), "unweighted_error": found.mean("unweighted_gold")}
    return {**errors, **rank_correlation(run, weighing.disparity)}
