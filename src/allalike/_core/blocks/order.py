"""Order: the answers to each task in the order of their numbers, which is found once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats

__all__ = ["Order", "find_order"]


@dataclass(frozen=True)
class Order:
    """The rows of a block in the order of tasks, and of numbers within a task."""

    rows: npt.NDArray[np.intp]

    def middle(self, block: Block) -> Floats:
        """Return, per task, the answer in the middle, the lower one of two.

        >>> from allalike._core.blocks.block import Block
        >>> block = Block.of([[3.0, 1.0], [2.0, 5.0], [-999.0, 1.5]])
        >>> find_order(block).middle(block)
        array([2. , 1.5])
        """
        middle: Floats = block.label[self.rows[block.starts + (block.sizes - 1) // 2]]
        return middle


def find_order(block: Block) -> Order:
    """Put the answers to each task in the order of their numbers.

    >>> from allalike._core.blocks.block import Block
    >>> find_order(Block.of([[3.0, 1.0], [2.0, 5.0]])).rows
    array([1, 0, 2, 3])
    """
    return Order(np.lexsort((block.label, block.task)))
