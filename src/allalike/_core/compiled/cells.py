"""Cells: who said what, as one whole number for each answer, of four bytes where that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.voices import Voices
from allalike._core.late import sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats

__all__ = ["Cells", "cells_of", "keep_cells"]

_MAX_CELLS = 1 << 31  # that numbers of four bytes can tell apart


@dataclass(frozen=True)
class Cells:
    """The answers of some tasks, each in a **cell**: a worker together with a label.

    Parameters
    ----------
    starts
        The first answer of each task, and the number of answers.
    cell
        Of each answer: the number of its worker, times k, and its label. Of eight bytes if there are more than 2^31
        cells, for which no pass is compiled.
    voice
        Of each answer: how much it counts; None if all count 1.
    n_workers, k
        How many workers and labels there are.

    >>> Cells(np.array([0, 2]), np.array([0, 4], np.int32), None, 2, 2)
    Traceback (most recent call last):
    ...
    ValueError: Answers must be in the cells of 2 workers and 2 labels, and tasks have one or more of them.
    """

    starts: npt.NDArray[np.int64]
    cell: npt.NDArray[np.int32] | npt.NDArray[np.int64]
    voice: Floats | None
    n_workers: int
    k: int

    def __post_init__(self) -> None:
        starts, cell, voice = self.starts, self.cell, self.voice
        kind = _find_kind(self.n_workers, self.k)
        whole = starts.dtype == np.int64 and cell.dtype == kind and (voice is None or voice.dtype == np.float64)
        fits = starts[0] == 0 and starts[-1] == len(cell) and (voice is None or len(voice) == len(cell))
        inside = not len(cell) or (cell.min() >= 0 and cell.max() < self.n_workers * self.k)
        if not (whole and fits and inside and (np.diff(starts) > 0).all()):
            raise ValueError(
                f"Answers must be in the cells of {self.n_workers} workers and {self.k} labels, and tasks have one or "
                "more of them."
            )

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self.starts) - 1

    @cached_property
    def matrix(self) -> Any:
        """The sparse matrix that has a row for each task, a column for each cell, and the voices as entries."""
        voice = np.ones(len(self.cell)) if self.voice is None else self.voice
        return sparse.csr_array(
            (voice, self.cell, self.starts.astype(np.int32)), shape=(self.n_tasks, self.n_workers * self.k)
        )

    @cached_property
    def transposed(self) -> Any:
        """The matrix with a row for each cell; it shares the entries."""
        return self.matrix.T


def cells_of(block: Block, k: int) -> Cells:
    """Return the cells of a block with k labels: those that it keeps, or new ones.

    >>> from allalike._core.blocks.block import Block
    >>> cells_of(Block.of([[0, 1], [1, 1]]), 2).matrix.toarray()
    array([[1., 0., 0., 1.],
           [0., 1., 0., 1.]])
    """
    if Cells in block:
        return block[Cells]
    cell: Any = block.worker.astype(_find_kind(block.n_workers, k))
    cell *= k
    cell += block.label
    starts = np.append(block.starts, len(block.label)).astype(np.int64, copy=False)
    voice = np.ascontiguousarray(block[Voices].voice, np.float64) if Voices in block else None
    return Cells(starts, cell, voice, block.n_workers, k)


def _find_kind(n_workers: int, k: int) -> type[np.int32] | type[np.int64]:
    """Return the type of whole numbers that can number all cells.

    >>> _find_kind(2**30, 2).__name__, _find_kind(2**30, 3).__name__
    ('int32', 'int64')
    """
    return np.int32 if n_workers * k <= _MAX_CELLS else np.int64


def keep_cells(block: Block, *, k: int) -> Block:
    """Return the block with its cells, for later rounds, or for those who need them twice."""
    return block if Cells in block else block.keeping(cells_of(block, k))
