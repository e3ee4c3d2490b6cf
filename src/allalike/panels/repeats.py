"""Repeated verdicts: position bias and steadiness of judges, and the number of samples that suffices.

**Position bias** is the probability that a judge prefers what is shown first, less 1/2, over both orders of the same
pairs. With d_t the share of first places among its verdicts on t, less 1/2, it is the mean of d_t. Its interval is that
of Bonett and Price (Adjusted Wald confidence interval for a difference of binomial proportions based on paired data.
Journal of Educational and Behavioral Statistics 2012), which adds one pair of either kind, with 1/m of its square where
m samples are in each order; its probability is that of an exact sign test of the pairs with the first place twice
against those with the second twice, and is adjusted for all judges (Holm). For a judge who saw each pair in one order
only, it is half of how much more often it gives A in the first order than in the second, with the interval of Agresti
and Caffo (Simple and effective confidence intervals for proportions and differences of proportions. The American
Statistician 2000) and the probability of Fisher's exact test.

**Steadiness of classes** is the probability that two samples of a judge on one task (and in one order) are the same. If
n_l of its m samples on it are l, s_t = sum over l of n_l (n_l - 1) / (m (m - 1)) has this probability as its mean. The
interval is that of Wilson, for as many independent answers as have its variance over tasks (Kish: Survey Sampling.
1965), p (1 - p) / var, and fewer where few tasks determine the variance (Korn and Graubard: Confidence intervals for
proportions with small expected number of positive counts. Survey Methodology 1998). **Fewer samples**: k of the m
samples are drawn twenty times. A judge gives the most frequent of these, labels with as many share the verdict, and
the panel votes with its weights.

**Steadiness of scores** is the intraclass correlation of two samples of a judge on the same task,

    steadiness = (B - W) / (B + (m - 1) W)

with the mean squares B between and W within tasks and m samples per task; its interval follows from the distribution of
B / W (Shrout and Fleiss: Intraclass correlations. Psychological Bulletin 1979, case 1). With k samples instead of m,
the verdict of a panel in which judges have the weights w varies by the sum of w^2 W (1/k - 1/m) more.

An error that all samples of a judge share is not seen: a steady judge may be wrong steadily.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values
from allalike._core.late import pd
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE, adjust_probabilities, find_wilson_limits
from allalike.panels.rows import RepeatedVerdicts
from allalike.panels.summary import JudgePosition, JudgeSteadiness, OrderCounts, SampleCounts
from allalike.panels.verdicts import MIN_GOLD, NO_LABEL, Codes, ScoreVerdicts, Statistics, divide, ratio
from allalike.result.result import Result

_SIGNIFICANT = 0.05
_MAX_NAMED = 20
_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_DRAWS = 20
_EQUAL = 1e-9


# Both orders of a pair.


def compare_orders(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the number of pairs with the same verdict in both orders, and its position bias.

    Labels name the same answer in both orders, and the one that the first label names was shown first in the first.
    """
    label = np.full((2, len(verdicts.tasks), len(verdicts.judges)), NO_LABEL)
    for order in (0, 1):
        found = verdicts.only(verdicts.rows["order"] == order).reconcile()
        label[order, found["task"], found["judge"]] = found["label"]
    there = label != NO_LABEL
    both = there.all(axis=0)
    table = pd.DataFrame(
        {
            "pairs": both.sum(axis=0),
            "one_order": there.any(axis=0).sum(axis=0) - both.sum(axis=0),
            "same": (both & (label[0] == label[1])).sum(axis=0),
        }
    )
    sides = verdicts.find_sides()
    if sides is None:
        unknown = dict.fromkeys(("position_bias", "low", "high", "probability"), np.nan)
        return table.assign(first_twice=0, second_twice=0, **unknown)
    first, second = (((label[0] == a) & (label[1] == b)).sum(axis=0) for a, b in (sides, sides[::-1]))
    bias = _find_bias(verdicts, sides).assign(probability=_test_signs(first, second))
    never = table["pairs"] == 0
    if never.any():
        bias = bias.where(~never, _compare_first_orders(verdicts, sides), axis=0)
    return table.assign(first_twice=first, second_twice=second).join(bias)


