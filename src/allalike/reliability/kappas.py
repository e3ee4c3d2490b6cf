"""Percent agreement, the kappas of Cohen and Fleiss, and Gwet's AC1 and AC2.

All but the first correct the observed agreement p_a for chance agreement p_e: (p_a - p_e) / (1 - p_e). With r_u answers
to task u, r_uc of them with class c, K classes, and pi_c the mean of r_uc / r_u over all tasks,

    percent      p_a = mean over tasks with r_u >= 2 of  sum_c r_uc (r_uc - 1) / (r_u (r_u - 1))
    Fleiss       p_e = sum_c pi_c^2
    Gwet's AC1   p_e = sum_c pi_c (1 - pi_c) / (K - 1)
    Gwet's AC2   p_e = sum_ck w_ck  sum_c pi_c (1 - pi_c) / (K (K - 1))

(Fleiss: Measuring nominal scale agreement among many raters. 1971; Gwet: Handbook of Inter-Rater Reliability. 2014).
All tasks have equal weight, whereas in Krippendorff's alpha all answers have equal weight. Levels have partial
agreement w_ck: linear, 1 - |c - k| / (K - 1), or quadratic, 1 - ((c - k) / (K - 1))^2.

Cohen's kappa (1960) compares two workers on their common tasks, where p and q are their class shares:
p_e = sum_c p_c q_c, or weighted sum_ck w_ck p_c q_k (1968). For more workers, it is the mean over pairs with at least
five common tasks (Light: Measures of response agreement for qualitative data. 1971).

Kappas are low if nearly all tasks have the same class, because chance agreement is high (prevalence). AC1 is not low in
this case, but it is also high if workers always give the frequent class. All are undefined if all answers are equal.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.blocks.pairs import pair_chunks
from allalike.engines.memory import MemoryRun

MIN_COMMON = 5  # common tasks of a pair, unless there are only two workers
_MAX_ENTRIES = 1 << 24  # in tables of worker pairs and classes


class Cohen(NamedTuple):
    """The mean of Cohen's kappa over pairs of workers, and the number of pairs."""

    kappa: float
    pairs: int


def compute_fleiss(percent: float, shares: Floats) -> float | None:
    """Compute Fleiss' kappa from percent agreement and the mean share of each class; None if undefined.

    >>> round(compute_fleiss(0.8, np.array([0.5, 0.5])), 3)
    0.6
    """
    return _correct_for_chance(percent, float(np.square(shares).sum()))


def compute_gwet(agreement: float, shares: Floats, n_classes: int, weights: float | None = None) -> float | None:
    """Compute Gwet's AC1, or AC2 given the sum of all agreement weights; None if undefined.

    >>> round(compute_gwet(0.9, np.array([0.95, 0.05]), 2), 3)
    0.89
    """
    if n_classes < 2:
        return None
    weight = 1.0 if weights is None else weights / n_classes
    return _correct_for_chance(agreement, weight * float((shares * (1 - shares)).sum()) / (n_classes - 1))


def _correct_for_chance(agreement: float, chance: float) -> float | None:
    return None if np.isnan(agreement) or chance >= 1 - 1e-12 else (agreement - chance) / (1 - chance)


def weigh_levels(n_levels: int, power: int) -> Floats:
    """Return agreement weights of levels: linear with power 1, quadratic with power 2.

    >>> weigh_levels(3, 2).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    place = np.arange(n_levels)
    return np.asarray(1 - (np.abs(place[:, None] - place) / max(n_levels - 1, 1)) ** power)


def compute_cohen(run: MemoryRun, weights: Floats | None = None) -> Cohen | None:
    """Compute the mean of Cohen's kappa over pairs of workers, with agreement weights if given.

    It is None if it is undefined for all pairs, or needs too much memory.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y"), ("ada", 3, "x"), ("bob", 3, "y")]
    >>> cohen = compute_cohen(allalike.Memory().load(allalike.read(rows)))
    >>> round(cohen.kappa, 3), cohen.pairs
    (0.4, 1)
    """
    n_workers, n_labels = len(run.workers), run.encoding.n_labels
    if n_workers < 2 or n_workers**2 * n_labels > _MAX_ENTRIES:
        return None
    table = np.eye(n_labels) if weights is None else weights
    sums = run.pairs(partial(_count_pairs, weights=table))
    chosen = [np.asarray(sums[str(code)]) for code in range(n_labels) if str(code) in sums]
    if not chosen:
        return None
    common = np.sum(chosen, axis=0)
    left, right = np.nonzero(np.triu(common >= (1 if n_workers == 2 else MIN_COMMON), 1))
    n_common = common[left, right]
    agreement = np.asarray(sums["equal"])[left, right] / n_common
    first, second = (np.stack([each[pair] for each in chosen]) for pair in ((left, right), (right, left)))
    chance = np.einsum("cp,ck,kp->p", first, table, second, optimize=True) / n_common**2
    known = chance < 1 - 1e-12
    if not known.any():
        return None
    return Cohen(float(((agreement - chance)[known] / (1 - chance[known])).mean()), int(known.sum()))


def _count_pairs(block: Block, rows: slice, *, weights: Floats) -> dict[str, Array]:
    """Return, per pair of workers, the agreement on common tasks, and the first worker's label counts on them."""
    n_rows, n, n_labels = rows.stop - rows.start, block.n_workers, len(weights)
    equal, chosen = np.zeros(n_rows * n), np.zeros(n_labels * n_rows * n)
    for left, right in pair_chunks(block, rows):
        place = (block.worker[left] - rows.start) * n + block.worker[right]
        label = block.label[left]
        equal += np.bincount(place, weights[label, block.label[right]], n_rows * n)
        chosen += np.bincount(place + label.astype(np.intp) * (n_rows * n), minlength=len(chosen))
    tables = chosen.reshape(n_labels, n_rows, n)
    return {"equal": equal.reshape(n_rows, n), **{str(code): tables[code] for code in range(n_labels)}}
