"""Squared Euclidean distance between vectors: linear in the number of answers, as it is between numbers.

With a task's weight W, its weighted mean z and V = sum_j w_j |x_j - z|^2, the weighted squared distance of x_i to all
answers is W |x_i - z|^2 + V (`allalike.distances.euclidean`).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike.distances.euclidean import square_lengths


@dataclass(frozen=True)
class CentredVectors:
    """The vectors of a block as they are compared, relative to their task's centre.

    >>> vectors = np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> block = Block.of([[0], [1], [2]])
    >>> CentredVectors.of(block, vectors).peer_distances(block, np.ones(3))
    (array([10.,  5., 13.]), array([2., 2., 2.]))
    """

    vectors: Floats

    @classmethod
    def of(cls, block: Block, vectors: Floats) -> Self:
        """Take the centre of its task from each vector."""
        return cls(vectors - block.to_answers(centre(block, vectors)))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to the other answers of its task, and their weight."""
        own = weights.take(block.worker)
        total = block.per_task(own)
        mean = block.per_task(own[:, None] * self.vectors) / np.where(total > 0, total, 1.0)[:, None]
        square = square_lengths(self.vectors - block.to_answers(mean))
        around, everyone = block.to_answers(block.per_task(own * square)), block.to_answers(total)
        return everyone * square + around, everyone - own


def centre(block: Block, vectors: Floats) -> Floats:
    """Return a vector near each task's mean: that of the first answer, plus the mean difference to it.

    >>> centre(Block.of([[0], [1]]), np.array([[1.0, 0.1], [3.0, 0.1]]))
    array([[2. , 0.1]])
    """
    first = vectors[block.starts]
    middle: Floats = first + block.per_task(vectors - block.to_answers(first)) / block.sizes[:, None]
    return middle
