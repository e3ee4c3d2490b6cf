"""Outlines: polygons and freehand lines, and the pixels that they go around.

A pixel belongs to an outline if its middle lies inside: pixel (row, column) is on if the outline goes around the point
(column + 1/2, row + 1/2), be it once or several times (the nonzero rule, so that a line which overlaps itself at its
end leaves no hole). Each row is crossed by some edges; an edge that goes down adds one from its crossing on, one that
goes up takes one away. An outline is closed, whether its last point is its first or not, and cut off at the picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.masks.packed import Mask, check_size, lay_over

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Part: TypeAlias = Sequence[Sequence[float]] | Mask  # the points of an outline, or what was painted

_CROSSINGS_AT_ONCE = 1 << 20


def draw(parts: Sequence[Part], height: int, width: int) -> Mask:
    """Return all pixels that lie in one of several outlines or masks of a picture of this size.

    >>> draw([[(1, 0), (4, 0), (4, 2), (1, 2)], Mask.of(np.eye(3, 5, dtype=np.bool_))], 3, 5).pixels().astype(int)
    array([[1, 1, 1, 1, 0],
           [0, 1, 1, 1, 0],
           [0, 0, 1, 0, 0]])
    """
    check_size(height, width)
    stack, (top, _, begin, _) = lay_over(
        [part if isinstance(part, Mask) else _fill(part, height, width) for part in parts]
    )
    united = np.unpackbits(np.bitwise_or.reduce(stack, axis=0), axis=1).view(np.bool_)
    return Mask.of(united).placed(height, width, top, 8 * begin)


def _fill(points: Sequence[Sequence[float]], height: int, width: int) -> Mask:
    """Return the pixels whose middles lie inside an outline of at least one point."""
    x, y = np.asarray(points, np.float64).reshape(-1, 2).T
    first, last = (int(np.clip(np.ceil(end - 0.5), 0, height)) for end in (y.min(), y.max()))
    left = int(np.clip(np.floor(x.min()), 0, width)) & ~7  # where bytes begin
    right = int(np.clip(np.ceil(x.max()), left, width))
    steps = np.zeros((last - first, right - left + 1), np.int32)
    below, right_of = np.roll(y, -1), np.roll(x, -1)
    top, bottom = (np.clip(np.ceil(end - 0.5), first, last).astype(np.intp) for end in (y, below))
    turns = np.flatnonzero(top != bottom)  # edges that cross the middle of a row
    per_chunk = max(1, _CROSSINGS_AT_ONCE // max(len(steps), 1))
    for start in range(0, len(turns), per_chunk):
        edge = turns[start : start + per_chunk]
        begin, count = np.minimum(top, bottom)[edge], np.abs(top - bottom)[edge]
        each = np.repeat(edge, count)
        row = np.arange(len(each)) - np.repeat(np.cumsum(count) - count - begin, count)
        share = (row + 0.5 - y[each]) / (below[each] - y[each])
        crossing = x[each] + share * (right_of[each] - x[each])
        column = np.clip(np.ceil(crossing - 0.5), left, right).astype(np.intp) - left
        np.add.at(steps, (row - first, column), np.sign(bottom - top)[each])
    inside = np.cumsum(steps, axis=1)[:, :-1] != 0
    return Mask.of(inside).placed(height, width, first, left)
