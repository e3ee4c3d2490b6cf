"""Coefficients: percent agreement, the kappas of Cohen and Fleiss, and Gwet's AC1, for classes.

All of them but the first set the observed agreement p_a against that of chance:

    (p_a - p_e) / (1 - p_e).

With r_u answers to task u, r_uc of which name class c, K classes, and pi_c the mean of r_uc / r_u over all tasks,

    percent      p_a = mean over tasks with r_u >= 2 of  sum_c r_uc (r_uc - 1) / (r_u (r_u - 1))
    Fleiss       p_e = sum_c pi_c^2
    Gwet's AC1   p_e = sum_c pi_c (1 - pi_c) / (K - 1)

(Fleiss: Measuring nominal scale agreement among many raters. Psychological Bulletin 1971; Gwet: Computing inter-rater
reliability and its variance in the presence of high agreement. 2008; both for any number of answers to a task as in
Gwet: Handbook of Inter-Rater Reliability. 2014). Every task counts the same, and tasks with one answer tell how
frequent classes are. In Krippendorff's alpha every answer counts the same.

Cohen's kappa (A coefficient of agreement for nominal scales. 1960) is of two workers, on their common tasks, with the
shares of classes of each: p_e = sum_c p_c q_c, and with weights of agreement sum_ck w_ck p_c q_k (Cohen: Weighted
kappa. 1968). For more workers it is the mean over pairs (Light: Measures of response
agreement for qualitative data. 1971), of those who have five common tasks or more.

Kappas are low where nearly all tasks have one class, however much workers agree, because chance agrees as well
(prevalence); AC1 is not, and for the same reason is high where workers say nothing but the frequent class. None is
defined where all answers are the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.pairs import pair_chunks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["MIN_COMMON", "Cohen", "measure_cohen", "measure_fleiss", "measure_gwet"]

MIN_COMMON = 5  # tasks that a pair of workers must share, unless there is no other pair
_MAX_ENTRIES = 1 << 24  # of the tables of pairs of workers and classes


def measure_fleiss(percent: float, shares: Floats) -> float | None:
    """Return Fleiss' kappa, given the percent agreement and the mean share of each class; None if it is not defined.

    >>> round(measure_fleiss(0.8, np.array([0.5, 0.5])), 3)
    0.6
    """
    return _correct(percent, float(np.square(shares).sum()))


def measure_gwet(percent: float, shares: Floats, n_classes: int) -> float | None:
    """Return Gwet's AC1, given also how many classes there are; None if it is not defined.

    >>> round(measure_gwet(0.9, np.array([0.95, 0.05]), 2), 3)
    0.89
    """
    return _correct(percent, float((shares * (1 - shares)).sum()) / (n_classes - 1)) if n_classes > 1 else None


def _correct(agreed: float, chance: float) -> float | None:
    return None if np.isnan(agreed) or chance >= 1 - 1e-12 else (agreed - chance) / (1 - chance)


class Cohen(NamedTuple):
    """The mean of Cohen's kappa over pairs of workers, and how many they are."""

    kappa: float
    pairs: int


def measure_cohen(run: Run, weights: Floats | None = None) -> Cohen | None:
    """Return the mean of Cohen's kappa over pairs of workers; None if it is defined for none, or takes too much memory.

    With ``weights`` it is the weighted kappa, in which two labels agree by the entry of a symmetric table.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y"), ("ada", 3, "x"), ("bob", 3, "y")]
    >>> found = measure_cohen(allalike.Memory().load(allalike.read(rows)))
    >>> round(found.kappa, 3), found.pairs
    (0.4, 1)
    """
    n_workers, n_labels = len(run.workers), run.encoding.n_labels
    if n_workers < 2 or n_workers**2 * n_labels > _MAX_ENTRIES:
        return None
    table = np.eye(n_labels) if weights is None else weights
    sums = run.pairs(partial(_count_pairs, weights=table))
    said = [np.asarray(sums[str(code)]) for code in range(n_labels) if str(code) in sums]
    if not said:
        return None
    common = np.sum(said, axis=0)
    least = 1 if n_workers == 2 else MIN_COMMON
    left, right = np.nonzero(np.triu(common >= least, 1))
    number = common[left, right]
    agreed = np.asarray(sums["equal"])[left, right] / number
    hers, others = (np.stack([each[pair] for each in said]) for pair in ((left, right), (right, left)))
    chance = np.einsum("cp,ck,kp->p", hers, table, others, optimize=True) / number**2
    known = chance < 1 - 1e-12
    if not known.any():
        return None
    return Cohen(float(((agreed - chance)[known] / (1 - chance[known])).mean()), int(known.sum()))


def _count_pairs(block: Block, rows: slice, *, weights: Floats) -> dict[str, Array]:
    """Count, per pair of workers, common tasks: how much they agree on them, and on which the first said each label."""
    n_rows, n, n_labels = rows.stop - rows.start, block.n_workers, len(weights)
    equal, said = np.zeros(n_rows * n), np.zeros(n_labels * n_rows * n)
    for left, right in pair_chunks(block, rows):
        place = (block.worker[left] - rows.start) * n + block.worker[right]
        label = block.label[left]
        equal += np.bincount(place, weights[label, block.label[right]], n_rows * n)
        said += np.bincount(place + label.astype(np.intp) * (n_rows * n), minlength=len(said))
    tables = said.reshape(n_labels, n_rows, n)
    return {"equal": equal.reshape(n_rows, n), **{str(code): tables[code] for code in range(n_labels)}}
