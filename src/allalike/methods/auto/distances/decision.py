"""Decisions with voices: a task's truth where a group of copiers counts as one, and who is silent not at all.

An answer counts weight / g if g of its worker's group answered the task. A group errs together, so its answers have the
variance of one of them, and not of their mean. Where nobody who answered has a voice, the answers count the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.groups import number_within_tasks
from allalike.methods.auto.voices.groups import by_answer, voices_of

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.ties import Ties
    from allalike.domains import Kernels

__all__ = ["decide_by_voices", "decide_surely"]

_LEAST_ERROR = 0.01


def decide_by_voices(
    block: Block, weights: Floats, faults: Floats, number: Floats, silent: Floats, *, kernels: Kernels, ties: Ties
) -> dict[str, Array]:
    """Find the truths of a block by the domain's rule, given the group of each worker, and whether she is silent.

    >>> import allalike
    >>> from allalike._core.blocks.ties import Ties
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 0.0), ("eve", 1, 3.0)]))
    >>> one = np.ones(3)
    >>> found = decide_by_voices(
    ...     run.blocks[0], one, one, np.array([0.0, 0.0, 2.0]), np.zeros(3), kernels=run.kernels, ties=Ties())
    >>> found["label"], found["error"].round(3)
    (array([1.5]), array([0.707]))
    """
    own = number.take(block.worker).astype(np.intp)
    voice = voices_of(block, own, silent.take(block.worker) > 0).voice
    variance = faults.take(block.worker) / np.where(voice > 0, voice, 1.0)
    return kernels.aggregate(by_answer(block), voice * weights.take(block.worker), variance, ties=ties)


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    silent: Floats,
    again: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
) -> dict[str, Array]:
    """Find the truths of labels of which k are known, as likely right as their share in the votes is found again.

    ``again`` says of each worker's problem on what share of the tasks another crowd would decide the same, and how
    often a typical worker errs (`allalike.methods.auto.sureness.reliability`). With n answers, of whose weight label l
    has the share s_l, it is right with the probability that it has if each errs so often, and any other label is as
    likely then,

        p_l ~ ((1 - e) (k - 1) / e)^(n s_l).

    ``second`` is how probable the next label is, be it one that nobody gave.
    """
    found = decide_by_voices(block, weights, faults, number, silent, kernels=kernels, ties=ties)
    share, error = again.take(block.first_worker, axis=0).T
    error = np.clip(error, _LEAST_ERROR, 1 - 1 / k)
    slot, labels = number_within_tasks(block)
    voice = voices_of(block, number.take(block.worker).astype(np.intp), silent.take(block.worker) > 0).voice
    votes = block.per_task((voice * weights.take(block.worker))[:, None] * np.eye(int(labels.max()))[slot])
    weight = votes.sum(axis=1)
    odds = np.log((1 - error) * (k - 1) / error) * block.per_task(voice) / np.where(weight > 0, weight, 1.0)
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    return {
        **found,
        "confidence": share * sure + (1 - share) / k,
        "second": share * sure * rival + (1 - share) / k,
    }
