"""Repeated verdicts: how much judges follow the position, how steady they are, and how many samples are enough.

**Position bias** is the probability that a judge prefers what is shown first, less 1/2, over both orders of the same
pairs. With d_t the share of first places among its verdicts on t, less 1/2, it is the mean of d_t: if n pairs have a
verdict in each order, f of them for the first place twice and s for the second twice, (f - s) / 2n. Its interval is
that of Bonett and Price (Adjusted Wald confidence interval for a difference of binomial proportions based on paired
data. Journal of Educational and Behavioral Statistics 2012), which adds one pair of either kind, with 1/m of its square
where m samples are in each order; its probability is that of an exact sign test of f against s. A judge follows the
position if this is below 0.05 for all judges together (Holm). A judge who saw each pair in one order only has a bias,
too: half of how much more often it says A in the first order than in the second. Its interval is that of Agresti and
Caffo (Simple and effective confidence intervals for proportions and differences of proportions. The American
Statistician 2000), and its probability is that of Fisher's exact test.

**Steadiness of classes** is the probability that two samples of a judge on one task (and in one order) are the same. If
n_l of its m samples on it are l, s_t = sum over l of n_l (n_l - 1) / (m (m - 1)) has this probability as its mean. The
interval is that of Wilson, for as many independent answers as have its variance over tasks (Kish: Survey Sampling.
1965), p (1 - p) / var, and fewer where few tasks determine the variance (Korn and Graubard: Confidence intervals for
proportions with small expected number of positive counts. Survey Methodology 1998). **Fewer samples**: k of the m
samples are drawn twenty times. A judge says what most of these are, labels with as many share the verdict, and the
panel votes with its weights.

**Steadiness of scores** is the correlation of two samples of a judge on the same task. By the analysis of variance,

    steadiness = (B - W) / (B + (m - 1) W)

where B and W are the mean squares between and within tasks, and m is the number of samples per task; its interval
follows from the distribution of B / W (Shrout and Fleiss: Intraclass correlations. Psychological Bulletin 1979, case
1). With k samples instead of m, the verdict of a panel in which judges count with the weights w varies by the sum of
w^2 W (1/k - 1/m) more, so that its error is known.

An error that all samples of a judge share is not seen: a steady judge may be wrong steadily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.matches import find_places
from allalike._core.late import pd
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, adjust_probabilities, find_wilson_limits
from allalike.panels.panel import PanelFacts, list_columns
from allalike.panels.verdicts import MIN_GOLD, NOBODY, divide, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.repeated_verdicts import RepeatedVerdicts
    from allalike.panels.verdicts import Codes, Scores
    from allalike.result.result import Result

_SIGNIFICANT = 0.05
_MAX_NAMED = 20
_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_DRAWS = 20
_EQUAL = 1e-9


# Both orders of a pair.


def compare_orders(ballots: RepeatedVerdicts) -> pd.DataFrame:
    """Count how often each judge says the same in both orders, and find its position bias; a row per judge.

    Labels name the same answer in both orders, and the one that the first label names was shown first in the first.
    """
    n_judges, n_tasks = len(ballots.judges), ballots.answers.n_tasks
    voice = np.full((2, n_tasks, n_judges), NOBODY)
    for order in (0, 1):
        found = ballots.only(ballots.order == order).reconcile()
        voice[order, found.task, found.judge] = found.label
    heard = voice != NOBODY
    table = pd.DataFrame(
        {
            "pairs": heard.all(axis=0).sum(axis=0),
            "one_order": heard.any(axis=0).sum(axis=0) - heard.all(axis=0).sum(axis=0),
            "same": (heard.all(axis=0) & (voice[0] == voice[1])).sum(axis=0),
        }
    )
    sides = ballots.find_sides()
    if sides is None:
        counts = dict.fromkeys(("first_twice", "second_twice"), 0)
        return table.assign(**counts, **dict.fromkeys(("position_bias", "low", "high", "probability"), np.nan))
    for name, one, other in (("first_twice", *sides), ("second_twice", *sides[::-1])):
        table[name] = ((voice[0] == one) & (voice[1] == other)).sum(axis=0)
    both = _find_bias(ballots, sides).assign(probability=_test_signs(table["first_twice"], table["second_twice"]))
    never = table["pairs"] == 0
    return table.join(both.where(~never, _compare_first_orders(ballots, sides), axis=0) if never.any() else both)


def _find_bias(ballots: RepeatedVerdicts, sides: tuple[int, int]) -> pd.DataFrame:
    """Return the mean of d_t, with one pair more for the first place, and one for the second in the interval."""
    shown_first = np.where(ballots.order == 0, sides[0], sides[1])
    says = np.where(ballots.sided, ballots.label == shown_first, 0.5).astype(np.float64)
    mean = [ballots.find_means(says, ballots.order == order) for order in (0, 1)]
    d = (mean[0] + mean[1]) / 2 - 0.5
    n = (~np.isnan(d)).sum(axis=0).astype(np.float64)
    counts = np.bincount(ballots.judge, minlength=len(ballots.judges)).astype(np.float64)
    total, squares = np.nansum(d, axis=0), np.nansum(np.square(d), axis=0)
    middle = total / (n + 2)
    more = 0.5 / divide(counts, 2 * n)  # m samples
    half = NORMAL_QUANTILE * np.sqrt(((squares + more) / (n + 2) - np.square(middle)) / (n + 2))
    return _limit(divide(total, n), middle, half, np.where(n > 0, 0.0, np.nan))


def _limit(bias: Floats, middle: Floats, half: Floats, unknown: Floats) -> pd.DataFrame:
    limits = {"low": middle - half, "high": middle + half}
    limits = {name: np.clip(each, -0.5, 0.5) + unknown for name, each in limits.items()}
    return pd.DataFrame({"position_bias": bias, **limits})


def _test_signs(first: pd.Series[Any], second: pd.Series[Any]) -> Floats:
    from scipy.stats import binom

    tail = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.where(first + second > 0, np.minimum(2 * tail, 1.0), np.nan)


def _compare_first_orders(ballots: RepeatedVerdicts, sides: tuple[int, int]) -> pd.DataFrame:
    """Return half of how much more often each judge says the first label in the first order, as if by other pairs."""
    from scipy.stats import fisher_exact

    says = np.where(ballots.sided, ballots.label == sides[0], 0.5).astype(np.float64)
    mean = [ballots.find_means(says, ballots.order == order) for order in (0, 1)]
    n = np.array([(~np.isnan(each)).sum(axis=0) for each in mean], np.float64)
    hits = np.array([np.nansum(each, axis=0) for each in mean])
    share = (hits + 1) / (n + 2)
    half = NORMAL_QUANTILE * np.sqrt((share * (1 - share) / (n + 2)).sum(axis=0))
    unknown = np.where((n > 0).all(axis=0), 0.0, np.nan)
    tables = np.stack([hits, n - hits]).round().transpose(2, 0, 1)
    probability = np.array([fisher_exact(table).pvalue for table in tables]) + unknown
    bias = (divide(hits[0], n[0]) - divide(hits[1], n[1])) / 2
    return _limit(bias, (share[0] - share[1]) / 2, half / 2, unknown).assign(probability=probability)


def find_followers(orders: pd.DataFrame) -> Codes:
    """Return the judges who follow the position, by the tests of all judges together, the strongest first."""
    adjusted = adjust_probabilities(orders["probability"].fillna(1.0).to_numpy())
    follow = orders[adjusted < _SIGNIFICANT]["position_bias"].abs().sort_values(ascending=False, kind="stable")
    return follow.index.to_numpy(np.intp)


def describe_orders(ballots: RepeatedVerdicts, about: str, first_order: str, heard: Values) -> PanelFacts:
    """Return a row per judge, and the judges who follow the position."""
    orders = compare_orders(ballots)
    followers, pairs = find_followers(orders), orders["pairs"].to_numpy()
    named = []
    for judge in followers[:_MAX_NAMED].tolist():
        bias, low, high = orders.loc[judge, ["position_bias", "low", "high"]].tolist()
        named.append({"judge": ballots.judges[judge], "bias": bias, "low": low, "high": high})
    notes = {
        "about": about,
        "first_order": first_order,
        "pairs": int(pairs.sum()),
        "same": int(orders["same"].sum()),
        "one_order": int(orders["one_order"].sum()),
        "known": bool(orders["position_bias"].notna().any()),
        "follow": len(followers),
        "named": named,
    }
    same = divide(orders["same"].to_numpy(np.float64), pairs.astype(np.float64))
    low, high = find_wilson_limits(np.nan_to_num(same), np.maximum(pairs, _EQUAL))
    limits = {"same_low": np.where(pairs > 0, low, np.nan), "same_high": np.where(pairs > 0, high, np.nan)}
    table = orders.assign(same=same, **limits)
    table.insert(0, "judge", list(map(str, ballots.judges.tolist())))
    shown = ["judge", "pairs", "one_order", "same", "same_low", "same_high", "first_twice", "second_twice"]
    table = table[[*shown, "position_bias", "low", "high", "probability"]]
    own = ballots.find(heard)
    columns = {"same_in_both_orders": same[own], "position_bias": orders["position_bias"].to_numpy()[own]}
    return PanelFacts({"orders": notes}, {"orders": list_columns(table)}, columns)


# Samples.


class Steadiness(NamedTuple):
    """Of each judge: on how many tasks it has several samples, how steady it is with limits, and its variance there."""

    tasks: Floats
    value: Floats
    low: Floats
    high: Floats
    within: Floats | None = None
    samples: Floats | None = None


def find_steadiness(ballots: RepeatedVerdicts) -> Steadiness:
    """Find how probably two samples of each judge on a task are the same."""
    from scipy.stats import t

    n_judges, n_labels = len(ballots.judges), ballots.answers.encoding.n_labels
    key, counts = np.unique(ballots.cell * n_labels + ballots.label, return_counts=True)
    cells, place = np.unique(key // n_labels, return_inverse=True)
    m = sum_by(place, counts.astype(np.float64), len(cells))
    same = divide(sum_by(place, counts * (counts - 1.0), len(cells)), m * (m - 1))
    who, place = np.unique(cells[m > 1] // ballots.n_orders, return_inverse=True)  # orders of a task go together
    value = _mean_by(place, same[m > 1], len(who))
    judge = who % n_judges
    n, total = (sum_by(judge, each, n_judges) for each in (np.ones(len(judge)), value))
    mean = divide(total, n)
    spread = divide(sum_by(judge, np.square(value - mean[judge]), n_judges), n)
    fewer = np.square(NORMAL_QUANTILE / t.ppf(0.975, np.maximum(n - 1, 1)))  # for the variance is estimated, too
    worth = np.where(spread > 0, divide((n - 1) * mean * (1 - mean), spread), n) * fewer
    low, high = find_wilson_limits(np.nan_to_num(mean), np.maximum(np.nan_to_num(worth), _EQUAL))
    nothing = np.where(n > 0, 0.0, np.nan)
    return Steadiness(n, mean, low + nothing, high + nothing)


def find_steadiness_of_scores(ballots: RepeatedVerdicts) -> Steadiness:
    """Find how two samples of each judge on a task correlate."""
    from scipy.stats import f

    n_judges, label = len(ballots.judges), ballots.label
    cells, place = np.unique(ballots.task * n_judges + ballots.judge, return_inverse=True)
    m, mean, who = np.bincount(place).astype(np.float64), _mean_by(place, label, len(cells)), cells % n_judges

    def add(values: Floats) -> Floats:
        return sum_by(who, values, n_judges)

    total, tasks = add(m), add(np.ones(len(cells)))
    inner = sum_by(who[place], np.square(label - mean[place]), n_judges)
    grand = divide(add(m * mean), total)
    within, between = divide(inner, total - tasks), divide(add(m * np.square(mean - grand[who])), tasks - 1)
    size = divide(total - divide(add(m * m), total), tasks - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = between / within
        degrees = tasks - 1, total - tasks
        limits = odds / f.ppf(0.975, *degrees), odds * f.ppf(0.975, *degrees[::-1])
        value, low, high = (np.where(np.isinf(each), 1.0, (each - 1) / (each + size - 1)) for each in (odds, *limits))
    return Steadiness(tasks, value, low, high, within, divide(total, tasks))


def _mean_by(place: Codes, values: Floats, n: int) -> Floats:
    return np.asarray(sum_by(place, values, n) / np.bincount(place, minlength=n))


def _list_sizes(size: Codes) -> Codes:
    """Return the numbers of samples to try: up to the usual number of them."""
    most = max(int(np.median(size)), 1)
    return np.array(sorted({each for each in _SIZES if each < most} | {most}), np.int64)


def _describe_samples(
    judges: Values, found: Steadiness, mean: float, sizes: Codes, worth: Floats, *, keep: float, by_gold: bool
) -> dict[str, Any]:
    value = np.where(found.tasks > 0, found.value, np.nan)
    least = int(np.nanargmin(value)) if np.isfinite(value).any() else 0
    limits = {"steadiness": found.value, "low": found.low, "high": found.high}
    return {
        "most": int(sizes[-1]),
        "steadiness": mean,
        "least_steady": {"judge": judges[least], **{name: float(each[least]) for name, each in limits.items()}},
        "enough": int(sizes[np.argmax(worth >= keep * worth[-1] - _EQUAL)]),
        "keep": keep,
        "right_from": "gold" if by_gold else "panel",
        "panel": dict(zip(map(str, sizes.tolist()), worth.tolist(), strict=True)),
    }


def describe_samples(ballots: RepeatedVerdicts, result: Result, odds: Floats, keep: float) -> list[PanelFacts]:
    """Return how steady judges are, and what fewer samples are worth; nothing where nobody has two."""
    found = find_steadiness(ballots)
    if not found.tasks.any():
        return []
    truth, by_gold = _find_truth(ballots, result)
    sizes = _list_sizes(np.unique(ballots.cell, return_counts=True)[1])
    own, every = ballots.find(result.run.workers), np.zeros(len(ballots.judges))
    every[own] = odds
    right, panel = np.empty((len(sizes), len(every))), np.empty(len(sizes))
    for place, k in enumerate(sizes.tolist()):
        drawn = [ballots] if k == sizes[-1] else list(_draw_samples(ballots, k))
        right[place] = np.mean([_count_right(each, truth) for each in drawn], axis=0)
        panel[place] = np.mean([_vote(each, truth, every) for each in drawn])
    mean = ratio(float((found.tasks * np.nan_to_num(found.value)).sum()), float(found.tasks.sum()))
    notes = _describe_samples(ballots.judges, found, mean, sizes, panel, keep=keep, by_gold=by_gold)
    names, rights = ["panel", *map(str, ballots.judges.tolist())], np.column_stack([panel, right])
    table = pd.DataFrame(
        {
            "judge": np.repeat(np.array(names, object), len(sizes)),
            "samples": np.tile(sizes, len(names)),
            "right": rights.T.ravel(),
            "kept": divide(rights, np.broadcast_to(rights[-1], rights.shape)).T.ravel(),
        }
    )
    columns = {"steadiness": found.value, "steadiness_low": found.low, "steadiness_high": found.high}
    judges = {name: column[own] for name, column in columns.items()}
    return [PanelFacts({"samples": notes}, {"samples": list_columns(table)}, judges)]


def describe_score_samples(ballots: RepeatedVerdicts, scores: Scores, keep: float) -> list[PanelFacts]:
    """Return how steady judges are, and what fewer samples are worth; nothing where nobody has two."""
    own = ballots.find(scores.run.workers)
    whole = find_steadiness_of_scores(ballots)
    found = whole._replace(**{name: column[own] for name, column in whole._asdict().items()})
    if not np.isfinite(found.value).any():
        return []
    assert found.within is not None
    sizes = _list_sizes(np.unique(ballots.task * len(ballots.judges) + ballots.judge, return_counts=True)[1])
    weight = scores.weighing.weight / scores.weighing.weight.sum()
    fewer = np.maximum(1 / sizes[:, None] - 1 / np.asarray(found.samples), 0.0)
    more = (np.square(weight) * np.nan_to_num(found.within) * fewer).sum(axis=1)
    worth = float(scores.whole.mean()) - more / scores.guess
    mean = float(np.nanmean(found.value))
    notes = _describe_samples(scores.run.workers, found, mean, sizes, worth, keep=keep, by_gold=scores.by_gold)
    kept = divide(worth, np.full(len(worth), worth[-1]))
    table = pd.DataFrame({"judge": "panel", "samples": sizes, "rmse": np.asarray(scores.error_of(worth)), "kept": kept})
    columns = {"steadiness": found.value, "steadiness_low": found.low, "steadiness_high": found.high}
    notes["unit"] = "correlation"
    judges = {**columns, "sample_sd": np.sqrt(found.within)}
    return [PanelFacts({"samples": notes}, {"samples": list_columns(table)}, judges)]


def _find_truth(ballots: RepeatedVerdicts, result: Result) -> tuple[Array, bool]:
    """Return, per task, the code of its gold label where these are enough, or else of the panel's verdict."""
    piece, encoding = result.found.joined(), result.run.encoding
    place = find_places(ballots.answers.tasks, piece.tasks)
    code = {label: number for number, label in enumerate(ballots.labels)}
    labels = np.array([code.get(each, NOBODY) for each in encoding.decode(piece.found["label"]).tolist()], np.intp)
    by_gold = result.run.n_gold >= MIN_GOLD and "known" in piece.found
    labels = np.where(piece.found["known"], labels, NOBODY) if by_gold else labels
    return np.where(place >= 0, labels[place], NOBODY), by_gold


