"""MAS: multidimensional scaling of the workers around the truth.

In Braylan and Lease (2020), the true label is the origin, and every worker u has an error vector e_u and an error
scale:

    e_u ~ N(0, (diff uerr_u)^2) in each of dim coordinates,      d_uv ~ N(|e_u - e_v|, sigma^2),
    uerr_u ~ N(1, 0.251),   diff ~ N(1, 0.0251),   sigma ~ Exp(1),

all estimated by the posterior mode. As in the paper's tables, all tasks together form one item: d_uv is the mean
distance between two workers, and the difficulty diff is a single number. Pairs without common tasks are ignored.

The density is unbounded: for e_u = 0 it becomes infinite as uerr_u approaches 0. Therefore uerr_u and sigma have lower
bounds. Distances are divided by their mean, so their unit does not matter, and shifted to a minimum of 0.1, as in the
authors' code. The search may end in a local mode, so the best of several random starts is kept. Workers are sorted by
their distances, rounded to nine digits, and workers with equal distances share their mean. The result therefore does
not depend on the order of workers or on rounding.

MAS works for any label type with a distance, such as texts and boxes, with dozens of workers. It is slow, and improves
little on proximity if distances determine only one number per worker. It fails if the true label is not in the middle
of the crowd.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.lazy_imports import sparse
from allalike._core.limits import MAX_HOURS
from allalike._core.options import choice, flag, number, whole
from allalike._core.system.progress import report
from allalike.engines import Run
from allalike.errors import TooLargeError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, weigh_faults
from allalike.methods.steps.pairs import AllPairs, PairMatrix, all_pairs, numbers

_PAIR_SECONDS, _SPARSE_SECONDS = 3e-8, 4e-7  # per pair and step, in dense and sparse matrices
_BYTES_PER_PAIR = 28  # mean distance, twice, and index
_MIN_DISTANCE = 0.1  # after shifting, in units of the mean distance
_DISTANCE_DIGITS = 9
_MIN_SQUARED_DISTANCE = 1e-18  # defines the direction from a point to itself
_PRODUCTS_PER_TILE = 1 << 16  # larger products start threads, which take longer
_PAIRS_PER_STEP = 1 << 16  # known pairs


class _Places(NamedTuple):
    """Variables of a fit, for several rows."""

    e: Floats
    uerr: Floats
    diff: Floats
    sigma: Floats
    root: Floats


@dataclass(frozen=True)
class ScalingPosterior:
    """Negative logarithm of the posterior density, and its gradient, for several starts.

    A row contains the variables of n workers: n x dim coordinates, n roots t with uerr = least + t^2, the square root
    of diff, and that of sigma - least_sigma. The variables are unbounded.

    >>> posterior = ScalingPosterior(Distances(np.array([[np.nan, 1.0], [1.0, np.nan]])), dim=1)
    >>> value, gradient = posterior(np.array([[0.5, -0.5, 0.9, 0.9, 1.0, 1.0]]))
    >>> value.round(4), gradient.shape
    (array([1.2438]), (1, 6))
    """

    distances: Distances
    starts: int = 1
    dim: int = 8
    least: float = 0.1
    least_sigma: float = 1e-3
    prior_sd: float = 0.251
    difficulty: float = 0.0251

    def places(self, variables: Floats) -> _Places:
        """Return the variables by name."""
        n = self.distances.size
        root = variables[:, n * self.dim :]
        return _Places(
            e=variables[:, : n * self.dim].reshape(-1, n, self.dim),
            uerr=self.least + np.square(root[:, :n]),
            diff=np.square(root[:, n]),
            sigma=self.least_sigma + np.square(root[:, n + 1]),
            root=root,
        )

    def __call__(self, variables: Floats) -> tuple[Floats, Floats]:
        """Return the values and the gradients."""
        e, uerr, diff, sigma, root = self.places(variables)
        norm, misfit, pull = self.distances.misfit(e)
        n_pairs = self.distances.moments.known.sum() / 2
        scale = diff[:, None] * uerr
        share = norm / np.square(scale)
        value = misfit / (2 * sigma**2) + n_pairs * np.log(sigma) + sigma
        value += (share / 2 + self.dim * np.log(scale) + np.square((uerr - 1) / self.prior_sd) / 2).sum(axis=1)
        value += np.square((diff - 1) / self.difficulty) / 2

        by_e = e / np.square(scale)[:, :, None] + pull / np.square(sigma)[:, None, None]
        by_scale = (self.dim - share) / scale
        by_uerr = by_scale * diff[:, None] + (uerr - 1) / self.prior_sd**2
        by_diff = (by_scale * uerr).sum(axis=1) + (diff - 1) / self.difficulty**2
        by_sigma = n_pairs / sigma - misfit / sigma**3 + 1
        by_root = np.column_stack([by_uerr, by_diff, by_sigma]) * 2 * root
        return value, np.concatenate([by_e.reshape(len(e), -1), by_root], axis=1)

    def begin(self, seed: int) -> Floats:
        """Sample starts, with shrunken mean distances as uerr and random coordinates."""
        n = self.distances.size
        uerr = np.tile(_shrunken(self.distances.moments), (self.starts, 1))
        noise = np.random.default_rng(seed).standard_normal((self.starts, n, self.dim)) / np.sqrt(self.dim)
        e = noise * uerr[:, :, None]
        roots = np.sqrt(np.maximum(uerr - self.least, self.least))
        shared = np.tile([1.0, np.sqrt(0.5)], (len(e), 1))
        return np.concatenate([e.reshape(len(e), -1), roots, shared], axis=1)


def _shrunken(moments: Moments) -> Floats:
    """Return mean distances, shrunk towards their mean according to the variance of a worker's distances."""
    known = np.maximum(moments.known, 1.0)
    middle = moments.mean.mean()
    prior = moments.mean.var() + 1e-12
    own = moments.variance + 0.1 * prior
    shrunken: Floats = (middle / prior + known * moments.mean / own) / (1 / prior + known / own)
    return shrunken


