"""Rates and means: the share of tasks that are truly good, and the mean score, from verdicts and some gold labels.

A panel calls a share p of the tasks good, and errs. Three estimators correct it.

**Double sampling** (Tenenbein 1970). Gold labels show which share of the tasks called good is good, g1, and which of
those called not good, g0. The rate is ``p g1 + (1 - p) g0``, with the variance ::

    p^2 g1 (1 - g1) / n1 + (1 - p)^2 g0 (1 - g0) / n0 + (g1 - g0)^2 p (1 - p) / N

for n1 and n0 gold labels among N tasks. It needs a random sample of gold labels, of all tasks or of those with one
verdict. The 95 % interval is that of Bayes, with Kerman's neutral prior, Beta(1/3, 1/3), for each of the three shares.

**Prediction-powered inference** (PPI++; Angelopoulos, Duchi and Zrnic 2023) for any prediction f, such as the panel's
confidence or score. With n gold labels y and N other tasks, the mean of y is estimated by ::

    mean(y) + lambda (mean of f on the others - mean of f on the n),   lambda = cov(y, f) / ((1 + n / N) var(f)),

with the variance ``var(y - lambda f) / n + lambda^2 var(f) / N``, and Student's t for few gold labels. Whatever f is,
the interval is valid, and for large n not wider than without f. It needs a random sample of all tasks.

**Rogan and Gladen** (1978). Gold labels show how often good tasks are called good, the sensitivity, and how often
others are not, the specificity. The rate is ``(p + specificity - 1) / (sensitivity + specificity - 1)``, with the
interval of Lang and Reiczigel (2014). It holds also for gold labels that were selected by their labels, or that come
from other tasks with another rate. If the panel hardly separates good from bad, the interval is 0 to 1. If the whole
interval lies outside of 0 and 1, the panel errs here in another way than on gold labels (a misfit).

**Further gold labels.** Those of n1 tasks called good and of n0 others reduce the first two parts of the variance most
if n1 and n0 are in proportion to the roots of these parts times n (Neyman 1934). The last part stays, so that the
interval cannot always be halved.

**Groups.** A group with twenty gold labels of its own has a rate from these. Any other has one by the errors of the
panel on all tasks (Rogan and Gladen), unless these differ between groups.

References
----------
Tenenbein, A double sampling scheme for estimating from binomial data with misclassifications, JASA 65, 1970. Rogan and
Gladen, Estimating prevalence from the results of a screening test, Am. J. Epidemiology 107, 1978. Lang and Reiczigel,
Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity, Preventive Veterinary
Medicine 113, 2014. Kerman, Neutral noninformative and informative conjugate beta and gamma prior distributions,
Electronic Journal of Statistics 5, 2011. Angelopoulos, Duchi and Zrnic, PPI++: Efficient prediction-powered inference,
arXiv:2311.01453, 2023.
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
from allalike._core.late import pd
from allalike._core.registry import did_you_mean
from allalike.domains import Encoding, Kernels
from allalike.engines import Run, TaskTable
from allalike.errors import OptionError, UnknownNameError
from allalike.panels.summary import FurtherGold, GoldSelection, GroupRate, GroupRates, IntervalFacts, MeanScore, Rate
from allalike.panels.verdicts import NO_LABEL, NORMAL, Statistics, divide, ratio

BAD, GOOD = 0, 1  # verdicts
PRIOR = 1 / 3
_LIMITS = (0.025, 0.975)
_DRAWS = 20_000  # after which limits are known to 1 % of their width
_FIRST = 50  # gold labels to begin with
_HALVINGS = 60
_ROUNDING = 1e-6
_MIN_OWN = 20  # gold labels of a group that suffice for its rate, or of all tasks for a mean
_SIGNIFICANCE = 0.01
_MAX_NAMED = 20  # groups in a summary
_MAX_LISTED = 10
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
_BOUND = re.compile(rf"([<>]=?)\s*({_NUMBER.pattern})")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal}


class Estimate(NamedTuple):
    """A share of tasks or a mean, with its 95 % confidence interval; NaN if unknown."""

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def facts(self) -> IntervalFacts:
        """The same for a summary."""
        return IntervalFacts(estimate=self.estimate, low=self.low, high=self.high)

    def minus(self, then: Estimate) -> Estimate:
        """Return the difference of two rates, with an interval from theirs, as if they were independent (MOVER).

        >>> [round(each, 2) for each in Estimate(0.5, 0.44, 0.56).minus(Estimate(0.8, 0.72, 0.85))]
        [-0.3, -0.38, -0.2]
        """
        difference = self.estimate - then.estimate
        low = difference - math.hypot(self.estimate - self.low, then.high - then.estimate)
        high = difference + math.hypot(self.high - self.estimate, then.estimate - then.low)
        return Estimate(difference, low, high)


class Counts(NamedTuple):
    """Number of tasks, gold labels and good gold labels, of the tasks called not good and called good.

    >>> counts = Counts.of(np.array([1, 1, 0, 0]), np.array([1.0, 0.0, np.nan, 0.0]))
    >>> counts.tasks, counts.known, counts.good, counts.apparent
    (array([2., 2.]), array([1., 2.]), array([0., 1.]), 0.5)
    """

    tasks: Floats
    known: Floats
    good: Floats

    @classmethod
    def of(cls, verdict: npt.NDArray[np.intp], truth: Floats) -> Counts:
        """Count tasks by verdict (0 or 1) and truth (0, 1, or NaN if unknown)."""
        chosen = (slice(None), ~np.isnan(truth), truth == GOOD)
        return cls(*(np.bincount(verdict[some], minlength=2).astype(np.float64) for some in chosen))

    @property
    def apparent(self) -> float:
        """The share that the panel calls good."""
        return ratio(float(self.tasks[GOOD]), float(self.tasks.sum()))

    @property
    def truly(self) -> Floats:
        """The number of gold labels that are not good, and good."""
        return np.array([(self.known - self.good).sum(), self.good.sum()])

    @property
    def called_right(self) -> Floats:
        """The number of gold labels that the panel calls rightly not good, and good."""
        return np.array([self.known[BAD] - self.good[BAD], self.good[GOOD]])

    @property
    def hit_rates(self) -> Floats:
        """Specificity and sensitivity; NaN without a gold label."""
        return divide(self.called_right, self.truly)


def estimate_rate(counts: Counts) -> Estimate:
    """Estimate the rate by double sampling.

    >>> perfect = Counts(np.array([50.0, 150.0]), np.array([10.0, 30.0]), np.array([0.0, 30.0]))
    >>> [round(each, 2) for each in estimate_rate(perfect)]
    [0.75, 0.68, 0.81]
    """
    if not counts.known.any():
        return Estimate()
    p, share = counts.apparent, np.where(counts.known > 0, counts.good / np.maximum(counts.known, 1), 0.5)
    estimate = p * float(share[GOOD]) + (1 - p) * float(share[BAD])
    hits = np.array([counts.tasks[GOOD], *counts.good]) + PRIOR
    misses = np.array([counts.tasks[BAD], *(counts.known - counts.good)]) + PRIOR
    called, bad, good = np.random.default_rng(0).beta(hits, misses, (_DRAWS, 3)).T
    low, high = np.quantile(called * good + (1 - called) * bad, _LIMITS).tolist()
    return Estimate(estimate, min(low, estimate), max(high, estimate))


def estimate_mean(label: Floats, predicted: Floats, others: Floats) -> tuple[Estimate, float]:
    """Estimate a mean by PPI++ from gold labels, their predictions, and those of other tasks; return lambda as well.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(5, 1, 10_000)
    >>> scores = truth + rng.normal(0, 0.5, 10_000) + 1
    >>> found, power = estimate_mean(truth[:100], scores[:100], scores[100:])
    >>> [round(each, 2) for each in found], round(power, 2)
    ([5.07, 4.98, 5.16], 0.75)
    """
    from scipy.stats import t

    n, n_others = len(label), len(others)
    if n < 2:
        return Estimate(), 0.0
    covariance = float(np.cov(label, predicted)[0, 1])
    variance = float(np.var(np.concatenate([predicted, others]), ddof=1))
    power = min(max(ratio(covariance, (1 + n / n_others) * variance), 0.0), 1.0) if n_others and variance > 0 else 0.0
    estimate, square = float(label.mean()), float(np.var(label - power * predicted, ddof=1)) / n
    if power:
        estimate += power * float(others.mean() - predicted.mean())
        square += power**2 * variance / n_others
    half = float(t.ppf(_LIMITS[1], n - 1)) * math.sqrt(square)
    return Estimate(estimate, estimate - half, estimate + half), power


def correct_rate(counts: Counts, tasks: Floats | None = None) -> Estimate:
    """Correct the share called good, of some tasks or of those without gold labels, by sensitivity and specificity.

    >>> counts = Counts(np.array([600.0, 400.0]), np.array([160.0, 240.0]), np.array([20.0, 180.0]))
    >>> [round(each, 4) for each in correct_rate(counts, counts.tasks)]
    [0.1667, 0.0564, 0.2627]
    """
    return _correct(counts, tasks)[0]


def is_misfit(counts: Counts, tasks: Floats | None = None) -> bool:
    """Return whether no rate explains the share called good, if the panel errs as on gold labels.

    >>> counts = Counts(np.array([10.0, 990.0]), np.array([110.0, 90.0]), np.array([30.0, 70.0]))
    >>> is_misfit(counts, counts.tasks), [round(each, 2) for each in correct_rate(counts, counts.tasks)]
    (True, [1.0, 0.82, 1.0])
    """
    return _correct(counts, tasks)[1]


def _correct(counts: Counts, tasks: Floats | None) -> tuple[Estimate, bool]:
    """Return the corrected rate, and whether no rate fits; two more gold labels of each kind are added, half right."""
    asked = counts.tasks - counts.known if tasks is None else tasks
    asked = asked if asked.sum() else counts.tasks
    if not counts.truly.all() or not asked.sum():
        return Estimate(), False
    p, slope = float(asked[GOOD] / asked.sum()), float(counts.hit_rates.sum()) - 1
    plain = min(max((p + float(counts.hit_rates[BAD]) - 1) / slope, 0.0), 1.0) if slope > 0 else math.nan
    truths = counts.truly + 2
    hit, size = (counts.called_right + 1) / truths, float(asked.sum()) + NORMAL**2
    slope = float(hit.sum()) - 1
    if slope <= 0:
        return Estimate(plain, 0.0, 1.0), False

    def find_limits(rate: float) -> tuple[float, float]:
        bad, good = (hit * (1 - hit) / truths).tolist()
        called = rate * slope + 1 - float(hit[BAD])
        variance = called * (1 - called) / size + (1 - rate) ** 2 * bad + rate**2 * good
        middle = rate + 2 * NORMAL**2 * (rate * good - (1 - rate) * bad)
        half = NORMAL * math.sqrt(variance) / slope
        return middle - half, middle + half

    rate = ((float(asked[GOOD]) + NORMAL**2 / 2) / size + float(hit[BAD]) - 1) / slope
    low, high = find_limits(rate)
    if misfit := low >= 1 or high <= 0:
        low, high = find_limits(min(max(rate, 0.0), 1.0))
    low, high = np.clip([low, high], 0.0, 1.0).tolist()
    return Estimate(plain, low, high), misfit


class GoldPlan(NamedTuple):
    """Further gold labels to collect by verdict, and the relative width of the interval with them and with all."""

    labels: npt.NDArray[np.int64]
    width: float
    reach: float

    @property
    def total(self) -> int:
        """The number of gold labels of both verdicts."""
        return int(self.labels.sum())

    @property
    def facts(self) -> FurtherGold:
        """The same for a summary."""
        bad, good = self.labels.tolist()
        counts = {"truths": self.total, "called_good": good, "called_other": bad}
        return FurtherGold(**counts, width=self.width, least_width=self.reach)


def plan_gold(counts: Counts) -> GoldPlan:
    """Find the fewest further gold labels that halve the interval, or bring half of what gold labels can.

    Without any, they are the first fifty.

    >>> plan_gold(Counts(np.array([1e4, 3e4]), np.array([25.0, 75.0]), np.array([5.0, 70.0]))).labels
    array([110, 180])
    """
    if not counts.known.any():
        part = min(_FIRST / max(float(counts.tasks.sum()), 1.0), 1.0)
        return GoldPlan(np.ceil(counts.tasks * part).astype(np.int64), np.nan, np.nan)
    share, p = (counts.good + PRIOR) / (counts.known + 2 * PRIOR), counts.apparent
    fixed = float(share[GOOD] - share[BAD]) ** 2 * p * (1 - p) / float(counts.tasks.sum())
    spread = np.array([1 - p, p]) ** 2 * share * (1 - share)

    def variance(known: Floats) -> float:
        return float((spread / (known + 2 * PRIOR)).sum()) + fixed

    def allot(level: float) -> Floats:
        return np.clip(level * np.sqrt(spread), counts.known, counts.tasks)

    now, least = variance(counts.known), variance(counts.tasks)
    aim = now / 4 if least <= now / 4 else (now + least) / 2
    few, many = 0.0, float(counts.tasks.max() / np.sqrt(spread).min())
    for _ in range(_HALVINGS):
        middle = (few + many) / 2
        few, many = (few, middle) if variance(allot(middle)) <= aim else (middle, many)
    further = np.ceil(allot(many) - counts.known - _ROUNDING)
    width = np.sqrt(variance(counts.known + further) / now)
    return GoldPlan(further.astype(np.int64), float(width), float(np.sqrt(least / now)))


# Good labels: some classes or levels, or numbers within bounds.


def choose_good(encoding: Encoding, good: Sequence[Any]) -> Callable[[Array], Array]:
    """Return the function that marks good labels, as codes: some classes or levels, or numbers within bounds.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, 2.5), ("bob", 1, 4.0)], domain="real")
    >>> choose_good(answers.encoding, [">=3"])(answers.label)
    array([False,  True])
    """
    if encoding.n_classes is None and encoding.numeric:
        return partial(_meets_any, bounds=[*map(_need_bound, good)])
    bounds = [_read_bound(each) for each in good]
    if encoding.nominal or not any(bounds):
        return partial(np.isin, test_elements=find_codes(encoding, good))
    levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
    numbers = [float(text) if _NUMBER.fullmatch(text) else math.nan for text in map(str, levels)]
    if any(map(math.isnan, numbers)):
        raise OptionError(f"good is {good[0]!r}, but the levels are not numbers. Name those that are good.")
    within = _meets_any(np.array(numbers), bounds=[bound for bound in bounds if bound])
    named = [each for each, bound in zip(good, bounds, strict=True) if not bound]
    return partial(np.isin, test_elements=np.union1d(np.flatnonzero(within), find_codes(encoding, named)))


def _read_bound(good: Any) -> tuple[str, float] | None:
    found = _BOUND.fullmatch(str(good).strip())
    return None if found is None else (found[1], float(found[2]))


def _need_bound(good: Any) -> tuple[str, float]:
    try:
        return _read_bound(good) or ("==", float(good))
    except (TypeError, ValueError):
        raise OptionError(f"good is {good!r}, and labels are numbers. Write a bound, such as '>=4'.") from None


def _meets_any(numbers: Array, *, bounds: Sequence[tuple[str, float]]) -> Array:
    return np.asarray(np.any([_COMPARE[sign](numbers, number) for sign, number in bounds], axis=0))


def find_codes(encoding: Encoding, good: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the codes of some labels, which must be among those that judges gave.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "yes"), ("bob", 1, "no")], domain="categorical")
    >>> find_codes(answers.encoding, ["yse"])
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No verdict is 'yse'. Did you mean 'yes'? The verdicts are: no, yes.
    """
    known = {str(label): code for code, label in enumerate(encoding.decode(np.arange(encoding.n_labels)).tolist())}
    if len(good) >= len(known) > 1 and {*map(str, good)} >= known.keys():
        raise OptionError(f"good names every label, {', '.join(known)}, so that all tasks are. Leave some out.")
    if missing := [str(label) for label in good if str(label) not in known]:
        listed = ", ".join(list(known)[:_MAX_LISTED]) + (", ..." if len(known) > _MAX_LISTED else "")
        close = did_you_mean(missing[0], known)
        raise UnknownNameError(f"No verdict is {missing[0]!r}.{close} The verdicts are: {listed}.")
    return np.array([known[str(label)] for label in good], np.int64)


