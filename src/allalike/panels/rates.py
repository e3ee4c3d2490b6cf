"""Rates: the share of tasks that are truly good, from verdicts on all of them and gold labels of some.

A panel calls a share p of the tasks good, and errs. Two ways lead from p to the share that is good.

**Double sampling** (Tenenbein 1970). Gold labels show which share of the tasks called good is good, g1, and which of
those called not good, g0. The rate is ``p g1 + (1 - p) g0``, with the variance ::

    p^2 g1 (1 - g1) / n1 + (1 - p)^2 g0 (1 - g0) / n0 + (g1 - g0)^2 p (1 - p) / N

for n1 and n0 gold labels among N tasks. It needs gold labels that are sampled at random, or at random among the tasks
with one verdict, and is never worse than gold labels alone, however weak the panel is. The 95 % interval is that of
Bayes, with Kerman's neutral prior, Beta(1/3, 1/3), for each of the three shares.

**Rogan and Gladen** (1978). Gold labels show how often good tasks are called good, the sensitivity, and how often
others are not, the specificity. The rate is ``(p + specificity - 1) / (sensitivity + specificity - 1)``, with the
interval of Lang and Reiczigel (2014). It holds also for gold labels that were picked by what they are, such as as many
good as bad ones, or that come from another group of tasks. If the panel hardly knows good from bad, the interval is 0
to 1. If the panel calls so many tasks good, or so few, that the whole interval lies outside of 0 and 1, it errs here in
another way than on gold labels. Then the interval is that of the nearest rate, 0 or 1.

**Further gold labels.** Those of n1 tasks called good and of n0 others reduce the first two parts of the variance most
if n1 and n0 are in proportion to the roots of these parts times n (Neyman 1934). The last part stays, so that the
interval cannot always be halved.

**Groups.** A group with twenty gold labels of its own has a rate from these. Any other has one by the errors of the
panel on all tasks (Rogan and Gladen), unless these differ between groups; then only the share called good is known.

References
----------
Tenenbein, A double sampling scheme for estimating from binomial data with misclassifications, JASA 65, 1970. Rogan and
Gladen, Estimating prevalence from the results of a screening test, Am. J. Epidemiology 107, 1978. Lang and Reiczigel,
Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity, Preventive Veterinary
Medicine 113, 2014. Kerman, Neutral noninformative and informative conjugate beta and gamma prior distributions,
Electronic Journal of Statistics 5, 2011.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.hashes import mix
from allalike._core.late import pd
from allalike._core.registry import did_you_mean
from allalike.errors import OptionError, UnknownNameError
from allalike.panels.panel import PanelFacts, list_columns
from allalike.panels.verdicts import NOBODY, NORMAL, divide, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable

BAD, GOOD = 0, 1  # verdicts
PRIOR = 1 / 3
_LIMITS = (0.025, 0.975)
_DRAWS = 20_000  # after which limits are known to 1 % of their width
_FIRST = 50  # gold labels to begin with
_HALVINGS = 60
_ROUNDING = 1e-6
_MIN_OWN = 20  # gold labels of a group that are enough for its rate
_SIGNIFICANCE = 0.01
_MAX_NAMED = 20  # groups in a summary
_MAX_LISTED = 10
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
_BOUND = re.compile(rf"([<>]=?)\s*({_NUMBER.pattern})")
Bound = tuple[str, float]
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal}


class Rate(NamedTuple):
    """A share of tasks, with its 95 % confidence interval; NaN if unknown."""

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan

    def minus(self, then: Rate) -> Rate:
        """Return the difference of two rates, with an interval from theirs, as if they were independent (MOVER).

        >>> [round(each, 2) for each in Rate(0.5, 0.44, 0.56).minus(Rate(0.8, 0.72, 0.85))]
        [-0.3, -0.38, -0.2]
        """
        difference = self.estimate - then.estimate
        low = difference - math.hypot(self.estimate - self.low, then.high - then.estimate)
        high = difference + math.hypot(self.high - self.estimate, then.estimate - then.low)
        return Rate(difference, low, high)


@dataclass(frozen=True)
class Counts:
    """Of the tasks that the panel calls not good, and good: how many there are, have a gold label, and are good.

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
        """How many gold labels are not good, and good."""
        return np.array([(self.known - self.good).sum(), self.good.sum()])

    @property
    def called_right(self) -> Floats:
        """How many gold labels that are not good, and good, the panel calls so."""
        return np.array([self.known[BAD] - self.good[BAD], self.good[GOOD]])

    @property
    def hit_rates(self) -> Floats:
        """Specificity and sensitivity; NaN without a gold label."""
        return divide(self.called_right, self.truly)


