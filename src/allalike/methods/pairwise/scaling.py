"""Scaling: the distances of points in space, compared with what they should be.

A fit of points e_u to distances d_uv lowers the misfit, the sum over all known pairs of (d_uv - |e_u - e_v|)^2, and
needs to know where it pulls each point. `Whole` does so for many small problems at once, with whole matrices; `Tiled`
for large ones, one after the other and tile by tile: all that is computed on the way stays in the cache, and no library
of linear algebra starts threads, which for matrices of a few hundred rows wait for each other ten times as long as they
work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from allalike._core.late import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

_MIN_SQUARED_DISTANCE = 1e-18  # so that the direction from a point to itself is defined
_PRODUCTS_PER_TILE = 1 << 16  # with more, linear algebra starts threads that wait for each other
_PAIRS_PER_STEP = 1 << 16  # that are known


class Misfit(NamedTuple):
    """What points differ by from their distances, one row per set of points.

    ``norm`` is the squared length of each point, ``total`` the misfit over all pairs, and ``pull`` the sum over v of
    (d_uv / |e_u - e_v| - 1) (e_v - e_u), which is its gradient by e_u but for a factor of 2.
    """

    norm: Floats
    total: Floats
    pull: Floats


class Moments(NamedTuple):
    """How many distances each point has, their mean, and their variance."""

    known: Floats
    mean: Floats
    variance: Floats


class Distances(Protocol):
    """The distances that the points of some problems of the same size should have."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many problems there are, and how many points each has."""

    @property
    def moments(self) -> Moments:
        """What the distances of each point are like."""

    def misfit(self, e: Floats, problem: npt.NDArray[np.int64]) -> Misfit:
        """Compare sets of points with the distances of their problems."""


@dataclass(frozen=True)
class Whole:
    """One matrix per problem: the distances, and 1 where they are known and 0 elsewhere.

    >>> whole = Whole(np.array([[[0.0, 3.0], [3.0, 0.0]]]), np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    >>> whole.misfit(np.array([[[0.0], [2.0]]]), np.array([0]))
    Misfit(norm=array([[0., 4.]]), total=array([1.]), pull=array([[[ 1.],
            [-1.]]]))
    """

    distance: Floats
    known: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """How many problems there are, and how many points each has."""
        return self.distance.shape[0], self.distance.shape[1]

    @cached_property
    def moments(self) -> Moments:
        """What the distances of each point are like."""
        known = self.known.sum(axis=2)
        least = np.maximum(known, 1.0)
        mean = (self.distance * self.known).sum(axis=2) / least
        variance = (self.known * np.square(self.distance - mean[:, :, None])).sum(axis=2) / least
        return Moments(known, mean, variance)

    def misfit(self, e: Floats, problem: npt.NDArray[np.int64]) -> Misfit:
        """Compare all points with all others."""
        gram = e @ e.transpose(0, 2, 1)
        norm = np.einsum("rii->ri", gram)
        length = np.sqrt(np.maximum(norm[:, :, None] + norm[:, None, :] - 2 * gram, _MIN_SQUARED_DISTANCE))
        rest = (self.distance[problem] - length) * self.known[problem]
        total = np.einsum("rij,rij->r", rest, rest) / 2
        pull = rest / length
        return Misfit(norm, total, pull @ e - pull.sum(axis=2)[:, :, None] * e)


@dataclass(frozen=True)
class Tiled:
    """The distances of each problem: an array in which NaN is unknown, or a sparse matrix of those that are known.

    >>> tiled = Tiled((np.array([[np.nan, 3.0], [3.0, np.nan]]),))
    >>> tiled.misfit(np.array([[[0.0], [2.0]]]), np.array([0]))
    Misfit(norm=array([[0., 4.]]), total=array([1.]), pull=array([[[ 1.],
            [-1.]]]))
    """

    distances: Sequence[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """How many problems there are, and how many points each has."""
        return len(self.distances), self.distances[0].shape[0]

    @cached_property
    def moments(self) -> Moments:
        """What the distances of each point are like."""
        known, mean, variance = np.zeros(self.shape), np.zeros(self.shape), np.zeros(self.shape)
        for place in np.ndindex(self.shape):
            row = self.distances[place[0]][[place[1]]]
            row = row[~np.isnan(row)] if isinstance(row, np.ndarray) else row.data
            if len(row):
                known[place], mean[place], variance[place] = len(row), row.mean(), row.var()
        return Moments(known, mean, variance)

    def misfit(self, e: Floats, problem: npt.NDArray[np.int64]) -> Misfit:
        """Compare one set of points after the other."""
        norm, total, pull = np.einsum("rij,rij->ri", e, e), np.empty(len(e)), np.empty(e.shape)
        for place, (points, number) in enumerate(zip(e, problem.tolist(), strict=True)):
            distance, known = self.distances[number], self._known[number]
            filled = np.column_stack([points, np.ones(len(points))])
            total[place], pulled = (
                _compare(distance, filled, norm[place]) if known is None else _compare_known(known, filled)
            )
            pull[place] = pulled[:, :-1] - pulled[:, -1:] * points
        return Misfit(norm, total, pull)

    @cached_property
    def _known(self) -> list[_Known | None]:
        return [None if isinstance(each, np.ndarray) else _Known.of(each) for each in self.distances]


class _Known(NamedTuple):
    """The distances of a sparse matrix, each once: two points, how far, and where those of each first point start."""

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
    """Compare the points of some rows with those of the same and of later ones, tile by tile; pulls are mutual."""
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
    """Compare the pairs of points whose distances are known, each pair once."""
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