# PanelFacts of a panel.


def describe_rate(
    run: Run,
    found: TaskTable,
    good: Sequence[Any],
    groups: tuple[str, Mapping[str, str]] | None,
    *,
    by_truth: bool,
    inferred: bool,
) -> tuple[Statistics, Estimate]:
    """Return the rate of all tasks and of each group, the errors of the panel, and further gold labels to collect.

    ``found`` are the verdicts without gold labels; ``by_truth`` says that these were selected by their labels.
    """
    is_good, piece = choose_good(run.encoding, good), found.joined()
    verdict = np.asarray(is_good(piece.found["label"])).astype(np.intp)
    truth: Floats = run.collect(partial(mark_gold, kernels=run.kernels, value=is_good))["truth"]
    counts, known = Counts.of(verdict, truth), ~np.isnan(truth)
    estimate = correct_rate if by_truth else estimate_rate
    rate = estimate(counts)
    plan = plan_gold(counts._replace(known=np.zeros(2), good=np.zeros(2)) if by_truth else counts)
    confidence = piece.found["confidence"] if run.encoding.nominal else 1.0
    predicted = np.where(verdict == GOOD, confidence, 1 - confidence)
    parts: dict[str, Counts] = {}
    own: list[GroupRate] = []
    misfits: list[str] = []
    if groups is not None:
        names = np.array([groups[1].get(str(task), "") for task in piece.tasks.tolist()], object)
        parts = {name: Counts.of(verdict[names == name], truth[names == name]) for name in sorted({*names.tolist()})}
        own, misfits = _list_groups(parts, counts, estimate)
    facts = Rate(
        good=tuple(good),
        inferred=inferred,
        tasks=int(counts.tasks.sum()),
        known=int(counts.known.sum()),
        apparent=counts.apparent,
        **rate._asdict(),
        sensitivity=float(counts.hit_rates[GOOD]),
        specificity=float(counts.hit_rates[BAD]),
        drawn="truth" if by_truth else "random",
        double_sampling=estimate_rate(counts).facts,
        rogan_gladen=correct_rate(counts).facts,
        prediction_powered=None if by_truth or not known.any() else _power_rate(truth, predicted),
        misfit=is_misfit(counts),
        picked=_compare_selection(counts),
        ask=plan.facts,
        groups=groups and GroupRates(groups[0], len(parts), tuple(own[:_MAX_NAMED]), tuple(misfits)),
    )
    picked = _draw_tasks(plan, np.where(known, NO_LABEL, verdict), piece.tasks.hashes())
    ask = pd.DataFrame({"task": piece.tasks.take(picked).tolist(), "called_good": verdict[picked] == GOOD})
    rates = pd.DataFrame([msgspec.structs.asdict(row) for row in (_list_row("", counts, rate, "own"), *own)])
    return Statistics({"rate": facts}, {"rates": rates, "ask": ask}), rate


