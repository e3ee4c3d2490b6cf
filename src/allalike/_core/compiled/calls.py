"""The calls of the compiled passes: each takes what its twin takes, checks it, and hands arrays to the library.

A pass reads and writes memory without looking, so everything that it gets is of the right type and size: `Cells` are
checked when they are made, and numbers per worker here.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import AnswerWeights
from allalike._core.compiled.library import NotCompiledError, find_library
from allalike._core.late import sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats


# Cells: who said what, as one whole number for each answer, of four bytes where that is enough.


_MAX_CELLS = 1 << 31  # that numbers of four bytes can tell apart


@dataclass(frozen=True)
class Cells:
    """The answers of some tasks, each in a **cell**: a worker together with a label.

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
    """Return the cells of a block with k labels: those that it keeps, or new ones."""
    if Cells in block:
        return block[Cells]
    cell: Any = block.worker.astype(_find_kind(block.n_workers, k))
    cell *= k
    cell += block.label
    starts = np.append(block.starts, len(block.label)).astype(np.int64, copy=False)
    voice = np.ascontiguousarray(block[AnswerWeights].weight, np.float64) if AnswerWeights in block else None
    return Cells(starts, cell, voice, block.n_workers, k)


def _find_kind(n_workers: int, k: int) -> type[np.int32] | type[np.int64]:
    """Return the type of whole numbers that can number all cells."""
    return np.int32 if n_workers * k <= _MAX_CELLS else np.int64


def keep_cells(block: Block, *, k: int) -> Block:
    """Return the block with its cells, for later rounds, or for those who need them twice."""
    return block if Cells in block else block.keeping(cells_of(block, k))


_NO_MEMORY = -1
_MAX_PLACES = 1 << 31  # that are counted with numbers of four bytes
_MAX_LABELS = 64  # of a worker's rows, as passes.c has it


def add_up(cells: Cells, table: Floats) -> Floats:
    """Add up, per task, the rows of its answers; the table has a row per worker and label."""
    width = table.size // (cells.n_workers * cells.k)
    rows, sums = _floats(table, cells, width), np.empty((cells.n_tasks, width))
    _call("expect", *_arrays(cells), cells.k, width, rows, None, sums, None)
    return sums


def posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> tuple[Floats, Floats]:
    """Return how probable each state of each task is, and the log likelihood of its answers."""
    cells, width = cells_of(block, k), shares.shape[1]
    states, likelihood = np.empty((cells.n_tasks, width)), np.empty(cells.n_tasks)
    tables = _floats(rows, cells, width), _floats(shares, cells, width / k)
    _call("expect", *_arrays(cells), k, width, *tables, states, likelihood)
    return states, likelihood


def count(cells: Cells, shares: Floats, into: Floats | None = None) -> Floats:
    """Add up, per worker and label, the rows of the tasks that she answered so."""
    width = shares.shape[1]
    counts = np.zeros((cells.n_workers, cells.k, width)) if into is None else into
    tasks = np.ascontiguousarray(shares, np.float64)
    fits = (
        counts.shape == (cells.n_workers, cells.k, width) and counts.dtype == np.float64 and counts.flags.c_contiguous
    )
    if len(tasks) != cells.n_tasks or not fits:
        raise ValueError("There must be a row for each task, and sums for each worker and label.")
    _call("count", *_arrays(cells), width, tasks, counts)
    return counts


def count_votes(block: Block, weights: Floats, *, k: int) -> Floats:
    """Count the votes for each label of each task, weighted by worker."""
    cells = cells_of(block, k)
    votes = np.zeros((cells.n_tasks, k))
    _call("votes", *_arrays(cells), k, _floats(weights, cells, 1 / k), votes)
    return votes


