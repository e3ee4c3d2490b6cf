"""Decisions with voices: a task's truth where a group of copiers counts as one, and who is silent not at all.

An answer counts weight / g if g of its worker's group answered the task. A group errs together, so its answers have the
variance of one of them, and not of their mean. Where nobody who answered has a voice, the answers count the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.trust.groups import voices_of
from allalike.trust.peers import by_answer

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats
    from allalike.blocks.ties import Ties
    from allalike.domains import Kernels

__all__ = ["decide_by_voices"]


def decide_by_voices(
    block: Block, weights: Floats, faults: Floats, number: Floats, silent: Floats, *, kernels: Kernels, ties: Ties
) -> dict[str, Array]:
    """Find the truths of a block by the domain's rule, given the group of each worker, and whether she is silent.

    >>> import allalike
    >>> from allalike.blocks.ties import Ties
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 0.0), ("eve", 1, 3.0)]), Ties())
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
