"""Drawn pairs: whether a worker's answers are closer to the others on the same task than on another, from a sample.

All pairs are compared where they are few; else some hundreds of each worker are drawn, by hashes of the tasks. What
others say of her tasks, one task after the other, is a circle: the answers to one of her tasks are an arc of it, and
those to her other tasks are what follows, once around.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.hashes import mix
from allalike.errors import LabelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Kernels
    from allalike.engines.memory import MemoryRun

    Flags = npt.NDArray[np.bool_]

__all__ = ["MIN_ANSWERS", "DrawnPairs", "MeasuredSignal"]

MIN_ANSWERS = 10  # below which nobody is judged
_PAIRS = 40_000  # in all, of one problem
_PAIRS_OF_WORKER = (100, 2000)
_PAIRS_PER_CHUNK = 2000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class MeasuredSignal(NamedTuple):
    """Of each worker: signal, its standard error, and how many answers have others."""

    value: Floats
    error: Floats
    answers: Floats


class _Pairs(NamedTuple):
    """Pairs of answers, the first by the worker who is judged; and the rows of her own answers to both tasks."""

    left: Array
    right: Array
    row: Array
    other_row: Array


@dataclass(frozen=True)
class DrawnPairs:
    """The answers of a sample, of which pairs are drawn.

    Parameters
    ----------
    worker, task, task_hash
        Of each answer: who gave it, to which task, and the hash of that.
    rows
        The answers of those who are judged, worker after worker.
    budget
        Of each worker: how many pairs are drawn of the same tasks, and how many of others.
    code
        What each answer says.
    kernels
        How far answers are apart.
    """

    worker: Array
    task: Array
    task_hash: Array
    rows: Array
    budget: npt.NDArray[np.int64]
    code: Array
    kernels: Kernels

    @classmethod
    def of(cls, sample: MemoryRun) -> DrawnPairs:
        """Take the answers of a sample, whose labels are codes."""
        blocks = sample.blocks
        worker, code = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("worker", "label"))
        sizes, hashes = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("sizes", "task_hash"))
        order = np.argsort(worker, kind="stable")
        often = np.bincount(worker, minlength=sample.problems.n_workers) >= MIN_ANSWERS
        return cls(
            worker=worker,
            task=np.repeat(np.arange(len(sizes)), sizes),
            task_hash=np.repeat(hashes, sizes),
            rows=order[often[worker[order]]],
            budget=np.clip(_PAIRS // sample.problems.size, *_PAIRS_OF_WORKER),
            code=code,
            kernels=sample.kernels,
        )

    def measure(self, empty: Flags) -> MeasuredSignal:
        """Return the signal of each worker, who is not compared with those who are empty."""
        pairs = self._draw(empty)
        return self._summarise(pairs, self._compare(pairs))

    def _draw(self, empty: Flags) -> _Pairs:
        """Pair the answers of each worker with what others say of the same tasks, and of her other tasks."""
        rows, who = self.rows, self.worker[self.rows]
        heard = ~empty[self.worker]
        peers = np.flatnonzero(heard)
        bounds = np.concatenate([[0], np.cumsum(heard)])  # how many are heard before each answer
        first, last = (bounds[np.searchsorted(self.task, self.task[rows], side=side)] for side in ("left", "right"))
        count = last - first - heard[rows]
        end = np.cumsum(count)
        begin = end - count
        start, stop = (np.searchsorted(who, who, side=side) for side in ("left", "right"))
        origin, around = begin[start], end[stop - 1] - begin[start]
        parts = []
        for since, number, bits in (
            (begin, count, self.task_hash[rows]),
            (end, around - count, mix(self.task_hash[rows])),
        ):
            row, step = _choose(who, number, bits, self.budget)
            place = origin[row] + (since[row] - origin[row] + step) % around[row]
            other = np.searchsorted(end, place, side="right")
            peer = first[other] + place - begin[other]
            peer += heard[rows[other]] & (peer >= bounds[rows[other]])  # who judged is not her own peer
            parts.append(_Pairs(rows[row], peers[peer], row, other))
        return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    def _compare(self, pairs: _Pairs) -> Floats:
        """Measure distances, some at a time, for labels may be large; those of different tasks may be unknown."""
        same = pairs.row == pairs.other_row
        distance = np.full(len(same), np.nan)
        for which, measure in zip((same, ~same), self.kernels.compare_among(self.code), strict=True):
            places = np.flatnonzero(which)
            with suppress(LabelError):  # of a user's own function that cannot compare labels of different tasks
                for part in np.array_split(places, 1 + len(places) // _PAIRS_PER_CHUNK):
                    distance[part] = measure(pairs.left[part], pairs.right[part])
        return distance

    def _summarise(self, pairs: _Pairs, distance: Floats) -> MeasuredSignal:
        """Return signal, standard error and the number of tasks of each worker, from the distances of her pairs."""
        who, n = self.worker[self.rows], len(self.budget)
        known, same = ~np.isnan(distance), pairs.row == pairs.other_row
        away, back, here = (
            _mean_by(place[known & which], distance[known & which], len(who))
            for place, which in ((pairs.row, ~same), (pairs.other_row, ~same), (pairs.row, same))
        )
        heard = ~(np.isnan(away) | np.isnan(here))
        who, away, back, here = who[heard], away[heard], back[heard], here[heard]
        told = ~np.isnan(back)
        back = np.where(told, back, np.nan_to_num(_mean_by(who[told], back[told], n))[who])
        answers = np.bincount(who, minlength=n).astype(np.float64)
        projection = away + back - here
        rest = (projection - _mean_by(who, projection, n)[who]) ** 2
        several = answers > 1
        value = np.where(several, _mean_by(who, away - here, n), np.nan)
        freedom = np.where(several, answers * (answers - 1), np.nan)
        return MeasuredSignal(value, np.sqrt(sum_by(who, rest, n) / freedom), answers)


def _choose(who: Array, count: Array, bits: Array, budget: Array) -> tuple[Array, Array]:
    """Return rows and steps: all of so many steps of each row, or some of them by hashes, where a worker has too many.

    >>> row, step = _choose(np.array([0, 0, 1]), np.array([2, 1, 50]), np.arange(3, dtype=np.uint64), np.array([3, 3]))
    >>> row, step[:3], bool((step < 50).all())
    (array([0, 0, 1, 2, 2, 2]), array([0, 1, 0]), True)
    """
    many = (sum_by(who, count.astype(np.float64), len(budget)) > budget)[who]
    heard = np.bincount(who[count > 0], minlength=len(budget))[who]
    some = np.where(count > 0, -(-budget[who] // np.maximum(heard, 1)), 0)
    drawn = np.where(many, some, count)
    row = np.repeat(np.arange(len(who)), drawn)
    step = np.arange(len(row)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    which = np.flatnonzero(many[row])
    number = (step[which] + 1).astype(np.uint64)
    at = row[which]
    step[which] = (mix(bits[at] + number * _GOLDEN) % count[at].astype(np.uint64)).astype(np.int64)
    return row, step


def _mean_by(place: Array, values: Floats, n: int) -> Floats:
    """Return the mean of the values at each of n places; NaN where there are none."""
    count = np.bincount(place, minlength=n)
    return np.where(count > 0, sum_by(place, values, n) / np.maximum(count, 1), np.nan)
