"""EVD: accuracies from the leading eigenvector of the covariance matrix of the workers.

This is the spectral meta-learner (Parisi et al., 2014), for workers with the same error rate on both classes. Let
answers be x = -1 or +1, and let worker i answer correctly with probability p_i, independently of other workers. With
a_i = 2 p_i - 1 and the mean b of the true labels,

    Cov(x_i, x_j) = (1 - b^2) a_i a_j   for i != j.

Off its diagonal, the covariance matrix has rank one, and its eigenvector is proportional to a. The diagonal does not
follow the model, and is estimated separately. EVD works with at least ten workers, hundreds of common tasks and two
frequent classes. It needs no initial values. EVD fails if all tasks have the same class, because answers by good
workers then vary as little as answers by bad workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.options import choice, flag
from allalike.domains import Domain, Encoding
from allalike.engines import Run
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise
from allalike.methods.steps.pairs import AllPairs, PairMatrix, Pairs, all_pairs
from allalike.noise import peak

_MIN_COVARIANCE = 1e-12  # smaller values are rounding errors
_MIN_ENTRY = 1e-9  # relative to the largest entry of a vector; smaller values are rounding errors
_MAX_ROUNDS, _MIN_CHANGE = 1000, 1e-10  # of the iterated diagonal
_BYTES_PER_PAIR = 15  # covariance, two flags and index


@dataclass(frozen=True)
class Covariances:
    """Covariances of workers, without the diagonal."""

    q: PairMatrix
    met: PairMatrix
    sure: PairMatrix
    mean: Floats
    answers: Floats

    @classmethod
    def of(cls, pairs: AllPairs, mean: Floats, answers: Floats) -> Covariances:
        """Compute covariances from Hamming distances: on m common tasks, sum x_i x_j = m - 2 d_ij."""
        q, met, sure = pairs.measure(partial(_covary, mean=mean))
        return cls(q, met, sure, mean, answers)


def _covary(pairs: Pairs, mean: Floats) -> tuple[Array, ...]:
    product = mean[pairs.left] * mean[pairs.right]
    q = (pairs.common * (1 - product) - 2 * pairs.distance) / np.maximum(pairs.common - 1, 1.0)
    q[np.abs(q) <= _MIN_COVARIANCE] = 0.0
    free, m = 1 - np.square(mean), np.maximum(pairs.common, 2.0)
    variance = free[pairs.left] * free[pairs.right] / (m - 1) + q / m * (4 * product - q * (m - 2) / (m - 1))
    return q, pairs.common > 0, np.abs(q) >= 2 * np.sqrt(np.maximum(variance, 0.0))


def raw(covariances: Covariances) -> Floats:
    """Return the variances of the workers' answers."""
    variance: Floats = (
        (1 - np.square(covariances.mean)) * covariances.answers / np.maximum(covariances.answers - 1, 1.0)
    )
    return variance


def least_squares(covariances: Covariances) -> Floats:
    """Solve log|Q_ij| = t_i + t_j for pairs at least two standard deviations from 0, and return exp(2 t_i).

    With fewer pairs than workers, the diagonal is 0. Workers without a pair have entry 0.
    """
    return _solve_diagonal(covariances, covariances.q.change(lambda q, sure: sure & (q != 0), covariances.sure))


def log_least_squares(covariances: Covariances) -> Floats:
    """Solve the same equations for all pairs with a covariance different from 0."""
    return _solve_diagonal(covariances, covariances.q.change(lambda q: q != 0))


def _solve_diagonal(covariances: Covariances, used: PairMatrix) -> Floats:
    degree = used.totals(np.asarray)
    if degree.sum() < 2 * len(degree):
        return np.zeros(len(degree))
    logs = covariances.q.totals(lambda q, used: np.log(np.abs(q), out=np.zeros(q.shape), where=used), used)
    # The normal equations: (diag(degree) + used) t = logs.
    t = used.solve(degree, logs)
    return np.where(degree > 0, np.exp(2 * np.minimum(t, 0.0)), 0.0)


def iterate(covariances: Covariances) -> Floats:
    """Repeat q_ii = lambda v_i^2 until convergence."""
    diagonal = np.zeros(len(covariances.mean))
    for _ in range(_MAX_ROUNDS):
        value, vector = covariances.q.leading(diagonal)
        before, diagonal = diagonal, np.clip(value * np.square(vector), 0.0, 1.0)
        if np.abs(diagonal - before).max() <= _MIN_CHANGE:
            break
    return diagonal


DIAGONALS = {"lsq": least_squares, "loglsq": log_least_squares, "iterate": iterate, "raw": raw}


