"""EXP and TOP2: workers who agree with each other more than by chance are the experts.

Kawase et al. (2019). Workers are the nodes of a graph whose weights are the surprise of their agreement. The expert
core is the set X with the largest min over i in X of sum over j in X of gamma_ij. Peeling finds it: remove the worker
with the smallest weighted degree, again and again, and return the set whose smallest degree was the largest. Only the
members of the core have a weight, which is equal.

For classes gamma_ij = -log P[Bin(m_ij, p) >= a_ij], where the two agree on a_ij of their m_ij common tasks and a
guess agrees with probability p. Other labels have no chance level, and gamma_ij = max(d) - d_ij. A pair without
common tasks is no evidence: gamma_ij = 0.

EXP's core is the same in whatever order equals are removed, for the union of two sets with the largest smallest degree
is one, too. That of TOP2 is not: of equal workers the first by their ids is removed. A label is marked as tied if a
worker whose membership depended on that order disagrees.

They work where a few experts are among many who guess, on hard questions. They fail where workers are equally good,
because most answers are then discarded; and copies, who agree most of all, become the core.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Ties
from allalike._core.options import choice, whole
from allalike.errors import OptionError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Disparity, Peers, normalise
from allalike.methods.steps.pairs import AllPairs, PairMatrix, Pairs, all_pairs
from allalike.noise import peak

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run

Flags = npt.NDArray[np.bool_]
_MIN_DIFFERENCE = 1e-12  # of two distances, relative to the largest; what is smaller is rounding
_MIN_CHANCE = 1e-12  # of agreement, and of disagreement
_MIN_TAIL = 1e-290  # smaller probabilities have no digits left
_BYTES_PER_PAIR = 20  # of a large problem: its mean distance, its similarity, and where it is


def log_tails(hits: Floats, n: Floats, p: Floats) -> Floats:
    """Return log P[Bin(n, p) >= hits].

    >>> np.exp(log_tails(np.arange(3.0), np.full(3, 2.0), np.full(3, 0.5)))
    array([1.  , 0.75, 0.25])
    """
    from scipy.special import betainc

    tails = np.where(hits > 0, betainc(np.maximum(hits, 1.0), n - hits + 1, p), 1.0)
    deep = tails < _MIN_TAIL
    logs: Floats = np.log(np.where(deep, 1.0, tails))
    logs[deep] = _log_deep_tails(hits[deep], n[deep], p[deep])
    return logs


def _log_deep_tails(hits: Floats, n: Floats, p: Floats) -> Floats:
    """Return the logarithms of tails that are too small for a number: the first term, and the others relative to it."""
    from scipy.special import betaln

    first = hits * np.log(p) + (n - hits) * np.log1p(-p) - np.log(n + 1) - betaln(n - hits + 1, hits + 1)
    term, total, more = np.ones(len(hits)), np.ones(len(hits)), 0
    while (term > 1e-16 * total).any():  # each is smaller than the one before by (n - a) p / (a + 1) / (1 - p) at least
        more += 1
        term = term * (n - hits - more + 1) / (hits + more) * (p / (1 - p))
        total += term
    logs: Floats = first + np.log(total)
    return logs


def surprises(pairs: AllPairs, chance: Floats) -> PairMatrix:
    """Return the surprise of the agreement of each pair, if a guess of the worker agrees with this probability."""
    chances, place = np.unique(chance, return_inverse=True)
    [gamma] = pairs.measure(lambda some: (-_log_tails_of(some, chances, place[some.left]),))
    return gamma


def _log_tails_of(pairs: Pairs, chances: Floats, chance: npt.NDArray[np.int64]) -> Floats:
    """Return the tails of all pairs; those with the same chance and the same counts are computed once."""
    common = np.rint(pairs.common).astype(np.int64)
    n_counts = int(common.max(initial=0)) + 1
    which = (chance * n_counts + common) * n_counts + common - np.rint(pairs.distance).astype(np.int64)
    n_cases = len(chances) * n_counts**2
    if n_cases <= which.size:
        needed = np.flatnonzero(np.bincount(which.ravel(), minlength=n_cases))
        place = np.zeros(n_cases, np.int64)
        place[needed] = np.arange(len(needed))
        which = place[which]
    else:
        needed, inverse = np.unique(which, return_inverse=True)
        which = inverse.reshape(which.shape)
    rest, hits = np.divmod(needed, n_counts)
    number, n = np.divmod(rest, n_counts)
    logs: Floats = log_tails(hits.astype(np.float64), n.astype(np.float64), chances[number])[which]
    return logs


def closeness(pairs: AllPairs) -> PairMatrix:
    """Return how much closer each pair is than the pair that is the farthest apart."""
    [mean] = pairs.measure(lambda some: (some.mean,))
    farthest = mean.peak()

    def closer(mean: Floats) -> Floats:
        closer = farthest - np.where(np.isnan(mean), farthest, mean)
        return np.where(closer > _MIN_DIFFERENCE * farthest, closer, 0.0)

    return mean.change(closer)


def peel(gamma: PairMatrix, *, last: bool = False) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the order in which workers are removed, and the smallest degree before each removal.

    Of several smallest the first is removed, or the last if so asked.

    >>> order, lowest = peel(PairMatrix(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])))
    >>> order, lowest
    (array([2, 0, 1]), array([2., 3., 0.]))
    """
    slack = TOLERANCE * gamma.peak()
    order, lowest = np.empty(gamma.size, np.int64), np.empty(gamma.size)
    degree = gamma.totals(np.asarray)
    for step in range(gamma.size):
        lowest[step] = degree.min()
        least = np.flatnonzero(degree <= lowest[step] + slack)
        order[step] = least[-1 if last else 0]
        degree -= gamma.row(int(order[step]))
        degree[order[step]] = np.inf
    return order, lowest


