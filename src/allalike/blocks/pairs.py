"""Pairs: the answers to a task compared with each other, for distances that do not come from an inner product."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import Block, sum_by
from allalike.blocks.matrices import MatrixSum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from allalike.blocks.block import Array, Floats

__all__ = ["AnswerHashes", "PairDistances", "add_pairs", "count_partners", "pair_chunks"]

_PAIRS_PER_CHUNK = 1 << 21


@dataclass(frozen=True)
class AnswerHashes:
    """The hash of each answer's label, by which equal answers are known and ties are drawn."""

    hashes: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PairDistances:
    """All ordered pairs of different answers to the same task, and their distance; NaN where that is unknown.

    >>> pairs = PairDistances.of(Block.of([[0], [1], [5]]), lambda left, right: 1.0 * abs(right - left))
    >>> pairs.left, pairs.right, pairs.distance
    (array([0, 0, 1, 1, 2, 2]), array([1, 2, 2, 0, 0, 1]), array([1., 2., 1., 1., 2., 1.]))
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    distance: Floats

    @classmethod
    def of(cls, block: Block, compare: Callable[[Array, Array], Floats]) -> PairDistances:
        """Compare each two answers to a task once; ``compare`` gets the places of both answers of each pair."""
        left, right = (np.concatenate(part) for part in zip(*pair_chunks(block), strict=True))
        left, right = left[left < right], right[left < right]
        distance = compare(left, right)
        return cls(np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([distance, distance]))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to its peers and their weight; unknown distances do not count."""
        weight = np.where(np.isnan(self.distance), 0.0, weights.take(block.worker[self.right]))
        distance = np.nan_to_num(self.distance) * weight
        n_answers = len(block.worker)
        return sum_by(self.left, distance, n_answers), sum_by(self.left, weight, n_answers)

    def pair_sums(self, block: Block, rows: slice | None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks."""
        left, right, distance = self.left, self.right, self.distance
        if rows is not None:
            asked = (block.worker[left] >= rows.start) & (block.worker[left] < rows.stop)
            left, right, distance = left[asked], right[asked], distance[asked]
        return add_pairs(block, rows, [(left, right, distance)])


def add_pairs(block: Block, rows: slice | None, pairs: Iterable[tuple[Array, Array, Floats]]) -> dict[str, Any]:
    """Add up, per pair of workers, the distances of pairs of answers, and count them; NaN does not count.

    The matrices, dense or sparse, have a row for each worker in ``rows``, a range of the block's workers and by
    default all, and a column for each worker of the block.
    """
    rows = rows or slice(0, block.n_workers)
    shape = rows.stop - rows.start, block.n_workers
    total, common = MatrixSum(shape), MatrixSum(shape)
    for left, right, distance in pairs:
        known = np.flatnonzero(~np.isnan(distance))
        if len(known) < len(distance):
            left, right, distance = left[known], right[known], distance[known]
        place = block.worker[left] - rows.start, block.worker[right]
        total.add_entries(*place, distance)
        common.add_entries(*place, np.ones(len(distance)))
    return {"distance": total.result(), "common": common.result()}


def pair_chunks(
    block: Block, rows: slice | None = None
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield all ordered pairs of different answers to the same task, a few million at a time.

    The first of each pair is by one of the workers in ``rows``, a range of the block's workers; by default by anyone.

    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]))
    >>> left, right
    (array([0, 0, 1, 1, 2, 2]), array([1, 2, 0, 2, 0, 1]))
    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]), slice(1, 2))
    >>> left, right
    (array([1, 1]), array([0, 2]))
    """
    mine = np.arange(len(block.worker))
    partners, first = block.to_answers(block.sizes - 1), block.to_answers(block.starts)
    if rows is not None:
        mine = np.flatnonzero((block.worker >= rows.start) & (block.worker < rows.stop))
        mine = mine[np.argsort(block.worker[mine], kind="stable")]  # a row of sums stays in the cache that way
        partners, first = partners[mine], first[mine]
    before = np.cumsum(partners) - partners
    bounds = np.searchsorted(before, np.arange(0, max(partners.sum(), 1), _PAIRS_PER_CHUNK), side="left")
    for begin, end in itertools.pairwise(np.unique([*bounds, len(mine)])):
        counts = partners[begin:end]
        left = np.repeat(mine[begin:end], counts)
        right = np.arange(len(left)) + np.repeat(first[begin:end] + before[begin] - before[begin:end], counts)
        right += right >= left
        yield left, right


def count_partners(block: Block) -> dict[str, Floats]:
    """Count, per worker, the answers of others to her tasks: so many she met at most.

    >>> count_partners(Block.of([[0, 1], [1, 1], [0, 0]]))["partners"]
    array([4., 4., 4.])
    """
    return {"partners": block.per_worker(block.to_answers(block.sizes - 1.0))}
