"""Knows or guesses: each worker knows the label of a task with probability theta, and guesses otherwise.

The model of MACE (Hovy and others: Learning whom to trust with MACE. 2013) with equal class shares, by variational
Bayes from equal probabilities:

    P[l | c] = theta [l = c] + (1 - theta) xi_l.

With one number per worker and their distribution of guesses it needs few answers, and it cannot exchange classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.methods.steps.ballots import softmax

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.methods.auto.confusion_matrices import ClassCrowd

_KNOWS_PRIOR = 0.5  # answers that a worker knows, and as many that they guess, beside their own
_GUESS_PRIOR = 10.0  # guesses of each label
_ROUNDS, _TOLERANCE = 50, 1e-5
_LEAST = 1e-300


def fit_knowledge(crowd: ClassCrowd, start: Floats | None = None, rounds: int = _ROUNDS) -> Floats:
    """Return theta of each worker, and behind it (1 - theta) xi of each label.

    >>> import allalike
    >>> from allalike.methods.auto.confusion_matrices import ClassCrowd
    >>> labels = {"ada": "xyxyxyxy", "bob": "xyxyxyxy", "eve": "xyxyxyyx", "lea": "xxxxxxxx"}
    >>> rows = [(worker, task, label) for worker, own in labels.items() for task, label in enumerate(own)]
    >>> fit_knowledge(ClassCrowd.of(allalike.Memory().load(allalike.read(rows))))[:, 0].round(1)
    array([0.9, 0.9, 0.5, 0. ])
    """
    k, counts = crowd.k, crowd.counts
    state = np.tile([0.5, *np.full(k, 0.5 / k)], (len(counts), 1)) if start is None else start
    answered = crowd.answers > 0
    for _ in range(rounds):
        odds = knowledge_odds(state)
        right = crowd.run.sum(partial(_count_right, k=k), odds)["right"]
        known = right * -np.expm1(-odds)  # theta / (theta + (1 - theta) xi) of the answers that are right
        before, state = state, _estimate(known, counts - known, crowd.answers)
        if np.linalg.norm((state - before)[answered]) < _TOLERANCE * np.linalg.norm(before[answered]):
            break
    return state


def _estimate(known: Floats, guessed: Floats, answers: Floats) -> Floats:
    from scipy.special import digamma

    total, k = guessed.sum(axis=1), guessed.shape[1]
    all_answers = digamma(answers + 2 * _KNOWS_PRIOR)
    theta = np.exp(digamma(known.sum(axis=1) + _KNOWS_PRIOR) - all_answers)
    guess = np.exp(digamma(guessed + _GUESS_PRIOR) - digamma(total + k * _GUESS_PRIOR)[:, None])
    return np.column_stack([theta, np.exp(digamma(total + _KNOWS_PRIOR) - all_answers)[:, None] * guess])


def knowledge_odds(state: Floats) -> Floats:
    """Return the log odds of the given label against any other, per worker and label."""
    odds: Floats = np.log1p(state[:, :1] / np.maximum(state[:, 1:], _LEAST))
    return odds


def knowledge_posterior(block: Block, odds: Floats, *, k: int) -> Floats:
    """Return the probability of each class of each task."""
    score = odds.ravel().take(block.worker * k + block.label)
    return softmax(sum_by(block.task * k + block.label, score, block.n_tasks * k).reshape(-1, k))[0]


def _count_right(block: Block, odds: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, per worker and label, the probability that the answers are right."""
    right = knowledge_posterior(block, odds, k=k).ravel().take(block.task * k + block.label)
    counts = sum_by(block.worker * k + block.label, right, block.n_workers * k)
    return {"right": counts.reshape(-1, k)}


def knowledge_confusion(state: Floats) -> Floats:
    """Return the confusion matrix of each worker, P[label | class]."""
    k = state.shape[1] - 1
    matrix = np.repeat(state[:, 1:, None], k, axis=2) + state[:, 0, None, None] * np.eye(k)
    confusion: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return confusion
