"""Worker lines: offset, slope and variance of each worker's numbers, used if held-out answers support them.

    x_it = m + a_i + b_i (t - m) + e_it,    Var e_it = s_i

is the answer x_it of worker i to a task with truth t, and m is the centre of all truths. Its weight in the estimate of
t is b_i^2 / s_i. So a worker who stays near the middle has slope 0 and weight 0, however close to the others. a, b and
s are estimated from the mean u_it of the other answers, with variance v_it, by sums over tasks in two rounds:

    b_i - 1 = sum (t - m)(x - u) / (signal + noise / differences),    signal = sum (u - m)^2 - sum v,

where the noise of the other answers is subtracted from the signal (an errors-in-variables regression). a_i, b_i and s_i
are shrunk towards 0, 1 and the mean of s by the share of their differences that chance explains (empirical Bayes).
Offsets and slopes common to all workers are not identified, so the mean offset is set to 0 and the mean slope to 1.

**Outliers.** The estimate of t is the weighted mean, the weighted median, or one Huber step from the median with
residuals bounded at two standard deviations.

**Choice.** Starting from the unweighted mean, a step (lines, bounded residuals, the median, unequal variances) is taken
if it predicts held-out answers better. A worker's answer is predicted from the other answers, with lines fitted to
other tasks; squared errors are bounded. This choice fails to detect shared errors, and cannot show whether the mean or
the median of opinions is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.columns.hashes import mix
from allalike.answers.gold import History

ROUNDS = 2
MEAN, HUBER, MEDIAN = np.inf, 2.0, 0.0  # standard deviations at which residuals are bounded
_MIN_WORKERS = {False: 3, True: 5}  # for unequal weights of numbers, and of levels
_FOLDS, _MANY_TASKS = 10, 1000  # two folds for 1,000 tasks or more
_CLEARLY, _LIKELY = 2.576, 1.96  # minimum z for bounded residuals, and for lines
_LEAST_GAIN = {MEAN: 0.001, HUBER: 0.01, MEDIAN: 0.01}  # of the loss
_BOUND, _ROBUST_BOUND = 15.0, 4.0  # of residuals, in usual errors
_FAR = 5.0  # standard deviations beyond which bounded residuals are ignored
_LEAST_VARIANCE = 0.02  # share of the mean
_PAIRED = 30  # answers to a task up to which leaving one out is exact with bounded residuals
_SLOPES = 0.05, 4.0
_LEAST_SIGNAL = 0.1  # of the variance of the others' estimates, for slopes
_NAMES = {MEAN: "means", HUBER: "bounded residuals", MEDIAN: "medians"}
_ROUNDING, _DUST = 1e-9, 1e-300


class Lines(NamedTuple):
    """The line of each worker (offset, slope, variance), and the parameters that estimate the truth of a task.

    ``prior`` is the precision with which estimates are shrunk towards the unweighted mean of the task.
    """

    workers: Floats
    middle: float = 0.0
    prior: float = 0.0
    cut: float = MEAN

    @classmethod
    def equal(cls, n: int, cut: float = MEAN, variance: float = 1.0) -> Lines:
        """Return lines for n equal workers."""
        return cls(np.tile([0.0, 1.0, variance], (n, 1)), cut=cut)

    @property
    def robust(self) -> bool:
        """Whether residuals are bounded."""
        return bool(np.isfinite(self.cut))

    @property
    def bound(self) -> float:
        """The bound on residuals."""
        return _ROBUST_BOUND if self.robust else _BOUND

    def of_answers(self, block: Block) -> tuple[Floats, Floats, Floats]:
        """Return offset, slope and variance of each answer's worker."""
        offset, slope, variance = self.workers.T
        return offset.take(block.worker), slope.take(block.worker), variance.take(block.worker)


class _Tasks(NamedTuple):
    """Per answer: the estimate from the other answers to its task (NaN if there are none), and its variance."""

    estimate: Floats
    variance: Floats


def locate(block: Block, lines: Lines) -> tuple[Floats, Floats]:
    """Estimate the truth of each task, and the variance of the estimate.

    >>> from allalike._core.blocks.block import Block
    >>> locate(Block.of([[1.0], [2.0], [9.0]]), Lines.equal(3))[0]
    array([4.])
    >>> locate(Block.of([[1.0], [2.0], [9.0]]), Lines.equal(3, MEDIAN))[0]
    array([2.])
    """
    offset, slope, variance = lines.of_answers(block)
    own, precision = block.label - lines.middle - offset, slope**2 / variance
    total = block.per_task(precision)
    if not lines.robust:
        sums = (block.per_task(each) for each in (slope * own / variance, own, slope, variance))
        return _shrink_to_mean(lines, total, block.sizes.astype(np.float64), *sums)
    median = _weighted_median(block, own / slope, _median_weights(block, slope, variance))
    if lines.cut == MEDIAN:
        return lines.middle + median, 1.57 / total
    moment, total = (block.per_task(each) for each in _bend(own, median[block.task], slope, variance, lines.cut))
    return lines.middle + median + moment / total, 1.05 / total


