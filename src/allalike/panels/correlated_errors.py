"""Correlated errors: judges who err together more often than other pairs, and the effective number of judges.

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

**Scores.** The mean squared difference of two judges is D_ik = f_i + f_k - 2 c_ik, with the variances f of their errors
and their covariance c. If all errors are independent, D is a sum of one number per judge (Grubbs: On estimating
precision of measuring instruments and product variability. 1948). So f is fitted to all pairs, by least squares
weighted by common tasks, and the correlation of two judges beyond that of other pairs is

    expected_ik = f_i + f_k,   from all other pairs,
    rho_ik = (expected_ik - D_ik) / (2 sqrt(f_i f_k)).

Gold labels are one judge more, for whom no pairs are named. Distances of levels, rankings and vectors are squares as
well. Rankings have few ways to be wrong, so that independent errors have something in common; it is fitted beside them,
D = f_i + f_k - kappa f_i f_k. The jackknife over 20 parts of the tasks gives the standard error, t with 19 degrees of
freedom the probability and the interval; the probability is multiplied by the number of pairs, and is at least that of
D alone being so small. Pairs below 0.01 with rho of 0.1 and more are named, the strongest before the next is looked
for. It takes five judges, or three and 50 gold labels. Errors that all judges share are not seen, in either case.

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
from allalike.engines.sample import pick_tasks
from allalike.panels.summary import Ceiling, EffectiveJudges, PairCounts
from allalike.panels.verdicts import NO_LABEL, ClassVerdicts, Codes, Marks, ScoreVerdicts, Statistics, divide

CONFIDENT = 0.9  # confidence from which the verdict of a panel counts as the truth
_SIGNIFICANT = 0.01
_MIN_TOGETHER, _MIN_RATIO = 3, 1.25  # errors that two must share to be named, and by how much more than is expected
_MIN_CORRELATION = 0.1
_MOST_USUAL = 1000.0  # odds
_LIMITS = (0.025, 0.975)
_MAX_NAMED = 20  # pairs and groups that a summary names
_PARTS = 20  # of the tasks, each of which is left out once
_MIN_PARTS = 3
_MIN_JUDGES, _MIN_WITH_GOLD = 5, 3
_MIN_COMMON = 10  # tasks of two
_MIN_TASKS = 20
_LEAST_ERROR = 0.02  # of the mean of all
_ROUNDS = 10
_ROUNDING = 1e-9
_PRIOR_ANSWERS = 2.0  # like the panel's, beside a judge's own
_LEAST_RATE = 0.01  # no error rate is closer to 0 or 1
_NAMED = ("judge", "other", "together", "expected", "correlation", "low", "high", "probability")


def describe_pairs(pairs: pd.DataFrame, judges: Values, n_tasks: int) -> Statistics:
    """Return a table with a row per pair, the most improbable first, and the groups that correlated pairs connect."""
    order = {"probability": True, "correlation": False, "left": True, "right": True}
    order = {name: ascending for name, ascending in order.items() if name in pairs}
    table = pairs.sort_values([*order], ascending=[*order.values()])
    names = np.array([str(judge) for judge in judges.tolist()], object)
    for place, (name, side) in enumerate((("judge", "left"), ("other", "right"))):
        table.insert(place, name, names[table.pop(side).to_numpy(np.intp)])
    found = pairs[pairs["wrong_together"]]
    groups = connect_judges(len(judges), found["left"].to_numpy(np.intp), found["right"].to_numpy(np.intp))
    number = np.full(len(judges), "", object)
    for place, group in enumerate(groups, 1):
        number[group] = str(place)
    named = _NAMED if "together" in table else [name for name in _NAMED if name != "expected"]
    shown = table.loc[table["wrong_together"], [name for name in named if name in table]]
    counts = PairCounts(
        looked_at=len(pairs),
        found=len(found),
        tasks=n_tasks,
        named=tuple(shown.head(_MAX_NAMED).to_dict("records")),  # type: ignore[arg-type]
        groups=tuple(tuple(judges[judge] for judge in group) for group in groups[:_MAX_NAMED]),
    )
    return Statistics({"pairs": counts}, {"pairs": table}, {"wrong_together": number})


def connect_judges(n_judges: int, left: Codes, right: Codes) -> list[list[int]]:
    """Return the groups that pairs connect, the largest first.

    >>> connect_judges(5, np.array([0, 2]), np.array([1, 4]))
    [[0, 1], [2, 4]]
    """
    part = number_parts(n_judges, left, right)
    groups = [np.flatnonzero(part == number).tolist() for number in range(part.max(initial=-1) + 1)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


# Classes: shared wrong labels.


def count_decided(verdicts: ClassVerdicts) -> int:
    """Count the tasks whose truth is known or decided by a confident panel."""
    return int((verdicts.known | (verdicts.confidence >= CONFIDENT)).sum())


def compare_classes(verdicts: ClassVerdicts, n_wrong: float) -> pd.DataFrame:
    """Count how often the judges of each pair gave the same wrong label, beside what is expected; a row per pair."""
    some = verdicts.only(verdicts.known | (verdicts.confidence >= CONFIDENT))
    n = some.n_judges
    left, right = np.array(list(combinations(range(n), 2)) if n >= 3 else [], np.intp).reshape(-1, 2).T
    asked, wrong = some.labels != NO_LABEL, some.wrong
    tables = _count_strata(some, wrong, n_wrong, left, right)
    sums = np.array([_sum_odds(table) for table in tables]).reshape(-1, 2)
    others = sums.sum(axis=0) - sums
    together = np.array([table[3].sum() for table in tables])
    compared = [compare_pair(table, _find_odds(*own)) for table, own in zip(tables, others, strict=True)]
    expected, tail = np.array(compared).reshape(-1, 2).T
    low, high = _find_poisson_limits(together, expected)
    probability = np.minimum(tail * len(tables), 1.0)
    enough = (together >= _MIN_TOGETHER) & (together >= _MIN_RATIO * expected)
    there, errors = asked.astype(np.float64), wrong.astype(np.float64)
    counts = [np.asarray(one.T @ other, np.int64) for one, other in ((there, there), (errors, there), (errors, errors))]
    columns = {
        "left": left,
        "right": right,
        "common": counts[0][left, right],
        "wrong": counts[1][left, right],
        "other_wrong": counts[1][right, left],
        "both_wrong": counts[2][left, right],
        "together": together.astype(np.int64),
        "expected": expected,
        "ratio": divide(together, expected),
        "low": low,
        "high": high,
        "probability": probability,
        "wrong_together": enough & (probability <= _SIGNIFICANT),
    }
    return pd.DataFrame(columns)


def _count_strata(some: ClassVerdicts, wrong: Marks, n_wrong: float, left: Codes, right: Codes) -> list[Floats]:
    """Count, per pair and stratum, the cases on common tasks: all, those of each judge, and those of both."""
    asked = some.labels != NO_LABEL
    given = [wrong & (some.labels == label) for label in range(some.probability.shape[1])]
    tasks = [np.flatnonzero(each.any(axis=1)) for each in given]
    task = np.concatenate(tasks)
    gave = np.concatenate([each[rows] for each, rows in zip(given, tasks, strict=True)])
    nobody = np.maximum(n_wrong - np.bincount(task, minlength=len(asked)), 0.0)
    n_gave = gave.sum(axis=1)
    tables = []
    for i, k in zip(left, right, strict=True):
        both = asked[:, i] & asked[:, k]
        cases = both[task]
        one, two = gave[cases, i], gave[cases, k]
        stratum = n_gave[cases] - one - two
        size = int(stratum.max(initial=0)) + 1
        counts = [np.bincount(stratum, each, size) for each in (np.ones(len(one)), one, two, one & two)]
        counts[0][0] += nobody[both].sum()
        tables.append(np.array(counts, np.float64))
    return tables


def _sum_odds(table: Floats) -> tuple[float, float]:
    """Return the sums whose ratio are the odds of Mantel and Haenszel."""
    total, one, two, both = table
    size = np.maximum(total, 1.0)
    return float((both * (total - one - two + both) / size).sum()), float(((one - both) * (two - both) / size).sum())


def _find_odds(same: float, different: float) -> float:
    """Return the odds of a usual pair: at least those of independent ones, which are taken without any case."""
    if same <= 0 or different <= 0:
        return _MOST_USUAL if same > 0 else 1.0
    return float(np.clip(same / different, 1.0, _MOST_USUAL))


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


def _find_poisson_limits(count: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return confidence limits of counts by their means, NaN where nothing is expected."""
    from scipy.special import chdtri

    mean = np.where(mean > 0, mean, np.nan)
    low = np.where(count > 0, chdtri(2 * np.maximum(count, 1.0), _LIMITS[1]) / 2, 0.0) / mean
    return low, chdtri(2 * (count + 1), _LIMITS[0]) / 2 / mean


