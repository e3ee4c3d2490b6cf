"""Coefficients: percent agreement, the kappas of Cohen and Fleiss, Gwet's AC1 and AC2, and alphas of levels.

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
kappa. 1968). For more workers it is the mean over pairs (Light: Measures of response agreement for qualitative data.
1971), of those who have five common tasks or more.

Kappas are low where nearly all tasks have one class, however much workers agree, because chance agrees as well
(prevalence); AC1 is not, and for the same reason is high where workers say nothing but the frequent class. None is
defined where all answers are the same.

**Levels** have tables of the pairs of answers to the same task. With r_uc answers at level c, each task adds to both

    coincidences   o_ck = sum over u of  r_uc (r_uk - [c = k]) / (r_u - 1)          each answer counts the same
    pairs          p_ck = mean over u of r_uc (r_uk - [c = k]) / (r_u (r_u - 1))    each task counts the same

and with n_c = sum_k o_ck, Krippendorff's alpha is, for any distance d of levels (Content Analysis, chapter 12),

    alpha = 1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck

    ordinal    d_ck = (sum of n_g for g from c to k  -  (n_c + n_k) / 2)^2     levels are apart by the answers between
    interval   d_ck = (c - k)^2

Both are squares of how far two places are apart. The ordinal one is the middle of a level among all answers in order,
and so depends on how often levels were chosen. Kappas take weights of agreement w_ck, 1 for the same level, 1 - |c - k|
/ (K - 1) (linear) or the same with squares (quadratic), and so does

    Gwet's AC2           p_e = sum_ck w_ck  sum_c pi_c (1 - pi_c) / (K (K - 1))

It works for any scale that people know. It fails for scales with hundreds of levels: those are numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.pairs import pair_chunks
from allalike.api.agreement.label_totals import count_labels
from allalike.api.agreement.resamples import TaskGroups, draw_weights, find_limits

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = [
    "MIN_COMMON",
    "Cohen",
    "LevelTables",
    "count_tables",
    "measure_cohen",
    "measure_fleiss",
    "measure_gwet",
    "weigh_agreement",
]

MIN_COMMON = 5  # tasks that a pair of workers must share, unless there is no other pair
_MAX_RESAMPLED = 20  # levels, of which tables are kept for each group of tasks
_MAX_ENTRIES = 1 << 24  # of the tables of pairs of workers and classes


def measure_fleiss(percent: float, shares: Floats) -> float | None:
    """Return Fleiss' kappa, given the percent agreement and the mean share of each class; None if it is not defined.

    >>> round(measure_fleiss(0.8, np.array([0.5, 0.5])), 3)
    0.6
    """
    return _correct(percent, float(np.square(shares).sum()))


def measure_gwet(agreed: float, shares: Floats, n_classes: int, weights: float | None = None) -> float | None:
    """Return Gwet's AC1, given also how many classes there are, or AC2, given the sum of all weights of agreement.

    It is None if it is not defined.

    >>> round(measure_gwet(0.9, np.array([0.95, 0.05]), 2), 3)
    0.89
    """
    if n_classes < 2:
        return None
    weight = 1.0 if weights is None else weights / n_classes
    return _correct(agreed, weight * float((shares * (1 - shares)).sum()) / (n_classes - 1))


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


@dataclass(frozen=True)
class LevelTables:
    """Tables of all pairs of answers to the same task, by their levels.

    Parameters
    ----------
    groups
        The coincidences of each group of tasks, or of all at once where there are many levels.
    pairs
        The mean share of each pair of levels.
    shares
        The mean share of each level.

    >>> tables = LevelTables(np.array([[[4.0, 1.0], [1.0, 4.0]]]), np.array([[0.4, 0.1], [0.1, 0.4]]), np.ones(2) / 2)
    >>> round(tables.alpha(), 3), tables.limits()
    (0.64, (nan, nan))
    """

    groups: Floats
    pairs: Floats
    shares: Floats

    def alpha(self, levels: Floats | None = None) -> float:
        """Return ordinal alpha, or interval alpha, given the numbers that levels are."""
        return float(_alpha(self.groups.sum(axis=0)[None], levels)[0])

    def limits(self) -> tuple[float, float]:
        """Return the limits of ordinal alpha, of 95 %, in resamples of tasks; unknown where these are not apart."""
        n_groups, k, _ = self.groups.shape
        if n_groups < 2:
            return np.nan, np.nan
        drawn = draw_weights(n_groups) @ self.groups.reshape(n_groups, -1)
        return find_limits(_alpha(drawn.reshape(-1, k, k), None))


def _alpha(tables: Floats, levels: Floats | None) -> Floats:
    margins = tables.sum(axis=-1)
    place = np.cumsum(margins, axis=-1) - margins / 2 if levels is None else np.broadcast_to(levels, margins.shape)
    distance = np.square(place[..., :, None] - place[..., None, :])
    n, expected = margins.sum(axis=-1), np.einsum("gc,gk,gck->g", margins, margins, distance)
    known = expected > 0
    observed = (n - 1) * np.einsum("gck,gck->g", tables, distance)
    return np.where(known, 1 - observed / np.where(known, expected, 1.0), np.nan)


def weigh_agreement(n_levels: int, power: int) -> Floats:
    """Return how much two levels agree: linear with power 1, quadratic with 2.

    >>> weigh_agreement(3, 2).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    place = np.arange(n_levels)
    return np.asarray(1 - (np.abs(place[:, None] - place) / max(n_levels - 1, 1)) ** power)


def count_tables(run: Run, groups: TaskGroups) -> LevelTables:
    """Count the pairs of answers to the same task by their levels, group by group where there are few levels.

    >>> import allalike
    >>> from allalike.api.agreement.resamples import TaskGroups
    >>> rows = [("ada", 1, 1), ("bob", 1, 2), ("ada", 2, 1), ("bob", 2, 1)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> count_tables(run, TaskGroups(1)).groups.tolist()
    [[[2.0, 1.0], [1.0, 0.0]]]
    """
    k = run.encoding.n_labels
    sums = run.total(partial(_count, n_levels=k, groups=groups if k <= _MAX_RESAMPLED else TaskGroups(1)))
    shares = run.total(partial(count_labels, n_labels=k))["share"] / run.n_tasks
    tasks = float(sums["tasks"])
    return LevelTables(sums["groups"], sums["pairs"] / tasks if tasks else np.full((k, k), np.nan), shares)


def _count(block: Block, *, n_levels: int, groups: TaskGroups) -> dict[str, Floats]:
    from scipy.sparse import csr_array

    paired = block.sizes > 1 if block.live is None else (block.sizes > 1) & block.live
    cell = block.task * n_levels + block.label
    counts = np.bincount(cell, minlength=block.n_tasks * n_levels).reshape(-1, n_levels)[paired].astype(np.float64)
    size = block.sizes[paired].astype(np.float64)[:, None]
    place = groups.number(block.task_hash[paired]), np.arange(len(size))
    members = csr_array((np.ones(len(size)), place), shape=(groups.count, len(size)))
    tables, pairs = np.empty((groups.count, n_levels, n_levels)), np.empty((n_levels, n_levels))
    for level in range(n_levels):
        others = counts * (counts[:, [level]] - (np.arange(n_levels) == level)) / (size - 1)
        tables[:, level], pairs[level] = members @ others, (others / size).sum(axis=0)
    return {"groups": tables, "pairs": pairs, "tasks": np.array(float(len(size)))}
