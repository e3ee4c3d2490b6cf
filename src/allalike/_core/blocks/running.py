"""Running sums: of each number and those before it in its segment, such as the answers to a task.

A running sum over a whole block, minus what it was where the segment began, would be one pass; but then a task of small
numbers behind one of large numbers keeps no digits. So segments never meet: where all have one length they are the rows
of a matrix, and else each number is added to the one 1, 2, 4, ... places later, as long as that is in its segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["add_up_to"]


def add_up_to(values: Floats, sizes: Array) -> Floats:
    """Add up, within segments of these sizes, each number and all before it.

    >>> add_up_to(np.array([1.0, 2.0, 1e20, 3.0, 4.0, 5.0]), np.array([2, 1, 3]))
    array([1.0e+00, 3.0e+00, 1.0e+20, 3.0e+00, 7.0e+00, 1.2e+01])
    >>> add_up_to(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 2]))
    array([1., 3., 3., 7.])
    """
    longest = int(sizes.max(initial=0))
    if longest * len(sizes) == len(values):
        return np.cumsum(values.reshape(len(sizes), longest), axis=1).ravel()
    place = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    running, step = values.astype(np.float64), 1
    while step < longest:
        earlier = np.where(place[step:] >= step, running[:-step], 0.0)
        running[step:] += earlier
        step *= 2
    return running
