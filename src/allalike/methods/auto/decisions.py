"""Decisions: labels and confidences of levels and of many classes.

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.domains import Kernels
    from allalike.engines import Run

_ROUNDS = 8
_SAMPLE_ANSWERS = 20_000
_LEAST = 1e-6  # of q, below which an answer does not count against a level
_LEAST_ERROR = 0.01  # of a typical worker


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
    error: float,
) -> dict[str, Array]:
    """Find labels of k known classes with their confidence, and that of the next label, answered or not (``second``).

    ``error`` is the error rate of a typical worker.
    """
    found = kernels.aggregate(block, weights, faults, ties=ties)
    error = float(np.clip(error, _LEAST_ERROR, 1 - 1 / k))
    slot, labels = number_within_tasks(block)
    votes = block.per_task(weights.take(block.worker)[:, None] * np.eye(int(labels.max()))[slot])
    weight = np.where(votes.any(axis=1), votes.sum(axis=1), 1.0)
    odds = np.log((1 - error) * (k - 1) / error) * block.sizes / weight
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    confidence = lower_confidence(sure, votes.max(axis=1) / weight)
    return {**found, "confidence": confidence, "second": (1 - confidence) * sure * rival / np.maximum(1 - sure, 1e-12)}


# Levels: the distances of places |x - y| from 0 to k - 1 are the rows of a table of masks.


def estimate_profile(run: Run, k: int, weights: Floats) -> Floats:
    """Estimate the profile q of k levels by EM on a sample of the tasks.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, int(np.clip(t % 5 + np.rint(rng.normal(0, 0.6)), 0, 4))) for i in range(9) for t in range(200)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> estimate_profile(run, 5, np.ones(9)).round(1)
    array([1. , 0.3, 0. , 0. , 0. ])
    """
    sample, profile, apart = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False), np.exp(-np.arange(k)), _apart(k)
    for _ in range(_ROUNDS):
        near, room = np.zeros(k), np.zeros(k)
        for block in sample.blocks:
            probability, code = _probabilities(block, weights, profile=profile, kernels=run.kernels)
            votes = block.per_task(np.eye(k)[code])
            mass = votes.sum(axis=1, keepdims=True) * probability / profile[apart].sum(axis=1)
            near += np.bincount(apart.ravel(), (probability.T @ votes).ravel(), k)
            room += np.bincount(apart.ravel(), np.repeat(mass.sum(axis=0), k), k)
        ratio = near / np.maximum(room, _LEAST)
        profile = np.minimum.accumulate(np.maximum(ratio / max(ratio[0], _LEAST), _LEAST))
    return np.asarray(profile)


def _apart(k: int) -> Array:
    """Return the distance of every two of k levels."""
    return np.abs(np.arange(k)[:, None] - np.arange(k))


def _probabilities(block: Block, weights: Floats, *, profile: Floats, kernels: Kernels) -> tuple[Floats, Array]:
    """Return the probability of each level per task, and the levels of the answers."""
    code, k = kernels.restore_answers(block, np.arange(len(block.label))).astype(np.intp), len(profile)
    weight, total = block.answer_weights(weights)
    counts = weight * block.to_answers(block.sizes / total)
    table = profile[_apart(k)]
    score = block.per_task(counts[:, None] * np.eye(k)[code]) @ np.log(table / table.sum(axis=1, keepdims=True)).T
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True), code


def decide_levels(
    block: Block,
    weights: Floats,
    faults: Floats,
    *lines: Floats,
    kernels: Any,
    ties: Ties,
    estimate: Callable[..., Floats] | None = None,
    profile: Floats | None = None,
) -> dict[str, Array]:
    """Find labels by the rule of the label type, or nearest to estimated places, with their confidence."""
    found: dict[str, Array] = kernels.aggregate(block, weights, faults, ties=ties)
    if estimate is not None:
        place = estimate(block, found["label"], *lines)
        found |= kernels.take_nearest(block, weights, place, ties=ties)
    if profile is None:
        return found
    probability, code = _probabilities(block, weights, profile=profile, kernels=kernels)
    votes = block.per_task(weights.take(block.worker)[:, None] * np.eye(len(profile))[code])
    total = votes.sum(axis=1, keepdims=True)
    label = found["label"].astype(np.intp)[:, None]
    own, votes = (
        np.take_along_axis(table, label, axis=1)[:, 0]
        for table in (probability, votes / np.where(total > 0, total, 1.0))
    )
    return {**found, "confidence": lower_confidence(own, votes)}
