"""Numbers without their task's centre, and how to find them again as they came.

A number that is small beside its task's centre loses digits when the centre is taken away. In sums of squares they do
not matter; but the answer that drew the centre away may be corrected later, and then they do. So it is kept beside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats

__all__ = ["Centred"]

_SMALL_RATIO = 1e3  # as small as that beside the centre, a number keeps twelve digits


@dataclass(frozen=True)
class Centred:
    """The centre of each task, and the labels of those answers that lose digits beside it.

    >>> from allalike._core.blocks.block import Block
    >>> block = Centred.subtract(Block.of([[1e-3, 1.0], [1e10, 2.0]]), np.array([5e9, 1.5]))
    >>> block.label[2:], block[Centred].lost, block[Centred].lost_label
    (array([-0.5,  0.5]), array([0, 1]), array([1.e-03, 1.e+10]))
    >>> block[Centred].answers(block, np.array([0, 3]))
    array([1.e-03, 2.e+00])
    """

    centre: Floats
    lost: npt.NDArray[np.int64]
    lost_label: Floats

    @staticmethod
    def subtract(block: Block, centre: Floats) -> Block:
        """Return the block with all its numbers relative to their task's centre."""
        smallest = np.minimum.reduceat(np.abs(block.label), block.starts)
        small = np.asarray(smallest * _SMALL_RATIO < np.abs(centre))
        lost = np.flatnonzero(block.to_answers(small if small.ndim == 1 else np.asarray(small.any(axis=1))))
        return replace(
            block,
            label=block.label - block.to_answers(centre),
            gold_label=block.gold_label - centre[block.gold_task],
        ).keeping(Centred(centre, lost, block.label[lost]))

    def answers(self, block: Block, rows: Array) -> Floats:
        """Return the labels of some answers, in order, as they came."""
        if np.array_equal(rows, np.arange(len(block.label))):
            every: Floats = block.label + block.to_answers(self.centre)
            every[self.lost] = self.lost_label
            return every
        task = np.searchsorted(block.starts, rows, side="right") - 1
        label: Floats = block.label[rows] + self.centre[task]
        place = np.searchsorted(self.lost, rows)
        place[place == len(self.lost)] = 0
        again = np.flatnonzero(self.lost[place] == rows) if len(self.lost) else self.lost
        label[again] = self.lost_label[place[again]]
        return label

    def gold(self, block: Block) -> Floats:
        """Return the known truths of a block as they came, but for rounding."""
        return np.asarray(block.gold_label + self.centre[block.gold_task])
