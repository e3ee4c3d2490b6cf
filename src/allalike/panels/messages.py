"""Messages about a panel, from its summary, in reading order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from allalike._core.text_format import count
from allalike.panels import summary as facts
from allalike.result.messages import Message, describe_model, format_ties, name_some, percent, share
from allalike.result.summary import Summary

TITLES = {  # of tables, in the order of the report
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
_N_LISTED, _N_NAMES = 4, 4  # rows of a table, and judges, in a message
_UNITS = {"error_rate": "error rate", "rmse": "RMSE", "distance": "mean distance"}
_SHARES = ("agreement", "accuracy")  # changes in points
_CHANGES = {
    "agreement": "agreement with the others",
    "distance": "distance to the others",
    "error": "distance to gold labels",
}
_REASONS = {
    "better": "its error is significantly smaller",
    "not worse": "it is not worse by more than 1 % of the worth",
    "default": "no smaller option is shown to be as good",
}


def describe_panel(panel: facts.PanelSummary, summary: Summary) -> Iterator[Message]:
    """Yield all messages about a panel.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> allalike.jury(rows).messages[0].sentence
    '6 verdicts by 3 judges on 2 tasks (categorical).'
    """
    yield from _describe_verdicts(panel, summary)
    yield from _describe_rate(panel)
    if panel.drift is not None:
        yield from _describe_drift(panel.drift)
    yield from _describe_outcomes(panel.outcomes, panel.unreadable)
    if panel.orders is not None:
        yield from _describe_orders(panel.orders)
    if panel.samples is not None:
        yield _describe_samples(panel.samples, is_scored=panel.is_scored)
    yield from _describe_offsets(panel)
    yield from _describe_pairs(panel.pairs, summary.workers, is_scored=panel.is_scored)
    yield from _describe_effective(panel, summary.workers)
    yield from _describe_smallest(panel, summary.workers)
    if panel.recommendation is not None:
        yield _describe_choice(panel.recommendation, panel.error_unit)
    if panel.annotators is not None:
        yield _describe_annotators(panel.annotators)
    text = "Statistics based on gold labels apply to tasks similar to those with gold labels."
    if not panel.by_gold:
        text = (
            "Without gold labels (gold=, 50 or more), errors that all judges share cannot be distinguished from the"
            " truth. Judges of one model family agree with each other, which makes the confidence too high."
        )
    yield Message(text)


def _percents(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _interval(interval: facts.ConfidenceInterval | facts.GroupRate) -> str:
    return f"{100 * (interval.ci_low or 0):.1f} to {_percents(interval.ci_high)}"


def _order_sizes(interval: facts.JudgeInterval) -> tuple[float, float]:
    """Return the absolute ends of an interval, the smaller first."""
    low, high = sorted((abs(interval.ci_low or 0), abs(interval.ci_high or 0)))
    return low, high


def _list_names(names: Sequence[Any]) -> str:
    return name_some(names, len(names), _N_NAMES)


def _more(rows: Sequence[Any], what: str, table: str) -> Iterator[Message]:
    """Yield the number of rows that are not listed."""
    if len(rows) > _N_LISTED:
        yield Message(f"- and {count(len(rows) - _N_LISTED, what)} (see the table {table})")


def _describe_verdicts(panel: facts.PanelSummary, summary: Summary) -> Iterator[Message]:
    gold, confidence = summary.gold, summary.confidence
    counts = f"{summary.answers:,} verdicts by {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
    yield Message(f"{counts} ({summary.domain.name}).")
    if confidence is not None and not panel.is_scored:
        number = confidence.effective_answers_per_task
        effective = f", effectively {number:.2g}" if number else ""
        yield Message(
            f"Panel: {confidence.answers_per_task:.3g} verdicts per task{effective}; {summary.changed:,} labels differ"
            f" from the majority vote{format_ties(summary)}."
        )
    yield from describe_model(summary)
    unit = _UNITS[panel.error_unit]
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        yield _describe_gold(panel, count(gold.tasks, "task"), gold.error, gold.unweighted_error)
    elif panel.is_scored and panel.error is not None:
        yield Message(f"Expected {unit}: {panel.error:.3g}; between two tasks it is {panel.guess_error:.3g}.")
    elif confidence is not None and not panel.is_scored:
        yield Message(f"Expected accuracy: {percent(confidence.mean)}.")
    if summary.abstained is not None:
        yield Message(f"{summary.abstained:,} tasks have no label: confidence below {summary.min_confidence:g}.")


def _describe_gold(panel: facts.PanelSummary, tasks: str, error: float, unweighted: float) -> Message:
    """Compare the panel with the unweighted panel on tasks with gold labels."""
    if panel.is_scored:
        root = math.sqrt if panel.error_unit == "rmse" else float
        return Message(
            f"{_UNITS[panel.error_unit]} on {tasks} with gold labels, without using them: {root(error):.3g}."
            f" Unweighted {root(unweighted):.3g}, between two tasks {panel.guess_error:.3g}."
        )
    accuracy, others = percent(1 - error), f"majority vote {percent(1 - unweighted)}"
    if panel.by_gold:
        accuracy, others = percent(panel.worth), f"without any {accuracy}, {others}"
    if panel.calibration_error is not None:
        others += f"; calibration error {panel.calibration_error.own or 0:.3f}"
        others += f", calibrated {panel.calibration_error.calibrated or 0:.3f}"
    return Message(f"Accuracy on {tasks} with gold labels (each decided without its own): {accuracy}; {others}.")


def _describe_rate(panel: facts.PanelSummary) -> Iterator[Message]:
    rate, mean = panel.rate, panel.mean
    if mean is not None:
        yield Message(
            f"Mean label of all tasks: {mean.estimate:.4g} (95 % confidence interval {mean.ci_low:.4g} to"
            f" {mean.ci_high:.4g}, PPI++ with {count(mean.known, 'gold label')} as a random sample); gold labels alone"
            f" {mean.gold_only.ci_low:.4g} to {mean.gold_only.ci_high:.4g}, mean of the verdicts {mean.apparent:.4g}."
        )
    if rate is None:
        return
    positive, powered = " or ".join(map(str, rate.positive)), rate.prediction_powered
    if rate.estimate is None:
        yield Message(
            f"Rate: the panel calls {_percents(rate.apparent)} of the tasks {positive}. To correct this, collect gold"
            " labels (gold=), beginning with the tasks in the table ask."
        )
    else:
        yield Message(
            f"Rate, corrected by {count(rate.known, 'gold label')}: {_percents(rate.estimate)} of the tasks are"
            f" {positive} (95 % confidence interval {_interval(rate)}). The panel reports {_percents(rate.apparent)},"
            f" with sensitivity {_percents(rate.sensitivity)} and specificity {_percents(rate.specificity)}.",
            *(("positive", rate.positive[0]) if rate.inferred else ()),
        )
    if powered is not None and powered.width < rate.width:
        yield Message(
            f"With the panel's confidences (PPI++), it is {_percents(powered.estimate)} ({_interval(powered)}), if gold"
            " labels are a random sample of all tasks."
        )
    if rate.drawn == "truth" and rate.misfit:
        yield Message("The errors of the panel differ from those on the gold labels. Collect gold labels for this run.")
    for row in (rate.groups or ())[:_N_LISTED]:
        what = f"{_percents(row.apparent)} by the panel; too few gold labels for a rate"
        if row.rate is not None:
            what = f"{_percents(row.rate)} ({_interval(row)}), {count(row.tasks, 'task')}"
        yield Message(f"- {rate.by} {row.group or '(none)'}: {what}", names=[row.group])
    yield from _more(rate.groups or (), "more group", "rates")


def _describe_drift(drift: facts.Drift) -> Iterator[Message]:
    who = drift.drifted
    what = f"{_list_names(who)} changed" if who else "no judge changed beyond chance"
    if not drift.tests:
        what = "nothing to compare: tasks in both, three judges in both, or gold labels in both are needed"
    both = f"{count(drift.judges, 'judge')} and {count(drift.shared_tasks, 'task')} in both"
    yield Message(f"Since {drift.baseline} ({both}): {what}.", names=[*who, drift.baseline])
    for row in drift.named[:_N_LISTED]:
        yield Message(f"- {_describe_change(row)}", names=[row.judge])
    yield from _more(drift.named, "more change", "drift")
    for names, word in ((drift.new_judges, "New"), (drift.gone_judges, "Gone")):
        if names:
            yield Message(f"{word}: {_list_names(names)}.", names=names)
    rate = drift.rate
    if rate is not None and rate.other_positive is not None:
        positive = " or ".join(map(str, rate.other_positive))
        yield Message(f"The earlier rate is for {positive}, and cannot be compared with this one.")
    if rate is not None and rate.difference is not None and rate.difference.estimate is not None:
        change, low, high = (100 * (each or 0) for each in msgspec.structs.astuple(rate.difference))
        before, now = (_percents(each.estimate if each else None) for each in (rate.before, rate.now))
        yield Message(f"The rate was {before} and is {now}: {change:+.1f} points ({low:+.1f} to {high:+.1f}).")


def _describe_change(row: facts.JudgeChange) -> str:
    numbers, is_share = ((row.now or 0) - (row.before or 0), row.ci_low or 0, row.ci_high or 0), row.what in _SHARES
    change, low, high = (f"{100 * each:+.1f}" if is_share else f"{each:+.3g}" for each in numbers)
    tasks = f"{row.n_now:,} tasks in both" if row.tasks == "both" else f"{row.n_before:,} and {row.n_now:,} tasks"
    change += " points" if is_share else ""
    return f"{row.judge}: {_CHANGES.get(row.what, row.what)} {change} ({low} to {high}), {tasks}, p = {row.p_value:.2g}"


def _describe_outcomes(outcomes: facts.OutcomeCounts, unread: facts.UnreadableCounts) -> Iterator[Message]:
    if outcomes.tie is not None:
        yield Message(f"{outcomes.tie!r} means a tie: {count(outcomes.ties, 'task')} (name another label with tie=).")
    if outcomes.below_quorum:
        yield Message(
            f"Inconclusive: fewer than {outcomes.quorum:g} effective answers on {count(outcomes.below_quorum, 'task')}."
        )
    if outcomes.undecided:
        yield Message(f"Inconclusive: every judge contradicts itself on {count(outcomes.undecided, 'task')}.")
    if names := outcomes.undecided_judges:
        yield Message(f"Undecided on every task, so without a verdict: {_list_names(names)}.", names=names)
    if unread.verdicts:
        first = unread.named[:1]
        most = "".join(f", most by {each.judge} ({each.unreadable:,} of {each.asked:,})" for each in first)
        tasks = f" {count(unread.tasks, 'task')} without a readable verdict." if unread.tasks else ""
        text = f"Unreadable: {count(unread.verdicts, 'verdict')}{most}.{tasks}"
        yield Message(text, names=[each.judge for each in first])


def _describe_orders(orders: facts.OrderCounts) -> Iterator[Message]:
    if orders.pairs:
        same = percent(orders.same / orders.pairs)
        yield Message(
            f"Both orders: the same verdict on {same} of {count(orders.pairs, 'pair')}. The others count as a tie, or"
            " are excluded."
        )
    if orders.one_order:
        yield Message(f"{count(orders.one_order, 'verdict')} in only one order may have a position bias.")
    if orders.verdicts_name == "places":
        yield Message(f"Verdicts name places: labels refer to the order {orders.first_order!r}.")
    if orders.known and not orders.biased:
        yield Message("Position bias: none detected.")
    for first in orders.biased[:1]:
        place, (low, high) = "first" if (first.bias or 0) > 0 else "second", _order_sizes(first)
        yield Message(
            f"Position bias: {count(len(orders.biased), 'judge')}. The strongest is {first.judge}: the {place} place"
            f" wins {percent(0.5 + abs(first.bias or 0))} of verdicts"
            f" ({50 + 100 * low:.0f} to {50 + 100 * high:.0f} %).",
            names=[first.judge],
        )


def _describe_samples(samples: facts.SampleCounts, *, is_scored: bool) -> Message:
    least, kind = samples.least_steady, "correlation" if is_scored else "probability of equal labels"
    return Message(
        f"Samples: two by the same judge on a task have a {kind} of {samples.steadiness or 0:.2f}. {least.judge} is the"
        f" least steady, with {least.steadiness or 0:.2f} ({least.ci_low or 0:.2f} to {least.ci_high or 0:.2f})."
        f" {samples.enough:,} of {samples.most:,} samples per judge suffice for {100 * samples.retain:g} % of the"
        " worth.",
        names=[least.judge],
    )


def _describe_offsets(panel: facts.PanelSummary) -> Iterator[Message]:
    correction, offsets = panel.gold_correction, panel.offsets or ()
    if correction is not None:
        yield Message(
            f"Scores are corrected by {count(correction.known, 'gold label')}: RMSE on held-out gold labels"
            f" {correction.after:.3g} instead of {correction.before:.3g}."
        )
    for each in offsets[:1]:
        low, high = _order_sizes(each)
        way = "higher" if (each.offset or 0) > 0 else "lower"
        more = f"; {len(offsets) - 1:,} more judges have offsets" if len(offsets) > 1 else ""
        yield Message(
            f"Offsets: {each.judge} scores {abs(each.offset or 0):.3g} {way} than the others ({low:.3g} to"
            f" {high:.3g}){more}.",
            names=[each.judge],
        )


def _describe_pairs(pairs: facts.PairCounts, n_judges: int, *, is_scored: bool) -> Iterator[Message]:
    if not pairs.compared or not pairs.tasks:
        why = "no task is confident enough" if pairs.compared else f"too few judges ({n_judges:,}), or other labels"
        yield Message(f"Correlated errors: not tested ({why}).")
        return
    where = f"on {count(pairs.tasks, 'task')}" + ("" if is_scored else " with a gold label or a confident verdict")
    if not pairs.found:
        yield Message(f"Correlated errors: none of {pairs.compared:,} pairs, {where}.")
        return
    first = pairs.named[0]
    what = f"{first.same_wrong} wrong labels in common, {first.expected or 0:.3g} expected"
    if first.correlation is not None:
        limits = f"{first.ci_low or 0:.2f} to {first.ci_high or 0:.2f}"
        what = f"a correlation {first.correlation:.2f} above that of other pairs ({limits})"
    yield Message(
        f"Correlated errors: {pairs.found:,} of {pairs.compared:,} pairs, {where}. The strongest: {first.judge} and"
        f" {first.other}: {what}.",
        names=[first.judge, first.other],
    )
    for group in pairs.groups[:_N_LISTED]:
        yield Message(f"- {_list_names(group)}", names=group)
    yield from _more(pairs.groups, "more group", "judges")


def _describe_effective(panel: facts.PanelSummary, n_judges: int) -> Iterator[Message]:
    effective, ceiling = panel.effective_judges, panel.ceiling
    if effective is not None:
        yield Message(f"Effective number of judges, by gold labels: {effective:.2g} of {n_judges:,}.")
    if ceiling.missed:
        yield Message(
            f"Ceiling: no judge gave {ceiling.missed:,} of {ceiling.known:,} gold labels"
            f" ({share(ceiling.missed, ceiling.known)}), so no panel of these judges can."
        )


def _describe_smallest(panel: facts.PanelSummary, n_judges: int) -> Iterator[Message]:
    few, cost = panel.smallest, panel.cost
    what = f"Smallest panel that retains {100 * few.retain:g} %"
    if few.size == n_judges:
        yield Message(f"{what}: all judges.")
    else:
        low, high = (100 * (each or 0.0) for each in few.lost)
        lost = f"{low:.1f} to {high:.1f}" if max(-low, high) >= 0.05 else "less than 0.1"
        held_out = f"lose {lost} points of {'' if panel.by_gold else 'expected '}accuracy"
        if panel.is_scored:
            to = "the whole panel" if panel.error is None else f"the truth (all: {panel.error:.3g})"
            held_out = f"have a {_UNITS[panel.error_unit]} of {few.error or 0:.3g} from {to}"
        yield Message(
            f"{what}: {few.size:,} of {n_judges:,}: {_list_names(few.members)}. On held-out tasks, such panels"
            f" {held_out}.",
            names=few.members,
        )
    if cost is not None:
        both = [("all judges", cost.panel, cost.panel_per_correct)]
        both += [("the smallest panel", cost.smallest, cost.smallest_per_correct)]
        prices = [f"{name} {x:,.6g}" + (f" ({each:.4g} per correct verdict)" if each else "") for name, x, each in both]
        yield Message(f"Cost: {'; '.join(prices)}.")


def _describe_choice(choice: facts.Recommendation, unit: str) -> Message:
    errors = ", ".join(f"{option.name} {option.error:.3g}" for option in choice.options)
    chosen = next(option for option in choice.options if option.name == choice.chosen)
    who = "" if choice.chosen == "whole panel" else f" ({_list_names(chosen.members)})"
    return Message(
        f"Recommendation: {choice.chosen}{who}, because {_REASONS[choice.reason]}. Cross-validated"
        f" {_UNITS[unit]}: {errors}.",
        names=chosen.members,
    )


def _describe_annotators(test: facts.AnnotatorTest) -> Message:
    passed, first = [model.model for model in test.models if model.passes], test.models[0]
    return Message(
        f"Alternative annotator test: {_list_names(passed) or 'no model'} may replace the {test.humans:,} humans"
        f" (epsilon {test.epsilon:g}). Best: {first.model}, winning rate {first.winning_rate:.2f} (0.5 needed), average"
        f" advantage probability {first.advantage_probability:.2f}.",
        names=[*passed, first.model],
    )
