"""Pairs: the distances between the workers of each problem, for methods that look at every pair of them.

The sums behind the pairs are read from the run for some workers at a time, so that never more than what a method keeps
is in memory. Small problems come as stacks, those of the same size together, so that one pass serves thousands of them;
of a large one the pairs come range after range of workers, as arrays or, where few meet, one by one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.engines.ranges import count_met, cut_workers, look_through
from allalike.errors import TooLargeError
from allalike.methods.steps.pair_matrices import Ranged, StackedMatrix, with_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Run

__all__ = ["Large", "Pairs", "Stack", "all_pairs", "stacks"]

_MAX_STACKED_WORKERS = 1000  # of a problem; larger ones are read range after range
_ENTRIES_PER_STACK = 1 << 18
_ENTRIES_PER_RANGE, _MIN_ENTRIES_PER_RANGE = 1 << 24, 1 << 20  # of rows, if they are dense
_BYTES_PER_ENTRY = 64  # while it is read
_DENSE_PER_SPARSE = 8  # entries of an array that take as much memory as one that is sparse
_GB = 1e9


@dataclass(frozen=True)
class Pairs:
    """What is known of some pairs of workers, in arrays that broadcast to the shape of the last two.

    Parameters
    ----------
    left, right
        The two workers' numbers in the run.
    distance, common
        The sum of their distances over the tasks that both answered, and how many these are.

    >>> Pairs(np.array([[0], [1]]), np.array([[0, 1]]), np.array([[0, 3], [3, 0]]), np.array([[0, 2], [2, 0]])).mean
    array([[nan, 1.5],
           [1.5, nan]])
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    distance: Floats
    common: Floats

    @property
    def mean(self) -> Floats:
        """The mean distance of each pair; NaN where two have no task in common, and between a worker and herself."""
        met = self.common > 0
        mean: Floats = np.where(met, self.distance, np.nan) / np.where(met, self.common, 1.0)
        return mean


@dataclass(frozen=True)
class Stack:
    """The pairs of some problems of the same size; ``workers`` has their numbers, with one row per problem."""

    workers: npt.NDArray[np.int64]
    distance: Floats
    common: Floats

    def measure(self, function: Callable[[Pairs], tuple[Array, ...]]) -> tuple[StackedMatrix, ...]:
        """Return matrices of what a function finds for all pairs."""
        pairs = Pairs(self.workers[:, :, None], self.workers[:, None, :], self.distance, self.common)
        return tuple(map(StackedMatrix, function(pairs)))


@dataclass(frozen=True)
class Large:
    """The pairs of one problem, read range after range of its workers.

    Parameters
    ----------
    run
        Where its sums are.
    span
        The numbers of its workers.
    ranges
        The same numbers, some at a time.
    max_pairs
        How many of all pairs have met, at most.
    """

    run: Run
    span: range
    ranges: list[range]
    max_pairs: int

    @property
    def workers(self) -> npt.NDArray[np.int64]:
        """The workers' numbers, as one row."""
        return np.arange(self.span.start, self.span.stop)[None]

    def measure(self, function: Callable[[Pairs], tuple[Array, ...]]) -> tuple[Ranged, ...]:
        """Return matrices of what a function finds for some pairs at a time; where few meet, those who do."""
        measure = partial(self._measure, function=function)
        kept = look_through(self.run, self.run.kernels.pair_sums, self.ranges, measure)
        return tuple(Ranged(parts) for parts in zip(*kept, strict=True))

    def _measure(self, rows: range, sums: dict[str, Any], function: Callable[[Pairs], tuple[Array, ...]]) -> list[Any]:
        distance, common = (sums[name][:, self.span.start : self.span.stop] for name in ("distance", "common"))
        if isinstance(distance, np.ndarray) or isinstance(common, np.ndarray):
            left, right = np.arange(rows.start, rows.stop)[:, None], self.workers
            return list(function(Pairs(left, right, _filled(distance), _filled(common))))
        place = _places(common)
        left, right = np.divmod(place, common.shape[1])
        sums_of_met = np.zeros(len(place))
        sums_of_met[np.searchsorted(place, _places(distance))] = distance.data  # which leaves out what is 0
        found = function(Pairs(rows.start + left, self.span.start + right, sums_of_met, common.data))
        return [with_numbers(common, values) for values in found]