# Scores: squared distances of judges. A frame of arrays has a row per part of the tasks, a row and a column per judge;
# gold labels come last, if they are enough.

Squares = tuple["Floats", "Floats", "Floats"]  # sums of squared distances, numbers of common tasks, sums of differences


def add_squares(scores: ScoreVerdicts) -> Squares:
    """Add up squared distances of all pairs of judges by the kernels of the labels, in 20 parts of the tasks."""
    block, kernels = scores.block, scores.run.kernels
    parts = []
    for own in _cut(scores.task_hash):
        some = scores.run.encoding.prepare(pick_tasks(scores.run, block.task_hash[own]))
        sums = kernels.pair_sums(some, slice(0, some.n_workers))
        square, common = (_dense(sums[name]) for name in ("distance", "common"))
        if scores.by_gold:
            known = kernels.gold_sums(some)
            square, common = (_border(*each) for each in ((square, known["distance"]), (common, known["answers"])))
        parts.append((square, common, np.zeros((*square.shape, 1))))
    square, common, difference = map(np.stack, zip(*parts, strict=True))
    return square, common, difference


def _cut(task_hash: npt.NDArray[np.uint64]) -> list[Marks]:
    part = task_hash % np.uint64(_PARTS)
    return [part == number for number in np.unique(part)]


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def _border(matrix: Floats, edge: Floats) -> Floats:
    """Return a matrix with one row and column more."""
    return np.block([[matrix, edge[:, None]], [edge[None], np.zeros((1, 1))]])


