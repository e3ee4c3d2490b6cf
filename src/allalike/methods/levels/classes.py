"""LEVELS: the truths of a few classes, and those of a vote where workers cannot be told apart.

Dawid and Skene give each worker a confusion matrix and each task a class. LEVELS gives a task also a **level** of
difficulty, pulls the matrices towards each other by as much as workers cannot be told apart (`rows`), begins at twelve
places and takes the most likely reading (`readings`). It decides for the class c with the largest

    (1 + gain / 0.02) P[c | answers] + (1 + 300 / N) (share of c in the votes of the consensus),

where the gain is by how many nats an answer the reading is more likely than those found from the plain votes and from
the consensus, and N the number of answers: few answers are no reason to leave what all agree on.

Where workers are alike by the F ratio (`consensus`), everybody counts the same. Twelve starts on all answers would cost
too much: beyond 200,000 answers the reading is chosen on a sample of the tasks, and a few rounds more are made on all.

It fails where most workers share a mistake or copy each other, and fifteen tasks do not tell the good from the lucky.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.blocks.ties import TOLERANCE
from allalike.blocks.voices import find_voices
from allalike.engines.sample import sample_tasks
from allalike.methods.base import Weighing
from allalike.methods.levels.ballots import ballots_of, vote_shares
from allalike.methods.levels.consensus import ALIKE, find_consensus
from allalike.methods.levels.outlines import expected_hits, outline, second_reading
from allalike.methods.levels.readings import Crowd, Reading, choose, find_readings, mirror
from allalike.methods.levels.rows import LEVELS
from allalike.methods.levels.states import Levels, class_posterior, count_states, disagreement, find_levels
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.weights import normalise
from allalike.rules.base import unknown
from allalike.rules.vote import pick
from allalike.system.memory import free_memory

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats
    from allalike.blocks.ties import Ties
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun

__all__ = ["MAX_CLASSES", "weigh_classes"]

MAX_CLASSES = 20
_FINAL_ROUNDS = 3  # on all answers, after those on the sample
_GAIN = 0.02  # nats an answer at which the posterior counts twice
_SIZE = 300.0  # answers with which the consensus counts twice
_TABLES = 10  # of the probabilities of answers, in memory at a time


def weigh_classes(run: Run, *, sample_answers: int, use_gold: bool) -> Weighing:
    """Weigh the workers of a run whose labels are a few classes."""
    crowd = _as_crowd(run)
    problems, consensus = run.problems, crowd.consensus
    alike = (consensus.strength >= ALIKE) | (problems.sizes < 3)
    weight = np.where(problems.spread(alike), 1.0, consensus.weight)
    peers = Peers(run)

    def weighing(error_rate: Floats, weight: Floats, **more: Any) -> Weighing:
        known = np.maximum(peers.comparable(error_rate), 0.0)
        shares = normalise(np.where(problems.spread(alike), 1.0, weight), problems)
        return Weighing(disparity=peers.unweighted.mean, fault=known, weight=shares, error_rate=known, **more)

    notes = {"f_ratio": float(consensus.ratio.mean()), "prior_answers": float(consensus.strength.mean())}
    if alike.all():
        return weighing(1.0 - consensus.accuracy, weight, notes={"workers": "alike", **notes})
    if not _fits(problems.n_workers, crowd.k):
        return weighing(1.0 - consensus.accuracy, weight, notes={"start": "consensus", "lack": "memory", **notes})
    found = _find_reading(crowd, sample_answers, use_gold=use_gold)
    reading = found.reading
    trusted = np.where(alike, 0.0, 1 + found.gain / _GAIN)
    agreed = np.where(alike, 1.0, 1 + _SIZE / problems.add(crowd.answers))
    blend = np.column_stack([problems.spread(trusted), problems.spread(agreed), weight])
    hits = expected_hits(reading.counts) / np.maximum(crowd.answers, 1e-12)
    error_rate = 1.0 - np.where(problems.spread(alike), consensus.accuracy, hits)
    return weighing(
        error_rate,
        run.encoding.noise.weight(np.maximum(peers.comparable(error_rate), 0.0), problems),
        decide=partial(decide, k=crowd.k, ties=run.ties),
        parameters=(reading.rows, reading.shares, blend),
        probabilities=partial(probabilities, k=crowd.k),
        confusion=reading.found.confusion,
        notes={**found.notes, **notes},
    )


@dataclass(frozen=True)
class Found:
    """The reading that was chosen, what it gains over plain ones in nats an answer, and what is to be said of it."""

    reading: Reading
    gain: Floats
    notes: dict[str, Any]


def _find_reading(crowd: Crowd, sample_answers: int, *, use_gold: bool) -> Found:
    """Find the most likely reading, on a sample if there are more answers, and then on all."""
    run, k = crowd.run, crowd.k
    sample = sample_tasks(run, sample_answers)
    whole = sample.n_tasks == run.n_tasks
    some = replace(crowd, run=_prepare(sample, k)) if whole else _as_crowd(_prepare(sample, k))
    readings = list(find_readings(some))
    plain = np.maximum(readings[0].likelihood, readings[1].likelihood)

    def best_of(first: Reading, others: list[Reading], *, use_gold: bool) -> Reading:
        for other in others:
            first = choose(first, other, run, use_gold=use_gold)
        return first

    first = best_of(readings[0], readings[1:], use_gold=use_gold)
    mirrors = [mirror(some, first, hardest) for hardest in (1, 2)]
    best = best_of(first, mirrors, use_gold=use_gold)
    gain = np.maximum(best.likelihood - plain, 0.0) / np.maximum(run.problems.add(some.answers), 1.0)
    notes = _describe(some, best, [*readings, *mirrors]) if len(gain) == 1 else {}
    if use_gold and run.n_gold:
        blind = best_of(best_of(readings[0], readings[1:], use_gold=False), mirrors, use_gold=False)
        notes["gold_decided"] = bool((blind.start != best.start).any())
    if not whole:
        sums = run.sum(partial(count_states, k=k), best.rows, best.shares)
        best = crowd.improve(sums, best.start, best.margin, rounds=_FINAL_ROUNDS)
    return Found(best, gain, notes)


def _as_crowd(run: Run) -> Crowd:
    answers, k = run.sum(count_voices)["voices"], run.encoding.n_labels
    return Crowd(run, answers, find_consensus(run, answers, k), k)


def _describe(crowd: Crowd, best: Reading, readings: list[Reading]) -> dict[str, Any]:
    """Say which start won, and whether another reading fits as well."""
    outlines = [outline(crowd.run, reading, crowd.k) for reading in readings]
    chosen = next(each for each in outlines if each.start == best.start[0])
    plain = crowd.run.collect(partial(_vote, k=crowd.k))["label"]
    second = second_reading(chosen, outlines, plain, crowd.answers, crowd.run.workers)
    return {"start": chosen.start, **({"second_reading": second} if second else {})}


def _vote(block: Block, *, k: int) -> dict[str, Array]:
    return {"label": vote_shares(block, np.ones(block.n_workers), k=k).argmax(axis=1)}


def _fits(n_workers: int, k: int) -> bool:
    return 8 * _TABLES * n_workers * k * k * LEVELS <= free_memory()


def count_voices(block: Block) -> dict[str, Floats]:
    """Count the voices of each worker's answers."""
    return {"voices": block.per_worker(find_voices(block).voice)}


