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

**Levels** that are put in places on a line have Krippendorff's alpha of numbers, 1 - D_o/D_e of squared distances:

    interval    the places are the numbers that levels are
    ordinal     the place of level c is  n_1 + ... + n_(c-1) + n_c / 2, its middle among all n answers in order

so that two levels are apart by the answers between them (Content Analysis, chapter 12): the ordinal distance depends on
how often levels were chosen. Its limits are those of the places as they are. Kappas take weights of agreement w_ck,
1 - |c - k| / (K - 1) (linear) or 1 minus the square of that (quadratic), and so does

    Gwet's AC2   p_e = sum_ck w_ck  sum_c pi_c (1 - pi_c) / (K (K - 1))
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.blocks.pairs import pair_chunks
from allalike.api.agreement.alpha import compare_tasks
from allalike.api.agreement.label_pairs import count_labels

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run

MIN_COMMON = 5  # tasks that a pair of workers must share, unless there is no other pair
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


def weigh_agreement(n_levels: int, power: int) -> Floats:
    """Return how much two levels agree: linear with power 1, quadratic with 2.

    >>> weigh_agreement(3, 2).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    place = np.arange(n_levels)
    return np.asarray(1 - (np.abs(place[:, None] - place) / max(n_levels - 1, 1)) ** power)


def place_levels(run: Run, places: Floats) -> Run:
    """Return a run over numbers in the place of levels.

    >>> import allalike
    >>> rows = [("ada", 1, 1), ("bob", 1, 2), ("ada", 2, 1), ("bob", 2, 1)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> place_levels(run, np.array([0.0, 4.0])).blocks[0].label.tolist()
    [-2.0, 2.0, 0.0, 0.0]
    """
    from allalike.domains.real import Real, RealEncoding

    encoding = RealEncoding(domain=Real())
    return replace(run.map(partial(_place_answers, places=places, encoding=encoding)), encoding=encoding)


def _place_answers(block: Block, *, places: Floats, encoding: Encoding) -> Block:
    return encoding.prepare(replace(block, label=places[block.label]))


def find_agreed(run: Run, distance: str) -> float:
    """Return 1 minus the mean over tasks of the mean distance of two answers, by a distance that these labels have.

    >>> import allalike
    >>> rows = [("ada", 1, 1), ("bob", 1, 2), ("ada", 2, 1), ("bob", 2, 3)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> find_agreed(run, "linear"), find_agreed(run, "hamming")
    (0.25, 0.0)
    """
    encoding = replace(run.encoding, domain=replace(run.domain, distance=distance))
    sums = run.total(partial(_add_means, kernels=encoding.kernels))
    return 1 - float(sums["mean"] / sums["tasks"]) if sums["tasks"] else np.nan


def _add_means(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    found = compare_tasks(block, kernels)
    return {"mean": found.mean.sum(), "tasks": found.paired.sum(dtype=np.float64)}


# Monotony: workers who always give the same answer, and not because almost everybody does.
#
# With the codes c of a worker's n classes, S = sum c and Q = sum c^2, all codes are m = S/n if and only if m is whole
# and Q = n m^2, for then their variance is 0. These are two sums per worker, exact in whole numbers up to 2^53,
# however many classes there are. Who gives a class of share s in all answers each time does so by chance with
# probability s^n, if her answers are drawn like everybody's; only what is less probable than 1 % is a reason to look
# at her. So a class that nearly everybody names makes nobody suspicious, and a few answers neither.


_MAX_LABELS = 1 << 12  # whose squares can be added up without rounding
_LEAST_CHANCE = 0.01


def find_monotonous(run: Run) -> dict[int, Any]:
    """Return the workers who always give the same class, each with it; nobody where labels are no classes.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> find_monotonous(allalike.discover(rows).run)
    {2: 'z'}
    """
    n_labels = run.encoding.n_labels
    if run.encoding.n_classes is None or not 1 < n_labels <= _MAX_LABELS:
        return {}
    sums, answers = run.sum(_add_codes), np.maximum(run.answer_counts, 1)
    code = np.rint(sums["code"] / answers)
    same = (sums["code"] == answers * code) & (sums["square"] == answers * np.square(code))
    if not (same & (run.answer_counts > 0)).any():
        return {}
    share = run.total(partial(count_labels, n_labels=n_labels))["share"] / run.n_tasks
    rare = np.minimum(share[code.astype(np.intp)], 1.0) ** answers < _LEAST_CHANCE
    found = np.flatnonzero(same & rare & (run.answer_counts > 0))
    labels = run.encoding.decode(code[found].astype(np.intp)).tolist()
    return dict(zip(found.tolist(), labels, strict=True))


def _add_codes(block: Block) -> dict[str, Floats]:
    """Add up the codes of each worker's classes, and their squares."""
    code = block.label.astype(np.float64)
    return {
        "code": sum_by(block.worker, code, block.n_workers),
        "square": sum_by(block.worker, np.square(code), block.n_workers),
    }
