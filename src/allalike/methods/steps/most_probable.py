"""The most probable class of each task: how a method decides that knows how probable each of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike.rules.base import unknown
from allalike.rules.vote import pick

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.ties import Ties

__all__ = ["take_most_probable"]


def take_most_probable(block: Block, probability: Floats, ties: Ties) -> dict[str, Array]:
    """Take the most probable class, from a row per task and a column per class; its probability is the confidence.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.ties import Ties
    >>> take_most_probable(Block.of([[0, 1], [1, 1]]), np.array([[0.6, 0.4], [0.2, 0.8]]), Ties())["label"]
    array([0, 1], dtype=int32)
    """
    best = probability.max(axis=1)
    task, label = np.nonzero(probability >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {"label": label[chosen].astype(np.int32), "confidence": best, "error": unknown(block.n_tasks), "tied": tied}
