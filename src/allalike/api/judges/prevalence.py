r"""Prevalence: the share of tasks that are truly good, from verdicts on all of them and known truths of some.

A panel calls a share p of the tasks good, and errs. Two ways lead from p to the share that is good.

**Double sampling** (Tenenbein 1970). Known truths say which share of the tasks called good is good, g1, and which of
those called not good, g0. The rate is ``p g1 + (1 - p) g0``, with the variance ::

    p^2 g1 (1 - g1) / n1 + (1 - p)^2 g0 (1 - g0) / n0 + (g1 - g0)^2 p (1 - p) / N

for n1 and n0 known truths among N tasks. It needs truths that are drawn at random, or at random among the tasks with
one verdict, and is never worse than known truths alone, however weak the panel is. The limits are those of Bayes, with
Kerman's neutral prior, Beta(1/3, 1/3), for each of the three shares.

**Rogan and Gladen** (1978). Known truths say how often good tasks are called good, the sensitivity, and how often
others are not, the specificity. The rate is ``(p + specificity - 1) / (sensitivity + specificity - 1)``, and the
limits, from both samples, are those of Lang and Reiczigel (2014). It holds also for truths that were picked by what
they are, such as as many good as bad ones, or that come from another group of tasks. Of a panel that hardly knows good
from bad it says nothing: then the limits are 0 and 1. If the panel calls so many tasks good, or so few, that all limits
lie outside of 0 and 1, it errs here in another way than on known truths. Then the limits are those of the nearest rate,
0 or 1, for a rate without error would be the last thing to believe.

References
----------
Tenenbein, A double sampling scheme for estimating from binomial data with misclassifications, JASA 65, 1970.
Rogan and Gladen, Estimating prevalence from the results of a screening test, Am. J. Epidemiology 107, 1978.
Lang and Reiczigel, Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity,
Preventive Veterinary Medicine 113, 2014. Kerman, Neutral noninformative and informative conjugate beta and gamma prior
distributions, Electronic Journal of Statistics 5, 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike.api.judges.finding import divide, ratio

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = [
    "BAD",
    "GOOD",
    "PRIOR",
    "UNKNOWN",
    "Counts",
    "Rate",
    "correct_rate",
    "estimate_rate",
    "misfits",
    "subtract_rates",
]

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

    Parameters
    ----------
    tasks
        All of them.
    known
        Those whose truth is known.
    good
        Those whose truth is known to be good.

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

    Parameters
    ----------
    counts
        What is known of the panel's errors.
    tasks
        How many of the tasks in question it calls not good, and good; if not given, those without a known truth, or all
        where each truth is known.

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

    Parameters
    ----------
    counts, tasks
        As in `correct_rate`.

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
    """Counts as Lang and Reiczigel take them: as if there were a few more of each, half of them right.

    Parameters
    ----------
    called, size
        Which share of how many tasks is called good.
    hit, truths
        Specificity and sensitivity, and of how many truths.
    """

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
