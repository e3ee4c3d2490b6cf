"""Variances: how much workers differ beside how much the answers of each vary, the F of an analysis of variance.

With n_w answers of worker w, their mean m_w, the mean m of the crowd, W workers and N answers in all,

    between = sum_w n_w (m_w - m)^2 / (W - lost),    within = sum over answers of (x - m_w)^2 / (N - W),

and F = between / within is 1 where all workers are alike. The answers of a usual worker are
(N - sum_w n_w^2 / N) / (W - 1): where all have as many answers, it is that number. Then (answers of a usual worker) /
(F - 1) is how many answers of the crowd count beside a worker's own (the moment estimate of empirical Bayes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["Variances", "compare_variances"]

_MIN_WORKERS = 3  # of whom one can be told from the others


class Variances(NamedTuple):
    """How much workers differ, with a number per problem.

    Parameters
    ----------
    between, within
        The variance between workers, and that of the answers of each.
    usual
        How many answers a usual worker gave.
    compared
        How many workers are compared: none where nobody answered twice.
    """

    between: Floats
    within: Floats
    usual: Floats
    compared: Floats

    def ratio(self, *, least: float, otherwise: float = np.nan) -> Floats:
        """Return F, for which no variance within is smaller than the least; with few workers, it is something else."""
        ratio = self.between / np.maximum(self.within, least)
        return np.where(self.compared >= _MIN_WORKERS, ratio, otherwise)


def compare_variances(
    values: Floats,
    squares: Floats,
    answers: Floats,
    problems: Problems,
    *,
    centre: Floats | None = None,
    lost: Floats | float = 1.0,
) -> Variances:
    """Find the variances of values, given each worker's sum of them and of their squares, and her number of answers.

    Parameters
    ----------
    values, squares, answers
        Sums over the answers of each worker.
    problems
        Who belongs together.
    centre
        What the mean of each worker is compared with; by default the mean of her problem.
    lost
        How many degrees of freedom the centres take: one, if all of a problem have the same that was not known before.

    >>> from allalike._core.blocks.problems import Problems
    >>> said = np.array([[1.0, 3.0], [2.0, 4.0], [6.0, 8.0]])
    >>> found = compare_variances(said.sum(axis=1), (said**2).sum(axis=1), np.full(3, 2.0), Problems.single(3))
    >>> found.ratio(least=0.0), found.usual
    (array([7.]), array([2.]))
    """
    n, total = problems.add(answers > 0), problems.add(answers)
    safe = np.maximum(total, 1.0)
    mean = np.divide(values, answers, out=np.zeros(len(values)), where=answers > 0)
    if centre is None:
        centre = problems.spread(problems.add(values) / safe)
    between = problems.add(answers * (mean - centre) ** 2) / np.maximum(n - lost, 1.0)
    within = problems.add(squares - answers * mean**2) / np.where(total > n, total - n, 1.0)
    usual = (total - problems.add(answers**2) / safe) / np.maximum(n - 1, 1.0)
    return Variances(between, within, usual, np.where(total > n, n, 0.0))
