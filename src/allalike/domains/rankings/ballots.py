"""Ballots: weighted rankings of tasks with equal numbers of items, the input of voting rules.

A voting rule returns an order of each task's items, best first. Items are numbered 0..q-1 within their task. All
numbers are shares of the task's weight. Shares within 1e-9 of each other are equal.

Answers with ties or gaps have no positions. P(a, b) is then the share of weight that prefers a to b, plus half of the
weight that does not order the two. The margin P(a, b) - P(b, a) therefore depends only on workers who compare a with b,
and is 0 if there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike._core.columns.hashes import mix
from allalike._core.system.memory import check_memory
from allalike.domains.rankings.codes import TIED, Codes, pack
from allalike.domains.rankings.parts import Comparisons, Orders, Parts
from allalike.errors import TooLargeError, UnsupportedError
from allalike.rules.base import Decision, unknown

_MOST_TABLES = 8  # tables of equal size at a time


class Ranked(NamedTuple):
    """An order per task, whether it contains random choices, which items tie with their predecessor, and results."""

    order: npt.NDArray[np.intp]
    drawn: npt.NDArray[np.bool_]
    equal: npt.NDArray[np.bool_] | None = None
    more: Mapping[str, Floats] = {}  # a number per task and item, in this order


@dataclass(frozen=True)
class Ballots:
    """The rankings of some tasks with equal numbers of items, and the share of each answer."""

    part: Orders | Comparisons
    share: Floats
    parts: Parts
    ties: Ties

    @property
    def position(self) -> Array:
        """The position of each item (row) in each answer (column), from 0."""
        if isinstance(self.part, Orders):
            return self.part.position
        raise UnsupportedError(
            "Plurality, veto, bucklin, stv and minimax count positions, so every answer must rank all items of its"
            " task without ties. Some answers have ties or gaps. Use borda, copeland, maximin, schulze, ranked pairs,"
            " kemeny, slater or bradley terry."
        )

    @property
    def n_items(self) -> int:
        """The number of items per task."""
        return int(self.part.items.shape[1])

    @property
    def n_tasks(self) -> int:
        """The number of tasks."""
        return len(self.part.tasks)

    def weight_of(self, values: Array) -> Floats:
        """For each task and item (row of values), sum one number per answer times its share."""
        return np.stack([self.part.block.per_task(self.share * each) for each in values], axis=1)

    def weight_at(self, values: Array) -> Floats:
        """For each task and each value from 0 to q-1, sum the shares of the answers."""
        place = self.n_items * self.part.block.task + values
        return sum_by(place, self.share, self.n_items * self.n_tasks).reshape(-1, self.n_items)

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        check_memory(
            8 * _MOST_TABLES * self.n_items**2,
            f"Comparing every pair of {self.n_items:,} items",
            "Without ties and gaps, the rule 'borda' needs no pairs.",
        )
        return self.part.prefer(self.share)

    @cached_property
    def before(self) -> Floats:
        """The P of the paper: per task, the share that prefers item a (row) to item b (column)."""
        shares = self._tables[0]
        before = 0.5 + (shares - shares.transpose(0, 2, 1)) / 2
        before[:, np.arange(self.n_items), np.arange(self.n_items)] = 0.0
        return before

    @property
    def wins(self) -> Floats:
        """The mean share of each item in its comparisons; for complete orders, minus its position."""
        if isinstance(self.part, Orders):
            return -self.weight_of(self.position)
        shares, totals, _ = self._tables
        others = np.count_nonzero(totals > 0, axis=2)
        sums = np.divide(shares, totals, out=np.zeros(shares.shape), where=totals > 0).sum(axis=2)
        return np.where(others > 0, sums / np.maximum(others, 1), 0.5)

    @property
    def counts(self) -> Floats:
        """The number of times that item a (row) was preferred to item b; with equal weights each answer counts once."""
        return self._tables[2]

    @cached_property
    def margin(self) -> Floats:
        """The weight for a over b minus the weight for b over a, without rounding errors."""
        margin = self.before - self.before.transpose(0, 2, 1)
        margin[np.abs(margin) <= TOLERANCE] = 0.0
        return margin

    def priority(self, tasks: Array) -> npt.NDArray[np.uint64]:
        """Return the random priority of each item of these tasks; the smallest wins a tie."""
        items = self.part.items[tasks]
        return self.ties.priority(self.part.block.task_hash[tasks, None], self.parts.item_hash[items], items)

    def by_score(self, score: Floats) -> Ranked:
        """Sort each task's items by decreasing score; items with equal scores are tied or in random order."""
        order = np.argsort(-score, axis=1, kind="stable")
        equal = np.zeros(order.shape, np.bool_)
        equal[:, 1:] = -np.diff(np.take_along_axis(score, order, axis=1), axis=1) <= TOLERANCE
        drawn = np.asarray(equal.any(axis=1))
        tied = np.flatnonzero(drawn)
        if len(tied):
            level = np.cumsum(~equal[tied], axis=1)
            priority = self.part.items[tied] if self.parts.keep_ties else self.priority(tied)
            again = np.lexsort((np.take_along_axis(priority, order[tied], axis=1), level), axis=-1)
            order[tied] = np.take_along_axis(order[tied], again, axis=1)
        return Ranked(order, drawn, equal) if self.parts.keep_ties else Ranked(order, drawn)


