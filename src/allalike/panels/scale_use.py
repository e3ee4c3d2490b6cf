"""Scale use: who scores higher than the others.

A judge's scores are taken for x_ij = t_j + b_i + noise: the **offset** b_i is by how much the judge is above the mean
of all judges. Offsets are 0 on average, because an offset that all judges share is not seen. They are those of least
squares with a parameter for each task and each judge (two-way analysis of variance),

    sum_j (b_i - mean of b over those who scored j) = sum_j (x_ij - mean of x over those who scored j),

so that a judge who got easier tasks is not called lenient. Their confidence intervals are those of the jackknife
(Tukey, 1958): each of 20 parts of the tasks is left out in turn, and t has 19 degrees of freedom.

**Correction.** The panel decides with numbers without offsets (`allalike.domains.offsets`), if the others then predict
a judge's scores better: each half of the tasks tells offsets for the other, and there the squared difference between a
score and the mean of the others, in units of the judge's usual one, must fall by 1.96 standard errors, which chance
does in one of forty cases. If not, scores stay as they are, and so they do with fewer than ten tasks in a half. Levels
are not corrected, for there is nothing in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.domains.offsets import Offsets
from allalike.engines.sample import pick_tasks
from allalike.panels.off_together import jackknife

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.finding import Columns
    from allalike.panels.scores import Scores

_PARTS = 20  # of the tasks, each of which is left out once
_MIN_TASKS = 5
_MIN_HALF = 10  # tasks that tell offsets for others
_SURELY = 1.96  # standard errors
_MAX_NAMED = 20  # judges that a summary names


@dataclass(frozen=True)
class Estimate:
    """A number for each judge, with the limits of 95 %; NaN where nobody can say."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def unknown(cls, n: int) -> Estimate:
        """Say nothing of so many judges."""
        return cls(*np.full((3, n), np.nan))

    @classmethod
    def of_parts(cls, found: Floats) -> Estimate:
        """Find limits from what all tasks say, and what they say without each part (a row)."""
        from scipy.special import stdtrit

        width = stdtrit(len(found) - 2, 0.975) * jackknife(found)
        return cls(found[0], found[0] - width, found[0] + width)


@dataclass(frozen=True)
class ScaleUse:
    """How each judge uses the scale, and whether that was taken away."""

    judges: Values
    offset: Estimate
    corrected: tuple[str, ...] = field(default=())
    can_correct: bool = True

    def describe(self) -> dict[str, Any]:
        """Name who is clearly above or below the others, the farthest first."""
        found = self.offset
        with np.errstate(invalid="ignore"):
            clear = np.flatnonzero((found.low > 0) | (found.high < 0))
        order = clear[np.argsort(-np.abs(found.value[clear]), kind="stable")]
        offsets = [
            {
                "judge": self.judges[int(judge)],
                "offset": float(found.value[judge]),
                "low": float(found.low[judge]),
                "high": float(found.high[judge]),
            }
            for judge in order[:_MAX_NAMED]
        ]
        told = {"corrected": list(self.corrected), "can_correct": self.can_correct, "offsets": offsets}
        return {"scale_use": told}

    def tables(self) -> dict[str, Columns]:
        """Return nothing: all of it is in the table of judges."""
        return {}

    def judge_columns(self) -> Columns:
        """Return offsets, with limits."""
        return {"offset": self.offset.value, "offset_low": self.offset.low, "offset_high": self.offset.high}


