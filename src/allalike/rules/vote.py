"""Votes: the label behind which the most weight stands."""

import numpy as np
import numpy.typing as npt

from allalike.blocks import Block, Floats, sum_by
from allalike.rules.base import Decision, unknown
from allalike.ties import TOLERANCE, Ties

__all__ = ["plurality"]


def plurality(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the label with the largest weight.

    Confidence is that label's share of the task's weight. Labels whose weights are equal up to a relative 1e-9 are
    tied, and `Ties` draws one. The block needs its groups of labels and the labels' hashes.

    >>> from allalike.blocks import group_labels
    >>> block = Block.of([[0, 0], [0, 1], [1, 1]])
    >>> block = block.with_prepared(**group_labels(block, 2), label_hash=np.array([5, 6], np.uint64))
    >>> found = plurality(block, np.array([0.5, 0.2, 0.3]), np.zeros(3), Ties(first=True))
    >>> found.label, found.confidence, found.tied
    (array([0, 0], dtype=int32), array([0.7, 0.5]), array([False,  True]))
    """
    group, group_task = block.prepared["group"], block.prepared["group_task"]
    weight, total = block.answer_weights(weights)
    score = sum_by(group, weight, len(group_task))
    best = np.maximum.reduceat(score, block.prepared["first_group"])
    leaders = np.flatnonzero(score >= best[group_task] * (1 - TOLERANCE))
    n_leaders = np.bincount(group_task[leaders], minlength=block.n_tasks)
    tied = n_leaders > 1
    winner = leaders[np.cumsum(n_leaders) - n_leaders]
    if tied.any():
        winner[tied] = _draw(block, leaders[tied[group_task[leaders]]], ties)
    return Decision(
        block.prepared["group_label"][winner], np.minimum(score[winner] / total, 1.0), unknown(block.n_tasks), tied
    )


def _draw(block: Block, leaders: npt.NDArray[np.int64], ties: Ties) -> npt.NDArray[np.int64]:
    """Return, for each tied task in turn, the leading group with the smallest priority."""
    task, label = block.prepared["group_task"][leaders], block.prepared["group_label"][leaders]
    order = np.lexsort((ties.priority(block.task_hash[task], block.prepared["label_hash"][label], label), task))
    leaders, task = leaders[order], task[order]
    first: npt.NDArray[np.int64] = leaders[np.concatenate([[True], task[1:] != task[:-1]])]
    return first