def _power_rate(truth: Floats, predicted: Floats) -> IntervalFacts:
    known = ~np.isnan(truth)
    mean, _ = estimate_mean(truth[known], predicted[known], predicted[~known])
    return IntervalFacts(estimate=mean.estimate, low=max(mean.low, 0.0), high=min(mean.high, 1.0))


def _draw_tasks(plan: GoldPlan, verdict: Array, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the tasks to label next, at random among those with one verdict by the hashes of ids."""
    picked, mixed = [], mix(hashes)
    for each in (BAD, GOOD):
        places = np.flatnonzero(verdict == each)
        picked.append(places[np.argsort(mixed[places], kind="stable")][: plan.labels[each]])
    return np.concatenate(picked)


def describe_mean(run: Run, found: TaskTable) -> Statistics:
    """Return the mean of all labels that are numbers, by PPI++, and by gold labels alone; nothing if these are few."""
    truth: Floats = run.collect(partial(mark_gold, kernels=run.kernels, value=np.asarray))["truth"]
    label = np.asarray(found.joined().found["label"], np.float64)
    known, there = ~np.isnan(truth), ~np.isnan(label)
    if (known & there).sum() < _MIN_OWN:
        return Statistics({})
    mean, power = estimate_mean(truth[known & there], label[known & there], label[~known & there])
    alone, _ = estimate_mean(truth[known], truth[known], np.empty(0))
    apparent = float(label[there].mean())
    facts = MeanScore(known=int(known.sum()), apparent=apparent, **mean._asdict(), power=power, gold_only=alone.facts)
    return Statistics({"mean": facts})


def mark_gold(block: Block, *, kernels: Kernels, value: Callable[[Array], Array]) -> dict[str, Array]:
    """Return, per task, a value of its gold label, or NaN."""
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = value(kernels.restore_gold(block))
    return {"truth": truth}


def _list_row(group: str, counts: Counts, rate: Estimate, source: str) -> GroupRate:
    return GroupRate(
        group=group,
        tasks=int(counts.tasks.sum()),
        known=int(counts.known.sum()),
        apparent=counts.apparent,
        rate=rate.estimate,
        low=rate.low,
        high=rate.high,
        told_by="" if math.isnan(rate.estimate) else source,
    )


def _list_groups(
    parts: Mapping[str, Counts], every: Counts, estimate: Callable[[Counts], Estimate]
) -> tuple[list[GroupRate], list[str]]:
    """Return a row for each group, and the groups that errors on all gold labels do not fit."""
    rows, misfits, alike = [], [], not _errors_differ(list(parts.values()))
    for name, part in parts.items():
        if part.known.sum() >= _MIN_OWN:
            rows.append(_list_row(name, part, estimate(part), "own"))
            continue
        rows.append(_list_row(name, part, correct_rate(every, part.tasks) if alike else Estimate(), "all"))
        if rows[-1].told_by and is_misfit(every, part.tasks):
            misfits.append(name)
    return rows, misfits


def _errors_differ(parts: Sequence[Counts]) -> bool:
    """Return whether the panel errs more often in some groups than in others, on good tasks or on others."""
    from scipy.stats import chi2_contingency

    for truth in (BAD, GOOD):
        right = np.array([part.called_right[truth] for part in parts])
        wrong = np.array([part.truly[truth] for part in parts]) - right
        table = np.array([right, wrong])[:, right + wrong > 0]
        if table.sum(axis=1).all() and chi2_contingency(table, correction=False).pvalue < _SIGNIFICANCE / 2:
            return True
    return False


def _compare_selection(counts: Counts) -> GoldSelection:
    """Compare the share called good of tasks with gold labels and of others (Fisher's exact test)."""
    from scipy.stats import fisher_exact

    known, rest = counts.known, counts.tasks - counts.known
    differ = known.sum() and rest.sum() and fisher_exact(np.array([known, rest])).pvalue < _SIGNIFICANCE
    shares = [ratio(float(each[GOOD]), float(each.sum())) for each in (known, rest)]
    return GoldSelection(known=shares[0], others=shares[1], beyond_chance=bool(differ))