def find_offsets(scores: Floats, part: npt.NDArray[np.intp]) -> Estimate:
    """Find the offset of each judge.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> scores = truth[:, None] + [-1.0, 0.0, 1.0] + 0.1 * rng.normal(size=(400, 3))
    >>> find_offsets(scores, np.arange(400)).value.round(1)
    array([-1.,  0.,  1.])
    """
    n, judges = scores.shape
    if n < _MIN_TASKS or judges < 2:
        return Estimate.unknown(judges)
    _, part = np.unique(part % _PARTS, return_inverse=True)
    seen = ~np.isnan(scores)
    level = np.where(seen, scores - np.nanmean(scores), 0.0)
    offsets = [_offset_sums(level[part == k], seen[part == k]) for k in range(part.max() + 1)]
    found = [_without_each(np.stack(column)) for column in zip(*offsets, strict=True)]
    shift = np.stack([_solve_offsets(*sums) for sums in zip(*found, strict=True)])
    if len(shift) < 3:
        return Estimate.unknown(judges)
    told = seen[seen.sum(axis=1) > 1].sum(axis=0) > 1
    estimate = Estimate.of_parts(shift)
    return Estimate(*(np.where(told, each, np.nan) for each in (estimate.value, estimate.low, estimate.high)))


def _without_each(sums: Floats) -> Floats:
    """Return the sum over all parts, and behind it the sums without each."""
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


def _offset_sums(level: Floats, seen: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return both sides of the equations of least squares."""
    size = np.maximum(seen.sum(axis=1), 1.0)
    matrix = np.diag(seen.sum(axis=0).astype(np.float64)) - seen.T @ (seen / size[:, None])
    mean = level.sum(axis=1) / size
    return matrix, (np.where(seen, level - mean[:, None], 0.0)).sum(axis=0)


def _solve_offsets(matrix: Floats, right: Floats) -> Floats:
    """Return offsets that are 0 on average, in each part of the judges without a common task."""
    found: Floats = np.linalg.pinv(matrix, hermitian=True) @ right
    return found


def choose_offsets(scores: Scores) -> Offsets | None:
    """Return what is to be found of each judge and taken away; nothing where that brings nobody nearer.

    >>> import allalike
    >>> from allalike.panels.scores import take_scores
    >>> rng = np.random.default_rng(0)
    >>> rows = [(judge, task, task % 7 + 2.0 * place + rng.normal()) for place, judge in enumerate("abc")
    ...         for task in range(60)]
    >>> result = allalike.discover(rows, domain="real")
    >>> choose_offsets(take_scores(result.run, result.weighing, 1000)) is None
    False
    """
    if not scores.run.encoding.numeric or scores.run.encoding.offsets is not None or scores.n_judges < 2:
        return None
    block = scores.block
    half = (block.task_hash >> np.uint64(63)).astype(bool)
    if min(half.sum(), (~half).sum()) < _MIN_HALF:
        return None
    halves = [pick_tasks(scores.run, block.task_hash[part]) for part in (half, ~half)]
    tried = [_try_offsets(scores, halves, each) for each in (None, Offsets())]
    judge, task = (np.concatenate(column) for column in zip(*map(_place, halves), strict=True))
    task[len(halves[0].label) :] += halves[0].n_tasks
    usual = np.bincount(judge, tried[0]) / np.maximum(np.bincount(judge), 1)
    unit = np.where(usual > 0, usual, 1.0)[judge]
    plain, shifted = (sum_by(task, each / unit, int(task[-1]) + 1) for each in tried)
    return Offsets() if _gains(plain, shifted) else None


def _place(block: Block) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return block.worker, block.task


def _gains(before: Floats, after: Floats) -> bool:
    """Tell whether squared differences clearly fall, over tasks."""
    gain = before - after
    return bool(gain.sum() > _SURELY * np.sqrt(np.square(gain - gain.mean()).sum()))


def _try_offsets(scores: Scores, halves: list[Block], offsets: Offsets | None) -> Floats:
    """Return, per score, its squared difference from the mean of the others, as the other half sees the judges."""
    found = []
    for own, other in zip(halves, halves[::-1], strict=True):
        level = own.label
        if offsets is not None:
            known = scores.run.encoding.prepare(other)
            learned = offsets.find(lambda kernel, *params, told=known: kernel(told, *params), scores.run.problems)
            level = learned.remove(own.label, own.worker)
        others = own.to_answers(own.sizes) - 1.0
        mean = (own.to_answers(own.per_task(level)) - level) / np.maximum(others, 1.0)
        found.append(np.where(others > 0, np.square(level - mean), 0.0))
    return np.concatenate(found)
