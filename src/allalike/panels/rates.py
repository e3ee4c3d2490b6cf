"""Rates: the share of good in a run and in each group of its tasks, as a panel tells of it.

A group with twenty known truths of its own has a rate from these. Any other has one by the errors that the panel makes
on all tasks (Rogan and Gladen), unless known truths show that it errs more often in some groups than in others; then
only the share that the panel calls good is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.hashes import mix
from allalike._core.columns.values import text_column
from allalike.panels.finding import divide, ratio
from allalike.panels.verdicts import find_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.panels.finding import Columns, GroupedTasks
    from allalike.panels.verdicts import TaskVerdicts


# Prevalence: the share of tasks that are truly good, from verdicts on all of them and known truths of some.
#
# A panel calls a share p of the tasks good, and errs. Two ways lead from p to the share that is good.
#
# **Double sampling** (Tenenbein 1970). Known truths say which share of the tasks called good is good, g1, and which of
# those called not good, g0. The rate is ``p g1 + (1 - p) g0``, with the variance ::
#
#     p^2 g1 (1 - g1) / n1 + (1 - p)^2 g0 (1 - g0) / n0 + (g1 - g0)^2 p (1 - p) / N
#
# for n1 and n0 known truths among N tasks. It needs truths that are drawn at random, or at random among the tasks
# with one verdict, and is never worse than known truths alone, however weak the panel is. The limits are those of
# Bayes, with Kerman's neutral prior, Beta(1/3, 1/3), for each of the three shares.
#
# **Rogan and Gladen** (1978). Known truths say how often good tasks are called good, the sensitivity, and how often
# others are not, the specificity. The rate is ``(p + specificity - 1) / (sensitivity + specificity - 1)``, and the
# limits, from both samples, are those of Lang and Reiczigel (2014). It holds also for truths that were picked by what
# they are, such as as many good as bad ones, or that come from another group of tasks. Of a panel that hardly knows
# good from bad it says nothing: then the limits are 0 and 1. If the panel calls so many tasks good, or so few, that
# all limits lie outside of 0 and 1, it errs here in another way than on known truths. Then the limits are those of
# the nearest rate, 0 or 1, for a rate without error would be the last thing to believe.
#
# References ---------- Tenenbein, A double sampling scheme for estimating from binomial data with misclassifications,
# JASA 65, 1970. Rogan and Gladen, Estimating prevalence from the results of a screening test, Am. J. Epidemiology
# 107, 1978. Lang and Reiczigel, Confidence limits for prevalence of disease adjusted for estimated sensitivity and
# specificity, Preventive Veterinary Medicine 113, 2014. Kerman, Neutral noninformative and informative conjugate beta
# and gamma prior distributions, Electronic Journal of Statistics 5, 2011.


BAD, GOOD = 0, 1  # verdicts
PRIOR = 1 / 3
_LEVEL = 0.95
_NORMAL = 1.959964  # of this level
_DRAWS = 20_000  # after which limits are known to 1 % of their width


class Rate(NamedTuple):
    """A share of tasks, with its limits of 95 %; NaN where it is not known."""

    estimate: float
    low: float
    high: float

    def describe(self) -> dict[str, float]:
        """Return it as what JSON can hold, but for NaN."""
        return self._asdict()


UNKNOWN = Rate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Counts:
    """Of the tasks that the panel calls not good, and of those that it calls good: how many there are.

    >>> counts = Counts.of(np.array([1, 1, 0, 0]), np.array([1.0, 0.0, np.nan, 0.0]))
    >>> counts.tasks, counts.known, counts.good, counts.apparent
    (array([2., 2.]), array([1., 2.]), array([0., 1.]), 0.5)
    """

    tasks: Floats
    known: Floats
    good: Floats

    @classmethod
    def of(cls, verdict: npt.NDArray[np.intp], truth: Floats) -> Counts:
        """Count tasks by verdict (0 or 1) and truth (0, 1, or NaN where it is not known)."""
        known = ~np.isnan(truth)
        chosen = (slice(None), known, truth == GOOD)
        return cls(*(np.bincount(verdict[some], minlength=2).astype(np.float64) for some in chosen))

    @property
    def apparent(self) -> float:
        """Which share the panel calls good."""
        return ratio(float(self.tasks[GOOD]), float(self.tasks.sum()))

    @property
    def share(self) -> Floats:
        """Which share of the tasks with each verdict is good; one half where nothing is known."""
        return np.where(self.known > 0, self.good / np.maximum(self.known, 1), 0.5)

    @property
    def truly(self) -> Floats:
        """How many of the known truths are not good, and good."""
        return np.array([(self.known - self.good).sum(), self.good.sum()])

    @property
    def called_right(self) -> Floats:
        """How many truths that are not good, and good, the panel calls so."""
        return np.array([self.known[BAD] - self.good[BAD], self.good[GOOD]])

    @property
    def hit_rates(self) -> Floats:
        """Specificity and sensitivity: how often truths that are not good, and good, are called so; NaN if none is."""
        return divide(self.called_right, self.truly)


def subtract_rates(now: Rate, then: Rate) -> Rate:
    """Return a difference of two rates, with limits from theirs, as if nothing made both err alike (MOVER).

    >>> [round(each, 2) for each in subtract_rates(Rate(0.5, 0.44, 0.56), Rate(0.8, 0.72, 0.85))]
    [-0.3, -0.38, -0.2]
    """
    difference = now.estimate - then.estimate
    low = difference - math.hypot(now.estimate - now.low, then.high - then.estimate)
    high = difference + math.hypot(now.high - now.estimate, then.estimate - then.low)
    return Rate(difference, low, high)


def estimate_rate(counts: Counts) -> Rate:
    """Estimate the rate by double sampling.

    >>> perfect = Counts(np.array([50.0, 150.0]), np.array([10.0, 30.0]), np.array([0.0, 30.0]))
    >>> [round(each, 2) for each in estimate_rate(perfect)]
    [0.75, 0.68, 0.81]
    """
    if not counts.known.any():
        return UNKNOWN
    p = counts.apparent
    estimate = p * float(counts.share[GOOD]) + (1 - p) * float(counts.share[BAD])
    low, high = np.quantile(_draw_rates(counts), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Rate(estimate, min(float(low), estimate), max(float(high), estimate))


def _draw_rates(counts: Counts) -> Floats:
    """Draw rates as probable as the counts make them, the same each time."""
    hits = np.array([counts.tasks[GOOD], *counts.good])
    misses = np.array([counts.tasks[BAD], *(counts.known - counts.good)])
    p, bad, good = np.random.default_rng(0).beta(hits + PRIOR, misses + PRIOR, (_DRAWS, 3)).T
    rates: Floats = p * good + (1 - p) * bad
    return rates


def correct_rate(counts: Counts, tasks: Floats | None = None) -> Rate:
    """Correct the share that the panel calls good for its errors, by the formula of Rogan and Gladen.

    >>> counts = Counts(np.array([600.0, 400.0]), np.array([160.0, 240.0]), np.array([20.0, 180.0]))
    >>> [round(each, 4) for each in correct_rate(counts, counts.tasks)]
    [0.1667, 0.0564, 0.2627]
    """
    asked = _choose_asked(counts, tasks)
    if not counts.truly.all() or not asked.sum():
        return UNKNOWN
    specificity, sensitivity = counts.hit_rates.tolist()
    plain, few_more = _solve(float(asked[GOOD] / asked.sum()), specificity, sensitivity), _Adjusted.of(counts, asked)
    if few_more.slope <= 0:
        return Rate(plain, 0.0, 1.0)
    rate = min(max(few_more.rate, 0.0), 1.0) if few_more.misfits else few_more.rate
    low, high = np.clip(few_more.limits(rate), 0.0, 1.0).tolist()
    return Rate(plain, low, high)


def misfits(counts: Counts, tasks: Floats | None = None) -> bool:
    """Tell whether the panel calls more or fewer tasks good than any rate explains, if it errs as on known truths.

    >>> counts = Counts(np.array([10.0, 990.0]), np.array([110.0, 90.0]), np.array([30.0, 70.0]))
    >>> misfits(counts, counts.tasks), [round(each, 2) for each in correct_rate(counts, counts.tasks)]
    (True, [1.0, 0.82, 1.0])
    """
    asked = _choose_asked(counts, tasks)
    return bool(counts.truly.all() and asked.sum()) and _Adjusted.of(counts, asked).misfits


def _choose_asked(counts: Counts, tasks: Floats | None) -> Floats:
    asked = counts.tasks - counts.known if tasks is None else tasks
    return asked if asked.sum() else counts.tasks


@dataclass(frozen=True)
class _Adjusted:
    """Counts as Lang and Reiczigel take them: as if there were a few more of each, half of them right."""

    called: float
    size: float
    hit: Floats
    truths: Floats

    @classmethod
    def of(cls, counts: Counts, asked: Floats) -> _Adjusted:
        size, truths = float(asked.sum()) + _NORMAL**2, counts.truly + 2
        return cls((float(asked[GOOD]) + _NORMAL**2 / 2) / size, size, (counts.called_right + 1) / truths, truths)

    @property
    def slope(self) -> float:
        return float(self.hit.sum()) - 1

    @property
    def rate(self) -> float:
        return (self.called + float(self.hit[BAD]) - 1) / self.slope

    @property
    def misfits(self) -> bool:
        """Whether all limits lie outside of 0 and 1."""
        if self.slope <= 0:
            return False
        low, high = self.limits(self.rate)
        return low >= 1 or high <= 0

    def limits(self, rate: float) -> tuple[float, float]:
        """Return the limits of a rate, of whose tasks as many are called good as it makes expect."""
        bad, good = (self.hit * (1 - self.hit) / self.truths).tolist()
        p = rate * self.slope + 1 - float(self.hit[BAD])
        variance = p * (1 - p) / self.size + (1 - rate) ** 2 * bad + rate**2 * good
        middle = rate + 2 * _NORMAL**2 * (rate * good - (1 - rate) * bad)
        half = _NORMAL * math.sqrt(variance) / self.slope
        return middle - half, middle + half


def _solve(p: float, specificity: float, sensitivity: float) -> float:
    slope = specificity + sensitivity - 1
    return min(max((p + specificity - 1) / slope, 0.0), 1.0) if slope > 0 else math.nan


# Further truths: how many halve the limits of a rate, and of which tasks.
#
# The variance of a rate from double sampling (`allalike.panels.rates`) has three parts, ::
#
#     a1 / n1 + a0 / n0 + b / N        a_v = p_v^2 g_v (1 - g_v),    b = (g1 - g0)^2 p (1 - p)
#
# of which further truths make the first two smaller: those of n1 tasks called good, of which a share g1 is, and of n0
# others. They do most if n1 and n0 are in proportion to the roots of a1 and a0 (Neyman 1934). What comes from there
# being N tasks only, b / N, stays, so that limits cannot always be halved. Among tasks with the same verdict truths
# must be drawn at random, for which the hashes of ids serve.


_FIRST = 50  # truths to begin with, where none is known
_HALVINGS = 60
_ROUNDING = 1e-6


@dataclass(frozen=True)
class TruthPlan:
    """How many further truths to find out, of tasks that are called not good, and good."""

    truths: npt.NDArray[np.int64]
    width: float
    reach: float

    @property
    def total(self) -> int:
        """How many of both."""
        return int(self.truths.sum())


def plan_truths(counts: Counts) -> TruthPlan:
    """Find the fewest further truths that halve the limits, or bring half of what truths can where that is less.

    Where none is known, they are the first fifty.

    >>> from allalike.panels.rates import Counts
    >>> plan_truths(Counts(np.array([1e4, 3e4]), np.array([25.0, 75.0]), np.array([5.0, 70.0]))).truths
    array([110, 180])
    """
    if not counts.known.any():
        part = min(_FIRST / max(float(counts.tasks.sum()), 1.0), 1.0)
        return TruthPlan(np.ceil(counts.tasks * part).astype(np.int64), np.nan, np.nan)
    spread = _Spread.of(counts)
    now, least = spread.with_known(counts.known), spread.with_known(counts.tasks)
    aim = now / 4 if least <= now / 4 else (now + least) / 2
    few, many = 0.0, float(counts.tasks.max() / np.sqrt(spread.part).min())

    def allot(level: float) -> Floats:
        return np.clip(level * np.sqrt(spread.part), counts.known, counts.tasks)

    for _ in range(_HALVINGS):
        middle = (few + many) / 2
        few, many = (few, middle) if spread.with_known(allot(middle)) <= aim else (middle, many)
    further = np.ceil(allot(many) - counts.known - _ROUNDING)
    width = np.sqrt(spread.with_known(counts.known + further) / now)
    return TruthPlan(further.astype(np.int64), float(width), float(np.sqrt(least / now)))


@dataclass(frozen=True)
class _Spread:
    """The parts of a rate's variance: what known truths of either verdict make smaller, and what stays."""

    part: Floats
    fixed: float

    @classmethod
    def of(cls, counts: Counts) -> _Spread:
        share = (counts.good + PRIOR) / (counts.known + 2 * PRIOR)
        p = counts.apparent
        fixed = float(share[1] - share[0]) ** 2 * p * (1 - p) / float(counts.tasks.sum())
        return cls(np.array([1 - p, p]) ** 2 * share * (1 - share), fixed)

    def with_known(self, known: Floats) -> float:
        """Return the variance with so many known truths of either verdict."""
        return float((self.part / (known + 2 * PRIOR)).sum()) + self.fixed


def draw_tasks(
    plan: TruthPlan, verdict: npt.NDArray[np.intp], known: npt.NDArray[np.bool_], task_hash: npt.NDArray[np.uint64]
) -> npt.NDArray[np.intp]:
    """Return the places of the tasks to find out the truth of, as the plan has it; the same tasks each time.

    >>> plan = TruthPlan(np.array([1, 1]), 0.5, 0.2)
    >>> draw_tasks(plan, np.array([0, 1, 1]), np.array([False, True, False]), np.arange(3, dtype=np.uint64))
    array([0, 2])
    """
    drawn = [np.flatnonzero((verdict == each) & ~known) for each in range(len(plan.truths))]
    order = [places[np.argsort(mix(task_hash[places]), kind="stable")] for places in drawn]
    return np.concatenate([places[:number] for places, number in zip(order, plan.truths, strict=True)])


_MIN_OWN = 20  # known truths of a group that speak for it
_SIGNIFICANCE = 0.01
_MAX_NAMED = 20  # groups in a summary


@dataclass(frozen=True)
class Rates:
    """Which share of the tasks is good."""

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