@dataclass(frozen=True, kw_only=True)
class EVD(Method):
    """Weights from the leading eigenvector of the covariance matrix of the workers, for two classes.

    With missing answers, the covariance of two workers is computed on their common tasks, around the means of all their
    answers. Without common tasks, it is 0. Workers with no chain of common tasks to the group with the largest
    eigenvalue have weight 0.

    The fault is the probability of error, (1 - a_i) / 2. Off the diagonal, Q_ij is fitted by c v_i v_j, so
    sqrt(c) v_i = sqrt(1 - b^2) a_i for every choice of the diagonal. b follows from the workers' means a_i b.

    Parameters
    ----------
    diagonal
        Estimate of the diagonal. ``lsq``: least squares over pairs with significant covariances, as in the paper's
        tables; with few tasks, there are often too few such pairs, and the diagonal is then 0. ``loglsq``: least
        squares over all pairs. ``iterate``: repeated estimation from the eigenvector. ``raw``: variances.
    positive
        Whether workers who are worse than chance get weight 0 instead of voting for the other class.

    >>> import allalike
    >>> rows = [(worker, task, label) for worker, labels in {"ada": "0101", "bob": "0101", "eve": "0110"}.items()
    ...         for task, label in enumerate(labels)]
    >>> allalike.discover(rows, method=EVD()).workers["weight"].round(3).tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "EVD"
    summary: ClassVar[str] = "leading eigenvector of the covariance matrix of the workers (spectral meta-learner)"
    needs: ClassVar[str] = "two classes"
    diagonal: str = choice(*DIAGONALS)
    positive: bool = flag(True)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether there are at most two classes."""
        return labels.n_classes in (1, 2)

    def fit(self, run: Run) -> Fit:
        """Compute weights from the eigenvector."""
        peers = Peers(run)
        vector, skill = np.ones((2, len(run.workers)))
        if peak(peers.unweighted.distance) > 0:  # otherwise all answers agree
            sums = run.sum(_votes)
            mean, answers = sums["votes"] / sums["answers"], sums["answers"]
            covariances = Covariances.of(all_pairs(run, each=_BYTES_PER_PAIR), mean, answers)
            vector = _vector(covariances, DIAGONALS[self.diagonal](covariances))
            skill = _skill(covariances, vector)
        # As for faults, workers without peers get the mean of the others, and two workers get equal values.
        vector = peers.comparable(vector)
        return Fit(
            disparity=peers.unweighted.mean,
            fault=peers.comparable((1 - skill) / 2),
            weight=normalise(vector if self.positive else np.abs(vector)),
            **({} if self.positive else _turn_around(run, vector)),
        )


def _turn_around(run: Run, vector: Floats) -> dict[str, Any]:
    """Let workers who are worse than chance vote for the other class."""
    decide = partial(_decide, encoding=run.encoding, ties=run.ties)
    return {"decide": decide, "parameters": (np.where(vector < 0, -1.0, 1.0),)}


def _votes(block: Block) -> dict[str, Floats]:
    ones = np.ones(len(block.label))
    return {"votes": block.per_worker(2.0 * block.label - 1.0), "answers": block.per_worker(ones)}


def _vector(covariances: Covariances, diagonal: Floats) -> Floats:
    """Return the leading eigenvector with a positive sum; 0 if all covariances are 0 or the sum is 0."""
    value, vector = covariances.q.leading(diagonal)
    vector[np.abs(vector) < _MIN_ENTRY * np.abs(vector).max()] = 0.0  # rounding must not decide tasks
    side = vector.sum()
    known = value > _MIN_COVARIANCE and covariances.q.totals(np.abs).any() and abs(side) > 1e-9
    turned: Floats = vector * (np.sign(side) if known else 0.0)
    return turned


def _skill(covariances: Covariances, vector: Floats) -> Floats:
    """Return a_i = 2 p_i - 1."""
    fitted = (vector * covariances.q.times(vector)).sum()
    possible = (np.square(vector) * covariances.met.times(np.square(vector))).sum()
    root = np.sqrt(max(fitted, 0.0) / (possible if possible > 0 else 1.0)) * vector
    # root_i = a_i sqrt(1 - b^2) and mean_i = a_i b, hence mean_i = root_i t with t = b / sqrt(1 - b^2).
    norm = np.square(root).sum()
    t = (root * covariances.mean).sum() / (norm if norm > 0 else 1.0)
    skill: Floats = np.clip(root * np.sqrt(1 + np.square(t)), -1.0, 1.0)
    return skill


def _decide(
    block: Block, weights: Floats, faults: Floats, sign: Floats, *, encoding: Encoding, ties: Ties
) -> dict[str, Array]:
    """Aggregate after flipping the answers of workers who are worse than chance."""
    turned = np.where(sign[block.worker] < 0, 1 - block.label, block.label).astype(block.label.dtype)
    return encoding.kernels.aggregate(encoding.prepare(replace(block, label=turned)), weights, faults, ties=ties)
