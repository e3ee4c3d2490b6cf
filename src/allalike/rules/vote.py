"""Votes: the label behind which the most weight stands."""

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.groups import LabelGroups
from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike.rules.base import Decision, unknown

__all__ = ["leading", "pick", "plurality"]


def plurality(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the label with the largest weight.

    Confidence is that label's share of the task's weight. Labels whose weights are equal up to a relative 1e-9 are
    tied, and `Ties` draws one. The block needs its `LabelGroups`.

        label = the l with the largest sum_i w_i [x_i = l]

    If workers err independently, all wrong classes are as probable and weights are log odds, it is the most probable
    class (Nitzan and Paroush 1982). It works with any number of classes. It fails where one class is so frequent that
    it wins whatever is shown; methods with a confusion for each worker decide by probabilities instead.

    >>> import allalike
    >>> rows = [("ada", 1, "cat"), ("bob", 1, "dog"), ("eve", 1, "cat")]
    >>> allalike.discover(rows, domain=allalike.Categorical(rule="plurality"), method="UA").truth["label"].tolist()
    ['cat']

    >>> from allalike._core.blocks.groups import group_labels
    >>> block = Block.of([[0, 0], [0, 1], [1, 1]])
    >>> block = block.keeping(group_labels(block, np.array([5, 6], np.uint64)))
    >>> found = plurality(block, np.array([0.5, 0.2, 0.3]), np.zeros(3), Ties(first=True))
    >>> found.label, found.confidence, found.tied
    (array([0, 0], dtype=int32), array([0.7, 0.5]), array([False,  True]))
    """
    weight, total = block.answer_weights(weights)
    groups = block[LabelGroups]
    score = sum_by(groups.group, weight, len(groups))
    winner, tied = leading(block, score, ties)
    return Decision(groups.label[winner], np.minimum(score[winner] / total, 1.0), unknown(block.n_tasks), tied)


def leading(block: Block, score: Floats, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return, per task, its group of labels with the largest score, and whether it was drawn among equals."""
    groups = block[LabelGroups]
    best = np.maximum.reduceat(score, groups.first)
    leaders = np.flatnonzero(score >= (best - TOLERANCE * np.abs(best))[groups.task])
    chosen, tied = pick(block, groups.task[leaders], groups.label[leaders], ties)
    return leaders[chosen], tied


def pick(block: Block, task: Array, label: Array, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return, per task, the place of the candidate that `Ties` draws, and whether there was more than one.

    The candidates are pairs of task and label, in the order of tasks; every task has one at least.
    """
    count = np.bincount(task, minlength=block.n_tasks)
    tied = count > 1
    chosen = np.cumsum(count) - count
    if tied.any():
        among = np.flatnonzero(tied[task])
        rank = ties.priority(block.task_hash[task[among]], block[LabelGroups].label_hash[label[among]], label[among])
        order = among[np.lexsort((rank, task[among]))]
        ahead = np.concatenate([[True], task[order][1:] != task[order][:-1]])
        chosen[tied] = order[ahead]
    return chosen, tied
