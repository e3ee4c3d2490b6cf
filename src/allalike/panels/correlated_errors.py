"""Correlated errors between pairs of judges, offsets, and the effective number of judges.

**Classes.** Judges err on the same tasks because tasks are hard, and in the same way because a wrong label looks
plausible. So each wrong label of a task is a case, and cases are stratified by the number of **other** judges who gave
that label. In a stratum of N cases, one judge gave x and the other y of them. The number A that both gave has Fisher's
noncentral hypergeometric distribution with odds psi, which is above 1 for every pair (Rosenbaum 1984). It is estimated
from all other pairs (Mantel and Haenszel 1959),

    psi = sum (A (N - x - y + A) / N) / sum ((x - A)(y - A) / N),    expected = sum E[A | psi].

The tail probability of the sum over strata is multiplied by the number of pairs (Bonferroni). A pair is reported if
its p-value is below 0.01 and it shares at least 25 % more wrong labels than expected. The interval of the ratio is
Garwood's (1936) for a Poisson count. A label is wrong if it contradicts a gold label, or a verdict
with confidence 0.9.

**Scores.** The mean squared difference between two judges, after removal of their offsets, is
D_ik = f_i + f_k - 2 c_ik, with the variances f of their errors and their covariance c. If errors are independent, D is
a sum of one number per judge (Grubbs 1948). These numbers are fitted to all other pairs by weighted least squares, and

    rho_ik = (f_i + f_k - D_ik) / (2 sqrt(f_i f_k)).

The jackknife over 20 parts of the tasks yields standard errors. Intervals and p-values use Student's t with 19 degrees
of freedom. Pairs with a p-value below 0.01 and rho of at least 0.1 are reported one by one, the strongest first. The
test needs five judges, and labels with coordinates. It cannot detect errors that all judges share.

**Offsets** are estimated by least squares with one parameter per task and per judge. A judge who got easier tasks
therefore does not appear lenient.

**Effective number of judges.** With the correlations rho of their errors, n judges are worth n^2 / sum_ik rho_ik
independent ones (Kish's design effect). This needs gold labels. For classes, the error is 1 for a wrong label, minus
the judge's error rate. For scores at mean distances d from the truth, rho_ik = (d_i + d_k - d_ik) / (2 sqrt(d_i d_k)).

**The ceiling.** If no judge gave the true label, no panel of these judges can be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.columns.values import Values
from allalike._core.lazy_imports import pd, special
from allalike.engines.ranges import number_parts
from allalike.panels.summary import MAX_NAMED, Ceiling, PairCounts
from allalike.panels.verdicts import (
    NO_LABEL,
    ClassVerdicts,
    Marks,
    ScoreVerdicts,
    Statistics,
    Verdicts,
    divide,
    find_distances,
)

_SIGNIFICANT = 0.01
_MIN_TOGETHER, _MIN_RATIO = 3, 1.25  # shared errors of a reported pair, and their ratio to the expected number
_MIN_CORRELATION = 0.1
_MOST_USUAL = 1000.0  # odds
_LIMITS = (0.025, 0.975)
_PARTS = 20  # parts of the tasks, each left out once by the jackknife
_MIN_PARTS, _MIN_JUDGES = 3, 5
_MIN_COMMON, _MIN_TASKS = 10, 20  # tasks of two judges, and of all
_LEAST_ERROR = 0.02  # relative to the mean of all
_ROUNDING = 1e-9
_CONVERGED = 1e-12  # relative step of Newton's method
_PRIOR_ANSWERS = 2.0  # with the error rate of the panel, added to the answers by a judge
_LEAST_RATE = 0.01  # no error rate is closer to 0 or 1
_MIN_OFFSET_TASKS = 5


def describe_pairs(verdicts: Verdicts, n_wrong: float, judges: Values) -> Statistics:
    """Return a table with a row per pair, the smallest p-value first, and the groups of correlated judges.

    ``n_wrong`` is the number of wrong labels of a task.
    """
    if isinstance(verdicts, ClassVerdicts):
        n_tasks = int(verdicts.is_judged.sum())
        table = compare_classes(verdicts, n_wrong).sort_values(["p_value", "left", "right"])
    else:
        n_tasks = verdicts.block.n_tasks
        table = compare_squares(verdicts.coordinates, number_task_parts(verdicts.task_hash))
        table = table.sort_values(["p_value", "correlation", "left", "right"], ascending=[True, False, True, True])
    correlated = table[table["shared_errors"]]
    part = number_parts(len(judges), *(correlated[side].to_numpy(np.intp) for side in ("left", "right")))
    groups = [np.flatnonzero(part == each).tolist() for each in np.flatnonzero(np.bincount(part) > 1)]
    groups = sorted(groups, key=lambda group: (-len(group), group))  # the largest first
    number = np.full(len(judges), "", object)
    for place, group in enumerate(groups, 1):
        number[group] = str(place)
    names = dict(enumerate(map(str, judges.tolist())))
    table = table.assign(left=table["left"].map(names), right=table["right"].map(names))
    table = table.rename(columns={"left": "judge", "right": "other"})
    counts = PairCounts(
        compared=len(table),
        found=len(correlated),
        tasks=n_tasks,
        named=tuple(table[table["shared_errors"]].head(MAX_NAMED).to_dict("records")),  # type: ignore[arg-type]
        groups=tuple(tuple(judges[judge] for judge in group) for group in groups[:MAX_NAMED]),
    )
    return Statistics({"pairs": counts}, {"pairs": table}, {"shared_error_group": number})


# Classes: shared wrong labels.


def compare_classes(verdicts: ClassVerdicts, n_wrong: float) -> pd.DataFrame:
    """Count the wrong labels that both judges of a pair gave, with the expected number; a row per pair."""
    some = verdicts.only(verdicts.is_judged)
    pairs = [*combinations(range(some.n_judges), 2)] if some.n_judges >= 3 else []
    tables = _count_strata(some, n_wrong, pairs)
    sums = []  # numerator and denominator of the Mantel-Haenszel odds
    for total, one, two, both in tables:
        size = np.maximum(total, 1.0)
        sums.append([(both * (total - one - two + both) / size).sum(), ((one - both) * (two - both) / size).sum()])
    odds, compared = np.array(sums).reshape(-1, 2), []
    for table, (same, different) in zip(tables, odds.sum(axis=0) - odds, strict=True):  # of all other pairs
        usual = same / different if same > 0 and different > 0 else _MOST_USUAL if same > 0 else 1.0
        compared.append(compare_pair(table, float(np.clip(usual, 1.0, _MOST_USUAL))))
    expected, tail = np.array(compared).reshape(-1, 2).T
    shared, mean = np.array([int(table[3].sum()) for table in tables]), np.where(expected > 0, expected, np.nan)
    p_value = np.minimum(tail * len(tables), 1.0)
    enough = (shared >= _MIN_TOGETHER) & (shared >= _MIN_RATIO * expected)
    asked = (some.labels != NO_LABEL).astype(np.int64)
    left, right = np.array(pairs, np.intp).reshape(-1, 2).T
    columns = {
        "left": left,
        "right": right,
        "common": (asked.T @ asked)[left, right],
        "same_wrong": shared,
        "expected": expected,
        "ratio": shared / mean,
        "ci_low": np.array([find_poisson_mean(n, _LIMITS[1]) for n in shared]) / mean,
        "ci_high": np.array([find_poisson_mean(n + 1, _LIMITS[0]) for n in shared]) / mean,
        "p_value": p_value,
        "shared_errors": enough & (p_value <= _SIGNIFICANT),
    }
    return pd.DataFrame(columns)


def _count_strata(some: ClassVerdicts, n_wrong: float, pairs: list[tuple[int, int]]) -> list[Floats]:
    """Count the cases on common tasks per pair and stratum: all, by each judge, and by both."""
    asked, wrong = some.labels != NO_LABEL, some.wrong
    given = wrong[:, None] & (some.labels[:, None] == np.arange(some.probability.shape[1])[:, None])
    task, label = np.nonzero(given.any(axis=2))
    gave = given[task, label]  # by case and judge
    not_given = np.maximum(n_wrong - np.bincount(task, minlength=len(asked)), 0.0)
    tables = []
    for i, k in pairs:
        both = asked[:, i] & asked[:, k]
        cases = gave[both[task]]
        one, two = cases[:, i], cases[:, k]
        stratum = cases.sum(axis=1) - one - two
        size = int(stratum.max(initial=0)) + 1
        counts = [np.bincount(stratum, each, size) for each in (np.ones(len(one)), one, two, one & two)]
        counts[0][0] += not_given[both].sum()
        tables.append(np.array(counts, np.float64))
    return tables


def compare_pair(table: Floats, odds: float) -> tuple[float, float]:
    """Return the expected number of common cases of a pair, and the probability of at least the observed number."""
    least, chances = 0, np.ones(1)  # smallest sum over the strata so far, and probabilities from there on
    for total, one, two, _ in table.T[(table[1] > 0) & (table[2] > 0)]:
        first = int(np.ceil(max(0.0, one + two - total)))
        count = np.arange(first, int(min(one, two)))
        ratio = odds * (one - count) * (two - count) / ((count + 1) * (total - one - two + count + 1))
        weight = np.cumsum([0.0, *np.log(ratio)])  # of each number from ``first``
        share = np.exp(weight - weight.max())
        least, chances = least + first, np.convolve(chances, share / share.sum())
    beyond = int(table[3].sum()) - least
    return least + float(np.arange(len(chances)) @ chances), float(min(chances[max(beyond, 0) :].sum(), 1.0))


def find_poisson_mean(count: int, chance: float) -> float:
    """Return the mean of a Poisson distribution that is below ``count`` with this probability, by Newton's method.

    It replaces a quantile of chi^2, because scipy takes longer to import than a panel to run.

    >>> round(find_poisson_mean(1, 0.975), 4), round(find_poisson_mean(2, 0.025), 4)  # Garwood's interval for 1
    (0.0253, 5.5716)
    """
    number, mean = np.arange(count), float(count)
    log_factorial, step = np.cumsum(np.log(np.maximum(number, 1))), math.inf
    while count and abs(step) >= _CONVERGED * mean:
        terms = np.exp(number * math.log(mean) - mean - log_factorial)
        step = float((terms.sum() - chance) / terms[-1])
        mean = max(mean + step, mean / 2)
    return mean


# Scores: mean squared differences of all pairs, and offsets, with and without each part of the tasks.


def number_task_parts(task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the number of the part to which each task belongs."""
    return np.asarray(np.unique(task_hash % np.uint64(_PARTS), return_inverse=True)[1], np.intp)


