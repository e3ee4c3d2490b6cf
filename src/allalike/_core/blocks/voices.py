"""Voices: how much each answer counts beside the others, and with which of them it is one voice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Block, Floats, sum_by


@dataclass(frozen=True)
class Voices:
    """The voices of a block's answers; a block without them has one for each answer."""

    voice: Floats
    group: npt.NDArray[np.intp]


def find_voices(block: Block) -> Voices:
    """Return the voices of a block's answers.

    >>> from allalike._core.blocks.block import Block
    >>> find_voices(Block.of([[0, 1], [1, 1]])).voice
    array([1., 1., 1., 1.])
    """
    if Voices in block:
        return block[Voices]
    return Voices(np.ones(len(block.label)), np.arange(len(block.label)))


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
