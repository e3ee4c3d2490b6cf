"""Scale use: who scores higher than the others, and who uses more of the scale.

A judge's scores are taken for x_ij = t_j + b_i + (s_i - 1)(t_j - t) + noise: her **offset** b_i is by how much she is
above the mean of all judges on a task in the middle of the scale t, her **slope** s_i by which factor she stretches
differences between tasks. Offsets are 0 and slopes 1 on average, for what all judges share is not seen.

**Offsets** are those of least squares with a parameter for each task and each judge (two-way analysis of variance),

    sum_j (b_i - mean of b over those who scored j) = sum_j (x_ij - mean of x over those who scored j),

so that a judge who got easier tasks is not called lenient. **Slopes**: the slope over the mean of the others is too
small, for that mean has errors, too. The covariance of two judges' scores, whose errors are independent, has none of
it: it is s_i s_k Var(t). So slopes are the loadings of one factor on all covariances but the variances (congeneric
measurement; Jöreskog: Statistical analysis of sets of congeneric tests. 1971), by least squares (minres; Harman and
Jones: Factor analysis by minimizing residuals. 1966). They take three judges.

**Limits** are those of the jackknife (Tukey, 1958): each of 20 parts of the tasks is left out in turn, and t has 19
degrees of freedom.

**Correction.** The panel decides with numbers without offsets and slopes (`allalike.domains.offsets`), if the others
then predict a judge's scores better: each half of the tasks tells offsets, then slopes, for the other, and there the
squared difference between a score and what the mean of the others makes expect of this judge, in units of her usual
one, must fall by 1.96 standard errors, which chance does in one of forty cases. If not, scores stay as they are, and so
they do with fewer than ten tasks in a half (twenty for slopes). Slopes must bring judges nearer to each other on the
panel's scale, too: who hardly distinguishes tasks is well predicted, and only noise is left of her when her scores are
stretched. Levels are not corrected, for there is nothing in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.api.judges.pair_squares import jackknife
from allalike.domains.offsets import Offsets
from allalike.engines.sample import pick_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.scores import Scores

__all__ = ["Estimate", "ScaleUse", "choose_offsets", "find_scale_use"]

_PARTS = 20  # of the tasks, each of which is left out once
_MIN_TASKS = 5
_MIN_HALF = 10  # tasks that tell offsets for others; twice as many tell slopes
_MIN_SHARED = 40  # scores of others for the same tasks that tell her slope
_ROUNDS = 200
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
    """How each judge uses the scale, and whether that was taken away.

    Parameters
    ----------
    judges
        Who they are.
    offset, slope
        By how much each is above the others, and by which factor she stretches differences.
    corrected
        What the panel took away before it decided: offsets, slopes, both or nothing.
    can_correct
        Whether such labels can be corrected.
    """

    judges: Values
    offset: Estimate
    slope: Estimate
    corrected: tuple[str, ...] = field(default=())
    can_correct: bool = True

    def describe(self) -> dict[str, Any]:
        """Name who is clearly above or below the others, or stretches or shrinks the scale, the farthest first."""
        told: dict[str, Any] = {"corrected": list(self.corrected), "can_correct": self.can_correct}
        for name, found, usual in (("offset", self.offset, 0.0), ("slope", self.slope, 1.0)):
            with np.errstate(invalid="ignore"):
                clear = np.flatnonzero((found.low > usual) | (found.high < usual))
            order = clear[np.argsort(-np.abs(found.value[clear] - usual), kind="stable")]
            told[f"{name}s"] = [
                {
                    "judge": self.judges[int(judge)],
                    name: float(found.value[judge]),
                    "low": float(found.low[judge]),
                    "high": float(found.high[judge]),
                }
                for judge in order[:_MAX_NAMED]
            ]
        return {"scale_use": told}

    def tables(self) -> dict[str, Columns]:
        """Return nothing: all of it is in the table of judges."""
        return {}

    def judge_columns(self) -> Columns:
        """Return offsets and slopes, with limits."""
        return {
            f"{name}{end}": column
            for name, found in (("offset", self.offset), ("slope", self.slope))
            for end, column in (("", found.value), ("_low", found.low), ("_high", found.high))
        }


def find_scale_use(scores: Floats, part: npt.NDArray[np.intp]) -> tuple[Estimate, Estimate]:
    """Find the offset and the slope of each judge.

    Parameters
    ----------
    scores
        A row for each task and a column for each judge; NaN where she did not score it.
    part
        Of each task: a number that puts it into one of some parts, by chance.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> scores = truth[:, None] * [0.5, 1.0, 1.5] + [-1.0, 0.0, 1.0] + 0.1 * rng.normal(size=(400, 3))
    >>> offset, slope = find_scale_use(scores, np.arange(400))
    >>> offset.value.round(1), slope.value.round(1)
    (array([-1.,  0.,  1.]), array([0.5, 1. , 1.5]))
    """
    n, judges = scores.shape
    nobody = Estimate.unknown(judges)
    if n < _MIN_TASKS or judges < 2:
        return nobody, nobody
    _, part = np.unique(part % _PARTS, return_inverse=True)
    seen = ~np.isnan(scores)
    level = np.where(seen, scores - np.nanmean(scores), 0.0)
    offsets = [_offset_sums(level[part == k], seen[part == k]) for k in range(part.max() + 1)]
    moments = np.stack([_moment_sums(level[part == k], seen[part == k]) for k in range(part.max() + 1)])
    found = [_without_each(np.stack(column)) for column in zip(*offsets, strict=True)]
    shift = np.stack([_solve_offsets(*sums) for sums in zip(*found, strict=True)])
    offset = _judge(shift, seen[seen.sum(axis=1) > 1].sum(axis=0) > 1)
    shared = moments[:, 0].sum(axis=0) * (1 - np.eye(judges))
    told = (shared.sum(axis=1) >= _MIN_SHARED) & ((shared > 2).sum(axis=1) > 1)
    told &= bool(told.all())  # for slopes are relative to the mean of all
    return offset, _judge(_find_slopes(_without_each(moments), told), told)


def _judge(found: Floats, told: npt.NDArray[np.bool_]) -> Estimate:
    """Return an estimate from what all tasks say, and what they say without each part."""
    if len(found) < 3:
        return Estimate.unknown(found.shape[1])
    estimate = Estimate.of_parts(found)
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


def _moment_sums(level: Floats, seen: npt.NDArray[np.bool_]) -> Floats:
    """Return of each two judges: how many tasks both scored, the sum of the first one's scores there, and products."""
    there = seen.astype(np.float64)
    return np.stack([there.T @ there, level.T @ there, level.T @ level])