def add_coordinates(table: Floats, truth: Floats | None, task_hash: npt.NDArray[np.uint64]) -> Squares:
    """Add up the same of labels with coordinates; truths are NaN if unknown."""
    table = table if truth is None else np.concatenate([table, truth[:, None]], axis=1)
    seen = np.asarray(~np.isnan(table).any(axis=2))
    level = np.where(seen[:, :, None], table - np.nanmean(table, axis=(0, 1)), 0.0)
    parts = []
    for own in _cut(task_hash):
        x, there = level[own], seen[own].astype(np.float64)
        sums, squares = np.einsum("tix,tk->ikx", x, there), np.square(x).sum(axis=2).T @ there
        both = np.einsum("tix,tkx->ik", x, x)
        parts.append((squares + squares.T - 2 * both, there.T @ there, sums - sums.transpose(1, 0, 2)))
    square, common, difference = map(np.stack, zip(*parts, strict=True))
    return square, common, difference


def leave_out_parts(sums: Floats) -> Floats:
    """Return the sum over all parts, and behind it the sums without each part."""
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


def jackknife(found: Floats) -> Floats:
    """Return the standard error of an estimate (the first row), given those without each part.

    >>> jackknife(np.array([[2.0], [1.5], [2.0], [2.5]]))  # the mean of 1, 2 and 3
    array([0.57735027])
    """
    left_out = found[1:]
    freedom = len(left_out) - 1
    return np.asarray(np.sqrt(np.square(left_out - left_out.mean(axis=0)).sum(axis=0) * freedom / (freedom + 1)))


