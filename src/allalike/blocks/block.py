"""Block: some whole tasks as arrays, and the sums over them that everything else is made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Block", "Floats", "Kernel", "Sums", "group_labels", "pair_chunks", "sum_by"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Sums = Mapping[str, Any]
Kernel = Callable[..., Sums]

_PAIRS_AT_ONCE = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Block:
    """Hold the answers to some whole tasks, task after task.

    Parameters
    ----------
    starts, sizes
        Of each task: its first answer, and how many there are.
    worker, label
        Of each answer: who gave it, as a place in ``workers``, and what it says, in the domain's encoding.
    workers
        The numbers of the block's workers in the whole run: all of them (a slice), or those that occur here.
    n_workers
        How many these are, and nobody, who comes last, where some answers are hers.
    task_hash
        Of each task: the hash of its id, by which ties are drawn.
    gold_task, gold_label
        The tasks of this block whose truth is known, and these truths.
    prepared
        What the domain computed once because every round needs it.
    live
        Of each task: whether it counts. The answers to a task that does not are nobody's. If all count, None.

    >>> import numpy as np
    >>> block = Block.of([[0, 0, 1], [1, 0, 1]])  # two workers, three tasks
    >>> block.sizes, block.worker
    (array([2, 2, 2]), array([0, 1, 0, 1, 0, 1]))
    >>> block.per_task(np.arange(6.0)), block.per_worker(np.arange(6.0))
    (array([1., 5., 9.]), array([6., 9.]))
    """

    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    worker: npt.NDArray[np.intp]
    label: Array
    workers: Any
    n_workers: int
    task_hash: npt.NDArray[np.uint64]
    gold_task: npt.NDArray[np.int64]
    gold_label: Array
    prepared: Mapping[str, Array] = field(default_factory=dict)
    live: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, matrix: Any) -> Block:
        """Make a block of a complete matrix of encoded labels, one row per worker and one column per task."""
        table = np.asarray(matrix)
        n, m = table.shape
        return cls(
            starts=np.arange(m) * n,
            sizes=np.full(m, n),
            worker=np.tile(np.arange(n), m),
            label=table.T.ravel(),
            workers=slice(None),
            n_workers=n,
            task_hash=np.arange(m, dtype=np.uint64),
            gold_task=np.empty(0, np.int64),
            gold_label=table[:0].ravel(),
        )

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self.starts)

    @cached_property
    def same_size(self) -> int:
        """How many answers every task has, or 0 if they differ; sums are faster where it is known."""
        size = int(self.sizes[0])
        return size if len(self.label) == size * self.n_tasks and np.all(self.sizes == size) else 0

    def per_task(self, values: Floats) -> Floats:
        """Add up one number, or one row of numbers, per answer over the answers to each task."""
        if self.same_size:
            sums: Floats = np.einsum("ij...->i...", values.reshape(-1, self.same_size, *values.shape[1:]))
        else:
            sums = np.add.reduceat(values, self.starts)
        return sums

    def per_worker(self, values: Floats) -> Floats:
        """Add up one number per answer over the answers of each worker."""
        return sum_by(self.worker, values, self.n_workers)

    def to_answers(self, values: Array) -> Array:
        """Give each answer the number of its task."""
        return np.repeat(values, self.same_size or self.sizes, axis=0)

    def with_prepared(self, **arrays: Array) -> Block:
        """Return the block with these arrays for later rounds."""
        return replace(self, prepared={**self.prepared, **arrays})

    def without(self, gone: npt.NDArray[np.bool_]) -> Block:
        """Leave the answers to some tasks to nobody, whose sums nobody wants; all else stays as it was prepared.

        >>> block = Block.of([[0, 1], [1, 1]]).without(np.array([True, False]))
        >>> block.worker, block.n_workers
        (array([2, 2, 0, 1]), 3)
        """
        nobody = self.n_workers if self.live is None else self.n_workers - 1
        worker = np.where(self.to_answers(gone), nobody, self.worker)
        live = ~gone if self.live is None else self.live & ~gone
        return replace(self, worker=worker, n_workers=nobody + 1, live=live)

    def answer_weights(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each answer's weight and each task's sum; where all of a task's are 0, its answers count the same."""
        weight = weights.take(self.worker)
        total = self.per_task(weight)
        empty = total <= 0
        if empty.any():
            weight = np.where(self.to_answers(empty), 1.0, weight)
            total = np.where(empty, self.sizes, total)
        return weight, total


def sum_by(place: npt.NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Add up the numbers that go to the same place.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.bincount(place, values, size).astype(np.float64, copy=False)


def group_labels(block: Block, n_labels: int) -> dict[str, Array]:
    """Number the pairs of task and label, so that counts per label are sums over groups of answers.

    Where labels are few, a task has a group for each of them, occurring or not; where they are many, only the
    pairs that occur are numbered, so that ten thousand classes need no table of all of them. Returns the group of
    each answer, task and label of each group, and each task's first group and number of groups.

    >>> groups = group_labels(Block.of([[0, 5], [0, 7], [2, 7]]), n_labels=10_000)
    >>> groups["group"], groups["group_task"], groups["group_label"]
    (array([0, 0, 1, 2, 3, 3]), array([0, 0, 1, 1], dtype=int32), array([0, 2, 5, 7], dtype=int32))
    >>> groups["first_group"], groups["n_groups"]
    (array([0, 2]), array([2, 2]))
    """
    task = block.to_answers(np.arange(block.n_tasks))
    if block.n_tasks * n_labels <= len(block.label):
        tasks, labels = np.arange(block.n_tasks, dtype=np.int32), np.arange(n_labels, dtype=np.int32)
        group = task * n_labels + block.label
        group_task, group_label = np.repeat(tasks, n_labels), np.tile(labels, block.n_tasks)
    else:
        pairs, group = np.unique(task * n_labels + block.label, return_inverse=True)
        group_task, group_label = np.divmod(pairs, n_labels)
    n_groups = np.bincount(group_task, minlength=block.n_tasks)
    return {
        "group": group.astype(np.intp),
        "group_task": group_task.astype(np.int32),
        "group_label": group_label.astype(np.int32),
        "first_group": np.cumsum(n_groups) - n_groups,
        "n_groups": n_groups,
    }


def pair_chunks(
    block: Block, rows: slice | None = None
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield all ordered pairs of different answers to the same task, a few million at a time.

    The first of each pair is by one of the workers in ``rows``, a range of the block's workers; by default by anyone.

    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]))
    >>> left, right
    (array([0, 0, 1, 1, 2, 2]), array([1, 2, 0, 2, 0, 1]))
    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]), slice(1, 2))
    >>> left, right
    (array([1, 1]), array([0, 2]))
    """
    mine = np.arange(len(block.worker))
    partners, first = block.to_answers(block.sizes - 1), block.to_answers(block.starts)
    if rows is not None:
        mine = np.flatnonzero((block.worker >= rows.start) & (block.worker < rows.stop))
        mine = mine[np.argsort(block.worker[mine], kind="stable")]  # a row of sums stays in the cache that way
        partners, first = partners[mine], first[mine]
    before = np.cumsum(partners) - partners
    bounds = np.searchsorted(before, np.arange(0, max(partners.sum(), 1), _PAIRS_AT_ONCE), side="left")
    for begin, end in itertools.pairwise(np.unique([*bounds, len(mine)])):
        counts = partners[begin:end]
        left = np.repeat(mine[begin:end], counts)
        right = np.arange(len(left)) + np.repeat(first[begin:end] + before[begin] - before[begin:end], counts)
        right += right >= left
        yield left, right