def largest_core(gamma: PairMatrix) -> Flags:
    """Return the set whose smallest degree is the largest; of several such sets, the largest.

    >>> largest_core(PairMatrix(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])))
    array([ True,  True, False])
    """
    order, lowest = peel(gamma)
    removed = int(np.argmax(lowest >= lowest.max() - TOLERANCE * gamma.peak()))
    return _survivors(order, removed)


def _survivors(order: npt.NDArray[np.int64], removed: int) -> Flags:
    return np.argsort(order) >= removed


@dataclass(frozen=True, kw_only=True)
class _Core(Method):
    """Equal weights for the members of a core.

    `_core` finds it from similarities, with the members whom the order of workers decided.
    """

    chance: str = choice("classes", "mean")
    tail: str = choice("exact", "printed")

    def fit(self, run: Run) -> Fit:
        """Compute weights; the errors are the mean distances to the core."""
        peers = Peers(run)
        chance = self._chance(run, peers.unweighted)
        pairs = all_pairs(run, each=_BYTES_PER_PAIR)
        gamma = closeness(pairs) if chance is None else surprises(pairs, chance)
        core, by_order = self._core(gamma)
        if gamma.peak() == 0 or peak(peers.unweighted.distance) == 0:
            core, by_order = np.ones_like(core), np.zeros_like(core)
        member, drawn = core.astype(np.float64), by_order.astype(np.float64)
        fit = Fit(
            disparity=peers.unweighted.mean,
            fault=peers.comparable(peers.weighted(member)),
            weight=normalise(member),
        )
        return _marking(run, fit, drawn) if drawn.any() else fit

    def _chance(self, run: Run, met: Disparity) -> Floats | None:
        """Return the probability that a guess of each worker agrees with another, if labels are classes."""
        if run.encoding.n_classes is None:
            return None
        chance = np.full(len(run.workers), 1 / max(run.encoding.n_classes, 2))
        if self.chance == "mean":
            agreed = (met.weight - met.distance).sum() / max(met.weight.sum(), 1.0)
            chance[:] = np.clip(agreed, _MIN_CHANCE, 1 - _MIN_CHANCE)
        return chance if self.tail == "exact" else 1 - chance

    @abstractmethod
    def _core(self, gamma: PairMatrix) -> tuple[Flags, Flags]: ...


