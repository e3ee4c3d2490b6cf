"""Confidence: how far it is from how often labels are right, and what the others say where an answer is held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import find_voices

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats

__all__ = ["BINS", "TEMPERATURES", "expected_calibration_error", "without_own"]

TEMPERATURES = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, *np.arange(3, 11) / 10])
BINS = 10  # of confidences, of which each is compared with how often labels are right


def without_own(block: Block, scores: Floats, rows: Floats) -> Floats:
    """Return, per answer, the scores of its task without what her group adds to them: a row per answer.

    >>> from allalike._core.blocks.block import Block
    >>> without_own(Block.of([[0], [1]]), np.array([[3.0, 5.0]]), np.array([[3.0, 0.0], [0.0, 5.0]]))
    array([[0., 5.],
           [3., 0.]])
    """
    group = find_voices(block).group
    n_groups = int(group.max()) + 1
    if n_groups < len(group):
        table = np.stack([sum_by(group, column, n_groups) for column in rows.T], axis=1)
        rows = table.take(group, axis=0)
    others: Floats = block.to_answers(scores) - rows
    return others


def expected_calibration_error(count: Floats, confidence: Floats, hits: Floats) -> float:
    """Return how far confidences are from how often labels are right, from sums over the labels in each bin.

    >>> expected_calibration_error(np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]))
    0.1
    """
    total = float(count.sum())
    return float(np.abs(confidence - hits).sum() / total) if total else float("nan")