def count_others(block: Block, vote: Floats, label: Array, k: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Find how each answer stands among the votes of those who are not of its group, each with a vote for a label."""
    n = len(block.worker)
    said, votes = np.ascontiguousarray(label, np.int32), np.ascontiguousarray(vote, np.float64)
    if len(said) != n or len(votes) != n or (n and (said.min() < 0 or said.max() >= k)):
        raise ValueError(f"There must be a vote for one of {k} labels for each answer.")
    found = np.empty((n, 4))
    _call("count_others", block.n_tasks, _starts(block), said, votes, _groups(block), k, found)
    own, top, total, hit = found.T
    return own, top, total, hit


def _groups(block: Block) -> Array | None:
    """Return the groups of answers, if there are any: those of a task have numbers that follow each other."""
    if AnswerWeights not in block:
        return None
    group = np.ascontiguousarray(block[AnswerWeights].group, np.int64)
    low, high = (each.reduceat(group, block.starts) for each in (np.minimum, np.maximum))
    if len(group) != len(block.worker) or not ((high - low) < block.sizes).all():
        raise ValueError("The groups that answered a task must be numbered one after the other.")
    return group


def connect(block: Block) -> Array:
    """Return of each worker of a block the first one whom a chain of common tasks connects with her."""
    part, voice = np.empty(block.n_workers, np.int64), None
    if AnswerWeights in block:
        voice = _table(block[AnswerWeights].weight, (len(block.worker),))
    _call("connect", block.n_tasks, _starts(block), _workers(block), voice, block.n_workers, part)
    return part


def weigh_strength(said: Floats, expected: Floats, strength: float) -> Floats:
    """Return the log likelihood of each worker's answers beside so many of those that are expected of her."""
    n, k, _ = said.shape
    if k > _MAX_LABELS:
        raise ValueError(f"There must be {_MAX_LABELS} labels at most.")
    likelihood = np.empty(n)
    _call("weigh_strength", n, k, _table(said, (n, k, k)), _table(expected, (n, k, k)), float(strength), likelihood)
    return likelihood


def complete_rows(by_level: Floats, own: Floats, shift: Floats) -> Floats:
    """Return the logarithms of rows, of what a worker does at each level beside what she does at all of them."""
    n, k, _, levels = by_level.shape
    if k * k * levels >= _MAX_PLACES:
        raise NotCompiledError
    tables = _table(by_level, (n, k, k, levels)), _table(own, (n, k, k)), _table(shift, (n, k, levels))
    rows = np.empty(by_level.shape)
    _call("complete_rows", n, k, levels, *tables, rows)
    return rows


def sparse_pair_sums(block: Block, rows: slice, group: Array) -> dict[str, Any]:
    """Count, per pair of workers, the tasks on which they differ, and those that they have in common."""
    n, n_rows, n_workers = len(block.worker), rows.stop - rows.start, block.n_workers
    worker, within = _workers(block), np.ascontiguousarray(group, np.int64)
    if len(within) != n or not 0 <= rows.start <= rows.stop <= n_workers:
        raise ValueError(f"Each answer must have a group, and rows be those of {n_workers} workers.")
    asked = slice(None) if n_rows == n_workers else (worker >= rows.start) & (worker < rows.stop)
    most = int(block.to_answers(block.sizes - 1)[asked].sum())
    if max(most, n) >= _MAX_PLACES:
        raise NotCompiledError
    indptr, indices, common, differ = np.zeros(n_rows + 1, np.int32), np.empty(most, np.int32), *np.empty((2, most))
    arrays = indptr, indices, common, differ
    found = _call("pairs", block.n_tasks, _starts(block), worker, within, n_workers, rows.start, rows.stop, *arrays)
    shape = n_rows, n_workers

    def matrix(values: Floats) -> Any:
        return sparse.csr_array((values[:found], indices[:found], indptr), shape=shape)

    return {"distance": matrix(differ), "common": matrix(common)}


def _arrays(cells: Cells) -> tuple[Any, ...]:
    if cells.cell.dtype != np.int32:
        raise NotCompiledError
    voice = None if cells.voice is None else np.ascontiguousarray(cells.voice)
    return cells.n_tasks, np.ascontiguousarray(cells.starts), np.ascontiguousarray(cells.cell), voice


def _starts(block: Block) -> Array:
    return np.append(block.starts, len(block.worker)).astype(np.int64, copy=False)


def _workers(block: Block) -> Array:
    worker = np.ascontiguousarray(block.worker, np.int64)
    if len(worker) and (worker.min() < 0 or worker.max() >= block.n_workers):
        raise ValueError(f"Answers must be those of {block.n_workers} workers.")
    return worker


def _floats(table: Floats, cells: Cells, width: float) -> Floats:
    """Return numbers of workers and labels as they lie in memory, of which each cell has so many."""
    found = np.ascontiguousarray(table, np.float64)
    if found.size != round(cells.n_workers * cells.k * width):
        raise ValueError(f"There must be numbers for each of {cells.n_workers} workers and {cells.k} labels.")
    return found


def _table(table: Floats, shape: tuple[int, ...]) -> Floats:
    found = np.ascontiguousarray(table, np.float64)
    if found.shape != shape:
        raise ValueError(f"There must be {shape} numbers, not {found.shape}.")
    return found


def _call(name: str, *arguments: Any) -> int:
    """Call a pass: arrays go by their addresses, whole numbers as they are long in C."""
    library = find_library()
    if library is None:
        raise RuntimeError("There are no compiled passes here.")
    function = library[name]
    function.restype = ctypes.c_int64
    found: int = function(*(_argument(each) for each in arguments))
    if found == _NO_MEMORY:
        raise MemoryError
    return found


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_int64(value) if isinstance(value, int) else value
