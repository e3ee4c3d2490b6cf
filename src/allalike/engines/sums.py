"""Sums of kernels over blocks, and tables of their results per task."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.pairs import MatrixSum, stack_rows
from allalike._core.columns.values import Values
from allalike._core.system.tables import write_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from allalike._core.blocks.block import Array, Block, Floats, Kernel


def select_workers(block: Block, params: Iterable[Floats]) -> list[Floats]:
    """Return the rows of the block's workers.

    >>> from allalike._core.blocks.block import Block
    >>> select_workers(Block.of([[0], [1]]), [np.array([0.5, 0.25])])
    [array([0.5 , 0.25])]
    """
    return [param[block.workers] for param in params]


class Sums:
    """Sums of arrays with a row for each worker of a block, or, without ``n_workers``, of arrays of the same shape.

    A kernel can add to them in place (`adds_in_place`) if the block has all workers.

    >>> from allalike._core.blocks.block import Block
    >>> sums = Sums(2)
    >>> for _ in range(2):
    ...     sums.add(Block.of([[0], [1]]), lambda block, weights: {"weight": weights}, [np.array([1.0, 2.0])])
    >>> sums.merge(sums).arrays
    {'weight': array([4., 8.])}
    >>> totals = Sums(None)
    >>> for _ in range(2):
    ...     totals.add(Block.of([[0], [1]]), lambda block: {"sizes": np.bincount(block.sizes, minlength=4)})
    >>> totals.arrays
    {'sizes': array([0., 0., 2., 0.])}
    """

    def __init__(self, n_workers: int | None) -> None:
        self.n_workers = n_workers
        self.arrays: dict[str, Floats] = {}

    @classmethod
    def of(cls, blocks: Iterable[Block], n_workers: int | None, kernel: Kernel, params: Iterable[Floats] = ()) -> Sums:
        """Add up the results of the kernel for all blocks."""
        sums = cls(n_workers)
        for block in blocks:
            sums.add(block, kernel, params)
        return sums

    def add(self, block: Block, kernel: Kernel, params: Iterable[Floats] = ()) -> None:
        """Add the result of the kernel for a block."""
        if self.n_workers is None:
            for name, part in kernel(block).items():
                self.arrays[name] = self.arrays.get(name, 0.0) + np.asarray(part, np.float64)
            return
        in_place = isinstance(block.workers, slice) and hasattr(getattr(kernel, "func", kernel), "adds_in_place")
        for name, part in kernel(
            block, *select_workers(block, params), **{"into": self.arrays} if in_place else {}
        ).items():
            if in_place and name not in self.arrays:
                self.arrays[name] = part
            elif name not in self.arrays:
                self.arrays[name] = np.zeros((self.n_workers, *part.shape[1:]))
            if part is not self.arrays[name]:
                self.arrays[name][block.workers] += part

    def merge(self, other: Sums) -> Sums:
        """Add other sums."""
        for name, part in other.arrays.items():
            if name in self.arrays:
                self.arrays[name] += part
            else:
                self.arrays[name] = part
        return self


class PairSums:
    """Sums of matrices with a row for each worker in ``rows`` (by default all) and a column for each worker.

    A kernel receives a block and a slice with the indices of these workers in the block. It returns matrices, dense or
    sparse, with these rows and a column for each worker of the block.

    >>> from allalike._core.blocks.block import Block
    >>> sums = PairSums(3, range(1, 3))
    >>> blocks = 3 * [Block.of([[0], [1], [1]])]
    >>> sums.add(blocks, lambda block, rows: {"met": np.ones((3, 3))[rows]}).result()["met"]
    array([[3., 3., 3.],
           [3., 3., 3.]])
    """

    def __init__(self, n_workers: int, rows: range | None = None) -> None:
        self._everyone = np.arange(n_workers)
        self._rows = rows or range(n_workers)
        self._sums: dict[str, MatrixSum] = {}

    def add(self, blocks: Iterable[Block], kernel: Kernel) -> PairSums:
        """Add the kernel's results for all blocks."""
        for block in blocks:
            self.add_found(block, self.find(block, kernel))
        return self

    def find(self, block: Block, kernel: Kernel) -> Mapping[str, Any]:
        """Return the kernel's result for those of the requested workers who are in the block."""
        asked = self._places(block)
        return kernel(block, asked) if asked.start < asked.stop else {}

    def add_found(self, block: Block, found: Mapping[str, Any]) -> None:
        """Add a kernel's result for a block."""
        who, asked = self._everyone[block.workers], self._places(block)
        for name, part in found.items():
            if name not in self._sums:
                self._sums[name] = MatrixSum((len(self._rows), len(self._everyone)))
            self._sums[name].add(part, who[asked] - self._rows.start, who)

    def _places(self, block: Block) -> slice:
        bounds = [self._rows.start, self._rows.stop]
        return slice(*np.searchsorted(self._everyone[block.workers], bounds).tolist())

    def result(self) -> dict[str, Any]:
        """Return the sums, as arrays or sparse by rows (CSR) if large and mostly empty."""
        return {name: stack_rows([total.result()]) for name, total in self._sums.items()}


# Task tables: the results of a kernel for each task, in memory, on disk or on executors.


@dataclass(frozen=True)
class Piece:
    """Sorted tasks, their numbers of answers, and a kernel's results for them."""

    tasks: Values
    answers: npt.NDArray[np.int64]
    found: dict[str, Array]

    @classmethod
    def join(cls, pieces: list[Piece]) -> Piece:
        """Concatenate pieces."""
        if len(pieces) == 1:
            return pieces[0]
        found = {name: np.concatenate([piece.found[name] for piece in pieces]) for name in pieces[0].found}
        return cls(Values.join([p.tasks for p in pieces]), np.concatenate([p.answers for p in pieces]), found)

    def take(self, rows: npt.NDArray[Any]) -> Piece:
        """Return the tasks with these indices."""
        return Piece(self.tasks.take(rows), self.answers[rows], {name: each[rows] for name, each in self.found.items()})


class TaskTable(ABC):
    """The arrays that a kernel returned, with one row per task."""

    @abstractmethod
    def sums(self, name: str) -> list[tuple[float, int]]:
        """Return the sum and count of an array's values that are not NaN, for each part of the table."""

    def total(self, name: str) -> float:
        """Add up one of the named arrays over all tasks, ignoring NaN."""
        return math.fsum(total for total, _ in self.sums(name))

    def count(self, name: str) -> int:
        """Count the tasks for which one of the named arrays is not NaN."""
        return sum(count for _, count in self.sums(name))

    def mean(self, name: str) -> float:
        """Return the mean of one of the named arrays over all tasks, ignoring NaN."""
        count = self.count(name)
        return self.total(name) / count if count else float("nan")

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces in the order of task ids."""

    def joined(self) -> Piece:
        """Return all pieces joined."""
        return Piece.join(list(self.pieces()))

    def write(self, path: Path, table: Callable[[Piece], pa.Table]) -> None:
        """Write tables made from the pieces to one CSV or Parquet file."""
        write_tables(path, map(table, self.pieces()))
