"""Ranges of workers whose sums over pairs fit in memory, and the connected components of workers.

Fifty thousand workers have more than a billion pairs, and ten answers to each of half a million tasks have more than
twenty million. The sums of pairs (`Run.pairs`) are therefore computed for one range of workers at a time, and the
caller keeps the results that it needs. Free memory determines the size of the ranges, but does not change the sums.

**Parts** are the connected components of workers: no chain of common tasks links two parts, so that workers in
different parts cannot be compared.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from allalike._core.blocks.block import find_answer_weights
from allalike._core.blocks.pairs import MatrixSum, count_later, count_partners, list_entries
from allalike._core.system.progress import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats, Kernel
    from allalike.engines.base import Run

T = TypeVar("T")

_SPARSE_BYTES, _DENSE_BYTES = 48, 12  # memory per sum of a pair during its computation
_MAX_RANGES = 64  # each of which reads all answers
_MAX_SHARE = 0.5  # of the free memory, for the pairs that connect workers
_COPIES = 3  # of these pairs during the search for parts


def count_met(run: Run, *, once: bool = False) -> Floats:
    """Return an upper bound on the number of other workers who share tasks with each worker.

    If ``once``, a pair counts only for its first worker.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y"), ("kim", 2, "y")]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> count_met(run), count_met(run, once=True)
    (array([2., 2., 3., 1.]), array([2., 1., 1., 0.]))
    """
    n = len(run.workers)
    met = run.sum(count_later if once else count_partners)["partners"]
    return np.asarray(np.minimum(met, n - 1.0 - np.arange(n) if once else n - 1.0))


def cut_workers(load: Floats, most: float, *, first: int = 0, ends: Array | None = None) -> list[range]:
    """Divide workers into ranges with about this total load; if ``ends`` is given, ranges end only there.

    >>> cut_workers(np.ones(5), 2.0), cut_workers(np.ones(5), 2.0, first=10, ends=np.array([11, 14, 15]))
    ([range(0, 1), range(1, 3), range(3, 5)], [range(10, 11), range(11, 15)])
    """
    last = first + 1 + np.arange(len(load)) if ends is None else ends
    number = np.cumsum(load)[last - 1 - first] // most
    bounds = [first, *last[:-1][np.diff(number) > 0].tolist(), first + len(load)]
    return [range(begin, end) for begin, end in itertools.pairwise(bounds)]


def fit_ranges(run: Run, met: Floats, n_sums: int, *, share: float) -> list[range] | None:
    """Divide the workers so that the sums of their pairs take at most a share of the free memory.

    ``met`` bounds the number of other workers with common tasks. Return None if there would be too many ranges.
    """
    load, most = n_sums * np.minimum(_SPARSE_BYTES * met, _DENSE_BYTES * len(met)), share * run.pair_memory
    return cut_workers(load, most) if max(load.max(), load.sum() / _MAX_RANGES) <= most else None


def iter_ranges(
    run: Run, kernel: Kernel, ranges: list[range], look: Callable[[range, dict[str, Any]], T]
) -> Iterator[T]:
    """Yield a function's value for each range and the sums of its pairs, one range in memory at a time.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]))
    >>> ranges = [range(0, 1), range(1, 3)]
    >>> list(iter_ranges(run, run.kernels.pair_sums, ranges, lambda rows, sums: float(sums["distance"].sum())))
    [1.0, 3.0]
    """
    for number, rows in enumerate(ranges):
        report("pairs", number, len(ranges))
        yield look(rows, run.pairs(kernel, rows))


def find_parts(run: Run) -> npt.NDArray[np.intp] | None:
    """Return the part number of each worker, or None if there are too many workers.

    Each worker of a task is connected with the next one. Answers without weight do not connect workers.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("eve", 1, "x"), ("bob", 2, "x"), ("eve", 3, "y"), ("kim", 3, "y")]
    >>> find_parts(allalike.Memory().load(allalike.read(rows)))
    array([0, 1, 0, 0])
    """
    ranges = fit_ranges(run, run.answer_counts.astype(np.float64), _COPIES, share=_MAX_SHARE)
    if ranges is None:
        return None
    part = np.arange(len(run.workers))
    for left, right in iter_ranges(run, _chain, ranges, _list_pairs):
        new = part[left] != part[right]
        part = number_parts(int(part.max()) + 1, part[left[new]], part[right[new]])[part]
    return part


def _list_pairs(rows: range, sums: dict[str, Any]) -> tuple[Array, Array]:
    left, right, _ = list_entries(sums["met"])
    return rows.start + left, right


def _chain(block: Block, rows: slice) -> dict[str, Any]:
    """Connect each worker of a block with the first worker of their part."""
    counted = np.flatnonzero(find_answer_weights(block).weight > 0)
    task, worker = block.task[counted], block.worker[counted]
    follows = task[:-1] == task[1:]
    part = number_parts(block.n_workers, worker[:-1][follows], worker[1:][follows])
    _, firsts = np.unique(part, return_index=True)
    first = firsts[part][rows]
    left = np.arange(rows.start, rows.stop)
    others = np.flatnonzero(first != left)
    met = MatrixSum((rows.stop - rows.start, block.n_workers))
    met.add_entries(others, first[others], np.ones(len(others)))
    return {"met": met.result()}


def number_parts(n_workers: int, left: Array, right: Array) -> npt.NDArray[np.intp]:
    """Return the part number of each worker, given pairs of workers with common tasks.

    >>> number_parts(4, np.array([0, 1]), np.array([2, 0]))
    array([0, 0, 0, 1])
    """
    part = np.arange(n_workers)
    while (part[left] != part[right]).any():
        low = np.minimum(part[left], part[right])
        for ends in (left, right):
            np.minimum.at(part, part[ends], low)
        while (part[part] != part).any():
            part = part[part]
    return np.asarray(np.unique(part, return_inverse=True)[1], np.intp)
