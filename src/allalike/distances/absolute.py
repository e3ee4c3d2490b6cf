"""Absolute distance |x - y| between numbers or level indices.

An outlier contributes its distance instead of the squared distance, so a single value of -999 has less influence. The
distance is based on an inner product, so sums need no pairs. (|x - y| is the squared distance of two unary codes, such
as vectors of x and y ones followed by zeros.) For sorted answers of a task, let C be the weight and S the sum of w x up
to and including x_i, and W and S_all the totals. Then

    sum_j w_j |x_i - x_j| = x_i (2 C - W) + S_all - 2 S,

which takes linear time after sorting once. The weighted median minimises a task's weighted sum of these distances, as
the mean does for squares.
"""

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, LabelGroups, Order, add_up_to, sum_by

MAX_PRODUCT = 16  # up to this number of levels, a matrix product is faster than cumulative sums


def distance(left: Array, right: Array) -> Floats:
    """Compute distances between pairs of numbers.

    >>> distance(np.array([0.0, 1.0]), np.array([0.5, -3.0]))
    array([0.5, 4. ])
    """
    return np.asarray(np.abs(np.subtract(left, right, dtype=np.float64)), np.float64)


def peer_distances(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted distance of each answer to its peers, and the total weight of these peers.

    The block must contain the `Order` of its numbers, which should be centred.

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
    """Compute `peer_distances` for levels: integers with few distinct values per task.

    The block must contain its `LabelGroups`, sorted by level.

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
    """Sum the weighted distances between each number and all numbers in its sorted segment."""
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