def _find_order_means(verdicts: RepeatedVerdicts, side: Any) -> list[Floats]:
    """Return, per order, the share of verdicts for one side on each task, a tie being half."""
    label, order = (verdicts.rows[name].to_numpy() for name in ("label", "order"))
    share = np.where(label == verdicts.tie, 0.5, label == side)
    return [verdicts.find_means(share, order == each) for each in (0, 1)]


def _find_bias(verdicts: RepeatedVerdicts, sides: tuple[int, int]) -> pd.DataFrame:
    """Return the mean of d_t, with one pair more for the first place, and one for the second in the interval."""
    shown_first = np.where(verdicts.rows["order"] == 0, sides[0], sides[1])
    d = sum(_find_order_means(verdicts, shown_first)) / 2 - 0.5
    n = np.asarray((~np.isnan(d)).sum(axis=0), np.float64)
    counts = np.bincount(verdicts.rows["judge"], minlength=len(verdicts.judges)).astype(np.float64)
    total, squares = np.nansum(d, axis=0), np.nansum(np.square(d), axis=0)
    middle = total / (n + 2)
    more = 0.5 / divide(counts, 2 * n)  # m samples
    half = NORMAL_QUANTILE * np.sqrt(((squares + more) / (n + 2) - np.square(middle)) / (n + 2))
    return _limit(divide(total, n), middle, half, n > 0)


def _limit(bias: Floats, middle: Floats, half: Floats, known: Any) -> pd.DataFrame:
    limits = {"low": middle - half, "high": middle + half}
    limits = {name: np.where(known, np.clip(each, -0.5, 0.5), np.nan) for name, each in limits.items()}
    return pd.DataFrame({"position_bias": bias, **limits})


def _test_signs(first: Array, second: Array) -> Floats:
    from scipy.stats import binom

    tail = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.where(first + second > 0, np.minimum(2 * tail, 1.0), np.nan)


def _compare_first_orders(verdicts: RepeatedVerdicts, sides: tuple[int, int]) -> pd.DataFrame:
    """Return half of how much more often each judge gives the first label in the first order, as if on other pairs."""
    from scipy.stats import fisher_exact

    means = _find_order_means(verdicts, sides[0])
    n = np.array([(~np.isnan(each)).sum(axis=0) for each in means], np.float64)
    hits = np.array([np.nansum(each, axis=0) for each in means])
    share, known = (hits + 1) / (n + 2), (n > 0).all(axis=0)
    half = NORMAL_QUANTILE * np.sqrt((share * (1 - share) / (n + 2)).sum(axis=0))
    tables = np.stack([hits, n - hits]).round().transpose(2, 0, 1)
    probability = np.where(known, [fisher_exact(table).pvalue for table in tables], np.nan)
    bias = (divide(hits[0], n[0]) - divide(hits[1], n[1])) / 2
    return _limit(bias, (share[0] - share[1]) / 2, half / 2, known).assign(probability=probability)


def find_biased(orders: pd.DataFrame) -> Codes:
    """Return the judges with a position bias, by the tests of all judges together, the strongest first."""
    adjusted = adjust_probabilities(orders["probability"].fillna(1.0).to_numpy())
    biased = orders[adjusted < _SIGNIFICANT]["position_bias"].abs().sort_values(ascending=False, kind="stable")
    return biased.index.to_numpy(np.intp)


