"""Bins: where values are counted that are shown as a distribution.

There are about twice as many as the root of the number of values. Values that differ by rounding only, such as the
widths of the limits of numbers that everybody gave, have one bin: between them there is no room for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = ["find_edges"]

_SAME = 1e-9  # relative difference of values that differ by rounding only


def find_edges(values: Floats, most: int) -> Floats:
    """Return edges between which values are counted: more bins for more values, and one for those that are the same.

    >>> find_edges(np.array([0.0, 0.5, 1.0]), 20), find_edges(np.array([2.0, 2.0 + 1e-15]), 20)
    (array([0. , 0.2, 0.4, 0.6, 0.8, 1. ]), array([1.9, 2.1]))
    """
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    if high - low <= _SAME * size:
        half = 0.05 * size or 0.05
        return np.array([low - half, high + half])
    return np.linspace(low, high, int(np.clip(2 * np.sqrt(len(values)), 5, most)) + 1)
