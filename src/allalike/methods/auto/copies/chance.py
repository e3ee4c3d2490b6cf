"""Chance: how probably so few of some tasks go one way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["find_lower_tail"]

_LEAST = 1e-16  # a probability between which and 1 all are, and the share of a sum that is lost in it


def find_lower_tail(most: Array, of: Array, chance: Floats) -> Floats:
    """Return how probably at most so many of several things happen, if each does by this chance (a binomial tail).

    It is asked of no more than are expected, so that the last term is the largest: terms are added from there on, and
    the one before the m-th is m (1 - p) / ((n - m + 1) p) times as large.

    >>> find_lower_tail(np.array([0, 1]), np.array([2, 2]), np.array([0.5, 0.5])).round(9)
    array([0.25, 0.75])
    """
    p = np.clip(chance, _LEAST, 1 - _LEAST)
    m, n = np.asarray(most, np.float64), np.asarray(of, np.float64)
    ways = _log_factorial(n) - _log_factorial(m) - _log_factorial(n - m)
    total = term = np.exp(ways + m * np.log(p) + (n - m) * np.log1p(-p))
    while np.any(term > _LEAST * total):
        term = term * m * (1 - p) / ((n - m + 1) * p)
        m = np.maximum(m - 1, 0)
        total = total + term
    return np.asarray(np.minimum(total, 1.0))


def _log_factorial(number: Floats) -> Floats:
    values, place = np.unique(number, return_inverse=True)
    return np.array([math.lgamma(value + 1) for value in values.tolist()])[place]
