"""Ballots: the weighted rankings of tasks with equally many items, as voting rules see them.

A voting rule finds an order of a task's items, best first, in which items are numbered 0..q-1 as they come among the
task's items. Every number here is a share of the task's weight, so that shares within 1e-9 of each other are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import Array, Block, Floats, sum_by
from allalike.blocks.ties import TOLERANCE, Ties
from allalike.columns.hashes import mix
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Ballots", "Part", "Parts", "Ranked", "decide", "hash_orders"]

Ranked = tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]  # an order per task, and whether it was drawn


@dataclass(frozen=True, kw_only=True)
class Part:
    """The tasks of a block that have the same number of items.

    Parameters
    ----------
    block
        Their answers.
    tasks, rows
        The places of the tasks and of the answers in the whole block.
    items
        Of each task: the codes of its items, in their order.
    position
        The place of each item (row) in each answer (column), from 0.
    item_hash
        Of each code: its hash.
    """

    block: Block
    tasks: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    items: Array
    position: Array
    item_hash: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, position: Array) -> Part:
        """Make a part of one task, given the place of each item (row) in each answer (column).

        >>> Part.of(np.array([[0, 1], [1, 0]])).items
        array([[0, 1]])
        """
        n_items, n_answers = position.shape
        return cls(
            block=Block.of(np.zeros((n_answers, 1), np.int64)),
            tasks=np.arange(1),
            rows=np.arange(n_answers),
            items=np.arange(n_items)[None],
            position=position,
            item_hash=np.arange(n_items, dtype=np.uint64),
        )


@dataclass(frozen=True)
class Parts:
    """All tasks of a block, parted by their number of items."""

    parts: tuple[Part, ...]

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)


@dataclass(frozen=True)
class Ballots:
    """The rankings of some tasks, each of the same number of items, and their weights.

    Parameters
    ----------
    part
        The rankings.
    share
        The share of each answer in its task's weight.
    ties
        How equals are told apart.

    >>> part = Part.of(np.array([[0, 0, 2], [1, 2, 1], [2, 1, 0]]))
    >>> ballots = Ballots(part, np.array([0.5, 0.3, 0.2]), Ties())
    >>> ballots.weight_of(part.position[0] == 0)
    array([0.8])
    >>> ballots.before
    array([[[0. , 0.8, 0.8],
            [0.2, 0. , 0.5],
            [0.2, 0.5, 0. ]]])
    """

    part: Part
    share: Floats
    ties: Ties

    @property
    def position(self) -> Array:
        """The place of each item (row) in each answer (column), from 0."""
        return self.part.position

    @property
    def n_items(self) -> int:
        """How many items each task has."""
        return len(self.position)

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return self.part.block.n_tasks

    def weight_of(self, values: Array) -> Floats:
        """Add up, per task, one number per answer, times its share."""
        return self.part.block.per_task(self.share * values)

    def weight_at(self, values: Array) -> Floats:
        """Add up, per task and per number from 0 to q-1, the shares of the answers that have this number."""
        place = self.part.block.to_answers(self.n_items * np.arange(self.n_tasks)) + values
        return sum_by(place, self.share, self.n_items * self.n_tasks).reshape(-1, self.n_items)

    @cached_property
    def before(self) -> Floats:
        """The paper's P: per task, the share that puts item a (row) before item b (column)."""
        shares = np.zeros((self.n_tasks, self.n_items, self.n_items))
        first_side = self.part.block.to_answers(2 * np.arange(self.n_tasks))
        for a, b in combinations(range(self.n_items), 2):
            side = first_side + (self.position[a] < self.position[b])
            both = sum_by(side, self.share, 2 * self.n_tasks).reshape(-1, 2)
            shares[:, b, a], shares[:, a, b] = both.T
        return shares

    @cached_property
    def margin(self) -> Floats:
        """By how much more weight item a is put before item b than after it; rounding does not decide."""
        margin = self.before - self.before.transpose(0, 2, 1)
        margin[np.abs(margin) <= TOLERANCE] = 0.0
        return margin

    def priority(self, tasks: Array) -> npt.NDArray[np.uint64]:
        """Give each item of these tasks its priority in a draw; the smallest wins."""
        items = self.part.items[tasks]
        hashes = self.part.item_hash[items]
        return self.ties.priority(self.part.block.task_hash[tasks, None], hashes, items)

    def by_score(self, score: Floats) -> Ranked:
        """Sort each task's items by score, the largest first, and draw among equals."""
        order = np.argsort(-score, axis=1, kind="stable")
        sorted_score = np.take_along_axis(score, order, axis=1)
        same = sorted_score[:, :-1] - sorted_score[:, 1:] <= TOLERANCE
        drawn = np.asarray(same.any(axis=1))
        tied = np.flatnonzero(drawn)
        if len(tied):
            level = np.zeros((len(tied), self.n_items), np.int64)
            np.cumsum(~same[tied], axis=1, out=level[:, 1:])
            priority = np.take_along_axis(self.priority(tied), order[tied], axis=1)
            again = np.lexsort((priority, level), axis=-1)
            order[tied] = np.take_along_axis(order[tied], again, axis=1)
        return order, drawn


def decide(block: Block, weights: Floats, ties: Ties, find: Callable[[Ballots], Ranked]) -> Decision:
    """Find an order for each task of a block that has its `Parts`.

    Labels are the codes of the items, best first, filled up with -1. How sure an order is depends on the answers'
    distances to it, and is left to the domain.
    """
    weight, total = block.answer_weights(weights)
    share = weight / block.to_answers(total)
    label = np.full((block.n_tasks, block.label.shape[1]), -1, block.label.dtype)
    tied = np.zeros(block.n_tasks, np.bool_)
    for part in block[Parts]:
        order, tied[part.tasks] = find(Ballots(part, share[part.rows], ties))
        label[part.tasks, : part.items.shape[1]] = np.take_along_axis(part.items, order, axis=1)
    return Decision(label, unknown(block.n_tasks), unknown(block.n_tasks), tied)


def hash_orders(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash orders of items, given one row of the items' hashes for each place.

    >>> a, b, c = hash_orders(np.array([[1, 2, 1], [2, 1, 2]], np.uint64))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    result = np.zeros(hashes.shape[1], np.uint64)
    for place in hashes:
        result = mix(result ^ place)
    return result
