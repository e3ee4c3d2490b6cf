"""Decisions: labels where a copy group counts once per task, and the confidence of levels and of many classes.

An answer counts weight / g if g of its worker's copy group answered the task.

**Many classes.** With n answers, of whose weight label l has the share s_l, and error rate e of a typical worker,

    p_l ~ ((1 - e) (k - 1) / e)^(n s_l).

**Levels.** A worker who errs usually chooses a level next to the right one. With the profile q_d, how likely a level at
distance d is relative to the right one, an answer y to a task with label t has

    P[y | t] = q_|y-t| / sum_z q_|z-t|,    p_t ~ prod_i P[y_i | t]^(n w_i / sum w).

The crowd has one profile, estimated by EM on a sample (q does not grow with d). Workers differ by their weights w
alone.

Confidence is lower than p where the label has few votes: see `allalike.methods.auto.gold_calibration`. Errors of
workers have a model of their own (`allalike.methods.auto.uncertainty`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import number_within_tasks
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.gold_calibration import lower_confidence
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


def decide_by_groups(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
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
    ...     run.blocks[0], one, one, np.array([0.0, 0.0, 2.0]), kernels=run.kernels, ties=Ties())
    >>> found["label"], found["error"].round(3)
    (array([1.5]), array([0.707]))
    """
    share = _share(block, number)
    variance = faults.take(block.worker) / np.where(share > 0, share, 1.0)
    return kernels.aggregate(by_answer(block), share * weights.take(block.worker), variance, ties=ties)


def _share(block: Block, number: Floats) -> Floats:
    """Return how much each answer counts beside its copies."""
    return voices_of(block, number.take(block.worker).astype(np.intp)).weight


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
    error: float,
) -> dict[str, Array]:
    """Find labels of k known classes with their confidence, and that of the next label, answered or not (``second``).

    ``error`` is the error rate of a typical worker.
    """
    found = decide_by_groups(block, weights, faults, number, kernels=kernels, ties=ties)
    error = float(np.clip(error, _LEAST_ERROR, 1 - 1 / k))
    slot, labels = number_within_tasks(block)
    share = _share(block, number)
    votes = block.per_task((share * weights.take(block.worker))[:, None] * np.eye(int(labels.max()))[slot])
    weight = np.where(votes.any(axis=1), votes.sum(axis=1), 1.0)
    odds = np.log((1 - error) * (k - 1) / error) * block.per_task(share) / weight
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    confidence = lower_confidence(sure, votes.max(axis=1) / weight)
    return {**found, "confidence": confidence, "second": (1 - confidence) * sure * rival / np.maximum(1 - sure, 1e-12)}


# Levels: the distances of places |x - y| from 0 to k - 1 are the rows of a table of masks.


def estimate_profile(run: Run, k: int, weights: Floats, number: Floats) -> Floats:
    """Estimate the profile q of k levels by EM on a sample of the tasks.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, int(np.clip(t % 5 + np.rint(rng.normal(0, 0.6)), 0, 4))) for i in range(9) for t in range(200)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> estimate_profile(run, 5, np.ones(9), np.arange(9.0)).round(1)
    array([1. , 0.3, 0. , 0. , 0. ])
    """
    sample, profile, apart = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False), np.exp(-np.arange(k)), _apart(k)
    for _ in range(_ROUNDS):
        near, room = np.zeros(k), np.zeros(k)
        for block in sample.blocks:
            probability, _, share, code = _probabilities(block, weights, number, profile=profile, kernels=run.kernels)
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
    block: Block, weights: Floats, number: Floats, *, profile: Floats, kernels: Kernels
) -> tuple[Floats, Floats, Floats, Array]:
    """Return the probability of each level per task and per answer's task, the share of answers, and their levels."""
    code, k = kernels.restore_answers(block, np.arange(len(block.label))).astype(np.intp), len(profile)
    share = _share(block, number)
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
    *lines: Floats,
    kernels: Any,
    ties: Ties,
    estimate: Callable[..., Floats] | None = None,
    profile: Floats | None = None,
) -> dict[str, Array]:
    """Find labels by the rule of the label type, or nearest to estimated places, with their confidence."""
    found = decide_by_groups(block, weights, faults, number, kernels=kernels, ties=ties)
    if estimate is not None:
        place = estimate(block, found["label"], number, *lines)
        share = _share(block, number) * weights.take(block.worker)
        found |= kernels.take_nearest(by_answer(block), share, place, ties=ties)
    if profile is None:
        return found
    probability, _, share, code = _probabilities(block, weights, number, profile=profile, kernels=kernels)
    votes = block.per_task((share * weights.take(block.worker))[:, None] * np.eye(len(profile))[code])
    total = votes.sum(axis=1, keepdims=True)
    label = found["label"].astype(np.intp)[:, None]
    own, votes = (
        np.take_along_axis(table, label, axis=1)[:, 0]
        for table in (probability, votes / np.where(total > 0, total, 1.0))
    )
    return {**found, "confidence": lower_confidence(own, votes)}