def estimate_rate(counts: Counts) -> Rate:
    """Estimate the rate by double sampling.

    >>> perfect = Counts(np.array([50.0, 150.0]), np.array([10.0, 30.0]), np.array([0.0, 30.0]))
    >>> [round(each, 2) for each in estimate_rate(perfect)]
    [0.75, 0.68, 0.81]
    """
    if not counts.known.any():
        return Rate()
    p, share = counts.apparent, np.where(counts.known > 0, counts.good / np.maximum(counts.known, 1), 0.5)
    estimate = p * float(share[GOOD]) + (1 - p) * float(share[BAD])
    hits = np.array([counts.tasks[GOOD], *counts.good]) + PRIOR
    misses = np.array([counts.tasks[BAD], *(counts.known - counts.good)]) + PRIOR
    called, bad, good = np.random.default_rng(0).beta(hits, misses, (_DRAWS, 3)).T
    low, high = np.quantile(called * good + (1 - called) * bad, _LIMITS).tolist()
    return Rate(estimate, min(low, estimate), max(high, estimate))


def correct_rate(counts: Counts, tasks: Floats | None = None) -> Rate:
    """Correct the share that the panel calls good, of some tasks or of those without gold labels, for its errors.

    >>> counts = Counts(np.array([600.0, 400.0]), np.array([160.0, 240.0]), np.array([20.0, 180.0]))
    >>> [round(each, 4) for each in correct_rate(counts, counts.tasks)]
    [0.1667, 0.0564, 0.2627]
    """
    return _correct(counts, tasks)[0]


def misfits(counts: Counts, tasks: Floats | None = None) -> bool:
    """Return whether the panel calls more or fewer tasks good than any rate explains, if it errs as on gold labels.

    >>> counts = Counts(np.array([10.0, 990.0]), np.array([110.0, 90.0]), np.array([30.0, 70.0]))
    >>> misfits(counts, counts.tasks), [round(each, 2) for each in correct_rate(counts, counts.tasks)]
    (True, [1.0, 0.82, 1.0])
    """
    return _correct(counts, tasks)[1]


def _correct(counts: Counts, tasks: Floats | None) -> tuple[Rate, bool]:
    """Return the corrected rate, and whether no rate fits; a few more gold labels, half of them right, are added."""
    asked = counts.tasks - counts.known if tasks is None else tasks
    asked = asked if asked.sum() else counts.tasks
    if not counts.truly.all() or not asked.sum():
        return Rate(), False
    p, slope = float(asked[GOOD] / asked.sum()), float(counts.hit_rates.sum()) - 1
    plain = min(max((p + float(counts.hit_rates[BAD]) - 1) / slope, 0.0), 1.0) if slope > 0 else math.nan
    truths = counts.truly + 2
    hit, size = (counts.called_right + 1) / truths, float(asked.sum()) + NORMAL**2
    slope = float(hit.sum()) - 1
    if slope <= 0:
        return Rate(plain, 0.0, 1.0), False

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
    return Rate(plain, low, high), misfit


class GoldPlan(NamedTuple):
    """How many further gold labels to collect by verdict, and the width of the interval with them and with all."""

    truths: npt.NDArray[np.int64]
    width: float
    reach: float

    @property
    def total(self) -> int:
        """How many of both."""
        return int(self.truths.sum())

    def describe(self) -> dict[str, Any]:
        """Return it as notes of a summary."""
        other, good = self.truths.tolist()
        counts = {"truths": self.total, "called_good": good, "called_other": other}
        return {**counts, "width": self.width, "least_width": self.reach}


