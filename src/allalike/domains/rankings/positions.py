"""Complete rankings by the positions of items: a row per item, a column per ranking; and their distances.

    kendall:   the share of pairs of items in opposite order (Kendall 1938)
    footrule:  sum over items of |pos(a) - pos'(a)| / floor(q^2 / 2), for q items (Spearman)

Sums over peers need no pairs of answers. Kendall tau is a Hamming distance over pairs of items: the peers who disagree
about a pair are all those on its other side. For the footrule, an item has q places, and the weight at each of them
determines how far it is from any of them. The footrule is once to twice the number of pairs in opposite order (Diaconis
and Graham 1977), but also counts how far an item has moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import pair_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_INT8 = np.iinfo(np.int8).max
_NUMBERS_AT_ONCE = 1 << 14  # more fill the cache; with few answers many pairs go into one pass


def find_positions(items: Array) -> Array:
    """Return, per row, where the items stand, in the order of their numbers."""
    return np.argsort(items, axis=1).astype(np.int8 if items.shape[1] <= _MAX_INT8 else np.int16)


def item_pairs(n_items: int, n_answers: int) -> Iterator[tuple[int, slice]]:
    """Yield all pairs of items: one, and a range of those after it."""
    step = max(_NUMBERS_AT_ONCE // max(n_answers, 1), 1)
    for item in range(n_items):
        for first in range(item + 1, n_items, step):
            yield item, slice(first, min(first + step, n_items))


def kendall(left: Array, right: Array) -> Floats:
    """Compare positions column by column.

    >>> kendall(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[0, 2], [1, 1], [2, 0]]))
    array([0., 1.])
    """
    n_items, n_rankings = left.shape
    discordant = np.zeros(n_rankings, np.int32)
    for a, others in item_pairs(n_items, n_rankings):
        discordant += np.count_nonzero((left[a] < left[others]) != (right[a] < right[others]), axis=0)
    return discordant / _max_kendall(n_items)


def kendall_to_peers(block: Block, position: Array, weight: Floats) -> Floats:
    """Sum, per answer, the weighted distances to all answers to its task, given the weight of each."""
    distances = np.zeros(len(weight))
    for _, _, sums, mine in weigh_sides(block, position, weight):
        opposite = sums.take(mine ^ 1)  # the other side stands beside it
        distances += opposite[0] if len(opposite) == 1 else opposite.sum(axis=0)
    return distances / _max_kendall(len(position))


def weigh_sides(block: Block, position: Array, weight: Floats) -> Iterator[tuple[int, slice, Floats, Array]]:
    """Yield some pairs of items: one, others, the weight of both sides per pair and task, and the sum of each answer's.

    An answer is on side 1 of a pair if it puts the first item ahead.
    """
    n_sides, first = 2 * block.n_tasks, 2 * block.task
    for a, others in item_pairs(len(position), len(weight)):
        place = first + (position[a] < position[others])
        weights = weight
        if len(place) > 1:
            place += n_sides * np.arange(len(place))[:, None]
            weights = np.broadcast_to(weight, place.shape).ravel()
        yield a, others, sum_by(place.ravel(), weights, n_sides * len(place)), place


def _max_kendall(n_items: int) -> int:
    return max(n_items * (n_items - 1) // 2, 1)


def footrule(left: Array, right: Array) -> Floats:
    """Compare positions column by column.

    >>> footrule(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[1, 2], [0, 1], [2, 0]]))
    array([0.5, 1. ])
    """
    moved = np.abs(left.astype(np.int32) - right.astype(np.int32)).sum(axis=0)
    return np.asarray(moved / _max_footrule(len(left)), np.float64)


def footrule_to_peers(block: Block, position: Array, weight: Floats) -> Floats:
    """Sum, per answer, the weighted distances to all answers to its task, given the weight of each."""
    n_items = len(position)
    gaps = np.abs(np.subtract.outer(np.arange(n_items), np.arange(n_items))).astype(np.float64)
    first_place, distances = n_items * block.task, np.zeros(len(weight))
    for places in position:
        place = first_place + places
        there = sum_by(place, weight, n_items * block.n_tasks).reshape(-1, n_items)
        distances += (there @ gaps).ravel().take(place)
    return distances / _max_footrule(n_items)


def _max_footrule(n_items: int) -> int:
    return max(n_items * n_items // 2, 1)


class PositionDistance(NamedTuple):
    """A distance of complete rankings: of two, of one to all others of its task, and of two random ones of q items."""

    between: Callable[[Array, Array], Floats]
    to_peers: Callable[[Block, Array, Floats], Floats]
    of_guesses: Callable[[Floats], Floats]


DISTANCES = {
    "kendall": PositionDistance(kendall, kendall_to_peers, lambda q: np.where(q > 1, 0.5, np.nan)),
    "footrule": PositionDistance(
        footrule, footrule_to_peers, lambda q: np.where(q > 1, (q**2 - 1) / 3 / np.maximum(q**2 // 2, 1), np.nan)
    ),
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some tasks of a block that have the same number of items: `items` has a row per task.

    `rows` are the answers to these tasks, and `block` holds them alone.
    """

    block: Block
    tasks: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    items: Array


@dataclass(frozen=True, kw_only=True)
class Orders(Part):
    """Complete orders without ties; `position` has a row per item and a column per answer."""

    position: Array

    def peer_distances(self, weight: Floats, distance: PositionDistance) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to its peers and their weight, given the weight of each answer."""
        others = self.block.to_answers(self.block.per_task(weight)) - weight
        return distance.to_peers(self.block, self.position, weight), others

    def compare_pairs(
        self, block: Block, rows: slice, distance: PositionDistance
    ) -> Iterator[tuple[Array, Array, Floats, Floats]]:
        """Yield pairs of workers of the whole block, of whom the first is in ``rows``, distances, and how many."""
        own = replace(self.block, worker=block.worker[self.rows], n_workers=block.n_workers)
        for left, right in pair_chunks(own, rows):
            apart = distance.between(self.position[:, left], self.position[:, right])
            yield own.worker[left], own.worker[right], apart, np.ones(len(left))

    def prefer(self, share: Floats) -> tuple[Floats, Floats, Floats]:
        """Return, per task, the share of weight that puts item a (row) before b, that compares both, and how often."""
        n_tasks, q = self.items.shape
        shares = np.zeros((n_tasks, q, q))
        for a, others, sums, _ in weigh_sides(self.block, self.position, share):
            shares[:, others, a], shares[:, a, others] = sums.reshape(-1, n_tasks, 2).T
        return shares, np.broadcast_to(1.0 - np.eye(q), shares.shape), shares * self.block.sizes[:, None, None]
