"""Uncertainty: errors of workers with 95 % confidence intervals, from their distances to the other workers.

**Shares** (classes, rankings). Two answers with error rates f_i and f_j are f_i + f_j - c f_i f_j apart on average:
c = k / (k - 1) for k classes, nearly 2 for the Kendall tau distance of rankings. A worker at distance p_i from the
other answers to their tasks, whose workers have error rate mu_i on average, has therefore

    f_i = (p_i - mu_i) / (1 - c mu_i).

mu_i is the mean of the workers they met: if good workers share the hard tasks, the mean of all would be wrong. Both are
found by turns, in half steps. Workers with few answers are shrunk towards the mean there. With num and den the distance
to all other answers and their number, the sums of their products give p = sum num / sum den, the effective number of
answers n = (sum den)^2 / sum den^2, and the variance of an answer. The interval contains every f with

    (f - f^)^2 <= z^2 [(k f (1 - f) + B) / n + V],

Wilson's interval (1927) where B, the variance from the others' errors, and V, that of the crowd, are 0, and k is 1, as
for classes; rankings have many pairs each and a smaller k.

**Squares** (numbers, vectors). The error is the mean of squared residuals of worker lines, so that its interval follows
from chi^2 with as many degrees of freedom as match its variance (Satterthwaite, 1946).

Neither shows shared errors: copies that are not known, or a wrong answer that most workers give.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import AnswerWeights, sum_by
from allalike.methods.auto.sureness.intervals import TAIL, find_share_limits
from allalike.methods.auto.voices import peer_distances
from allalike.methods.fit import Uncertainty

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run

FEW = 5  # shared answers below which intervals were not tried
_ROUNDS, _ROUNDS_IF_MANY, _MANY = 25, 8, 300_000  # rounds, each of which halves what is missing; answers
_PRIOR_ANSWERS = 2.0  # like the mean, of workers who are met
_LEAST_SLOPE = 0.05  # of 1 - c mu
_LEAST_SPREAD = 1e-4  # of the variance between workers
_LEAST_SCALE = 0.05  # of the variance of an answer, in that of a class
_MODEL_ERROR = 0.0125  # of c = 2: in good rankings of many items, two err in the same pair less often
_ROUNDING = 1e-9


def estimate_shares(run: Run) -> Uncertainty:
    """Estimate the error rates of workers; without a model of them, all but ``shared`` and ``few`` is NaN.

    >>> import allalike
    >>> said = {"ada": "xxxxxxxx", "bob": "xxxxxxxx", "eve": "xxxxyyyy", "kim": "yyxxxxxx"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> found = estimate_shares(allalike.Memory().load(allalike.read(rows)))
    >>> found.error.round(2), found.low.round(2), found.high.round(2)
    (array([-0.08, -0.08,  0.6 ,  0.38]), array([0.  , 0.  , 0.25, 0.09]), array([0.49, 0.49, 0.9 , 0.74]))
    """
    noise, classes = run.encoding.noise, run.encoding.nominal
    sums = run.sum(partial(distance_moments, kernels=run.kernels))
    given = sums["answers"]
    shared = np.rint(given).astype(np.int64)
    if not noise.estimates_fault or noise.chance == 0:
        unknown = np.full(len(given), np.nan)
        few = shared < FEW
        return Uncertainty(
            unit="mean_error", shared=shared, error=unknown, low=unknown, high=unknown, shrunk=unknown, few=few
        )
    c = 1 / float(noise.chance or 1.0)
    den, squares = np.where(given > 0, sums["den"], 1.0), np.where(given > 0, sums["den den"], 1.0)
    distance, n = sums["num"] / den, den**2 / squares
    crowd = max(sums["task den"].sum(), _ROUNDING)
    usual = sums["task num"].sum() / crowd
    nn, nd, dd = (sums[f"task {name}"].sum() for name in ("num num", "num den", "den den"))
    noise_of_crowd = max(nn - 2 * usual * nd + usual**2 * dd, 0.0) / crowd**2
    error, met = _solve(run, distance, den, sums, usual, c)
    slope = np.maximum(1 - c * met, _LEAST_SLOPE)
    residual = np.maximum(sums["num num"] - 2 * distance * sums["num den"] + distance**2 * squares, 0.0)
    spread = residual / squares / slope**2 * given / np.maximum(given - 1, 1.0)
    freedom, counts = np.maximum(given - 1, 0.0), np.where(given > 0, n * sums["voices"] / np.maximum(given, 1.0), 0.0)
    limits = _spread(error, spread, given, slope, noise_of_crowd, c, classes=classes)
    low, high = find_share_limits(error, n, **limits)
    if len(given) == 2:  # a difference does not show whose error it is
        limits["common"] = np.full(2, noise_of_crowd)
        low, high = np.zeros(2), find_share_limits(distance, n, **limits)[1]
    shrunk = _shrink(error, counts, np.where(given > 0, _mean(spread, freedom) / n, np.nan))
    error, low, high = (np.where(given > 0, each, np.nan) for each in (error, low, high))
    return Uncertainty(
        unit="error_rate" if classes else "mean_error",
        shared=shared,
        error=error,
        low=low,
        high=high,
        shrunk=shrunk,
        few=shared < FEW,
    )


def _shrink(error: Floats, counts: Floats, noise: Floats) -> Floats:
    """Shrink errors towards their mean, given the variance of each by chance; NaN is unknown."""
    mean = _mean(error, counts)
    lost = max(1 - _mean(counts, counts) / max(counts.sum(), _ROUNDING), _ROUNDING)
    between = max(_mean((error - mean) ** 2 / lost - np.nan_to_num(noise), counts), _LEAST_SPREAD)
    kept = np.where(np.isnan(noise), 0.0, between / (between + noise))
    return np.clip(mean + kept * (error - mean), 0.0, 1.0)


def _spread(
    error: Floats, spread: Floats, given: Floats, slope: Floats, noise: float, c: float, *, classes: bool
) -> dict[str, Floats]:
    """Return k, B and V of each worker's interval."""
    inside, freedom = np.clip(error, 0.0, 1.0), np.maximum(given - 1, 0.0)
    own, within = inside * (1 - inside), spread * (1 - 1 / np.maximum(given, 1.0))
    scale = 1.0 if classes else _regress(own, within, freedom)
    extra = max(_mean(within - scale * own, freedom), 0.0)
    common = noise * (1 - c * inside) ** 2 / (4 * slope**4) + (0.0 if classes else _MODEL_ERROR**2)
    return {"scale": np.full(len(given), scale), "extra": np.full(len(given), extra), "common": common}


def _mean(values: Any, weights: Floats) -> float:
    total = weights.sum()
    return float((values * weights).sum() / total) if total > 0 else np.nan


def _regress(own: Floats, within: Floats, weights: Floats) -> float:
    """Return the slope of the variance of answers against f (1 - f)."""
    own = own - _mean(own, weights)
    square = _mean(own**2, weights)
    return float(np.clip(_mean(own * within, weights) / square, _LEAST_SCALE, 1.0)) if square > 0 else 1.0


def _solve(
    run: Run, distance: Floats, den: Floats, sums: dict[str, Floats], usual: float, c: float
) -> tuple[Floats, Floats]:
    """Return error rates and the mean of those who were met; equal workers have distance 2 mu - c mu^2."""
    given = sums["answers"]
    mean = (1 - np.sqrt(max(1 - c * usual, 0.0))) / c

    def invert(met: Any) -> Floats:
        return np.where(given > 0, (distance - met) / np.maximum(1 - c * met, _LEAST_SLOPE), mean)

    kept = given / (given + _PRIOR_ANSWERS)
    error, met = invert(mean), np.full(len(given), mean)
    for _ in range(_ROUNDS if given.sum() <= _MANY else _ROUNDS_IF_MANY):
        centre = _mean(error, sums["voices"])
        centre = mean if np.isnan(centre) else centre
        met = run.sum(add_met_errors, centre + kept * (error - centre))["met"] / den
        error = error + (invert(met) - error) / 2
    return error, met


def distance_moments(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, the moments of the distance to other answers and of their number; and those of tasks.

    >>> from allalike.domains import Real
    >>> from allalike._core.blocks.block import Block
    >>> from allalike.domains.real import RealKernels
    >>> block = Block.of([[0.0, 3.0], [2.0, 3.0], [4.0, 3.0]])
    >>> distance_moments(block, kernels=RealKernels(domain=Real()))["num"]
    array([20.,  8., 20.])
    """
    num, den = peer_distances(block, np.ones(block.n_workers), kernels=kernels)
    heard = den > _ROUNDING
    num, den = np.where(heard, num, 0.0), np.where(heard, den, 0.0)
    parts = {"answers": np.where(heard, 1.0, 0.0), "num": num, "den": den}
    parts |= {"num num": num**2, "num den": num * den, "den den": den**2}
    voice = block[AnswerWeights].weight if AnswerWeights in block else 1.0
    parts |= {"voices": voice * parts["answers"], "task num": voice * num, "task den": voice * den}
    of_task = [block.per_task(parts[name]) / np.sqrt(block.sizes) for name in ("task num", "task den")]
    for name, i, j in (("num num", 0, 0), ("num den", 0, 1), ("den den", 1, 1)):
        parts[f"task {name}"] = block.to_answers(of_task[i] * of_task[j])
    return {name: block.per_worker(part) for name, part in parts.items()}


def add_met_errors(block: Block, error: Floats) -> dict[str, Floats]:
    """Add up, per worker, the error rates of the workers of the other answers to their tasks.

    >>> from allalike._core.blocks.block import Block
    >>> add_met_errors(Block.of([[0, 0], [1, 0], [0, 1]]), np.array([0.1, 0.2, 0.4]))["met"]
    array([1.2, 1. , 0.6])
    """
    own = inside = error.take(block.worker)
    if AnswerWeights in block:
        voices = block[AnswerWeights]
        own = own * voices.weight
        inside = sum_by(voices.group, own, int(voices.group.max()) + 1)[voices.group]
    return {"met": block.per_worker(block.to_answers(block.per_task(own)) - inside)}


def estimate_squares(
    answers: Floats, fault: Floats, error: Floats, variance: Floats, *, square: float = 1.0
) -> Uncertainty:
    """Return the uncertainty of mean squared errors in a unit, given shrunk estimates and the variance of the mean.

    >>> found = estimate_squares(np.array([10.0]), np.ones(1), np.ones(1), np.array([0.2]))
    >>> found.low.round(2), found.high.round(2)
    (array([0.49]), array([3.08]))
    """
    from scipy.special import chdtri

    known = answers > 1
    mean = np.where(known, error, np.nan)
    freedom = np.clip(2 * error**2 / np.where(variance > 0, variance, np.inf), 0.5, np.maximum(answers, 1.0))
    low, high = (mean * freedom / chdtri(freedom, tail) for tail in (TAIL, 1 - TAIL))
    if known.sum() == 2:  # a difference does not show whose error it is
        low, high = 0.0 * low, 2 * high
    shared = np.rint(answers).astype(np.int64)
    error, low, high, fault = (each * square for each in (mean, low, high, fault))
    return Uncertainty(unit="rmse", shared=shared, error=error, low=low, high=high, shrunk=fault, few=shared < FEW)
