"""Decisions: labels where a copy group counts once per task, and the confidence of levels and of many classes.

An answer counts weight / g if g of its worker's copy group answered the task; uninformative workers do not count. Where
none of a task's workers counts, its answers count the same.

**Many classes.** With n answers, of whose weight label l has the share s_l, and error rate e of a typical worker,

    p_l ~ ((1 - e) (k - 1) / e)^(n s_l).

**Levels.** A worker who errs usually chooses a level next to the right one. With the profile q_d, how likely a level at
distance d is relative to the right one, an answer y to a task with label t has

    P[y | t] = q_|y-t| / sum_z q_|z-t|,    p_t ~ prod_i P[y_i | t]^(n w_i / sum w).

The crowd has one profile, estimated by EM on a sample (q does not grow with d). Workers differ by their weights w
alone.

**Shared errors** are not visible in the answers. So confidence is shrunk towards 1/k: c = b p + (1 - b) / k, where b is
the share a of tasks on which another crowd would give the same label (`find_reliability`), and (1 + a) / 2 for levels.
The error rate of a worker is the mean of 1 - confidence over their answers, shrunk towards the crowd's mean.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import number_within_tasks
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.voices import by_answer, voices_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.domains import Kernels
    from allalike.engines import Run

_ROUNDS = 8
_SAMPLE_ANSWERS = 20_000
_LEAST = 1e-6  # of q, below which an answer does not count against a level
_LEAST_ERROR = 0.01  # of a typical worker
_LEAST_VARIANCE = 1e-4  # of error rates between workers


def decide_by_groups(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    uninformative: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
) -> dict[str, Array]:
    """Find labels by the rule of the label type; a copy group has the variance of one answer, not of a mean.

    >>> import allalike
    >>> from allalike._core.blocks.block import Ties
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 0.0), ("eve", 1, 3.0)]))
    >>> one = np.ones(3)
    >>> found = decide_by_groups(
    ...     run.blocks[0], one, one, np.array([0.0, 0.0, 2.0]), np.zeros(3), kernels=run.kernels, ties=Ties())
    >>> found["label"], found["error"].round(3)
    (array([1.5]), array([0.707]))
    """
    share = _share(block, number, uninformative)
    variance = faults.take(block.worker) / np.where(share > 0, share, 1.0)
    return kernels.aggregate(by_answer(block), share * weights.take(block.worker), variance, ties=ties)


def _share(block: Block, number: Floats, uninformative: Floats) -> Floats:
    """Return how much each answer counts beside its copies."""
    return voices_of(block, number.take(block.worker).astype(np.intp), uninformative.take(block.worker) > 0).weight


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    uninformative: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
    again: float,
    error: float,
) -> dict[str, Array]:
    """Find labels of k known classes with their confidence, and that of the next label, answered or not (``second``).

    ``again`` is the share of tasks on which another crowd would decide the same, ``error`` the typical error rate.
    """
    found = decide_by_groups(block, weights, faults, number, uninformative, kernels=kernels, ties=ties)
    error = float(np.clip(error, _LEAST_ERROR, 1 - 1 / k))
    slot, labels = number_within_tasks(block)
    share = _share(block, number, uninformative)
    votes = block.per_task((share * weights.take(block.worker))[:, None] * np.eye(int(labels.max()))[slot])
    weight = votes.sum(axis=1)
    odds = np.log((1 - error) * (k - 1) / error) * block.per_task(share) / np.where(weight > 0, weight, 1.0)
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    rest = (1 - again) / k
    return {**found, "confidence": again * sure + rest, "second": again * sure * rival + rest}


# Levels: the distances of places |x - y| from 0 to k - 1 are the rows of a table of masks.


def estimate_profile(run: Run, k: int, weights: Floats, *groups: Floats) -> Floats:
    """Estimate the profile q of k levels by EM on a sample of the tasks.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, int(np.clip(t % 5 + np.rint(rng.normal(0, 0.6)), 0, 4))) for i in range(9) for t in range(200)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> estimate_profile(run, 5, np.ones(9), np.arange(9.0), np.zeros(9)).round(1)
    array([1. , 0.3, 0. , 0. , 0. ])
    """
    sample, profile, apart = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False), np.exp(-np.arange(k)), _apart(k)
    for _ in range(_ROUNDS):
        near, room = np.zeros(k), np.zeros(k)
        for block in sample.blocks:
            probability, _, share, code = _probabilities(block, weights, *groups, profile=profile, kernels=run.kernels)
            votes = block.per_task(share[:, None] * np.eye(k)[code])
            mass = votes.sum(axis=1, keepdims=True) * probability / profile[apart].sum(axis=1)
            near += np.bincount(apart.ravel(), (probability.T @ votes).ravel(), k)
            room += np.bincount(apart.ravel(), np.repeat(mass.sum(axis=0), k), k)
        ratio = near / np.maximum(room, _LEAST)
        profile = np.minimum.accumulate(np.maximum(ratio / max(ratio[0], _LEAST), _LEAST))
    return np.asarray(profile)


def _apart(k: int) -> Array:
    """Return the distance of every two of k levels."""
    return np.abs(np.arange(k)[:, None] - np.arange(k))


def _probabilities(
    block: Block, weights: Floats, number: Floats, uninformative: Floats, *, profile: Floats, kernels: Kernels
) -> tuple[Floats, Floats, Floats, Array]:
    """Return the probability of each level per task and per answer's task, the share of answers, and their levels."""
    code, k = kernels.restore_answers(block, np.arange(len(block.label))).astype(np.intp), len(profile)
    share = _share(block, number, uninformative)
    weight, total = by_answer(block).answer_weights(share * weights.take(block.worker))
    counts = weight * block.to_answers(block.per_task(share) / total)
    table = profile[_apart(k)]
    score = block.per_task(counts[:, None] * np.eye(k)[code]) @ np.log(table / table.sum(axis=1, keepdims=True)).T
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    probability = chance / chance.sum(axis=1, keepdims=True)
    return probability, block.to_answers(probability), share, code


