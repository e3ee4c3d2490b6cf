"""Repeated verdicts: position bias and steadiness (self-consistency) of judges, and the sufficient number of samples.

**Position bias** is the probability that a judge prefers the first answer, minus 1/2, over both orders of a pair. It is
estimated by the mean of d_t, the share of first places among the verdicts on pair t, minus 1/2. The interval is Bonett
and Price's (2012), which adds one pair of each kind (with m samples per order, 1/m of its square). The p-value is an
exact sign test of the pairs where the first place won twice against those where the second place won twice, multiplied
by the number of judges (Bonferroni).

**Steadiness of classes** is the probability that two samples by a judge on one task (and in one order) are equal. If
n_l of the m samples on a task are l, it is the mean of s_t = sum over l of n_l (n_l - 1) / (m (m - 1)) over tasks t.
The Wilson interval uses the effective number of independent answers (Kish 1965), reduced if few tasks determine the
variance (Korn and Graubard 1998). For **fewer samples**, k of the m samples are drawn twenty times, and the panel votes
with its weights.

**Steadiness of scores** is the intraclass correlation of two samples by a judge on the same task (Shrout and Fleiss
1979, case 1): (B - W) / (B + (m - 1) W) with mean squares B between and W within tasks, and m samples per task. With k
samples instead of m, the variance of the panel's verdict grows by the sum of w^2 W (1/k - 1/m) over judges of weight w.

Steadiness does not detect errors that all samples of a judge share.
"""

from __future__ import annotations

import numpy as np

from allalike._core.blocks.block import Floats
from allalike._core.columns.values import Values, find_places
from allalike._core.lazy_imports import pd, special
from allalike.methods.auto.uncertainty import find_wilson_limits
from allalike.panels.rows import AskDesign, RepeatedVerdicts
from allalike.panels.summary import MAX_NAMED, JudgeInterval, OrderCounts, SampleCounts
from allalike.panels.verdicts import MIN_GOLD, NO_LABEL, NORMAL, Codes, ScoreVerdicts, Statistics, Verdicts, divide
from allalike.result.result import Result

_SIGNIFICANT = 0.05
_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_DRAWS = 20
_EQUAL = 1e-9
_MAX_BIAS = 0.5


def describe_repeats(
    repeated: RepeatedVerdicts, asked: AskDesign, result: Result, verdicts: Verdicts, retain: float
) -> list[Statistics]:
    """Return the statistics of pairs in both orders, and of repeated samples."""
    parts = [] if asked.order is None else [describe_orders(repeated, result.run.workers)]
    return parts if asked.sample is None else [*parts, describe_samples(repeated, result, verdicts, retain)]


# Orders.


