"""Matrices over pairs of workers, for methods that use every pair.

Sums are read from the run for one range of workers at a time, so only the values that a method keeps are in memory.
They form an array, or a sparse matrix if few pairs of workers share tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.lazy_imports import sparse
from allalike.engines import Run
from allalike.engines.ranges import count_met, cut_workers, iter_ranges
from allalike.errors import TooLargeError

Places = npt.NDArray[np.int64]
_MAX_RESIDUAL = 1e-13  # relative to the right-hand side, for conjugate gradients
_MAX_STEPS = 2000  # of conjugate gradients
_LANCZOS_VECTORS = 40
_MAX_WHOLE_WORKERS = 1000  # pairs of more workers are read range by range
_ENTRIES_PER_RANGE, _MIN_ENTRIES_PER_RANGE = 1 << 24, 1 << 20  # of dense rows
_BYTES_PER_ENTRY = 64  # during reading
_DENSE_PER_SPARSE = 8  # dense entries that take as much memory as one sparse entry
_MIN_DENSE_SHARE = 0.5  # share of pairs with common tasks above which a dense array is used
_BYTES_PER_JOINED = 16  # per sparse entry, during joining of ranges
_GB = 1e9


class PairMatrix:
    """A symmetric matrix over pairs of workers, dense or sparse (CSR).

    >>> pair = PairMatrix(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> pair.times(np.ones(3)), pair.peak(), pair.row(1)
    (array([2., 2., 0.]), 2.0, array([2., 0., 0.]))
    >>> value, _ = pair.leading(np.zeros(3))
    >>> round(value, 12), pair.first(1.0)
    (2.0, (0, 1))
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.size = int(matrix.shape[0])

    def change(self, function: Callable[..., Array], *others: PairMatrix) -> PairMatrix:
        """Apply a function to the entries of this matrix and of others with the same pairs."""
        return PairMatrix(with_numbers(self.matrix, function(*(numbers(each.matrix) for each in (self, *others)))))

    def totals(self, function: Callable[..., Array], *others: PairMatrix) -> Floats:
        """Return the row sums of the result of `change`."""
        return np.asarray(self.change(function, *others).matrix.sum(axis=1, dtype=np.float64))

    def times(self, vector: Floats) -> Floats:
        """Multiply the matrix by a vector."""
        return np.asarray(self.matrix @ vector, np.float64)

    def peak(self) -> float:
        """Return the largest entry, or 0 if it is negative."""
        return float(np.fmax.reduce(numbers(self.matrix), axis=None, initial=0.0))

    def row(self, worker: int) -> Floats:
        """Return the row of a worker."""
        return np.asarray(_filled(self.matrix[[worker]])[0], np.float64)

    def first(self, least: float) -> tuple[int, int]:
        """Return the first pair, in row order, with an entry of at least this value."""
        place = int(np.argmax(numbers(self.matrix) >= least))
        if isinstance(self.matrix, np.ndarray):
            return divmod(place, self.size)
        return int(np.searchsorted(self.matrix.indptr, place, side="right")) - 1, int(self.matrix.indices[place])

    def leading(self, diagonal: Floats) -> tuple[float, Floats]:
        """Return the largest eigenvalue of the matrix plus this diagonal, and its eigenvector.

        Large matrices use the Lanczos method.
        """
        if self._is_small:
            values, vectors = np.linalg.eigh(self.matrix + np.diag(diagonal))
            return float(values[-1]), vectors[:, -1]
        from scipy.sparse.linalg import eigsh

        start = 0.5 + np.random.default_rng(0).random((1, self.size))[0]
        if not (self._with(diagonal) @ start).any():
            return 0.0, np.zeros(self.size)
        few = min(self.size, _LANCZOS_VECTORS)
        values, vectors = eigsh(self._with(diagonal), k=1, which="LA", v0=start, ncv=few)
        return float(values[0]), vectors[:, 0]

    def solve(self, diagonal: Floats, right: Floats) -> Floats:
        """Solve a linear system with the matrix plus this diagonal, which must be positive semidefinite.

        The system must have a solution. If it has several, the solution with the smallest norm is returned.
        """
        if self._is_small:
            return np.asarray(np.linalg.pinv(self.matrix + np.diag(diagonal), hermitian=True) @ right, np.float64)
        from scipy.sparse.linalg import cg

        return np.asarray(cg(self._with(diagonal), right, rtol=_MAX_RESIDUAL, maxiter=_MAX_STEPS)[0], np.float64)

    @property
    def _is_small(self) -> bool:
        return isinstance(self.matrix, np.ndarray) and self.size <= _MAX_WHOLE_WORKERS

    def _with(self, diagonal: Floats) -> Any:
        from scipy.sparse.linalg import LinearOperator

        def times(vector: Floats) -> Floats:
            return np.asarray(self.times(vector.ravel()) + diagonal * vector.ravel(), np.float64)

        return LinearOperator((self.size, self.size), matvec=times, dtype=np.float64)


def numbers(part: Any) -> Array:
    """Return the entries of a dense or sparse matrix."""
    return np.asarray(part if isinstance(part, np.ndarray) else part.data)


def with_numbers(part: Any, values: Array) -> Any:
    """Return a matrix with the same pairs and other entries."""
    if isinstance(part, np.ndarray):
        return values
    return sparse.csr_array((values, part.indices, part.indptr), shape=part.shape)


@dataclass(frozen=True)
class Pairs:
    """Sums over the common tasks of pairs of workers, in arrays that broadcast to the shape of the last two.

    >>> Pairs(np.array([[0], [1]]), np.array([[0, 1]]), np.array([[0, 3], [3, 0]]), np.array([[0, 2], [2, 0]])).mean
    array([[nan, 1.5],
           [1.5, nan]])
    """

    left: Places
    right: Places
    distance: Floats
    common: Floats

    @property
    def mean(self) -> Floats:
        """Mean distance of each pair; NaN without common tasks and on the diagonal."""
        met = self.common > 0
        mean: Floats = np.where(met, self.distance, np.nan) / np.where(met, self.common, 1.0)
        return mean


@dataclass(frozen=True)
class AllPairs:
    """All pairs of workers of a run, read range by range."""

    run: Run
    ranges: list[range]
    max_pairs: int
    dense: bool = True

    def measure(self, function: Callable[[Pairs], tuple[Array, ...]]) -> tuple[PairMatrix, ...]:
        """Apply a function to all pairs, and return one matrix per value that it returns."""
        n = len(self.run.workers)
        kept = iter_ranges(
            self.run,
            self.run.kernels.pair_sums,
            self.ranges,
            lambda rows, sums: (rows, self._measure(rows, sums, function)),
        )
        if not self.dense:
            parts = zip(*(measured for _, measured in kept), strict=True)
            return tuple(PairMatrix(sparse.vstack(part, format="csr")) for part in parts)
        matrices: list[Array] = []
        for rows, measured in kept:
            matrices = matrices or [np.empty((n, n), each.dtype) for each in measured]
            for matrix, part in zip(matrices, measured, strict=True):
                matrix[rows.start : rows.stop] = part
        return tuple(map(PairMatrix, matrices))

    def _measure(self, rows: range, sums: dict[str, Any], function: Callable[[Pairs], tuple[Array, ...]]) -> list[Any]:
        distance, common, n = sums["distance"], sums["common"], len(self.run.workers)
        if self.dense:
            left, right = np.arange(rows.start, rows.stop)[:, None], np.arange(n)[None]
            return list(function(Pairs(left, right, _filled(distance), _filled(common))))
        distance, common = sparse.csr_array(distance), sparse.csr_array(common)
        place = _places(common)
        left, right = np.divmod(place, n)
        sums_of_met = np.zeros(len(place))
        sums_of_met[np.searchsorted(place, _places(distance))] = distance.data  # zeros are not stored
        measured = function(Pairs(rows.start + left, right, sums_of_met, common.data))
        return [with_numbers(common, values) for values in measured]


def all_pairs(run: Run, *, each: int, instead: str = "P-TD and iP-TD need no pairs.") -> AllPairs:
    """Return all pairs of workers; ``each`` is the number of bytes that a method keeps per pair."""
    n = len(run.workers)
    if n <= _MAX_WHOLE_WORKERS:
        return AllPairs(run, [range(n)], n * n)
    met = count_met(run)
    pairs, free = int(met.sum()), run.free_memory
    dense = pairs > _MIN_DENSE_SHARE * n * n
    kept = each * n * n if dense else (each + _BYTES_PER_JOINED) * pairs
    room = min(free - kept, run.pair_memory)
    most = min(_ENTRIES_PER_RANGE, max(room // _BYTES_PER_ENTRY, _MIN_ENTRIES_PER_RANGE))
    needed = kept + _BYTES_PER_ENTRY * min(_DENSE_PER_SPARSE * pairs, n * n, most)
    if needed > free:
        raise TooLargeError(
            f"The pairs of {n:,} workers need up to {needed / _GB:,.1f} GB of memory, but {free / _GB:,.1f}"
            f" GB are free. {instead}"
        )
    return AllPairs(run, cut_workers(np.minimum(_DENSE_PER_SPARSE * met, n), most), pairs, dense)


def _filled(matrix: Any) -> Floats:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _places(matrix: Any) -> Places:
    """Sort a sparse matrix, and return the flat index of each entry."""
    matrix.sort_indices()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(row * matrix.shape[1] + matrix.indices, np.int64)
