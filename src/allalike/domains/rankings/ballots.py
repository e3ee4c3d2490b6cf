"""Ballots: the weighted rankings of tasks with equally many items, as voting rules see them.

A voting rule finds an order of a task's items, best first, in which items are numbered 0..q-1 as they come among the
task's items. Every number here is a share of the task's weight, so that shares within 1e-9 of each other are equal.

Where answers have ties or gaps, there are no positions. Then P(a, b) is the share of weight that puts a before b, plus
half of the weight that says nothing of it, be it by a tie or by a gap; so the margin P(a, b) - P(b, a) is what those
say who do compare a with b, and 0 where nobody does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike._core.columns.hashes import mix
from allalike.domains.rankings.codes import TIED, Sides, item_pairs, pack, pack_rows
from allalike.domains.rankings.tables import check_tables, few_tasks
from allalike.errors import UnsupportedError
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike.domains.rankings.comparisons import Comparisons


class Scored(NamedTuple):
    """An order per task, whether some of it was drawn, and which items have the same score as the one before."""

    order: npt.NDArray[np.intp]
    drawn: npt.NDArray[np.bool_]
    equal: npt.NDArray[np.bool_]


Drawn = tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]  # an order per task, and whether it was drawn
Ranked = Scored | Drawn


@dataclass(frozen=True, kw_only=True)
class Part:
    """The tasks of a block that have the same number of items."""

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

    def cut(self) -> Iterator[Part]:
        """Yield some tasks at a time, so that tables of their pairs of items stay small."""
        n_tasks, q = self.items.shape
        ends = np.concatenate([[0], np.cumsum(self.block.sizes)])
        for some in few_tasks(n_tasks, q):
            rows = slice(ends[some.start], ends[some.stop])
            yield (
                self
                if some == slice(0, n_tasks)
                else replace(
                    self,
                    block=self.block.pick(np.arange(some.start, some.stop), np.arange(rows.start, rows.stop)),
                    tasks=self.tasks[some],
                    rows=self.rows[rows],
                    items=self.items[some],
                    position=self.position[:, rows],
                )
            )


@dataclass(frozen=True)
class Parts:
    """All tasks of a block: complete orders, grouped by their number of items, and those with ties or gaps."""

    parts: tuple[Part, ...]
    loose: Comparisons | None = None
    item_hash: npt.NDArray[np.uint64] | None = None
    keep_ties: bool = False

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)


@dataclass(frozen=True)
class Ballots:
    """The rankings of some tasks, each of the same number of items, and their weights.

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
        return int(self.part.items.shape[1])

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
        check_tables(self.n_items)
        shares = np.zeros((self.n_tasks, self.n_items, self.n_items))
        sides = Sides(self.part.block, self.share)
        for a, others in item_pairs(self.n_items, len(self.share)):
            sums, _ = sides.weigh(self.position[a] < self.position[others])
            shares[:, others, a], shares[:, a, others] = sums.reshape(-1, self.n_tasks, 2).T
        return shares

    @property
    def wins(self) -> Floats:
        """Per task and item, the number of others that it is put before, by the mean of the answers, up to a constant.

        It is sum_b P(a, b), or just as well minus the mean position.
        """
        return -np.stack([self.weight_of(places) for places in self.position], axis=1)

    @property
    def counts(self) -> Floats:
        """Per task, how often item a (row) was preferred to item b; an answer counts once if all weigh the same."""
        return self.before * self.part.block.sizes[:, None, None]

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
        equal = np.zeros(order.shape, np.bool_)
        sorted_score = np.take_along_axis(score, order, axis=1)
        same = sorted_score[:, :-1] - sorted_score[:, 1:] <= TOLERANCE
        equal[:, 1:] = same
        drawn = np.asarray(same.any(axis=1))
        tied = np.flatnonzero(drawn)
        if len(tied):
            level = np.zeros((len(tied), self.n_items), np.int64)
            np.cumsum(~same[tied], axis=1, out=level[:, 1:])
            priority = np.take_along_axis(self.priority(tied), order[tied], axis=1)
            again = np.lexsort((priority, level), axis=-1)
            order[tied] = np.take_along_axis(order[tied], again, axis=1)
        return Scored(order, drawn, equal)