def stacks(run: Run, *, each: int, instead: str = "P-TD and iP-TD need no pairs.") -> Iterator[Stack | Large]:
    """Yield the pairs of all problems, some problems of the same size at a time, or one large one.

    ``each`` says how many bytes a method keeps of each pair of a large problem; where they do not fit, ``instead`` says
    what to do.
    """
    met = count_met(run)
    ends = np.cumsum(run.problems.sizes)
    large = run.problems.sizes > _MAX_STACKED_WORKERS
    for first, last in _equal_spans(large):
        workers = range(int(ends[first] - run.problems.sizes[first]), int(ends[last - 1]))
        if large[first]:
            yield _large(run, workers, met, each=each, instead=instead)
        else:
            for rows in _cut(met, workers, ends[first:last], _ENTRIES_PER_RANGE):
                yield from _small(run, rows)


def all_pairs(run: Run, *, each: int, instead: str) -> Large:
    """Return the pairs of all workers, whatever their problems."""
    return _large(run, range(run.problems.n_workers), count_met(run), each=each, instead=instead)


def _equal_spans(large: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield where large problems are, one by one, and the spans of small ones between them."""
    begin = np.flatnonzero(np.concatenate([[True], large[1:] | large[:-1]]))
    yield from itertools.pairwise([*begin.tolist(), len(large)])


def _large(run: Run, workers: range, met: Floats, *, each: int, instead: str) -> Large:
    pairs, n_workers = int(met[workers.start : workers.stop].sum()), run.problems.n_workers
    entries, free = min(_DENSE_PER_SPARSE * pairs, len(workers) * n_workers), run.free_memory
    room = min(free - each * pairs, run.pair_memory)
    most = min(_ENTRIES_PER_RANGE, max(room // _BYTES_PER_ENTRY, _MIN_ENTRIES_PER_RANGE))
    needed = each * pairs + _BYTES_PER_ENTRY * min(entries, most)
    if needed > free:
        raise TooLargeError(
            f"The pairs of {len(workers):,} workers need up to {needed / _GB:,.1f} GB of memory, and {free / _GB:,.1f}"
            f" GB are free. {instead}"
        )
    ends = np.arange(workers.start, workers.stop) + 1
    return Large(run, workers, _cut(met, workers, ends, most), pairs)


def _cut(met: Floats, workers: range, ends: npt.NDArray[np.int64], most: int) -> list[range]:
    """Cut the workers into ranges that end at some of these ends, and whose pairs are few enough."""
    load = np.minimum(_DENSE_PER_SPARSE * met[workers.start : workers.stop], len(met))
    return cut_workers(load, most, first=workers.start, ends=ends)


def _small(run: Run, rows: range) -> Iterator[Stack]:
    """Yield stacks of the whole problems of these workers."""
    sums = run.pairs(run.kernels.pair_sums, rows)
    last = np.cumsum(run.problems.sizes)
    here = (last > rows.start) & (last <= rows.stop)
    first, sizes = (last - run.problems.sizes)[here], run.problems.sizes[here]
    for size in np.unique(sizes):
        starts = first[sizes == size]
        step = max(1, _ENTRIES_PER_STACK // int(size) ** 2)
        for begin in range(0, len(starts), step):
            workers = starts[begin : begin + step, None] + np.arange(size)
            yield Stack(workers, *(_stacked(sums[name], workers, rows.start) for name in ("distance", "common")))


def _stacked(matrix: Any, workers: npt.NDArray[np.int64], start: int) -> Floats:
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[workers[:, :, None] - start, workers[:, None, :]])
    n_problems, size = workers.shape
    rows = matrix[workers.ravel() - start].tocoo()
    dense = np.zeros((n_problems * size, size))
    dense[rows.row, rows.col - np.repeat(workers[:, 0], size)[rows.row]] = rows.data
    return dense.reshape(n_problems, size, size)


def _filled(matrix: Any) -> Floats:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _places(matrix: Any) -> npt.NDArray[np.int64]:
    """Return the places of the entries of a sparse matrix, row after row, after sorting them."""
    matrix.sort_indices()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(row * matrix.shape[1] + matrix.indices, np.int64)
