"""Surprise: how probable a worker's answer is, given what the others say.

Among honest workers, whoever they are, an answer is the more probable the more others gave it. With c_l the voices for
label l on a task, without her own,

    P_jt(l) ~ (c_l + eps K pi_l)^b_j,

where pi_l is how frequent the label is among all K (K pi_l >= 0.05), eps is 0.3 or 1, whichever is more likely, and
b_j says how closely she follows the others: 0 for a guess, large for the best. It is found by Newton's method with a
prior around the mean of all, N(mean b, 0.7^2). Copying then is to follow one of the others more than any of them.

Where there are more than fifty labels, only those of the task are told apart, and one that nobody gave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import sum_by
from allalike.blocks.groups import number_within_tasks
from allalike.blocks.voices import find_voices

if TYPE_CHECKING:
    from allalike.blocks.block import Block, Floats
    from allalike.engines import Run

__all__ = ["MAX_NAMED_LABELS", "Follow", "Slots", "find_follow", "keep_slots", "label_frequencies", "surprise"]

MAX_NAMED_LABELS = 50
_LEAST_FREQUENCY = 0.05  # of a label, times K
_PRIOR_VOICES = (0.3, 1.0)  # eps
_SPREAD = 0.7  # standard deviation of the prior of b
_MAX_STEP, _MAX_SLOPE = 0.7, 6.0
_STEPS, _WARM_STEPS = 10, 4
_SETTLED = 1e-3
_SHRINK = 5.0  # answers beside a worker's own in the mean of b
_LEAST_PROBABILITY = 0.01


@dataclass(frozen=True)
class Slots:
    """The labels that are told apart on each task of a block, as the columns of a table.

    Parameters
    ----------
    slot
        Of each answer: the column of its label.
    frequency
        Of each task and column: K pi, or 0 where the task has no such column.
    """

    slot: npt.NDArray[np.intp]
    frequency: Floats


@dataclass(frozen=True)
class Follow:
    """How closely workers follow the others.

    Parameters
    ----------
    slope
        Of each worker: b.
    prior_voices
        How many voices all labels have beside those of the others, together K times as many.
    """

    slope: Floats
    prior_voices: float


def label_frequencies(run: Run) -> Floats | None:
    """Return how frequent each label is, times their number; None where they are too many."""
    k = run.encoding.n_labels
    if k > MAX_NAMED_LABELS:
        return None
    given = run.sum(partial(_count_labels, k=k))["labels"].sum(axis=0)
    frequency: Floats = np.maximum(k * given / given.sum(), _LEAST_FREQUENCY)
    return frequency


def _count_labels(block: Block, *, k: int) -> dict[str, Floats]:
    return {
        "labels": sum_by(block.worker * k + block.label, np.ones(len(block.label)), block.n_workers * k).reshape(-1, k)
    }


def keep_slots(block: Block, *, frequency: Floats | None) -> Block:
    """Return the block with its slots."""
    if frequency is not None:
        return block.keeping(
            Slots(block.label.astype(np.intp), np.broadcast_to(frequency, (block.n_tasks, len(frequency))))
        )
    slot, count = number_within_tasks(block)
    present = np.arange(count.max() + 1) <= count[:, None]  # one more than were given: the unseen label
    return block.keeping(Slots(slot, present.astype(np.float64)))


def find_follow(run: Run, before: Follow | None = None) -> Follow:
    """Find how closely each worker follows the voices of the others; the blocks have their slots."""
    if before is not None:
        return _climb(run, before, _WARM_STEPS)[0]
    start = np.ones(run.problems.n_workers)
    fits = [_climb(run, Follow(start, voices), _STEPS) for voices in _PRIOR_VOICES]
    return max(fits, key=lambda fit: fit[1])[0]


def _climb(run: Run, follow: Follow, steps: int) -> tuple[Follow, float]:
    slope = follow.slope
    for _ in range(steps):
        sums = run.sum(partial(slope_sums, prior_voices=follow.prior_voices), slope)
        known = sums["answers"] / (sums["answers"] + _SHRINK)
        mean = (known * slope).sum() / max(known.sum(), 1e-12)
        gradient = sums["gradient"] - (slope - mean) / _SPREAD**2
        step = np.clip(gradient / (sums["curvature"] + 1 / _SPREAD**2), -_MAX_STEP, _MAX_STEP)
        slope = np.clip(slope + step, 0.0, _MAX_SLOPE)
        if np.abs(step).max() < _SETTLED:
            break
    return replace(follow, slope=slope), float(sums["likelihood"].sum())


def slope_sums(block: Block, slope: Floats, *, prior_voices: float) -> dict[str, Floats]:
    """Add up, per worker, the log likelihood of her answers, its slope and its curvature in b."""
    logs, share, heard = _predict(block, slope, prior_voices)
    own = logs[np.arange(len(logs)), block[Slots].slot]
    mean = np.einsum("al,al->a", share, logs)
    variance = np.maximum(np.einsum("al,al->a", share, np.square(logs)) - mean**2, 0.0)
    likelihood = np.log(share[np.arange(len(logs)), block[Slots].slot])
    columns = {"gradient": own - mean, "curvature": variance, "likelihood": likelihood, "answers": np.ones(len(own))}
    return {name: block.per_worker(np.where(heard > 0, column, 0.0)) for name, column in columns.items()}


def surprise(block: Block, slope: Floats, *, prior_voices: float) -> Floats:
    """Return the probability of each answer: at least its share among the others, and at least 0.01."""
    _, share, heard = _predict(block, slope, prior_voices)
    slot, voice = block[Slots].slot, find_voices(block).voice
    mine = np.arange(len(slot))
    votes = _votes(block)[block.to_answers(np.arange(block.n_tasks)), slot] - voice
    among = np.where(heard > 0, votes / np.where(heard > 0, heard, 1.0), 1.0)
    probability: Floats = np.maximum(np.maximum(share[mine, slot], among), _LEAST_PROBABILITY)
    return probability


def _votes(block: Block) -> Floats:
    slots = block[Slots]
    width = slots.frequency.shape[1]
    task = block.to_answers(np.arange(block.n_tasks))
    return sum_by(task * width + slots.slot, find_voices(block).voice, block.n_tasks * width).reshape(-1, width)


def _predict(block: Block, slope: Floats, prior_voices: float) -> tuple[Floats, Floats, Floats]:
    """Return, per answer, the logarithms that are raised to b, the probabilities, and the voices of the others."""
    slots, voice = block[Slots], find_voices(block).voice
    task, mine = block.to_answers(np.arange(block.n_tasks)), np.arange(len(voice))
    votes = _votes(block)
    beside = prior_voices * slots.frequency
    present = slots.frequency > 0
    level = np.where(present, np.log(np.where(present, votes + beside, 1.0)), 0.0)
    logs = level.take(task, axis=0)
    logs[mine, slots.slot] = np.log(np.maximum((votes + beside)[task, slots.slot] - voice, 1e-9))
    power = np.where(present.take(task, axis=0), np.exp(slope.take(block.worker)[:, None] * logs), 0.0)
    share = power / (power @ np.ones(power.shape[1]))[:, None]
    heard = (votes @ np.ones(votes.shape[1])).take(task) - voice
    return logs, share, np.where(heard > 1e-9, heard, 0.0)
