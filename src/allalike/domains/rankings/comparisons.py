"""Comparisons: what the answers to some tasks say of the pairs of their items, where there are ties and gaps.

A pair of items of a task is like a task of its own, with one number per worker: her share r for the first item, which
is 1, 0, or 1/2 for a tie, and in between where she compared the pair several times. Sums over peers are pooled over the
pairs, so that a peer who compared much counts more than one who compared little, and they are linear in the number of
comparisons: the weight at each different share of a pair is added up, and

    sum_B w_B |r_A - r_B| = sum over steps s below r_A of (length of s) (weight below s)
                          + sum over steps s above r_A of (length of s) (weight above s).

So that a task counts like one with complete rankings, sums are divided by the mean number of pairs that its answers
compare. Only pairs that occur are kept: of a thousand items there may be half a million.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import pair_chunks
from allalike.domains.rankings.codes import PAIRS_PER_CHUNK, Rankings, count_pairs, share_pairs, sort_triples, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.matrices import MatrixSum

_MARKS_PER_ITEM = 4


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """What the answers to some tasks of a block say of the pairs of their items."""

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
    step: Floats
    first_level: npt.NDArray[np.intp]
    unit: Floats

    @classmethod
    def of(cls, block: Block, tasks: npt.NDArray[np.intp], rows: npt.NDArray[np.intp], found: Rankings) -> Comparisons:
        """Compare the items of some tasks of a block, given the rankings of their answers."""
        answer_task = np.repeat(np.arange(len(tasks)), block.sizes[tasks])
        items, place, first = _number_items(found, answer_task, len(tasks))
        pairs = share_pairs(found._replace(item=place))
        order = sort_triples(pairs.a, pairs.b, _number_shares(pairs.share))  # which leaves labels in their order
        answer, a, b = pairs.label[order], pairs.a[order], pairs.b[order]
        share, count = pairs.share[order], pairs.times[order]
        new = np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0))[: len(a)]
        starts = np.flatnonzero(new)
        rises = new | np.append(True, np.diff(share) > 0)[: len(a)]
        lowest = np.flatnonzero(rises)
        level = np.cumsum(rises) - 1
        values = share[lowest]
        step = np.append(np.diff(values), 0.0)[: len(values)]
        step[level[np.append(starts[1:], len(a)) - 1] if len(a) else []] = 0.0
        n_pairs = sum_by(answer_task[answer], np.ones(len(answer)), len(tasks))
        return cls(
            tasks=tasks,
            rows=rows,
            answer_task=answer_task,
            items=items,
            first=first,
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
            count=count,
            level=level,
            step=step,
            first_level=level[starts],
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

    def per_answer(self, values: Floats) -> Floats:
        """Add up one number per comparison over the comparisons of each answer, in units of its task."""
        return sum_by(self.answer, values, len(self.rows)) / self.unit[self.answer_task]

    def per_pair(self, values: Floats) -> Floats:
        """Add up one number per comparison over those of each pair."""
        return np.add.reduceat(values, self.block.starts) if len(values) else np.zeros(0)

    def peer_distances(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to its peers and their weight, given the weight of each answer."""
        if not len(self.answer):
            return np.zeros(len(self.rows)), np.zeros(len(self.rows))
        weight = weights[self.answer]
        at_level = sum_by(self.level, weight, len(self.step))
        until = np.cumsum(at_level)
        pair = np.repeat(np.arange(len(self.first_level)), np.diff(np.append(self.first_level, len(self.step))))
        base = (until - at_level)[self.first_level]
        total = self.per_pair(weight)
        below = until - base[pair]
        low = self.step * below
        high = self.step * np.maximum(total[pair] - below, 0.0)
        lower, higher = np.cumsum(low) - low, np.cumsum(high) - high
        last = np.append(self.first_level[1:], len(self.step)) - 1
        distance = (lower - lower[self.first_level][pair]) + (higher[last][pair] - higher)
        return self.per_answer(distance[self.level]), self.per_answer(np.maximum(total[self.pair] - weight, 0.0))

    def add_pairs(self, block: Block, total: MatrixSum, common: MatrixSum, rows: slice) -> None:
        """Add up, per pair of workers of the whole block, the distances of their comparisons, and count these."""
        worker = block.worker[self.rows[self.answer]]  # some of whom may be the dummy by now
        unit = self.unit[self.pair_task][self.pair]
        pairs = replace(self.block, worker=worker, n_workers=block.n_workers)
        for left, right in pair_chunks(pairs, rows) if len(self.answer) else ():
            place = worker[left] - rows.start, worker[right]
            total.add_entries(*place, np.abs(self.share[left] - self.share[right]) / unit[left])
            common.add_entries(*place, 1.0 / unit[left])

    def distance_to(self, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth, given a code for each of these tasks."""
        if not len(self.answer):
            return np.full(len(self.rows), np.nan)
        found = unpack(truth)
        key, known = self._keys(), np.full(len(self.a), np.nan)
        width = int(self.items.max(initial=0)) + 1
        wanted = found.label * width + found.item
        own = np.repeat(np.arange(len(self.tasks)), np.diff(self.first)) * width + self.items
        place = np.searchsorted(own, wanted)
        there = (place < len(own)) & (own[np.minimum(place, len(own) - 1)] == wanted)
        kept = Rankings(
            found.n_labels,
            found.label[there],
            found.ranking[there],
            place[there],
            found.level[there],
            found.filled[there],
        )
        for part in _chunks(kept):
            pairs = share_pairs(part)
            asked = pairs.a * len(self.items) + pairs.b
            at = np.minimum(np.searchsorted(key, asked), len(key) - 1)
            hit = key[at] == asked
            known[at[hit]] = pairs.share[hit]
        gap = np.abs(self.share - known[self.pair])
        met = ~np.isnan(gap)
        n_met = sum_by(self.answer, met.astype(np.float64), len(self.rows))
        missed = sum_by(self.answer, np.nan_to_num(gap), len(self.rows))
        return np.where(n_met > 0, missed / np.maximum(n_met, 1), np.nan)

    def _keys(self) -> npt.NDArray[np.int64]:
        """Return a number for each pair, by which pairs are in order."""
        return self.a * len(self.items) + self.b


def _number_items(
    found: Rankings, answer_task: Array, n_tasks: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the items of each task, the place of each item of a ranking among them, and where each task's begin."""
    width = int(found.item.max(initial=0)) + 1
    keys = answer_task[found.label] * width + found.item
    if n_tasks * width <= _MARKS_PER_ITEM * len(keys):  # then marking is faster than sorting
        marked = np.zeros(n_tasks * width, np.bool_)
        marked[keys] = True
        there, place = np.flatnonzero(marked), (np.cumsum(marked) - 1)[keys]
    else:
        there, place = np.unique(keys, return_inverse=True)
    return there % width, place, np.searchsorted(there // width, np.arange(n_tasks + 1))


def _number_shares(share: Floats) -> npt.NDArray[np.int64]:
    """Number shares in their order; mostly they are wins, losses and ties."""
    twice = (2 * share).astype(np.int64)
    return twice if (twice == 2 * share).all() else np.unique(share, return_inverse=True)[1]


def _chunks(found: Rankings) -> Iterator[Any]:
    """Cut labels into chunks whose pairs fit in memory."""
    sizes = count_pairs(found)
    number = np.cumsum(sizes) // PAIRS_PER_CHUNK
    for chunk in np.unique(number):
        yield found if number[-1] == 0 else found.take(number == chunk)
