"""Messages about a panel, functions of its summary, in the order in which they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from allalike._core.words import count
from allalike.panels.summary import IntervalFacts, JudgeChange, MeanScore, PanelSummary, Rate, RateChange
from allalike.result.messages import Remark, name_some, percent, remark_reading, say_ties, share
from allalike.result.summary import Summary

TITLES = {  # of tables, in the order in which they are shown
    "judges": "Judges",
    "rates": "Rates",
    "ask": "Tasks to label next",
    "drift": "Changes since the earlier panel",
    "coverage": "Coverage and accuracy by confidence",
    "pairs": "Correlated errors",
    "sizes": "Smaller panels",
    "annotators": "Alternative annotator test",
    "orders": "Both orders of a pair, and position bias",
    "samples": "Fewer samples",
}
_N_GROUPS, _N_NAMES, _N_RATES, _N_CHANGES, _N_JUDGES = 3, 4, 5, 3, 2
_UNITS = {"error_rate": "error rate", "rmse": "RMSE", "distance": "mean distance"}


def describe_panel(panel: PanelSummary, summary: Summary) -> Iterator[Remark]:
    """Yield all messages about a panel.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> allalike.jury(rows).messages[0].sentence
    '6 verdicts by 3 judges on 2 tasks (categorical).'
    """
    yield from _describe_verdicts(panel, summary)
    if panel.rate is not None:
        yield from _describe_rate(panel.rate)
    yield from _describe_mean(panel.mean)
    yield from _describe_drift(panel)
    yield from _describe_outcomes(panel)
    yield from _describe_orders(panel)
    yield from _describe_samples(panel)
    yield from _describe_offsets(panel)
    yield from _describe_pairs(panel, summary.workers)
    yield from _describe_independence(panel, summary.workers)
    yield from _describe_smallest(panel, summary.workers)
    yield from _describe_recommendation(panel)
    yield from _describe_annotators(panel)
    if panel.by_gold:
        yield Remark("Statistics by gold labels hold for tasks like those with gold labels.")
    else:
        yield Remark(
            "Without gold labels (gold=, 50 or more), errors that all judges share cannot be distinguished from the"
            " truth: judges of one model family agree with each other, and have a high confidence."
        )


def _percents(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _interval(low: float | None, high: float | None) -> str:
    return f"{100 * (low or 0):.1f} to {_percents(high)}"


def _describe_verdicts(panel: PanelSummary, summary: Summary) -> Iterator[Remark]:
    gold, confidence = summary.gold, summary.confidence
    counts = f"{summary.answers:,} verdicts by {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
    yield Remark(f"{counts} ({summary.domain.name}).")
    if confidence is not None and not panel.is_scored:
        number = confidence.effective_answers_per_task
        effective = f", effectively {number:.2g}" if number else ""
        yield Remark(
            f"Panel: {confidence.answers_per_task:.3g} verdicts per task{effective}; {summary.changed:,} labels differ"
            f" from the majority vote{say_ties(summary)}."
        )
    yield from remark_reading(summary)
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        yield _describe_gold(panel, count(gold.tasks, "task"), gold.error, gold.unweighted_error)
    elif panel.is_scored and panel.error is not None:
        unit = _UNITS[panel.error_unit]
        yield Remark(f"Expected {unit}: {panel.error:.3g}; between two tasks it is {panel.guess_error:.3g}.")
    elif confidence is not None and not panel.is_scored:
        yield Remark(f"Expected accuracy: {percent(confidence.mean)}.")
    if summary.abstained is not None:
        yield Remark(f"{summary.abstained:,} tasks are left out: confidence below {summary.min_confidence:g}.")


def _describe_gold(panel: PanelSummary, tasks: str, error: float, unweighted: float) -> Remark:
    """Compare the panel, without gold labels and with those of other tasks, with the unweighted panel."""
    if panel.is_scored:
        root = math.sqrt if panel.error_unit == "rmse" else float
        return Remark(
            f"{_UNITS[panel.error_unit]} on {tasks} with gold labels, without knowing them: {root(error):.3g}."
            f" Unweighted {root(unweighted):.3g}, between two tasks {panel.guess_error:.3g}."
        )
    accuracy, vote = percent(1 - error), f"majority vote {percent(1 - unweighted)}"
    if panel.by_gold:
        accuracy, vote = percent(panel.worth), f"without any {accuracy}, {vote}"
    calibrated, calibration = "", panel.calibration_error
    if calibration is not None:
        calibrated = f"; calibration error {calibration.own or 0:.3f}"
        if calibration.calibrated != calibration.own:
            calibrated += f", calibrated {calibration.calibrated or 0:.3f}"
    return Remark(
        f"Accuracy on {tasks} with gold labels (each decided without its own): {accuracy}; {vote}{calibrated}."
    )


# Rate and mean.


def _describe_rate(rate: Rate) -> Iterator[Remark]:
    positive = " or ".join(map(str, rate.positive))
    if rate.estimate is None:
        yield Remark(
            f"Rate: the panel calls {_percents(rate.apparent)} of the tasks {positive}. Gold labels correct this"
            " (gold=): begin with the tasks in the table ask."
        )
    else:
        hits = rate.sensitivity, rate.specificity
        right = [f"{_percents(hit)} of {name}" for hit, name in zip(hits, (positive, "others"), strict=True) if hit]
        yield Remark(
            f"Rate, corrected by {count(rate.known, 'gold label')}: {_percents(rate.estimate)} of the tasks are"
            f" {positive} (95 % confidence interval {_interval(rate.ci_low, rate.ci_high)}). The panel calls"
            f" {_percents(rate.apparent)} so, and is right on {' and '.join(right) or 'none'}.",
            *(("positive", rate.positive[0]) if rate.inferred else ()),
        )
    powered = rate.prediction_powered
    if powered is not None and _width(powered) < _width(rate):
        yield Remark(
            f"With the panel's confidences (PPI++), it is {_percents(powered.estimate)}"
            f" ({_interval(powered.ci_low, powered.ci_high)}), if gold labels are a random sample of all tasks."
        )
    if rate.drawn == "truth" and rate.misfit:
        yield Remark(
            "The gold labels do not fit this run: with such errors, no rate explains the panel's verdicts. Collect gold"
            " labels of this run."
        )
    for row in (rate.groups or ())[:_N_RATES]:
        what = f"called so {_percents(row.apparent)} of the time; too few gold labels for a rate"
        if row.rate is not None:
            what = f"{_percents(row.rate)} ({_interval(row.ci_low, row.ci_high)}), {count(row.tasks, 'task')}"
        name = row.group or "(none)"
        yield Remark(f"- {rate.by} {name}: {what}", words=[name])
    if (more := len(rate.groups or ()) - _N_RATES) > 0:
        yield Remark(f"- and {count(more, 'more group')} (see the table rates)")


def _width(interval: IntervalFacts | Rate) -> float:
    return math.inf if interval.ci_low is None or interval.ci_high is None else interval.ci_high - interval.ci_low


def _describe_mean(mean: MeanScore | None) -> Iterator[Remark]:
    if mean is not None and mean.estimate is not None:
        alone = mean.gold_only
        yield Remark(
            f"Mean label of all tasks: {mean.estimate:.4g} (95 % confidence interval {mean.ci_low:.4g} to"
            f" {mean.ci_high:.4g}, PPI++ with {count(mean.known, 'gold label')} as a random sample); gold labels alone"
            f" {alone.ci_low:.4g} to {alone.ci_high:.4g}, mean of the verdicts {mean.apparent:.4g}."
        )


# Drift.


def _describe_drift(panel: PanelSummary) -> Iterator[Remark]:
    drift = panel.drift
    if drift is None:
        return
    both = f"{count(drift.judges, 'judge')} and {count(drift.shared_tasks, 'task')} in both"
    who = drift.drifted
    what = f"{name_some(who, len(who), _N_NAMES)} changed" if who else "no judge changed beyond chance"
    if not drift.tests:
        what = "no test without tasks in both, three judges in both, or gold labels of both"
    yield Remark(f"Since {drift.baseline} ({both}): {what}.", names=who, words=[drift.baseline])
    for row in drift.named[:_N_CHANGES]:
        yield Remark(f"- {describe_change(row)}", names=[row.judge])
    if len(drift.named) > _N_CHANGES:
        yield Remark(f"- and {count(len(drift.named) - _N_CHANGES, 'more change')} (see the table drift)")
    for names, word in ((drift.new_judges, "New"), (drift.gone_judges, "Gone")):
        if names:
            yield Remark(f"{word}: {name_some(names, len(names), _N_NAMES)}.", names=names)
    if drift.rate is not None:
        yield from _describe_rate_change(drift.rate)


def _describe_rate_change(rate: RateChange) -> Iterator[Remark]:
    if rate.other_positive is not None:
        positive = " or ".join(map(str, rate.other_positive))
        yield Remark(f"The earlier rate is that of {positive}, and cannot be compared with this one.")
    change = rate.difference
    if change is not None and change.estimate is not None:
        low, middle, high = (100 * (each or 0) for each in (change.ci_low, change.estimate, change.ci_high))
        before, now = (_percents(each.estimate if each else None) for each in (rate.before, rate.now))
        yield Remark(f"The rate was {before} and is {now}: {middle:+.1f} points ({low:+.1f} to {high:+.1f}).")


def describe_change(row: JudgeChange) -> str:
    """Describe a change and its tasks.

    >>> row = JudgeChange(judge="ada", tasks="both", what="accuracy", before=0.9, now=0.6, n_before=50, n_now=50,
    ...                   ci_low=-0.4, ci_high=-0.2, p_value=0.0021)
    >>> describe_change(row)
    'ada: accuracy -30.0 points (-40.0 to -20.0), 50 tasks in both, p = 0.0021'
    """
    scale, unit = (100.0, " points") if row.what in ("agreement", "accuracy") else (1.0, "")
    change = (row.now or 0.0) - (row.before or 0.0)
    low, middle, high = (f"{scale * (each or 0.0):+.3g}" for each in (row.ci_low, change, row.ci_high))
    if unit:
        low, middle, high = (f"{scale * (each or 0.0):+.1f}" for each in (row.ci_low, change, row.ci_high))
    name = {"distance": "distance to the others", "error": "distance to gold labels"}.get(row.what, row.what)
    name = "agreement with the others" if name == "agreement" else name
    both = row.tasks == "both"
    tasks = f"{row.n_now:,} tasks in both" if both else f"{row.n_before:,} and {row.n_now:,} tasks"
    return f"{row.judge}: {name} {middle}{unit} ({low} to {high}), {tasks}, p = {row.p_value:.2g}"


# Rows: outcomes, unreadable verdicts, orders, samples.


def _describe_outcomes(panel: PanelSummary) -> Iterator[Remark]:
    outcomes, unread = panel.outcomes, panel.unreadable
    if outcomes.tie is not None:
        yield Remark(f"{outcomes.tie!r} is a tie, the verdict on {count(outcomes.ties, 'task')} (tie= names another).")
    if outcomes.below_quorum:
        yield Remark(
            f"Inconclusive: fewer than {outcomes.quorum:g} effective answers on {count(outcomes.below_quorum, 'task')}."
        )
    if outcomes.undecided:
        yield Remark(f"Inconclusive: every judge contradicts itself on {count(outcomes.undecided, 'task')}.")
    if names := outcomes.undecided_judges:
        yield Remark(f"Without a verdict, undecided on every task: {name_some(names, len(names))}.", names=names)
    if unread.verdicts:
        who = [f"{each.judge} ({each.unreadable:,} of {each.asked:,})" for each in unread.named[:_N_JUDGES]]
        more = ", most by " * bool(who) + ", ".join(who)
        tasks = f" {count(unread.tasks, 'task')} without a readable verdict." if unread.tasks else ""
        judges = [each.judge for each in unread.named[:_N_JUDGES]]
        yield Remark(f"Unreadable: {count(unread.verdicts, 'verdict')}{more}.{tasks}", names=judges)


def _describe_orders(panel: PanelSummary) -> Iterator[Remark]:
    orders = panel.orders
    if orders is None:
        return
    if orders.pairs:
        same = percent(orders.same / orders.pairs)
        yield Remark(
            f"Both orders: the same verdict on {same} of {count(orders.pairs, 'pair')}; the others count as a tie, or"
            " not at all."
        )
    if orders.one_order:
        yield Remark(f"{count(orders.one_order, 'verdict')} in one order only may have a position bias.")
    if orders.verdicts_name == "places":
        yield Remark(f"Verdicts name places: labels are those of the order {orders.first_order!r}.")
    if orders.known and not orders.biased:
        yield Remark("Position bias: no judge.")
    elif orders.known:
        first = orders.biased[0]
        place = "first" if first.bias > 0 else "second"
        low, high = sorted(0.5 + (1 if first.bias > 0 else -1) * each for each in (first.ci_low, first.ci_high))
        yield Remark(
            f"Position bias: {count(len(orders.biased), 'judge')}, most {first.judge}, which prefers the {place} place"
            f" in {percent(0.5 + abs(first.bias))} of verdicts ({100 * low:.0f} to {100 * high:.0f} %).",
            names=[first.judge],
        )


def _describe_samples(panel: PanelSummary) -> Iterator[Remark]:
    samples = panel.samples
    if samples is None:
        return
    least, kind = samples.least_steady, "correlation" if panel.is_scored else "probability"
    value, low, high = (each or 0.0 for each in (least.steadiness, least.ci_low, least.ci_high))
    what = (
        f"correlation {samples.steadiness or 0:.2f}" if panel.is_scored else f"equal {percent(samples.steadiness or 0)}"
    )
    yield Remark(
        f"Samples: two of one judge on a task, {what}; {least.judge} is the least steady, {kind} {value:.2f}"
        f" ({low:.2f} to {high:.2f}).",
        names=[least.judge],
    )
    verb = "retains" if samples.enough == 1 else "retain"
    yield Remark(
        f"{samples.enough:,} of {samples.most:,} samples per judge {verb} {100 * samples.retain:g} % of the worth."
    )


# Judges: offsets, correlated errors, effective number.


def _describe_offsets(panel: PanelSummary) -> Iterator[Remark]:
    correction, offsets = panel.gold_correction, panel.offsets or ()
    if correction is not None:
        yield Remark(
            f"Scores are corrected by {count(correction.known, 'gold label')}: RMSE on held-out gold labels"
            f" {correction.after:.3g} instead of {correction.before:.3g}."
        )
    named = []
    for each in offsets[:_N_JUDGES]:
        low, high = sorted((abs(each.ci_low), abs(each.ci_high)))
        way = "higher" if each.offset > 0 else "lower"
        named.append(f"{each.judge} scores {abs(each.offset):.3g} {way} than the others ({low:.3g} to {high:.3g})")
    if len(offsets) > _N_JUDGES:
        named.append(f"and {len(offsets) - _N_JUDGES:,} more")
    if named:
        yield Remark(f"Offsets: {'; '.join(named)}.", names=[each.judge for each in offsets[:_N_JUDGES]])


def _describe_pairs(panel: PanelSummary, n_judges: int) -> Iterator[Remark]:
    pairs = panel.pairs
    if not pairs.compared or not pairs.tasks:
        why = "no task is confident enough" if pairs.compared else f"too few judges ({n_judges:,}) or such labels"
        yield Remark(f"Correlated errors: not tested, because of {why}.".replace("of no", "no"))
        return
    where = f"on {count(pairs.tasks, 'task')}" + ("" if panel.is_scored else " whose truth is known or confident")
    if not pairs.found:
        yield Remark(f"Correlated errors: no pair of {pairs.compared:,} beyond the others, {where}.")
        return
    first = pairs.named[0]
    what = f"{first.same_wrong} wrong labels in common, {first.expected or 0:.3g} expected"
    if first.correlation is not None:
        limits = f"{first.ci_low or 0:.2f} to {first.ci_high or 0:.2f}"
        what = f"a correlation {first.correlation:.2f} above that of other pairs ({limits})"
    yield Remark(
        f"Correlated errors: {pairs.found:,} of {pairs.compared:,} pairs, {where}. First {first.judge} and"
        f" {first.other}: {what}.",
        names=[first.judge, first.other],
    )
    for group in pairs.groups[:_N_GROUPS]:
        yield Remark(f"- {name_some(group, len(group), _N_NAMES)}", names=group)
    if len(pairs.groups) > _N_GROUPS:
        yield Remark(f"- and {count(len(pairs.groups) - _N_GROUPS, 'more group')}")


def _describe_independence(panel: PanelSummary, n_judges: int) -> Iterator[Remark]:
    effective, ceiling = panel.effective_judges, panel.ceiling
    if effective.all is not None:
        named = [each for each in (effective.most, effective.least) if each is not None]
        who = f"; {named[0]} adds most, {named[1]} least" if named else ""
        yield Remark(
            f"Effective number of judges, by gold labels: {effective.all:.2g} of {n_judges:,}{who}.", names=named
        )
    if ceiling.missed:
        yield Remark(
            f"Ceiling: no judge gave {ceiling.missed:,} of {ceiling.known:,} gold labels"
            f" ({share(ceiling.missed, ceiling.known)}), so no panel of them does."
        )


# Smaller panels.


def _describe_smallest(panel: PanelSummary, everybody: int) -> Iterator[Remark]:
    few, cost = panel.smallest, panel.cost
    what = f"Smallest panel that retains {100 * few.retain:g} %"
    if few.size == everybody:
        yield Remark(f"{what}: all of them.")
    else:
        low, high = few.lost
        held_out = f"an {'' if panel.by_gold else 'expected '}accuracy of {percent(few.worth)}"
        if panel.is_scored:
            to = "the whole panel" if panel.error is None else f"the truth (all: {panel.error:.3g})"
            held_out = f"a {_UNITS[panel.error_unit]} of {few.error or 0:.3g} to {to}"
        else:
            held_out += f", {describe_loss(low or 0.0, high or 0.0)} than all"
        yield Remark(
            f"{what}: {few.size:,} of {everybody:,}: {name_some(few.members, few.size, _N_NAMES)}. On held-out tasks,"
            f" such panels have {held_out}.",
            names=few.members,
        )
    if cost is not None:
        names = [("all judges", cost.panel, cost.panel_per_correct)]
        names += [("the smallest panel", cost.smallest, cost.smallest_per_correct)] if few.size < everybody else []
        prices = [f"{name} {price:,.6g}{_per_correct(each)}" for name, price, each in names]
        yield Remark(f"Cost: {'; '.join(prices)}.")


def _per_correct(price: Any) -> str:
    return "" if price is None else f", {price:.4g} per correct verdict"


def describe_loss(low: float, high: float) -> str:
    """Describe the interval of a loss, or gain.

    >>> describe_loss(0.01, 0.025), describe_loss(-0.03, -0.002), describe_loss(-0.01, 0.02)
    ('1.0 to 2.5 points less', '0.2 to 3.0 points more', 'between 1.0 points more and 2.0 less')
    """
    more, less = f"{100 * abs(low):.1f}", f"{100 * abs(high):.1f}"
    if high < 0:
        return f"{less} to {more} points more"
    return f"{more} to {less} points less" if low >= 0 else f"between {more} points more and {less} less"


def _describe_recommendation(panel: PanelSummary) -> Iterator[Remark]:
    choice = panel.recommendation
    if choice is None:
        return
    errors = ", ".join(f"{option.name} {option.error:.3g}" for option in choice.options)
    chosen = next(option for option in choice.options if option.name == choice.chosen)
    who = "" if choice.chosen == "whole panel" else f" ({name_some(chosen.members, len(chosen.members), _N_NAMES)})"
    why = {
        "better": "its error is significantly smaller",
        "not worse": "it is not worse by more than 1 % of the worth",
        "default": "no smaller option is shown to be as good",
    }[choice.reason]
    yield Remark(
        f"Recommendation: {choice.chosen}{who}, because {why}. Cross-validated {_UNITS[panel.error_unit]}: {errors}.",
        names=chosen.members,
    )


def _describe_annotators(panel: PanelSummary) -> Iterator[Remark]:
    test = panel.annotators
    if test is None:
        return
    passed = [model.model for model in test.models if model.passes]
    first = test.models[0]
    which = f"{name_some(passed, len(passed), _N_NAMES)} may replace" if passed else "no model may replace"
    yield Remark(
        f"Alternative annotator test: {which} the {test.humans:,} humans (epsilon {test.epsilon:g}). First"
        f" {first.model}: winning rate {first.winning_rate:.2f} (0.5 needed), average advantage probability"
        f" {first.advantage_probability:.2f}.",
        names=[*passed, first.model],
    )
