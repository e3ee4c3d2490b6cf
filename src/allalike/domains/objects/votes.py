"""Votes on objects: conversion of object lists to class labels, for methods that need classes.

Lists of objects are not classes, but each group of objects of a task (`allalike.rules.grouping`) is a question: which
class is this object? Every worker of the task votes for the class of their own object in the group, or for *nothing* if
they have no such object. A method for classes weights workers by these votes and classifies each group; together, the
results form the estimated label. A task without objects counts as one unanimous vote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values, arrow_of
from allalike.distances.jaccard import ranges
from allalike.domains.categorical import Categorical, ClassEncoding
from allalike.domains.pairwise import objects
from allalike.rules.fusion import put_together
from allalike.rules.grouping import GroupedObjects


@dataclass(frozen=True)
class ObjectVotes:
    """Votes on groups of objects."""

    classes: tuple[Any, ...]
    fusing: Callable[[Block], Block]

    @property
    def encoding(self) -> ClassEncoding:
        """The encoding of class indices; the last index means *nothing*."""
        return ClassEncoding.of(Categorical(), Values(arrow_of(np.arange(len(self.classes) + 1))))

    def cast(self, block: Block) -> Block:
        """Convert a block to votes on the class of each group."""
        grouped = self._grouped(block)
        task, first = self._tasks(block, grouped)
        sizes = block.sizes[task]
        starts = np.cumsum(sizes) - sizes
        _, rows = ranges(block.starts[task], block.starts[task] + sizes)
        label = np.full(len(rows), len(self.classes), np.int32)
        vote = first[grouped.task[grouped.group]] + self._within(block, grouped)[grouped.group]
        label[starts[vote] + grouped.answer - block.starts[grouped.task[grouped.group]]] = grouped.kind
        number = np.arange(len(task)) - first[task]
        votes = replace(
            block,
            starts=starts,
            sizes=sizes,
            worker=block.worker[rows],
            label=label,
            task_hash=mix(block.task_hash[task] ^ mix(number.astype(np.uint64))),
            gold_task=block.gold_task[:0],
            gold_label=label[:0],
            prepared={},
        )
        return self.encoding.prepare(votes)

    def count(self, block: Block, weights: Floats, found: Mapping[str, Array], ties: Ties) -> dict[str, Array]:
        """Estimate labels from the groups that are classified as objects."""
        grouped = self._grouped(block)
        _, first = self._tasks(block, grouped)
        vote = first[grouped.task] + self._within(block, grouped)
        label, sure = found["label"][vote], found["confidence"][vote]
        kept = label < len(self.classes)
        weight, _ = block.answer_weights(weights)
        block = self.fusing(block).keeping(grouped)
        share = np.where(kept, sure, 1 - sure)
        return put_together(block, weight, kept, label, share, found["tied"][vote], ties).columns()

    def _grouped(self, block: Block) -> GroupedObjects:
        """Return the groups with the class indices of the whole vocabulary."""
        grouped = block[GroupedObjects]
        place = {name: code for code, name in enumerate(self.classes)}
        codes = np.array([place[name] for name in grouped.classes], np.int64)
        return replace(grouped, kind=codes[grouped.kind], classes=objects(self.classes))

    def _tasks(self, block: Block, grouped: GroupedObjects) -> tuple[Array, Array]:
        """Return the task of each vote, and the first vote of each task."""
        count = np.maximum(np.bincount(grouped.task, minlength=block.n_tasks), 1)
        return np.repeat(np.arange(block.n_tasks), count), np.cumsum(count) - count

    def _within(self, block: Block, grouped: GroupedObjects) -> Array:
        """Return the index of each group within its task."""
        count = np.bincount(grouped.task, minlength=block.n_tasks)
        return np.asarray(np.arange(len(grouped)) - (np.cumsum(count) - count)[grouped.task])