def _draw_samples(ballots: RepeatedVerdicts, k: int) -> Iterator[RepeatedVerdicts]:
    """Draw k samples of each judge on each task, in each order, several times."""
    rng, own = np.random.default_rng(k), ballots.cell
    for _ in range(_DRAWS):
        order = np.lexsort((rng.random(len(own)), own))
        cell = own[order]
        first = np.append(True, cell[1:] != cell[:-1])
        rank = np.arange(len(cell)) - np.maximum.accumulate(np.where(first, np.arange(len(cell)), 0))
        drawn = np.zeros(len(cell), np.bool_)
        drawn[order[rank < k]] = True
        yield ballots.only(drawn)


def _count_right(ballots: RepeatedVerdicts, truth: Array) -> Floats:
    """Return how often the most frequent sample is right, of each judge, over tasks and orders with a known truth."""
    n_judges, n_labels = len(ballots.judges), ballots.answers.encoding.n_labels
    key, counts = np.unique(ballots.cell * n_labels + ballots.label, return_counts=True)
    task = key // n_labels // ballots.n_orders // n_judges
    cell, hit = _share_right(key, counts.astype(np.float64), n_labels, truth[task])
    known = truth[cell // ballots.n_orders // n_judges] != NOBODY
    judge = cell[known] // ballots.n_orders % n_judges
    return divide(sum_by(judge, hit[known], n_judges), sum_by(judge, np.ones(len(judge)), n_judges))


def _vote(ballots: RepeatedVerdicts, truth: Array, odds: Floats) -> float:
    """Return how often the panel is right if judges vote by their odds."""
    voices, n_labels = ballots.reconcile(), ballots.answers.encoding.n_labels
    heard = voices.label != NOBODY
    key, place = np.unique(voices.task[heard] * n_labels + voices.label[heard], return_inverse=True)
    if not len(key):
        return 0.0
    score = sum_by(place, odds[voices.judge[heard]], len(key))
    _, hit = _share_right(key, score, n_labels, truth[key // n_labels])
    return ratio(float(hit.sum()), float((truth != NOBODY).sum()))


def _share_right(key: Codes, score: Floats, n_labels: int, right: Array) -> tuple[Codes, Floats]:
    """Return the groups of keys, and of each how far the label with the highest score is right; equals share it.

    >>> _share_right(np.array([0, 1, 2, 3]), np.array([2.0, 1.0, 1.0, 1.0]), 2, np.zeros(4))
    (array([0, 1]), array([1. , 0.5]))
    """
    group = key // n_labels
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    length = np.diff([*first, len(key)])
    wins = score > np.repeat(np.maximum.reduceat(score, first), length) - _EQUAL
    hit = (wins & (key % n_labels == right)) / np.repeat(np.add.reduceat(wins.astype(np.float64), first), length)
    return group[first], np.add.reduceat(hit, first)
