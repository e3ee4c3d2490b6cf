"""Reproduction: whether two halves of the workers, each for herself, come to the same hypothesis on the answers.

Workers are put into two halves at random, again and again. X_A and X_B are what the halves decide for a task by a
hypothesis, V_A and V_B what they decide by plain votes. Two things are asked:

- **Support**. Where a hypothesis overturns the vote in one half, does the hypothesis of the other half side with it?

      S = sum([X_B = X_A] - [X_B = V_A]) / sqrt(sum of squares),    over tasks with X_A != V_A, and the other way round.

- **Information**. Do the hypotheses of both halves tell more of each other than their votes do? I is the mutual
  information of X_A and X_B less that of V_A and V_B, over its standard error: who always says the frequent class is
  reproduced perfectly, and tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats

__all__ = ["find_information", "find_support"]

_EPS = 1e-9


def find_support(found: tuple[Array, Array], plain: tuple[Array, Array], problem: Array, n: int) -> Floats:
    """Return S of each of n problems, from what two halves decide for the tasks that both have answered.

    Parameters
    ----------
    found, plain
        What the first and the second half decide by a hypothesis, and by their votes.
    problem
        The problem of each task.
    n
        How many problems there are.

    >>> found, plain = np.array([[0, 1, 1, 1], [0, 1, 1, 0]]), np.array([[0, 0, 0, 0], [0, 1, 1, 0]])
    >>> find_support(tuple(found), tuple(plain), np.zeros(4, int), 1).round(2)
    array([0.58])
    """
    total, squares = np.zeros(n), np.zeros(n)
    for (one, other), votes in ((found, plain[0]), (found[::-1], plain[1])):
        sides = np.where(one != votes, (other == one) * 1.0 - (other == votes), 0.0)
        total += np.bincount(problem, sides, n)
        squares += np.bincount(problem, sides**2, n)
    return np.asarray(total / np.sqrt(np.maximum(squares, 1.0)))


def find_information(found: tuple[Array, Array], plain: tuple[Array, Array], problem: Array, n: int, k: int) -> Floats:
    """Return I of each of n problems, likewise.

    >>> steady, told = (np.zeros(4, int),) * 2, (np.array([0, 1, 0, 1]),) * 2
    >>> find_information(told, steady, np.zeros(4, int), 1, 2), find_information(steady, told, np.zeros(4, int), 1, 2)
    (array([0.]), array([0.]))
    """
    gain = _shared(*found, problem, n, k) - _shared(*plain, problem, n, k)
    tasks = np.bincount(problem, minlength=n)
    mean = np.bincount(problem, gain, n) / np.maximum(tasks, 1)
    variance = np.bincount(problem, gain**2, n) - tasks * mean**2
    told = variance > _EPS
    return np.where(told, tasks * mean / np.sqrt(np.where(told, variance, 1.0)), 0.0)


def _shared(one: Array, other: Array, problem: Array, n: int, k: int) -> Floats:
    """Return, per task, by how many nats two labels are more probable together than each for itself."""
    joint: npt.NDArray[np.int64] = np.bincount((problem * k + one) * k + other, minlength=n * k * k).reshape(n, k, k)
    rows, columns, total = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    together = joint[problem, one, other] * total[problem]
    return np.asarray(np.log(together / (rows[problem, one] * columns[problem, other])))
