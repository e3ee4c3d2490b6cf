"""Parts: workers whom no chain of common tasks connects, and who cannot be compared therefore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.voices import find_voices
from allalike.engines.ranges import fit_ranges, look_through

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block
    from allalike.engines import Run

__all__ = ["find_parts", "number_parts"]

Numbers = npt.NDArray[np.integer]
_MAX_SHARE = 0.5  # of the free memory
_COPIES = 3  # of the pairs that are connected, while they are


def find_parts(run: Run) -> npt.NDArray[np.intp] | None:
    """Number the parts of the workers, or return None where these are too many to look at.

    Who answers a task has it in common with all who do; it is enough to connect each one with the next. Answers without
    a voice connect nobody.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("eve", 1, "x"), ("bob", 2, "x"), ("eve", 3, "y"), ("kim", 3, "y")]
    >>> find_parts(allalike.Memory().load(allalike.read(rows)))
    array([0, 1, 0, 0])
    """
    ranges = fit_ranges(run, run.answer_counts.astype(np.float64), _COPIES, share=_MAX_SHARE)
    if ranges is None:
        return None
    part = np.arange(run.problems.n_workers)
    for left, right in look_through(run, _chain, ranges, _list_pairs):
        new = part[left] != part[right]
        part = number_parts(int(part.max()) + 1, part[left[new]], part[right[new]])[part]
    return part


def _list_pairs(rows: range, sums: dict[str, Any]) -> tuple[Numbers, Numbers]:
    from scipy import sparse

    met = sparse.coo_array(sums["met"])
    return rows.start + met.row, met.col


def _chain(block: Block, rows: slice) -> dict[str, Any]:
    """Connect the worker of each answer with that of the next answer to the same task."""
    from scipy import sparse

    heard = np.flatnonzero(find_voices(block).voice > 0)
    task = block.task[heard]
    left, right = (block.worker[heard[place]] for place in (slice(None, -1), slice(1, None)))
    asked = (task[:-1] == task[1:]) & (left >= rows.start) & (left < rows.stop)
    shape = (rows.stop - rows.start, block.n_workers)
    return {"met": sparse.coo_array((np.ones(asked.sum()), (left[asked] - rows.start, right[asked])), shape=shape)}


def number_parts(n_workers: int, left: Numbers, right: Numbers) -> npt.NDArray[np.intp]:
    """Number the parts of the workers, given the pairs who have a task in common.

    >>> number_parts(4, np.array([0, 1]), np.array([2, 0]))
    array([0, 0, 0, 1])
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    met = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(n_workers, n_workers))
    return np.asarray(connected_components(met, directed=False)[1], np.intp)