def compare_scores(scores: ScoreVerdicts) -> pd.DataFrame:
    """Compare the distance of all pairs of judges with what other pairs let expect; a row per pair."""
    table, block, n = scores.coordinates, scores.block, scores.n_judges
    if table is not None:
        truth = None
        if scores.by_gold:
            truth = np.full((block.n_tasks, table.shape[2]), np.nan)
            truth[block.gold_task] = block.gold_label.reshape(len(block.gold_task), -1)
        return compare_squares(n, add_coordinates(table, truth, block.task_hash), block.n_tasks, gold=scores.by_gold)
    if scores.run.encoding.noise.estimates_fault and scores.run.domain.recurring:
        return compare_squares(n, add_squares(scores), block.n_tasks, gold=scores.by_gold, straight=False)
    return _list_pairs(0)


def _list_pairs(n: int, **columns: npt.NDArray[Any]) -> pd.DataFrame:
    names = ("common", "distance", "expected", "correlation", "low", "high", "probability", "wrong_together")
    kinds = (np.int64, *[np.float64] * 6, np.bool_)
    empty: dict[str, npt.NDArray[Any]] = {name: np.empty(n, kind) for name, kind in zip(names, kinds, strict=True)}
    both = {"left": np.empty(n, np.intp), "right": np.empty(n, np.intp)}
    return pd.DataFrame({**both, **empty, **columns})


def compare_squares(n: int, sums: Squares, n_tasks: int, *, gold: bool, straight: bool = True) -> pd.DataFrame:
    """Compare the squared distance of all pairs of judges with what the other pairs let expect."""
    from scipy.special import stdtr, stdtrit

    square, common, difference = map(leave_out_parts, sums)
    parts, tasks = len(sums[0]), common[0]
    pairs = [(i, k) for i, k in combinations(range(n + gold), 2) if tasks[i, k] >= _MIN_COMMON]
    own = [place for place, (_, k) in enumerate(pairs) if k < n]
    if not own or n < (_MIN_WITH_GOLD if gold else _MIN_JUDGES) or n_tasks < _MIN_TASKS or parts < _MIN_PARTS:
        return _list_pairs(0)
    left, right = np.array(pairs, np.intp).T
    safe = np.maximum(common, 1.0)
    lost = safe / np.maximum(safe - 1.0, 1.0) if sums[2].any() else 1.0
    distance = ((square / safe - np.square(difference / safe[..., None]).sum(axis=-1)) * lost)[:, left, right]
    bound, found = np.zeros(len(pairs), bool), np.ones(1, bool)
    expected = rho = probability = distance
    while found.any():
        expected, rho = _expect(distance, np.where(bound, 0.0, tasks[left, right]), left, right, n + gold, straight)
        z, nearer = (each[0] / _or_infinity(jackknife(each)) for each in (rho, expected - distance))
        probability = np.maximum(np.minimum(stdtr(parts - 1, -z) * len(own), 1.0), stdtr(parts - 1, -nearer))
        found = (probability <= _SIGNIFICANT) & (rho[0] >= _MIN_CORRELATION) & ~bound & (right < n)
        bound[np.argmax(np.where(found, z, -np.inf))] |= found.any()
    width = stdtrit(parts - 1, _LIMITS[1]) * jackknife(rho)
    return _list_pairs(
        len(own),
        left=left[own],
        right=right[own],
        common=tasks[left, right][own].astype(np.int64),
        distance=distance[0, own],
        expected=expected[0, own],
        correlation=rho[0, own],
        low=(rho[0] - width)[own],
        high=(rho[0] + width)[own],
        probability=probability[own],
        wrong_together=bound[own],
    )


def _or_infinity(error: Floats) -> Floats:
    return np.where(error > 0, error, np.inf)


