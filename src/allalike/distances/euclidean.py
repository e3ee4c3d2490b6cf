"""Squared Euclidean distance between numbers (the paper's NSED, once averaged over tasks).

With a task's weight W, its weighted mean z and V = sum_j w_j (x_j - z)^2, the weighted squared distance of x_i to
all answers is W (x_i - z)^2 + V: linear in the number of answers, and never negative. Labels are centred per task
first, because a mean of numbers near 1e8 has few digits left for their differences.
"""

import numpy as np

from allalike.blocks.block import Array, Block, Floats

__all__ = ["centre", "distance", "peer_sums", "weighted_mean"]


def distance(left: Array, right: Array) -> Floats:
    """Square the differences, pair by pair.

    >>> distance(np.array([0.0, 1.0]), np.array([0.5, 3.0]))
    array([0.25, 4.  ])
    """
    return np.asarray(np.square(left - right), np.float64)


def centre(block: Block) -> Floats:
    """Return a number near each task's mean: the first answer, plus the mean difference to it.

    Identical answers become exact zeros that way.

    >>> centre(Block.of([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]]))
    array([3. , 0.1])
    """
    first = block.label[block.starts]
    return first + block.per_task(block.label - block.to_answers(first)) / block.sizes


def weighted_mean(block: Block, weight: Floats, total: Floats) -> Floats:
    """Return each task's weighted mean, and 0 where nobody has weight.

    >>> block = Block.of([[1.0], [4.0]])
    >>> weighted_mean(block, np.array([2.0, 1.0]), np.array([3.0]))
    array([2.])
    """
    mean: Floats = block.per_task(weight * block.label) / np.where(total > 0, total, 1.0)
    return mean


def peer_sums(block: Block, weights: Floats) -> dict[str, Floats]:
    """Add up, per worker, the weighted distance to her peers and their weight.

    >>> peer_sums(Block.of([[1.0], [2.0], [4.0]]), np.ones(3))
    {'distance': array([10.,  5., 13.]), 'weight': array([2., 2., 2.])}
    """
    own = weights.take(block.worker)
    total = block.per_task(own)
    square = np.square(block.label - block.to_answers(weighted_mean(block, own, total)))
    around = block.per_task(own * square)
    all_weight = block.to_answers(total)
    square *= all_weight
    square += block.to_answers(around)
    return {
        "distance": block.per_worker(square),
        "weight": block.per_worker(all_weight - own),
    }
