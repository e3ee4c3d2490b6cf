"""All orders of a few items: one table per number of items, for rules that look at every order there is.

Orders are listed as a dictionary lists words, so the first of several is the one with the first items in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, pairwise, permutations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE
from allalike._core.limits import MAX_LISTED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Drawn, hash_orders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.block import Array, Floats

_NUMBERS_PER_TABLE = 1 << 20  # numbers in one table of tasks and orders


@dataclass(frozen=True)
class Orders:
    """All orders of some items.

    >>> three = all_orders(3)
    >>> len(three.order), three.order[1], three.number(np.array([[0, 2, 1], [2, 1, 0]]))
    (6, array([0, 2, 1], dtype=int8), array([1, 5]))
    >>> three.order[three.reverse[1]]
    array([1, 2, 0], dtype=int8)
    >>> three.levels(np.arange(6)[:, None] == 0).T
    array([[0, 1, 1, 2, 2, 3]], dtype=int8)
    """

    order: npt.NDArray[np.int8]

    @property
    def n_items(self) -> int:
        """How many items are ordered."""
        return int(self.order.shape[1])

    @cached_property
    def forth(self) -> Floats:
        """Per pair of items a < b (row) and order (column): 1 if a comes before b, else 0."""
        place = np.argsort(self.order, axis=1)
        columns = [place[:, a] < place[:, b] for a, b in combinations(range(self.n_items), 2)]
        return np.array(columns, np.float64).reshape(-1, len(self.order))

    @cached_property
    def reverse(self) -> npt.NDArray[np.intp]:
        """The number of each order read from its end."""
        return self.number(self.order[:, ::-1])

    @cached_property
    def neighbours(self) -> npt.NDArray[np.intp]:
        """Per place (row), the number of the order in which its item and the next have changed places."""
        swapped = []
        for here, there in pairwise(range(self.n_items)):
            order = self.order.copy()
            order[:, [here, there]] = order[:, [there, here]]
            swapped.append(self.number(order))
        return np.array(swapped, np.intp).reshape(-1, len(self.order))

    def number(self, order: Array) -> npt.NDArray[np.intp]:
        """Return the numbers of orders, given as rows: how many come before each."""
        numbers = np.zeros(len(order), np.intp)
        for k in range(self.n_items):
            smaller = (order[:, k + 1 :] < order[:, k, None]).sum(axis=1)
            numbers += smaller * factorial(self.n_items - 1 - k)
        return numbers

    def cost(self, against: Floats) -> Floats:
        """Add up, per task and order, against[b, a] over all pairs with a before b."""
        pairs = list(combinations(range(self.n_items), 2))
        first, second = np.array(pairs, np.intp).reshape(-1, 2).T
        back, forth = against[:, first, second], against[:, second, first]
        return np.asarray(back.sum(axis=1, keepdims=True) + (forth - back) @ self.forth)

    def levels(self, start: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
        """Count, per order (row) and task, the swaps of neighbours that lead to it from the nearest of some orders."""
        level = np.where(start, 0, -1).astype(np.int8)
        reached = start
        for step in range(1, self.n_items * (self.n_items - 1) // 2 + 1):
            new = np.zeros_like(reached)
            for neighbour in self.neighbours:
                new |= reached[neighbour]
            new &= level < 0
            if not new.any():
                break
            level[new] = step
            reached = new
        return level


@lru_cache(maxsize=MAX_LISTED_ITEMS + 1)
def all_orders(n_items: int) -> Orders:
    """List all orders of so many items.

    >>> all_orders(2).order.tolist()
    [[0, 1], [1, 0]]
    """
    return Orders(np.array(list(permutations(range(n_items))), np.int8).reshape(-1, n_items))


def task_chunks(tasks: npt.NDArray[np.intp], numbers_per_task: int) -> Iterator[npt.NDArray[np.intp]]:
    """Cut tasks into chunks whose tables stay small.

    >>> list(task_chunks(np.array([3, 5, 6]), 1 << 19))
    [array([3, 5]), array([6])]
    """
    step = max(_NUMBERS_PER_TABLE // numbers_per_task, 1)
    return (tasks[start : start + step] for start in range(0, len(tasks), step))


def draw_order(votes: Ballots, tasks: npt.NDArray[np.intp], badness: Floats) -> Drawn:
    """Take, for each of these tasks, the order with the least badness, and draw among equals; one column per order.

    >>> from allalike._core.blocks.block import Ties
    >>> from allalike.domains.rankings.ballots import Part
    >>> votes = Ballots(Part.of(np.array([[0], [1]])), np.ones(1), Ties(first=True))
    >>> order, drawn = draw_order(votes, np.array([0]), np.array([[0.5, 0.5]]))
    >>> order, drawn
    (array([[0, 1]]), array([ True]))
    """
    table = all_orders(votes.n_items)
    best = badness <= badness.min(axis=1, keepdims=True) + TOLERANCE
    winner = best.argmax(axis=1)
    drawn = np.count_nonzero(best, axis=1) > 1
    if drawn.any():
        place, number = np.nonzero(best & drawn[:, None])
        items = votes.part.items[tasks[place, None], table.order[number]]
        hashes = hash_orders(votes.part.item_hash[items].T)
        priority = votes.ties.priority(votes.part.block.task_hash[tasks[place]], hashes, number)
        ranked = np.lexsort((priority, place))
        first = np.concatenate([[True], np.diff(place[ranked]) > 0])
        winner[drawn] = number[ranked[first]]
    return table.order[winner].astype(np.intp), drawn
