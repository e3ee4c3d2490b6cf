"""Weighted majority votes, and rules that choose one of the answers."""

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties, sum_by
from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike.rules.base import Decision, Rule, unknown


def plurality(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the label with the largest weight.

    Confidence is the share of the task's weight on that label. If weights are equal up to a relative error of 1e-9,
    `Ties` draws one of the labels. The block must contain its `LabelGroups`.

        label = the l with the largest sum_i w_i [x_i = l]

    If errors are independent, wrong classes are equally probable and weights are log odds, it is the most probable
    class (Nitzan and Paroush 1982). The vote works with any number of classes. It fails if a class is so frequent that
    it always wins; methods with a confusion matrix per worker use probabilities instead.

    >>> import allalike
    >>> rows = [("ada", 1, "cat"), ("bob", 1, "dog"), ("eve", 1, "cat")]
    >>> allalike.discover(rows, domain=allalike.Categorical(rule="plurality"), method="UA").truth["label"].tolist()
    ['cat']
    """
    weight, total = block.answer_weights(weights)
    groups = block[LabelGroups]
    score = sum_by(groups.group, weight, len(groups))
    winner, tied = leading(block, score, ties)
    return Decision(groups.label[winner], np.minimum(score[winner] / total, 1.0), unknown(block.n_tasks), tied)


def leading(block: Block, score: Floats, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the label group with the largest score per task, and whether it was chosen at random among equals."""
    groups = block[LabelGroups]
    best = np.maximum.reduceat(score, groups.first)
    leaders = np.flatnonzero(score >= (best - TOLERANCE * np.abs(best))[groups.task])
    chosen, tied = pick(block, groups.task[leaders], groups.label[leaders], ties)
    return leaders[chosen], tied


def pick(block: Block, task: Array, label: Array, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the index of the candidate that `Ties` draws per task, and whether there were several.

    Candidates are pairs of a task and a label, sorted by task; every task has at least one candidate.
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


# Rules that choose one of the answers, for labels that cannot be averaged.


def medoid(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the answer with the smallest weighted distance to all answers; among equals, the one with more weight.

    The block must contain its `PairDistances` and its `AnswerHashes`.

        label = the x_i with the least sum_j w_j d(x_i, x_j)

    The rule works for every label type with a distance, and always returns an actual answer. It fails if no single
    answer is good, because correct parts of different answers are not combined.

    >>> import allalike
    >>> rows = [("ada", 1, "night"), ("bob", 1, "nights"), ("eve", 1, "knight")]
    >>> domain = allalike.Text(distance="edit", rule="medoid")
    >>> allalike.discover(rows, domain=domain, method="UA").truth["label"].tolist()
    ['night']
    """
    weight, _ = block.answer_weights(weights)
    cost, _ = block[PairDistances].add_up(weight)
    least = np.minimum.reduceat(cost, block.starts)
    close = cost <= block.to_answers(least) * (1 + TOLERANCE)
    return _choose(block, weights, np.where(close, weight, -1.0), ties)


def best_worker(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the answer given by the task's worker with the largest weight.

        label = the x_i with the largest w_i

    The rule works if one worker is much better than all others. It fails if several workers are nearly as good, because
    it uses only one of them.

    >>> import allalike
    >>> answers = {"ada": ["a b c", "d e"], "bob": ["a b", "d e"], "eve": ["z", "y"]}
    >>> rows = [(worker, task, text) for worker, texts in answers.items() for task, text in enumerate(texts)]
    >>> domain = allalike.Text(distance="tokens", rule="best worker")
    >>> allalike.discover(rows, domain=domain, method="P-TD").truth["label"].tolist()[1]
    'd e'
    """
    return _choose(block, weights, block.answer_weights(weights)[0], ties)


def _choose(block: Block, weights: Floats, score: Floats, ties: Ties) -> Decision:
    """Return each task's answer with the largest score; its confidence is the share of weight on equal answers."""
    weight, total = block.answer_weights(weights)
    task = block.task
    best = np.maximum.reduceat(score, block.starts)
    leads = score >= best[task] - TOLERANCE * np.abs(best[task])
    hashes = block[AnswerHashes].hashes
    priority = ties.priority(block.task_hash[task], hashes, np.arange(len(task)))
    winner = np.lexsort((priority, ~leads, task))[block.starts]
    same = hashes == hashes[winner][task]
    drawn = block.per_task((leads & ~same).astype(np.float64)) > 0
    confidence = np.minimum(block.per_task(weight * same) / total, 1.0)
    return Decision(block.label[winner], confidence, unknown(block.n_tasks), drawn)


CHOICES = (Rule("medoid", medoid), Rule("best worker", best_worker))  # for labels that cannot be averaged
