"""Faults: how far a worker is from the truth, and how sure that is, from how far her answers are from the others'.

Two answers with faults f_i and f_j are f_i + f_j - c f_i f_j apart on average: c = k / (k - 1) for k classes, 2 for the
Kendall tau distance of rankings, nearly, and 0 for squared distances. A worker who is p_i away from those who answered
her tasks too, and whose own faults are mu_i on average, has therefore the fault

    f_i = (p_i - mu_i) / (1 - c mu_i).

The mu_i are those of the peers she **met**: in a crowd where the good workers get the hard tasks together, the mean of
all would be wrong. They follow from the faults, so both are found in turn, each step half of the way, because whole
steps swing. Peers with few answers are pulled to the crowd's mean there, as if two of their answers were like it.

**Sums.** With num and den the distance to all peers of an answer and their number, a worker needs the sums of num, den,
num^2, num den and den^2 over her answers: p = sum num / sum den, her answers are worth neff = (sum den)^2 / sum den^2,
and the residuals num - p den give the variance of an answer.

**Shrinkage.** What a worker with few answers seems to be is mostly chance. With the variance t^2 of faults between
workers, f~ = M + (f - M) t^2 / (t^2 + s^2 / neff) is the best guess (empirical Bayes); squares, which are skewed, have
an inverse gamma distribution instead. Weights may use f~. The limits are not shrunk
(`allalike.methods.auto.sureness.intervals`).

It fails where errors are not independent: a group of copies that is not known as one, or a wrong answer that attracts
most workers, makes those who share it look good, and no interval tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import AnswerWeights, sum_by
from allalike.methods.auto.sureness.intervals import find_share_limits, find_square_limits
from allalike.methods.auto.voices import peer_distances
from allalike.methods.insight import Faults

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Kernels
    from allalike.engines import Run

FEW = 5  # shared answers below which limits were not tried, and say little
_ROUNDS = 25
_ROUNDS_IF_MANY = 8  # each of which halves what is missing, about
_MANY = 300_000  # answers
_DAMPING = 0.5
_PRIOR_ANSWERS = 2.0  # with which peers are pulled to the crowd's mean
_LEAST_SLOPE = 0.05  # of 1 - c mu: where peers guess, limits are as wide as can be
_LEAST_SPREAD = 1e-4  # of the variance between workers, where faults are shares
_LEAST_SHARE = 0.02  # of the crowd's: that of the least variance of a worker, and that between workers
_LEAST_SCALE, _MOST_SCALE = 0.05, 5.0  # of the variance of an answer beside that of the model; vectors have less
_LEAST_SCALE_OF_NUMBERS = 0.7
_MODEL_ERROR = 0.0125  # of c = 2: of good rankings of many items, two err in the same pair less often
_ROUNDING = 1e-9


def find_faults(run: Run) -> Faults:
    """Estimate the faults of a run's workers, with limits.

    Where labels have no model of faults, such as texts, all but ``shared`` and ``few`` is NaN.

    >>> import allalike
    >>> said = {"ada": "xxxxxxxx", "bob": "xxxxxxxx", "eve": "xxxxyyyy", "kim": "yyxxxxxx"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> found = find_faults(allalike.Memory().load(allalike.read(rows)))
    >>> found.fault.round(2), found.low.round(2), found.high.round(2)
    (array([-0.08, -0.08,  0.6 ,  0.38]), array([0.  , 0.  , 0.25, 0.09]), array([0.49, 0.49, 0.9 , 0.74]))
    """
    problems, noise = run.problems, run.encoding.noise
    squares = noise.weighting == "inverse"
    unit = _find_unit(run) if squares else np.ones(problems.n_workers)
    sums = run.sum(partial(distance_moments, kernels=run.kernels), unit)
    shared = np.rint(sums["answers"]).astype(np.int64)
    few = shared < FEW
    if not noise.estimates_fault or noise.chance == 0:
        nobody = np.full(problems.n_workers, np.nan)
        return Faults("fault", shared, nobody, nobody, nobody, nobody, few)
    crowd = _find_crowd(run, sums, 0.0 if squares else 1 / float(noise.chance or 1.0))
    if squares:
        low, high, shrunk = _judge_squares(
            crowd, least_scale=_LEAST_SCALE_OF_NUMBERS if run.encoding.numeric else _LEAST_SCALE
        )
    else:
        low, high, shrunk = _judge_shares(crowd, classes=run.encoding.nominal)
    name = "rmse" if squares else "error_rate" if run.encoding.nominal else "fault"
    return Faults(name, shared, crowd.known(crowd.fault) * unit, low * unit, high * unit, shrunk * unit, few)


def _find_unit(run: Run) -> Floats:
    """Return the mean distance of two workers, in terms of which squares of squares are neither huge nor tiny."""
    sums = run.unweighted_peer_sums
    distance, weight = (run.problems.total(sums[name]) for name in ("distance", "weight"))
    return np.where(distance > 0, distance / np.where(weight > 0, weight, 1.0), 1.0)


def distance_moments(block: Block, unit: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, the moments of the distance to peers and of their number; and those of her tasks.

    >>> from allalike.domains import Real
    >>> from allalike._core.blocks.block import Block
    >>> from allalike.domains.real import RealKernels
    >>> block = Block.of([[0.0, 3.0], [2.0, 3.0], [4.0, 3.0]])
    >>> distance_moments(block, np.ones(3), kernels=RealKernels(domain=Real()))["num"]
    array([20.,  8., 20.])
    """
    num, den = peer_distances(block, np.ones(block.n_workers), kernels=kernels)
    heard = den > _ROUNDING
    num, den = np.where(heard, num / unit.take(block.worker), 0.0), np.where(heard, den, 0.0)
    parts = {
        "answers": heard.astype(np.float64),
        "num": num,
        "den": den,
        "num num": num**2,
        "num den": num * den,
        "den den": den**2,
    }
    same = {"voices": "answers", "task num": "num", "task den": "den"}  # where each answer has a voice of its own
    if AnswerWeights in block:
        voice = block[AnswerWeights].weight
        parts |= {name: voice * parts[of] for name, of in same.items()}
        num, den, same = parts["task num"], parts["task den"], {}
    num, den = (block.per_task(each) / np.sqrt(block.sizes) for each in (num, den))
    for name, of_task in (("num num", num**2), ("num den", num * den), ("den den", den**2)):
        parts[f"task {name}"] = block.to_answers(of_task)
    sums = {name: block.per_worker(part) for name, part in parts.items()}
    return sums | {name: sums[of] for name, of in same.items()}


def add_met_faults(block: Block, fault: Floats) -> dict[str, Floats]:
    """Add up, per worker, the faults of the peers of her answers.

    >>> from allalike._core.blocks.block import Block
    >>> add_met_faults(Block.of([[0, 0], [1, 0], [0, 1]]), np.array([0.1, 0.2, 0.4]))["met"]
    array([1.2, 1. , 0.6])
    """
    own = fault.take(block.worker)
    if AnswerWeights not in block:
        return {"met": block.per_worker(block.to_answers(block.per_task(own)) - own)}
    voices = block[AnswerWeights]
    own = own * voices.weight
    inside = sum_by(voices.group, own, int(voices.group.max()) + 1)
    return {"met": block.per_worker(block.to_answers(block.per_task(own)) - inside[voices.group])}


@dataclass(frozen=True)
class _Crowd:
    """What was found in a run, per worker, and what her crowd has in common, which she has a copy of.

    ``distance`` is p, ``answers`` neff, ``given`` how many answers are shared, ``counts`` how much she counts in means
    of the crowd, ``peers`` how many an answer has, ``met`` mu, ``slope`` 1 - c mu, ``spread`` the variance of an
    answer, and ``noise`` that of the crowd's mean distance.
    """

    problems: Problems
    c: float
    distance: Floats
    answers: Floats
    given: Floats
    counts: Floats
    peers: Floats
    fault: Floats
    met: Floats
    slope: Floats
    spread: Floats
    noise: Floats

    def known(self, values: Floats) -> Floats:
        """Return values, with NaN for workers without peers."""
        return np.where(self.given > 0, values, np.nan)

    def pool(self, values: Floats, weights: Floats) -> Floats:
        """Return the crowd's weighted mean; NaN where nobody has weight."""
        return _pool(self.problems, values, weights)

    def vary_between(self, noise: Floats) -> Floats:
        """Return the variance of faults between workers, given that of each estimate."""
        mean = self.pool(self.fault, self.counts)
        own = self.pool(self.counts, self.counts) / np.maximum(self.problems.total(self.counts), _ROUNDING)
        return self.pool((self.fault - mean) ** 2 / np.maximum(1 - own, _ROUNDING) - noise, self.counts)

    @property
    def freedom(self) -> Floats:
        """How many answers tell about the variance within a worker."""
        return np.maximum(self.given - 1, 0.0)

    @property
    def paired(self) -> npt.NDArray[np.bool_]:
        """Whether the crowd has two workers, so that a difference does not say whose it is."""
        return np.asarray(self.problems.size == 2)


def _pool(problems: Problems, values: Any, weights: Floats) -> Floats:
    total = problems.total(weights)
    return np.where(total > 0, problems.total(values * weights) / np.where(total > 0, total, 1.0), np.nan)


def _find_crowd(run: Run, sums: dict[str, Floats], c: float) -> _Crowd:
    problems, given = run.problems, sums["answers"]
    den, squares = np.where(given > 0, sums["den"], 1.0), np.where(given > 0, sums["den den"], 1.0)
    distance, answers = sums["num"] / den, den**2 / squares
    residual = np.maximum(sums["num num"] - 2 * distance * sums["num den"] + distance**2 * squares, 0.0)
    voices = problems.total(sums["task den"])
    usual = np.where(voices > 0, problems.total(sums["task num"]) / np.where(voices > 0, voices, 1.0), 0.0)
    nn, nd, dd = (problems.total(sums[f"task {name}"]) for name in ("num num", "num den", "den den"))
    noise = np.maximum(nn - 2 * usual * nd + usual**2 * dd, 0.0) / np.where(voices > 0, voices, 1.0) ** 2
    fault, met = _solve(run, distance, den, sums, usual, c)
    slope = np.maximum(1 - c * met, _LEAST_SLOPE)
    spread = residual / squares / slope**2 * given / np.maximum(given - 1, 1.0)
    counts = np.where(given > 0, answers * sums["voices"] / np.maximum(given, 1.0), 0.0)
    peers = den / np.maximum(given, 1.0)
    return _Crowd(problems, c, distance, answers, given, counts, peers, fault, met, slope, spread, noise)


def _solve(
    run: Run, distance: Floats, den: Floats, sums: dict[str, Floats], usual: Floats, c: float
) -> tuple[Floats, Floats]:
    """Return the faults and the mean faults of peers that belong together.

    They begin with those of a crowd in which everyone met everyone: the mean distance is 2 mu - c mu^2 there.
    """
    problems, given, voices = run.problems, sums["answers"], sums["voices"]
    mean = usual / 2 if c == 0 else (1 - np.sqrt(np.maximum(1 - c * usual, 0.0))) / c

    def invert(met: Floats) -> Floats:
        return np.where(given > 0, (distance - met) / np.maximum(1 - c * met, _LEAST_SLOPE), mean)

    pull = _PRIOR_ANSWERS / (given + _PRIOR_ANSWERS)
    fault, met = invert(mean), mean
    for _ in range(_ROUNDS if given.sum() <= _MANY else _ROUNDS_IF_MANY):
        centre = _pool(problems, fault, voices)
        centre = np.where(np.isnan(centre), mean, centre)
        met = run.sum(add_met_faults, fault + pull * (centre - fault))["met"] / den
        fault = fault + _DAMPING * (invert(met) - fault)
    return fault, met


def _judge_shares(crowd: _Crowd, *, classes: bool) -> tuple[Floats, Floats, Floats]:
    """Return limits and shrunken estimates of faults that are shares."""
    fault, freedom = crowd.fault, crowd.freedom
    inside = np.clip(fault, 0.0, 1.0)
    own = inside * (1 - inside)
    within = crowd.spread * (1 - 1 / np.maximum(crowd.given, 1.0))
    scale = np.ones(len(fault)) if classes else _regress(crowd, own, within)
    extra = np.maximum(crowd.pool(within - scale * own, freedom), 0.0)
    common = crowd.noise * (1 - crowd.c * inside) ** 2 / (4 * crowd.slope**4) + (0.0 if classes else _MODEL_ERROR**2)
    low, high = find_share_limits(fault, crowd.answers, scale=scale, extra=extra, common=common)
    most = find_share_limits(crowd.distance, crowd.answers, scale=scale, extra=extra, common=crowd.noise)[1]
    low, high = np.where(crowd.paired, 0.0, low), np.where(crowd.paired, most, high)
    noise = crowd.pool(crowd.spread, freedom) / crowd.answers
    mean = crowd.pool(fault, crowd.counts)
    between = np.maximum(crowd.vary_between(noise), _LEAST_SPREAD)
    kept = np.where(np.isnan(noise) | (crowd.given == 0), 0.0, between / (between + noise))
    return crowd.known(low), crowd.known(high), np.clip(mean + kept * (fault - mean), 0.0, 1.0)


def _regress(crowd: _Crowd, own: Floats, within: Floats) -> Floats:
    """Return the slope of the variance of answers against f (1 - f)."""
    weights = crowd.freedom
    own = own - crowd.pool(own, weights)
    square = crowd.pool(own**2, weights)
    slope = crowd.pool(own * within, weights) / np.where(square > 0, square, 1.0)
    return np.where(square > 0, np.clip(slope, _LEAST_SCALE, 1.0), 1.0)


def _judge_squares(crowd: _Crowd, *, least_scale: float) -> tuple[Floats, Floats, Floats]:
    """Return limits and shrunken estimates of faults that are squares."""
    positive, met = np.maximum(crowd.fault, 0.0), np.maximum(crowd.met, 0.0)
    # Chance makes the square of an estimate larger than that of the fault, by its variance.
    square = crowd.fault**2 - crowd.spread / crowd.answers
    gaussian = crowd.pool(2 * square + (4 * crowd.fault * met + 2 * met**2) / crowd.peers, crowd.freedom)
    scale = crowd.pool(crowd.spread, crowd.freedom) / np.where(gaussian > 0, gaussian, 1.0)
    scale = np.clip(scale, least_scale, _MOST_SCALE)
    limits = partial(find_square_limits, crowd.distance, crowd.answers, peers=crowd.peers, scale=scale)
    noise = crowd.noise / 8  # half the variance of the crowd's mean fault: the other half is in her own distance, too
    low, high = limits(peer_fault=met, common=noise)
    if crowd.paired.any():
        most = limits(peer_fault=np.zeros(len(met)), common=noise)[1]
        low, high = np.where(crowd.paired, 0.0, low), np.where(crowd.paired, most, high)
    return crowd.known(low), crowd.known(high), _shrink_squares(crowd, positive, met, scale)


def _shrink_squares(crowd: _Crowd, positive: Floats, met: Floats, scale: Floats) -> Floats:
    """Pull variances to the crowd's, whose distribution is taken for an inverse gamma one."""
    mean = crowd.pool(crowd.fault, crowd.counts)
    shrunk, least = positive, _LEAST_SHARE * mean
    unknown = np.isnan(scale) | (crowd.given == 0)
    for _ in range(4):
        noise = scale * (2 * shrunk**2 + (4 * shrunk * met + 2 * met**2) / crowd.peers) / crowd.answers
        between = np.maximum(crowd.vary_between(noise), _LEAST_SHARE * mean**2)
        prior = 2 + 2 * mean**2 / np.where(between > 0, between, 1.0)
        own = 2 * shrunk**2 / np.where(noise > 0, noise, 1.0)
        shrunk = np.maximum((prior * mean + own * positive) / (prior + own), least)
    return np.where(unknown, mean, shrunk)
