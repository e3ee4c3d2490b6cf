"""MAS: multidimensional scaling of the workers around the truth.

Braylan, Lease: Modeling and Aggregation of Complex Annotations via Annotation Distances. WWW 2020. Every worker u has
an error vector e_u around the truth, which is the origin, and an error scale:

    e_u ~ N(0, (diff uerr_u)^2) in each of dim coordinates,      d_uv ~ N(|e_u - e_v|, sigma^2),
    uerr_u ~ N(1, 0.251),   diff ~ N(1, 0.0251),   sigma ~ Exp(1),

all of them estimated by their mode. As in the paper's tables all tasks together are one item: d_uv is the mean
distance of two workers, and the difficulty diff a single number. Pairs without common tasks are left out.

The density has no mode as it stands: a worker with e_u = 0 makes it infinite as uerr_u goes to 0. Hence uerr_u has a
lower bound, and sigma one too. Distances are divided by their mean first, so that their unit does not matter, and then
shifted so that the smallest is 0.1, as in the authors' code. The mode is local: the best of several random starts
counts. So that it does not depend on who comes first or how sums were rounded, workers are sorted by their distances,
which are rounded to nine digits, and those who cannot be told apart by them share their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from allalike.errors import TooLargeError
from allalike.methods.base import Method, Weighing
from allalike.methods.descent import minimise
from allalike.methods.pairs import Stack, stacks
from allalike.methods.peers import Peers
from allalike.methods.rounds import check_rounds
from allalike.methods.weights import weigh_faults
from allalike.registry import check_choice, check_flag, check_number

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.blocks import Floats
    from allalike.engines import Run

__all__ = ["MAS", "Posterior"]

_MOST_WORKERS = 1000  # whom it takes minutes to place
_SMALLEST_DISTANCE = 0.1
_DIGITS = 9


class _Places(NamedTuple):
    """The variables of a fit, for some rows."""

    e: Floats
    uerr: Floats
    diff: Floats
    sigma: Floats
    root: Floats


@dataclass(frozen=True)
class Posterior:
    """Compute -log of the posterior density of some crowds, and its gradient.

    The variables of a crowd of n workers are, in a row: n x dim coordinates, n roots t with uerr = least + t^2, the
    root of diff, and the root of sigma - least_sigma. So they have no bounds.

    Parameters
    ----------
    distance, known
        One matrix per crowd: the distances, 0 where unknown, and where they are known.
    starts
        How many rows of variables belong to each crowd.
    dim, least, least_sigma, spread, difficulty
        As in `MAS`.

    >>> given = Posterior(np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.array([[[0.0, 1.0], [1.0, 0.0]]]), dim=1)
    >>> value, gradient = given(np.array([[0.5, -0.5, 0.9, 0.9, 1.0, 1.0]]), np.array([0]))
    >>> value.round(4), gradient.shape
    (array([1.2438]), (1, 6))
    """

    distance: Floats
    known: Floats
    starts: int = 1
    dim: int = 8
    least: float = 0.1
    least_sigma: float = 1e-3
    spread: float = 0.251
    difficulty: float = 0.0251

    @cached_property
    def n_pairs(self) -> Floats:
        """How many distances each crowd has."""
        n_pairs: Floats = self.known.sum(axis=(1, 2)) / 2
        return n_pairs

    def places(self, variables: Floats) -> _Places:
        """Read the variables."""
        n = self.distance.shape[1]
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
        crowd = rows // self.starts
        e, uerr, diff, sigma, root = self.places(variables)
        distance, known = self.distance[crowd], self.known[crowd]
        gram = e @ e.transpose(0, 2, 1)
        norm = np.einsum("rii->ri", gram)
        apart = np.sqrt(np.maximum(norm[:, :, None] + norm[:, None, :] - 2 * gram, 1e-18))
        rest = (distance - apart) * known
        misfit, n_pairs = np.einsum("rij,rij->r", rest, rest) / 2, self.n_pairs[crowd]
        scale = diff[:, None] * uerr
        share = norm / np.square(scale)
        value = misfit / (2 * sigma**2) + n_pairs * np.log(sigma) + sigma
        value += (share / 2 + self.dim * np.log(scale) + np.square((uerr - 1) / self.spread) / 2).sum(axis=1)
        value += np.square((diff - 1) / self.difficulty) / 2

        pull = rest / apart
        stretched = pull @ e - pull.sum(axis=2)[:, :, None] * e
        by_e = e / np.square(scale)[:, :, None] + stretched / np.square(sigma)[:, None, None]
        by_scale = (self.dim - share) / scale
        by_uerr = by_scale * diff[:, None] + (uerr - 1) / self.spread**2
        by_diff = (by_scale * uerr).sum(axis=1) + (diff - 1) / self.difficulty**2
        by_sigma = n_pairs / sigma - misfit / sigma**3 + 1
        by_root = np.column_stack([by_uerr, by_diff, by_sigma]) * 2 * root
        return value, np.concatenate([by_e.reshape(len(e), -1), by_root], axis=1)

    def begin(self, seed: int) -> Floats:
        """Draw the starts: uerr is the shrunken average distance, and the coordinates are random."""
        n_crowds, n, _ = self.distance.shape
        uerr = np.repeat(_shrunken(self.distance, self.known), self.starts, axis=0)
        noise = np.random.default_rng(seed).standard_normal((self.starts, n, self.dim)) / np.sqrt(self.dim)
        e = np.tile(noise, (n_crowds, 1, 1)) * uerr[:, :, None]
        roots = np.sqrt(np.maximum(uerr - self.least, self.least))
        shared = np.tile([1.0, np.sqrt(0.5)], (len(e), 1))
        return np.concatenate([e.reshape(len(e), -1), roots, shared], axis=1)


def _shrunken(distance: Floats, known: Floats) -> Floats:
    """Return average distances, drawn to their mean by how much the distances of a worker differ."""
    n_known = np.maximum(known.sum(axis=2), 1.0)
    average = (distance * known).sum(axis=2) / n_known
    middle = average.mean(axis=1, keepdims=True)
    prior = average.var(axis=1, keepdims=True) + 1e-12
    own = (known * np.square(distance - average[:, :, None])).sum(axis=2) / n_known + 0.1 * prior
    shrunken: Floats = (middle / prior + n_known * average / own) / (1 / prior + n_known / own)
    return shrunken


@dataclass(frozen=True, kw_only=True)
class MAS(Method):
    """Fit an error scale for each worker to the distances between all of them.

    The fault is the error scale, in the unit of the distance. Weights follow from it as from the faults of P-TD. It
    takes a fraction of a second for thirty workers and half a minute for three hundred; every step goes through all
    pairs of workers, so that thousands are too many for it.

    Parameters
    ----------
    dim
        How many coordinates an error has.
    spread, difficulty
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
    dim: int = 8
    spread: float = 0.251
    difficulty: float = 0.0251
    least: float = 0.1
    least_sigma: float = 1e-3
    scaled: bool = True
    starts: int = 3
    seed: int = 0
    weighting: str | None = None
    max_iter: int = 2000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        for option in ("dim", "starts"):
            check_number(getattr(self, option), option, least=1, whole=True)
        for option in ("spread", "difficulty", "least", "least_sigma"):
            check_number(getattr(self, option), option, least=1e-6)
        check_number(self.seed, "seed", least=0, whole=True)
        check_flag(self.scaled, "scaled")
        check_rounds(self.max_iter, self.tol)
        if self.weighting is not None:
            check_choice(self.weighting, ("max", "inverse", "latent"), "weighting")

    def weigh(self, run: Run) -> Weighing:
        """Weigh by the fitted error scales."""
        peers, crowds = Peers(run), run.crowds
        if (largest := int(crowds.sizes.max())) > _MOST_WORKERS:
            raise TooLargeError(
                f"MAS would place {largest:,} workers, which takes hours; {_MOST_WORKERS:,} is the limit. P-TD and"
                " iP-TD have none."
            )
        fault = np.full(crowds.n_workers, np.nan)
        iterations, converged = 1, True
        for stack in stacks(run):
            fault[stack.workers], steps, arrived = self._fit(stack)
            iterations, converged = max(iterations, steps), converged and arrived
        fault = peers.comparable(fault)
        weighting = "inverse" if self.weighting == "latent" else self.weighting
        return Weighing(
            disparity=peers.unweighted.mean,
            fault=fault,
            weight=weigh_faults(fault, weighting, crowds, run.domain.model),
            iterations=iterations,
            converged=converged,
        )

    def _fit(self, stack: Stack) -> tuple[Floats, int, bool]:
        """Return the faults of the workers of some crowds, how many steps it took, and whether all arrived."""
        mean = stack.mean
        known = ~np.isnan(mean)
        unit = np.where(known, mean, 0.0).sum(axis=(1, 2)) / np.maximum(known.sum(axis=(1, 2)), 1)
        fault = np.zeros(stack.workers.shape)  # where nobody differs from anyone
        some = unit > 0
        if not some.any():
            return fault, 1, True
        unit = unit if self.scaled else np.ones(len(unit))
        scaled, order, alike = _sorted(mean[some] / unit[some, None, None])
        nearest = np.nanmin(scaled, axis=(1, 2), keepdims=True)
        given = Posterior(
            distance=np.nan_to_num(scaled - nearest + _SMALLEST_DISTANCE, nan=0.0),
            known=(~np.isnan(scaled)).astype(np.float64),
            starts=self.starts,
            dim=self.dim,
            least=self.least,
            least_sigma=self.least_sigma,
            spread=self.spread,
            difficulty=self.difficulty,
        )
        with np.errstate(all="ignore"):  # far out the density overflows, and the search comes back
            minima = minimise(given, given.begin(self.seed), max_iter=self.max_iter, tol=self.tol)
        best = minima.value.reshape(-1, self.starts).argmin(axis=1) + self.starts * np.arange(len(order))
        found = given.places(minima.place[best])
        size = found.uerr if self.weighting != "latent" else np.sqrt(np.square(found.e).sum(axis=2))
        shared = (alike * size[:, None, :]).sum(axis=2) / alike.sum(axis=2)
        fault[some] = np.take_along_axis(shared, np.argsort(order, axis=1), axis=1) * unit[some, None]
        return fault, int(minima.iterations[best].max()), bool(minima.converged[best].all())


def _sorted(distance: Floats) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Return matrices with the workers in an order that depends on their distances alone.

    Beside them the order, and who has the same distances to the others as whom.
    """
    distance = np.round(distance, _DIGITS)
    n = distance.shape[1]
    mix = np.sqrt(np.arange(1.0, n + 1))  # irrational, so that different rows have different sums
    key = (np.sort(np.nan_to_num(distance, nan=-1.0), axis=2) * mix).sum(axis=2)
    order = np.argsort(key, axis=1, kind="stable")
    key = np.take_along_axis(key, order, axis=1)
    moved = np.take_along_axis(distance, order[:, :, None], axis=1)
    return np.take_along_axis(moved, order[:, None, :], axis=2), order, (key[:, :, None] == key[:, None, :]) * 1.0
