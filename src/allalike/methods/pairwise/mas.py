"""MAS: multidimensional scaling of the workers around the truth.

Braylan and Lease (2020). Every worker u has an error vector e_u around the truth, which is the origin, and an error
scale:

    e_u ~ N(0, (diff uerr_u)^2) in each of dim coordinates,      d_uv ~ N(|e_u - e_v|, sigma^2),
    uerr_u ~ N(1, 0.251),   diff ~ N(1, 0.0251),   sigma ~ Exp(1),

all of them estimated by their mode. As in the paper's tables all tasks together are one item: d_uv is the mean
distance of two workers, and the difficulty diff a single number. Pairs without common tasks are left out.

The density has no mode as it stands: a worker with e_u = 0 makes it infinite as uerr_u goes to 0. Hence uerr_u has a
lower bound, and sigma one too. Distances are divided by their mean first, so that their unit does not matter, and then
shifted so that the smallest is 0.1, as in the authors' code. The mode is local: the best of several random starts
counts. So that it does not depend on who comes first or how sums were rounded, workers are sorted by their distances,
which are rounded to nine digits, and those who cannot be told apart by them share their mean.

It works for any label with a distance, such as texts and boxes, of some dozens of workers. It fails to know more than
proximity does where one number per worker is all that distances tell, it is slow, and the middle of the crowd is the
truth by assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from allalike._core.limits import MAX_HOURS
from allalike._core.options import choice, flag, number, whole
from allalike.errors import TooLargeError
from allalike.methods.base import Method, Rounds, Weighing
from allalike.methods.pairwise.expert_core import minimise
from allalike.methods.pairwise.scaling import Distances, Moments, Tiled, Whole
from allalike.methods.proximity import Peers, weigh_faults
from allalike.methods.steps.pairs import Large, PairMatrix, Ranged, StackedMatrix, numbers, stacks

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.engines import Run

_PAIR_SECONDS, _SPARSE_SECONDS = 3e-8, 4e-7  # for a pair in a step, about, if all pairs are known or few are
_BYTES_PER_PAIR = 20  # of a large problem: its mean distance, twice, and where it is
_MAX_WHOLE_WORKERS = 85  # of a problem whose matrices are multiplied whole; larger ones go tile by tile
_MIN_DISTANCE = 0.1  # after shifting, in units of the mean distance
_DISTANCE_DIGITS = 9


class _Places(NamedTuple):
    """The variables of a fit, for some rows."""

    e: Floats
    uerr: Floats
    diff: Floats
    sigma: Floats
    root: Floats


@dataclass(frozen=True)
class ScalingPosterior:
    """The negative logarithm of the posterior density of some problems, and its gradient.

    The variables of a problem of n workers are, in a row: n x dim coordinates, n roots t with uerr = least + t^2, the
    root of diff, and the root of sigma - least_sigma. So they have no bounds.

    >>> pair = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> posterior = ScalingPosterior(Whole(pair, pair), dim=1)
    >>> value, gradient = posterior(np.array([[0.5, -0.5, 0.9, 0.9, 1.0, 1.0]]), np.array([0]))
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
        """Read the variables."""
        _, n = self.distances.shape
        root = variables[:, n * self.dim :]
        return _Places(
            e=variables[:, : n * self.dim].reshape(-1, n, self.dim),
            uerr=self.least + np.square(root[:, :n]),
            diff=np.square(root[:, n]),
            sigma=self.least_sigma + np.square(root[:, n + 1]),
            root=root,
        )

    def __call__(self, variables: Floats, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return the values and the gradients."""
        problem = rows // self.starts
        e, uerr, diff, sigma, root = self.places(variables)
        norm, misfit, pull = self.distances.misfit(e, problem)
        n_pairs = self.distances.moments.known.sum(axis=1)[problem] / 2
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
        """Draw the starts: uerr is the shrunken average distance, and the coordinates are random."""
        n_problems, n = self.distances.shape
        uerr = np.repeat(_shrunken(self.distances.moments), self.starts, axis=0)
        noise = np.random.default_rng(seed).standard_normal((self.starts, n, self.dim)) / np.sqrt(self.dim)
        e = np.tile(noise, (n_problems, 1, 1)) * uerr[:, :, None]
        roots = np.sqrt(np.maximum(uerr - self.least, self.least))
        shared = np.tile([1.0, np.sqrt(0.5)], (len(e), 1))
        return np.concatenate([e.reshape(len(e), -1), roots, shared], axis=1)


def _shrunken(moments: Moments) -> Floats:
    """Return average distances, drawn to their mean by how much the distances of a worker differ."""
    known = np.maximum(moments.known, 1.0)
    middle = moments.mean.mean(axis=1, keepdims=True)
    prior = moments.mean.var(axis=1, keepdims=True) + 1e-12
    own = moments.variance + 0.1 * prior
    shrunken: Floats = (middle / prior + known * moments.mean / own) / (1 / prior + known / own)
    return shrunken


@dataclass(frozen=True, kw_only=True)
class MAS(Method):
    """A method that fits an error scale for each worker to the distances between all of them.

    The fault is the error scale, in the unit of the distance. Weights follow from it as from the faults of P-TD. It
    takes a fraction of a second for thirty workers and ten seconds for three hundred. Every one of up to ``max_iter``
    steps goes through all pairs of workers who met, so that it may take an hour for six thousand; what may take longer
    is refused, unless ``starts`` and ``max_iter`` are lowered.

    Parameters
    ----------
    dim
        How many coordinates an error has.
    prior_sd, difficulty
        How far error scales and difficulty may be from 1: the standard deviations of their priors.
    least
        The smallest error scale, as a share of the mean distance if they are scaled.
    least_sigma
        The smallest standard deviation of a distance, in the same unit.
    scaled
        Whether distances are divided by their mean first. The authors' code does not, and then the results depend on
        the unit of the distance.
    starts, seed
        How many random starts there are, and their seed.
    weighting
        ``max``: the distance to the largest error scale. ``inverse``: one over it. ``latent``: one over the length of
        the error vector itself, which is then the fault. By default ``max``, and ``inverse`` for numbers.
    max_iter, tol
        When the search ends.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0), ("joe", 1, 23.0)]
    >>> allalike.discover(rows, domain="real", method=MAS()).workers["weight"].round(2).tolist()
    [0.32, 0.32, 0.04, 0.32]
    """

    name: ClassVar[str] = "MAS"
    summary: ClassVar[str] = "scaling: workers are placed around the truth so that their distances fit"
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

    def weigh(self, run: Run) -> Weighing:
        """Weigh by the fitted error scales."""
        peers, problems = Peers(run), run.problems
        fault = np.full(problems.n_workers, np.nan)
        iterations, converged = 1, True
        for stack in stacks(run, each=_BYTES_PER_PAIR):
            if isinstance(stack, Large):
                self._check(stack)
            [mean] = stack.measure(lambda pairs: (pairs.mean,))
            fault[stack.workers], steps, arrived = self._fit(mean)
            iterations, converged = max(iterations, steps), converged and arrived
        fault = peers.comparable(fault)
        weighting = "inverse" if self.weighting == "latent" else self.weighting
        return Weighing(
            disparity=peers.unweighted.mean,
            fault=fault,
            weight=weigh_faults(fault, weighting, problems, run.encoding.noise),
            rounds=Rounds(iterations, converged),
        )

    def _fit(self, mean: PairMatrix) -> tuple[Floats, int, bool]:
        """Return the faults of the workers of some problems, how many steps it took, and whether all arrived."""
        n_known = mean.totals(lambda d: ~np.isnan(d)).sum(axis=1)
        unit = mean.totals(np.nan_to_num).sum(axis=1) / np.maximum(n_known, 1.0)
        fault = np.zeros(mean.shape)  # where nobody differs from anyone
        some = unit > 0
        if not some.any():
            return fault, 1, True
        unit = unit[some] if self.scaled else np.ones(some.sum())
        distances, order, key = _sorted(mean.some(some), unit)
        posterior = ScalingPosterior(
            distances=distances,
            starts=self.starts,
            dim=self.dim,
            least=self.least,
            least_sigma=self.least_sigma,
            prior_sd=self.prior_sd,
            difficulty=self.difficulty,
        )
        with np.errstate(all="ignore"):  # far out the density overflows, and the search comes back
            minima = minimise(posterior, posterior.begin(self.seed), max_iter=self.max_iter, tol=self.tol)
        best = minima.value.reshape(-1, self.starts).argmin(axis=1) + self.starts * np.arange(len(order))
        found = posterior.places(minima.place[best])
        size = found.uerr if self.weighting != "latent" else np.sqrt(np.square(found.e).sum(axis=2))
        fault[some] = np.take_along_axis(_shared(size, key), np.argsort(order, axis=1), axis=1) * unit[:, None]
        return fault, int(minima.iterations[best].max()), bool(minima.converged[best].all())

    def _check(self, problem: Large) -> None:
        """Refuse a fit that may take hours."""
        n_workers, n_pairs = problem.workers.size, problem.max_pairs / 2
        step = _PAIR_SECONDS if problem.max_pairs > n_workers**2 / 8 else _SPARSE_SECONDS
        hours = n_pairs * self.starts * self.max_iter * step / 3600
        if hours > MAX_HOURS:
            raise TooLargeError(
                f"MAS would place {n_workers:,} workers by up to {n_pairs:,.0f} distances, which may take {hours:,.0f}"
                " hours. P-TD and iP-TD take seconds; or lower starts and max_iter."
            )


def _sorted(mean: PairMatrix, unit: Floats) -> tuple[Distances, npt.NDArray[np.int64], Floats]:
    """Return distances in these units, with the workers in an order that depends on their distances alone.

    Beside them the order, and the keys that it follows; who has the same distances to the others has the same key.
    """
    mix = np.sqrt(np.arange(1.0, mean.shape[1] + 1))  # irrational, so that different rows have different sums
    if isinstance(mean, Ranged):
        scaled = partial(_scaled, unit=unit[0])
        key = np.concatenate([_keys(part, mix) for part in mean.changed(scaled)])[None]
        order = np.argsort(key, axis=1, kind="stable")
        distance = mean.whole(scaled, order[0])
        held = numbers(distance)
        held += _MIN_DISTANCE - np.nanmin(held)
        return Tiled((distance,)), order, np.take_along_axis(key, order, axis=1)
    assert isinstance(mean, StackedMatrix)
    distance = _scaled(mean.values, unit[:, None, None])
    key = (np.sort(np.nan_to_num(distance, nan=-1.0), axis=2) * mix).sum(axis=2)
    order = np.argsort(key, axis=1, kind="stable")
    distance = np.take_along_axis(distance, order[:, :, None], axis=1)
    distance = np.take_along_axis(distance, order[:, None, :], axis=2)
    distance = distance - np.nanmin(distance, axis=(1, 2), keepdims=True) + _MIN_DISTANCE
    key = np.take_along_axis(key, order, axis=1)
    if distance.shape[1] > _MAX_WHOLE_WORKERS:
        return Tiled(distance), order, key
    return Whole(np.nan_to_num(distance, nan=0.0), (~np.isnan(distance)).astype(np.float64)), order, key


def _scaled(distance: Floats, unit: Any) -> Floats:
    scaled: Floats = np.round(distance / unit, _DISTANCE_DIGITS)
    return scaled


def _keys(part: Any, mix: Floats) -> Floats:
    """Return a key for each row of a range: its distances, sorted and mixed; what is unknown comes first, as -1."""
    if isinstance(part, np.ndarray):
        return np.asarray((np.sort(np.nan_to_num(part, nan=-1.0), axis=1) * mix).sum(axis=1))
    rows = np.split(part.data, part.indptr[1:-1])
    unknown = np.concatenate([[0.0], np.cumsum(mix)])
    n_unknown = [len(mix) - len(row) for row in rows]
    return np.array([(np.sort(row) * mix[n:]).sum() - unknown[n] for row, n in zip(rows, n_unknown, strict=True)])


def _shared(size: Floats, key: Floats) -> Floats:
    """Give those with the same key, who stand next to each other, their mean."""
    new = np.ones(key.shape, np.bool_)
    new[:, 1:] = key[:, 1:] != key[:, :-1]
    group = np.cumsum(new) - 1
    shared: Floats = (np.bincount(group, size.ravel()) / np.bincount(group))[group].reshape(key.shape)
    return shared
