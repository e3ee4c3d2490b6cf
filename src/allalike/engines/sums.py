"""Sums of what a kernel returns for one block after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.matrices import MatrixSum, stack_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allalike._core.blocks.block import Block, Floats, Kernel

__all__ = ["PairSums", "PlainSums", "Sums", "select_workers"]


def select_workers(block: Block, params: Iterable[Floats]) -> list[Floats]:
    """Return the rows of the block's workers; the dummy worker gets the last of them, with which every kernel can deal.

    >>> from allalike._core.blocks.block import Block
    >>> select_workers(Block.of([[0], [1]]), [np.array([0.5, 0.25])])
    [array([0.5 , 0.25])]
    """
    rows = [param[block.workers] for param in params]
    return rows if block.live is None else [np.concatenate([own, own[-1:]]) for own in rows]


class Sums:
    """Sums of arrays that have a row for each worker of a block.

    A kernel may add to them in place (`adds_in_place`), if the block has all workers.

    >>> from allalike._core.blocks.block import Block
    >>> sums = Sums(2)
    >>> for _ in range(2):
    ...     sums.add(Block.of([[0], [1]]), lambda block, weights: {"weight": weights}, [np.array([1.0, 2.0])])
    >>> sums.merge(sums).arrays
    {'weight': array([4., 8.])}
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.arrays: dict[str, Floats] = {}

    def add(self, block: Block, kernel: Kernel, params: Iterable[Floats]) -> None:
        """Add what the kernel returns for a block."""
        whole = isinstance(block.workers, slice) and block.live is None
        in_place = whole and hasattr(getattr(kernel, "func", kernel), "adds_in_place")
        for name, part in kernel(
            block, *select_workers(block, params), **{"into": self.arrays} if in_place else {}
        ).items():
            if in_place and name not in self.arrays:
                self.arrays[name] = part
            elif name not in self.arrays:
                self.arrays[name] = np.zeros((self.n_workers, *part.shape[1:]))
            if part is not self.arrays[name]:
                self.arrays[name][block.workers] += part if block.live is None else part[:-1]

    def merge(self, other: Sums) -> Sums:
        """Add all that another has."""
        for name, part in other.arrays.items():
            if name in self.arrays:
                self.arrays[name] += part
            else:
                self.arrays[name] = part
        return self


class PlainSums:
    """Sums of arrays that belong to no worker, and have the same shape for every block.

    >>> from allalike._core.blocks.block import Block
    >>> totals = PlainSums()
    >>> for _ in range(2):
    ...     totals.add(Block.of([[0], [1]]), lambda block: {"sizes": np.bincount(block.sizes, minlength=4)})
    >>> totals.merge(totals).arrays
    {'sizes': array([0., 0., 4., 0.])}
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Floats] = {}

    def add(self, block: Block, kernel: Kernel) -> None:
        """Add what the kernel returns for a block."""
        self._add(kernel(block))

    def merge(self, other: PlainSums) -> PlainSums:
        """Add all that another has."""
        self._add(other.arrays)
        return self

    def _add(self, parts: Mapping[str, Floats]) -> None:
        for name, part in parts.items():
            self.arrays[name] = self.arrays[name] + part if name in self.arrays else np.asarray(part, np.float64)


class PairSums:
    """Sums of matrices that have a row for each of some workers and a column for each worker.

    ``rows`` says whose rows are asked for, as a range of the numbers of the run's workers; by default all. A kernel
    gets a block and the places of these workers among the block's, which are a slice, and returns matrices, dense or
    sparse, with these rows and a column for each worker of the block.

    >>> from allalike._core.blocks.block import Block
    >>> sums = PairSums(3, range(1, 3))
    >>> for _ in range(3):
    ...     sums.add(Block.of([[0], [1], [1]]), lambda block, rows: {"met": np.ones((3, 3))[rows]})
    >>> sums.merge(sums).result()["met"]
    array([[6., 6., 6.],
           [6., 6., 6.]])
    """

    def __init__(self, n_workers: int, rows: range | None = None) -> None:
        self._everyone = np.arange(n_workers)
        self._rows = rows or range(n_workers)
        self._sums: dict[str, MatrixSum] = {}

    def add(self, block: Block, kernel: Kernel) -> None:
        """Add what the kernel returns for a block."""
        self.add_found(block, self.find(block, kernel))

    def find(self, block: Block, kernel: Kernel) -> Mapping[str, Any]:
        """Return what the kernel does, for those of the workers asked for who are in the block."""
        asked = self._places(block)
        return kernel(block, asked) if asked.start < asked.stop else {}

    def add_found(self, block: Block, found: Mapping[str, Any]) -> None:
        """Add what a kernel returned for a block."""
        who, asked = self._everyone[block.workers], self._places(block)
        for name, part in found.items():
            if block.live is not None:
                part = (part if isinstance(part, np.ndarray) else part.tocsr())[:, :-1]
            self._of(name).add(part, who[asked] - self._rows.start, who)

    def _places(self, block: Block) -> slice:
        bounds = [self._rows.start, self._rows.stop]
        return slice(*np.searchsorted(self._everyone[block.workers], bounds).tolist())

    def merge(self, other: PairSums) -> PairSums:
        """Add all that another has."""
        for name, part in other._sums.items():
            self._of(name).merge(part)
        return self

    def _of(self, name: str) -> MatrixSum:
        if name not in self._sums:
            self._sums[name] = MatrixSum((len(self._rows), len(self._everyone)))
        return self._sums[name]

    def result(self) -> dict[str, Any]:
        """Return the sums, each an array, or sparse by rows (CSR) if it is large and little of it is filled."""
        return {name: stack_rows([total.result()]) for name, total in self._sums.items()}