def plan_truths(counts: Counts) -> GoldPlan:
    """Find the fewest further gold labels that halve the interval, or bring half of what gold labels can.

    Without any, they are the first fifty.

    >>> plan_truths(Counts(np.array([1e4, 3e4]), np.array([25.0, 75.0]), np.array([5.0, 70.0]))).truths
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
    """Return what tells good labels, as codes, from others: some classes or levels, or numbers within bounds.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, 2.5), ("bob", 1, 4.0)], domain="real")
    >>> choose_good(answers.encoding, [">=3"])(answers.label)
    array([False,  True])
    """
    bounds = [_read_bound(each) for each in good]
    if encoding.n_classes is None and encoding.numeric:
        return partial(_meets_any, bounds=[_need_bound(*each) for each in zip(good, bounds, strict=True)])
    if encoding.nominal or not any(bounds):
        return partial(np.isin, test_elements=find_codes(encoding, good))
    levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
    numbers = [float(text) if _NUMBER.fullmatch(text) else math.nan for text in map(str, levels)]
    if any(map(math.isnan, numbers)):
        raise OptionError(f"good is {good[0]!r}, but the levels are no numbers. Name those that are good.")
    within = _meets_any(np.array(numbers), bounds=[bound for bound in bounds if bound])
    named = [each for each, bound in zip(good, bounds, strict=True) if not bound]
    return partial(np.isin, test_elements=np.union1d(np.flatnonzero(within), find_codes(encoding, named)))


def _read_bound(good: Any) -> Bound | None:
    found = _BOUND.fullmatch(str(good).strip())
    return None if found is None else (found[1], float(found[2]))


def _need_bound(good: Any, bound: Bound | None) -> Bound:
    if bound is not None:
        return bound
    try:
        return "==", float(good)
    except (TypeError, ValueError):
        raise OptionError(f"good is {good!r}, and labels are numbers. Write a bound, such as '>=4'.") from None


def _meets_any(numbers: Array, *, bounds: Sequence[Bound]) -> Array:
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


def _mark_good(block: Block, *, kernels: Kernels, is_good: Callable[[Array], Array]) -> dict[str, Array]:
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = is_good(kernels.restore_gold(block))
    return {"truth": truth}


def describe_rate(
    run: Run,
    found: TaskTable,
    good: Sequence[Any],
    groups: tuple[str, Mapping[str, str]] | None,
    *,
    by_truth: bool,
    inferred: bool,
) -> tuple[PanelFacts, Rate]:
    """Return the rate of all tasks and of each group, the errors of the panel, and further gold labels to collect.

    ``found`` is what the panel finds without gold labels; ``by_truth`` says that these were picked by what they are.
    """
    is_good, piece = choose_good(run.encoding, good), found.joined()
    verdict = np.asarray(is_good(piece.found["label"])).astype(np.intp)
    truth: Floats = run.collect(partial(_mark_good, kernels=run.kernels, is_good=is_good))["truth"]
    counts = Counts.of(verdict, truth)
    find = correct_rate if by_truth else estimate_rate
    rate = find(counts)
    rows = [_list_row("", counts, rate, "own")]
    plan = plan_truths(Counts(counts.tasks, np.zeros(2), np.zeros(2)) if by_truth else counts)
    notes = {
        "good": list(good),
        **({"inferred": True} if inferred else {}),
        "tasks": int(counts.tasks.sum()),
        "known": int(counts.known.sum()),
        "apparent": counts.apparent,
        **rate._asdict(),
        "sensitivity": float(counts.hit_rates[GOOD]),
        "specificity": float(counts.hit_rates[BAD]),
        "drawn": "truth" if by_truth else "random",
        "double_sampling": estimate_rate(counts)._asdict(),
        "rogan_gladen": correct_rate(counts)._asdict(),
        "misfit": misfits(counts),
        "picked": _compare_known(counts),
        "ask": plan.describe(),
    }
    if groups is not None:
        by, names = groups[0], np.array([groups[1].get(str(task), "") for task in piece.tasks.tolist()], object)
        parts = {name: Counts.of(verdict[names == name], truth[names == name]) for name in sorted({*names.tolist()})}
        own, strange = _list_groups(parts, counts, find)
        rows += own
        notes["groups"] = {"by": by, "number": len(parts), "named": own[:_MAX_NAMED], "misfits": strange}
    picked = _draw_tasks(plan, np.where(np.isnan(truth), verdict, NOBODY), piece.tasks.hashes())
    ask = {"task": piece.tasks.take(picked), "called_good": verdict[picked] == GOOD}
    return PanelFacts({"rate": notes}, {"rates": list_columns(pd.DataFrame(rows)), "ask": ask}), rate


def _draw_tasks(plan: GoldPlan, verdict: npt.NDArray[np.intp], hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the tasks whose gold labels to collect, at random among those with one verdict by the hashes of ids."""
    picked = []
    for each in (BAD, GOOD):
        places = np.flatnonzero(verdict == each)
        picked.append(places[np.argsort(mix(hashes[places]), kind="stable")][: plan.truths[each]])
    return np.concatenate(picked)


def _list_row(group: str, counts: Counts, rate: Rate, source: str) -> dict[str, Any]:
    n = {"tasks": int(counts.tasks.sum()), "known": int(counts.known.sum()), "apparent": counts.apparent}
    told_by = "" if math.isnan(rate.estimate) else source
    return {"group": group, **n, "rate": rate.estimate, "low": rate.low, "high": rate.high, "told_by": told_by}


def _list_groups(
    parts: Mapping[str, Counts], every: Counts, find: Callable[[Counts], Rate]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row for each group, and the groups that errors on all gold labels do not fit."""
    rows, strange, alike = [], [], not _errors_differ(list(parts.values()))
    for name, part in parts.items():
        if part.known.sum() >= _MIN_OWN:
            rows.append(_list_row(name, part, find(part), "own"))
            continue
        rows.append(_list_row(name, part, correct_rate(every, part.tasks) if alike else Rate(), "all"))
        if rows[-1]["told_by"] and misfits(every, part.tasks):
            strange.append(name)
    return rows, strange


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


def _compare_known(counts: Counts) -> dict[str, Any]:
    """Compare the share called good of tasks with gold labels and of others (Fisher's exact test)."""
    from scipy.stats import fisher_exact

    known, rest = counts.known, counts.tasks - counts.known
    differ = known.sum() and rest.sum() and fisher_exact(np.array([known, rest])).pvalue < _SIGNIFICANCE
    shares = [ratio(float(each[GOOD]), float(each.sum())) for each in (known, rest)]
    return {"known": shares[0], "others": shares[1], "beyond_chance": bool(differ)}
