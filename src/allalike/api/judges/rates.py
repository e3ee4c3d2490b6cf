"""Rates: the share of good in a run and in each group of its tasks, as a panel tells of it.

A group with twenty known truths of its own has a rate from these. Any other has one by the errors that the panel makes
on all tasks (Rogan and Gladen), unless known truths show that it errs more often in some groups than in others; then
only the share that the panel calls good is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.judges.further_truths import TruthPlan, draw_tasks, plan_truths
from allalike.api.judges.prevalence import BAD, GOOD, UNKNOWN, Counts, Rate, correct_rate, estimate_rate, misfits
from allalike.api.judges.task_verdicts import find_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.task_groups import GroupedTasks
    from allalike.api.judges.task_verdicts import TaskVerdicts

__all__ = ["Rates"]

_MIN_OWN = 20  # known truths of a group that speak for it
_SIGNIFICANCE = 0.01
_MAX_NAMED = 20  # groups in a summary


@dataclass(frozen=True)
class Rates:
    """Which share of the tasks is good.

    Parameters
    ----------
    good
        The labels that are.
    found
        What the panel says of each task.
    groups
        The groups of tasks, if there are some.
    picked_by_truth
        Whether tasks with known truths were picked by these, such as as many good as bad ones, and not drawn at random.
    inferred
        Whether the names of the labels told which of them is good.
    """

    good: Sequence[Any]
    found: TaskVerdicts
    groups: GroupedTasks | None = None
    picked_by_truth: bool = False
    inferred: bool = False

    @cached_property
    def counts(self) -> Counts:
        """How many tasks have which verdict and truth."""
        return Counts.of(self.found.verdict, self.found.truth)

    @cached_property
    def rate(self) -> Rate:
        """The rate of all tasks."""
        return correct_rate(self.counts) if self.picked_by_truth else estimate_rate(self.counts)

    @cached_property
    def plan(self) -> TruthPlan:
        """The truths to find out next: a first random draw, where those that are known are none."""
        none = replace(self.counts, known=np.zeros(2), good=np.zeros(2))
        return plan_truths(none if self.picked_by_truth else self.counts)

    def describe(self) -> dict[str, Any]:
        """Tell the rate, what the panel's errors are, and how many further truths make the limits half as wide."""
        counts, plan = self.counts, self.plan
        specificity, sensitivity = counts.hit_rates.tolist()
        rest = counts.tasks - counts.known
        told = {
            "good": list(self.good),
            **({"inferred": True} if self.inferred else {}),
            "tasks": int(counts.tasks.sum()),
            "known": int(counts.known.sum()),
            "apparent": counts.apparent,
            **self.rate.describe(),
            "sensitivity": sensitivity,
            "specificity": specificity,
            "drawn": "truth" if self.picked_by_truth else "random",
            "double_sampling": estimate_rate(counts).describe(),
            "rogan_gladen": correct_rate(counts).describe(),
            "misfit": misfits(counts),
            "picked": {
                "known": _share(counts.known),
                "others": _share(rest),
                "beyond_chance": _differ(counts.known, rest) < _SIGNIFICANCE,
            },
            "ask": {
                "truths": plan.total,
                "called_good": int(plan.truths[GOOD]),
                "called_other": int(plan.truths[BAD]),
                "width": plan.width,
                "least_width": plan.reach,
            },
        }
        if self.groups is not None:
            rows = [dict(zip(("group", *_COLUMNS), row, strict=True)) for row in self._group_rows[:_MAX_NAMED]]
            told["groups"] = {"by": self.groups.by, "number": len(self.groups.names), "named": rows}
            told["groups"]["misfits"] = self._list_misfits()
        return {"rate": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for all tasks and one for each group, and the tasks whose truths to find out next."""
        rows = [("", *_row(self.counts, self.rate, "own")), *self._group_rows]
        names, *columns = zip(*rows, strict=True)
        told = {
            name: text_column(list(each)) if name == _SOURCE else np.array(each)
            for name, each in zip(_COLUMNS, columns, strict=True)
        }
        return {"rates": {"group": text_column(list(names)), **told}, "ask": self._ask()}

    def judge_columns(self) -> Columns:
        """Return nothing: the rate is the panel's."""
        return {}

    def _ask(self) -> Columns:
        found, hashes = self.found, self.found.hashes()
        picked = draw_tasks(self.plan, found.verdict, found.known, hashes)
        return {"task": find_ids(found.found, hashes[picked]), "called_good": found.verdict[picked] == GOOD}

    def _list_misfits(self) -> list[str]:
        """Name the groups whose rate comes from errors on known truths that do not fit."""
        assert self.groups is not None
        told = zip(self._group_rows, self._group_counts, strict=True)
        return [row[0] for row, part in told if row[-1] == "all" and misfits(self.counts, part.tasks)]

    @cached_property
    def _group_counts(self) -> list[Counts]:
        assert self.groups is not None
        chosen = [self.groups.number == number for number in range(len(self.groups.names))]
        return [Counts.of(self.found.verdict[some], self.found.truth[some]) for some in chosen]

    @cached_property
    def _group_rows(self) -> list[tuple[Any, ...]]:
        if self.groups is None:
            return []
        parts = self._group_counts
        alike = not _errors_differ(parts)
        told = [self._estimate_part(part, alike=alike) for part in parts]
        return [(name, *_row(part, *each)) for name, part, each in zip(self.groups.names, parts, told, strict=True)]

    def _estimate_part(self, part: Counts, *, alike: bool) -> tuple[Rate, str]:
        """Return the rate of a group, and whether its own known truths say so, or all."""
        if part.known.sum() >= _MIN_OWN:
            return (correct_rate(part) if self.picked_by_truth else estimate_rate(part)), "own"
        return (correct_rate(self.counts, part.tasks), "all") if alike else (UNKNOWN, "")


_SOURCE = "told_by"
_COLUMNS = ("tasks", "known", "apparent", "rate", "low", "high", _SOURCE)


def _row(counts: Counts, rate: Rate, told_by: str) -> tuple[Any, ...]:
    known = int(counts.known.sum())
    return (int(counts.tasks.sum()), known, counts.apparent, *rate, "" if np.isnan(rate.estimate) else told_by)


def _errors_differ(parts: Sequence[Counts]) -> bool:
    """Tell whether the panel errs more often in some groups than in others, on good tasks or on others."""
    from scipy.stats import chi2_contingency

    for truth in (BAD, GOOD):
        right = np.array([part.called_right[truth] for part in parts])
        wrong = np.array([part.truly[truth] for part in parts]) - right
        table = np.array([right, wrong])[:, right + wrong > 0]
        if table.sum(axis=1).all() and chi2_contingency(table, correction=False).pvalue < _SIGNIFICANCE / 2:
            return True
    return False


def _differ(one: Floats, other: Floats) -> float:
    """Return how probable it is that two counts of verdicts are so different by chance (Fisher's exact test)."""
    from scipy.stats import fisher_exact

    return float(fisher_exact(np.array([one, other])).pvalue) if one.sum() and other.sum() else 1.0


def _share(counts: Floats) -> float:
    return float(counts[GOOD] / counts.sum()) if counts.sum() else float("nan")