def _find_slopes(moments: Floats, told: npt.NDArray[np.bool_]) -> Floats:
    """Return the loadings of one factor on the covariances, each round one judge after the other."""
    count = moments[:, 0] * (1 - np.eye(len(told))) * (told[:, None] & told)
    safe = np.maximum(moments[:, 0], 1.0)
    mean = moments[:, 1] / safe
    covariance = moments[:, 2] / safe - mean * mean.transpose(0, 2, 1)
    usual = (count * covariance).sum(axis=(1, 2)) / np.maximum(count.sum(axis=(1, 2)), 1.0)
    slope = np.sqrt(np.maximum(usual, 0.0))[:, None] * np.ones(len(told))
    for _ in range(_ROUNDS):
        before = slope.copy()
        for judge in np.flatnonzero(told):
            weight = count[:, judge] * slope
            square = (weight * slope).sum(axis=1)
            slope[:, judge] = (weight * covariance[:, judge]).sum(axis=1) / np.where(square > 0, square, np.nan)
        if np.allclose(before, slope, rtol=1e-9, atol=0.0, equal_nan=True):
            break
    mean_slope = slope[:, told].mean(axis=1) if told.any() else np.full(len(slope), np.nan)
    return np.asarray(slope / np.where(mean_slope > 0, mean_slope, np.nan)[:, None])


def choose_offsets(scores: Scores) -> Offsets | None:
    """Return what is to be found of each judge and taken away; nothing where that brings nobody nearer.

    >>> import allalike
    >>> from allalike.api.judges.scores import take_scores
    >>> rng = np.random.default_rng(0)
    >>> rows = [(judge, task, task % 7 + 2.0 * place + rng.normal()) for place, judge in enumerate("abc")
    ...         for task in range(60)]
    >>> result = allalike.discover(rows, domain="real")
    >>> choose_offsets(take_scores(result.run, result.weighing, 1000)).scale
    False
    """
    if not scores.run.encoding.numeric or scores.run.encoding.offsets is not None or scores.n_judges < 2:
        return None
    block = scores.block
    half = (block.task_hash >> np.uint64(63)).astype(bool)
    tasks = min(half.sum(), (~half).sum())
    if tasks < _MIN_HALF:
        return None
    halves = [pick_tasks(scores.run, block.task_hash[part]) for part in (half, ~half)]
    tried = [_try_offsets(scores, halves, each) for each in (None, Offsets(), Offsets(scale=True))]
    judge, task = (np.concatenate(column) for column in zip(*map(_place, halves), strict=True))
    task[len(halves[0].label) :] += halves[0].n_tasks
    usual = np.bincount(judge, tried[0][0]) / np.maximum(np.bincount(judge), 1)
    unit = np.where(usual > 0, usual, 1.0)[judge]
    plain, shifted, scaled = ([sum_by(task, each / unit, int(task[-1]) + 1) for each in pair] for pair in tried)
    if tasks >= 2 * _MIN_HALF and all(
        _gains(*pair) for pair in (*zip(shifted, scaled, strict=True), (plain[0], scaled[0]))
    ):
        return Offsets(scale=True)
    return Offsets() if _gains(plain[0], shifted[0]) else None


def _place(block: Block) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return block.worker, block.task


def _gains(before: Floats, after: Floats) -> bool:
    """Tell whether squared differences clearly fall, over tasks."""
    gain = before - after
    return bool(gain.sum() > _SURELY * np.sqrt(np.square(gain - gain.mean()).sum()))


def _try_offsets(scores: Scores, halves: list[Block], offsets: Offsets | None) -> tuple[Floats, Floats]:
    """Return, per score, its squared difference from what the others make expect, as the other half sees the judges.

    It is measured on the scale of the judge, and on that of the panel.
    """
    own_scale, common_scale = [], []
    for own, other in zip(halves, halves[::-1], strict=True):
        factor, level = np.ones(len(own.label)), own.label
        if offsets is not None:
            known = scores.run.encoding.prepare(other)
            learned = offsets.find(lambda kernel, *params, told=known: kernel(told, *params), scores.run.problems)
            factor, level = learned.factor[own.worker], learned.remove(own.label, own.worker)
        others = own.to_answers(own.sizes) - 1.0
        mean = (own.to_answers(own.per_task(level)) - level) / np.maximum(others, 1.0)
        apart = np.where(others > 0, np.square(level - mean), 0.0)
        own_scale.append(np.square(factor) * apart)
        common_scale.append(apart)
    return np.concatenate(own_scale), np.concatenate(common_scale)
