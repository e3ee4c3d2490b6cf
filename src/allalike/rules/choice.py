"""Choices: one of the answers that were given, for labels that cannot be averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats

__all__ = ["best_worker", "medoid"]


def medoid(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the answer that is closest to all answers, weighted; among equals that of the larger weight.

    The block needs its `PairDistances` and its `AnswerHashes`.

        label = the x_i with the least sum_j w_j d(x_i, x_j)

    It works for every label that has a distance, and never invents anything. It fails where no answer is good by
    itself: the parts that each worker got right are not put together.

    >>> import allalike
    >>> rows = [("ada", 1, "night"), ("bob", 1, "nights"), ("eve", 1, "knight")]
    >>> domain = allalike.Text(distance="edit", rule="medoid")
    >>> allalike.discover(rows, domain=domain, method="UA").truth["label"].tolist()
    ['night']

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0], [1], [5]])
    >>> pairs = PairDistances.of(block, lambda i, j: 1.0 * abs(block.label[i] - block.label[j]))
    >>> block = block.keeping(pairs, AnswerHashes(np.array([7, 8, 9], np.uint64)))
    >>> medoid(block, np.ones(3), np.zeros(3), Ties()).label
    array([1])
    """
    weight, _ = block.answer_weights(weights)
    cost, _ = block[PairDistances].add_up(weight)
    least = np.minimum.reduceat(cost, block.starts)
    close = cost <= block.to_answers(least) * (1 + TOLERANCE)
    return _choose(block, weights, np.where(close, weight, -1.0), ties)


def best_worker(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the answer of the task's worker with the largest weight.

        label = the x_i with the largest w_i

    It works where one worker is much better than all others. It fails where several are nearly as good, for it
    hears one of them only.

    >>> import allalike
    >>> said = {"ada": ["a b c", "d e"], "bob": ["a b", "d e"], "eve": ["z", "y"]}
    >>> rows = [(worker, task, text) for worker, texts in said.items() for task, text in enumerate(texts)]
    >>> domain = allalike.Text(distance="tokens", rule="best worker")
    >>> allalike.discover(rows, domain=domain, method="P-TD").truth["label"].tolist()[1]
    'd e'

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0], [1], [2]]).keeping(AnswerHashes(np.array([5, 6, 7], np.uint64)))
    >>> best_worker(block, np.array([0.2, 0.5, 0.3]), np.zeros(3), Ties()).label
    array([1])
    """
    return _choose(block, weights, block.answer_weights(weights)[0], ties)


def _choose(block: Block, weights: Floats, score: Floats, ties: Ties) -> Decision:
    """Take each task's answer with the largest score; its confidence is the weight of those who gave the same."""
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
