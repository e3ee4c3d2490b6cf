"""Numbers without their task's centre, and how to find them again as they came.

A number that is small beside its task's centre loses digits when the centre is taken away. In sums of squares they do
not matter; but the answer that drew the centre away may be corrected later, and then they do. So it is kept beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats

__all__ = ["given_labels", "lost_labels"]

_TIMES = 1e3  # as small as that beside the centre, a number keeps twelve digits


def lost_labels(block: Block, centre: Floats) -> dict[str, Array]:
    """Return the labels of all tasks with a number that is small beside the centre, and their places.

    >>> from allalike.blocks.block import Block
    >>> lost_labels(Block.of([[1e-3, 1.0], [1e10, 2.0]]), np.array([5e9, 1.5]))
    {'lost': array([0, 1]), 'lost_label': array([1.e-03, 1.e+10])}
    """
    smallest = np.minimum.reduceat(np.abs(block.label), block.starts)
    small = np.asarray(smallest * _TIMES < np.abs(centre))
    lost = np.flatnonzero(block.to_answers(small if small.ndim == 1 else np.asarray(small.any(axis=1))))
    return {"lost": lost, "lost_label": block.label[lost]}


def given_labels(block: Block, rows: Array) -> Floats:
    """Return the labels of some answers, in order, as they came."""
    task = np.searchsorted(block.starts, rows, side="right") - 1
    label: Floats = block.label[rows] + block.prepared["centre"][task]
    lost = block.prepared["lost"]
    place = np.searchsorted(lost, rows)
    place[place == len(lost)] = 0
    again = np.flatnonzero(lost[place] == rows) if len(lost) else lost
    label[again] = block.prepared["lost_label"][place[again]]
    return label
