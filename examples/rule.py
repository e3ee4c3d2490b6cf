"""A rule of one's own: the weighted mean of numbers without the answer that is farthest from it.

With z the weighted mean of a task, the answers x_i with |x_i - z| < max_i |x_i - z| are averaged, weighted. It works
where now and then an answer is a slip; it fails where errors are Gaussian, for it throws good answers away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allalike import Real
from allalike.extending import TOLERANCE, Block, Floats, Ties
from allalike.rules import Decision, Rule
from allalike.rules.base import unknown


def trimmed_mean(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the weighted mean without the farthest answer, or with it where all are equally far."""
    weight, total = block.answer_weights(weights)
    mean = block.per_task(weight * block.label) / total
    away = np.abs(block.label - block.to_answers(mean))
    farthest = block.to_answers(np.maximum.reduceat(away, block.starts))
    weight = np.where(away < farthest * (1 - TOLERANCE), weight, 0.0)
    total = block.per_task(weight)
    label = np.where(total > 0, block.per_task(weight * block.label) / np.where(total > 0, total, 1.0), mean)
    return Decision(label, unknown(block.n_tasks), unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


@dataclass(frozen=True, kw_only=True)
class Readings(Real):
    """Numbers, as ever, with one rule more."""

    name: ClassVar[str] = "readings"
    summary: ClassVar[str] = "numbers with a slip now and then"
    rules: ClassVar[tuple[Rule, ...]] = (*Real.rules, Rule("trimmed mean", trimmed_mean))