def compare_orders(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the share of pairs with the same verdict in both orders, and the position bias.

    Labels name the same answer in both orders. The first label names the answer that is shown first in the first order.
    """
    label = np.full((2, len(verdicts.tasks), len(verdicts.judges)), NO_LABEL)
    for order in (0, 1):
        one = verdicts.only(verdicts.rows["order"] == order).reconcile()
        label[order, one["task"], one["judge"]] = one["label"]
    there = label != NO_LABEL
    both, sides = there.all(axis=0), verdicts.find_sides() or (NO_LABEL, NO_LABEL)
    first, second = (((label[0] == a) & (label[1] == b) & both).sum(axis=0) for a, b in (sides, sides[::-1]))
    pairs, equal = both.sum(axis=0), (both & (label[0] == label[1])).sum(axis=0)
    bias = np.full((len(pairs), 3), np.nan) if NO_LABEL in sides else _find_bias(verdicts, sides)
    tail = special.bdtr(np.minimum(first, second), first + second, 0.5)
    columns = {
        "pairs": pairs,
        "one_order": there.any(axis=0).sum(axis=0) - pairs,
        "same": divide(equal.astype(np.float64), pairs),
        "position_bias": bias[:, 0],
        "ci_low": bias[:, 1],
        "ci_high": bias[:, 2],
        "p_value": np.where(first + second > 0, np.minimum(2 * tail * len(pairs), 1.0), np.nan),
    }
    return pd.DataFrame(columns)


def _find_bias(verdicts: RepeatedVerdicts, sides: tuple[int, int]) -> Floats:
    """Return the mean of d_t and its interval, which adds one pair for each place."""
    rows, judges = verdicts.rows, range(len(verdicts.judges))
    shown_first = np.where(rows["order"] == 0, *sides)
    share = np.where(rows["label"] == verdicts.tie, 0.5, rows["label"] == shown_first)
    orders = rows.assign(share=share).groupby(["judge", "task", "order"])["share"].mean().unstack("order")
    d = orders.reindex(columns=[0, 1]).dropna().mean(axis=1) - 0.5
    total, squares, n = (
        each.groupby("judge").sum().reindex(judges, fill_value=0.0).to_numpy(np.float64) for each in (d, d**2, d**0)
    )
    counts = np.bincount(rows["judge"], minlength=len(judges)).astype(np.float64)
    middle, more = total / (n + 2), 0.5 / divide(counts, 2 * n)  # of m samples
    half = NORMAL * np.sqrt(((squares + more) / (n + 2) - np.square(middle)) / (n + 2))
    limits = np.clip(np.column_stack([middle - half, middle + half]), -_MAX_BIAS, _MAX_BIAS)
    return np.column_stack([divide(total, n), np.where(n[:, None] > 0, limits, np.nan)])


def describe_orders(verdicts: RepeatedVerdicts, judges: Values) -> Statistics:
    """Compare orders per judge, and list the judges with a position bias, the strongest first."""
    orders = compare_orders(verdicts)
    orders.insert(0, "judge", verdicts.judges.tolist())
    biased = orders[orders["p_value"] < _SIGNIFICANT].rename(columns={"position_bias": "bias"})
    biased = biased.sort_values("bias", key=abs, ascending=False, kind="stable").head(MAX_NAMED)
    facts = OrderCounts(
        verdicts_name=verdicts.verdicts_name,
        first_order=verdicts.first_order,
        pairs=int(orders["pairs"].sum()),
        same=int((orders["pairs"] * orders["same"].fillna(0.0)).round().sum()),
        one_order=int(orders["one_order"].sum()),
        known=bool(orders["position_bias"].notna().any()),
        biased=tuple(biased[["judge", "bias", "ci_low", "ci_high"]].to_dict("records")),  # type: ignore[arg-type]
    )
    own = orders.iloc[verdicts.find(judges)]
    columns = {"same_in_both_orders": own["same"].to_numpy(), "position_bias": own["position_bias"].to_numpy()}
    orders["judge"] = orders["judge"].map(str)
    return Statistics({"orders": facts}, {"orders": orders}, columns)


# Samples. Steadiness is a table with a row per judge: tasks with several samples, value, interval.


def find_steadiness(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the probability that two samples on a task are equal."""
    rows, cell = verdicts.rows, ["task", "judge", "order"]
    counts = rows.groupby([*cell, "label"]).size()
    m = counts.groupby(cell).sum()
    same = ((counts * (counts - 1)).groupby(cell).sum() / (m * (m - 1)))[m > 1]
    by_judge = same.groupby(["task", "judge"]).mean().groupby("judge")  # mean over the orders of a task
    sums = pd.DataFrame({"n": by_judge.size(), "mean": by_judge.mean(), "spread": by_judge.var(ddof=0)})
    n, mean, spread = sums.reindex(range(len(verdicts.judges))).fillna({"n": 0}).to_numpy(np.float64).T
    fewer = np.square(NORMAL / special.stdtrit(np.maximum(n - 1, 1), 0.975))  # because the variance is estimated
    worth = np.where(spread > _EQUAL**2, divide((n - 1) * mean * (1 - mean), spread), n) * fewer
    low, high = find_wilson_limits(np.nan_to_num(mean), np.maximum(np.nan_to_num(worth), _EQUAL))
    known = np.where(n > 0, 0.0, np.nan)
    columns = {"steadiness": mean, "steadiness_ci_low": low + known, "steadiness_ci_high": high + known}
    return pd.DataFrame({"tasks": n, **columns})


def find_steadiness_of_scores(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the intraclass correlation of two samples on a task, and their variance."""
    cells = verdicts.rows.groupby(["judge", "task"])["label"]
    table = pd.DataFrame({"m": cells.size(), "sum": cells.sum(), "inner": cells.var(ddof=0).mul(cells.size())})
    sums = table.assign(square=table["m"] ** 2, tasks=1).groupby("judge").sum()
    off = table["sum"] / table["m"] - (sums["sum"] / sums["m"]).reindex(table.index, level="judge")
    sums["between"] = (table["m"] * off**2).groupby("judge").sum()
    sums = sums.reindex(range(len(verdicts.judges))).fillna(0.0)
    total, _, inner, square, tasks, between = sums.to_numpy(np.float64).T
    within, between = divide(inner, total - tasks), divide(between, tasks - 1)
    size = divide(total - divide(square, total), tasks - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = between / within
        degrees = tasks - 1, total - tasks
        limits = odds / special.fdtri(*degrees, 0.975), odds * special.fdtri(*degrees[::-1], 0.975)
        value, low, high = (np.where(np.isinf(each), 1.0, (each - 1) / (each + size - 1)) for each in (odds, *limits))
    columns = {"steadiness": value, "steadiness_ci_low": low, "steadiness_ci_high": high}
    return pd.DataFrame({"tasks": tasks, **columns, "within": within, "samples": divide(total, tasks)})


def describe_samples(repeated: RepeatedVerdicts, result: Result, verdicts: Verdicts, retain: float) -> Statistics:
    """Return the steadiness of judges, and accuracy or RMSE with fewer samples; empty without repeated samples."""
    judges, own = repeated.judges, repeated.find(result.run.workers)
    size = repeated.rows.groupby(["task", "judge", "order"]).size()
    most = max(int(np.median(size)), 1)
    sizes = np.array(sorted({each for each in _SIZES if each < most} | {most}), np.int64)
    columns = ["steadiness", "steadiness_ci_low", "steadiness_ci_high"]
    if isinstance(verdicts, ScoreVerdicts):
        steadiness = find_steadiness_of_scores(repeated)
        within, samples = steadiness[["within", "samples"]].to_numpy()[own].T
        weight = verdicts.weighing.weight
        fewer = np.maximum(1 / sizes[:, None] - 1 / samples, 0.0)
        more = (np.square(weight / weight.sum()) * np.nan_to_num(within) * fewer).sum(axis=1)
        some = verdicts.judged()
        worth = float(some.whole.mean()) - more / some.guess
        table, mean = {"rmse": np.asarray(some.error_of(worth))}, float(steadiness["steadiness"].iloc[own].mean())
        steadiness, columns = steadiness.assign(sample_sd=np.sqrt(steadiness["within"])), [*columns, "sample_sd"]
    else:
        steadiness, odds = find_steadiness(repeated), np.zeros(len(judges))
        odds[own] = verdicts.log_odds
        truth = _find_truth(repeated, result)
        worth = np.empty(len(sizes))
        for place, k in enumerate(sizes.tolist()):
            rng = np.random.default_rng(k)
            drawn = [repeated] if k == most else [repeated.draw(k, rng) for _ in range(_DRAWS)]
            worth[place] = np.mean([_measure_panel(each, truth, odds) for each in drawn])
        table, known = {"accuracy": worth}, steadiness.dropna()
        mean = float(np.average(known["steadiness"], weights=known["tasks"])) if len(known) else np.nan
    if not np.isfinite(steadiness["steadiness"].iloc[own]).any():
        return Statistics({})
    least = int(steadiness["steadiness"].where(steadiness["tasks"] > 0).fillna(np.inf).argmin())
    value, low, high = steadiness[columns[:3]].iloc[least].tolist()
    facts = SampleCounts(
        most=most,
        steadiness=mean,
        least_steady=JudgeInterval(judge=judges[least], steadiness=value, ci_low=low, ci_high=high),
        enough=int(sizes[np.argmax(worth >= retain * worth[-1] - _EQUAL)]),
        retain=retain,
    )
    frame = pd.DataFrame({"samples": sizes, **table, "retained": divide(worth, np.full(len(worth), worth[-1]))})
    return Statistics({"samples": facts}, {"samples": frame}, dict(steadiness[columns].iloc[own]))


def _find_truth(verdicts: RepeatedVerdicts, result: Result) -> Codes:
    """Return the code of each task's gold label if there are enough, otherwise of the panel's verdict; -1 if none."""
    piece, encoding = result.found.joined(), result.run.encoding
    place = find_places(verdicts.tasks, piece.tasks)
    code = {label: number for number, label in enumerate(verdicts.labels)}
    labels = np.array([code.get(each, NO_LABEL) for each in encoding.decode(piece.found["label"]).tolist()], np.intp)
    if result.run.n_gold >= MIN_GOLD and "known" in piece.found:
        labels = np.where(piece.found["known"], labels, NO_LABEL)
    return np.where(place >= 0, labels[place], NO_LABEL)


def _measure_panel(verdicts: RepeatedVerdicts, truth: Codes, odds: Floats) -> float:
    """Return the accuracy of the panel if judges vote by their log odds; labels with equal votes share the task."""
    one, n_labels = verdicts.reconcile(), verdicts.encoding.n_labels
    task, judge, label = one[one["label"] != NO_LABEL].to_numpy(np.intp).T
    given, place = np.unique(task * n_labels + label, return_inverse=True)
    votes, task = np.bincount(place, odds[judge]), given // n_labels
    most = np.zeros(len(truth))
    np.maximum.at(most, task, votes)
    leading = votes > most[task] - _EQUAL
    right = np.bincount(task, leading & (given % n_labels == truth[task]))
    return float((right / np.maximum(np.bincount(task, leading), 1)).sum() / max((truth != NO_LABEL).sum(), 1))
