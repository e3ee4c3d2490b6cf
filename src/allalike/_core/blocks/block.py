"""Block: some whole tasks as arrays, and the sums over them that everything else is made of."""

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
Add = Callable[..., dict[str, Floats]]  # add(kernel, *params): a kernel's sums per worker, over all blocks
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Block:
    """The answers to some whole tasks, task after task.

    What a domain or a method computes once, because every round needs it, is kept with the block as small typed
    objects, one of each class: ``block[LabelGroups]`` is that of class `LabelGroups`.

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
        """The number of tasks."""
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
        """Of each task: the worker of its first answer."""
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
    """Add up the numbers that go to the same place."""
    return np.bincount(place, values, size).astype(np.float64, copy=False)


def known_sums(block: Block, distance: Floats) -> dict[str, Floats]:
    """Add up, per worker, the distances of their answers where these are known, and count them."""
    known = ~np.isnan(distance)
    return {
        "distance": block.per_worker(np.where(known, distance, 0.0)),
        "answers": block.per_worker(known.astype(np.float64)),
    }


# Running sums: of each number and those before it in its segment, such as the answers to a task.
#
# A running sum over a whole block, minus what it was where the segment began, would be one pass; but then a task of
# small numbers behind one of large numbers keeps no digits. So segments never meet: where all have one length they
# are the rows of a matrix, and else each number is added to the one 1, 2, 4, ... places later, as long as that is in
# its segment.


def add_up_to(values: Floats, sizes: Array) -> Floats:
    """Add up, within segments of these sizes, each number and all before it.

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


# Order: the answers to each task in the order of their numbers, which is found once.


@dataclass(frozen=True)
class Order:
    """The rows of a block in the order of tasks, and of numbers within a task."""

    rows: npt.NDArray[np.intp]

    def middle(self, block: Block) -> Floats:
        """Return, per task, the answer in the middle, the lower one of two."""
        middle: Floats = block.label[self.rows[block.starts + (block.sizes - 1) // 2]]
        return middle


def find_order(block: Block) -> Order:
    """Put the answers to each task in the order of their numbers."""
    return Order(np.lexsort((block.label, block.task)))


# Ties: draw a winner among equals, the same one in every run, on every engine, for every order of rows.


TOLERANCE = 1e-9  # scores that are closer than this, relative to the best, are equal
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Ties:
    """How ties are broken: by a hash of seed, task and label, or by taking the first label.

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
        """Give each tied option its priority; ``order`` is its place among all labels."""
        if self.first:
            return order.astype(np.uint64)
        salt = mix(np.array([self.seed % (1 << 64)], dtype=np.uint64))
        return mix(mix(task_hash ^ salt) ^ label_hash)


DRAWN = Ties()  # as everywhere by default

# Groups of labels: the answers to a task that give the same label, so that counts per label are sums over groups.
#
# Likewise values that belong together are sorted by group, in a table where groups are about as large as each other.


_MAX_EMPTY = 8  # places of a table for each answer


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

    Where labels are few, a task has a group for each of them, occurring or not; where that would be more groups than
    ``most`` times the answers, only the pairs that occur are numbered, so that ten thousand classes need no table of
    all of them. Groups of a task are in the order of labels.

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
    """Return, per answer, the number of its label among those of its task, and per task how many there are."""
    task, base = block.task, int(block.label.max()) + 1
    place = task * base + block.label
    if block.n_tasks * base <= _MAX_EMPTY * len(place):  # a table of all labels, where sorting would take longer
        there = np.bincount(place, minlength=block.n_tasks * base).reshape(-1, base) > 0
        number: npt.NDArray[np.intp] = np.cumsum(there, axis=1, dtype=np.intp)
        return number.ravel().take(place) - 1, number[:, -1].astype(np.int64)
    pairs, cell = np.unique(place, return_inverse=True)
    count = np.bincount(pairs // base, minlength=block.n_tasks)
    return (cell - (np.cumsum(count) - count)[task]).astype(np.intp), count


def sort_within(place: npt.NDArray[np.integer], values: npt.NDArray[np.float64], n: int) -> npt.NDArray[np.intp]:
    """Return the order of values by their place, one of n, and then by size, as `numpy.lexsort` does.

    It is several times faster where most places have about as many values.
    """
    count = np.bincount(place, minlength=n)
    width = int(count.max(initial=0))
    if n * width > _MAX_EMPTY * len(place):
        return np.asarray(np.lexsort((values, place)), np.intp)
    rows = np.argsort(place, kind="stable")
    starts = np.cumsum(count) - count
    table = np.full((n, width), np.nan)  # which are sorted behind all others
    table[place[rows], np.arange(len(rows)) - np.repeat(starts, count)] = values[rows]
    order = np.argsort(table, axis=1, kind="stable")
    return np.asarray(rows[(order + starts[:, None])[order < count[:, None]]], np.intp)


# Weights of answers: copies count once in all, and uninformative workers not at all.


@dataclass(frozen=True)
class AnswerWeights:
    """How much each answer of a block counts beside the others, and the number of its copy group."""

    weight: Floats
    group: npt.NDArray[np.intp]


def find_answer_weights(block: Block) -> AnswerWeights:
    """Return the weights of a block's answers; without any, each answer counts once and is a group of its own."""
    if AnswerWeights in block:
        return block[AnswerWeights]
    return AnswerWeights(np.ones(len(block.label)), np.arange(len(block.label)))


def subtract_own_group(block: Block, scores: Floats, rows: Floats) -> Floats:
    """Return, per answer, the scores of its task less what its copy group adds to them: a row per answer."""
    group = find_answer_weights(block).group
    n_groups = int(group.max()) + 1
    if n_groups < len(group):
        table = np.stack([sum_by(group, column, n_groups) for column in rows.T], axis=1)
        rows = table.take(group, axis=0)
    others: Floats = block.to_answers(scores) - rows
    return others
