"""Kendall tau distance: the share of pairs of items that two rankings put in opposite order (Kendall 1938).

A ranking of q items says, for each of its q(q-1)/2 pairs, which of the two comes first, and Kendall tau is the Hamming
distance between two such lists. So the sums over peers are those of Hamming, pair after pair, and linear in the number
of answers: the peers that disagree with a worker about a pair are all those on the other side.

Rankings are given by positions: one row per item of the task, one column per ranking. With a single item there is no
pair, and all rankings are the same.
"""

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats
from allalike.domains.rankings.codes import Sides, item_pairs


def distance(left: Array, right: Array) -> Floats:
    """Compare positions column by column.

    >>> distance(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[0, 2], [1, 1], [2, 0]]))
    array([0., 1.])
    >>> distance(np.array([[0], [1], [2]]), np.array([[1], [0], [2]])).round(3)
    array([0.333])
    """
    n_items, n_rankings = left.shape
    discordant = np.zeros(n_rankings, np.int32)
    for a, others in item_pairs(n_items, n_rankings):
        discordant += _add_rows((left[a] < left[others]) != (right[a] < right[others]))
    return discordant / _pairs(n_items)


def of_guesses(n_items: Array) -> Floats:
    """Return how far two orders at random are apart, on average.

    >>> of_guesses(np.array([1, 2, 6]))
    array([nan, 0.5, 0.5])
    """
    return np.where(np.asarray(n_items) > 1, 0.5, np.nan)


def peer_distance(block: Block, position: Array, weight: Floats) -> Floats:
    """Add up, for each answer, the weighted distances to all answers to its task, given the weight of each.

    ``position`` has one row per item and one column per answer.

    >>> position = np.array([[0, 0, 1], [1, 1, 0]])
    >>> peer_distance(Block.of([[0], [0], [0]]), position, np.array([1.0, 2.0, 4.0]))
    array([4., 4., 3.])
    """
    distances, sides = np.zeros(len(weight)), Sides(block, weight)
    for a, others in item_pairs(len(position), len(weight)):
        sums, mine = sides.weigh(position[a] < position[others])
        distances += _add_rows(sums.take(mine ^ 1))
    return distances / _pairs(len(position))


def _add_rows(table: Array) -> Array:
    return np.asarray(table[0] if len(table) == 1 else table.sum(axis=0))


def _pairs(n_items: int) -> int:
    return max(n_items * (n_items - 1) // 2, 1)
