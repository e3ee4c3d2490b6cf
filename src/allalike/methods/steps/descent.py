"""Descent: the least value of a smooth convex function of numbers that have lower bounds.

L-BFGS in the space of the numbers that are not held at their bounds (Nocedal: Updating quasi-Newton matrices with
limited storage. 1980), each step projected on the bounds (Gafni and Bertsekas: Two-metric projection methods for
constrained optimization. 1984). That of scipy does the same, but wakes the threads of its linear algebra for ten
numbers, which takes ten times as long as the work.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allalike._core.blocks.block import Floats

__all__ = ["descend"]

_ROUNDS, _REMEMBERED, _HALVINGS = 500, 10, 40
_FLAT = 1e-7  # a slope that is as good as none, beside the value
_ENOUGH = 1e-4  # of what the slope promises (Armijo)


def descend(lose: Callable[[Floats], tuple[float, Floats]], start: Floats, least: Floats) -> Floats:
    """Return the numbers with the least loss, none of which is below its bound.

    Parameters
    ----------
    lose
        The loss and its slope.
    start
        Where to begin.
    least
        The bounds; minus infinity where there is none.

    >>> centre = np.array([2.0, -3.0])
    >>> descend(lambda x: (float(((x - centre) ** 2).sum()), 2 * (x - centre)), np.ones(2), np.array([-np.inf, 0.0]))
    array([2., 0.])
    """
    here = np.maximum(start, least)
    loss, slope = lose(here)
    moves: deque[tuple[Floats, Floats]] = deque(maxlen=_REMEMBERED)
    for _ in range(_ROUNDS):
        free = (here > least) | (slope < 0)
        down = np.where(free, slope, 0.0)
        if np.abs(down).max(initial=0.0) <= _FLAT * max(1.0, abs(loss)):
            break
        way = -_bend(down, [(free * move, free * turn) for move, turn in moves])
        length = 1.0 if moves else min(1.0, 1 / float(np.abs(down).sum()))
        for _ in range(_HALVINGS):
            there = np.maximum(here + length * way, least)
            found, steep = lose(there)
            if found <= loss + _ENOUGH * float(down @ (there - here)):
                break
            length /= 2
        else:
            break
        moves.append((there - here, steep - slope))
        here, loss, slope = there, found, steep
    return here


def _bend(down: Floats, moves: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Return the slope by the curvature that the last moves have shown: the two loops of L-BFGS."""
    pairs = [(move, turn, 1 / product) for move, turn in moves if (product := float(move @ turn)) > 0]
    way, shares = down.copy(), []
    for move, turn, inverse in reversed(pairs):
        shares.append(inverse * float(move @ way))
        way -= shares[-1] * turn
    if pairs:
        move, turn, inverse = pairs[-1]
        way /= inverse * float(turn @ turn)
    for (move, turn, inverse), share in zip(pairs, reversed(shares), strict=True):
        way += (share - inverse * float(turn @ way)) * move
    return way