@dataclass(frozen=True, kw_only=True)
class MAS(Method):
    """Error scales of the workers, fitted to all distances between workers.

    The fault is the error scale, in the unit of the distance; weights are computed from it as in P-TD. A fit takes less
    than a second for 30 workers and ten seconds for 300. Each step visits all pairs of workers with common tasks, so a
    fit may take an hour for 6,000 workers. Longer runs are refused unless ``starts`` and ``max_iter`` are lowered.

    Parameters
    ----------
    dim
        Number of coordinates of an error.
    prior_sd, difficulty
        Standard deviations of the priors of error scale and difficulty, whose mean is 1.
    least
        Smallest error scale; with ``scaled``, relative to the mean distance.
    least_sigma
        Smallest standard deviation of a distance, in the same unit.
    scaled
        Whether to divide distances by their mean. The authors' code does not, so its results depend on the unit of the
        distance.
    starts, seed
        Number of random starts, and their seed.
    weighting
        ``max``: distance to the largest error scale. ``inverse``: inverse of the error scale. ``latent``: inverse of
        the length of the error vector, which is then the fault. Default: ``inverse`` for numbers, ``max`` otherwise.
    max_iter, tol
        Maximum number of steps, and the tolerance at which the search ends.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0), ("joe", 1, 23.0)]
    >>> allalike.discover(rows, domain="real", method=MAS()).workers["weight"].round(2).tolist()
    [0.32, 0.32, 0.04, 0.32]
    """

    name: ClassVar[str] = "MAS"
    summary: ClassVar[str] = "multidimensional scaling: error vectors of the workers, fitted to their distances"
    dim: int = whole(8, least=1)
    prior_sd: float = number(0.251, least=1e-6)
    difficulty: float = number(0.0251, least=1e-6)
    least: float = number(0.1, least=1e-6)
    least_sigma: float = number(1e-3, least=1e-6)
    scaled: bool = flag(True)
    starts: int = whole(3, least=1)
    seed: int = whole(0, least=0)
    weighting: str | None = choice(None, "max", "inverse", "latent")
    max_iter: int = whole(2000, least=1)
    tol: float = number(1e-9, least=0)

    def fit(self, run: Run) -> Fit:
        """Compute weights from the fitted error scales."""
        peers, pairs = Peers(run), all_pairs(run, each=_BYTES_PER_PAIR)
        self._check(pairs)
        [mean] = pairs.measure(lambda some: (some.mean,))
        fault, iterations, converged = self._scale(mean)
        fault = peers.comparable(fault)
        weighting = "inverse" if self.weighting == "latent" else self.weighting
        return Fit(
            disparity=peers.unweighted.mean,
            fault=fault,
            weight=weigh_faults(fault, weighting, run.encoding.noise),
            iterations=iterations,
            converged=converged,
        )

    def _scale(self, mean: PairMatrix) -> tuple[Floats, int, bool]:
        """Return the faults of the workers, the number of steps, and whether they converged."""
        n_known = mean.totals(lambda d: ~np.isnan(d)).sum()
        unit = mean.totals(np.nan_to_num).sum() / max(n_known, 1.0)
        if unit <= 0:  # no worker differs from any other
            return np.zeros(mean.size), 1, True
        unit = unit if self.scaled else 1.0
        distances, order, key = _sorted(mean, unit)
        posterior = ScalingPosterior(
            distances=distances,
            starts=self.starts,
            dim=self.dim,
            least=self.least,
            least_sigma=self.least_sigma,
            prior_sd=self.prior_sd,
            difficulty=self.difficulty,
        )
        with np.errstate(all="ignore"):  # the density may overflow during the search
            minima = minimise(posterior, posterior.begin(self.seed), max_iter=self.max_iter, tol=self.tol)
        best = int(minima.value.argmin())
        found = posterior.places(minima.place[[best]])
        size = found.uerr[0] if self.weighting != "latent" else np.sqrt(np.square(found.e[0]).sum(axis=1))
        fault = _shared(size, key)[np.argsort(order)] * unit
        return fault, int(minima.iterations[best]), bool(minima.converged[best])

    def _check(self, pairs: AllPairs) -> None:
        """Raise TooLargeError if the fit may take hours."""
        n_workers, n_pairs = len(pairs.run.workers), pairs.max_pairs / 2
        step = _PAIR_SECONDS if pairs.max_pairs > n_workers**2 / 8 else _SPARSE_SECONDS
        hours = n_pairs * self.starts * self.max_iter * step / 3600
        if hours > MAX_HOURS:
            raise TooLargeError(
                f"MAS may take {hours:,.0f} hours for {n_workers:,} workers with up to {n_pairs:,.0f} distances."
                " Use P-TD or iP-TD, which take seconds, or lower starts and max_iter."
            )


