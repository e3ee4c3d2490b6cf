"""Descent: minimise many smooth functions at once by L-BFGS.

Liu, Nocedal: On the limited memory BFGS method for large scale optimization. Mathematical Programming 1989. Every row
of an array is a function's variables, with a history and a step of its own; one pass over whole arrays serves all of
them, and whoever has arrived leaves. A thousand problems of a hundred variables hence cost little more than ten, and
no library of linear algebra starts threads that wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.system.progress import report

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = ["Minima", "Objective", "minimise"]

Rows = npt.NDArray[np.int64]
Objective = Callable[["Floats", Rows], "tuple[Floats, Floats]"]
_Pair = tuple["Floats", "Floats", "Floats"]

_REMEMBERED_STEPS = 10
_MIN_DECREASE = 1e-4  # of a step, as a share of what the slope promises
_MAX_HALVINGS = 30  # of the length of a step


@dataclass(frozen=True)
class Minima:
    """The end of each row: where it is, how low, after how many steps, and whether it was reached before the limit."""

    place: Floats
    value: Floats
    iterations: Rows
    converged: npt.NDArray[np.bool_]


def minimise(objective: Objective, start: Floats, *, max_iter: int, tol: float) -> Minima:
    """Minimise each row of the variables.

    Parameters
    ----------
    objective
        Returns the values and the gradients at some places, given these and the numbers of their rows. A value may be
        NaN or infinite where the function is not defined; the steps then become shorter.
    start
        One row of variables for each function.
    max_iter, tol
        When to stop: a row has arrived when a step lowers it by less than ``tol``, relative to its value. One that
        is undefined from the beginning stays so, and has not converged.

    >>> def bowls(x, rows):
    ...     return np.square(x - rows[:, None]).sum(axis=1), 2 * (x - rows[:, None])
    >>> minimise(bowls, np.full((2, 2), 9.0), max_iter=50, tol=1e-12).place.round(6)
    array([[0., 0.],
           [1., 1.]])
    """
    place, lowest = start.copy(), np.empty(len(start))
    iterations, converged = np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    rows, x = np.arange(len(start)), start
    value, gradient = objective(x, rows)
    past: deque[_Pair] = deque(maxlen=_REMEMBERED_STEPS)
    size = 1 / np.maximum(np.sqrt(_dots(gradient, gradient)), 1e-300)
    for number in range(1, max_iter + 1):
        report("round", number, max_iter)
        direction = _direction(gradient, past, size)
        new, new_value, new_gradient = _step(objective, rows, x, value, gradient, direction)
        pair, size = _curvature(new - x, new_gradient - gradient, size)
        past.append(pair)
        arrived = ~(value - new_value > tol * np.maximum(np.abs(new_value), 1.0))  # so does what is no number
        x, value, gradient = new, new_value, new_gradient
        place[rows], lowest[rows], iterations[rows], converged[rows] = x, value, number, arrived & np.isfinite(value)
        if arrived.all():
            break
        if arrived.any():
            left = ~arrived
            rows, x, value, gradient, size = rows[left], x[left], value[left], gradient[left], size[left]
            past = deque(((s[left], y[left], rho[left]) for s, y, rho in past), maxlen=_REMEMBERED_STEPS)
    return Minima(place, lowest, iterations, converged)


def _dots(left: Floats, right: Floats) -> Floats:
    products: Floats = np.einsum("ij,ij->i", left, right)
    return products


def _direction(gradient: Floats, past: deque[_Pair], size: Floats) -> Floats:
    """Turn the gradient by the curvatures of the past: the two loops of the algorithm."""
    q, shares = -gradient, []
    for s, y, rho in reversed(past):
        shares.append(rho * _dots(s, q))
        q = q - shares[-1][:, None] * y
    q = q * size[:, None]
    for s, y, rho in past:
        q = q + (shares.pop() - rho * _dots(y, q))[:, None] * s
    return q


def _curvature(s: Floats, y: Floats, size: Floats) -> tuple[_Pair, Floats]:
    """Return a step as it is remembered, and the new scale; one along which nothing curves upwards teaches nothing."""
    sy, yy = _dots(s, y), _dots(y, y)
    useful = sy > 1e-10 * yy
    rho = np.where(useful, 1.0, 0.0) / np.where(useful, sy, 1.0)
    return (s, y, rho), np.where(useful, sy / np.where(useful, yy, 1.0), size)


def _step(
    objective: Objective, rows: Rows, x: Floats, value: Floats, gradient: Floats, direction: Floats
) -> tuple[Floats, Floats, Floats]:
    """Go into the direction, half as far as long as it is not low enough there; who never is stays where she was."""
    slope, length = _dots(gradient, direction), np.ones(len(x))
    found, lowest, slopes = x.copy(), value.copy(), gradient.copy()
    trying = np.arange(len(x))
    for _ in range(_MAX_HALVINGS):
        there = x[trying] + length[trying, None] * direction[trying]
        new, its_gradient = objective(there, rows[trying])
        low = new <= value[trying] + _MIN_DECREASE * length[trying] * slope[trying]
        found[trying[low]], lowest[trying[low]], slopes[trying[low]] = there[low], new[low], its_gradient[low]
        trying = trying[~low]
        if not len(trying):
            break
        length[trying] /= 2
    return found, lowest, slopes
