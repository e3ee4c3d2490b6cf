"""Distances of complete rankings, which are given by positions: a row per item, a column per ranking.

    kendall:   the share of pairs of items in opposite order (Kendall 1938)
    footrule:  sum over items of |pos(a) - pos'(a)| / floor(q^2 / 2), for q items (Spearman)

Sums over peers need no pairs of answers. Kendall tau is a Hamming distance over pairs of items: the peers who disagree
about a pair are all those on its other side. For the footrule, an item has q places, and the weight at each of them
determines how far it is from any of them. The footrule is once to twice the number of pairs in opposite order (Diaconis
and Graham 1977), but also counts how far an item has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NUMBERS_AT_ONCE = 1 << 14  # more fill the cache; with few answers many pairs go into one pass


def item_pairs(n_items: int, n_answers: int) -> Iterator[tuple[int, slice]]:
    """Yield all pairs of items: one, and a range of those after it."""
    step = max(_NUMBERS_AT_ONCE // max(n_answers, 1), 1)
    for item in range(n_items):
        for first in range(item + 1, n_items, step):
            yield item, slice(first, min(first + step, n_items))


class Sides:
    """The answers of a block, which take one side or the other in each pair of items, with their weights."""

    def __init__(self, block: Block, weight: Floats) -> None:
        self._weight, self._n_sides = weight, 2 * block.n_tasks
        self._first = block.to_answers(2 * np.arange(block.n_tasks))[None]

    def weigh(self, taken: Array) -> tuple[Floats, Array]:
        """Sum the weight of both sides of some pairs (rows), per task; return also which sum is each answer's."""
        place = self._first + taken
        if len(taken) == 1:
            return sum_by(place[0], self._weight, self._n_sides), place
        place += self._n_sides * np.arange(len(taken))[:, None]
        weights = np.broadcast_to(self._weight, place.shape).ravel()
        return sum_by(place.ravel(), weights, self._n_sides * len(taken)), place


def kendall(left: Array, right: Array) -> Floats:
    """Compare positions column by column.

    >>> kendall(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[0, 2], [1, 1], [2, 0]]))
    array([0., 1.])
    """
    n_items, n_rankings = left.shape
    discordant = np.zeros(n_rankings, np.int32)
    for a, others in item_pairs(n_items, n_rankings):
        discordant += _add_rows((left[a] < left[others]) != (right[a] < right[others]))
    return discordant / _max_kendall(n_items)


def kendall_to_peers(block: Block, position: Array, weight: Floats) -> Floats:
    """Sum, per answer, the weighted distances to all answers to its task, given the weight of each."""
    distances, sides = np.zeros(len(weight)), Sides(block, weight)
    for a, others in item_pairs(len(position), len(weight)):
        sums, mine = sides.weigh(position[a] < position[others])
        distances += _add_rows(sums.take(mine ^ 1))  # the other side stands beside it
    return distances / _max_kendall(len(position))


def _add_rows(table: Array) -> Array:
    return np.asarray(table[0] if len(table) == 1 else table.sum(axis=0))


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
    first_place = block.to_answers(n_items * np.arange(block.n_tasks))
    distances = np.zeros(len(weight))
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
