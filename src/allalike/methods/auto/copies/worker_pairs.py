"""Worker pairs: mean distance and number of common tasks of every pair of workers with a common task.

Distances must be comparable between tasks, as bounded distances are. For squared distances of numbers and vectors,
roots are divided by the scale of the task: the median distance between two of its answers, at least a tenth of the
median scale. Distances are capped at five scales, so that one typing error does not outweigh a hundred answers.

The sums of distances and of their squares, and the numbers of common tasks, are matrices that any engine adds up over
blocks, one range of workers at a time. They are sparse if few workers have common tasks. If not all pairs fit in
memory, those with fewer than five common tasks are excluded, because they cannot show copying. A worker keeps up to a
hundred such pairs, however, because the estimate of their error needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sort_within
from allalike._core.blocks.pairs import (
    MatrixSum,
    PairDistances,
    are_alike,
    count_partners,
    list_entries,
    pair_alike,
    pair_chunks,
)
from allalike._core.columns.hashes import mix
from allalike.domains import Kernels
from allalike.engines import Run
from allalike.engines.ranges import count_met, cut_workers, fit_ranges, iter_ranges

LEAST_COMMON = 5  # common tasks of a pair that is compared

_MAX_PAIRS = 13_000_000  # of workers: all pairs of five thousand
_MAX_COMPARISONS = 300_000_000  # of answers
_BYTES_PER_PAIR = 250
_ENTRIES_PER_RANGE = 1 << 24
_MAX_SHARE = 0.25  # of the free memory, for the sums of a range of workers
_PAIRS_PER_SLICE = 1 << 18
_MAX_PEERS = 100  # of a worker: twice as many as are used to estimate the worker's error, because some may be copies
_NUMBERS_PER_CHUNK = 1 << 22
_MAX_STEPS = 50  # around the circle of a task's answers: all pairs of up to a hundred
_LEAST_SCALE = 0.1  # of the median scale
_FARTHEST = 5.0  # scales
_ROUNDING = 1e-9  # distance below which two answers are equal
_SUMS = ("common", "distance", "square", "same")


class WorkerPairs(NamedTuple):
    """Pairs of workers with common tasks, each once; ``left`` is the smaller number."""

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    common: Floats
    mean: Floats
    spread: Floats
    same: Floats

    def some(self, which: npt.NDArray[np.bool_]) -> WorkerPairs:
        """Return the selected pairs."""
        return WorkerPairs._make(column[which] for column in self)

    def without_strangers(self, n_workers: int) -> WorkerPairs:
        """Exclude pairs with few common tasks if both workers have a hundred peers with more."""
        kept = self.common >= LEAST_COMMON
        often = np.bincount(np.concatenate([self.left[kept], self.right[kept]]), minlength=n_workers)
        rare = np.flatnonzero(~kept & (np.minimum(often[self.left], often[self.right]) < _MAX_PEERS))
        who = np.concatenate([self.left[rare], self.right[rare]])
        peer = np.concatenate([self.right[rare], self.left[rare]])
        order, rank = rank_peers(who, peer, np.tile(self.common[rare], 2), n_workers)
        kept[rare[order[often[who[order]] + rank < _MAX_PEERS] % len(rare)]] = True
        return self.some(kept)


@dataclass(frozen=True)
class TaskScale:
    """The median distance between two answers to each task; NaN for tasks with a single answer."""

    scale: Floats


def find_worker_pairs(run: Run, dropped: npt.NDArray[np.bool_] | None = None) -> WorkerPairs | None:
    """Return all pairs of workers with common tasks; None if there are too many pairs of workers or answers.

    If memory is short, pairs with few common tasks and pairs of ``dropped`` workers are excluded.
    """
    load, met = run.sum(count_partners)["partners"], count_met(run)
    pairs = met.sum() / 2
    if pairs > _MAX_PAIRS or load.sum() / 2 > _MAX_COMPARISONS:
        return None
    whole = bool(pairs * _BYTES_PER_PAIR <= run.pair_memory)
    if whole:
        ranges: list[range] | None = cut_workers(np.minimum(8 * met, len(met)), _ENTRIES_PER_RANGE)
    else:
        ranges = fit_ranges(run, count_met(run, once=True), len(_SUMS), share=_MAX_SHARE)
    if ranges is None:
        return None
    scaled, least = _scale_tasks(run) if run.encoding.noise.weighting == "inverse" else (run, None)
    kernel = partial(_pair_sums, kernels=run.kernels, least=least)
    listed = chain.from_iterable(iter_ranges(scaled, kernel, ranges, _list_slices))
    if whole:
        return WorkerPairs._make(map(np.concatenate, zip(*listed, strict=True)))
    found = _sift(listed, np.zeros(len(met), bool) if dropped is None else dropped)
    return found if len(found.left) * _BYTES_PER_PAIR <= run.pair_memory else None


def _sift(listed: Iterable[tuple[Array, ...]], dropped: npt.NDArray[np.bool_]) -> WorkerPairs:
    """Concatenate pairs, excluding those with few common tasks as they arrive."""
    found = WorkerPairs(*np.empty((2, 0), np.int64), *np.empty((4, 0)))
    for columns in listed:
        part = WorkerPairs(*columns)
        more = part.some(~(dropped[part.left] | dropped[part.right]))
        found = WorkerPairs._make(map(np.concatenate, zip(found, more, strict=True))).without_strangers(len(dropped))
    return found


def rank_peers(who: Array, peer: Array, common: Floats, n_workers: int) -> tuple[Array, Array]:
    """Order the peers of each worker by common tasks, most first; return the order and ranks."""
    draw = mix((who * n_workers + peer).astype(np.uint64))
    order = np.lexsort((draw, -common, who))
    return order, np.arange(len(order)) - np.searchsorted(who[order], who[order])


def _scale_tasks(run: Run) -> tuple[Run, float]:
    """Return the run with the scale of each task, and the smallest scale."""
    scaled = run.map(partial(_with_scale, kernels=run.kernels))
    scale = scaled.collect(_scale_of)["scale"]
    known = np.sort(scale[scale > 0])
    return scaled, _LEAST_SCALE * float(known[len(known) // 2] if len(known) else 1.0)


def _with_scale(block: Block, *, kernels: Kernels) -> Block:
    """Add the median distance between answers to each task, over all pairs if there are at most a hundred answers."""
    if are_alike(block):
        return block.keeping(TaskScale(_median_rows(block, kernels)))
    size, first = block.to_answers(block.sizes), block.to_answers(block.starts)
    place = np.arange(len(size)) - first
    lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for step in range(1, min(int(block.sizes.max()) // 2, _MAX_STEPS) + 1):
        left = np.flatnonzero((2 * step < size) | ((2 * step == size) & (place < step)))
        lefts.append(left)
        rights.append(first[left] + (place[left] + step) % size[left])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    distance = np.sqrt(_measure(block, left, right, kernels))
    task = block.task[left]
    order = sort_within(task, distance, block.n_tasks)
    count = np.bincount(task, minlength=block.n_tasks)
    begin, scale = np.cumsum(count) - count, np.full(block.n_tasks, np.nan)
    met = np.flatnonzero(count)
    lower, upper = (distance[order[begin[met] + middle[met]]] for middle in ((count - 1) // 2, count // 2))
    scale[met] = (lower + upper) / 2
    return block.keeping(TaskScale(scale))


def _median_rows(block: Block, kernels: Kernels) -> Floats:
    scales = []
    for left, right in pair_alike(block, once=True):
        distance = np.sort(_measure(block, left.ravel(), right.ravel(), kernels).reshape(left.shape), axis=1)
        lower, upper = (np.sqrt(distance[:, middle]) for middle in ((left.shape[1] - 1) // 2, left.shape[1] // 2))
        scales.append((lower + upper) / 2)
    return np.concatenate(scales)


def _scale_of(block: Block) -> dict[str, Array]:
    return {"scale": block[TaskScale].scale}


def _compare_answers(
    block: Block, rows: slice, *, kernels: Kernels, least: float | None
) -> Iterator[tuple[Array, Array, Floats]]:
    """Yield pairs of answers to a task, the first by a worker in ``rows``, and their distances.

    ``least`` is the smallest scale by which distances are divided. Unknown distances are excluded.
    """
    for left, right, distance in _pairs_of(block, rows, kernels):
        once = (block.worker[left] < block.worker[right]) & ~np.isnan(distance)
        if not once.all():
            left, right, distance = left[once], right[once], distance[once]
        if least is not None:
            scale = block.to_answers(np.fmax(block[TaskScale].scale, least))
            distance = np.minimum(np.sqrt(distance) / scale[left], _FARTHEST)
        yield left, right, distance


def _pairs_of(block: Block, rows: slice, kernels: Kernels) -> Iterator[tuple[Array, Array, Floats]]:
    if PairDistances not in block:
        for left, right in pair_chunks(block, rows, once=True):
            yield left, right, _measure(block, left, right, kernels)
        return
    pairs = block[PairDistances]
    asked = (block.worker[pairs.left] >= rows.start) & (block.worker[pairs.left] < rows.stop)
    yield pairs.left[asked], pairs.right[asked], pairs.distance[asked]


def _measure(block: Block, left: Array, right: Array, kernels: Kernels) -> Floats:
    """Measure distances of answers, in chunks because labels may be large."""
    distance, width = np.empty(len(left)), int(np.prod(block.label.shape[1:]))
    for part in np.array_split(np.arange(len(left)), 1 + len(left) * width // _NUMBERS_PER_CHUNK):
        distance[part] = kernels.distance_within(block, left[part], right[part])
    return distance


def _pair_sums(block: Block, rows: slice, *, kernels: Kernels, least: float | None) -> dict[str, Any]:
    shape = rows.stop - rows.start, block.n_workers
    sums = {name: MatrixSum(shape) for name in _SUMS}
    for left, right, distance in _compare_answers(block, rows, kernels=kernels, least=least):
        place = block.worker[left] - rows.start, block.worker[right]
        for name, values in zip(_SUMS, (np.ones(len(left)), distance, distance**2), strict=False):
            sums[name].add_entries(*place, values)
        same = np.flatnonzero(distance <= _ROUNDING)
        sums["same"].add_entries(place[0][same], place[1][same], np.ones(len(same)))
    return {name: matrix.result() for name, matrix in sums.items()}


def _list_slices(rows: range, sums: dict[str, Any]) -> Iterator[tuple[Array, ...]]:
    """List pairs in slices of workers, because lists take more memory than sums."""
    filled = max(1, int((sums["common"] > 0).sum()))
    step = max(1, len(rows) * _PAIRS_PER_SLICE // filled)
    for first in range(0, len(rows), step):
        yield _list_pairs({name: matrix[first : first + step] for name, matrix in sums.items()}, rows.start + first)


def _list_pairs(sums: dict[str, Any], first: int) -> tuple[Array, ...]:
    """Return pairs with common tasks, from sums in arrays or sparse matrices without zeros."""
    n_workers, entries = sums["common"].shape[1], [list_entries(sums[name]) for name in _SUMS]
    places = [row.astype(np.int64) * n_workers + column for row, column, _ in entries]
    place = np.sort(places[0])
    common, distance, square, same = values = np.zeros((len(_SUMS), len(place)))
    for each, own, (_, _, numbers) in zip(values, places, entries, strict=True):
        each[np.searchsorted(place, own)] = numbers
    left, right = np.divmod(place, n_workers)
    mean, several = distance / common, common > 1
    rest = np.maximum(square - common * mean**2, 0.0)
    spread = np.where(several, np.sqrt(rest / np.where(several, common - 1, 1.0)), np.nan)
    return first + left, right, common, mean, spread, same
