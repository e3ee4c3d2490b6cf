"""EXP and TOP2: those who agree with each other more than chance are the experts.

Kawase et al. (2019). Workers are the nodes of a graph, weighted by how surprising their agreement is. The expert core
is the set X with the largest min over i in X of sum over j in X of gamma_ij. Peeling finds it: remove the worker with
the smallest weighted degree, again and again, and return the set whose smallest degree was the largest. Only the core
has weight, the same for each of its members.

For classes gamma_ij = -log P[Bin(m_ij, p) >= a_ij], where the two agree on a_ij of their m_ij common tasks and a
guess agrees with probability p. Other labels have no chance level, and gamma_ij = max(d) - d_ij. A pair without
common tasks is no evidence: gamma_ij = 0.

EXP's core is the same in whatever order equals are removed, for the union of two sets with the largest smallest degree
is one, too. That of TOP2 is not: of equal workers the first by their ids is removed. A truth is marked as drawn among
equals if somebody whose place in the core such an order decided says otherwise.

They work where a few experts are among many who guess, on questions that are hard. They fail where workers are equally
good, for most voices are then thrown away; and copies, who agree more than anybody, are the core.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Ties
from allalike._core.options import choice, whole
from allalike._core.system.progress import report
from allalike.errors import OptionError
from allalike.methods.base import DecisionRule, Method, Weighing
from allalike.methods.proximity import Disparity, Peers, normalise
from allalike.methods.steps.pairs import Large, Pairs, Stack, stacks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.steps.pairs import PairMatrix

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


def surprises(stack: Stack | Large, chance: Floats) -> PairMatrix:
    """Return how surprising the agreement of each pair is, if the guesses of a worker agree with such a chance.

    >>> distance = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]])
    >>> stack = Stack(np.array([[0, 1, 2]]), distance, 2.0 * (distance > 0))
    >>> np.exp(-surprises(stack, np.full(3, 0.5)).values)[0]
    array([[1.  , 0.75, 1.  ],
           [0.75, 1.  , 1.  ],
           [1.  , 1.  , 1.  ]])
    """
    chances, place = np.unique(chance, return_inverse=True)
    [gamma] = stack.measure(lambda pairs: (-_log_tails_of(pairs, chances, place[pairs.left]),))
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


def closeness(stack: Stack | Large) -> PairMatrix:
    """Return how much closer each pair is than the two who are the farthest apart.

    >>> distance = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]])
    >>> closeness(Stack(np.array([[0, 1, 2]]), distance, 2.0 * (distance > 0))).values[0]
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    [mean] = stack.measure(lambda pairs: (pairs.mean,))
    farthest = mean.per_pair(mean.peak())

    def closer(mean: Floats) -> Floats:
        closer = farthest - np.where(np.isnan(mean), farthest, mean)
        return np.where(closer > _MIN_DIFFERENCE * farthest, closer, 0.0)

    return mean.change(closer)


