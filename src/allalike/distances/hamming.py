"""Hamming distance: 1 where two labels differ, 0 where they agree.

A worker's distance to the peers of a task needs no pairs: if the task's answers weigh W and those that say what
she says weigh C, her peers are W - C away from her. So the sums are linear in the number of answers.
"""

import numpy as np

from allalike.blocks import Array, Block, Floats, sum_by

__all__ = ["distance", "peer_sums"]


def distance(left: Array, right: Array) -> Floats:
    """Compare labels pair by pair.

    >>> distance(np.array([0, 1]), np.array([0, 2]))
    array([0., 1.])
    """
    return np.asarray(left != right, np.float64)


def peer_sums(block: Block, weights: Floats) -> dict[str, Floats]:
    """Add up, per worker, the weighted distance to her peers and their weight.

    The block needs its groups of labels (`allalike.blocks.group_labels`).

    >>> from allalike.blocks import group_labels
    >>> block = Block.of([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> peer_sums(block.with_prepared(**group_labels(block, 2)), np.ones(3))
    {'distance': array([3., 2., 3.]), 'weight': array([6., 6., 6.])}
    """
    group = block.prepared["group"]
    own = weights.take(block.worker)
    same = sum_by(group, own, len(block.prepared["group_task"]))
    total = np.add.reduceat(same, block.prepared["first_group"])
    apart = np.repeat(total, block.prepared["n_groups"]) - same
    return {
        "distance": block.per_worker(apart.take(group)),
        "weight": block.per_worker(block.spread(total) - own),
    }
