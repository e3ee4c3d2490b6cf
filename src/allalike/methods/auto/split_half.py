"""Split-half test: whether what one half of the workers finds predicts the answers of the other half.

Workers are split into two halves of about as many answers, eight times. A model decides the tasks by the answers of one
half. For each answer of the other half, a worker of informed skill t (`confusion_matrices`), estimated from their
*other* answers, knows the decided label or gives one of their usual labels,

    score = log( t [label = decided] + (1 - t) f(label) ).

The gain of a task is the sum of these scores less those with the majority vote of the first half, and

    z = sum of gains / (standard deviation of a gain * sqrt(tasks))

shows how clearly the model predicts more than the vote. Below -2.576, which chance reaches once in 200 cases, it is
refuted. The score rewards information, not agreement: a model that decides the frequent class everywhere gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Block, sum_by
from allalike._core.columns.hashes import mix
from allalike.engines.shards import Shard
from allalike.methods.steps.ballots import vote_shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines.memory import MemoryRun

CLEARLY = 2.576  # standard errors
_SPLITS = 8
_MIN_TASKS = 5  # that both halves answered
_PRIOR = 4.0  # answers of a typical worker beside their own
_FREQUENCY_PRIOR = 2.0
_DRAW = 1e-6  # difference of probabilities below which labels are tied
_MOST_SKILL, _LEAST = 0.99, 1e-6

Model = Callable[["MemoryRun"], "Floats"]  # returns the probabilities of the classes of each task


@dataclass(frozen=True)
class _Half:
    """The answers of some workers, and the tasks of the whole that they answered."""

    run: MemoryRun
    tasks: npt.NDArray[np.intp]
    worker: Array
    task: Array
    label: Array


def test_halves(sample: MemoryRun, model: Model) -> float:
    """Return z: how clearly a model of half of the workers predicts the answers of the others better than their vote.

    >>> import allalike
    >>> rows = [(worker, task, (task * (worker < 3) + worker * (worker > 2)) % 2) for worker in range(8)
    ...         for task in range(40)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical"))
    >>> truth = np.eye(2)[np.arange(40) % 2]
    >>> test_halves(run, lambda half: truth[half.blocks[0].task_hash.argsort().argsort() * 0]) <= 0
    True
    """
    worker, task, label, hashes = _join_answers(sample)
    n_workers, n_tasks, k = len(sample.workers), len(hashes), sample.encoding.n_labels
    answers = np.bincount(worker, minlength=n_workers)
    content = np.bincount(worker, (mix(hashes[task] ^ mix(label.astype(np.uint64))) >> np.uint64(40)), n_workers)
    gains = np.zeros(n_tasks)
    for number in range(_SPLITS):
        side = _split(answers, content.astype(np.uint64), number)
        halves = [_take(sample, (worker, task, label, hashes), side == which) for which in (0, 1)]
        if len(np.intersect1d(halves[0].tasks, halves[1].tasks, assume_unique=True)) < _MIN_TASKS:
            continue
        for salt, (half, other) in enumerate((halves, halves[::-1])):
            noise = _draw(hashes, k, 2 * number + salt)[half.tasks]
            vote = np.concatenate([vote_shares(block, np.ones(n_workers), k=k) for block in half.run.blocks])
            for sign, belief in ((1.0, model(half.run)), (-1.0, vote)):
                decided = np.full(n_tasks, -1)
                decided[half.tasks] = (belief + _DRAW * noise).argmax(axis=1)
                gains += sign * _predict(other, decided, n_workers, k)
    spread = gains.std()
    return float(gains.sum() / (spread * np.sqrt(n_tasks))) if spread > 1e-9 else 0.0


def _join_answers(sample: MemoryRun) -> tuple[Array, Array, Array, Array]:
    blocks = sample.blocks
    worker, label, sizes, hashes = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("worker", "label", "sizes", "task_hash")
    )
    return worker, np.repeat(np.arange(len(sizes)), sizes), label, hashes


def _split(answers: Array, content: npt.NDArray[np.uint64], number: int) -> Array:
    """Return the half of each worker: of two workers with about as many answers, one goes into each.

    The draw depends on what they answered, not on their ids, so that the number of copies changes nothing.
    """
    drawn = mix(content ^ mix(np.array([number], np.uint64)))
    order = np.lexsort((drawn, -answers))
    place = np.arange(len(order))
    side = np.empty(len(order), np.intp)
    side[order] = (mix(drawn[order[place - place % 2]]) + place.astype(np.uint64)) % np.uint64(2)
    return side


def _draw(hashes: Array, k: int, salt: int) -> Floats:
    """Return a random number per task and label, other ones in each half: halves with the same draws would agree."""
    drawn = mix(hashes ^ mix(np.array([salt], np.uint64)))
    return np.asarray(mix(drawn[:, None] ^ np.arange(1, k + 1, dtype=np.uint64)) / 2.0**64)


def _take(sample: MemoryRun, answers: tuple[Array, ...], chosen: npt.NDArray[np.bool_]) -> _Half:
    """Return the answers of some workers, as a run without gold labels."""
    worker, task, label, hashes = answers
    rows = chosen[worker]
    worker, task, label = worker[rows], task[rows], label[rows]
    sizes = np.bincount(task, minlength=len(hashes))
    tasks = np.flatnonzero(sizes)
    sizes = sizes[tasks]
    first = sample.blocks[0]
    block = Block(
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        worker=worker,
        label=label,
        workers=slice(None),
        n_workers=first.n_workers,
        task_hash=hashes[tasks],
        gold_task=first.gold_task[:0],
        gold_label=first.gold_label[:0],
    )
    ids = sample.shards[0].tasks.take(tasks)
    counts = np.bincount(worker, minlength=first.n_workers)
    run = replace(
        sample, shards=[Shard([block], ids, sizes)], answer_counts=counts, n_tasks=len(tasks), n_gold=0, n_single=0
    )
    return _Half(run, tasks, worker, task, label)


def _predict(half: _Half, decided: Array, n: int, k: int) -> Floats:
    """Return, per task, the sum of the scores of the answers of a half."""
    met = decided[half.task] >= 0
    worker, task, label = half.worker[met], half.task[met], half.label[met]
    counts = np.bincount(worker * k + label, minlength=n * k).reshape(n, k)
    answers, crowd = counts.sum(axis=1), counts.sum(axis=0) / max(len(label), 1)
    target = decided[task]
    hit = (label == target).astype(np.float64)

    def usual(at: Array) -> Floats:
        others = counts[worker, at] - (at == label) + _FREQUENCY_PRIOR * crowd[at]
        return np.asarray(np.maximum(others / (answers[worker] - 1 + _FREQUENCY_PRIOR), 1e-4))

    chance = usual(target)
    gained, possible = np.bincount(worker, hit - chance, n), np.bincount(worker, 1 - chance, n)
    mean = max(float(gained.sum()), 0.0) / max(float(possible.sum()), 1e-9)
    rest = np.maximum(possible[worker] - (1 - chance) + _PRIOR, 1e-9)
    skill = np.clip((gained[worker] - (hit - chance) + _PRIOR * mean) / rest, 0.0, _MOST_SKILL)
    score = np.log(np.clip(skill * hit + (1 - skill) * usual(label), _LEAST, 1.0))
    return sum_by(task, score, len(decided))
