"""EXP and TOP2: equal weights for an expert core, whose members agree with each other more than by chance.

In Kawase et al. (2019), workers are the nodes of a graph, and edge weights gamma_ij measure the surprise of agreement.
The expert core is the set X with the largest value of min over i in X of sum over j in X of gamma_ij. It is computed by
peeling: repeatedly remove the worker with the smallest weighted degree, and return the set with the largest minimum
degree. Members of the core have equal weights, and other workers have weight 0.

For classes, gamma_ij = -log P[Bin(m_ij, p) >= a_ij]. Here two workers agree on a_ij of their m_ij common tasks, and a
guess agrees with probability p. Other labels have no chance level, so gamma_ij = max(d) - d_ij. A pair without common
tasks provides no evidence: gamma_ij = 0.

EXP's core does not depend on the order in which workers with equal degrees are removed, because the union of two
optimal sets is optimal. TOP2's core does: of equal workers, the first by id is removed. A label is marked as tied if it
contradicts a worker whose membership depended on the order.

The methods work on hard questions that a few experts can answer, while many workers guess. They fail if workers are
equally good, because most answers are discarded, and if workers copy, because copies agree and form the core.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties
from allalike._core.options import choice, whole
from allalike.domains import Kernels
from allalike.engines import Run
from allalike.errors import OptionError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Disparity, Peers, normalise
from allalike.methods.steps.pairs import AllPairs, PairMatrix, Pairs, all_pairs
from allalike.noise import peak

Flags = npt.NDArray[np.bool_]
_MIN_DIFFERENCE = 1e-12  # of two distances, relative to the largest; smaller differences are rounding errors
_MIN_CHANCE = 1e-12  # probability of agreement, and of disagreement
_MIN_TAIL = 1e-290  # smaller probabilities are imprecise
_BYTES_PER_PAIR = 20  # mean distance, similarity and index


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
    """Return the logarithms of tails that underflow, from the first term and the ratios of the other terms to it."""
    from scipy.special import betaln

    first = hits * np.log(p) + (n - hits) * np.log1p(-p) - np.log(n + 1) - betaln(n - hits + 1, hits + 1)
    term, total, more = np.ones(len(hits)), np.ones(len(hits)), 0
    while (term > 1e-16 * total).any():  # the ratio of successive terms is at most (n - a) p / (a + 1) / (1 - p)
        more += 1
        term = term * (n - hits - more + 1) / (hits + more) * (p / (1 - p))
        total += term
    logs: Floats = first + np.log(total)
    return logs


def surprises(pairs: AllPairs, chance: Floats) -> PairMatrix:
    """Return the surprise of every pair's agreement; ``chance`` is the probability that a worker's guess agrees."""
    chances, place = np.unique(chance, return_inverse=True)
    [gamma] = pairs.measure(lambda some: (-_log_tails_of(some, chances, place[some.left]),))
    return gamma


def _log_tails_of(pairs: Pairs, chances: Floats, chance: npt.NDArray[np.int64]) -> Floats:
    """Return the log tails of all pairs; equal combinations of chance and counts are computed once."""
    common = np.rint(pairs.common).astype(np.int64)
    n_counts = int(common.max(initial=0)) + 1
    which = (chance * n_counts + common) * n_counts + common - np.rint(pairs.distance).astype(np.int64)
    needed, inverse = np.unique(which, return_inverse=True)
    which = inverse.reshape(which.shape)
    rest, hits = np.divmod(needed, n_counts)
    number, n = np.divmod(rest, n_counts)
    logs: Floats = log_tails(hits.astype(np.float64), n.astype(np.float64), chances[number])[which]
    return logs


def closeness(pairs: AllPairs) -> PairMatrix:
    """Return the largest distance of any pair minus the distance of each pair."""
    [mean] = pairs.measure(lambda some: (some.mean,))
    farthest = mean.peak()

    def closer(mean: Floats) -> Floats:
        closer = farthest - np.where(np.isnan(mean), farthest, mean)
        return np.where(closer > _MIN_DIFFERENCE * farthest, closer, 0.0)

    return mean.change(closer)


def peel(gamma: PairMatrix, *, last: bool = False) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the order in which workers are removed, and the smallest degree before each removal.

    Among workers with equal degrees, the first is removed, or the last one with ``last``.

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
    """Return the set with the largest minimum degree; among several such sets, the largest set.

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

    `_core` returns the core, and the workers whose membership depends on the order of workers.
    """

    chance: str = choice("classes", "mean")
    tail: str = choice("exact", "printed")

    def fit(self, run: Run) -> Fit:
        """Compute weights; the faults are mean distances to the core."""
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
        """Return each worker's probability that a guess agrees with another answer; None if labels are not classes."""
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
    """Return the fit with a kernel that marks labels as tied if they depend on the order of workers."""
    kernels, choices = run.choose_quorum(weighing.weight)
    decide = partial(_decide, kernels=kernels, ties=run.ties)
    return replace(weighing, decide=decide, parameters=(drawn,), choices=choices)