def _sorted(mean: PairMatrix, unit: float) -> tuple[Distances, npt.NDArray[np.int64], Floats]:
    """Return distances in this unit with workers sorted by key, the order, and the sorted keys.

    Keys depend only on distances; workers with equal distances have equal keys.
    """
    mix = np.sqrt(np.arange(1.0, mean.size + 1))  # irrational: different rows have different sums
    scaled = mean.change(lambda distance: np.round(distance / unit, _DISTANCE_DIGITS)).matrix
    key = _keys(scaled, mix)
    order = np.argsort(key, kind="stable")
    distance = scaled[order][:, order]
    held = numbers(distance)
    held += _MIN_DISTANCE - np.nanmin(held)
    return Distances(distance), order, key[order]


def _keys(part: Any, mix: Floats) -> Floats:
    """Return a key for each row: a weighted sum of its sorted distances, in which unknown distances are -1."""
    if isinstance(part, np.ndarray):
        return np.asarray((np.sort(np.nan_to_num(part, nan=-1.0), axis=1) * mix).sum(axis=1))
    rows = np.split(part.data, part.indptr[1:-1])
    unknown = np.concatenate([[0.0], np.cumsum(mix)])
    n_unknown = [len(mix) - len(row) for row in rows]
    return np.array([(np.sort(row) * mix[n:]).sum() - unknown[n] for row, n in zip(rows, n_unknown, strict=True)])


def _shared(size: Floats, key: Floats) -> Floats:
    """Replace the values of adjacent workers with equal keys by their mean."""
    group = np.cumsum(np.concatenate([[True], key[1:] != key[:-1]])) - 1
    shared: Floats = (np.bincount(group, size) / np.bincount(group))[group]
    return shared


# Scaling: compare the distances between points with target distances.
#
# Sets of points are compared one by one, in tiles. Intermediate values stay in the processor cache, and linear algebra
# starts no threads, which would take ten times as long.


