"""Rates of positive tasks, and mean scores, from verdicts and gold labels.

A panel calls a share p of the tasks positive, some of them wrongly. Three estimators correct this share.

**Double sampling** (Tenenbein 1970). Gold labels yield the share of positive tasks among those called positive, g1, and
among the others, g0. The rate is ``p g1 + (1 - p) g0``. It needs gold labels on a random sample of all tasks, or of the
tasks with each verdict. The 95 % interval is Bayesian, with Kerman's (2011) neutral prior, Beta(1/3, 1/3), for each of
the three shares.

**Prediction-powered inference** (PPI++; Angelopoulos, Duchi and Zrnic 2023) works for any prediction f, such as the
panel's confidence or score. With n gold labels y and N other tasks, the mean of y is estimated by ::

    mean(y) + lambda (mean of f on the others - mean of f on the n),   lambda = cov(y, f) / ((1 + n / N) var(f)),

with the variance ``var(y - lambda f) / n + lambda^2 var(f) / N``, and Student's t for few gold labels. The interval is
valid for every f, and for large n at most as wide as without f. It needs a random sample of all tasks. For rates, the
interval is that with four more gold labels: a positive and a negative one, each predicted right and wrong (as Agresti
and Coull 1998). Otherwise it would be too narrow, because few gold labels may contain no error of the panel.

**Rogan and Gladen** (1978). Gold labels yield the sensitivity and the specificity of the panel. The rate is
``(p + specificity - 1) / (sensitivity + specificity - 1)``, with the interval of Lang and Reiczigel (2014). It is also
valid for gold labels that were selected by their values, or that come from other tasks with another rate. If the panel
barely separates positive from negative tasks, the interval is 0 to 1. If the whole interval is outside 0 to 1, the
errors of the panel differ from those on the gold labels (a misfit).

**Groups.** The rate of a group with at least twenty gold labels is estimated from them. Other groups use the errors of
the panel on all tasks (Rogan and Gladen). They have no rate if errors differ between groups (chi-squared test, 1 %).

**Further gold labels** are split between tasks called positive and negative by Neyman (1934) allocation: in proportion
to the number of tasks times the standard deviation of their labels. This narrows the interval most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.columns.hashes import mix
from allalike._core.lazy_imports import pd, special, stats
from allalike._core.registry import did_you_mean
from allalike.domains import Encoding, Kernels
from allalike.engines import Run, TaskTable
from allalike.errors import OptionError, UnknownNameError
from allalike.panels.summary import MAX_NAMED, ConfidenceInterval, GroupRate, MeanScore, Rate
from allalike.panels.verdicts import NORMAL, Statistics, divide

Groups = tuple[str, Mapping[str, str]]  # a column, and its value for each task

NEGATIVE, POSITIVE = 0, 1  # verdicts
PRIOR = 1 / 3
_LIMITS = (0.025, 0.975)
_DRAWS = 20_000  # for intervals that are accurate to 1 % of their width
_SIGNIFICANCE = 0.01  # level of the test for different errors between groups
_FURTHER = 50  # gold labels to collect next
_MIN_OWN = 20  # minimum number of gold labels for the rate of a group, or for a mean
_MAX_LISTED = 10  # labels in a message
_BOUND = re.compile(r"([<>]=?)\s*([-+.\d]+)")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class Estimate(NamedTuple):
    """An estimate with its 95 % confidence interval."""

    estimate: float
    ci_low: float
    ci_high: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


class Counts(NamedTuple):
    """Number of tasks, gold labels and positive gold labels, among tasks called negative and tasks called positive.

    >>> counts = Counts.of(np.array([1, 1, 0, 0]), np.array([1.0, 0.0, np.nan, 0.0]))
    >>> counts.tasks, counts.known, counts.positive, counts.apparent
    (array([2., 2.]), array([1., 2.]), array([0., 1.]), 0.5)
    """

    tasks: Floats
    known: Floats
    positive: Floats

    @classmethod
    def of(cls, verdict: npt.NDArray[np.intp], truth: Floats) -> Counts:
        """Count tasks by verdict (0 or 1) and truth (0, 1, or NaN if unknown)."""
        chosen = (slice(None), ~np.isnan(truth), truth == POSITIVE)
        return cls(*(np.bincount(verdict[some], minlength=2).astype(np.float64) for some in chosen))

    @property
    def apparent(self) -> float:
        """Share of tasks that the panel calls positive."""
        return float(self.tasks[POSITIVE] / self.tasks.sum())

    @property
    def truly(self) -> Floats:
        """Number of negative and of positive gold labels."""
        return np.array([(self.known - self.positive).sum(), self.positive.sum()])

    @property
    def called_right(self) -> Floats:
        """Number of true negatives and of true positives among gold labels."""
        return np.array([self.known[NEGATIVE] - self.positive[NEGATIVE], self.positive[POSITIVE]])

    @property
    def hit_rates(self) -> Floats:
        """Specificity and sensitivity; NaN without a gold label."""
        return divide(self.called_right, self.truly)


def estimate_rate(counts: Counts) -> Estimate:
    """Estimate the rate of positive tasks by double sampling.

    >>> perfect = Counts(np.array([50.0, 150.0]), np.array([10.0, 30.0]), np.array([0.0, 30.0]))
    >>> [round(each, 2) for each in estimate_rate(perfect)]
    [0.75, 0.68, 0.81]
    """
    if not counts.known.any():
        return UNKNOWN
    p, share = counts.apparent, np.where(counts.known > 0, counts.positive / np.maximum(counts.known, 1), 0.5)
    estimate = p * float(share[POSITIVE]) + (1 - p) * float(share[NEGATIVE])
    hits = np.array([counts.tasks[POSITIVE], *counts.positive]) + PRIOR
    misses = np.array([counts.tasks[NEGATIVE], *(counts.known - counts.positive)]) + PRIOR
    called, bad, good = np.random.default_rng(0).beta(hits, misses, (_DRAWS, 3)).T
    low, high = np.quantile(called * good + (1 - called) * bad, _LIMITS).tolist()
    return Estimate(estimate, min(low, estimate), max(high, estimate))


def estimate_mean(label: Floats, predicted: Floats, others: Floats, quantile: float | None = None) -> Estimate:
    """Estimate a mean by PPI++ from gold labels and predictions for these and for other tasks.

    The default ``quantile`` for the interval is that of Student's t.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(5, 1, 10_000)
    >>> scores = truth + rng.normal(0, 0.5, 10_000) + 1
    >>> [round(each, 2) for each in estimate_mean(truth[:100], scores[:100], scores[100:])]
    [5.07, 4.98, 5.16]
    """
    n, n_others, power = len(label), len(others), 0.0
    if n < 2:
        return UNKNOWN
    variance = float(np.var(np.concatenate([predicted, others]), ddof=1))
    if n_others and variance > 0:
        power = float(np.clip(np.cov(label, predicted)[0, 1] / ((1 + n / n_others) * variance), 0.0, 1.0))
    estimate, square = float(label.mean()), float(np.var(label - power * predicted, ddof=1)) / n
    if power:
        estimate += power * float(others.mean() - predicted.mean())
        square += power**2 * variance / n_others
    half = float(special.stdtrit(n - 1, _LIMITS[1]) if quantile is None else quantile) * math.sqrt(square)
    return Estimate(estimate, estimate - half, estimate + half)


def estimate_share(truth: Floats, predicted: Floats, others: Floats) -> Estimate:
    """Estimate a share by PPI++ from gold labels (0 or 1) and predictions (0 to 1); the interval adds four gold labels.

    >>> perfect, others = np.resize([1.0, 0.0], 20), np.resize([1.0, 0.0], 200)
    >>> [round(each, 2) for each in estimate_share(perfect, perfect, others)]
    [0.5, 0.37, 0.63]
    """
    plain = estimate_mean(truth, predicted, others).estimate
    more = estimate_mean(np.append(truth, [1, 1, 0, 0]), np.append(predicted, [1, 0, 1, 0]), others, NORMAL)
    return Estimate(plain, max(min(more.ci_low, plain), 0.0), min(max(more.ci_high, plain), 1.0))


def correct_rate(counts: Counts, tasks: Floats | None = None) -> tuple[Estimate, bool]:
    """Correct the share called positive by sensitivity and specificity; also return whether there is a misfit.

    The share is that of ``tasks``, by default those without gold labels. For the interval, two gold labels of each kind
    are added, half of them called correctly.

    >>> counts = Counts(np.array([600.0, 400.0]), np.array([160.0, 240.0]), np.array([20.0, 180.0]))
    >>> [round(each, 4) for each in correct_rate(counts, counts.tasks)[0]]
    [0.1667, 0.0564, 0.2627]
    """
    asked = counts.tasks - counts.known if tasks is None else tasks
    asked = asked if asked.sum() else counts.tasks
    if not counts.truly.all():
        return UNKNOWN, False
    p, slope = float(asked[POSITIVE] / asked.sum()), float(counts.hit_rates.sum()) - 1
    plain = min(max((p + float(counts.hit_rates[NEGATIVE]) - 1) / slope, 0.0), 1.0) if slope > 0 else math.nan
    truths = counts.truly + 2
    hit, size = (counts.called_right + 1) / truths, float(asked.sum()) + NORMAL**2
    slope = float(hit.sum()) - 1
    if slope <= 0:
        return Estimate(plain, 0.0, 1.0), False

    def find_limits(rate: float) -> tuple[float, float]:
        bad, good = (hit * (1 - hit) / truths).tolist()
        called = rate * slope + 1 - float(hit[NEGATIVE])
        variance = called * (1 - called) / size + (1 - rate) ** 2 * bad + rate**2 * good
        middle = rate + 2 * NORMAL**2 * (rate * good - (1 - rate) * bad)
        half = NORMAL * math.sqrt(variance) / slope
        return middle - half, middle + half

    rate = ((float(asked[POSITIVE]) + NORMAL**2 / 2) / size + float(hit[NEGATIVE]) - 1) / slope
    low, high = find_limits(rate)
    if misfit := low >= 1 or high <= 0:
        low, high = find_limits(min(max(rate, 0.0), 1.0))
    return Estimate(plain, max(low, 0.0), min(high, 1.0)), misfit


def have_equal_errors(parts: Sequence[Counts]) -> bool:
    """Return whether groups have the same specificity and sensitivity, by chi-squared tests (Bonferroni).

    >>> good = Counts(np.array([500.0, 500.0]), np.array([50.0, 50.0]), np.array([5.0, 45.0]))
    >>> poor = Counts(np.array([500.0, 500.0]), np.array([50.0, 50.0]), np.array([20.0, 30.0]))
    >>> have_equal_errors([good, good]), have_equal_errors([good, poor])
    (True, False)
    """
    right, known = (np.array([getattr(part, name) for part in parts]) for name in ("called_right", "truly"))
    for truth in (NEGATIVE, POSITIVE):
        table = np.array([right[:, truth], (known - right)[:, truth]])[:, known[:, truth] > 0]
        if table.sum(axis=1).all() and stats.chi2_contingency(table, correction=False).pvalue < _SIGNIFICANCE / 2:
            return False
    return True


def allot_gold(counts: Counts, number: int = _FURTHER) -> npt.NDArray[np.int64]:
    """Return the number of further gold labels to collect among tasks called negative and tasks called positive.

    >>> allot_gold(Counts(np.array([1e4, 3e4]), np.array([25.0, 75.0]), np.array([5.0, 70.0])))
    array([17, 33])
    """
    share = (counts.positive + PRIOR) / (counts.known + 2 * PRIOR)
    part = counts.tasks / counts.tasks.sum() * np.sqrt(share * (1 - share))
    return np.asarray(np.minimum(np.round(number * part / part.sum()), counts.tasks - counts.known), np.int64)


def choose_positive(encoding: Encoding, positive: Sequence[Any]) -> Callable[[Array], Array]:
    """Return a function that marks positive labels: classes or levels by code, or numbers within bounds.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, 2.5), ("bob", 1, 4.0)], domain="real")
    >>> choose_positive(answers.encoding, [">=3"])(answers.label)
    array([False,  True])
    """
    has_numbers = encoding.n_classes is None and encoding.numeric
    names = [] if has_numbers else list(map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()))
    chosen, tests = np.zeros(len(names), np.bool_), []
    for each in map(str, positive):
        bound = None if encoding.nominal else _BOUND.fullmatch(each.strip())
        if bound is None and not has_numbers:
            if each not in names:
                listed = ", ".join(names[:_MAX_LISTED]) + (", ..." if len(names) > _MAX_LISTED else "")
                raise UnknownNameError(
                    f"positive is {each!r}, which is not a verdict.{did_you_mean(each, names)} Verdicts: {listed}."
                )
            chosen[names.index(each)] = True
            continue
        try:
            tests.append((np.equal, float(each)) if bound is None else (_COMPARE[bound[1]], float(bound[2])))
            values = np.array(names, np.float64)
        except ValueError:
            what = "labels are numbers. Write a bound, such as '>=4'" if has_numbers else "the levels are not numbers"
            raise OptionError(f"positive is {each!r}, but {what}.") from None
        chosen |= tests[-1][0](values, tests[-1][1])
    if chosen.all() and len(names) > 1:
        raise OptionError(f"positive names every label, {', '.join(names)}, so the rate is 1. Leave out at least one.")
    if has_numbers:
        return lambda labels: np.asarray(np.any([compare(labels, bound) for compare, bound in tests], axis=0))
    return lambda labels: np.isin(labels, np.flatnonzero(chosen))


def find_gold(run: Run) -> Floats:
    """Return the gold label of each task as a number or a code; NaN if there is none."""
    return np.asarray(run.collect(partial(_mark_gold, kernels=run.kernels))["truth"], np.float64)


def _mark_gold(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = kernels.restore_gold(block)
    return {"truth": truth}


def describe_rate(
    run: Run, verdicts: TaskTable, positive: Sequence[Any], groups: Groups | None, *, by_truth: bool, inferred: bool
) -> tuple[Statistics, Rate]:
    """Estimate the rate of all tasks and of each group, and list further gold labels to collect.

    ``verdicts`` do not use gold labels. ``by_truth`` is true if gold labels were selected by their labels.
    """
    is_positive, piece, gold = choose_positive(run.encoding, positive), verdicts.joined(), find_gold(run)
    verdict, known = np.asarray(is_positive(piece.found["label"])).astype(np.intp), ~np.isnan(gold)
    truth = np.where(known, is_positive(gold), np.nan)
    counts, powered = Counts.of(verdict, truth), None
    rate, misfit = correct_rate(counts) if by_truth else (estimate_rate(counts), False)
    if known.any() and not by_truth:
        confidence = piece.found["confidence"] if run.encoding.nominal else 1.0
        predicted = np.where(verdict == POSITIVE, confidence, 1 - confidence)
        powered = ConfidenceInterval(**estimate_share(truth[known], predicted[known], predicted[~known])._asdict())
    rows = [_list_row("", counts, rate)]
    if groups is not None:
        group = np.array([groups[1].get(str(task), "") for task in piece.tasks.tolist()], object)
        rows += _estimate_groups(group, verdict, truth, by_truth=by_truth)
    facts = Rate(
        **rate._asdict(),
        positive=tuple(positive),
        inferred=inferred,
        tasks=int(counts.tasks.sum()),
        known=int(counts.known.sum()),
        apparent=counts.apparent,
        sensitivity=float(counts.hit_rates[POSITIVE]),
        specificity=float(counts.hit_rates[NEGATIVE]),
        drawn="truth" if by_truth else "random",
        prediction_powered=powered,
        misfit=misfit,
        by=groups and groups[0],
        groups=tuple(rows[1 : MAX_NAMED + 1]) if groups else None,
    )
    ask, order = [], mix(piece.tasks.hashes())  # random tasks to label next
    for called, number in enumerate(allot_gold(counts)):
        places = np.flatnonzero((verdict == called) & ~known)
        ask += places[np.argsort(order[places], kind="stable")][:number].tolist()
    further = {"task": piece.tasks.take(np.array(ask, np.intp)).tolist(), "called_positive": verdict[ask] == POSITIVE}
    table = pd.DataFrame([msgspec.structs.asdict(row) for row in rows])
    return Statistics({"rate": facts}, {"rates": table, "ask": pd.DataFrame(further)}), facts


def _estimate_groups(group: Array, verdict: npt.NDArray[np.intp], truth: Floats, *, by_truth: bool) -> list[GroupRate]:
    """Estimate the rate of each group, from its own gold labels or, if errors do not differ, from all gold labels."""
    parts = {name: Counts.of(verdict[group == name], truth[group == name]) for name in sorted({*group.tolist()})}
    counts, are_equal, rows = Counts.of(verdict, truth), have_equal_errors(list(parts.values())), []
    for name, part in parts.items():
        if part.known.sum() >= _MIN_OWN:
            rows.append(_list_row(name, part, correct_rate(part)[0] if by_truth else estimate_rate(part)))
        else:
            rows.append(_list_row(name, part, correct_rate(counts, part.tasks)[0] if are_equal else UNKNOWN, "all"))
    return rows


def _list_row(group: str, counts: Counts, rate: Estimate, source: str = "own") -> GroupRate:
    tasks, known = int(counts.tasks.sum()), int(counts.known.sum())
    return GroupRate(group, tasks, known, counts.apparent, *rate, "" if math.isnan(rate.estimate) else source)


def describe_mean(run: Run, verdicts: TaskTable) -> Statistics:
    """Estimate the mean of numeric labels by PPI++, and from gold labels alone; empty with too few gold labels."""
    truth, label = find_gold(run), np.asarray(verdicts.joined().found["label"], np.float64)
    known, there = ~np.isnan(truth), ~np.isnan(label)
    if (known & there).sum() < _MIN_OWN:
        return Statistics({})
    mean = estimate_mean(truth[known & there], label[known & there], label[~known & there])
    alone = ConfidenceInterval(**estimate_mean(truth[known], truth[known], np.empty(0))._asdict())
    facts = MeanScore(**mean._asdict(), known=int(known.sum()), apparent=label[there].mean(), gold_only=alone)
    return Statistics({"mean": facts})
