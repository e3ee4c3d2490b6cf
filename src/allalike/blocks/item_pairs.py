"""Pairs of items, some at a time: an item with a range of later ones.

With few answers to a task of many items, a pass over the answers costs less than calling it: then hundreds of pairs go
into one pass. With many answers one pair fills the cache, and pairs go one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import sum_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.blocks.block import Array, Block, Floats

__all__ = ["item_pairs", "weigh_sides"]

_NUMBERS_AT_ONCE = 1 << 14


def item_pairs(n_items: int, n_answers: int) -> Iterator[tuple[int, slice]]:
    """Yield all pairs of items: one, and a range of those after it.

    >>> list(item_pairs(4, 3))
    [(0, slice(1, 4, None)), (1, slice(2, 4, None)), (2, slice(3, 4, None))]
    >>> list(item_pairs(3, 10_000))
    [(0, slice(1, 2, None)), (0, slice(2, 3, None)), (1, slice(2, 3, None))]
    """
    step = max(_NUMBERS_AT_ONCE // max(n_answers, 1), 1)
    for item in range(n_items):
        for first in range(item + 1, n_items, step):
            yield item, slice(first, min(first + step, n_items))


def weigh_sides(block: Block, sides: npt.NDArray[np.bool_], weight: Floats) -> tuple[Floats, Array]:
    """Add up the weight of both sides of some pairs (rows), per task, and tell which sum is that of each answer's side.

    The other side's is the one beside it.

    >>> from allalike.blocks.block import Block
    >>> weigh_sides(Block.of([[0], [0], [0]]), np.array([[True, False, True]]), np.array([1.0, 2.0, 4.0]))
    (array([2., 5.]), array([[1, 0, 1]]))
    """
    first_side = block.to_answers(2 * np.arange(block.n_tasks))
    place = first_side + sides + 2 * block.n_tasks * np.arange(len(sides))[:, None]
    weights = np.broadcast_to(weight, place.shape).ravel()
    return sum_by(place.ravel(), weights, 2 * block.n_tasks * len(sides)), place