def _expect(
    distance: Floats, weight: Floats, left: Codes, right: Codes, n: int, straight: bool
) -> tuple[Floats, Floats]:
    """Return, per part and pair, the distance that the other pairs let expect, and the correlation beyond it."""
    matrix = np.zeros((n, n))
    np.add.at(matrix, (left, right), weight)
    matrix += matrix.T
    inverse = np.linalg.pinv(matrix + np.diag(matrix.sum(axis=1)), hermitian=True)  # of the equations of least squares
    sides = np.eye(n)[left] + np.eye(n)[right]
    bend, error = np.zeros_like(distance), np.zeros((len(distance), n))
    for _ in range(1 if straight else _ROUNDS):
        error = ((distance + bend) * weight) @ sides @ inverse
        if not straight:
            bend = _find_bend(error[:, left], error[:, right], distance, weight)
    own = inverse[left, left] + inverse[left, right], inverse[right, right] + inverse[left, right]
    rest = (distance + bend - error[:, left] - error[:, right]) / np.maximum(1 - weight * sum(own), _ROUNDING)
    least = _LEAST_ERROR * np.abs(distance).mean(axis=1, keepdims=True) / 2
    one, other = (  # without the pair itself
        np.maximum(error[:, side] - weight * part * rest, least) for side, part in zip((left, right), own, strict=True)
    )
    both = np.sqrt(one * other)
    return distance - rest, -rest / np.where(both > 0, 2 * both, np.inf)


def _find_bend(one: Floats, other: Floats, distance: Floats, weight: Floats) -> Floats:
    """Return kappa f_i f_k, by which independent errors have something in common."""
    product = np.maximum(one, 0.0) * np.maximum(other, 0.0)
    square = (weight * product**2).sum(axis=1)
    kappa = (weight * product * (one + other - distance)).sum(axis=1) / np.where(square > 0, square, 1.0)
    return np.asarray(np.maximum(kappa, 0.0)[:, None] * product)


# Effective number of judges, and the ceiling.


def correlate_classes(verdicts: ClassVerdicts) -> Floats | None:
    """Return the correlations of wrong labels, if enough gold labels are known."""
    if not verdicts.by_gold:
        return None
    some = verdicts.judged()
    asked, wrong = some.labels != NO_LABEL, some.wrong
    given, errors = asked.sum(axis=0), wrong.sum(axis=0)
    mean = errors.sum() / max(given.sum(), 1)
    rate = np.clip((errors + _PRIOR_ANSWERS * mean) / (given + _PRIOR_ANSWERS), _LEAST_RATE, 1 - _LEAST_RATE)
    rest = np.where(asked, (wrong - rate) / np.sqrt(rate * (1 - rate)), 0.0)
    common = asked.astype(np.float64).T @ asked
    return _bound(rest.T @ rest / np.maximum(common, 1.0))


def correlate_scores(scores: ScoreVerdicts) -> Floats | None:
    """Return the correlations of distances to the truth, if enough gold labels are known."""
    if not scores.by_gold:
        return None
    square, common, _ = (each.sum(axis=0) for each in add_squares(scores.judged()))
    mean = square / np.maximum(common, 1.0)
    off = np.maximum(mean[-1, :-1], 1e-300)
    both = (off[:, None] + off - mean[:-1, :-1]) / (2 * np.sqrt(off[:, None] * off))
    return _bound(np.where(common[:-1, :-1] > 0, both, 0.0))


def _bound(correlation: Floats) -> Floats:
    found = np.clip(correlation, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def describe_independence(judges: Values, correlation: Floats | None, known: int, missed: int) -> Statistics:
    """Return the effective number of judges, what each adds to it, and the ceiling; unknown is NaN."""
    n, adds, effective = len(judges), np.full(len(judges), np.nan), EffectiveJudges(all=None)
    if correlation is not None:
        total = count_effective_judges(correlation)
        effective = EffectiveJudges(all=total)
        if n > 1:
            without = [np.delete(np.delete(correlation, each, 0), each, 1) for each in range(n)]
            adds = total - np.array([*map(count_effective_judges, without)])
            order = np.argsort(-adds, kind="stable").tolist()
            effective = EffectiveJudges(all=total, most=judges[order[0]], least=judges[order[-1]])
    ceiling = Ceiling(known=known, missed=missed if known else None)
    return Statistics({"voices": effective, "ceiling": ceiling}, {}, {"adds_voices": adds})


def count_effective_judges(correlation: Floats) -> float:
    """Return the effective number of judges, at most their number.

    >>> count_effective_judges(np.eye(3)), count_effective_judges(np.ones((3, 3)))
    (3.0, 1.0)
    """
    return float(len(correlation) ** 2 / max(correlation.sum(), len(correlation)))
