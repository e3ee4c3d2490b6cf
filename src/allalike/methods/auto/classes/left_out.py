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
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.voices import find_voices, without_own
from allalike._core.compiled.cells import cells_of
from allalike.methods.auto.classes.states import classes_of
from allalike.methods.steps.ballots import add_up, by_problem, count_others, row_peaks, row_sums, softmax

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run

__all__ = ["Foreseen", "find_class_hits", "find_vote_hits"]

FindHits = Callable[..., "Floats"]

_PRIOR = 4.0  # answers of a usual worker beside her own
_LOW = 1e-3  # no chance of a hit is closer to 0 or 1
_EPS = 1e-9


def find_vote_hits(block: Block, weights: Floats, *, k: int) -> Floats:
    """Return of each answer whether the votes of those who are not of her group decide for its label.

    >>> from allalike._core.blocks.block import Block
    >>> find_vote_hits(Block.of([[0], [1], [1]]), np.ones(3), k=2)
    array([0. , 0.5, 0.5])
    """
    return count_others(block, find_voices(block).voice * weights.take(block.worker), block.label, k).hit


def find_class_hits(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return of each answer whether its label is the most probable class without the answers of her group."""
    own = find_voices(block).voice[:, None] * rows[block.worker, block.label]
    states = add_up(cells_of(block, k), rows) + shares.take(block.first_worker, axis=0)
    others = classes_of(softmax(without_own(block, states, own))[0], k)
    least = row_peaks(others) - _EPS
    winners = row_sums((others >= least[:, None]).astype(np.float64))
    return np.where(others[np.arange(len(others)), block.label] >= least, 1.0 / winners, 0.0)


@dataclass(frozen=True)
class _Hits:
    """Of each answer: whether it is a hit, and its voice if others have answered, too."""

    hit: Floats
    met: Floats


@dataclass(frozen=True)
class _PlainScores:
    """Of each task: how well one coin a worker foresees the hits of its answers under the plain votes."""

    score: Floats


class Foreseen:
    """How plain votes foresee the answers of a run, with which hypotheses are compared."""

    def __init__(self, run: Run, k: int) -> None:
        self._k = k
        heard = self._look(run, find_vote_hits, np.ones(run.problems.n_workers))
        self._run = heard.map(partial(_keep_scores, coins=_toss(heard), k=k))

    def compare(self, find_hits: FindHits, *params: Floats) -> Floats:
        """Return z of each problem: how clearly what decides without an answer foresees more than votes do."""
        heard, problems = self._look(self._run, find_hits, *params), self._run.problems
        sums = heard.sum(partial(_gains, k=self._k), _toss(heard))
        gain, squares, tasks = (problems.add(sums[name]) for name in ("gain", "squares", "tasks"))
        variance = np.maximum(squares - gain**2 / np.maximum(tasks, 1.0), 0.0)
        told = variance > _EPS
        return np.where(told, gain / np.sqrt(np.where(told, variance, 1.0)), 0.0)

    def _look(self, run: Run, find_hits: FindHits, *params: Floats) -> Run:
        return run.map(partial(_keep_hits, find_hits=find_hits, params=params, k=self._k))


def _keep_hits(block: Block, *, find_hits: FindHits, params: tuple[Floats, ...], k: int) -> Block:
    voice = find_voices(block).voice
    met = np.where(block.to_answers(block.per_task(voice) > 1 + _EPS), voice, 0.0)
    return block.keeping(_Hits(find_hits(block, *(each[block.workers] for each in params), k=k), met))


def _toss(heard: Run) -> Floats:
    """Return the coin of each worker: how many hits she has, in how many answers, and the mean of her problem."""
    problems, sums = heard.problems, heard.sum(_count_hits)
    mean = problems.total(sums["hits"]) / np.maximum(problems.total(sums["met"]), _EPS)
    return np.column_stack([sums["hits"], sums["met"], mean])


def _count_hits(block: Block) -> dict[str, Floats]:
    hits = block[_Hits]
    return {"hits": block.per_worker(hits.met * hits.hit), "met": block.per_worker(hits.met)}


def _keep_scores(block: Block, *, coins: Floats, k: int) -> Block:
    return block.keeping(_PlainScores(_score(block, coins[block.workers], k)))


def _score(block: Block, coins: Floats, k: int) -> Floats:
    """Return, per task, how well one coin a worker foresees the hits of the answers."""
    hit, met = block[_Hits].hit, block[_Hits].met
    hits, answers, mean = (column.take(block.worker) for column in coins.T)
    chance = (hits - met * hit + _PRIOR * mean) / np.maximum(answers - met + _PRIOR, _EPS)
    chance = np.clip(chance, _LOW, 1 - _LOW)
    return block.per_task(met * (hit * np.log(chance) + (1 - hit) * np.log((1 - chance) / (k - 1))))


def _gains(block: Block, coins: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, for each problem, by how much the scores of its tasks are better than those of plain votes."""
    gain = _score(block, coins, k) - block[_PlainScores].score
    return {
        "gain": by_problem(block, gain),
        "squares": by_problem(block, gain**2),
        "tasks": by_problem(block, np.ones(block.n_tasks)),
    }
