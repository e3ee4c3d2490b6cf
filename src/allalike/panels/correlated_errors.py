"""Correlated errors: judges who err together more often than other pairs, offsets, and the effective number of judges.

**Classes.** Judges err on the same tasks because tasks are hard, and in the same way because a wrong label is
attractive. So each wrong label of a task is a case, and cases are stratified by the number of **other** judges who gave
that label. In a stratum of N cases, of which one judge gave x and the other y, both gave the label in A cases, whose
distribution given x, y and N is Fisher's noncentral hypergeometric one with odds psi. The others show only roughly how
misleading a label is, so that psi is above 1 for every pair (Rosenbaum: Testing the conditional independence and
monotonicity assumptions of item response theory. 1984). A pair is compared with all other pairs, from which psi is
estimated (Mantel and Haenszel: Statistical aspects of the analysis of data from retrospective studies of disease.
1959),

    psi = sum (A (N - x - y + A) / N) / sum ((x - A)(y - A) / N),    expected = sum E[A | psi].

The distributions of the strata are convolved; the tail of so many cases is multiplied by the number of pairs
(Bonferroni). Pairs below 0.01 are named if they share a quarter more than is expected. The interval of the ratio is
Garwood's (1936) for a Poisson count. Wrong is what contradicts a gold label, or a panel with a confidence of 0.9.

**Scores.** The mean squared difference of two judges, less their offset, is D_ik = f_i + f_k - 2 c_ik, with the
variances f of their errors and their covariance c. If all errors are independent, D is a sum of one number per judge
(Grubbs: On estimating precision of measuring instruments and product variability. 1948). So f is fitted to all pairs,
by least squares weighted by common tasks, and the correlation of two judges beyond that of other pairs is

    expected_ik = f_i + f_k,   from all other pairs,
    rho_ik = (expected_ik - D_ik) / (2 sqrt(f_i f_k)).

The jackknife over 20 parts of the tasks gives the standard error, t with 19 degrees of freedom the p-value and the
interval; p-values are multiplied by the number of pairs. Pairs below 0.01 with rho of 0.1 and more are named, the
strongest before the next is looked for. It takes five judges, and labels with coordinates: numbers, levels and vectors.
Errors that all judges share are not seen.

**Offsets.** The scores of a judge are taken for x_ij = t_j + b_i + noise: the offset b_i is by how much the judge is
above the mean of all judges. Offsets are those of least squares with a parameter for each task and each judge (two-way
analysis of variance), so that a judge who got easier tasks is not called lenient. Their intervals are jackknifed, too.

**Effective number of judges.** With the correlations rho of their errors, n judges with equal weights are worth

    n^2 / sum_ik rho_ik

independent ones (Kish's design effect; Kish: Survey Sampling. 1965). Only gold labels show it: an error is a wrong
label, less the error rate of the judge, or for scores the distance d to the truth, of which two judges have in common
rho_ik = (d_i + d_k - d_ik) / (2 sqrt(d_i d_k)).

**The ceiling.** Where no judge gave the truth, no panel of these judges can be right. For numbers and levels that is a
truth outside of all scores; for other labels that recur, one that no judge gave.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.columns.values import Values
from allalike._core.late import pd
from allalike.engines.ranges import number_parts
from allalike.panels.summary import Ceiling, EffectiveJudges, JudgeOffset, PairCounts
from allalike.panels.verdicts import (
    NO_LABEL,
    ClassVerdicts,
    Codes,
    ScoreVerdicts,
    Statistics,
    Verdicts,
    divide,
    find_distances,
)

CONFIDENT = 0.9  # confidence from which the verdict of a panel counts as the truth
_SIGNIFICANT = 0.01
_MIN_TOGETHER, _MIN_RATIO = 3, 1.25  # errors that two must share to be named, and by how much more than is expected
_MIN_CORRELATION = 0.1
_MOST_USUAL = 1000.0  # odds
_LIMITS = (0.025, 0.975)
_MAX_NAMED = 20  # judges, pairs and groups that a summary names
_PARTS = 20  # of the tasks, each of which is left out once
_MIN_PARTS, _MIN_JUDGES = 3, 5
_MIN_COMMON, _MIN_TASKS = 10, 20  # tasks of two judges, and of all
_LEAST_ERROR = 0.02  # of the mean of all
_ROUNDING = 1e-9
_PRIOR_ANSWERS = 2.0  # like the panel's, beside a judge's own
_LEAST_RATE = 0.01  # no error rate is closer to 0 or 1
_MIN_OFFSET_TASKS = 5
_NAMED = ("judge", "other", "same_wrong", "expected", "correlation", "ci_low", "ci_high", "p_value")


def describe_pairs(verdicts: Verdicts, n_wrong: float, judges: Values) -> Statistics:
    """Return a table with a row per pair, the most improbable first, and the groups that correlated pairs connect.

    ``n_wrong`` is the number of wrong labels of a task.
    """
    if isinstance(verdicts, ClassVerdicts):
        n_tasks = int((verdicts.known | (verdicts.confidence >= CONFIDENT)).sum())
        pairs = compare_classes(verdicts, n_wrong)
    else:
        n_tasks, pairs = verdicts.block.n_tasks, compare_scores(verdicts)
    names = np.array([str(judge) for judge in judges.tolist()], object)
    correlated = pairs[pairs["shared_errors"]]
    groups = connect_judges(len(judges), *(correlated[side].to_numpy(np.intp) for side in ("left", "right")))
    number = np.full(len(judges), "", object)
    for place, group in enumerate(groups, 1):
        number[group] = str(place)
    order = {"p_value": True, "correlation": False, "left": True, "right": True}
    order = {name: ascending for name, ascending in order.items() if name in pairs}
    table = pairs.sort_values([*order], ascending=[*order.values()])
    for place, (name, side) in enumerate((("judge", "left"), ("other", "right"))):
        table.insert(place, name, names[table.pop(side).to_numpy(np.intp)])
    named = _NAMED if "same_wrong" in table else [name for name in _NAMED if name != "expected"]
    shown = table.loc[table["shared_errors"], [name for name in named if name in table]]
    counts = PairCounts(
        compared=len(pairs),
        found=len(correlated),
        tasks=n_tasks,
        named=tuple(shown.head(_MAX_NAMED).to_dict("records")),  # type: ignore[arg-type]
        groups=tuple(tuple(judges[judge] for judge in group) for group in groups[:_MAX_NAMED]),
    )
    return Statistics({"pairs": counts}, {"pairs": table}, {"shared_error_group": number})


def connect_judges(n_judges: int, left: Codes, right: Codes) -> list[list[int]]:
    """Return the groups that pairs connect, the largest first.

    >>> connect_judges(5, np.array([0, 2]), np.array([1, 4]))
    [[0, 1], [2, 4]]
    """
    part = number_parts(n_judges, left, right)
    groups = [np.flatnonzero(part == number).tolist() for number in range(part.max(initial=-1) + 1)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


# Classes: shared wrong labels.


def compare_classes(verdicts: ClassVerdicts, n_wrong: float) -> pd.DataFrame:
    """Count how often the judges of each pair gave the same wrong label, beside what is expected; a row per pair."""
    from scipy.special import chdtri

    some = verdicts.only(verdicts.known | (verdicts.confidence >= CONFIDENT))
    n = some.n_judges
    left, right = np.array(list(combinations(range(n), 2)) if n >= 3 else [], np.intp).reshape(-1, 2).T
    tables = _count_strata(some, n_wrong, left, right)
    sums = np.array([_sum_odds(table) for table in tables]).reshape(-1, 2)
    compared = []
    for table, (same, different) in zip(tables, sums.sum(axis=0) - sums, strict=True):  # of all other pairs
        odds = same / different if same > 0 and different > 0 else _MOST_USUAL if same > 0 else 1.0
        compared.append(compare_pair(table, float(np.clip(odds, 1.0, _MOST_USUAL))))
    expected, tail = np.array(compared).reshape(-1, 2).T
    together, mean = np.array([table[3].sum() for table in tables]), np.where(expected > 0, expected, np.nan)
    p_value = np.minimum(tail * len(tables), 1.0)
    enough = (together >= _MIN_TOGETHER) & (together >= _MIN_RATIO * expected)
    asked, wrong = (each.astype(np.float64) for each in (some.labels != NO_LABEL, some.wrong))
    errors = np.asarray(wrong.T @ asked, np.int64)
    columns = {
        "left": left,
        "right": right,
        "common": np.asarray(asked.T @ asked, np.int64)[left, right],
        "wrong": errors[left, right],
        "other_wrong": errors[right, left],
        "both_wrong": np.asarray(wrong.T @ wrong, np.int64)[left, right],
        "same_wrong": together.astype(np.int64),
        "expected": expected,
        "ratio": divide(together, expected),
        "ci_low": np.where(together > 0, chdtri(2 * np.maximum(together, 1.0), _LIMITS[1]) / 2, 0.0) / mean,
        "ci_high": chdtri(2 * (together + 1), _LIMITS[0]) / 2 / mean,
        "p_value": p_value,
        "shared_errors": enough & (p_value <= _SIGNIFICANT),
    }
    return pd.DataFrame(columns)


def _count_strata(some: ClassVerdicts, n_wrong: float, left: Codes, right: Codes) -> list[Floats]:
    """Count, per pair and stratum, the cases on common tasks: all, those of each judge, and those of both."""
    asked, wrong = some.labels != NO_LABEL, some.wrong
    given = [wrong & (some.labels == label) for label in range(some.probability.shape[1])]
    tasks = [np.flatnonzero(each.any(axis=1)) for each in given]
    task = np.concatenate(tasks)
    gave = np.concatenate([each[rows] for each, rows in zip(given, tasks, strict=True)])
    not_given = np.maximum(n_wrong - np.bincount(task, minlength=len(asked)), 0.0)
    n_gave = gave.sum(axis=1)
    tables = []
    for i, k in zip(left, right, strict=True):
        both = asked[:, i] & asked[:, k]
        cases = both[task]
        one, two = gave[cases, i], gave[cases, k]
        stratum = n_gave[cases] - one - two
        size = int(stratum.max(initial=0)) + 1
        counts = [np.bincount(stratum, each, size) for each in (np.ones(len(one)), one, two, one & two)]
        counts[0][0] += not_given[both].sum()
        tables.append(np.array(counts, np.float64))
    return tables


def _sum_odds(table: Floats) -> tuple[float, float]:
    """Return the sums whose ratio are the odds of Mantel and Haenszel."""
    total, one, two, both = table
    size = np.maximum(total, 1.0)
    return float((both * (total - one - two + both) / size).sum()), float(((one - both) * (two - both) / size).sum())


def compare_pair(table: Floats, odds: float) -> tuple[float, float]:
    """Return how many cases a pair is expected to have in common, and the probability of so many or more.

    >>> [round(number, 3) for number in compare_pair(np.array([[4.0], [2.0], [2.0], [2.0]]), 1.0)]
    [1.0, 0.167]
    """
    from scipy.special import gammaln

    least, chances = 0, np.ones(1)  # of the sum of all strata so far
    for total, one, two, _ in table.T[(table[1] > 0) & (table[2] > 0)]:
        first = int(np.ceil(max(0.0, one + two - total)))
        count = np.arange(first, int(min(one, two)) + 1)
        ways = gammaln(count + 1) + gammaln(one - count + 1) + gammaln(two - count + 1)
        weight = count * np.log(odds) - ways - gammaln(total - one - two + count + 1)
        share = np.exp(weight - weight.max())
        least, chances = least + first, np.convolve(chances, share / share.sum())
    beyond = int(table[3].sum()) - least
    return least + float(np.arange(len(chances)) @ chances), float(min(chances[max(beyond, 0) :].sum(), 1.0))


# Scores: mean squared differences of all pairs, and offsets, with and without each part of the tasks.


def number_task_parts(task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return, per task, the number of its part."""
    return np.asarray(np.unique(task_hash % np.uint64(_PARTS), return_inverse=True)[1], np.intp)


