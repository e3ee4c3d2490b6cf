"""Groups of labels: the answers to a task that give the same label, so that counts per label are sums over groups.

Likewise values that belong together are sorted by group, in a table where groups are about as large as each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block

__all__ = ["LabelGroups", "group_labels", "number_within_tasks", "sort_within"]

_MAX_EMPTY = 8  # places of a table for each answer


@dataclass(frozen=True)
class LabelGroups:
    """The pairs of task and label of a block, numbered task after task.

    Parameters
    ----------
    group
        Of each answer: its group.
    task, label
        Of each group: its task and its label.
    first, count
        Of each task: its first group, and how many it has.
    label_hash
        Of each label: its hash, by which ties are drawn.
    """

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
    """Return, per answer, the number of its label among those of its task, and per task how many there are.

    >>> from allalike._core.blocks.block import Block
    >>> number_within_tasks(Block.of([[0, 5], [0, 7], [2, 7]]))
    (array([0, 0, 1, 0, 1, 1]), array([2, 2]))
    """
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

    >>> sort_within(np.array([1, 0, 1, 0]), np.array([2.0, 4.0, 1.0, 3.0]), 2)
    array([3, 1, 2, 0])
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
