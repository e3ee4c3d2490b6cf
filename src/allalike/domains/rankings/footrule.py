"""Spearman's footrule: by how many places two rankings put each item apart, as a share of the most that is possible.

    sum_a |pos(a) - pos'(a)| / floor(q^2 / 2)

It counts once to twice as much as there are pairs in opposite order (Diaconis and Graham 1977), but minds how far an
item has moved. The sums over peers need no pairs of answers: an item has q places, and the weight that puts it at each
of them tells how far it is, in all, from any of them.
"""

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by


def distance(left: Array, right: Array) -> Floats:
    """Compare positions (one row per item) column by column.

    >>> distance(np.array([[0, 0], [1, 1], [2, 2]]), np.array([[1, 2], [0, 1], [2, 0]]))
    array([0.5, 1. ])
    """
    moved = np.abs(left.astype(np.int32) - right.astype(np.int32)).sum(axis=0)
    return np.asarray(moved / _most(len(left)), np.float64)


def of_guesses(n_items: Array) -> Floats:
    """Return how far two orders at random are apart, on average: (q^2 - 1) / 3 places in all.

    >>> of_guesses(np.array([1, 2, 6])).round(3)
    array([  nan, 0.5  , 0.648])
    """
    n_items = np.asarray(n_items, np.float64)
    return np.where(n_items > 1, (n_items**2 - 1) / 3 / np.maximum(n_items**2 // 2, 1), np.nan)


def peer_distance(block: Block, position: Array, weight: Floats) -> Floats:
    """Add up, for each answer, the weighted distances to all answers to its task, given the weight of each.

    The block needs the ``position`` of each item in each answer.

    >>> position = np.array([[0, 0, 1], [1, 1, 0]])
    >>> peer_distance(Block.of([[0], [0], [0]]), position, np.array([1.0, 2.0, 4.0]))
    array([4., 4., 3.])
    """
    n_items = len(position)
    gaps = np.abs(np.subtract.outer(np.arange(n_items), np.arange(n_items))).astype(np.float64)
    first_place = block.to_answers(n_items * np.arange(block.n_tasks))
    distances = np.zeros(len(weight))
    for places in position:
        place = first_place + places
        there = sum_by(place, weight, n_items * block.n_tasks).reshape(-1, n_items)
        distances += (there @ gaps).ravel().take(place)
    return distances / _most(n_items)


def _most(n_items: int) -> int:
    return max(n_items * n_items // 2, 1)
