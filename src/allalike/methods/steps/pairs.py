"""Pairs: the distances between the workers of each problem, for methods that look at every pair of them.

The sums behind the pairs are read from the run for some workers at a time, so that never more than what a method keeps
is in memory. Small problems come as stacks, those of the same size together, so that one pass serves thousands of them;
of a large one the pairs come range after range of workers, as arrays or, where few meet, one by one.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.late import sparse
from allalike.engines.ranges import count_met, cut_workers, look_through
from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Run


# Pair matrices: a number for each pair of workers, of a thousand small problems or of one large one.
#
# Both kinds have the same operations, so that a method is written once. `StackedMatrix` has whole matrices one behind
# the other, and computes with all of them at once. `Ranged` has one matrix as ranges of its rows, each an array, or
# sparse where few pairs meet; it takes products with vectors where `StackedMatrix` decomposes matrices, because the
# time of the latter grows with the cube of the number of workers.
#
# Vectors have one row per problem; numbers per problem are arrays too.


Places = npt.NDArray[np.int64]
_MAX_RESIDUAL = 1e-13  # of the right side, when equations count as solved
_MAX_STEPS = 2000  # of conjugate gradients
_LANCZOS_VECTORS = 40  # among which an eigenvector is sought


class PairMatrix(ABC):
    """A symmetric matrix for each of some problems, whose number and size are its ``shape``."""

    shape: tuple[int, int]

    @abstractmethod
    def change(self, function: Callable[..., Array], *others: Any) -> PairMatrix:
        """Apply a function to each number, together with those of other matrices of the same pairs."""

    @abstractmethod
    def some(self, problems: npt.NDArray[np.bool_]) -> PairMatrix:
        """Return those of some problems, of at least one."""

    @abstractmethod
    def totals(self, function: Callable[..., Array], *others: Any) -> Floats:
        """Add up, per worker, what `change` would return."""

    @abstractmethod
    def per_pair(self, per_problem: Floats) -> Any:
        """Give each pair the number of its problem, to be used in `change`."""

    @abstractmethod
    def times(self, vectors: Floats) -> Floats:
        """Multiply each matrix by its vector."""

    @abstractmethod
    def peak(self) -> Floats:
        """Find the largest number of each problem, at least 0."""

    @abstractmethod
    def row(self, worker: Places) -> Floats:
        """Return the row of one worker of each problem, by their places in it."""

    @abstractmethod
    def first(self, least: Floats) -> tuple[Places, Places]:
        """Find the places of the first pair of each problem whose number is this large."""

    @abstractmethod
    def leading(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """Return the largest eigenvalue of each matrix, with this diagonal added to it, and its vector."""

    @abstractmethod
    def solve(self, diagonal: Floats, right: Floats) -> Floats:
        """Solve equations with each matrix, with this diagonal added to it, all of whose eigenvalues are 0 or more.

        The equations must have solutions; of several, that of the smallest norm is returned.
        """


class StackedMatrix(PairMatrix):
    """The matrices of some problems of the same size, one behind the other.

    >>> pair = StackedMatrix(np.array([[[0.0, 2.0], [2.0, 0.0]], [[0.0, 3.0], [3.0, 0.0]]]))
    >>> pair.times(np.ones((2, 2)))
    array([[2., 2.],
           [3., 3.]])
    >>> pair.leading(np.zeros((2, 2)))[0], pair.first(np.array([1.0, 3.0]))
    (array([2., 3.]), (array([0, 0]), array([1, 1])))
    """

    def __init__(self, values: Array) -> None:
        self.values = values
        self.shape = values.shape[0], values.shape[1]

    def change(self, function: Callable[..., Array], *others: Any) -> StackedMatrix:
        """Apply the function to all at once."""
        return StackedMatrix(function(self.values, *(other.values for other in others)))

    def some(self, problems: npt.NDArray[np.bool_]) -> StackedMatrix:
        """Return some of the matrices."""
        return StackedMatrix(self.values[problems])

    def totals(self, function: Callable[..., Array], *others: Any) -> Floats:
        """Add up the rows."""
        return np.asarray(self.change(function, *others).values.sum(axis=2), np.float64)

    def per_pair(self, per_problem: Floats) -> Floats:
        """Return whole matrices, but for their size."""
        return per_problem[:, None, None]

    def times(self, vectors: Floats) -> Floats:
        """Multiply all at once."""
        products: Floats = np.einsum("rij,rj->ri", self.values, vectors)
        return products

    def peak(self) -> Floats:
        """Find the largest numbers."""
        largest: Floats = np.fmax.reduce(self.values, axis=(1, 2), initial=0.0)
        return largest

    def row(self, worker: Places) -> Floats:
        """Take one row of each."""
        rows: Floats = self.values[np.arange(len(worker)), worker]
        return rows

    def first(self, least: Floats) -> tuple[Places, Places]:
        """Find the first in the order of rows."""
        flat = self.values.reshape(len(self.values), -1)
        row, column = np.divmod(np.argmax(flat >= least[:, None], axis=1), self.values.shape[2])
        return row, column

    def leading(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """Decompose the matrices."""
        values, vectors = np.linalg.eigh(self.values + diagonal[:, :, None] * np.eye(diagonal.shape[1]))
        return values[:, -1], vectors[:, :, -1]

    def solve(self, diagonal: Floats, right: Floats) -> Floats:
        """Multiply by the pseudo-inverses."""
        inverse = np.linalg.pinv(self.values + diagonal[:, :, None] * np.eye(diagonal.shape[1]), hermitian=True)
        return np.asarray((inverse @ right[:, :, None])[:, :, 0], np.float64)


class Ranged(PairMatrix):
    """The matrix of one problem as ranges of its rows, each an array or a sparse matrix.

    >>> from scipy import sparse
    >>> pair = Ranged([np.array([[0.0, 2.0, 0.0]]), sparse.csr_array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])])
    >>> pair.times(np.ones((1, 3))), pair.peak(), pair.row(np.array([1]))
    (array([[2., 2., 0.]]), array([2.]), array([[2., 0., 0.]]))
    >>> pair.leading(np.zeros((1, 3)))[0].round(12), pair.first(np.array([1.0]))
    (array([2.]), (array([0]), array([1])))
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)
        self._starts = np.cumsum([0] + [part.shape[0] for part in self.parts])
        self.shape = 1, self.parts[0].shape[1]

    def change(self, function: Callable[..., Array], *others: Any) -> Ranged:
        """Apply the function to the numbers of one range after the other."""
        return Ranged(list(self.changed(function, *others)))

    def some(self, problems: npt.NDArray[np.bool_]) -> Ranged:
        """Return the only one."""
        return self

    def totals(self, function: Callable[..., Array], *others: Any) -> Floats:
        """Add up the rows of one range after the other."""
        sums = [part.sum(axis=1, dtype=np.float64) for part in self.changed(function, *others)]
        return np.asarray(np.concatenate(sums)[None], np.float64)

    def changed(self, function: Callable[..., Array], *others: Any) -> Iterator[Any]:
        """Yield what `change` would return, range after range."""
        for part, *rest in zip(self.parts, *(other.parts for other in others), strict=True):
            yield with_numbers(part, function(numbers(part), *map(numbers, rest)))

    def whole(self, function: Callable[..., Array], order: Places) -> Any:
        """Return what `change` would in one matrix, with the workers in another order.

        It is sparse if all ranges are; what one leaves out is NaN in an array.
        """
        if not any(isinstance(part, np.ndarray) for part in self.parts):
            return sparse.vstack(list(self.changed(function)), format="csr")[order][:, order]
        matrix, place = np.full((len(order), len(order)), np.nan), np.argsort(order)
        for part, start in zip(self.changed(function), self._starts, strict=False):
            mine = place[start : start + part.shape[0]]
            if isinstance(part, np.ndarray):
                matrix[mine] = part[:, order]
            else:
                entries = part.tocoo()
                matrix[mine[entries.row], place[entries.col]] = entries.data
        return matrix

    def per_pair(self, per_problem: Floats) -> float:
        """Return the one number."""
        return float(per_problem[0])

    def times(self, vectors: Floats) -> Floats:
        """Multiply one range after the other."""
        return np.asarray(np.concatenate([part @ vectors[0] for part in self.parts])[None], np.float64)

    def peak(self) -> Floats:
        """Find the largest number."""
        return np.array([max(float(np.fmax.reduce(numbers(part), axis=None, initial=0.0)) for part in self.parts)])

    def row(self, worker: Places) -> Floats:
        """Take one row of a range."""
        which = int(np.searchsorted(self._starts, worker[0], side="right")) - 1
        part, place = self.parts[which], worker[0] - self._starts[which]
        if isinstance(part, np.ndarray):
            return part[place, None]
        row, mine = np.zeros((1, part.shape[1])), slice(part.indptr[place], part.indptr[place + 1])
        row[0, part.indices[mine]] = part.data[mine]
        return row

    def first(self, least: Floats) -> tuple[Places, Places]:
        """Find the first in the order of rows."""
        for part, start in zip(self.parts, self._starts, strict=False):
            there = np.flatnonzero(numbers(part) >= least[0])[:1]
            if len(there) and isinstance(part, np.ndarray):
                return start + there // part.shape[1], there % part.shape[1]
            if len(there):
                row = np.searchsorted(part.indptr, there, side="right") - 1
                return start + row, part.indices[there].astype(np.int64)
        return np.zeros(1, np.int64), np.zeros(1, np.int64)

    def leading(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """Multiply by vectors until they agree on the largest eigenvalue (Lanczos)."""
        from scipy.sparse.linalg import eigsh

        size = diagonal.shape[1]
        start = 0.5 + np.random.default_rng(0).random(diagonal.shape)[0]
        if not (self._with(diagonal) @ start).any():
            return np.zeros(1), np.zeros((1, size))
        values, vectors = eigsh(self._with(diagonal), k=1, which="LA", v0=start, ncv=min(size, _LANCZOS_VECTORS))
        return values, vectors.T

    def solve(self, diagonal: Floats, right: Floats) -> Floats:
        """Use conjugate gradients: from 0 they do not leave the space in which the smallest solution lies."""
        from scipy.sparse.linalg import cg

        solution, _ = cg(self._with(diagonal), right[0], rtol=_MAX_RESIDUAL, maxiter=_MAX_STEPS)
        return np.asarray(solution, np.float64)[None]

    def _with(self, diagonal: Floats) -> Any:
        from scipy.sparse.linalg import LinearOperator

        def times(vector: Floats) -> Floats:
            return np.asarray(self.times(vector.reshape(1, -1))[0] + diagonal[0] * vector.ravel(), np.float64)

        return LinearOperator(2 * diagonal.shape[1:], matvec=times, dtype=np.float64)


def numbers(part: Any) -> Array:
    """Return the numbers that a range of rows holds: all of an array, or those that are not left out."""
    return np.asarray(part if isinstance(part, np.ndarray) else part.data)


def with_numbers(part: Any, values: Array) -> Any:
    """Return a range of the same pairs with other numbers."""
    if isinstance(part, np.ndarray):
        return values

    return sparse.csr_array((values, part.indices, part.indptr), shape=part.shape)


_MAX_STACKED_WORKERS = 1000  # of a problem; larger ones are read range after range
_ENTRIES_PER_STACK = 1 << 18
_ENTRIES_PER_RANGE, _MIN_ENTRIES_PER_RANGE = 1 << 24, 1 << 20  # of rows, if they are dense
_BYTES_PER_ENTRY = 64  # while it is read
_DENSE_PER_SPARSE = 8  # entries of an array that take as much memory as one that is sparse
_GB = 1e9


@dataclass(frozen=True)
class Pairs:
    """What is known of some pairs of workers, in arrays that broadcast to the shape of the last two.

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
    """The pairs of one problem, read range after range of its workers."""

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
