"""Matrices with a row and a column per worker, of which little or much is filled, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.late import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Floats

Places = npt.NDArray[np.intp]
_MAX_DENSE_ENTRIES = 1 << 20  # entries that need not be sparse
_DENSE_SHARE = 1 / 8  # share of entries from which on a sparse matrix is no smaller than an array, and much slower
_MAX_WAITING_ENTRIES = 1 << 19  # numbers that wait to be added up


class MatrixSum:
    """A sum of matrices. It is an array if it is small, or once an eighth of it is filled; until then it is sparse.

    Numbers wait until there are many of them, and sparse matrices are added as a binary counter does, small ones with
    small ones: each is copied as often as there are doublings; added one by one, the sum itself would be copied every
    time.

    >>> total = MatrixSum((2, 3))
    >>> total.add_entries(np.array([0, 0]), np.array([2, 2]), np.array([1.0, 4.0]))
    >>> total.add(np.array([[1.0, 2.0]]), np.array([1]), np.array([0, 2]))
    >>> total.merge(total).result()
    array([[ 0.,  0., 10.],
           [ 2.,  0.,  4.]])
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._enough = _DENSE_SHARE * shape[0] * shape[1]
        self._loose: list[tuple[Places, Places, Array]] = []
        self._parts: list[tuple[int, Any]] = []
        self._dense: Floats | None = np.zeros(shape) if shape[0] * shape[1] <= _MAX_DENSE_ENTRIES else None

    def add_entries(self, row: Places, column: Places, values: Array) -> None:
        """Add numbers, several of which may belong to the same place."""
        self._loose.append((row, column, values))
        n_loose = sum(len(values) for _, _, values in self._loose)
        if self._dense is not None or n_loose > self._enough:
            self._fill()
        elif n_loose > _MAX_WAITING_ENTRIES:
            self._count(0, self._take_loose().tocsr())

    def add(self, matrix: Any, row: Places, column: Places) -> None:
        """Add a matrix, dense or sparse, whose rows and columns have their places in this one; others are left out."""
        if isinstance(matrix, np.ndarray) and (self._dense is not None or np.count_nonzero(matrix) > self._enough):
            whole = matrix.shape == self.shape
            self._fill()[... if whole else np.ix_(row, column)] += matrix
        elif not isinstance(matrix, np.ndarray) and matrix.format == "csr" and matrix.shape == self.shape:
            self._count(0, matrix)
        else:
            left, right, values = list_entries(matrix)
            self.add_entries(row[left], column[right], values)

    def merge(self, other: MatrixSum) -> MatrixSum:
        """Add all that another sum of the same shape has."""
        if other._dense is not None:
            self._fill()[...] += other._dense
        for level, part in reversed(other._parts):
            self._count(level, part)
        for entries in other._loose:
            self.add_entries(*entries)
        return self

    def result(self) -> Any:
        """Return the sum, an array or a sparse matrix, which may hold several numbers for the same place."""
        if self._parts and self._loose:
            self._count(0, self._take_loose().tocsr())
        if self._dense is not None:
            return self._fill()
        while len(self._parts) > 1:
            self._parts[-2:] = [(0, self._parts[-2][1] + self._parts[-1][1])]
        return self._parts[0][1] if self._parts else self._take_loose()

    def _take_loose(self) -> Any:
        empty = np.empty(0, np.intp)
        loose, self._loose = self._loose or [(empty, empty, np.empty(0))], []
        row, column, values = loose[0] if len(loose) == 1 else map(np.concatenate, zip(*loose, strict=True))
        return sparse.coo_array((values, (row, column)), shape=self.shape)

    def _count(self, level: int, part: Any) -> None:
        while self._parts and self._parts[-1][0] <= level:
            level = max(level, self._parts[-1][0]) + 1
            part = self._parts.pop()[1] + part
        self._parts.append((level, part))
        if self._dense is not None or part.nnz > self._enough:
            self._fill()

    def _fill(self) -> Floats:
        """Return the sum as an array, to which all that waited has been added."""
        if self._dense is None:
            self._dense = np.zeros(self.shape)
        parts, self._parts = [list_entries(part) for _, part in self._parts], []
        loose, self._loose = parts + self._loose, []
        for row, column, values in loose:
            np.add.at(self._dense.reshape(-1), row.astype(np.int64) * self.shape[1] + column, values)
        return self._dense


def stack_rows(parts: Sequence[Any]) -> Any:
    """Put ranges of rows, dense or sparse, one below the other.

    The matrix is an array if it is small, or an eighth of it is filled, and else sparse by rows (CSR): that depends on
    nothing but the numbers in it.
    """
    sums = [part if isinstance(part, np.ndarray) else part.tocsr() for part in parts]
    filled = sum(np.count_nonzero(part if isinstance(part, np.ndarray) else part.data) for part in sums)
    size = sum(part.shape[0] * part.shape[1] for part in sums)
    if size <= _MAX_DENSE_ENTRIES or filled > _DENSE_SHARE * size:
        arrays = [part if isinstance(part, np.ndarray) else part.toarray() for part in sums]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    matrix = sparse.vstack([sparse.csr_array(part) for part in sums], format="csr")
    matrix.eliminate_zeros()
    return matrix


def list_entries(matrix: Any) -> tuple[Places, Places, Array]:
    """Return the rows and columns of what is not 0 in an array, or is there in a sparse matrix, and the numbers."""
    if isinstance(matrix, np.ndarray):
        row, column = np.nonzero(matrix)
        return row, column, matrix[row, column]
    listed = matrix.tocoo()
    return listed.row.astype(np.intp), listed.col.astype(np.intp), listed.data
