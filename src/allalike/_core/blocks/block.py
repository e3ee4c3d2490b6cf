"""Block: some whole tasks as arrays, and the sums over them that everything else is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Add", "Array", "Block", "Floats", "Kernel", "Sums", "adds_in_place", "known_sums", "sum_by"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Sums = Mapping[str, Any]
Kernel = Callable[..., Sums]
Add = Callable[..., dict[str, Floats]]  # add(kernel, *params): a kernel's sums per worker, over all blocks

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Block:
    """The answers to some whole tasks, task after task.

    What a domain or a method computes once, because every round needs it, is kept with the block as small typed
    objects, one of each class: ``block[LabelGroups]`` is that of class `LabelGroups`.

    Parameters
    ----------
    starts, sizes
        Of each task: its first answer, and how many there are.
    worker, label
        Of each answer: who gave it, as a place in ``workers``, and what it says, in the domain's encoding.
    workers
        The numbers of the block's workers in the whole run: all of them (a slice), or those that occur here.
    n_workers
        Number of these workers, plus one dummy worker, who comes last and collects the answers of dropped tasks, where
        there are any.
    task_hash
        Of each task: the hash of its id, by which ties are drawn.
    gold_task, gold_label
        The tasks of this block whose truth is known, and these truths.
    prepared
        What was computed once, by class.
    live
        Of each task: whether it counts. The answers to a dropped task are the dummy worker's. If all count, None.

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
    prepared: Mapping[type, Any] = field(default_factory=dict)
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
        size = int(self.sizes[0]) if self.n_tasks else 0  # as of pairs, where rankings have one item each
        return size if len(self.label) == size * self.n_tasks and np.all(self.sizes == size) else 0

    @property
    def task(self) -> npt.NDArray[np.intp]:
        """Of each answer: its task."""
        return self.to_answers(np.arange(self.n_tasks))

    @property
    def first_worker(self) -> npt.NDArray[np.intp]:
        """Of each task: who gave its first answer; the constants of a problem stand in the rows of its workers."""
        return self.worker[self.starts]

    @property
    def gold_row(self) -> npt.NDArray[np.int64]:
        """Of each task: the place of its truth among those that are known, or -1."""
        row = np.full(self.n_tasks, -1)
        row[self.gold_task] = np.arange(len(self.gold_task))
        return row

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

    def pick(self, tasks: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Block:
        """Return a block of some tasks and all their answers, without what was prepared and what is known."""
        sizes = self.sizes[tasks]
        return replace(
            self,
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            worker=self.worker[rows],
            label=self.label[rows],
            task_hash=self.task_hash[tasks],
            gold_task=self.gold_task[:0],
            gold_label=self.gold_label[:0],
            prepared={},
        )

    def keeping(self, *prepared: object) -> Block:
        """Return the block with these objects for later rounds, each to be found by its class.

        >>> Block.of([[0, 1], [1, 1]]).keeping(1.5)[float]
        1.5
        """
        return replace(self, prepared={**self.prepared, **{type(each): each for each in prepared}})

    def __getitem__(self, kind: type[T]) -> T:
        found: T = self.prepared[kind]
        return found

    def __contains__(self, kind: type) -> bool:
        return kind in self.prepared

    def without(self, gone: npt.NDArray[np.bool_]) -> Block:
        """Give the answers of dropped tasks to the dummy worker, whose sums are discarded; all else stays prepared.

        >>> block = Block.of([[0, 1], [1, 1]]).without(np.array([True, False]))
        >>> block.worker, block.n_workers
        (array([2, 2, 0, 1]), 3)
        """
        dummy = self.n_workers if self.live is None else self.n_workers - 1
        worker = np.where(self.to_answers(gone), dummy, self.worker)
        live = ~gone if self.live is None else self.live & ~gone
        return replace(self, worker=worker, n_workers=dummy + 1, live=live)

    def answer_weights(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each answer's weight and each task's sum; where all of a task's are 0, its answers count the same."""
        weight = weights.take(self.worker)
        total = self.per_task(weight)
        empty = total <= 0
        if empty.any():
            weight = np.where(self.to_answers(empty), 1.0, weight)
            total = np.where(empty, self.sizes, total)
        return weight, total


def adds_in_place(kernel: Kernel) -> Kernel:
    """Mark a kernel that takes sums as ``into``, adds to those that it finds there, and returns these, or new ones.

    Where there are many workers, adding up a table of theirs for each block would take longer than filling it.
    """
    kernel.adds_in_place = True  # type: ignore[attr-defined]
    return kernel


def sum_by(place: npt.NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Add up the numbers that go to the same place.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.bincount(place, values, size).astype(np.float64, copy=False)


def known_sums(block: Block, distance: Floats) -> dict[str, Floats]:
    """Add up, per worker, the distances of her answers where these are known, and count them.

    >>> known_sums(Block.of([[5.0, 6.0], [7.0, 8.0]]), np.array([1.0, np.nan, 2.0, 3.0]))
    {'distance': array([3., 3.]), 'answers': array([2., 1.])}
    """
    known = ~np.isnan(distance)
    return {
        "distance": block.per_worker(np.where(known, distance, 0.0)),
        "answers": block.per_worker(known.astype(np.float64)),
    }