class Misfit(NamedTuple):
    """Misfit between points and target distances, one row per set of points.

    ``norm`` is the squared length of each point, ``total`` the sum of squared errors over all pairs, and ``pull`` the
    sum over v of (d_uv / |e_u - e_v| - 1) (e_v - e_u), the gradient by e_u up to a factor of 2.
    """

    norm: Floats
    total: Floats
    pull: Floats


class Moments(NamedTuple):
    """Number, mean and variance of each point's distances."""

    known: Floats
    mean: Floats
    variance: Floats


@dataclass(frozen=True)
class Distances:
    """Target distances: an array in which unknown distances are NaN, or a sparse matrix of known distances.

    >>> distances = Distances(np.array([[np.nan, 3.0], [3.0, np.nan]]))
    >>> distances.misfit(np.array([[[0.0], [2.0]]]))
    Misfit(norm=array([[0., 4.]]), total=array([1.]), pull=array([[[ 1.],
            [-1.]]]))
    """

    distance: Any

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.distance.shape[0])

    @cached_property
    def moments(self) -> Moments:
        """Moments of the distances of each point."""
        known, mean, variance = np.zeros((3, self.size))
        for place in range(self.size):
            row = self.distance[[place]]
            row = row[~np.isnan(row)] if isinstance(row, np.ndarray) else row.data
            if len(row):
                known[place], mean[place], variance[place] = len(row), row.mean(), row.var()
        return Moments(known, mean, variance)

    def misfit(self, e: Floats) -> Misfit:
        """Compare each set of points with the target distances."""
        norm, total, pull = np.einsum("rij,rij->ri", e, e), np.empty(len(e)), np.empty(e.shape)
        for place, points in enumerate(e):
            filled = np.column_stack([points, np.ones(len(points))])
            known = self._known
            total[place], pulled = (
                _compare(self.distance, filled, norm[place]) if known is None else _compare_known(known, filled)
            )
            pull[place] = pulled[:, :-1] - pulled[:, -1:] * points
        return Misfit(norm, total, pull)

    @cached_property
    def _known(self) -> _Known | None:
        return None if isinstance(self.distance, np.ndarray) else _Known.of(self.distance)


class _Known(NamedTuple):
    """Upper triangle of a sparse matrix: row, column and distance of each entry, and row starts."""

    i: npt.NDArray[Any]
    j: npt.NDArray[Any]
    distance: Floats
    starts: npt.NDArray[Any]

    @classmethod
    def of(cls, matrix: Any) -> _Known:
        upper = sparse.triu(matrix, k=1, format="csr")
        first = np.repeat(np.arange(upper.shape[0]), np.diff(upper.indptr))
        return cls(first, upper.indices, upper.data, upper.indptr)


