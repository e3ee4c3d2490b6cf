"""Distances between complete orders of items: Kendall tau and footrule.

    kendall:   the share of pairs of items in opposite order (Kendall 1938)
    footrule:  sum over items of |pos(a) - pos'(a)| / floor(q^2 / 2), for q items (Spearman)

Sums over peers need no pairs of answers. Kendall tau is a Hamming distance over pairs of items: the disagreeing peers
are those on the other side of a pair. For the footrule, the weight at each of the q positions of an item determines the
distances from any position. The footrule is between one and two times the number of discordant pairs (Diaconis and
Graham 1977), and also reflects the size of displacements.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by

_MAX_INT8 = np.iinfo(np.int8).max
_NUMBERS_AT_ONCE = 1 << 14  # fits into the cache; with few answers, one pass covers many pairs


def find_positions(items: Array) -> Array:
    """Return the position of each item per row, in the order of item numbers."""
    return np.argsort(items, axis=1).astype(np.int8 if items.shape[1] <= _MAX_INT8 else np.int16)


def item_pairs(n_items: int, n_answers: int) -> Iterator[tuple[int, slice]]:
    """Yield all pairs of items as one item and a range of later items."""
    step = max(_NUMBERS_AT_ONCE // max(n_answers, 1), 1)
    for item in range(n_items):
        for first in range(item + 1, n_items, step):
            yield item, slice(first, min(first + step, n_items))


def kendall(left: Array, right: Array) -> Floats:
    """Compute the Kendall tau distance column by column.

    >>> kendall(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[0, 2], [1, 1], [2, 0]]))
    array([0., 1.])
    """
    n_items, n_rankings = left.shape
    discordant = np.zeros(n_rankings, np.int32)
    for a, others in item_pairs(n_items, n_rankings):
        discordant += np.count_nonzero((left[a] < left[others]) != (right[a] < right[others]), axis=0)
    return discordant / _max_kendall(n_items)


def kendall_to_peers(block: Block, position: Array, weight: Floats) -> Floats:
    """Sum the weighted distances between each answer and all answers to its task."""
    distances = np.zeros(len(weight))
    for _, _, sums, mine in weigh_sides(block, position, weight):
        opposite = sums.take(mine ^ 1)  # the other side is adjacent
        distances += opposite[0] if len(opposite) == 1 else opposite.sum(axis=0)
    return distances / _max_kendall(len(position))


def weigh_sides(block: Block, position: Array, weight: Floats) -> Iterator[tuple[int, slice, Floats, Array]]:
    """Yield an item, a range of others, the weight on both sides per pair and task, and each answer's side.

    An answer is on side 1 of a pair if it ranks the first item higher.
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
    """Compute the footrule distance column by column.

    >>> footrule(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[1, 2], [0, 1], [2, 0]]))
    array([0.5, 1. ])
    """
    moved = np.abs(left.astype(np.int32) - right.astype(np.int32)).sum(axis=0)
    return np.asarray(moved / _max_footrule(len(left)), np.float64)


def footrule_to_peers(block: Block, position: Array, weight: Floats) -> Floats:
    """Sum the weighted distances between each answer and all answers to its task."""
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
    """A distance between complete rankings: for pairs, to all answers to a task, and for random rankings of q items."""

    between: Callable[[Array, Array], Floats]
    to_peers: Callable[[Block, Array, Floats], Floats]
    of_guesses: Callable[[Floats], Floats]


DISTANCES = {
    "kendall": PositionDistance(kendall, kendall_to_peers, lambda q: np.where(q > 1, 0.5, np.nan)),
    "footrule": PositionDistance(
        footrule, footrule_to_peers, lambda q: np.where(q > 1, (q**2 - 1) / 3 / np.maximum(q**2 // 2, 1), np.nan)
    ),
}
