"""LEVELS: the truths of classes, from confusions that are pulled together, levels of difficulty and several starts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.blocks.ties import TOLERANCE
from allalike.blocks.voices import find_voices
from allalike.engines.sample import sample_tasks
from allalike.methods.base import Weighing
from allalike.methods.levels.ballots import ballots_of, vote_shares
from allalike.methods.levels.consensus import ALIKE, find_consensus
from allalike.methods.levels.readings import choose, find_readings, improve, mirror
from allalike.methods.levels.states import Levels, classes_of, count_states, disagreement, find_levels, posterior
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.weights import equal_weights, normalise
from allalike.rules.base import unknown
from allalike.rules.vote import pick

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats
    from allalike.blocks.ties import Ties
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun

__all__ = ["weigh_classes"]

_SAMPLE_ANSWERS = 200_000
_FINAL_ROUNDS = 3
_GAIN = 0.02  # nats an answer at which the posterior counts twice
_SIZE = 300.0  # answers at which the consensus counts twice


def weigh_classes(run: Run, *, sample_answers: int = _SAMPLE_ANSWERS) -> Weighing:
    """Weigh the workers of a run whose labels are few classes."""
    k, problems, peers = run.encoding.n_labels, run.problems, Peers(run)
    answers = run.sum(count_voices)["voices"]
    consensus = find_consensus(run, answers, k) if k > 1 else None
    if consensus is None or (consensus.strength >= ALIKE).all():
        accuracy = np.ones(problems.n_workers) if consensus is None else consensus.accuracy
        fault = np.maximum(peers.comparable(1.0 - accuracy), 0.0)
        return Weighing(disparity=peers.unweighted.mean, fault=fault, weight=equal_weights(problems))
    sample = sample_tasks(run, sample_answers)
    whole = sample.n_tasks == run.n_tasks
    sample = _prepare(sample, k)
    given = sample.sum(count_voices)["voices"]
    told = consensus if whole else find_consensus(sample, given, k)
    best, plain = None, np.full(len(problems.sizes), -np.inf)
    likelihoods: dict[str, Any] = {}
    for reading in find_readings(sample, told, given, k):
        if reading.start[0] in ("consensus", "majority"):
            plain = np.maximum(plain, reading.likelihood)
        likelihoods[reading.start[0]] = reading.likelihood
        best = reading if best is None else choose(best, reading, run)
    assert best is not None
    first = best
    for hardest in (1, 2):
        reading = mirror(sample, first, hardest, told, given, k)
        likelihoods[reading.start[0]] = reading.likelihood
        best = choose(best, reading, run)
    gain = np.maximum(best.likelihood - plain, 0.0) / np.maximum(problems.add(given), 1.0)
    if not whole:
        sums = run.sum(partial(count_states, k=k), best.rows, best.shares)
        best = improve(
            run, "all", sums, rounds=_FINAL_ROUNDS, margin=0.0, answers=answers, strength=consensus.strength, k=k
        )
    alike = consensus.strength >= ALIKE
    blend = np.stack(
        [
            problems.spread(np.where(alike, 0.0, 1 + gain / _GAIN)),
            problems.spread(np.where(alike, 1.0, 1 + _SIZE / np.maximum(problems.add(answers), 1.0))),
            np.where(problems.spread(alike), 1.0, consensus.weight),
        ],
        axis=1,
    )
    right = np.einsum("wccg->w", best.counts.reshape(len(answers), k, k, -1)) / np.maximum(answers, 1e-12)
    fault = np.maximum(peers.comparable(1.0 - np.where(problems.spread(alike), consensus.accuracy, right)), 0.0)
    weight = np.where(problems.spread(alike), 1.0, run.encoding.noise.weight(fault, problems))
    return Weighing(
        disparity=peers.unweighted.mean,
        fault=fault,
        weight=normalise(weight, problems),
        decide=partial(decide, k=k, ties=run.ties),
        parameters=(best.rows, best.shares, blend),
        probabilities=partial(probabilities, k=k),
    )


def count_voices(block: Block) -> dict[str, Floats]:
    """Count the voices of each worker's answers."""
    return {"voices": block.per_worker(find_voices(block).voice)}


def beliefs(block: Block, rows: Floats, shares: Floats, blend: Floats, *, k: int) -> Floats:
    """Return how much is to be believed in each class of each task: its posterior and its share of the consensus."""
    classes = classes_of(posterior(block, rows, shares, k=k)[0], k)
    trusted, agreed = blend.take(block.worker[block.starts], axis=0)[:, :2].T
    score = trusted[:, None] * classes + agreed[:, None] * vote_shares(block, blend[:, 2], k=k)
    return score / (trusted + agreed)[:, None]


def decide(block: Block, weights: Floats, faults: Floats, *params: Floats, k: int, ties: Ties) -> dict[str, Array]:
    """Take the class that is believed in most."""
    score = beliefs(block, *params, k=k)
    best = score.max(axis=1)
    task, label = np.nonzero(score >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {"label": label[chosen].astype(np.int32), "confidence": best, "error": unknown(block.n_tasks), "tied": tied}


def probabilities(block: Block, weights: Floats, faults: Floats, *params: Floats, k: int) -> dict[str, Array]:
    """Return how much is to be believed in each class."""
    return {"probability": beliefs(block, *params, k=k)}


def _prepare(sample: MemoryRun, k: int) -> MemoryRun:
    """Have the blocks keep their ballots and the levels of their tasks."""
    found = sample.collect(partial(disagreement, k=k))
    problem = np.repeat(np.arange(len(sample.problems.sizes)), sample.problems.sizes)[found["worker"]]
    levels = find_levels(found["disagreement"], problem)
    rest = iter(np.split(levels, np.cumsum([block.n_tasks for block in sample.blocks])[:-1]))
    return sample.map(lambda block: block.keeping(ballots_of(block, k), Levels(next(rest))))
