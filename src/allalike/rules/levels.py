"""Rules for ordered levels: the weighted median, and the level nearest to the weighted mean.

The weighted median of a task minimises the weighted sum of |x - y|, and the mean minimises squares. Unlike a majority
vote, both use the order of levels: for 1, 4 and 5 the median is 4, the mean is 3.3, and the majority vote is a random
draw. Blocks and decisions are the same as in `allalike.rules.vote`. A label is the index of a level. The `LabelGroups`
of a block are sorted by level within a task. Confidence is the share of weight on the level itself.
"""

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties, add_up_to, sum_by
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import mean
from allalike.rules.vote import pick


def level_median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the weighted median level; if it is between two levels, the one with more weight.

    The median is between two levels if exactly half of the weight is on either side. If both levels have the same
    weight, one of them is chosen at random.

        level = the least x with sum_i w_i [x_i <= x] >= W/2,   W = sum_i w_i

    The rule works on every scale, including scales with unequal steps, and is robust to a few extreme answers. It fails
    to reflect the tendency of the minority if most workers agree on a level.

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
    """Return the level nearest to the weighted mean; halfway between two levels, the one with more weight.

    Its standard error, in levels, follows from the faults, interpreted as variances of independent errors.

        level = the one nearest to sum_i w_i x_i / sum_i w_i,   x_i: the index of a level

    The rule works if all steps between levels are equal. It fails if answers avoid the ends of the scale, or use only
    the ends: for 1, 1, 5 and 5 it is a level that occurs in no answer.

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
    """Return each task's level nearest to a position (the heavier in a tie), and whether it was chosen at random."""
    weight, total = block.answer_weights(weights)
    lower, upper = np.ceil(place - 0.5 - TOLERANCE), np.floor(place + 0.5 + TOLERANCE)
    lower, upper = np.minimum(lower, upper).astype(np.int32), np.maximum(lower, upper).astype(np.int32)
    low_share, high_share = (weigh_levels(block, weight, level, 0) / total for level in (lower, upper))
    return _choose_heavier(block, lower, upper, low_share, high_share, ties)


def weigh_levels(block: Block, weight: Floats, label: Array, reach: int) -> Floats:
    """Sum the weight of answers within ``reach`` levels of a label, per task."""
    away = np.abs(np.subtract(block.label, block.to_answers(label), dtype=np.int32))
    return block.per_task(np.where(away <= reach, weight, 0.0))


def _choose_heavier(
    block: Block, lower: Array, upper: Array, low_share: Floats, high_share: Floats, ties: Ties
) -> tuple[Array, Array]:
    """Return the level with the larger share per task, or a random one, and whether it was chosen at random."""
    label = np.where(high_share > low_share, upper, lower).astype(np.int32)
    equal = (lower != upper) & (np.abs(high_share - low_share) <= TOLERANCE * np.maximum(high_share, low_share))
    if equal.any():
        task = np.repeat(np.arange(block.n_tasks), np.where(equal, 2, 1))
        both = np.where(np.append(False, task[1:] == task[:-1]), upper[task], np.where(equal, lower, label)[task])
        label = both[pick(block, task, both, ties)[0]].astype(np.int32)
    return label, equal