def voting_rule(find: Callable[[Ballots], Ranked]) -> Callable[[Block, Floats, Floats, Ties], Decision]:
    """Convert a function that orders the items of each task into a rule; its block needs `Parts`.

    The label type adds the confidence.
    """

    @wraps(find)
    def rule(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        label, tied = np.empty(block.n_tasks, object), np.zeros(block.n_tasks, np.bool_)
        more: dict[str, Array] = {}
        weight, total = block.answer_weights(weights)
        share, parts = weight / block.to_answers(total), block[Parts]
        for part in parts.parts:
            ranked = find(Ballots(part, share[part.rows], parts, ties))
            items = np.take_along_axis(part.items, ranked.order, axis=1).tolist()
            if ranked.equal is None:
                label[part.tasks], tied[part.tasks] = pack(items), ranked.drawn
            else:
                label[part.tasks] = _pack_tied(items, ranked.equal)
            for name, table in ranked.more.items():
                column = more.setdefault(name, np.empty(block.n_tasks, object))
                column[part.tasks] = np.fromiter(table, object, len(table))
        return Decision(label, unknown(block.n_tasks), unknown(block.n_tasks), tied, more)

    return rule


def _pack_tied(items: list[list[int]], equal: Array) -> Codes:
    """Convert orders to codes in which items with equal scores are tied."""
    return pack(
        [number for item, same in zip(row, ties, strict=True) for number in ((TIED, item) if same else (item,))]
        for row, ties in zip(items, equal.tolist(), strict=True)
    )


def hash_orders(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash orders of items, given the items' hashes with one row per position."""
    result = np.zeros(hashes.shape[1], np.uint64)
    for place in hashes:
        result = mix(result ^ place)
    return result


def check_time(n_items: int, *, most: int, rule: str) -> None:
    """Raise an error if a search over orders of these items would take many minutes.

    >>> check_time(2000, most=1000, rule="kemeny")
    Traceback (most recent call last):
    allalike.errors.TooLargeError: A task has 2,000 items, but the rule 'kemeny' supports at most 1,000, because its run
    time grows steeply. Use schulze, copeland, borda or bradley terry, which take seconds.
    """
    if n_items > most:
        raise TooLargeError(
            f"A task has {n_items:,} items, but the rule {rule!r} supports at most {most:,}, because its run time grows"
            " steeply. Use schulze, copeland, borda or bradley terry, which take seconds."
        )
