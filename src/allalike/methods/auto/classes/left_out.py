"""Answers left out: whether a hypothesis foresees the answers of a worker better than the votes of the others do.

Leave an answer i of worker w to task t out, with those of her whole group. What is decided for t then, with all
parameters kept, is c(-i), and she **hits** if her label is c(-i): y_i = 1, shared among classes that tie. One coin a
worker foresees the hits from her other answers,

    a_i = (sum of her other y + 4 mean y) / (n_w - 1 + 4),    score_i = y log a + (1 - y) log((1 - a) / (k - 1)).

d_t is the sum of the scores of a task under the hypothesis, less that under the plain votes, and

    z = sum_t d_t / (standard deviation of d_t * sqrt(tasks))

says how clearly the hypothesis foresees more (Vuong: Likelihood Ratio Tests for Model Selection and Non-Nested
Hypotheses. Econometrica 57, 1989). It needs tasks to be independent of each other, and nothing of the workers. One
coin scores, not the hypothesis's own rows: a rich model foresees answers better by being rich, not by being right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.voices import find_voices, without_own
from allalike.methods.auto.classes.states import classes_of
from allalike.methods.steps.ballots import ballots_of, by_problem, row_peaks, row_sums, softmax

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run

__all__ = ["Foreseen", "others_classes", "others_votes"]

Others = Callable[..., "Floats"]

_PRIOR = 4.0  # answers of a usual worker beside her own
_LOW = 1e-3  # no chance of a hit is closer to 0 or 1
_EPS = 1e-9


def others_votes(block: Block, weights: Floats, *, k: int) -> Floats:
    """Return, per answer, the votes for each class without those of her group.

    >>> from allalike._core.blocks.block import Block
    >>> others_votes(Block.of([[0], [1], [1]]), np.ones(3), k=2)
    array([[0., 2.],
           [1., 1.],
           [1., 1.]])
    """
    rows = (find_voices(block).voice * weights.take(block.worker))[:, None] * np.eye(k)[block.label]
    return without_own(block, block.per_task(rows), rows)


def others_classes(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return, per answer, how probable each class is without the answers of her group."""
    own = find_voices(block).voice[:, None] * rows[block.worker, block.label]
    states = ballots_of(block, k).add_up(rows) + shares.take(block.first_worker, axis=0)
    return classes_of(softmax(without_own(block, states, own))[0], k)


class Foreseen:
    """How plain votes foresee the answers of a run, with which hypotheses are compared."""

    def __init__(self, run: Run, k: int) -> None:
        self._run, self._k = run, k
        self._everyone = np.ones(run.problems.n_workers)
        self._coins = self._toss(others_votes, self._everyone)

    def compare(self, others: Others, *params: Floats) -> Floats:
        """Return z of each problem: how clearly what decides without an answer foresees more than votes do."""
        problems = self._run.problems
        kernel = partial(_gains, others=others, k=self._k)
        sums = self._run.sum(kernel, self._toss(others, *params), self._everyone, self._coins, *params)
        gain, squares, tasks = (problems.add(sums[name]) for name in ("gain", "squares", "tasks"))
        variance = np.maximum(squares - gain**2 / np.maximum(tasks, 1.0), 0.0)
        told = variance > _EPS
        return np.where(told, gain / np.sqrt(np.where(told, variance, 1.0)), 0.0)

    def _toss(self, others: Others, *params: Floats) -> Floats:
        """Return the coin of each worker: how many hits she has, in how many answers, and the mean of her problem."""
        problems = self._run.problems
        sums = self._run.sum(partial(_count_hits, others=others, k=self._k), *params)
        mean = problems.total(sums["hits"]) / np.maximum(problems.total(sums["met"]), _EPS)
        return np.column_stack([sums["hits"], sums["met"], mean])


def _hits(block: Block, others: Floats) -> Floats:
    """Return of each answer whether its label is the one that the others decide for."""
    top = row_peaks(others)
    winners = row_sums((others >= (top - _EPS)[:, None]).astype(np.float64))
    own = others[np.arange(len(others)), block.label]
    return np.where(own >= top - _EPS, 1.0 / winners, 0.0)


def _met(block: Block) -> Floats:
    """Return the voice of each answer that others have answered, too."""
    voice = find_voices(block).voice
    return np.where(block.to_answers(block.per_task(voice) > 1 + _EPS), voice, 0.0)


def _count_hits(block: Block, *params: Floats, others: Others, k: int) -> dict[str, Floats]:
    hit, met = _hits(block, others(block, *params, k=k)), _met(block)
    return {"hits": block.per_worker(met * hit), "met": block.per_worker(met)}


def _score(block: Block, others: Floats, coins: Floats, k: int) -> Floats:
    """Return, per task, how well one coin a worker foresees the hits of the answers."""
    hit, met = _hits(block, others), _met(block)
    hits, answers, mean = coins.take(block.worker, axis=0).T
    chance = (hits - met * hit + _PRIOR * mean) / np.maximum(answers - met + _PRIOR, _EPS)
    chance = np.clip(chance, _LOW, 1 - _LOW)
    return block.per_task(met * (hit * np.log(chance) + (1 - hit) * np.log((1 - chance) / (k - 1))))


def _gains(
    block: Block, coins: Floats, everyone: Floats, plain_coins: Floats, *params: Floats, others: Others, k: int
) -> dict[str, Floats]:
    """Add up, for each problem, by how much the scores of its tasks are better than those of plain votes."""
    plain = _score(block, others_votes(block, everyone, k=k), plain_coins, k)
    gain = _score(block, others(block, *params, k=k), coins, k) - plain
    return {
        "gain": by_problem(block, gain),
        "squares": by_problem(block, gain**2),
        "tasks": by_problem(block, np.ones(block.n_tasks)),
    }