def peel(gamma: PairMatrix, *, last: bool = False) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return, per problem, the order in which workers are removed, and the smallest degree before each removal.

    Among equals the first is removed, or the last if so asked.

    >>> from allalike.methods.steps.pairs import StackedMatrix
    >>> order, lowest = peel(StackedMatrix(np.array([[[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])))
    >>> order, lowest
    (array([[2, 0, 1]]), array([[2., 3., 0.]]))
    """
    n_problems, size = gamma.shape
    problem, slack = np.arange(n_problems), _slack(gamma)
    order, lowest = np.empty((n_problems, size), np.int64), np.empty((n_problems, size))
    degree = gamma.totals(np.asarray)
    for step in range(size):
        lowest[:, step] = degree.min(axis=1)
        least = degree <= lowest[:, step, None] + slack
        worker = size - 1 - np.argmax(least[:, ::-1], axis=1) if last else np.argmax(least, axis=1)
        order[:, step] = worker
        degree -= gamma.row(worker)
        degree[problem, worker] = np.inf
    return order, lowest


def largest_core(gamma: PairMatrix) -> Flags:
    """Tell who belongs to the set whose smallest degree is the largest; of several such sets, the largest.

    >>> from allalike.methods.steps.pairs import StackedMatrix
    >>> largest_core(StackedMatrix(np.array([[[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])))
    array([[ True,  True, False]])
    """
    order, lowest = peel(gamma)
    best = lowest.max(axis=1, keepdims=True)
    removed = np.argmax(lowest >= best - _slack(gamma), axis=1)
    return _survivors(order, removed)


def _slack(gamma: PairMatrix) -> Floats:
    slack: Floats = TOLERANCE * gamma.peak()[:, None]
    return slack


def _survivors(order: npt.NDArray[np.int64], removed: npt.NDArray[np.int64]) -> Flags:
    return np.argsort(order, axis=1) >= removed[:, None]


@dataclass(frozen=True, kw_only=True)
class _Core(Method):
    """A method that gives the same weight to each member of a core.

    `_core` finds it in similarities, and whose place in it the order of workers decided.
    """

    chance: str = choice("classes", "mean")
    tail: str = choice("exact", "printed")

    def weigh(self, run: Run) -> Weighing:
        """Weigh the members of the core; the faults are the average distances to them."""
        peers, member, drawn = Peers(run), *np.zeros((2, run.problems.n_workers))
        identical = run.problems.peak(peers.unweighted.distance) == 0
        chance = self._chance(run, peers.unweighted)
        for stack in stacks(run, each=_BYTES_PER_PAIR):
            gamma = closeness(stack) if chance is None else surprises(stack, chance)
            nothing = gamma.peak()[:, None] == 0
            everyone = nothing | identical[stack.workers]
            core, by_order = self._core(gamma)
            member[stack.workers], drawn[stack.workers] = core | everyone, by_order & ~everyone
        weighing = Weighing(
            disparity=peers.unweighted.mean,
            fault=peers.comparable(peers.weighted(member)),
            weight=normalise(member, run.problems),
        )
        return _marking(run, weighing, drawn) if drawn.any() else weighing

    def _chance(self, run: Run, met: Disparity) -> Floats | None:
        """Return how likely the guesses of each worker agree with others, if labels are classes."""
        if run.encoding.n_classes is None:
            return None
        chance = np.full(run.problems.n_workers, 1 / max(run.encoding.n_classes, 2))
        if self.chance == "mean":
            agreed, common = run.problems.total(met.weight - met.distance), run.problems.total(met.weight)
            chance = np.clip(agreed / np.maximum(common, 1.0), _MIN_CHANCE, 1 - _MIN_CHANCE)
        return chance if self.tail == "exact" else 1 - chance

    @abstractmethod
    def _core(self, gamma: PairMatrix) -> tuple[Flags, Flags]: ...


def _marking(run: Run, weighing: Weighing, drawn: Floats) -> Weighing:
    """Return the weighing with a kernel that marks truths which the order of workers may have decided."""
    kernels, choices = run.choose_quorum(weighing.weight)
    decide = partial(_decide, kernels=kernels, ties=run.ties)
    return replace(weighing, decision=DecisionRule(decide, (drawn,), choices=choices))


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
    """A method that trusts the expert core alone.

    Parameters
    ----------
    chance
        How likely a guess agrees: ``classes`` takes 1/k, ``mean`` the mean agreement of all pairs.
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
    """A method that trusts a core of fixed size alone.

    Parameters
    ----------
    chance, tail
        As in `EXP`.
    size
        How many workers it has; fewer workers are all kept. The paper says two; the code behind its tables keeps
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
        n_problems, n_workers = gamma.shape
        removed = np.full(n_problems, n_workers - self.size)
        order, other = (peel(gamma, last=last)[0] for last in (False, True))
        core = _survivors(order, removed)
        by_order = core != _survivors(other, removed)
        if n_workers > self.size:
            by_order |= _find_equals(gamma, _survivors(order, removed - 1))
        return core, by_order


def _find_equals(gamma: PairMatrix, left: Flags) -> Flags:
    """Tell which of those who are left have the smallest degree, if several have."""
    degree = np.where(left, gamma.times(left.astype(np.float64)), np.inf)
    least = degree <= degree.min(axis=1, keepdims=True) + _slack(gamma)
    return np.asarray(least & (least.sum(axis=1, keepdims=True) > 1))


def _closest_pair(gamma: PairMatrix) -> tuple[Flags, Flags]:
    """Tell which two are the most similar, of equal pairs the first; and who is in several such pairs, or in others."""
    least = gamma.peak() * (1 - TOLERANCE)
    pair = np.zeros(gamma.shape, np.bool_)
    for worker in gamma.first(least):
        pair[np.arange(len(pair)), worker] = True
    bound = gamma.per_pair(least)
    close = gamma.totals(lambda similar: 1.0 * (similar >= bound)) > 0
    return pair, close & (close.sum(axis=1, keepdims=True) > 2)


# Descent: minimise many smooth functions at once by L-BFGS.
#
# Liu, Nocedal: On the limited memory BFGS method for large scale optimization. Mathematical Programming 1989. Every row
# of an array is a function's variables, with a history and a step of its own; one pass over whole arrays serves all of
# them, and whoever has arrived leaves. A thousand problems of a hundred variables hence cost little more than ten, and
# no library of linear algebra starts threads that wait for each other.


Rows = npt.NDArray[np.int64]
Objective = Callable[["Floats", Rows], "tuple[Floats, Floats]"]
_Pair = tuple["Floats", "Floats", "Floats"]
_REMEMBERED_STEPS = 10
_MIN_DECREASE = 1e-4  # of a step, as a share of what the slope promises
_MAX_HALVINGS = 30  # of the length of a step


@dataclass(frozen=True)
class Minima:
    """The end of each row: where it is, how low, after how many steps, and whether it was reached before the limit."""

    place: Floats
    value: Floats
    iterations: Rows
    converged: npt.NDArray[np.bool_]


def minimise(objective: Objective, start: Floats, *, max_iter: int, tol: float) -> Minima:
    """Minimise each row of the variables.

    >>> def bowls(x, rows):
    ...     return np.square(x - rows[:, None]).sum(axis=1), 2 * (x - rows[:, None])
    >>> minimise(bowls, np.full((2, 2), 9.0), max_iter=50, tol=1e-12).place.round(6)
    array([[0., 0.],
           [1., 1.]])
    """
    place, lowest = start.copy(), np.empty(len(start))
    iterations, converged = np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    rows, x = np.arange(len(start)), start
    value, gradient = objective(x, rows)
    past: deque[_Pair] = deque(maxlen=_REMEMBERED_STEPS)
    size = 1 / np.maximum(np.sqrt(_dots(gradient, gradient)), 1e-300)
    for number in range(1, max_iter + 1):
        report("round", number, max_iter)
        direction = _direction(gradient, past, size)
        new, new_value, new_gradient = _step(objective, rows, x, value, gradient, direction)
        pair, size = _curvature(new - x, new_gradient - gradient, size)
        past.append(pair)
        arrived = ~(value - new_value > tol * np.maximum(np.abs(new_value), 1.0))  # so does what is no number
        x, value, gradient = new, new_value, new_gradient
        place[rows], lowest[rows], iterations[rows], converged[rows] = x, value, number, arrived & np.isfinite(value)
        if arrived.all():
            break
        if arrived.any():
            left = ~arrived
            rows, x, value, gradient, size = rows[left], x[left], value[left], gradient[left], size[left]
            past = deque(((s[left], y[left], rho[left]) for s, y, rho in past), maxlen=_REMEMBERED_STEPS)
    return Minima(place, lowest, iterations, converged)


def _dots(left: Floats, right: Floats) -> Floats:
    products: Floats = np.einsum("ij,ij->i", left, right)
    return products


def _direction(gradient: Floats, past: deque[_Pair], size: Floats) -> Floats:
    """Turn the gradient by the curvatures of the past: the two loops of the algorithm."""
    q, shares = -gradient, []
    for s, y, rho in reversed(past):
        shares.append(rho * _dots(s, q))
        q = q - shares[-1][:, None] * y
    q = q * size[:, None]
    for s, y, rho in past:
        q = q + (shares.pop() - rho * _dots(y, q))[:, None] * s
    return q


def _curvature(s: Floats, y: Floats, size: Floats) -> tuple[_Pair, Floats]:
    """Return a step as it is remembered, and the new scale; one along which nothing curves upwards teaches nothing."""
    sy, yy = _dots(s, y), _dots(y, y)
    useful = sy > 1e-10 * yy
    rho = np.where(useful, 1.0, 0.0) / np.where(useful, sy, 1.0)
    return (s, y, rho), np.where(useful, sy / np.where(useful, yy, 1.0), size)


def _step(
    objective: Objective, rows: Rows, x: Floats, value: Floats, gradient: Floats, direction: Floats
) -> tuple[Floats, Floats, Floats]:
    """Go into the direction, half as far as long as it is not low enough there; who never is stays where she was."""
    slope, length = _dots(gradient, direction), np.ones(len(x))
    found, lowest, slopes = x.copy(), value.copy(), gradient.copy()
    trying = np.arange(len(x))
    for _ in range(_MAX_HALVINGS):
        there = x[trying] + length[trying, None] * direction[trying]
        new, its_gradient = objective(there, rows[trying])
        low = new <= value[trying] + _MIN_DECREASE * length[trying] * slope[trying]
        found[trying[low]], lowest[trying[low]], slopes[trying[low]] = there[low], new[low], its_gradient[low]
        trying = trying[~low]
        if not len(trying):
            break
        length[trying] /= 2
    return found, lowest, slopes
