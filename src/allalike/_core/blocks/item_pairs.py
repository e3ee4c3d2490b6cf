"""Pairs of items, some at a time: an item with a range of later ones.

With few answers to a task of many items, a pass over the answers costs less than calling it: then hundreds of pairs go
into one pass. With many answers one pair fills the cache, and pairs go one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["Sides", "item_pairs"]

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


class Sides:
    """The answers of a block, which take one side or the other in each pair of items, with their weights.

    >>> from allalike._core.blocks.block import Block
    >>> sides = Sides(Block.of([[0], [0], [0]]), np.array([1.0, 2.0, 4.0]))
    >>> sides.weigh(np.array([[True, False, True]]))
    (array([2., 5.]), array([[1, 0, 1]]))
    """

    def __init__(self, block: Block, weight: Floats) -> None:
        self._weight, self._n_sides = weight, 2 * block.n_tasks
        self._first = block.to_answers(2 * np.arange(block.n_tasks))[None]

    def weigh(self, taken: npt.NDArray[np.bool_]) -> tuple[Floats, Array]:
        """Add up the weight of both sides of some pairs (rows), per task; tell which sum is that of an answer's side.

        The other side's is the one beside it.
        """
        place = self._first + taken
        if len(taken) == 1:
            return sum_by(place[0], self._weight, self._n_sides), place
        place += self._n_sides * np.arange(len(taken))[:, None]
        weights = np.broadcast_to(self._weight, place.shape).ravel()
        return sum_by(place.ravel(), weights, self._n_sides * len(taken)), place