def describe_orders(verdicts: RepeatedVerdicts, about: str, first_order: str, judges: Values) -> Statistics:
    """Return a row per judge, and the judges with a position bias."""
    orders = compare_orders(verdicts)
    biased, pairs = find_biased(orders), orders["pairs"].to_numpy()
    columns = ["position_bias", "low", "high"]
    named = [
        JudgePosition(judge=verdicts.judges[judge], **dict(zip(("bias", "low", "high"), row, strict=True)))
        for judge, row in zip(biased.tolist(), orders.loc[biased, columns].to_numpy().tolist(), strict=True)
    ]
    facts = OrderCounts(
        about=about,
        first_order=first_order,
        pairs=int(pairs.sum()),
        same=int(orders["same"].sum()),
        one_order=int(orders["one_order"].sum()),
        known=bool(orders["position_bias"].notna().any()),
        follow=len(biased),
        named=tuple(named[:_MAX_NAMED]),
    )
    same = divide(orders["same"].to_numpy(np.float64), pairs)
    low, high = find_wilson_limits(np.nan_to_num(same), np.maximum(pairs, _EQUAL))
    limits = {"same_low": np.where(pairs > 0, low, np.nan), "same_high": np.where(pairs > 0, high, np.nan)}
    table = orders.assign(same=same, **limits, judge=list(map(str, verdicts.judges.tolist())))
    shown = ["judge", "pairs", "one_order", "same", "same_low", "same_high", "first_twice", "second_twice"]
    own = verdicts.find(judges)
    of_judges = {"same_in_both_orders": same[own], "position_bias": orders["position_bias"].to_numpy()[own]}
    return Statistics({"orders": facts}, {"orders": table[[*shown, *columns, "probability"]]}, of_judges)


# Samples. Steadiness is a frame with a row per judge: tasks with several samples, value, interval.


