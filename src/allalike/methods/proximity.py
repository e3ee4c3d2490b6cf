"""P-TD, P-TD-AK, iP-TD and D-TD: weight workers by their proximity to the other workers.

Good workers are alike because they are all close to the truth, whereas each bad worker errs in a different way. A
worker's mean distance to the others, the disparity, therefore indicates the error, and no gold labels are needed. The
source is Meir et al., "Frustratingly Easy Truth Discovery" (AAAI 2023).

Algorithm 1 takes ten lines for a matrix of classes, with one row per worker and one column per task:

>>> import numpy as np
>>> answers = np.array([list("xxyz"), list("xxyy"), list("xyyz"), list("yzxz")])
>>> distance = (answers[:, None] != answers).mean(axis=2)         # d_ij: share of tasks on which i and j differ
>>> disparity = distance.sum(axis=1) / (len(answers) - 1)         # pi_i: mean distance to the other workers
>>> fault = disparity                                             # f_i: estimated error, here the disparity itself
>>> weight = (fault.max() - fault) / (fault.max() - fault).sum()  # w_i: distance to the worst worker, normalised
>>> labels = np.unique(answers)
>>> votes = [weight @ (answers == label) for label in labels]     # total weight behind each label of each task
>>> "".join(labels[np.argmax(votes, axis=0)])                     # weighted majority vote
'xxyz'

`allalike.discover` does the same for any label type, in batches and with missing answers:

>>> import allalike
>>> rows = [(worker, task, label) for worker, row in enumerate(answers) for task, label in enumerate(row)]
>>> result = allalike.discover(rows, method="P-TD")
>>> "".join(result.truth["label"]), bool(np.allclose(result.workers["weight"], weight))
('xxyz', True)

The four methods differ in two steps, from disparity to fault and from fault to weight:

    P-TD:     f_i = pi_i,   w_i = max(f) - f_i, or 1 / f_i for numbers
    P-TD-AK:  f_i = pi_i - mu (numbers),  (pi_i - mu) / (1 - k / (k - 1) mu) (k classes),   w_i as in `OA`
    iP-TD:    pi_i = sum_j w_j d_ij / sum_j w_j,   repeated with the weights of the previous round
    D-TD:     f_i = mean distance of i's answers to the unweighted aggregate of each task

Here mu is the mean fault, estimated by half the mean distance between two workers. The exact forms are in
`allalike.noise.Gaussian` and `allalike.noise.OneCoin`.

P-TD and iP-TD work for every label type with a distance. P-TD-AK needs a noise model and many tasks. D-TD works if the
unweighted aggregate is mostly right. For squared distances and means it coincides with the others, because d(s_i, mean)
= (n-1)/n (pi_i - mubar) exactly: it equals P-TD-AK with ridge 4 under inverse weights, and P-TD under max weights.

All four fail if bad workers are alike: copies of one bad worker, or an error that most workers share, look like
agreement. If there are only two workers, they have the same disparity, and therefore the same weight. With few workers,
the weighting ``max`` loses information because the worst worker gets weight 0.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import known_sums
from allalike._core.options import choice, flag, number, whole
from allalike.distances.euclidean import check_digits
from allalike.errors import OptionError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.noise import peak, without_dust

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Block, Floats, Ties
    from allalike.domains import Domain, Encoding, Kernels
    from allalike.engines import Run
    from allalike.methods.steps.pairs import PairMatrix
    from allalike.noise import Noise

_BYTES_PER_PAIR = 13  # mean distance, whether the pair has common tasks, and index
_LEAST_VARIANCE = 1e-24  # relative to the largest fault: squared rounding errors


# Disparity: the mean distance of each worker to the others.
#
# With missing answers there are two averages. Pooled (the default), every pair of answers to the same task counts once.
# This is a sum over tasks, and needs no matrix of workers. Per pair, every other worker counts once, regardless of the
# number of common tasks. With complete answers both are equal.


@dataclass(frozen=True)
class Disparity:
    """The sums behind each worker's mean distance to the others.

    >>> import numpy as np
    >>> sums = Disparity(np.array([5.0, 4.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    >>> sums.mean, sums.mubar
    (array([2.5 , 2.  , 2.25]), 1.125)
    """

    distance: Floats
    weight: Floats

    @cached_property
    def mean(self) -> Floats:
        """The mean distance of each worker; for workers without peers, the mean of all others."""
        known = np.where(self.weight > 0, self.distance, np.nan) / np.where(self.weight > 0, self.weight, 1.0)
        return fill_with_mean(known)

    @property
    def mubar(self) -> float:
        """Half the mean distance between two workers; every pair of answers counts once."""
        weight = float(self.weight.sum())
        return float(self.distance.sum()) / weight / 2 if weight else np.nan


def fill_with_mean(values: Floats) -> Floats:
    """Replace NaN by the mean of the other values."""
    known = ~np.isnan(values)
    mean = values[known].mean() if known.any() else np.nan
    return np.where(known, values, mean)


class Peers:
    """Disparities of all workers of a run, given any weights of the other workers."""

    def __init__(self, run: Run, *, per_pair: bool = False) -> None:
        self.run = run
        self._pairs = _mean_distances(run) if per_pair else None
        sums = None if per_pair else run.unweighted_peer_sums
        self.unweighted = (
            self._sums(np.ones(len(run.workers))) if sums is None else Disparity(sums["distance"], sums["weight"])
        )
        if run.domain.power == 2:
            check_digits(np.fmax.reduce(self.unweighted.distance, initial=0.0))

    def weighted(self, weights: Floats) -> Floats:
        """Return weighted mean distances; a worker whose peers have weight 0 keeps the unweighted mean."""
        if (weights == weights[0]).all():
            return self.unweighted.mean
        sums = self._sums(weights)
        return np.where(sums.weight > 0, sums.mean, self.unweighted.mean)

    def comparable(self, fault: Floats) -> Floats:
        """Return faults in which workers without peers have the mean fault of the others.

        If there are only two workers, they have the same fault, because their distance does not show which one errs.
        """
        known = np.where(self.unweighted.weight > 0, fault, np.nan)
        filled = fill_with_mean(known)
        return np.full(2, filled.mean()) if len(filled) == 2 else filled

    def summed(self, weights: Floats) -> Floats:
        """Return weighted sums of distances, as in the paper's Algorithm 2."""
        peers = self.unweighted.weight
        mean = self._sums(weights).distance / np.where(peers > 0, peers, np.nan) * (len(weights) - 1)
        return fill_with_mean(mean)

    def _sums(self, weights: Floats) -> Disparity:
        if self._pairs is None:
            sums = self.run.sum(self.run.kernels.peer_sums, weights)
            return Disparity(sums["distance"], sums["weight"])
        return Disparity(*(pairs.times(weights) for pairs in self._pairs))


def _mean_distances(run: Run) -> tuple[PairMatrix, ...]:
    """Return the mean distance of every pair of workers, and a mask of the pairs with common tasks."""
    from allalike.methods.steps.pairs import all_pairs

    pairs = all_pairs(run, each=_BYTES_PER_PAIR, instead="Omit per_pair: pooled distances need no pairs.")
    return pairs.measure(lambda pairs: (pairs.distance / np.maximum(pairs.common, 1.0), pairs.common > 0))


# Weights from faults.


def normalise(weights: Floats, *_: Any) -> Floats:
    """Return nonnegative weights that sum to 1.

    If a weight is infinite, all finite weights become 0. Weights below 1e-12 of the largest also become 0; otherwise
    rounding could decide a task. If all weights are 0, all workers get the same weight.

    >>> normalise(np.array([3.0, -1.0, 1.0]))
    array([0.75, 0.  , 0.25])
    >>> normalise(np.array([np.inf, 5.0, np.inf]))
    array([0.5, 0. , 0.5])
    >>> normalise(np.array([1.0, 1e-13, 2e-13]))
    array([1., 0., 0.])
    >>> normalise(np.array([np.nan, -1.0]))
    array([0.5, 0.5])
    """
    weights = np.nan_to_num(weights, nan=0.0, posinf=np.inf, neginf=0.0)
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(np.float64)
    weights = np.maximum(weights, 0.0)
    weights = without_dust(weights, weights.max(initial=0.0))
    return weights / weights.sum() if weights.any() else np.full(len(weights), 1 / max(len(weights), 1))


def equal_weights(n_workers: int) -> Floats:
    """Return the same weight for all workers.

    >>> equal_weights(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return normalise(np.ones(n_workers))


def below_worst(fault: Floats, model: Noise) -> Floats:
    """Compute max(f) - f, the distance to the worst worker; rounding errors become 0.

    >>> from allalike.noise import Noise
    >>> below_worst(np.array([1.0, 3.0, 2.0]), Noise())
    array([2., 0., 1.])
    """
    worst = peak(fault)
    return without_dust(worst - fault, worst)


def inverse(fault: Floats, model: Noise) -> Floats:
    """Compute 1 / f; a fault that is a rounding error counts as 0, and its weight is infinite.

    >>> from allalike.noise import Noise
    >>> inverse(np.array([1.0, 4.0]), Noise())
    array([1.  , 0.25])
    """
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / np.where(np.abs(fault) <= _LEAST_VARIANCE * peak(fault), 0.0, fault)


def below_chance(fault: Floats, model: Noise) -> Floats:
    """Compute the distance to a worker who guesses; `normalise` gives worse workers weight 0.

    For similarities, this is the mean similarity.

    >>> from allalike.noise import OneCoin
    >>> below_chance(np.array([0.25, 0.5]), OneCoin(classes=2))
    array([0.25, 0.  ])
    """
    if model.chance is None:
        raise OptionError("weighting is 'chance', but this label type has no chance level. Use 'max' or 'inverse'.")
    return without_dust(model.chance - fault, model.chance)


WEIGHTINGS = {"max": below_worst, "inverse": inverse, "chance": below_chance, "printed": below_worst}


def weigh_faults(fault: Floats, weighting: str | None, model: Noise) -> Floats:
    """Compute weights that sum to 1 from faults, by this weighting or by the default of the noise model.

    >>> from allalike.noise import Noise
    >>> weigh_faults(np.array([1.0, 3.0, 2.0]), "max", Noise())
    array([0.66666667, 0.        , 0.33333333])
    """
    return normalise(WEIGHTINGS[weighting or model.weighting](fault, model))


# Rounds: repeat a step until the estimates converge.


@dataclass(frozen=True)
class LastRound:
    """Final state and faults of the workers, and the number of rounds."""

    state: Floats
    fault: Floats
    iterations: int
    converged: bool = True

    def fit(self, peers: Peers, *, fault: Floats | None = None, weight: Floats | None = None, **estimation: Any) -> Fit:
        """Return the fit after these rounds; the state contains the weights unless ``weight`` is given."""
        return Fit(
            disparity=peers.unweighted.mean,
            fault=self.fault if fault is None else fault,
            weight=self.state if weight is None else weight,
            iterations=self.iterations,
            converged=self.converged,
            **estimation,
        )


def repeat(
    run: Run, step: Callable[[Floats], tuple[Floats, Floats]], start: Floats, *, max_iter: int, tol: float
) -> LastRound:
    """Repeat ``state, fault = step(state)`` until the norm of the change is below ``tol`` times the norm of the state.

    A state contains one row per worker.
    """
    state, fault = start, np.full(len(start), np.nan)
    for iterations in run.rounds(max_iter):
        before = state
        state, fault = step(before)
        size = float(np.square(state).sum())
        if np.sqrt(np.square(state - before).sum() / (size if size > 0 else 1.0)) < tol:
            return LastRound(state, fault, iterations)
    return LastRound(state, fault, max_iter, converged=False)


@dataclass(frozen=True, kw_only=True)
class PTD(Method):
    """Proximity: the disparity is the fault (the paper's P-TD^D).

    Parameters
    ----------
    weighting
        Conversion from fault to weight. ``max``: distance to the worst worker, whose weight is 0. ``inverse``: 1/f.
        ``chance``: distance to a worker who guesses. ``printed``: as in the paper, which is ``max`` for all labels.
        Default: ``inverse`` for numbers, where even the worst of a few workers helps, and ``max`` for other labels.
    per_pair
        Whether to average over peers instead of pairs of answers.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "z"), ("bob", 2, "x"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="P-TD").workers["weight"].tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "P-TD"
    summary: ClassVar[str] = "proximity: the mean distance to the other workers estimates the error"
    weighting: str | None = choice(None, *WEIGHTINGS)
    per_pair: bool = flag(False)

    def fit(self, run: Run) -> Fit:
        """Compute weights from disparities."""
        disparity = Peers(run, per_pair=self.per_pair).unweighted.mean
        weight = weigh_faults(disparity, self.weighting, run.encoding.noise)
        return Fit(disparity=disparity, fault=disparity, weight=weight)


@dataclass(frozen=True, kw_only=True)
class PTDAK(Method):
    """Proximity with faults estimated from disparities, and optimal weights under a noise model.

    ``ridge`` (the paper's lambda) and ``nonpositive`` belong to `allalike.noise.Gaussian`, the noise model for numbers;
    ``mu`` and ``transform`` belong to `allalike.noise.OneCoin`, the noise model for classes.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=PTDAK(ridge=4)).workers["mean_error"].tolist()
    [49.0, 36.0, 169.0]
    """

    name: ClassVar[str] = "P-TD-AK"
    summary: ClassVar[str] = "proximity with errors estimated under a noise model, and the optimal weights for them"
    needs: ClassVar[str] = "classes or numbers with a noise model"
    ridge: float | None = None
    nonpositive: str | None = None
    mu: str | None = None
    transform: str | None = None
    per_pair: bool = flag(False)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether the label type has a noise model."""
        return labels.noise.estimates_fault

    def fit(self, run: Run) -> Fit:
        """Estimate faults and weights."""
        model = self._model(run.encoding)
        sums = Peers(run, per_pair=self.per_pair).unweighted
        fault = model.fault(sums.mean, sums.mubar)
        weight = normalise(model.weight(model.bound_faults(fault, sums.mubar)))
        return Fit(disparity=sums.mean, fault=fault, weight=weight)

    def _model(self, labels: Encoding) -> Noise:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        options = {name: value for name, value in fields.items() if name != "per_pair" and value is not None}
        known = {field.name for field in dataclasses.fields(labels.noise)}
        for name in options:
            if name not in known:
                raise OptionError(f"P-TD-AK has no option {name!r} for {labels.domain.name} labels.")
        return dataclasses.replace(labels.noise, **options)


@dataclass(frozen=True, kw_only=True)
class IPTD(Method):
    """Iterated proximity: disparities in which the other workers are weighted, round by round.

    omega^0 = 1; pi^t_i is the mean distance to the others, weighted by omega^(t-1); omega^t = max(pi^t) - pi^t. The
    rounds end when omega changes by less than ``tol``, relative to its norm. Two rounds achieve most of the gain. With
    three workers, the rounds may cycle.

    Parameters
    ----------
    max_iter, tol
        Maximum number of rounds, and relative change of the weights below which they end.
    average
        Whether to divide by the total weight of the others, as in the paper's text. Its Algorithm 2 does not.
    weighting
        Conversion from final disparities to weights, as in `PTD`; ``printed`` also sets ``average=False``.
    per_pair
        Whether to average over peers instead of pairs of answers.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "z"), ("bob", 2, "x"), ("eve", 2, "y")]
    >>> result = allalike.discover(rows, method=IPTD())
    >>> result.workers["mean_error"].tolist(), result.summary["converged"]
    ([0.5, 0.5, 1.0], True)
    """

    name: ClassVar[str] = "iP-TD"
    summary: ClassVar[str] = "iterated proximity: the distance to better workers counts more, round by round"
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)
    average: bool = flag(True)
    weighting: str | None = choice(None, *WEIGHTINGS)
    per_pair: bool = flag(False)

    def fit(self, run: Run) -> Fit:
        """Compute weights from weighted disparities, round by round."""
        model, peers = run.encoding.noise, Peers(run, per_pair=self.per_pair)
        measure = peers.weighted if self.average and self.weighting != "printed" else peers.summed

        def step(omega: Floats) -> tuple[Floats, Floats]:
            fault = measure(omega)
            return normalise(below_worst(fault, model)), fault

        rounds = repeat(run, step, equal_weights(len(run.workers)), max_iter=self.max_iter, tol=self.tol)
        return rounds.fit(peers, weight=weigh_faults(rounds.fault, self.weighting, model))


@dataclass(frozen=True, kw_only=True)
class DTD(Method):
    """Distance to the unweighted aggregate: the fastest method, but limited by the quality of that aggregate.

    Parameters
    ----------
    weighting
        Conversion from fault to weight, as in `PTD`.
    rounds
        Number of rounds. Each round after the first uses the weights of the previous round.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method="D-TD").workers["mean_error"].tolist()
    [49.0, 36.0, 169.0]
    """

    name: ClassVar[str] = "D-TD"
    summary: ClassVar[str] = "distance: the mean distance to the unweighted labels estimates the error"
    weighting: str | None = choice(None, *WEIGHTINGS)
    rounds: int = whole(1, least=1)

    def fit(self, run: Run) -> Fit:
        """Compute weights from the distances to the aggregate."""
        model, peers = run.encoding.noise, Peers(run)
        inverse = (self.weighting or model.weighting) == "inverse"
        weight = np.ones(len(run.workers))
        for _ in run.rounds(self.rounds):
            sums = run.sum(partial(loss_sums, kernels=run.kernels, ties=run.ties), weight)
            known = sums["answers"] > 0  # some distances may be unknown
            fault = peers.comparable(np.where(known, sums["distance"], np.nan) / np.where(known, sums["answers"], 1.0))
            usable = smooth(fault, sums["answers"]) if inverse else fault
            weight = weigh_faults(usable, self.weighting, model)
        return Fit(disparity=peers.unweighted.mean, fault=fault, weight=weight, iterations=self.rounds)


def smooth(loss: Floats, answers: Floats) -> Floats:
    """Return mean losses per answer; a loss of 0 is smoothed by half an answer with the crowd's mean loss.

    A few answers without errors do not show that a worker never errs.

    >>> import numpy as np
    >>> smooth(np.array([0.0, 3.0]), np.array([1.0, 2.0]))
    array([0.66666667, 3.        ])
    """
    mean = (loss * answers).sum() / answers.sum()
    return np.where(loss <= 1e-12 * mean, mean / 2 / (answers + 0.5), loss)


def loss_sums(block: Block, weights: Floats, *, kernels: Kernels, ties: Ties) -> dict[str, Floats]:
    """Add up each worker's known distances to the weighted aggregates, and count these answers.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 2.0), ("bob", 1, 4.0)], domain="real"))
    >>> run.sum(partial(loss_sums, kernels=run.kernels, ties=run.ties), np.ones(2))["distance"]
    array([1., 1.])
    """
    decision = kernels.decide(block, weights, np.zeros(block.n_workers), ties)
    return known_sums(block, kernels.distance_to(block, decision.label))