def beliefs(block: Block, rows: Floats, shares: Floats, blend: Floats, *, k: int) -> Floats:
    """Return how much each class of each task is believed in: its posterior, and its share of the consensus.

    The columns of ``blend`` are how much either counts, and the weight of each worker in the consensus.
    """
    trusted, agreed = blend.take(block.worker[block.starts], axis=0)[:, :2].T[:, :, None]
    classes, votes = class_posterior(block, rows, shares, k=k), vote_shares(block, blend[:, 2], k=k)
    belief: Floats = (trusted * classes + agreed * votes) / (trusted + agreed)
    return belief


def decide(block: Block, weights: Floats, faults: Floats, *params: Floats, k: int, ties: Ties) -> dict[str, Array]:
    """Take the class that is believed in most."""
    belief = beliefs(block, *params, k=k)
    best = belief.max(axis=1)
    task, label = np.nonzero(belief >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {"label": label[chosen].astype(np.int32), "confidence": best, "error": unknown(block.n_tasks), "tied": tied}


def probabilities(block: Block, weights: Floats, faults: Floats, *params: Floats, k: int) -> dict[str, Array]:
    """Return how much each class is believed in."""
    return {"probability": beliefs(block, *params, k=k)}


def _prepare(sample: MemoryRun, k: int) -> MemoryRun:
    """Have the blocks keep their ballots and the levels of their tasks."""
    found = sample.collect(partial(disagreement, k=k))
    problem = np.repeat(np.arange(len(sample.problems.sizes)), sample.problems.sizes)[found["worker"]]
    levels = find_levels(found["disagreement"], problem)
    rest = iter(np.split(levels, np.cumsum([block.n_tasks for block in sample.blocks])[:-1]))
    return sample.map(lambda block: block.keeping(ballots_of(block, k), Levels(next(rest))))