def find_steadiness(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the probability that two samples on a task are the same."""
    from scipy.stats import t

    rows, cell = verdicts.rows, ["task", "judge", "order"]
    counts = rows.groupby([*cell, "label"]).size()
    m = counts.groupby(cell).sum()
    same = ((counts * (counts - 1)).groupby(cell).sum() / (m * (m - 1)))[m > 1]
    by_judge = same.groupby(["task", "judge"]).mean().groupby("judge")  # orders of a task go together
    found = pd.DataFrame({"n": by_judge.size(), "mean": by_judge.mean(), "spread": by_judge.var(ddof=0)})
    n, mean, spread = found.reindex(range(len(verdicts.judges))).fillna({"n": 0}).to_numpy(np.float64).T
    fewer = np.square(NORMAL_QUANTILE / t.ppf(0.975, np.maximum(n - 1, 1)))  # because the variance is estimated
    worth = np.where(spread > _EQUAL**2, divide((n - 1) * mean * (1 - mean), spread), n) * fewer
    low, high = find_wilson_limits(np.nan_to_num(mean), np.maximum(np.nan_to_num(worth), _EQUAL))
    known = np.where(n > 0, 0.0, np.nan)
    return pd.DataFrame({"tasks": n, "steadiness": mean, "low": low + known, "high": high + known})


def find_steadiness_of_scores(verdicts: RepeatedVerdicts) -> pd.DataFrame:
    """Return, per judge, the intraclass correlation of two samples on a task, and their variance."""
    from scipy.stats import f

    cells = verdicts.rows.groupby(["task", "judge"])["label"]
    table = pd.DataFrame({"m": cells.size(), "mean": cells.mean(), "inner": cells.var(ddof=0).mul(cells.size())})
    table = table.reset_index("judge").astype(np.float64)
    table["sum"], table["square"] = table["m"] * table["mean"], table["m"] ** 2
    sums = table.groupby("judge")[["m", "sum", "square", "inner"]].sum()
    grand = table["judge"].map(sums["sum"] / sums["m"])
    table["between"] = table["m"] * (table["mean"] - grand) ** 2
    sums = sums.assign(between=table.groupby("judge")["between"].sum(), tasks=table.groupby("judge").size())
    sums = sums.reindex(range(len(verdicts.judges))).fillna(0.0)
    total, square, inner, between, tasks = (
        sums[name].to_numpy(np.float64) for name in ("m", "square", "inner", "between", "tasks")
    )
    within, between = divide(inner, total - tasks), divide(between, tasks - 1)
    size = divide(total - divide(square, total), tasks - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = between / within
        degrees = tasks - 1, total - tasks
        limits = odds / f.ppf(0.975, *degrees), odds * f.ppf(0.975, *degrees[::-1])
        value, low, high = (np.where(np.isinf(each), 1.0, (each - 1) / (each + size - 1)) for each in (odds, *limits))
    columns = {"tasks": tasks, "steadiness": value, "low": low, "high": high, "within": within}
    return pd.DataFrame({**columns, "samples": divide(total, tasks)})


def _list_sizes(size: Any) -> Codes:
    """Return the numbers of samples to try: up to the usual number of them."""
    most = max(int(np.median(size)), 1)
    return np.array(sorted({each for each in _SIZES if each < most} | {most}), np.int64)


def _make_facts(
    judges: Sequence[Any], found: pd.DataFrame, mean: float, sizes: Codes, worth: Floats, keep: float, by_gold: bool
) -> SampleCounts:
    known = found["steadiness"].where(found["tasks"] > 0)
    least = int(known.argmin()) if known.notna().any() else 0
    value, low, high = found[["steadiness", "low", "high"]].iloc[least].tolist()
    return SampleCounts(
        most=int(sizes[-1]),
        steadiness=mean,
        least_steady=JudgeSteadiness(judge=judges[least], steadiness=value, low=low, high=high),
        enough=int(sizes[np.argmax(worth >= keep * worth[-1] - _EQUAL)]),
        keep=keep,
        right_from="gold" if by_gold else "panel",
        panel=dict(zip(map(str, sizes.tolist()), worth.tolist(), strict=True)),
    )


def describe_samples(verdicts: RepeatedVerdicts, result: Result, log_odds: Floats, keep: float) -> Statistics:
    """Return the steadiness of judges, and the worth of fewer samples; nothing if there is one sample of each."""
    found = find_steadiness(verdicts)
    if not found["tasks"].any():
        return Statistics({})
    truth, by_gold = _find_truth(verdicts, result)
    sizes = _list_sizes(verdicts.rows.groupby(["task", "judge", "order"]).size())
    own, odds = verdicts.find(result.run.workers), np.zeros(len(verdicts.judges))
    odds[own] = log_odds
    right, panel = np.empty((len(sizes), len(odds))), np.empty(len(sizes))
    for place, k in enumerate(sizes.tolist()):
        drawn = [verdicts] if k == sizes[-1] else list(_draw_samples(verdicts, k))
        right[place] = np.mean([_measure_judges(each, truth) for each in drawn], axis=0)
        panel[place] = np.mean([_measure_panel(each, truth, odds) for each in drawn])
    mean = ratio(float((found["tasks"] * found["steadiness"].fillna(0.0)).sum()), float(found["tasks"].sum()))
    judges, rights = verdicts.judges.tolist(), np.column_stack([panel, right])
    facts = _make_facts(judges, found, mean, sizes, panel, keep, by_gold)
    table = pd.DataFrame(
        {
            "judge": np.repeat(np.array(["panel", *map(str, judges)], object), len(sizes)),
            "samples": np.tile(sizes, len(judges) + 1),
            "right": rights.T.ravel(),
            "kept": divide(rights, np.broadcast_to(rights[-1], rights.shape)).T.ravel(),
        }
    )
    return Statistics({"samples": facts}, {"samples": table}, _list_steadiness(found.iloc[own]))


def _list_steadiness(found: pd.DataFrame) -> dict[str, Any]:
    names = {"steadiness": "steadiness", "low": "steadiness_low", "high": "steadiness_high"}
    return {new: found[old].to_numpy() for old, new in names.items()}


def describe_score_samples(verdicts: RepeatedVerdicts, scores: ScoreVerdicts, keep: float) -> Statistics:
    """Return the same for scores."""
    found = find_steadiness_of_scores(verdicts).iloc[verdicts.find(scores.run.workers)]
    if not np.isfinite(found["steadiness"]).any():
        return Statistics({})
    sizes, weight = _list_sizes(verdicts.rows.groupby(["task", "judge"]).size()), scores.weighing.weight
    within, samples = found["within"].to_numpy(), found["samples"].to_numpy()
    fewer = np.maximum(1 / sizes[:, None] - 1 / samples, 0.0)
    more = (np.square(weight / weight.sum()) * np.nan_to_num(within) * fewer).sum(axis=1)
    worth = float(scores.whole.mean()) - more / scores.guess
    judges, mean = scores.run.workers.tolist(), float(np.nanmean(found["steadiness"]))
    facts = _make_facts(judges, found, mean, sizes, worth, keep, scores.by_gold)
    kept = divide(worth, np.full(len(worth), worth[-1]))
    table = pd.DataFrame({"judge": "panel", "samples": sizes, "rmse": np.asarray(scores.error_of(worth)), "kept": kept})
    columns = {**_list_steadiness(found), "sample_sd": np.sqrt(within)}
    return Statistics({"samples": msgspec.structs.replace(facts, unit="correlation")}, {"samples": table}, columns)


def _find_truth(verdicts: RepeatedVerdicts, result: Result) -> tuple[Array, bool]:
    """Return, per task, the code of its gold label if there are enough, or else of the panel's verdict."""
    piece, encoding = result.found.joined(), result.run.encoding
    place = find_places(verdicts.tasks, piece.tasks)
    code = {label: number for number, label in enumerate(verdicts.labels)}
    labels = np.array([code.get(each, NO_LABEL) for each in encoding.decode(piece.found["label"]).tolist()], np.intp)
    by_gold = result.run.n_gold >= MIN_GOLD and "known" in piece.found
    labels = np.where(piece.found["known"], labels, NO_LABEL) if by_gold else labels
    return np.where(place >= 0, labels[place], NO_LABEL), by_gold


def _draw_samples(verdicts: RepeatedVerdicts, k: int) -> Iterator[RepeatedVerdicts]:
    """Draw k samples of each judge on each task, in each order, several times."""
    rng, rows = np.random.default_rng(k), verdicts.rows
    cell = rows.groupby(["task", "judge", "order"]).ngroup().to_numpy()
    for _ in range(_DRAWS):
        order = np.lexsort((rng.random(len(cell)), cell))
        rank = pd.Series(order).groupby(cell[order]).cumcount().to_numpy()
        yield verdicts.only(np.sort(order[rank < k]))


def _measure_judges(verdicts: RepeatedVerdicts, truth: Array) -> Floats:
    """Return, per judge, the accuracy of the most frequent sample, over tasks and orders with a known truth."""
    counts = verdicts.rows.groupby(["task", "judge", "order", "label"]).size().rename("score").reset_index()
    hits = _share_right(counts, ["task", "judge", "order"], truth)
    known = hits[truth[hits.index.get_level_values("task")] != NO_LABEL]
    return np.asarray(known.groupby("judge").mean().reindex(range(len(verdicts.judges))))


def _measure_panel(verdicts: RepeatedVerdicts, truth: Array, odds: Floats) -> float:
    """Return the accuracy of the panel if judges vote by their log odds."""
    found = verdicts.reconcile()
    found = found[found["label"] != NO_LABEL]
    score = found.assign(score=odds[found["judge"]]).groupby(["task", "label"])["score"].sum().reset_index()
    return ratio(float(_share_right(score, ["task"], truth).sum()), float((truth != NO_LABEL).sum()))


def _share_right(score: pd.DataFrame, cell: list[str], truth: Array) -> pd.Series[Any]:
    """Return, per cell, whether the label with the highest score is right; equals share it."""
    leading = score[score["score"] > score.groupby(cell)["score"].transform("max") - _EQUAL]
    return (leading["label"] == truth[leading["task"]]).groupby([leading[name] for name in cell]).mean()
