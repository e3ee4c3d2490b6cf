"""Distance of angles: half of 1 less the cosine, which is 0 for the same direction and 1 for opposite ones.

Two directions are d = (1 - cos a) / 2 = sin^2(a / 2) apart, a quarter of the squared distance of their points on the
unit circle. So the sums are linear in the number of answers, as for vectors: with a task's weight W, the weighted mean
z of its points and V = sum_j w_j |x_j - z|^2, the weighted distance of x_i to all is (W |x_i - z|^2 + V) / 4. Angles
are measured from the first answer to their task, so that equal ones are no distance apart at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats


def distance(left: Array, right: Array) -> Floats:
    """Measure how far angles in radians are apart, pair by pair.

    >>> distance(np.radians([350.0, 90.0]), np.radians([10.0, 270.0])).round(6)
    array([0.030154, 1.      ])
    """
    return np.asarray(np.sin((left - right) / 2) ** 2, np.float64)


def points_of(angles: Floats) -> Floats:
    """Return the points of angles in radians on the unit circle.

    >>> points_of(np.array([0.0, np.pi])).round(3)
    array([[ 1.,  0.],
           [-1.,  0.]])
    """
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def mean_points(block: Block, points: Floats, weight: Floats, total: Floats) -> Floats:
    """Return the weighted mean of each task's points, given its weight.

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0.0], [1.0]])
    >>> mean_points(block, np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0]), np.array([4.0]))
    array([[0.75, 0.25]])
    """
    mean: Floats = block.per_task(weight[:, None] * points) / np.where(total > 0, total, 1.0)[:, None]
    return mean


def peer_distances(block: Block, points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return, per answer, the weighted distance to the other answers of its task, and their weight.

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0.0], [1.0], [2.0]])
    >>> peer_distances(block, points_of(np.array([0.0, 0.0, np.pi])), np.ones(3))
    (array([1., 1., 2.]), array([2., 2., 2.]))
    """
    own = weights.take(block.worker)
    total = block.per_task(own)
    away = points - block.to_answers(mean_points(block, points, own, total))
    square = np.einsum("ij,ij->i", away, away)
    around, everyone = block.to_answers(block.per_task(own * square)), block.to_answers(total)
    return (everyone * square + around) / 4, everyone - own