@dataclass(frozen=True)
class PairBallots(Ballots):
    """What answers with ties and gaps say of pairs of items."""

    shares: Floats
    totals: Floats
    counted: Floats

    @property
    def position(self) -> Array:
        """Nothing: with ties and gaps there are none."""
        raise UnsupportedError(
            "Plurality, veto, bucklin, stv and minimax count places, so every answer must rank all items of its task,"
            " and none of them tied. Here some answers have ties or gaps. Take borda, copeland, maximin, schulze,"
            " ranked pairs, kemeny, slater or bradley terry."
        )

    @cached_property
    def before(self) -> Floats:
        """The share that puts item a before item b, with half of the weight that says nothing of it."""
        before = 0.5 + (self.shares - self.shares.transpose(0, 2, 1)) / 2
        before[:, np.arange(self.n_items), np.arange(self.n_items)] = 0.0
        return before

    @property
    def wins(self) -> Floats:
        """Per task and item, its mean share against the items that it was compared with (expected wins)."""
        compared = self.totals > 0
        share = np.divide(self.shares, self.totals, out=np.zeros(self.shares.shape), where=compared)
        others = compared.sum(axis=2)
        return np.where(others > 0, share.sum(axis=2) / np.maximum(others, 1), 0.5)

    @property
    def counts(self) -> Floats:
        """Per task, how often item a (row) was preferred to item b; a tie counts half."""
        return self.counted


def list_ballots(block: Block, weights: Floats, ties: Ties) -> Iterator[tuple[npt.NDArray[np.intp], Ballots]]:
    """Yield the ballots of all tasks of a block that has its `Parts`, each with the places of its tasks."""
    weight, total = block.answer_weights(weights)
    share = weight / block.to_answers(total)
    parts = block[Parts]
    for whole in parts:
        for part in whole.cut():
            yield part.tasks, Ballots(part, share[part.rows], ties)
    if parts.loose is not None:
        assert parts.item_hash is not None
        yield from _pair_ballots(block, parts.loose, parts.item_hash, share[parts.loose.rows], ties)


def _pair_ballots(
    block: Block, found: Comparisons, item_hash: npt.NDArray[np.uint64], share: Floats, ties: Ties
) -> Iterator[tuple[npt.NDArray[np.intp], Ballots]]:
    """Yield the ballots of tasks with ties and gaps, some with equally many items at a time."""
    n_items, sizes = np.diff(found.first), block.sizes[found.tasks]
    own = share[found.answer]
    often = own * found.count * sizes[found.pair_task][found.pair]
    totals = found.per_pair(own)
    sides = [found.per_pair(values * part) for values in (own, often) for part in (found.share, 1 - found.share)]
    for q in np.unique(n_items).tolist():
        check_tables(q)
        alike = np.flatnonzero(n_items == q)
        for tasks in (alike[some] for some in few_tasks(len(alike), q)):
            number = np.full(len(n_items), -1)
            number[tasks] = np.arange(len(tasks))
            pairs = np.flatnonzero(number[found.pair_task] >= 0)
            task = number[found.pair_task[pairs]]
            a, b = (side[pairs] - found.first[found.pair_task[pairs]] for side in (found.a, found.b))
            tables = []
            for one, other in ((sides[0], sides[1]), (totals, totals), (sides[2], sides[3])):
                table = np.zeros((len(tasks), q, q))
                table[task, a, b], table[task, b, a] = one[pairs], other[pairs]
                tables.append(table)
            places = found.tasks[tasks]
            part = Part(
                block=block.pick(places, np.empty(0, np.intp)),
                tasks=places,
                rows=np.empty(0, np.intp),
                items=found.items[found.first[tasks][:, None] + np.arange(q)],
                position=np.empty((q, 0), np.int8),
                item_hash=item_hash,
            )
            part = replace(part, block=replace(part.block, sizes=sizes[tasks]))
            yield places, PairBallots(part, np.empty(0), ties, *tables)


def decide(block: Block, weights: Floats, ties: Ties, find: Callable[[Ballots], Ranked]) -> Decision:
    """Find an order for each task of a block that has its `Parts`.

    Labels are codes of the form that those of the answers have. How sure an order is depends on the answers' distances
    to it, and is left to the domain.
    """
    rows = block.label.ndim == 2
    label = (
        np.full((block.n_tasks, block.label.shape[1]), -1, block.label.dtype) if rows else np.empty(block.n_tasks, "O")
    )
    tied = np.zeros(block.n_tasks, np.bool_)
    keep = block[Parts].keep_ties and not rows
    for tasks, votes in list_ballots(block, weights, ties):
        found = find(votes)
        order, tied[tasks] = found[:2]
        items = np.take_along_axis(votes.part.items, order, axis=1)
        if keep and isinstance(found, Scored):
            label[tasks], tied[tasks] = _pack_tied(items, found.equal), False
        elif rows:
            label[tasks, : items.shape[1]] = items
        else:
            label[tasks] = pack_rows(items)
    return Decision(label, unknown(block.n_tasks), unknown(block.n_tasks), tied)


def _pack_tied(items: Array, equal: Array) -> npt.NDArray[np.object_]:
    """Write orders as codes, in which items with equal scores are tied, in their order."""
    levels = np.cumsum(~equal, axis=1)
    items = np.take_along_axis(items, np.lexsort((items, levels), axis=-1), axis=1)
    return pack(
        [number for item, same in zip(row, ties, strict=True) for number in ((TIED, item) if same else (item,))]
        for row, ties in zip(items.tolist(), equal.tolist(), strict=True)
    )


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
