"""Estimate how probably the label of a task is the right level, and how often workers err, for levels in an order.

A worker who errs on a scale usually chooses a level next to the right one. With the profile q_d, which is how likely a
level is that lies d levels from the right one relative to the right one itself, an answer y to a task with truth t has

    P[y | t] = q_|y-t| / sum_z q_|z-t|,    p_t ~ prod_i P[y_i | t]^(n w_i / sum w).

The crowd has one profile, which is estimated by EM on a sample of the tasks (all levels are equally likely before, and
q does not grow with d). Workers differ by their weights w alone, of which n answers to a task have n on average.

p is right if errors are independent. Real errors are shared, which no answer shows. The share a of tasks on which
another crowd would give the same label (`allalike.methods.auto.sureness.intervals`) takes all disagreement of votes
for doubt, which is too much if errors are independent. Confidence is half way between:

    confidence = b p + (1 - b) / k,    b = (1 + a) / 2.

The error rate of a worker is the mean of 1 - confidence of their own answers, shrunk towards the crowd's mean.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.distances.numbers import decide_by_voices
from allalike.methods.auto.voices import by_answer, voices_of

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Kernels
    from allalike.engines import Run

_ROUNDS = 8
_SAMPLE_ANSWERS = 20_000
_LEAST = 1e-6  # of q, below which no answer speaks against a level
_LEAST_VARIANCE = 1e-4  # of error rates between workers


def estimate_profile(run: Run, k: int, weights: Floats, *voices: Floats) -> Floats:
    """Estimate the profile q of each problem, with a row per worker, by EM on a sample of the tasks.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, int(np.clip(t % 5 + np.rint(rng.normal(0, 0.6)), 0, 4))) for i in range(9) for t in range(200)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> estimate_profile(run, 5, np.ones(9), np.arange(9.0), np.zeros(9))[0].round(1)
    array([1. , 0.3, 0. , 0. , 0. ])
    """
    sample, problems = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False), run.problems
    profile = np.tile(np.exp(-np.arange(k)), (problems.n_workers, 1))
    for _ in range(_ROUNDS):
        sums = sample.sum(partial(_profile_sums, kernels=run.kernels), weights, *voices, profile)
        ratio = problems.add(sums["answers"]) / np.maximum(problems.add(sums["room"]), _LEAST)
        ratio = np.maximum(ratio / np.maximum(ratio[:, :1], _LEAST), _LEAST)
        profile = problems.spread(np.minimum.accumulate(ratio, axis=1))
    return profile


def decide_levels(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    silent: Floats,
    profile: Floats,
    belief: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
) -> dict[str, Array]:
    """Find the labels of a block by the domain's rule, and how probably each is right, given b of each problem."""
    found = decide_by_voices(block, weights, faults, number, silent, kernels=kernels, ties=ties)
    sure = _believe(_probabilities(block, weights, number, silent, profile, kernels)[0], block, belief)
    return {**found, "confidence": np.take_along_axis(sure, found["label"].astype(np.intp)[:, None], axis=1)[:, 0]}


def estimate_error_rates(run: Run, weights: Floats, *parameters: Floats) -> Floats:
    """Estimate the probability that an answer by a worker is wrong, given voices, profile and b."""
    sums, problems = run.sum(partial(_error_sums, kernels=run.kernels), weights, *parameters), run.problems
    answers, counts = np.maximum(sums["answers"], 1.0), sums["answers"]
    own, mean = sums["error"] / answers, _mean(problems, sums["error"], counts)
    within = sums["squares"] - sums["error"] * own
    noise = problems.total(within) / np.maximum(problems.total(np.maximum(counts - 1, 0.0)), 1.0) / answers
    between = np.maximum(_mean(problems, counts * ((own - mean) ** 2 - noise), counts), _LEAST_VARIANCE)
    return np.asarray(mean + between / (between + noise) * (own - mean))


def _mean(problems: Problems, values: Floats, counts: Floats) -> Floats:
    return np.asarray(problems.total(values) / np.maximum(problems.total(counts), 1.0))


def _error_sums(
    block: Block,
    weights: Floats,
    number: Floats,
    silent: Floats,
    profile: Floats,
    belief: Floats,
    *,
    kernels: Kernels,
) -> dict[str, Floats]:
    probability, code, _ = _probabilities(block, weights, number, silent, profile, kernels)
    sure = block.to_answers(_believe(probability, block, belief))
    right = np.take_along_axis(sure, code[:, None], axis=1)[:, 0]
    values = {"error": 1 - right, "squares": (1 - right) ** 2, "answers": np.ones(len(right))}
    return {name: block.per_worker(each) for name, each in values.items()}


def _profile_sums(
    block: Block, weights: Floats, number: Floats, silent: Floats, profile: Floats, *, kernels: Kernels
) -> dict[str, Floats]:
    """Add up, per problem and distance: the answers at it, and how many levels there are at it, by their chances."""
    probability, code, voice = _probabilities(block, weights, number, silent, profile, kernels)
    own, k = profile.take(block.first_worker, axis=0), profile.shape[1]
    votes = block.per_task(voice[:, None] * np.eye(k)[code])
    share = votes.sum(axis=1, keepdims=True) * probability / _total(own)
    near = [(probability * _shift(votes, d)).sum(axis=1) for d in range(k)]
    room = [(share * _shift(np.ones((1, k)), d)).sum(axis=1) for d in range(k)]
    return {
        name: np.column_stack([sum_by(block.first_worker, column, block.n_workers) for column in columns])
        for name, columns in (("answers", near), ("room", room))
    }


def _probabilities(
    block: Block, weights: Floats, number: Floats, silent: Floats, profile: Floats, kernels: Kernels
) -> tuple[Floats, Array, Floats]:
    """Return the probability of each level per task, the level of each answer, and how much it counts unweighted."""
    code = kernels.restore_answers(block, np.arange(len(block.label))).astype(np.intp)
    voice = voices_of(block, number.take(block.worker).astype(np.intp), silent.take(block.worker) > 0).weight
    weight, total = by_answer(block).answer_weights(voice * weights.take(block.worker))
    own, k = profile.take(block.first_worker, axis=0), profile.shape[1]
    counts = weight * block.to_answers(block.per_task(voice) / total)
    votes = block.per_task(counts[:, None] * np.eye(k)[code])
    score = -votes.sum(axis=1, keepdims=True) * np.log(_total(own))
    for d in range(k):
        score += np.log(own[:, d, None]) * _shift(votes, d)
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True), code, voice


def _total(profile: Floats) -> Floats:
    """Return the sum of q over all levels, for each right one."""
    k = profile.shape[1]
    return np.asarray(sum(profile[:, d, None] * _shift(np.ones((1, k)), d) for d in range(k)))


def _shift(table: Floats, d: int) -> Floats:
    """Return, for each level, the sum over the levels that lie d levels from it.

    >>> _shift(np.array([[1.0, 2.0, 4.0]]), 1)
    array([[2., 5., 2.]])
    """
    if d == 0:
        return table
    found = np.zeros_like(table)
    found[:, d:] += table[:, :-d]
    found[:, :-d] += table[:, d:]
    return found


def _believe(probability: Floats, block: Block, belief: Floats) -> Floats:
    own = belief.take(block.first_worker)[:, None]
    return np.asarray(own * probability + (1 - own) / probability.shape[1])
