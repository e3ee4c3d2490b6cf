"""Parts: the rankings of tasks with equal numbers of items, as complete orders or as comparisons.

Complete orders are compared by `allalike.distances.orders`.

Rankings with ties, gaps or repeated answers are compared pair by pair of items. For each pair, r is the worker's share
for the first item: 1, 0, 1/2 for a tie, or a mean if they compared the pair several times. The distance is

    d(A, B) = sum over pairs compared by both of |r_A - r_B| / number of such pairs,   NaN without such pairs.

For complete orders it is Kendall tau. A tie is halfway between the two orders, which is Fagin's K(1/2) (Fagin, Kumar,
Mahdian, Sivakumar and Vee 2004). With gaps it is not a metric: a>b and b>c agree with everything they do not compare.
Sums over peers are pooled over pairs of items in linear time (`allalike.distances.absolute`), and divided by the mean
number of pairs that an answer to the task compares. Only pairs that occur are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import pair_chunks
from allalike.distances.absolute import add_in_order
from allalike.distances.jaccard import ranges
from allalike.distances.orders import PositionDistance, weigh_sides
from allalike.domains.rankings.codes import Codes, Rankings, unpack

_PAIRS_PER_CHUNK = 1 << 21  # pairs of items listed at a time
_TABLE_NUMBERS = 1 << 21  # numbers in a table of several tasks


@dataclass(frozen=True, kw_only=True)
class Part:
    """Tasks of a block with equal numbers of items; `items` has a row per task.

    `rows` are the answers to these tasks, and `block` contains only them.
    """

    block: Block
    tasks: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    items: Array


@dataclass(frozen=True, kw_only=True)
class Orders(Part):
    """Complete orders without ties; `position` has a row per item and a column per answer."""

    position: Array

    def peer_distances(self, weight: Floats, distance: PositionDistance) -> tuple[Floats, Floats]:
        """Return the weighted distance of each answer to its peers, and the total weight of these peers."""
        others = self.block.to_answers(self.block.per_task(weight)) - weight
        return distance.to_peers(self.block, self.position, weight), others

    def compare_pairs(
        self, block: Block, rows: slice, distance: PositionDistance
    ) -> Iterator[tuple[Array, Array, Floats, Floats]]:
        """Yield pairs of workers of the whole block (the first in ``rows``), their distances and multiplicities."""
        own = replace(self.block, worker=block.worker[self.rows], n_workers=block.n_workers)
        for left, right in pair_chunks(own, rows):
            apart = distance.between(self.position[:, left], self.position[:, right])
            yield own.worker[left], own.worker[right], apart, np.ones(len(left))

    def prefer(self, share: Floats) -> tuple[Floats, Floats, Floats]:
        """Return three tables per task: share that prefers a (row) to b, share that compares them, and win counts."""
        n_tasks, q = self.items.shape
        shares = np.zeros((n_tasks, q, q))
        for a, others, sums, _ in weigh_sides(self.block, self.position, share):
            shares[:, others, a], shares[:, a, others] = sums.reshape(-1, n_tasks, 2).T
        return shares, np.broadcast_to(1.0 - np.eye(q), shares.shape), shares * self.block.sizes[:, None, None]


class PairShares(NamedTuple):
    """Pairs of items a < b in labels: the share that prefers a, and the number of comparisons on which it is based."""

    label: npt.NDArray[np.intp]
    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    share: Floats
    times: Floats

    def keys(self, width: int) -> npt.NDArray[np.int64]:
        """Return a key for each label and pair, given an upper bound on item numbers."""
        return np.asarray((self.label * width + self.a) * width + self.b)


def share_pairs(rankings: Rankings) -> PairShares:
    """List the distinct pairs of items in each label.

    >>> from allalike.domains.rankings.codes import NEXT, TIED, pack
    >>> pairs = share_pairs(unpack(pack([(3, TIED, 1, 2), (0, 1, NEXT, 1, 0, NEXT, 0, 1)])))
    >>> pairs.a, pairs.b, pairs.share.round(3), pairs.times
    (array([1, 1, 2, 0]), array([2, 3, 3, 1]), array([1.   , 0.5  , 0.   , 0.667]), array([1., 1., 1., 3.]))
    """
    starts, lengths = rankings.starts, rankings.lengths
    places = [np.empty((2, 0), np.intp)]
    for k in np.unique(lengths[lengths > 1]):
        place = starts[lengths == k][:, None] + np.arange(k)
        places.append(np.stack([place[:, side].ravel() for side in np.triu_indices(int(k), 1)]))
    left, right = np.concatenate(places, axis=1)
    first, second = rankings.item[left], rankings.item[right]
    share = np.where(rankings.level[left] < rankings.level[right], 1.0, 0.5)
    share = np.where(first > second, 1.0 - share, share)
    label, a, b = rankings.label[left], np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((b, a, label))
    label, a, b, share = label[order], a[order], b[order], share[order]
    begin = np.flatnonzero(_changes(label, a, b))
    times = np.diff(np.append(begin, len(share))).astype(np.float64)
    mean = np.add.reduceat(share, begin) / times if len(begin) else share
    return PairShares(label[begin], a[begin], b[begin], mean, times)


def _changes(*columns: Array) -> npt.NDArray[np.bool_]:
    """Return whether each row differs from the previous one."""
    return np.append(True, np.any([np.diff(column) != 0 for column in columns], axis=0))[: len(columns[0])]


def compare_codes(left: Codes, right: Codes) -> Floats:
    """Compare codes of rankings row by row; NaN if no pair of items is in both."""
    n_pairs = sum((len(code) // 4) ** 2 for code in (*left, *right)) // 2
    parts = (np.array_split(side, 1 + n_pairs // _PAIRS_PER_CHUNK) for side in (left, right))
    return np.concatenate([_compare(unpack(ours), unpack(theirs)) for ours, theirs in zip(*parts, strict=True)])


def _compare(one: Rankings, other: Rankings) -> Floats:
    width = int(max(one.item.max(initial=0), other.item.max(initial=0))) + 1
    ours, theirs = share_pairs(one), share_pairs(other)
    _, i, j = np.intersect1d(ours.keys(width), theirs.keys(width), assume_unique=True, return_indices=True)
    met = sum_by(ours.label[i], np.ones(len(i)), one.n_labels)
    missed = sum_by(ours.label[i], np.abs(ours.share[i] - theirs.share[j]), one.n_labels)
    return np.where(met > 0, missed / np.maximum(met, 1), np.nan)


@dataclass(frozen=True, kw_only=True)
class Comparisons(Part):
    """Comparisons of answers with ties or gaps, sorted by pair of items.

    A pair of items is treated like a task whose labels are shares: `pairs` is a block of them. Items ``a`` and ``b`` of
    a pair are numbered across all tasks. Equal shares of a pair form a level.
    """

    pairs: Block
    a: npt.NDArray[np.intp]
    b: npt.NDArray[np.intp]
    answer: npt.NDArray[np.intp]
    count: Floats
    level: npt.NDArray[np.intp]
    level_share: Floats
    n_levels: npt.NDArray[np.int64]
    unit: Floats

    @classmethod
    def of(cls, n_items: int, rankings: Rankings, block: Block, **part: Any) -> Comparisons:
        """Compare the items of tasks with n_items items, given the rankings of their answers."""
        task = block.task
        width = int(rankings.item.max(initial=0)) + 1
        there, place = np.unique(task[rankings.label] * width + rankings.item, return_inverse=True)
        shares = share_pairs(rankings._replace(item=place))
        order = np.lexsort((shares.share, shares.b, shares.a))  # keeps the order of labels
        answer, a, b, share, count = (column[order] for column in shares)
        new = _changes(a, b)
        starts, rises = np.flatnonzero(new), new | _changes(share)
        level = np.cumsum(rises) - 1
        n_pairs = sum_by(task[answer], np.ones(len(answer)), block.n_tasks)
        return cls(
            **part,
            block=block,
            items=(there % width).reshape(-1, n_items),
            a=a[starts],
            b=b[starts],
            pairs=replace(
                block,
                starts=starts,
                sizes=np.diff(np.append(starts, len(a))),
                worker=np.zeros(len(answer), np.intp),  # unused: `compare_pairs` looks up current workers
                label=share,
                task_hash=np.zeros(len(starts), np.uint64),
            ),
            answer=answer,
            count=count,
            level=level,
            level_share=share[rises],
            n_levels=np.diff(np.append(level[starts], int(rises.sum()))),
            unit=np.maximum(n_pairs / np.maximum(block.sizes, 1), 1e-300),
        )

    def _per_pair(self, values: Floats) -> Floats:
        """Sum one number per comparison for each pair."""
        return np.add.reduceat(values, self.pairs.starts) if len(values) else np.zeros(0)

    def peer_distances(self, weight: Floats, _: object = None) -> tuple[Floats, Floats]:
        """Return the weighted distance of each answer to its peers, and the total weight of these peers."""
        if not len(self.answer):
            return np.zeros(len(self.rows)), np.zeros(len(self.rows))
        own = weight[self.answer]
        at_level, total = sum_by(self.level, own, len(self.level_share)), self._per_pair(own)
        apart = add_in_order(self.level_share, at_level, self.n_levels, total)[self.level]
        others = np.maximum(total[self.pairs.task] - own, 0.0)
        unit = self.block.to_answers(self.unit)
        sums = [sum_by(self.answer, values, len(self.rows)) / unit for values in (apart, others)]
        return sums[0], sums[1]

    def compare_pairs(
        self, block: Block, rows: slice, _: object = None
    ) -> Iterator[tuple[Array, Array, Floats, Floats]]:
        """Yield pairs of workers of the whole block (the first in ``rows``), their distances and multiplicities."""
        worker, share = block.worker[self.rows[self.answer]], self.pairs.label
        unit = self.unit[self.a // self.items.shape[1]][self.pairs.task]
        pairs = replace(self.pairs, worker=worker, n_workers=block.n_workers)
        for left, right in pair_chunks(pairs, rows) if len(self.answer) else ():
            yield worker[left], worker[right], np.abs(share[left] - share[right]) / unit[left], 1.0 / unit[left]

    def prefer(self, share: Floats) -> tuple[Floats, Floats, Floats]:
        """Return three tables per task: share that prefers a (row) to b, share that compares them, and win counts."""
        n_tasks, q = self.items.shape
        own, ahead = share[self.answer], self.pairs.label
        often = own * self.count * self.block.sizes[self.a // q][self.pairs.task]
        wins, losses, won, lost = (
            self._per_pair(values * part) for values in (own, often) for part in (ahead, 1 - ahead)
        )
        totals, task = self._per_pair(own), self.a // q
        tables = np.zeros((3, n_tasks, q, q))
        tables[:, task, self.a % q, self.b % q] = [wins, totals, won]
        tables[:, task, self.b % q, self.a % q] = [losses, totals, lost]
        return tables[0], tables[1], tables[2]


@dataclass(frozen=True)
class Parts:
    """All tasks of a block, split by the number of items and completeness, so that tables stay small."""

    parts: tuple[Orders | Comparisons, ...]
    item_hash: npt.NDArray[np.uint64]
    keep_ties: bool


def split_tasks(block: Block, n_items: Array, complete: Array) -> Iterator[tuple[int, bool, Array, Array]]:
    """Yield groups of tasks with equal numbers of items: this number, completeness, the tasks and their answers."""
    ends = block.starts + block.sizes
    for whole in (True, False):
        for q in np.unique(n_items[complete == whole]).tolist():
            alike = np.flatnonzero((n_items == q) & (complete == whole))
            for tasks in (alike[some] for some in cut_tasks(len(alike), q * q)):
                yield q, whole, tasks, ranges(block.starts[tasks], ends[tasks])[1]


def cut_tasks(n_tasks: int, numbers_per_task: int) -> Iterator[slice]:
    """Yield groups of tasks whose tables stay small."""
    step = max(_TABLE_NUMBERS // max(numbers_per_task, 1), 1)
    return (slice(first, min(first + step, n_tasks)) for first in range(0, n_tasks, step))
