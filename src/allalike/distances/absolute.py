"""Absolute distance |x - y|: of numbers, and of the places of levels.

An answer that is far off counts by how far it is and not by the square of it, so that one reading of -999 carries less
away. The distance still comes from an inner product (|x - y| is the squared distance of two thermometers that are
filled up to x and y), and needs no pairs. With the answers of a task in the order of their numbers, C the weight and S
the sum of w x up to and with x_i, and W and S_all those of the task,

    sum_j w_j |x_i - x_j| = x_i (2 C - W) + S_all - 2 S,

which is linear in the number of answers once they are in order; and they are put in order once. The weighted median
minimises a task's weighted sum of such distances, as the mean does for squares.
"""

from __future__ import annotations

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, LabelGroups, Order, add_up_to, sum_by

MAX_PRODUCT = 16  # levels up to which a product of matrices is faster than running sums


def distance(left: Array, right: Array) -> Floats:
    """Compute distances of numbers, pair by pair.

    >>> distance(np.array([0.0, 1.0]), np.array([0.5, -3.0]))
    array([0.5, 4. ])
    """
    return np.asarray(np.abs(np.subtract(left, right, dtype=np.float64)), np.float64)


def peer_distances(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    """Return, per answer, the weighted distance to the other answers of its task, and their weight.

    The block needs the `Order` of its numbers, which should be centred.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import find_order
    >>> block = Block.of([[1.0], [4.0], [2.0]])
    >>> peer_distances(block.keeping(find_order(block)), np.ones(3))
    (array([4., 5., 3.]), array([2., 2., 2.]))
    """
    rows, own = block[Order].rows, weights.take(block.worker)
    total = block.per_task(own)
    sums = np.empty(len(own))
    sums[rows] = add_in_order(block.label[rows], own[rows], block.sizes, total)
    return sums, block.to_answers(total) - own


def level_distances(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    """Return what `peer_distances` returns, of levels: whole numbers, of which a task's answers have few.

    The block needs its `LabelGroups`, which are in the order of levels.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0], [3], [3]])
    >>> level_distances(block.keeping(group_labels(block, np.arange(4, dtype=np.uint64))), np.ones(3))
    (array([6., 3., 3.]), array([2., 2., 2.]))
    """
    groups, own = block[LabelGroups], weights.take(block.worker)
    same, place = sum_by(groups.group, own, len(groups)), np.arange(len(groups.label_hash))
    if len(place) <= MAX_PRODUCT and len(groups) == block.n_tasks * len(place):
        by_level = same.reshape(block.n_tasks, len(place))
        total, sums = np.einsum("ij->i", by_level), (by_level @ distance(place[:, None], place)).ravel()
    else:
        total = np.add.reduceat(same, groups.first)
        sums = add_in_order(groups.label, same, groups.count, total)
    return sums.take(groups.group), block.to_answers(total) - own


def add_in_order(number: Array, weight: Floats, sizes: Array, total: Floats) -> Floats:
    """Add up weighted distances to all numbers of a segment, of numbers that are in order there."""
    product = weight * number
    below, up_to = add_up_to(weight, sizes), add_up_to(product, sizes)
    whole = np.repeat(up_to[np.cumsum(sizes) - 1], sizes)
    below *= 2
    below -= np.repeat(total, sizes)
    below *= number
    up_to *= 2
    below += whole
    below -= up_to
    return np.maximum(below, 0.0, out=below)
