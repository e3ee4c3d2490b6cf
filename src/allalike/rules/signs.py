"""Votes on two classes that may count against what they say."""

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike._core.blocks.groups import LabelGroups
from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike.rules.base import Decision, unknown
from allalike.rules.vote import pick

__all__ = ["by_sign"]


def by_sign(block: Block, weight: Floats, ties: Ties) -> Decision:
    """Take the class 1 where the weighted signs of a task's answers add up to more than 0, and 0 where to less.

    There is a weight per answer, and a negative one counts for the other class. Confidence is the share of the weight
    that stands behind the label. Where all weights of a task are 0, its answers count the same. The block needs its
    `LabelGroups`.

    >>> from allalike._core.blocks.groups import group_labels
    >>> block = Block.of([[0, 1], [1, 1], [1, 0]])
    >>> block = block.keeping(group_labels(block, np.array([5, 6], np.uint64)))
    >>> found = by_sign(block, np.array([0.5, 0.2, 0.1, -0.5, 0.2, 0.1]), Ties())
    >>> found.label, found.confidence.round(3), found.tied
    (array([0, 0], dtype=int32), array([0.625, 0.75 ]), array([False, False]))
    """
    size = block.per_task(np.abs(weight))
    nobody = size <= 0
    if nobody.any():
        weight = np.where(block.to_answers(nobody), 1.0, weight)
        size = np.where(nobody, block.sizes, size)
    margin = block.per_task((2.0 * block.label - 1.0) * weight) / size
    even = np.abs(margin) <= TOLERANCE
    possible = np.stack([(margin < 0) | even, (margin > 0) | even], axis=1)
    if len(block[LabelGroups].label_hash) < 2:
        possible = np.tile([True, False], (block.n_tasks, 1))
    task, label = np.nonzero(possible)
    chosen, tied = pick(block, task, label, ties)
    return Decision(label[chosen].astype(np.int32), (1 + np.abs(margin)) / 2, unknown(block.n_tasks), tied)
