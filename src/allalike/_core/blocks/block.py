"""Blocks: whole tasks as arrays, and the sums over them that all methods use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import mix

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Sums = Mapping[str, Any]
Kernel = Callable[..., Sums]
Add = Callable[..., dict[str, Floats]]  # add(kernel, *params): a kernel's sums per worker over all blocks
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Block:
    """The answers to a number of whole tasks, in the order of tasks.

    Values that every round needs are computed once and kept with the block, as one object per class:
    ``block[LabelGroups]`` returns the object of class `LabelGroups`.

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

    @classmethod
    def of(cls, matrix: Any) -> Block:
        """Make a block from a complete matrix of encoded labels, with a row per worker and a column per task."""
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
        """The number of tasks."""
        return len(self.starts)

    @cached_property
    def same_size(self) -> int:
        """The number of answers to each task if all tasks have the same, which makes sums faster, else 0."""
        size = int(self.sizes[0]) if self.n_tasks else 0  # 0 for pairs of rankings with one item each
        return size if len(self.label) == size * self.n_tasks and np.all(self.sizes == size) else 0

    @property
    def task(self) -> npt.NDArray[np.intp]:
        """The task of each answer."""
        return self.to_answers(np.arange(self.n_tasks))

    @property
    def first_worker(self) -> npt.NDArray[np.intp]:
        """The worker of each task's first answer."""
        return self.worker[self.starts]

    @property
    def gold_row(self) -> npt.NDArray[np.int64]:
        """The index of each task's gold label, or -1."""
        row = np.full(self.n_tasks, -1)
        row[self.gold_task] = np.arange(len(self.gold_task))
        return row

    def per_task(self, values: Floats) -> Floats:
        """Add up values over the answers to each task; there is a number or a row of numbers per answer."""
        if self.same_size:
            sums: Floats = np.einsum("ij...->i...", values.reshape(-1, self.same_size, *values.shape[1:]))
        else:
            sums = np.add.reduceat(values, self.starts)
        return sums

    def per_worker(self, values: Floats) -> Floats:
        """Add up one number per answer over the answers by each worker."""
        return sum_by(self.worker, values, self.n_workers)

    def to_answers(self, values: Array) -> Array:
        """Repeat each task's value for each of its answers."""
        return np.repeat(values, self.same_size or self.sizes, axis=0)

    def pick(self, tasks: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> Block:
        """Return a block of these tasks and rows, without prepared objects and gold labels."""
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
        """Return the block with further prepared objects, which are looked up by class.

        >>> Block.of([[0, 1], [1, 1]]).keeping(1.5)[float]
        1.5
        """
        return replace(self, prepared={**self.prepared, **{type(each): each for each in prepared}})

    def __getitem__(self, kind: type[T]) -> T:
        found: T = self.prepared[kind]
        return found

    def __contains__(self, kind: type) -> bool:
        return kind in self.prepared

    def answer_weights(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each answer's weight and each task's sum; tasks whose weights are all 0 get equal weights."""
        weight = weights.take(self.worker)
        total = self.per_task(weight)
        empty = total <= 0
        if empty.any():
            weight = np.where(self.to_answers(empty), 1.0, weight)
            total = np.where(empty, self.sizes, total)
        return weight, total


def adds_in_place(kernel: Kernel) -> Kernel:
    """Mark a kernel that adds to the sums in its argument ``into`` and returns them, or new ones.

    With many workers, adding up a table per block would take longer than filling it.
    """
    kernel.adds_in_place = True  # type: ignore[attr-defined]
    return kernel


def sum_by(place: npt.NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Add up the numbers with the same index."""
    return np.bincount(place, values, size).astype(np.float64, copy=False)


def known_sums(block: Block, distance: Floats) -> dict[str, Floats]:
    """Add up and count, per worker, the distances of their answers that are not NaN."""
    known = ~np.isnan(distance)
    return {
        "distance": block.per_worker(np.where(known, distance, 0.0)),
        "answers": block.per_worker(known.astype(np.float64)),
    }


# Running sums within segments, such as the answers to a task.
#
# Subtracting the sum before the segment from a running sum over the whole block would lose the digits of small numbers
# after large ones. Therefore segments are summed separately. Segments of equal length are the rows of a matrix. In
# others, each number is added to those 1, 2, 4, ... places later in its segment.


def add_up_to(values: Floats, sizes: Array) -> Floats:
    """Compute running sums within segments of these sizes.

    >>> add_up_to(np.array([1.0, 2.0, 1e20, 3.0, 4.0, 5.0]), np.array([2, 1, 3]))
    array([1.0e+00, 3.0e+00, 1.0e+20, 3.0e+00, 7.0e+00, 1.2e+01])
    >>> add_up_to(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 2]))
    array([1., 3., 3., 7.])
    """
    longest = int(sizes.max(initial=0))
    if longest * len(sizes) == len(values):
        return np.cumsum(values.reshape(len(sizes), longest), axis=1).ravel()
    place = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    running, step = values.astype(np.float64), 1
    while step < longest:
        earlier = np.where(place[step:] >= step, running[:-step], 0.0)
        running[step:] += earlier
        step *= 2
    return running


# Order: the answers to each task sorted by value, once.


@dataclass(frozen=True)
class Order:
    """The rows of a block, sorted by task and by value within a task."""

    rows: npt.NDArray[np.intp]

    def middle(self, block: Block) -> Floats:
        """Return the lower median of each task's answers."""
        middle: Floats = block.label[self.rows[block.starts + (block.sizes - 1) // 2]]
        return middle


def find_order(block: Block) -> Order:
    """Sort the answers to each task by value."""
    return Order(np.lexsort((block.label, block.task)))


# Ties: one of several equal options is drawn, the same in every run, on every engine, for every order of rows.


TOLERANCE = 1e-9  # relative difference from the best score below which scores are tied
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Ties:
    """The rule for breaking ties: a hash of seed, task and label, or the first label.

    The option with the smallest priority wins.

    >>> import numpy as np
    >>> task, labels = np.full(2, 7, np.uint64), np.array([11, 12], np.uint64)
    >>> winners = [int(np.argmin(Ties(seed).priority(task, labels, labels))) for seed in range(1000)]
    >>> 450 < sum(winners) < 550
    True
    >>> Ties(first=True).priority(labels, labels, np.array([3, 4]))
    array([3, 4], dtype=uint64)
    """

    seed: int = 0
    first: bool = False

    def priority(self, task_hash: Hashes, label_hash: Hashes, order: npt.NDArray[np.int64]) -> Hashes:
        """Return the priority of each tied option; ``order`` is its index among all labels."""
        if self.first:
            return order.astype(np.uint64)
        salt = mix(np.array([self.seed % (1 << 64)], dtype=np.uint64))
        return mix(mix(task_hash ^ salt) ^ label_hash)


DRAWN = Ties()  # the default

# Groups of equal answers to a task, so that counts per label are sums over groups.


_MAX_EMPTY = 8  # cells of a table per answer


@dataclass(frozen=True)
class LabelGroups:
    """The pairs of task and label of a block, numbered task after task."""

    group: npt.NDArray[np.intp]
    task: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    label_hash: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.task)


def group_labels(block: Block, label_hash: npt.NDArray[np.uint64], *, most: float = 1.0) -> LabelGroups:
    """Number the pairs of task and label, given the hash of each label.

    With few labels, each task has a group per label, even absent ones. If there were more than ``most`` times as many
    groups as answers, only the pairs that occur are numbered. A task's groups are in the order of labels.

    >>> from allalike._core.blocks.block import Block
    >>> groups = group_labels(Block.of([[0, 5], [0, 7], [2, 7]]), np.arange(10_000, dtype=np.uint64))
    >>> groups.group, groups.task, groups.label
    (array([0, 0, 1, 2, 3, 3]), array([0, 0, 1, 1], dtype=int32), array([0, 2, 5, 7], dtype=int32))
    >>> groups.first, groups.count
    (array([0, 2]), array([2, 2]))
    """
    n_labels = len(label_hash)
    task = block.task
    if block.n_tasks * n_labels <= most * len(block.label):
        tasks, labels = np.arange(block.n_tasks, dtype=np.int32), np.arange(n_labels, dtype=np.int32)
        group = task * n_labels + block.label
        group_task, group_label = np.repeat(tasks, n_labels), np.tile(labels, block.n_tasks)
    else:
        pairs, group = np.unique(task * n_labels + block.label, return_inverse=True)
        group_task, group_label = np.divmod(pairs, n_labels)
    count = np.bincount(group_task, minlength=block.n_tasks)
    return LabelGroups(
        group=group.astype(np.intp),
        task=group_task.astype(np.int32),
        label=group_label.astype(np.int32),
        first=np.cumsum(count) - count,
        count=count,
        label_hash=label_hash,
    )


def number_within_tasks(block: Block) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Return each answer's label number among its task's labels, and each task's number of labels."""
    task, base = block.task, int(block.label.max()) + 1
    place = task * base + block.label
    if block.n_tasks * base <= _MAX_EMPTY * len(place):  # a table is faster than sorting
        there = np.bincount(place, minlength=block.n_tasks * base).reshape(-1, base) > 0
        number: npt.NDArray[np.intp] = np.cumsum(there, axis=1, dtype=np.intp)
        return number.ravel().take(place) - 1, number[:, -1].astype(np.int64)
    pairs, cell = np.unique(place, return_inverse=True)
    count = np.bincount(pairs // base, minlength=block.n_tasks)
    return (cell - (np.cumsum(count) - count)[task]).astype(np.intp), count


def sort_within(place: npt.NDArray[np.integer], values: npt.NDArray[np.float64], n: int) -> npt.NDArray[np.intp]:
    """Return the order of values by group (one of n) and by value within a group, like `numpy.lexsort`.

    It is several times faster if most groups have about the same size.
    """
    count = np.bincount(place, minlength=n)
    width = int(count.max(initial=0))
    if n * width > _MAX_EMPTY * len(place):
        return np.asarray(np.lexsort((values, place)), np.intp)
    rows = np.argsort(place, kind="stable")
    starts = np.cumsum(count) - count
    table = np.full((n, width), np.nan)  # sorted last
    table[place[rows], np.arange(len(rows)) - np.repeat(starts, count)] = values[rows]
    order = np.argsort(table, axis=1, kind="stable")
    return np.asarray(rows[(order + starts[:, None])[order < count[:, None]]], np.intp)


# Weights of answers: a copy group counts once, and uninformative workers do not count.


@dataclass(frozen=True)
class AnswerWeights:
    """The weight and the copy group of each answer in a block."""

    weight: Floats
    group: npt.NDArray[np.intp]


def find_answer_weights(block: Block) -> AnswerWeights:
    """Return the weights of a block's answers; by default each answer counts once and is its own group."""
    if AnswerWeights in block:
        return block[AnswerWeights]
    return AnswerWeights(np.ones(len(block.label)), np.arange(len(block.label)))


def subtract_own_group(block: Block, scores: Floats, rows: Floats) -> Floats:
    """Return, per answer, the scores of its task without the contribution of its copy group: a row per answer."""
    group = find_answer_weights(block).group
    n_groups = int(group.max()) + 1
    if n_groups < len(group):
        table = np.stack([sum_by(group, column, n_groups) for column in rows.T], axis=1)
        rows = table.take(group, axis=0)
    others: Floats = block.to_answers(scores) - rows
    return others