def _decide(
    block: Block, weights: Floats, faults: Floats, drawn: Floats, *, kernels: Kernels, ties: Ties
) -> dict[str, Array]:
    decision = kernels.aggregate(block, weights, faults, ties=ties)
    rows = np.flatnonzero(drawn.take(block.worker) > 0)
    task = block.task[rows]
    answers = kernels.restore_answers(block, rows)
    tied = decision["tied"].copy()
    tied[task[kernels.differs(answers, decision["label"][task], kernels.scatter(block)[task])]] = True
    return {**decision, "tied": tied}


@dataclass(frozen=True, kw_only=True)
class EXP(_Core):
    """Equal weights for the expert core.

    Parameters
    ----------
    chance
        Probability that a guess agrees: 1/k (``classes``) or the mean agreement of all pairs (``mean``).
    tail
        ``exact``, or ``printed`` as in the code behind the paper's tables, which uses 1 - p in place of p. Both are
        equal if p = 1/2.

    >>> import allalike
    >>> rows = [(worker, task, label) for worker, labels in {"ada": "xyzx", "bob": "xyzy", "eve": "zzyy"}.items()
    ...         for task, label in enumerate(labels)]
    >>> allalike.discover(rows, method=EXP()).workers["weight"].tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "EXP"
    summary: ClassVar[str] = "expert core: only workers who agree with each other more than by chance count"

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
        Number of workers in the core. The paper uses two; the code behind its tables uses three.
    method
        ``peel`` returns the workers who remain after peeling, ``pair`` the pair with the most surprising agreement.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0), ("joe", 1, 30.0)]
    >>> allalike.discover(rows, domain="real", method=TOP2()).workers["weight"].tolist()
    [0.5, 0.5, 0.0, 0.0]
    """

    name: ClassVar[str] = "TOP2"
    summary: ClassVar[str] = "expert core of fixed size: only the two workers who agree most count"
    size: int = whole(2, least=2)
    method: str = choice("peel", "pair")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method == "pair" and self.size != 2:
            raise OptionError(
                f"method is 'pair', but size is {self.size}. A pair has two workers: omit size, or use method='peel'."
            )

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
    """Return a mask of the remaining workers with the smallest degree, if there are several."""
    degree = np.where(left, gamma.times(left.astype(np.float64)), np.inf)
    least = degree <= degree.min() + TOLERANCE * gamma.peak()
    return np.asarray(least & (least.sum() > 1))


def _closest_pair(gamma: PairMatrix) -> tuple[Flags, Flags]:
    """Return masks of the most similar pair (the first of equal pairs), and of all workers in several such pairs."""
    least = gamma.peak() * (1 - TOLERANCE)
    pair = np.zeros(gamma.size, np.bool_)
    pair[list(gamma.first(least))] = True
    close = gamma.totals(lambda similar: 1.0 * (similar >= least)) > 0
    return pair, close & (close.sum() > 2)