def _compare(distance: Floats, points: Floats, norm: Floats) -> tuple[float, Floats]:
    """Compare every pair of points, in tiles."""
    total, pulled, step = 0.0, np.zeros(points.shape), max(1, math.isqrt(_PRODUCTS_PER_TILE // points.shape[1]))
    tiles = [slice(first, first + step) for first in range(0, len(points), step)]
    for place, mine in enumerate(tiles):
        for others in tiles[place:]:
            length = (-2 * points[mine, :-1]) @ points[others, :-1].T
            length += norm[mine, None]
            length += norm[others]
            np.sqrt(np.maximum(length, _MIN_SQUARED_DISTANCE, out=length), out=length)
            rest = distance[mine, others] - length
            rest[np.isnan(rest)] = 0.0
            total += float(np.vdot(rest, rest)) * (0.5 if others == mine else 1.0)
            rest /= length
            pulled[mine] += rest @ points[others]
            if others != mine:
                pulled[others] += rest.T @ points[mine]
    return total, pulled


def _compare_known(known: _Known, points: Floats) -> tuple[float, Floats]:
    """Compare every pair of points with a known distance."""
    pull = np.empty(len(known.distance))
    total = 0.0
    for first in range(0, len(pull), _PAIRS_PER_STEP):
        some = slice(first, first + _PAIRS_PER_STEP)
        away = points[known.i[some], :-1] - points[known.j[some], :-1]
        length = np.sqrt(np.maximum(np.einsum("ij,ij->i", away, away), _MIN_SQUARED_DISTANCE))
        rest = known.distance[some] - length
        total += float(np.square(rest).sum())
        np.divide(rest, length, out=pull[some])
    pulls = sparse.csr_array((pull, known.j, known.starts), shape=(len(points), len(points)))
    return total, np.asarray(pulls @ points + pulls.T @ points)


# Descent: minimise a smooth function by L-BFGS, simultaneously from several starts.
#
# Liu, Nocedal: On the limited memory BFGS method for large scale optimization. Mathematical Programming 1989. Each row
# of an array is a start with its own history and step length. Rows that converged are removed.


Rows = npt.NDArray[np.int64]
Objective = Callable[["Floats"], "tuple[Floats, Floats]"]
_Pair = tuple["Floats", "Floats", "Floats"]
_REMEMBERED_STEPS = 10
_MIN_DECREASE = 1e-4  # of the value, relative to the slope (Armijo)
_MAX_HALVINGS = 30  # of the step length


@dataclass(frozen=True)
class Minima:
    """Position, value, number of steps and convergence of each row."""

    place: Floats
    value: Floats
    iterations: Rows
    converged: npt.NDArray[np.bool_]


def minimise(objective: Objective, start: Floats, *, max_iter: int, tol: float) -> Minima:
    """Minimise each row of the variables.

    >>> def bowl(x):
    ...     return np.square(x - 1).sum(axis=1), 2 * (x - 1)
    >>> minimise(bowl, np.array([[9.0, 9.0], [0.0, 5.0]]), max_iter=50, tol=1e-12).place.round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    place, lowest = start.copy(), np.empty(len(start))
    iterations, converged = np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    rows, x = np.arange(len(start)), start
    value, gradient = objective(x)
    past: deque[_Pair] = deque(maxlen=_REMEMBERED_STEPS)
    size = 1 / np.maximum(np.sqrt(_dots(gradient, gradient)), 1e-300)
    for step in range(1, max_iter + 1):
        report("round", step, max_iter)
        direction = _direction(gradient, past, size)
        new, new_value, new_gradient = _step(objective, x, value, gradient, direction)
        pair, size = _curvature(new - x, new_gradient - gradient, size)
        past.append(pair)
        arrived = ~(value - new_value > tol * np.maximum(np.abs(new_value), 1.0))  # also true for NaN
        x, value, gradient = new, new_value, new_gradient
        place[rows], lowest[rows], iterations[rows], converged[rows] = x, value, step, arrived & np.isfinite(value)
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
    """Multiply the gradient by the approximate inverse Hessian (two-loop recursion)."""
    q, shares = -gradient, []
    for s, y, rho in reversed(past):
        shares.append(rho * _dots(s, q))
        q = q - shares[-1][:, None] * y
    q = q * size[:, None]
    for s, y, rho in past:
        q = q + (shares.pop() - rho * _dots(y, q))[:, None] * s
    return q


def _curvature(s: Floats, y: Floats, size: Floats) -> tuple[_Pair, Floats]:
    """Return a step for the history, and the new scale; steps without positive curvature are ignored."""
    sy, yy = _dots(s, y), _dots(y, y)
    useful = sy > 1e-10 * yy
    rho = np.where(useful, 1.0, 0.0) / np.where(useful, sy, 1.0)
    return (s, y, rho), np.where(useful, sy / np.where(useful, yy, 1.0), size)


def _step(
    objective: Objective, x: Floats, value: Floats, gradient: Floats, direction: Floats
) -> tuple[Floats, Floats, Floats]:
    """Halve the step along the direction until the value decreases sufficiently; otherwise return the old position."""
    slope, length = _dots(gradient, direction), np.ones(len(x))
    found, lowest, slopes = x.copy(), value.copy(), gradient.copy()
    trying = np.arange(len(x))
    for _ in range(_MAX_HALVINGS):
        there = x[trying] + length[trying, None] * direction[trying]
        new, its_gradient = objective(there)
        low = new <= value[trying] + _MIN_DECREASE * length[trying] * slope[trying]
        found[trying[low]], lowest[trying[low]], slopes[trying[low]] = there[low], new[low], its_gradient[low]
        trying = trying[~low]
        if not len(trying):
            break
        length[trying] /= 2
    return found, lowest, slopes
