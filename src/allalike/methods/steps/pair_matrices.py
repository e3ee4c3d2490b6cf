"""Pair matrices: a number for each pair of workers, of a thousand small problems or of one large one.

Both kinds have the same operations, so that a method is written once. `StackedMatrix` has whole matrices one behind the
other, and computes with all of them at once. `Ranged` has one matrix as ranges of its rows, each an array, or sparse
where few pairs meet; it takes products with vectors where `StackedMatrix` decomposes matrices, because the time of the
latter grows with the cube of the number of workers.

Vectors have one row per problem; numbers per problem are arrays too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.late import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike._core.blocks.block import Array, Floats

__all__ = ["PairMatrix", "Ranged", "StackedMatrix", "numbers", "with_numbers"]

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
