"""Comparisons: pairs of items, for rankings with ties, gaps, and several rankings by one worker.

A ranking of k items compares k (k - 1) / 2 pairs. For each, r is the worker's share for the first item: 1, 0, or 1/2
for a tie, and in between if they compared the pair several times. The distance of two answers is

    d(A, B) = sum over pairs both compared of |r_A - r_B| / number of such pairs,   NaN if there is none.

Between complete orders it is Kendall tau; a tie is halfway between both orders, which is Fagin's K(1/2) (Fagin, Kumar,
Mahdian, Sivakumar and Vee 2004). It is no metric where gaps are unknown: a>b and b>c agree with whatever they do not
compare. Sums over peers are pooled over pairs of items, linear in the number of comparisons
(`allalike.distances.absolute`), and divided by the mean number of pairs that an answer to the task compares. Only pairs
that occur are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import pair_chunks
from allalike.distances.absolute import add_in_order
from allalike.domains.rankings.codes import Codes, Rankings, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.matrices import MatrixSum

_PAIRS_PER_CHUNK = 1 << 21  # pairs of items that are listed together


class PairShares(NamedTuple):
    """Pairs of items a < b of labels: the share for a, and how many comparisons it is the mean of."""

    label: npt.NDArray[np.intp]
    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    share: Floats
    times: Floats


def share_pairs(rankings: Rankings) -> PairShares:
    """List the pairs of items of each label, each once.

    >>> from allalike.domains.rankings.codes import NEXT, TIED, pack
    >>> pairs = share_pairs(unpack(pack([(3, TIED, 1, 2), (0, 1, NEXT, 1, 0, NEXT, 0, 1)])))
    >>> pairs.a, pairs.b, pairs.share.round(3), pairs.times
    (array([1, 1, 2, 0]), array([2, 3, 3, 1]), array([1.   , 0.5  , 0.   , 0.667]), array([1., 1., 1., 3.]))
    """
    starts, lengths = rankings.starts, rankings.lengths
    empty = np.empty(0, np.intp)
    ahead, behind = [empty], [empty]
    for k in np.unique(lengths[lengths > 1]):
        place = starts[lengths == k][:, None] + np.arange(k)
        i, j = np.triu_indices(int(k), 1)
        ahead.append(place[:, i].ravel())
        behind.append(place[:, j].ravel())
    left, right = np.concatenate(ahead), np.concatenate(behind)
    first, second = rankings.item[left], rankings.item[right]
    share = np.where(rankings.level[left] < rankings.level[right], 1.0, 0.5)
    share = np.where(first > second, 1.0 - share, share)
    label, a, b = rankings.label[left], np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((b, a, label))
    label, a, b, share = label[order], a[order], b[order], share[order]
    new = np.append(True, (np.diff(label) != 0) | (np.diff(a) != 0) | (np.diff(b) != 0))[: len(label)]
    begin = np.flatnonzero(new)
    times = np.diff(np.append(begin, len(share))).astype(np.float64)
    mean = np.add.reduceat(share, begin) / times if len(begin) else share
    return PairShares(label[begin], a[begin], b[begin], mean, times)


def _list_chunks(n_pairs: Array, *sides: Rankings) -> Iterator[list[PairShares]]:
    """Yield the pairs of some labels at a time, of one side or of two, so that they fit in memory."""
    chunk = np.cumsum(n_pairs) // _PAIRS_PER_CHUNK
    for number in np.unique(chunk):
        yield [share_pairs(side.keep(chunk[side.label] == number)) for side in sides]


def distance(left: Codes, right: Codes) -> Floats:
    """Compare codes of rankings row by row; NaN where no pair of items is in both."""
    one, other = unpack(left), unpack(right)
    width = int(max(one.item.max(initial=0), other.item.max(initial=0))) + 1
    n_met, missed = np.zeros((2, len(left)))
    for ours, theirs in _list_chunks(one.n_pairs + other.n_pairs, one, other):
        keys, others = ((pairs.label * width + pairs.a) * width + pairs.b for pairs in (ours, theirs))
        _, i, j = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
        n_met += sum_by(ours.label[i], np.ones(len(i)), len(left))
        missed += sum_by(ours.label[i], np.abs(ours.share[i] - theirs.share[j]), len(left))
    return np.where(n_met > 0, missed / np.maximum(n_met, 1), np.nan)


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """The comparisons in the answers to some tasks of a block, pair of items after pair.

    A pair of items is like a task of its own, whose labels are shares: `block` holds these. Equal shares of a pair are
    a level.
    """

    tasks: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    answer_task: npt.NDArray[np.intp]
    items: npt.NDArray[np.int64]
    first: npt.NDArray[np.intp]
    pair_task: npt.NDArray[np.intp]
    a: npt.NDArray[np.intp]
    b: npt.NDArray[np.intp]
    block: Block
    answer: npt.NDArray[np.intp]
    count: Floats
    level: npt.NDArray[np.intp]
    level_share: Floats
    n_levels: npt.NDArray[np.int64]
    unit: Floats

    @classmethod
    def of(
        cls, block: Block, tasks: npt.NDArray[np.intp], rows: npt.NDArray[np.intp], rankings: Rankings
    ) -> Comparisons:
        """Compare the items of some tasks of a block, given the rankings of their answers."""
        answer_task = np.repeat(np.arange(len(tasks)), block.sizes[tasks])
        width = int(rankings.item.max(initial=0)) + 1
        there, place = np.unique(answer_task[rankings.label] * width + rankings.item, return_inverse=True)
        pairs = share_pairs(rankings._replace(item=place))
        order = np.lexsort((pairs.share, pairs.b, pairs.a))  # which leaves labels in their order
        answer, a, b, share = pairs.label[order], pairs.a[order], pairs.b[order], pairs.share[order]
        new = np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0))[: len(a)]
        starts, rises = np.flatnonzero(new), new | np.append(True, np.diff(share) > 0)[: len(a)]
        level = np.cumsum(rises) - 1
        n_pairs = sum_by(answer_task[answer], np.ones(len(answer)), len(tasks))
        return cls(
            tasks=tasks,
            rows=rows,
            answer_task=answer_task,
            items=there % width,
            first=np.searchsorted(there // width, np.arange(len(tasks) + 1)),
            pair_task=answer_task[answer[starts]],
            a=a[starts],
            b=b[starts],
            block=Block(
                starts=starts,
                sizes=np.diff(np.append(starts, len(a))),
                worker=np.zeros(len(answer), np.intp),  # who may change: `add_pairs` looks them up
                label=share,
                workers=block.workers,
                n_workers=block.n_workers,
                task_hash=np.zeros(len(starts), np.uint64),
                gold_task=np.empty(0, np.int64),
                gold_label=share[:0],
            ),
            answer=answer,
            count=pairs.times[order],
            level=level,
            level_share=share[rises],
            n_levels=np.diff(np.append(level[starts], int(rises.sum()))),
            unit=np.maximum(n_pairs / np.maximum(block.sizes[tasks], 1), 1e-300),
        )

    @property
    def share(self) -> Floats:
        """Of each comparison: the share for the first item of its pair."""
        return self.block.label

    @property
    def pair(self) -> npt.NDArray[np.intp]:
        """Of each comparison: its pair."""
        return self.block.task

    def per_pair(self, values: Floats) -> Floats:
        """Sum one number per comparison over those of each pair."""
        return np.add.reduceat(values, self.block.starts) if len(values) else np.zeros(0)

    def peer_distances(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to its peers and their weight, given the weight of each answer."""
        if not len(self.answer):
            return np.zeros(len(self.rows)), np.zeros(len(self.rows))
        weight = weights[self.answer]
        at_level, total = sum_by(self.level, weight, len(self.level_share)), self.per_pair(weight)
        distance = add_in_order(self.level_share, at_level, self.n_levels, total)[self.level]
        others = np.maximum(total[self.pair] - weight, 0.0)
        unit = self.unit[self.answer_task]
        sums = (sum_by(self.answer, values, len(self.rows)) / unit for values in (distance, others))
        return next(sums), next(sums)

    def add_pairs(self, block: Block, total: MatrixSum, common: MatrixSum, rows: slice) -> None:
        """Sum, per pair of workers of the whole block, the distances of their comparisons, and count these."""
        worker = block.worker[self.rows[self.answer]]
        unit = self.unit[self.pair_task][self.pair]
        pairs = replace(self.block, worker=worker, n_workers=block.n_workers)
        for left, right in pair_chunks(pairs, rows) if len(self.answer) else ():
            place = worker[left] - rows.start, worker[right]
            total.add_entries(*place, np.abs(self.share[left] - self.share[right]) / unit[left])
            common.add_entries(*place, 1.0 / unit[left])

    def distance_to(self, truth: Codes) -> Floats:
        """Compute how far each answer is from its task's truth, given a code for each of these tasks."""
        if not len(self.answer):
            return np.full(len(self.rows), np.nan)
        rankings = unpack(truth)
        width = int(self.items.max(initial=0)) + 1
        own = np.repeat(np.arange(len(self.tasks)), np.diff(self.first)) * width + self.items
        wanted = rankings.label * width + rankings.item
        place = np.searchsorted(own, wanted)
        there = (place < len(own)) & (own[np.minimum(place, len(own) - 1)] == wanted) & (rankings.item < width)
        met = rankings._replace(item=place).keep(there)
        key, known = self.a * len(self.items) + self.b, np.full(len(self.a), np.nan)
        for (pairs,) in _list_chunks(met.n_pairs, met):
            asked = pairs.a * len(self.items) + pairs.b
            at = np.minimum(np.searchsorted(key, asked), len(key) - 1)
            hit = key[at] == asked
            known[at[hit]] = pairs.share[hit]
        gap = np.abs(self.share - known[self.pair])
        n_met = sum_by(self.answer, (~np.isnan(gap)).astype(np.float64), len(self.rows))
        missed = sum_by(self.answer, np.nan_to_num(gap), len(self.rows))
        return np.where(n_met > 0, missed / np.maximum(n_met, 1), np.nan)