def locate_without_each(block: Block, lines: Lines) -> _Tasks:
    """Estimate the truth of each answer's task from the other answers to it."""
    offset, slope, variance = lines.of_answers(block)
    own, precision = block.label - lines.middle - offset, slope**2 / variance
    total = block.to_answers(block.per_task(precision))
    others = np.where(total - precision > 1e-9 * total, total - precision, np.nan)
    if not lines.robust:
        parts = slope * own / variance, own, slope, variance
        sums = (block.to_answers(block.per_task(each)) - each for each in parts)
        return _Tasks(*_shrink_to_mean(lines, others, block.to_answers(block.sizes) - 1.0, *sums))
    median = _median_of_others(block, own / slope, _median_weights(block, slope, variance))
    if lines.cut == MEDIAN:
        return _Tasks(lines.middle + median, np.where(np.isnan(median), np.nan, 1.57 / others))
    found, spread = _bend_others(block, own, slope, variance, median, lines.cut)
    return _Tasks(lines.middle + found, spread)


def _shrink_to_mean(
    lines: Lines, total: Floats, n: Floats, moment: Floats, own: Floats, slope: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """Return precision-weighted means shrunk towards unweighted ones, and their variances, from sums over answers."""
    if not lines.prior:
        return lines.middle + moment / total, 1 / total
    n, prior = np.maximum(n, 1.0), lines.prior
    noise = total + 2 * prior * slope / n + prior**2 * variance / n**2
    return lines.middle + (moment + prior * own / n) / (total + prior), noise / (total + prior) ** 2


def _median_weights(block: Block, slope: Floats, variance: Floats) -> Floats:
    """Return weights of answers in medians; an answer has at most 0.9 times the weight of the others."""
    weight = slope / np.sqrt(variance)
    others = block.to_answers(block.per_task(weight)) - weight
    return np.where(block.to_answers(block.sizes) > 2, np.minimum(weight, 0.9 * others), weight)


def _bend(own: Floats, centre: Floats, slope: Floats, variance: Floats, cut: float) -> tuple[Floats, Floats]:
    """Return moment and precision of each answer around a centre, with bounded residuals."""
    residual, deviation, gain = own - slope * centre, np.sqrt(variance), slope / variance
    counted = np.where(np.abs(residual) > _FAR * deviation, 1e-9 * gain, gain)
    return counted * np.clip(residual, -cut * deviation, cut * deviation), counted * slope


def _bend_others(
    block: Block, own: Floats, slope: Floats, variance: Floats, median: Floats, cut: float
) -> tuple[Floats, Floats]:
    """Return estimates from the other answers with bounded residuals, and their variances."""
    found, spread = np.full(len(own), np.nan), np.full(len(own), np.nan)
    if block.sizes.max(initial=0) > _PAIRED:
        centre = _weighted_median(block, own / slope, _median_weights(block, slope, variance))[block.task]
        moment, precision = _bend(own, centre, slope, variance, cut)
        total = np.where(
            block.to_answers(block.sizes) > 1, block.to_answers(block.per_task(precision)) - precision, np.nan
        )
        found = centre + (block.to_answers(block.per_task(moment)) - moment) / total
        spread = 1.05 / total
    for n in np.unique(block.sizes[(block.sizes > 1) & (block.sizes <= _PAIRED)]):
        tasks = np.flatnonzero(block.sizes == n)
        for part in np.array_split(tasks, max(1, len(tasks) * n * n // 2_000_000)):
            rows = block.starts[part][:, None] + np.arange(n)
            of_others = (each[rows][:, None, :] for each in (own, slope, variance))
            x, b, s = of_others
            moment, precision = _bend(x, median[rows][:, :, None], b, s, cut)
            moment, total = (np.einsum("tij,ij->ti", each, 1 - np.eye(n)) for each in (moment, precision))
            found[rows], spread[rows] = median[rows] + moment / total, 1.05 / total
    return found, spread


def _weighted_median(block: Block, value: Floats, weight: Floats) -> Floats:
    order = np.lexsort((value, block.task))
    total = np.cumsum(weight[order])
    before, mass = (total - weight[order])[block.starts], block.per_task(weight)
    last = block.starts + block.sizes - 1
    ends = (np.searchsorted(total, before + mass * half) for half in (0.5 - 1e-9, 0.5 + 1e-9))
    low, high = (value[order[np.clip(end, block.starts, last)]] for end in ends)
    return np.asarray((low + high) / 2)


def _median_of_others(block: Block, value: Floats, weight: Floats) -> Floats:
    """Return, per answer, the weighted median of the other answers to its task; NaN if there are none."""
    task = block.task
    order = np.lexsort((value, task))
    w, last = weight[order], (block.starts + block.sizes - 1)[task]
    total, first = np.cumsum(w), block.starts[task]
    start, here = (total - w)[block.starts][task], np.arange(len(value))
    before, mass = total - w - start, block.per_task(weight)[task]

    def rank(goal: Floats) -> Floats:
        lower = goal <= before
        place = np.searchsorted(total, start + np.where(lower, goal, goal + w))
        place = np.where(lower, np.minimum(place, here - 1), np.maximum(place, here + 1))
        return np.asarray(value[order[np.clip(place, first, last)]])

    found, half = np.empty(len(value)), (mass - w) / 2
    found[order] = (rank(half - 1e-9 * mass) + rank(half + 1e-9 * mass)) / 2
    return np.where(block.to_answers(block.sizes) > 1, found, np.nan)


def usual_error(block: Block) -> float:
    """Return a robust standard deviation of answers around the median of the other answers; 1 if there are none."""
    return robust_deviation(block.label - _median_of_others(block, block.label, np.ones(len(block.label))))


def robust_deviation(error: Floats) -> float:
    """Return an outlier-robust standard deviation around 0, ignoring NaN; 1 without values.

    >>> round(robust_deviation(np.array([-0.5, 0.4, np.nan, 0.5, -0.4, 1000.0])), 2)
    0.74
    """
    error = np.abs(error[np.isfinite(error)])
    if not len(error):
        return 1.0
    half, most, nearly = np.quantile(error, [0.5, 0.75, 0.9])
    return float(max(half / 0.6745, most / 1.15) or nearly / 1.645 or error.mean() or 1.0)


# Sums over tasks that determine lines.


class _Counted(NamedTuple):
    """Answers to tasks with other answers: the centred estimate of these, its variance, and the line's prediction."""

    every: Array
    truth: Floats
    variance: Floats
    expected: Floats
    residual: Floats


def _compare(block: Block, lines: Lines) -> _Counted:
    others = locate_without_each(block, lines)
    every = np.isfinite(others.estimate)
    truth = np.where(every, others.estimate - lines.middle, 0.0)
    offset, slope, _ = lines.of_answers(block)
    expected = offset + slope * truth
    residual = np.where(every, block.label - lines.middle - expected, 0.0)
    return _Counted(every, truth, np.where(every, others.variance, 0.0), expected, residual)


def line_sums(block: Block, lines: Lines, *, reach: float = np.inf) -> dict[str, Floats]:
    """Sum, per worker, the moments of answers and of estimates from the other answers."""
    of = _compare(block, lines)
    counts = of.every & (np.abs(of.truth) <= reach)
    counts &= (np.abs(of.residual) < lines.bound) if lines.robust else True
    answer, truth = of.expected + np.clip(of.residual, -lines.bound, lines.bound), of.truth
    every, own = of.every.astype(np.float64), counts.astype(np.float64)
    columns = {
        "n": own,
        "t": own * truth,
        "x": own * answer,
        "v": own * of.variance,
        "tt": own * truth**2,
        "tx": own * truth * answer,
        "all": every,
        "all t": every * truth,
        "all tt": every * truth**2,
        "all v": every * of.variance,
    }
    return {name: block.per_worker(column) for name, column in columns.items()}


def error_sums(block: Block, lines: Lines) -> dict[str, Floats]:
    """Sum, per worker, bounded squared residuals minus the noise of the other answers, and their squares."""
    of = _compare(block, lines)
    slope = lines.of_answers(block)[1]
    error = np.minimum(of.residual**2, lines.bound**2) - np.minimum(slope**2 * of.variance, lines.bound**2)
    error = np.where(of.every, error, 0.0)
    columns = {"answers": of.every.astype(np.float64), "error": error, "square": error**2}
    return {name: block.per_worker(column) for name, column in columns.items()}


def shrink(count: Floats, total: Floats, square: Floats) -> Floats:
    """Shrink the means of workers towards the crowd's mean by empirical Bayes (analysis of variance).

    >>> shrink(np.array([9.0, 9.0]), np.array([9.0, 90.0]), np.array([9.0, 900.0])).round(2)
    array([1.45, 9.55])
    """
    mean, some = total.sum() / max(count.sum(), 1), count > 1
    own = np.where(count > 0, total / np.maximum(count, 1), mean)
    n, k = count[some], int(some.sum())
    if k < 2:
        return np.full(len(count), mean)
    within = (square - count * own**2)[some].sum() / (n - 1).sum()
    between = (n * (own[some] - (n * own[some]).sum() / n.sum()) ** 2).sum() / (k - 1)
    extra = (between - within) / ((n.sum() - (n**2).sum() / n.sum()) / (k - 1))
    kept = count / (count + max(within / extra, 1.0)) if extra > 0 else 0.0
    return np.asarray(mean + kept * (own - mean))


Total = Callable[..., "dict[str, Floats]"]  # total(sums, lines) sums over all blocks


@dataclass(frozen=True)
class Start:
    """The start of a fit: equal lines around the middle, and the largest distance from it that is used."""

    lines: Lines
    reach: float

    @classmethod
    def of(cls, block: Block, cut: float) -> Start:
        """Compute the start from a block."""
        lines = Lines.equal(block.n_workers, cut)
        truth = locate(block, lines)[0]
        middle = float(np.median(truth) if lines.robust else truth.mean())
        reach = 10 * float(np.median(np.abs(truth - middle))) if lines.robust else np.inf
        lines = lines._replace(middle=middle)
        of = _compare(block, lines)
        square = np.minimum(of.residual**2, lines.bound**2) / (1 + of.variance)
        variance = max(float(square[of.every].mean()), _ROUNDING) if of.every.sum() > 2 else 1.0
        return cls(Lines.equal(block.n_workers, cut, variance)._replace(middle=middle), reach)


def fit_lines(
    total: Total, start: Start, *, sloped: bool, rounds: int = ROUNDS, past: History | None = None
) -> tuple[Lines, dict[str, Floats]]:
    """Fit lines, or variances only, and return them with the sums of squared errors.

    Variances take statistics of earlier answers into account.
    """
    lines = start.lines
    errors: dict[str, Floats] = {}
    for _ in range(rounds):
        if sloped:
            lines = _update_lines(total(partial(line_sums, reach=start.reach), lines), lines)
        errors = total(error_sums, lines)
        lines = _update_variances(errors, lines, past)
    return lines, errors


def _update_lines(sums: dict[str, Floats], lines: Lines) -> Lines:
    """Return new offsets and slopes, shrunk by empirical Bayes."""
    n, t, x, v, s = (*(sums[name] for name in ("n", "t", "x", "v")), lines.workers[:, 2])
    n1, answers, slope, offset = np.maximum(n, 1), max(n.sum(), 1), np.ones(len(n)), np.zeros(len(n))
    raw = sums["tt"] - t**2 / n1
    signal = raw - v * np.maximum(n - 1, 0) / n1
    gain, some = sums["tx"] - t * x / n1 - signal, n > 2  # (slope - 1) signal + noise
    differ = (gain**2 - s * raw)[some].sum() / max((signal[some] ** 2).sum(), _DUST)
    if differ > 0 and signal[some].sum() > _LEAST_SIGNAL * raw[some].sum():
        slope = np.clip(1 + gain / (np.maximum(signal, 0) + s / differ), *_SLOPES)
    rest = x - slope * t
    differ = (rest**2 - n * s - slope**2 * v).sum() / max((n**2).sum(), _DUST)
    if differ > 0:
        offset = rest / (n + s / differ)
    if n.sum() > 0:
        offset, slope = offset - (n * offset).sum() / answers, slope * answers / (n * slope).sum()
    prior = lines.prior
    if not lines.robust:
        every = max(sums["all"].sum(), 1)
        among = sums["all tt"].sum() / every - (sums["all t"].sum() / every) ** 2
        prior = 1 / max(among - sums["all v"].sum() / every, 1e-3 * among, _ROUNDING)
    return lines._replace(workers=np.column_stack([offset, slope, s]), prior=prior)


def _update_variances(sums: dict[str, Floats], lines: Lines, past: History | None) -> Lines:
    """Return new variances, shrunk towards their mean by empirical Bayes."""
    count, error, square = (sums[name] for name in ("answers", "error", "square"))
    if past is not None:
        gaussian = 3 * past.fault**2  # the mean of the squares of squared errors
        count, error = count + past.answers, error + past.answers * past.fault
        square = square + past.answers * gaussian
    variance = shrink(count, error, square)
    variance = np.maximum(variance, _LEAST_VARIANCE * max(variance.mean(), _ROUNDING))
    return lines._replace(workers=np.column_stack([lines.workers[:, :2], variance]))


# Choice between models, on a sample.


class Choice(NamedTuple):
    """The chosen model (unweighted, weighted or lines), the bound on residuals, and z of each gain."""

    model: str
    cut: float
    z: dict[str, float]

    @property
    def unweighted(self) -> bool:
        """Whether workers have equal weights."""
        return self.model == "unweighted"

    @property
    def estimate(self) -> str:
        """The name of the estimate: means, medians or bounded residuals."""
        return _NAMES[self.cut]


def choose(block: Block, *, levels: bool = False) -> Choice:
    """Choose the model that predicts held-out answers best; for levels, means only."""
    n, z = block.n_workers, dict[str, float]()
    same = {MEAN: locate_without_each(block, Lines.equal(n)).estimate}
    weighed = len(np.unique(block.worker)) >= _MIN_WORKERS[levels]
    steps = [("lines", MEAN)]
    if not levels:
        same |= {cut: locate_without_each(block, Lines.equal(n, cut)).estimate for cut in (HUBER, MEDIAN)}
        repeated = block.sizes.max(initial=0) > 1 and np.nanmedian(np.abs(block.label - same[MEDIAN])) == 0
        bent = MEDIAN if repeated else HUBER  # the usual error of repeated values is 0
        cuts = [cut for cut in (bent, MEDIAN) if _gain(block, same[MEAN], same[cut], _BOUND)[1] > _CLEARLY]
        steps += [("unweighted", cut) for cut in cuts] + [(kind, bent) for kind in ("weighted", "lines") if cuts]
    model, cut, best = "unweighted", MEAN, same[MEAN]
    for kind, other in dict.fromkeys(steps):
        if kind != "unweighted" and not weighed:
            continue
        found = same[other] if kind == "unweighted" else _predict(block, other, sloped=kind == "lines")
        robust = bool(np.isfinite(cut)) and kind != "unweighted"
        gain, clear = _gain(block, best, found, _ROBUST_BOUND if robust else _BOUND)
        z[f"{kind}, {_NAMES[other]}"] = clear
        if clear > (_CLEARLY if kind == "unweighted" else _LIKELY) and gain > _LEAST_GAIN[other]:
            model, cut, best = kind, other, found
    return Choice(model, cut, z)


def _gain(block: Block, before: Floats, after: Floats, bound: float) -> tuple[float, float]:
    """Return the relative reduction of the bounded squared prediction error, and its z over tasks."""
    loss, other = (np.minimum((block.label - each) ** 2, bound**2) for each in (before, after))
    known = np.isfinite(loss - other)
    n, total = (block.per_task(np.where(known, each, 0.0)) for each in (1.0, loss - other))
    mean = total[n > 0] / n[n > 0]
    spread = mean.std(ddof=1) if len(mean) > 1 else 0.0
    gain = float((loss - other)[known].sum() / max(loss[known].sum(), _DUST))
    return gain, float(mean.mean() / spread * np.sqrt(len(mean))) if spread > 0 else 0.0


def held_out_stretch(block: Block, lines: Lines) -> float:
    """Return the mean squared error of held-out answers relative to the variance expected by the lines."""
    of = _compare(block, lines)
    _, slope, variance = lines.of_answers(block)
    ratio = np.minimum(of.residual**2, lines.bound**2) / (variance + slope**2 * of.variance)
    return float(ratio[of.every].mean()) if of.every.any() else 1.0


def _predict(block: Block, cut: float, *, sloped: bool) -> Floats:
    """Predict each answer from the other answers to its task, with lines fitted to other folds of tasks."""
    folds = 2 if block.n_tasks >= _MANY_TASKS else _FOLDS
    fold, found = mix(block.task_hash) % np.uint64(folds), np.empty(len(block.label))
    for k in range(folds):
        rest, rows = _pick_tasks(block, fold == k)
        if not len(rows):
            continue
        train, lines = _pick_tasks(block, fold != k)[0], Lines.equal(block.n_workers, cut)
        if train.n_tasks:
            lines, _ = fit_lines(partial(_sum_block, train), Start.of(train, cut), sloped=sloped)
        of = _compare(rest, lines)
        found[rows] = np.where(of.every, of.expected, np.nan) + lines.middle
    return found


def _pick_tasks(block: Block, wanted: Array) -> tuple[Block, Array]:
    """Return a block of the selected tasks, and the indices of their answers."""
    rows = np.flatnonzero(wanted[block.task])
    return block.pick(np.flatnonzero(wanted), rows), rows


def _sum_block(block: Block, sums: Callable[..., dict[str, Floats]], lines: Lines) -> dict[str, Floats]:
    return sums(block, lines)
