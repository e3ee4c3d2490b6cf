"""Rules for levels in an order: the weighted median, and the level nearest to the weighted mean.

The weighted median of a task minimises the weighted sum of |x - y|, the mean that of the squares. Both look at the
order of levels, which a vote does not: of 1, 4 and 5 the median is 4, the mean 3.3, and a vote is drawn. Blocks and
decisions are as in `allalike.rules.vote`: a label is the place of a level, a block has its `LabelGroups`, which are in
the order of levels within a task, and confidence is the share of the weight that stands on the level itself.
"""

from __future__ import annotations

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties, add_up_to, sum_by
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import mean
from allalike.rules.vote import pick


def level_median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the level at which half of the weight is reached; between two levels, the heavier one.

    Half of the weight may lie exactly between two levels that were given. Then it is the one with more weight, and if
    both have the same, one of them is drawn.

        level = the least x with sum_i w_i [x_i <= x] >= W/2,   W = sum_i w_i

    It works on every scale, also where steps are not equally large, and a few extreme answers do not move it. It
    fails to move where most agree on a level and the others lean to one side.

    >>> import allalike
    >>> rows = [("ada", 1, 1), ("bob", 1, 4), ("eve", 1, 5)]
    >>> allalike.discover(rows, domain=allalike.Ordinal(rule="median"), method="UA").truth["label"].tolist()
    [4]
    """
    weight, total = block.answer_weights(weights)
    groups = block[LabelGroups]
    score = sum_by(groups.group, weight, len(groups))
    running, half = add_up_to(score, groups.count), np.repeat(total / 2, groups.count)
    below, up_to = running < half * (1 - TOLERANCE), running <= half * (1 + TOLERANCE)
    lower = groups.first + np.add.reduceat(below, groups.first, dtype=np.int64)
    upper = groups.first + np.add.reduceat(up_to, groups.first, dtype=np.int64)
    label, tied = _choose_heavier(
        block, groups.label[lower], groups.label[upper], score[lower] / total, score[upper] / total, ties
    )
    confidence = np.minimum(np.where(label == groups.label[lower], score[lower], score[upper]) / total, 1.0)
    return Decision(label, confidence, unknown(block.n_tasks), tied)


def level_mean(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the level nearest to the weighted mean; in the middle of two, the heavier one.

    Its standard error, in places of levels, follows from the faults, read as variances of independent errors.

        level = the one nearest to sum_i w_i x_i / sum_i w_i,   x_i: the place of a level

    It works where steps are equally large. It fails where people avoid the ends, or use nothing else: of 1, 1, 5
    and 5 it is a level that occurs in no answer.

    >>> import allalike
    >>> rows = [("ada", 1, 1), ("bob", 1, 4), ("eve", 1, 5)]
    >>> allalike.discover(rows, domain=allalike.Ordinal(rule="mean"), method="UA").truth["label"].tolist()
    [3]
    """
    weight, total = block.answer_weights(weights)
    found = mean(block, weights, faults, ties)
    label, tied = take_nearest(block, weights, found.label, ties)
    confidence = np.minimum(weigh_levels(block, weight, label, 0) / total, 1.0)
    return Decision(label, confidence, found.error, tied)


def take_nearest(block: Block, weights: Floats, place: Floats, ties: Ties) -> tuple[Array, Array]:
    """Return, per task, the level nearest to a place, and whether it was drawn; between two levels, the heavier one."""
    weight, total = block.answer_weights(weights)
    lower, upper = np.ceil(place - 0.5 - TOLERANCE), np.floor(place + 0.5 + TOLERANCE)
    lower, upper = np.minimum(lower, upper).astype(np.int32), np.maximum(lower, upper).astype(np.int32)
    low_share, high_share = (weigh_levels(block, weight, level, 0) / total for level in (lower, upper))
    return _choose_heavier(block, lower, upper, low_share, high_share, ties)


def weigh_levels(block: Block, weight: Floats, label: Array, reach: int) -> Floats:
    """Sum, per task, the weight of answers that are so many levels away from a label, or nearer."""
    away = np.abs(np.subtract(block.label, block.to_answers(label), dtype=np.int32))
    return block.per_task(np.where(away <= reach, weight, 0.0))


def _choose_heavier(
    block: Block, lower: Array, upper: Array, low_share: Floats, high_share: Floats, ties: Ties
) -> tuple[Array, Array]:
    """Return, per task, the one of two levels with the larger share, or one that is drawn; and whether it was."""
    label = np.where(high_share > low_share, upper, lower).astype(np.int32)
    equal = (lower != upper) & (np.abs(high_share - low_share) <= TOLERANCE * np.maximum(high_share, low_share))
    if equal.any():
        task = np.repeat(np.arange(block.n_tasks), np.where(equal, 2, 1))
        both = np.where(np.append(False, task[1:] == task[:-1]), upper[task], np.where(equal, lower, label)[task])
        label = both[pick(block, task, both, ties)[0]].astype(np.int32)
    return label, equal