def leave_out_parts(sums: Floats) -> Floats:
    """Return the sum over all parts, and behind it the sums without each part."""
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


def jackknife(estimates: Floats) -> Floats:
    """Return the standard error of an estimate (the first row), given those without each part.

    >>> jackknife(np.array([[2.0], [1.5], [2.0], [2.5]]))  # the mean of 1, 2 and 3
    array([0.57735027])
    """
    left_out = estimates[1:]
    freedom = len(left_out) - 1
    return np.asarray(np.sqrt(np.square(left_out - left_out.mean(axis=0)).sum(axis=0) * freedom / (freedom + 1)))


def compare_scores(scores: ScoreVerdicts) -> pd.DataFrame:
    """Compare the squared distance of all pairs of judges with what other pairs let expect; a row per pair."""
    return compare_squares(scores.coordinates, number_task_parts(scores.task_hash))


def compare_squares(table: Floats | None, part: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Compare all pairs in a table of coordinates: task, judge, coordinate; NaN where a judge gave none."""
    from scipy.special import stdtr, stdtrit

    n_parts = int(part.max(initial=-1)) + 1
    pairs, sums = [], []
    for left, right in combinations(range(0 if table is None else table.shape[1]), 2):
        difference = table[:, left] - table[:, right]  # type: ignore[index]
        seen = np.asarray(~np.isnan(difference).any(axis=1))
        if seen.sum() >= _MIN_COMMON:
            own = np.where(seen[:, None], difference, 0.0)
            columns = [seen, np.square(own).sum(axis=1), *own.T]
            pairs.append((left, right))
            sums.append([np.bincount(part, column, n_parts) for column in columns])
    enough = table is not None and table.shape[1] >= _MIN_JUDGES and len(part) >= _MIN_TASKS and n_parts >= _MIN_PARTS
    if table is None or not pairs or not enough:
        return _list_score_pairs(np.empty((0, 2)))
    common, square, *differences = leave_out_parts(np.array(sums).transpose(2, 1, 0)).transpose(1, 0, 2)
    safe = np.maximum(common, 1.0)
    centred = square / safe - sum(np.square(each / safe) for each in differences)
    distance = centred * safe / np.maximum(safe - 1.0, 1.0)
    design = np.eye(table.shape[1])[np.array(pairs)].sum(axis=1)
    bound = np.zeros(len(pairs), bool)  # whose errors correlate, and do not show what is expected of others
    while True:
        expected, rho = _expect(distance, np.where(bound, 0.0, common[0]), design)
        error, nearer = (jackknife(each) for each in (rho, expected - distance))
        z, z_distance = divide(rho[0], error), divide((expected - distance)[0], nearer)
        tails = [stdtr(n_parts - 1, -np.nan_to_num(each)) for each in (z, z_distance)]
        p_value = np.maximum(np.minimum(tails[0] * len(pairs), 1.0), tails[1])
        new = (p_value <= _SIGNIFICANT) & (rho[0] >= _MIN_CORRELATION) & ~bound
        if not new.any():
            break
        bound[np.argmax(np.where(new, z, -np.inf))] = True
    width = stdtrit(n_parts - 1, _LIMITS[1]) * error
    numbers = [distance[0], expected[0], rho[0], rho[0] - width, rho[0] + width, p_value]
    return _list_score_pairs(np.array(pairs), common[0], *numbers, bound)


def _list_score_pairs(pairs: npt.NDArray[Any], *columns: npt.NDArray[Any]) -> pd.DataFrame:
    names = ("common", "distance", "expected", "correlation", "ci_low", "ci_high", "p_value", "shared_errors")
    table = dict(zip(names, columns or np.empty((len(names), 0)), strict=True))
    frame = pd.DataFrame({"left": pairs[:, 0], "right": pairs[:, 1], **table})
    return frame.astype({"left": int, "right": int, "common": int, "shared_errors": bool})


def _expect(distance: Floats, weight: Floats, design: Floats) -> tuple[Floats, Floats]:
    """Return, per part and pair, the distance that the other pairs let expect, and the correlation beyond it.

    Each pair is left out of the fit by the leverages of least squares.
    """
    inverse = np.linalg.pinv(design.T @ (weight[:, None] * design), hermitian=True)
    spread = design @ inverse  # of each pair over the errors of judges
    variance = (distance * weight) @ spread
    rest = (distance - variance @ design.T) / np.maximum(1 - weight * (spread * design).sum(axis=1), _ROUNDING)
    least = _LEAST_ERROR * np.abs(distance).mean(axis=1, keepdims=True) / 2
    pairs = np.nonzero(design)[1].reshape(-1, 2).T
    each = np.arange(len(design))
    one, other = (np.maximum(variance[:, side] - weight * spread[each, side] * rest, least) for side in pairs)
    both = np.sqrt(one * other)
    return distance - rest, -rest / np.where(both > 0, 2 * both, np.inf)


def find_offsets(scores: Floats, part: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Estimate the offset of each judge with its interval, NaN if unknown, from a table with a row per task.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> scores = truth[:, None] + [-1.0, 0.0, 1.0] + 0.1 * rng.normal(size=(400, 3))
    >>> find_offsets(scores, np.arange(400) % 20)["offset"].round(1).tolist()
    [-1.0, 0.0, 1.0]
    """
    from scipy.special import stdtrit

    (n, judges), n_parts = scores.shape, int(part.max(initial=-1)) + 1
    names = ["offset", "offset_ci_low", "offset_ci_high"]
    if n < _MIN_OFFSET_TASKS or judges < 2 or n_parts < 2:
        return pd.DataFrame(np.nan, index=range(judges), columns=names)
    seen = ~np.isnan(scores)
    level = np.where(seen, scores - np.nanmean(scores), 0.0)
    size = np.maximum(seen.sum(axis=1, keepdims=True), 1.0)
    matrices, sides = [], []  # of the equations of least squares, for each part
    for own in (part == number for number in range(n_parts)):
        there = seen[own].astype(np.float64)
        matrices.append(np.diag(there.sum(axis=0)) - there.T @ (there / size[own]))
        sides.append((there * (level[own] - level[own].sum(axis=1, keepdims=True) / size[own])).sum(axis=0))
    equations = zip(*(leave_out_parts(np.stack(each)) for each in (matrices, sides)), strict=True)
    offsets = np.stack([np.linalg.pinv(matrix, hermitian=True) @ side for matrix, side in equations])
    width = stdtrit(n_parts - 1, _LIMITS[1]) * jackknife(offsets)
    known = np.where(seen[seen.sum(axis=1) > 1].sum(axis=0) > 1, 0.0, np.nan)
    return pd.DataFrame({name: offsets[0] + known + sign * width for name, sign in zip(names, (0, -1, 1), strict=True)})


def describe_offsets(scores: ScoreVerdicts, judges: Values) -> Statistics:
    """Return offsets, and the judges who are clearly above or below the others, the farthest first."""
    if scores.numbers is None:
        return Statistics({})
    table = find_offsets(scores.numbers, number_task_parts(scores.task_hash))
    clear = table[(table["offset_ci_low"] > 0) | (table["offset_ci_high"] < 0)]
    clear = clear.sort_values("offset", key=abs, ascending=False, kind="stable").head(_MAX_NAMED)
    named = [
        JudgeOffset(judge=judges[judge], **dict(zip(("offset", "ci_low", "ci_high"), row, strict=True)))
        for judge, *row in clear.itertuples()
    ]
    return Statistics({"offsets": tuple(named)}, {}, {str(name): table[name].to_numpy() for name in table})


# Effective number of judges, and the ceiling.


def correlate_errors(verdicts: Verdicts) -> Floats | None:
    """Return the correlations of errors, if there are enough gold labels: of wrong labels, or of distances to gold."""
    if not verdicts.by_gold:
        return None
    some = verdicts.judged()
    if isinstance(some, ClassVerdicts):
        asked, wrong = some.labels != NO_LABEL, some.wrong
        given, errors = asked.sum(axis=0), wrong.sum(axis=0)
        mean = errors.sum() / max(given.sum(), 1)
        rate = np.clip((errors + _PRIOR_ANSWERS * mean) / (given + _PRIOR_ANSWERS), _LEAST_RATE, 1 - _LEAST_RATE)
        rest = np.where(asked, (wrong - rate) / np.sqrt(rate * (1 - rate)), 0.0)
        correlation = rest.T @ rest / np.maximum(asked.astype(np.float64).T @ asked, 1.0)
    else:
        apart = find_distances(some.run, some.block)
        known = np.asarray(~np.isnan(apart))
        mean = np.where(known, apart, 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1)
        off = np.maximum(mean[-1, :-1], 1e-300)
        shared = (off[:, None] + off - mean[:-1, :-1]) / (2 * np.sqrt(off[:, None] * off))
        correlation = np.where(np.asarray(known.any(axis=2))[:-1, :-1], shared, 0.0)
    correlation = np.asarray(np.clip(correlation, -1.0, 1.0))
    np.fill_diagonal(correlation, 1.0)
    return correlation


def describe_independence(judges: Values, correlation: Floats | None, known: int, missed: int) -> Statistics:
    """Return the effective number of judges, what each adds to it, and the ceiling; unknown is NaN."""
    n, added, effective = len(judges), np.full(len(judges), np.nan), EffectiveJudges(all=None)
    if correlation is not None:
        total = count_effective_judges(correlation)
        effective = EffectiveJudges(all=total)
        if n > 1:
            without = [np.delete(np.delete(correlation, each, 0), each, 1) for each in range(n)]
            added = total - np.array([*map(count_effective_judges, without)])
            order = np.argsort(-added, kind="stable").tolist()
            effective = EffectiveJudges(all=total, most=judges[order[0]], least=judges[order[-1]])
    ceiling = Ceiling(known=known, missed=missed if known else None)
    facts = {"effective_judges": effective, "ceiling": ceiling}
    return Statistics(facts, {}, {"added_effective_judges": added})


def count_effective_judges(correlation: Floats) -> float:
    """Return the effective number of judges, at most their number.

    >>> count_effective_judges(np.eye(3)), count_effective_judges(np.ones((3, 3)))
    (3.0, 1.0)
    """
    return float(len(correlation) ** 2 / max(correlation.sum(), len(correlation)))