def jackknife(estimate: Callable[[Marks], Floats], part: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return an estimate from all tasks, and its standard error from the estimates that leave out one part each."""
    without = np.array([estimate(part != number) for number in range(part.max() + 1)])
    freedom = len(without) - 1
    squares = np.square(without - without.mean(axis=0)).sum(axis=0)
    return estimate(np.ones(len(part), np.bool_)), np.sqrt(squares * freedom / (freedom + 1))


def compare_squares(table: Floats | None, part: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Compare all pairs in an array of coordinates: task, judge, coordinate; NaN without an answer."""
    columns = ("left", "right", "common", "distance", "expected", "correlation", "ci_low", "ci_high", "p_value")
    parts, enough = int(part.max(initial=-1)) + 1, table is not None and table.shape[1] >= _MIN_JUDGES
    common = np.zeros((0, 0)) if table is None else _measure_squares(table)[0]
    left, right = np.nonzero(np.triu(common, 1) >= _MIN_COMMON)
    if table is None or not enough or not len(left) or len(part) < _MIN_TASKS or parts < _MIN_PARTS:
        return pd.DataFrame(columns=[*columns, "shared_errors"]).astype({"shared_errors": bool})
    design = np.eye(table.shape[1])[np.stack([left, right], axis=1)].sum(axis=1)
    bound = np.zeros(len(left), np.bool_)  # correlated pairs, which the expectation for others ignores

    def estimate(tasks: Marks) -> Floats:
        """Return, per pair, its distance, the expected minus the observed distance, and the correlation."""
        distance = _measure_squares(table[tasks])[1][left, right]
        expected, correlation = _expect(distance, np.where(bound, 0.0, common[left, right]), design)
        return np.stack([distance, expected - distance, correlation])

    while True:
        (distance, nearer, rho), errors = jackknife(estimate, part)
        z, z_distance = divide(rho, errors[2]), divide(nearer, errors[1])
        tails = [special.stdtr(parts - 1, -np.nan_to_num(each)) for each in (z, z_distance)]
        p_value = np.maximum(np.minimum(tails[0] * len(left), 1.0), tails[1])
        new = (p_value <= _SIGNIFICANT) & (rho >= _MIN_CORRELATION) & ~bound
        if not new.any():
            break
        bound[np.argmax(np.where(new, z, -np.inf))] = True
    width = special.stdtrit(parts - 1, _LIMITS[1]) * errors[2]
    numbers = distance, distance + nearer, rho, rho - width, rho + width, p_value
    values = left, right, common[left, right].astype(int), *numbers
    return pd.DataFrame(dict(zip(columns, values, strict=True))).assign(shared_errors=bound)


def _measure_squares(table: Floats) -> tuple[Floats, Floats]:
    """Return the number of common tasks per pair, and the variance of the difference between their coordinates."""
    seen: Floats = np.asarray(~np.isnan(table).any(axis=2), np.float64)
    own = np.where(seen[:, :, None] > 0, table - np.nanmean(table, axis=(0, 1)), 0.0)
    common = seen.T @ seen
    sums = np.einsum("tic,tk->ikc", own, seen)
    squares: Floats = np.square(own).sum(axis=2).T @ seen
    safe = np.maximum(common, 1.0)
    apart = (squares + squares.T - 2 * np.einsum("tic,tkc->ik", own, own)) / safe
    apart -= np.square((sums - sums.transpose(1, 0, 2)) / safe[:, :, None]).sum(axis=2)
    return common, apart * safe / np.maximum(safe - 1.0, 1.0)


def _expect(distance: Floats, weight: Floats, design: Floats) -> tuple[Floats, Floats]:
    """Return, per pair, the distance expected from the other pairs, and the excess correlation.

    Each pair is left out of the fit by the leverages of least squares.
    """
    inverse = np.linalg.pinv(design.T @ (weight[:, None] * design), hermitian=True)
    spread = design @ inverse  # of each pair over the errors of judges
    variance = (distance * weight) @ spread
    rest = (distance - design @ variance) / np.maximum(1 - weight * (spread * design).sum(axis=1), _ROUNDING)
    least = _LEAST_ERROR * np.abs(distance).mean() / 2
    each = np.arange(len(design))
    sides = np.nonzero(design)[1].reshape(-1, 2).T
    one, other = (np.maximum(variance[side] - weight * spread[each, side] * rest, least) for side in sides)
    both = np.sqrt(one * other)
    return distance - rest, -rest / np.where(both > 0, 2 * both, np.inf)


def find_offsets(scores: Floats, part: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Estimate, from a table with a row per task, the offset of each judge and its interval; NaN if unknown."""
    (n, judges), parts = scores.shape, int(part.max(initial=-1)) + 1
    names = ["offset", "offset_ci_low", "offset_ci_high"]
    if n < _MIN_OFFSET_TASKS or judges < 2 or parts < 2:
        return pd.DataFrame(np.nan, index=range(judges), columns=names)
    seen = ~np.isnan(scores)
    level = np.where(seen, scores - np.nanmean(scores), 0.0)
    size = np.maximum(seen.sum(axis=1, keepdims=True), 1.0)

    def estimate(tasks: Marks) -> Floats:
        """Solve the equations of least squares."""
        there, own = seen[tasks].astype(np.float64), level[tasks]
        matrix = np.diag(there.sum(axis=0)) - there.T @ (there / size[tasks])
        side = (there * (own - own.sum(axis=1, keepdims=True) / size[tasks])).sum(axis=0)
        return np.asarray(np.linalg.pinv(matrix, rcond=_ROUNDING, hermitian=True) @ side)

    offset, error = jackknife(estimate, part)
    width = special.stdtrit(parts - 1, _LIMITS[1]) * error
    known = np.where(seen[seen.sum(axis=1) > 1].sum(axis=0) > 1, 0.0, np.nan)
    return pd.DataFrame({name: offset + known + sign * width for name, sign in zip(names, (0, -1, 1), strict=True)})


def describe_offsets(scores: ScoreVerdicts, judges: Values) -> Statistics:
    """Return offsets, and the judges who score significantly above or below the others, the largest offset first."""
    if scores.numbers is None:
        return Statistics({})
    table = find_offsets(scores.numbers, number_task_parts(scores.task_hash))
    clear = table[(table["offset_ci_low"] > 0) | (table["offset_ci_high"] < 0)]
    clear = clear.sort_values("offset", key=abs, ascending=False, kind="stable").head(MAX_NAMED)
    clear = clear.assign(judge=judges.take(clear.index.to_numpy()).tolist())
    named = clear.rename(columns={"offset_ci_low": "ci_low", "offset_ci_high": "ci_high"}).to_dict("records")
    return Statistics({"offsets": named}, {}, {str(name): table[name].to_numpy() for name in table})


# Effective number of judges, and the ceiling.


def correlate_errors(verdicts: Verdicts) -> Floats | None:
    """Return the correlation matrix of errors (wrong labels, or distances to gold); None with too few gold labels."""
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
    """Return the effective number of judges, the contribution of each judge, and the ceiling; NaN if unknown."""
    n, total, added = len(judges), None, np.full(len(judges), np.nan)
    if correlation is not None:
        total = count_effective_judges(correlation)
        for judge in range(n if n > 1 else 0):
            others = np.delete(np.arange(n), judge)
            added[judge] = total - count_effective_judges(correlation[np.ix_(others, others)])
    ceiling = Ceiling(known=known, missed=missed if known else None)
    facts = {"effective_judges": total, "ceiling": ceiling}
    return Statistics(facts, {}, {"added_effective_judges": added})


def count_effective_judges(correlation: Floats) -> float:
    """Return the effective number of judges, at most the number of judges."""
    return float(len(correlation) ** 2 / max(correlation.sum(), len(correlation)))