def _marking(run: Run, weighing: Fit, drawn: Floats) -> Fit:
    """Return the fit with a kernel that marks labels that the order of workers may have decided."""
    kernels, choices = run.choose_quorum(weighing.weight)
    decide = partial(_decide, kernels=kernels, ties=run.ties)
    return replace(weighing, decide=decide, parameters=(drawn,), choices=choices)


def _decide(
    block: Block, weights: Floats, faults: Floats, drawn: Floats, *, kernels: Kernels, ties: Ties
) -> dict[str, Array]:
    found = kernels.aggregate(block, weights, faults, ties=ties)
    rows = np.flatnonzero(drawn.take(block.worker) > 0)
    task = block.task[rows]
    differs = kernels.differs(kernels.restore_answers(block, rows), found["label"][task], kernels.scatter(block)[task])
    tied = found["tied"].copy()
    tied[task[differs]] = True
    return {**found, "tied": tied}


@dataclass(frozen=True, kw_only=True)
class EXP(_Core):
    """Equal weights for the expert core.

    Parameters
    ----------
    chance
        Probability that a guess agrees: ``classes`` takes 1/k, ``mean`` the mean agreement of all pairs.
    tail
        ``exact``, or ``printed`` as in the code behind the paper's tables, which takes p for 1 - p. With p = 1/2 both
        are the same.

    >>> import allalike
    >>> rows = [(worker, task, label) for worker, labels in {"ada": "xyzx", "bob": "xyzy", "eve": "zzyy"}.items()
    ...         for task, label in enumerate(labels)]
    >>> allalike.discover(rows, method=EXP()).workers["weight"].tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "EXP"
    summary: ClassVar[str] = "expert core: only those who agree with each other more than chance count"

    def _core(self, gamma: PairMatrix) -> tuple[Flags, Flags]:
        core = largest_core(gamma)
        return core, np.zeros_like(core)


@dataclass(frozen=True, kw_only=True)
class TOP2(_Core):
    """Equal weights for a core of fixed size.

    Parameters
    ----------
    chance, tail
        As in `EXP`.
    size
        Number of workers in the core; fewer workers are all kept. The paper has two; the code behind its tables keeps
        three.
    method
        ``peel`` keeps the last who are left by peeling, ``pair`` takes the two whose agreement is the most surprising.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0), ("joe", 1, 30.0)]
    >>> allalike.discover(rows, domain="real", method=TOP2()).workers["weight"].tolist()
    [0.5, 0.5, 0.0, 0.0]
    """

    name: ClassVar[str] = "TOP2"
    summary: ClassVar[str] = "expert core of fixed size: only the two (or so) who agree the most count"
    size: int = whole(2, least=2)
    method: str = choice("peel", "pair")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method == "pair" and self.size != 2:
            raise OptionError(f"method is 'pair', but size is {self.size}. A pair has two: leave size out, or peel.")

    def _core(self, gamma: PairMatrix) -> tuple[Flags, Flags]:
        if self.method == "pair":
            return _closest_pair(gamma)
        removed = gamma.size - self.size
        order, other = (peel(gamma, last=last)[0] for last in (False, True))
        core = _survivors(order, removed)
        by_order = core != _survivors(other, removed)
        if removed > 0:
            by_order |= _find_equals(gamma, _survivors(order, removed - 1))
        return core, by_order


def _find_equals(gamma: PairMatrix, left: Flags) -> Flags:
    """Mark the remaining workers with the smallest degree, if there are several."""
    degree = np.where(left, gamma.times(left.astype(np.float64)), np.inf)
    least = degree <= degree.min() + TOLERANCE * gamma.peak()
    return np.asarray(least & (least.sum() > 1))


def _closest_pair(gamma: PairMatrix) -> tuple[Flags, Flags]:
    """Mark the most similar pair, of equal pairs the first; and the workers of several such pairs, or of others."""
    least = gamma.peak() * (1 - TOLERANCE)
    pair = np.zeros(gamma.size, np.bool_)
    pair[list(gamma.first(least))] = True
    close = gamma.totals(lambda similar: 1.0 * (similar >= least)) > 0
    return pair, close & (close.sum() > 2)
