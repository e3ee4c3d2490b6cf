r"""Further truths: how many halve the limits of a rate, and of which tasks.

The variance of a rate from double sampling (`allalike.api.judges.prevalence`) has three parts, ::

    a1 / n1 + a0 / n0 + b / N        a_v = p_v^2 g_v (1 - g_v),    b = (g1 - g0)^2 p (1 - p)

of which further truths make the first two smaller: those of n1 tasks called good, of which a share g1 is, and of n0
others. They do most if n1 and n0 are in proportion to the roots of a1 and a0 (Neyman 1934). What comes from there being
N tasks only, b / N, stays, so that limits cannot always be halved. Among tasks with the same verdict truths must be
drawn at random, for which the hashes of ids serve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.hashes import mix
from allalike.api.judges.prevalence import PRIOR

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.prevalence import Counts

__all__ = ["TruthPlan", "draw_tasks", "plan_truths"]

_FIRST = 50  # truths to begin with, where none is known
_HALVINGS = 60
_ROUNDING = 1e-6


@dataclass(frozen=True)
class TruthPlan:
    """How many further truths to find out, of tasks that are called not good, and good.

    Parameters
    ----------
    truths
        Their numbers.
    width, reach
        Which part of the width of the limits stays if these are known, and if all are.
    """

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

    >>> from allalike.api.judges.prevalence import Counts
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