def decide_levels(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    uninformative: Floats,
    *lines: Floats,
    kernels: Kernels,
    ties: Ties,
    estimate: Callable[..., Floats] | None,
    profile: Floats | None = None,
    belief: float = 1.0,
) -> dict[str, Array]:
    """Find labels by the rule of the label type, or nearest to estimated places, with their confidence."""
    groups = number, uninformative
    found = decide_by_groups(block, weights, faults, *groups, kernels=kernels, ties=ties)
    if estimate is not None:
        place = estimate(block, found["label"], number, *lines)
        share = _share(block, *groups) * weights.take(block.worker)
        found |= kernels.take_nearest(by_answer(block), share, place, ties=ties)
    if profile is None:
        return found
    probability = _probabilities(block, weights, *groups, profile=profile, kernels=kernels)[0]
    own = np.take_along_axis(probability, found["label"].astype(np.intp)[:, None], axis=1)[:, 0]
    return {**found, "confidence": belief * own + (1 - belief) / len(profile)}


def estimate_error_rates(run: Run, weights: Floats, *groups: Floats, profile: Floats, belief: float) -> Floats:
    """Estimate the error rates of workers, shrunk towards their mean."""
    kernel = partial(_error_sums, kernels=run.kernels, profile=profile, belief=belief)
    sums = run.sum(kernel, weights, *groups)
    counts = sums["answers"]
    answers, total = np.maximum(counts, 1.0), max(counts.sum(), 1.0)
    own, mean = sums["error"] / answers, sums["error"].sum() / total
    within = (sums["squares"] - sums["error"] * own).sum() / max(np.maximum(counts - 1, 0.0).sum(), 1.0)
    noise = within / answers
    between = max((counts * ((own - mean) ** 2 - noise)).sum() / total, _LEAST_VARIANCE)
    return np.asarray(mean + between / (between + noise) * (own - mean))


def _error_sums(
    block: Block, weights: Floats, *groups: Floats, kernels: Kernels, profile: Floats, belief: float
) -> dict[str, Floats]:
    _, probability, _, code = _probabilities(block, weights, *groups, profile=profile, kernels=kernels)
    own = np.take_along_axis(probability, code[:, None], axis=1)[:, 0]
    error = 1 - belief * own - (1 - belief) / len(profile)
    values = {"error": error, "squares": error**2, "answers": np.ones(len(own))}
    return {name: block.per_worker(each) for name, each in values.items()}
