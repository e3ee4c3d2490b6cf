"""Messages about a panel, functions of its summary, in the order in which they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from allalike._core.words import count
from allalike.panels.summary import (
    Drift,
    GroupRate,
    IntervalFacts,
    JudgeChange,
    JudgeOffset,
    MeanScore,
    PanelSummary,
    Rate,
    RateChange,
    Recommendation,
    ScaleUse,
)
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
    "pivotal": "Tasks that one judge decides",
    "orders": "Both orders of a pair, and position bias",
    "samples": "Fewer samples",
}
_N_GROUPS, _N_NAMES, _N_RATES, _N_CHANGES, _N_JUDGES = 3, 4, 5, 3, 2
_HALF = 0.505  # of the width, but for rounding
_UNITS = {"rmse": "RMSE", "distance": "mean distance"}


def describe_panel(panel: PanelSummary, summary: Summary) -> Iterator[Remark]:
    """Yield all messages about a panel.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> allalike.jury(rows).messages[0].sentence
    '6 verdicts of 3 judges on 2 tasks (categorical).'
    """
    yield from _describe_verdicts(panel, summary)
    yield from _describe_rate(panel.rate)
    yield from _describe_mean(panel.mean)
    yield from _describe_drift(panel.drift)
    yield from _describe_outcomes(panel)
    yield from _describe_orders(panel)
    yield from _describe_samples(panel)
    yield from _describe_scale(panel)
    yield from _describe_pairs(panel, summary.workers)
    yield from _describe_independence(panel, summary.workers)
    yield from _describe_smallest(panel, summary.workers)
    yield from describe_recommendation(panel.recommendation, panel)
    yield from _describe_annotators(panel)
    yield from _describe_pivotal(panel)
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
    counts = f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
    gold, sure = summary.gold, summary.confidence
    if panel.worth is not None:
        yield Remark(f"{counts} ({summary.domain.name}), {summary.answers / summary.tasks:.3g} per task.")
    else:
        assert sure is not None
        effective = f", effectively {sure.effective_answers_per_task:.2g}" if sure.effective_answers_per_task else ""
        yield Remark(f"{counts} ({summary.domain.name}).")
        yield Remark(
            f"Panel: {sure.answers_per_task:.3g} verdicts per task{effective}; {summary.changed:,} labels differ from"
            f" the majority vote{say_ties(summary)}."
        )
    yield from remark_reading(summary)
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        known = f"{count(gold.tasks, 'task')} with gold labels"
        yield _describe_gold(panel, known, gold.error, gold.unweighted_error)
    elif sure is not None and panel.worth is None:
        yield Remark(f"Expected accuracy: {percent(sure.mean)}.")
    elif isinstance(panel.error, float):
        yield Remark(
            f"Expected {_UNITS[str(panel.error_unit)]} of the panel: about {panel.error:.3g}; between two tasks it is"
            f" {panel.guess_error:.3g}."
        )
    if summary.abstained is not None:
        yield Remark(
            f"It abstains from {summary.abstained:,} tasks with a confidence below {summary.min_confidence:g}."
        )


def _describe_gold(panel: PanelSummary, known: str, error: float, unweighted: float) -> Remark:
    """Compare the panel, without gold labels and with those of other tasks, with the unweighted panel."""
    if panel.worth is not None:
        root = math.sqrt if panel.error_unit == "rmse" else float
        return Remark(
            f"{_UNITS[str(panel.error_unit)]} of the panel: {root(error):.3g} on {known}, {root(unweighted):.3g} with"
            f" equal weights, {panel.guess_error:.3g} between two tasks."
        )
    accuracy, others, calibration = (
        percent(1 - error),
        f"majority vote {percent(1 - unweighted)}",
        panel.calibration_error,
    )
    if panel.by_gold:
        accuracy, others = percent(panel.accuracy or 0.0), f"without any {accuracy}, {others}"
    assert calibration is not None
    changed = calibration.mended != calibration.own
    calibrated = f", calibrated by gold labels {calibration.mended:.3f}" if changed else ""
    return Remark(
        f"Accuracy {accuracy} on {known} (each decided without its own), {others}; calibration error"
        f" {calibration.own:.3f}{calibrated}."
    )


# Rate and mean.


def _describe_rate(rate: Rate | None) -> Iterator[Remark]:
    if rate is None:
        return
    good = " or ".join(map(str, rate.good))
    if rate.estimate is None:
        yield Remark(
            f"Rate: the panel calls {_percents(rate.apparent)} of the tasks {good}. How many are, only gold labels show"
            f" (gold=): begin with the {count(rate.ask.truths, 'task')} in the table ask."
        )
    else:
        errors = [
            f"{_percents(number)} of those that are{word}"
            for number, word in ((rate.sensitivity, ""), (rate.specificity, " not"))
            if number is not None
        ]
        yield Remark(
            f"Rate, corrected by {count(rate.known, 'gold label')}: {_percents(rate.estimate)} of the tasks are"
            f" {good} (95 % confidence interval {_interval(rate.low, rate.high)}). The panel calls"
            f" {_percents(rate.apparent)} so: it is right on {', and on '.join(errors)}.",
            *(("good", rate.good[0]) if rate.inferred else ()),
        )
        yield from _describe_limits(rate, good)
    groups = rate.groups
    if groups is not None:
        yield from (_describe_group(groups.by, row) for row in groups.named[:_N_RATES])
        if names := groups.misfits:
            yield Remark(
                f"The gold labels of all tasks do not fit {count(len(names), 'group')}, where the panel calls more or"
                f" fewer tasks good than such errors explain: {name_some(names, len(names))}.",
                words=names,
            )
        if groups.number > _N_RATES:
            yield Remark(f"- and {count(groups.number - _N_RATES, 'more group')} (see the table rates)")


def _describe_limits(rate: Rate, good: str) -> Iterator[Remark]:
    """Describe what limits a rate: a misfit, selected gold labels, and their number."""
    picked, ask, powered = rate.picked, rate.ask, rate.prediction_powered
    if powered is not None and _width(powered) < _width(rate):
        yield Remark(
            f"With the panel's confidences (PPI++), it is {_percents(powered.estimate)}"
            f" ({_interval(powered.low, powered.high)}), if gold labels are a random sample of all tasks."
        )
    if rate.drawn == "truth" and rate.misfit:
        called = rate.apparent if picked.others is None else picked.others
        yield Remark(
            f"The gold labels do not fit this run: with such errors, no rate explains that the panel calls"
            f" {_percents(called)} of the other tasks {good}. The rate is clipped, and its interval holds only if"
            " errors are the same: collect gold labels of this run."
        )
    other = rate.rogan_gladen
    if rate.drawn != "truth" and picked.beyond_chance and other.low is not None:
        yield Remark(
            f"The panel calls {_percents(picked.known)} of the tasks with gold labels {good}, and"
            f" {_percents(picked.others)} of the others. If gold labels were selected by label (gold_drawn='truth'),"
            f" the rate is {_percents(other.estimate)} ({_interval(other.low, other.high)})."
        )
    if ask.truths and ask.width is not None and ask.least_width is not None:
        which = f"{ask.called_good:,} of tasks called {good}, {ask.called_other:,} of others; see the table ask"
        further = count(ask.truths, "further gold label")
        if ask.least_width <= _HALF:
            yield Remark(f"{further} would halve this interval ({which}).")
        else:
            yield Remark(
                f"{further} would make this interval {100 * ask.width:.0f} % as wide ({which}). With gold labels of all"
                f" tasks it would be {100 * ask.least_width:.0f} % as wide: more tasks help more."
            )


def _width(interval: IntervalFacts | Rate | MeanScore) -> float:
    return math.inf if interval.low is None or interval.high is None else interval.high - interval.low


def _describe_group(by: str, row: GroupRate) -> Remark:
    what = f"called so {_percents(row.apparent)} of the time; too few gold labels for a rate"
    if row.rate is not None:
        what = f"{_percents(row.rate)} ({_interval(row.low, row.high)}), {count(row.tasks, 'task')}"
    name = row.group or "(none)"
    return Remark(f"- {by} {name}: {what}", words=[name])


def _describe_mean(mean: MeanScore | None) -> Iterator[Remark]:
    if mean is not None and mean.estimate is not None:
        alone = mean.gold_only
        yield Remark(
            f"Mean label of all tasks: {mean.estimate:.4g} (95 % confidence interval {mean.low:.4g} to {mean.high:.4g},"
            f" PPI++ with {count(mean.known, 'gold label')} as a random sample); gold labels alone {alone.low:.4g} to"
            f" {alone.high:.4g}, mean of the verdicts {mean.apparent:.4g}."
        )


# Drift.

_SCORES = {  # verb, and words for changes up and down
    "scores": ("scores", "higher", "lower"),
    "off": ("is", "farther from the others", "nearer to the others"),
    "off truth": ("is", "farther from gold labels", "nearer to gold labels"),
}


def _describe_drift(drift: Drift | None) -> Iterator[Remark]:
    if drift is None:
        return
    both = f"{count(drift.judges, 'judge')} and {count(drift.shared_tasks, 'task')} in both"
    who = drift.drifted
    what = f"{name_some(who, len(who), _N_NAMES)} changed" if who else "no judge changed beyond chance"
    if not drift.tests:
        what = "no test without tasks in both, three judges in both, or gold labels of both"
    yield Remark(f"Since {drift.since} ({both}): {what}.", names=who, words=[drift.since])
    for row in drift.named[:_N_CHANGES]:
        yield Remark(f"- {describe_change(row)}", names=[row.judge])
    if drift.found > _N_CHANGES:
        yield Remark(f"- and {count(drift.found - _N_CHANGES, 'more change')} (see the table drift)")
    for names, word in ((drift.new_judges, "New"), (drift.gone_judges, "Gone")):
        if names:
            yield Remark(f"{word}: {name_some(names, len(names), _N_NAMES)}.", names=names)
    if drift.rate is not None:
        yield from _describe_rate_change(drift.rate)


def _describe_rate_change(rate: RateChange) -> Iterator[Remark]:
    if rate.other_good is not None:
        good = " or ".join(map(str, rate.other_good))
        yield Remark(f"The earlier rate is that of {good}, and cannot be compared with this one.")
        return
    change = rate.difference
    if change is not None and change.estimate is not None:
        low, middle, high = (100 * (each or 0) for each in (change.low, change.estimate, change.high))
        before, now = (_percents(each.estimate if each else None) for each in (rate.before, rate.now))
        yield Remark(f"The rate was {before} and is {now}: {middle:+.1f} points ({low:+.1f} to {high:+.1f}).")
    if rate.effect is not None:
        yield Remark(
            f"Judges who changed move the share that the majority vote calls good by {100 * rate.effect:+.1f}"
            " points, on tasks in both."
        )


def describe_change(row: JudgeChange) -> str:
    """Describe a change and its tasks.

    >>> row = JudgeChange(judge="ada", group="art", tasks="both", what="right", before=0.9, now=0.6, n_before=50,
    ...                   n_now=50, low=-0.4, high=-0.2, probability=0.0021, found=True)
    >>> describe_change(row)
    'ada is right 60.0 % of the time in art, before 90.0 % (50 tasks in both, p = 0.0021)'
    """
    where = f" in {row.group}" if row.group else ""
    both = row.tasks == "both"
    tasks = f"{row.n_now:,} tasks in both" if both else f"{row.n_before:,} and {row.n_now:,} tasks"
    evidence, more = f"{tasks}, p = {row.probability:.2g}", (row.now or 0.0) - (row.before or 0.0)
    relative = ", relative to the others" if not both and row.what in ("scores", "agrees") else ""
    if row.what in _SCORES:
        verb, up, down = _SCORES[row.what]
        sign = 1 if more > 0 else -1
        limits = ""
        if row.low is not None and row.high is not None:
            low, high = sorted((sign * row.low, sign * row.high))
            limits = f"{low:.3g} to {high:.3g}; "
        change = f"{abs(more):.3g} {up if more > 0 else down} than before"
        return f"{row.judge} {verb} {change}{where}{relative} ({limits}{evidence})"
    if row.what == "agrees" and not both:
        points = f"{100 * abs(more):.1f} points {'more' if more > 0 else 'less'}"
        return f"{row.judge} agrees with others {points} than before{where}{relative} ({evidence})"
    does = {"right": "is right", "agrees": "agrees with others"}.get(row.what, row.what)
    return f"{row.judge} {does} {_percents(row.now)} of the time{where}, before {_percents(row.before)} ({evidence})"


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
    if names := outcomes.voiceless:
        yield Remark(f"Without a verdict, undecided on every task: {name_some(names, len(names))}.", names=names)
    if not unread.verdicts:
        return
    what = f"Unreadable: {count(unread.verdicts, 'verdict')}"
    if not unread.named:
        yield Remark(f"{what}; their judges are unknown for answers that were read before.")
        return
    first = unread.named[0]
    most = "of" if unread.judges == 1 else f"of {unread.judges:,} judges, most of"
    has = "has" if unread.tasks == 1 else "have"
    tasks = f" {count(unread.tasks, 'task')} {has} no readable verdict." if unread.tasks else ""
    yield Remark(f"{what} {most} {first.judge} ({first.unreadable:,} of {first.asked:,}).{tasks}", names=[first.judge])


def _describe_orders(panel: PanelSummary) -> Iterator[Remark]:
    orders = panel.orders
    if orders is None:
        return
    if not orders.pairs:
        yield Remark("Both orders: no judge has a verdict in both on any task.")
    else:
        same = percent(orders.same / orders.pairs)
        yield Remark(
            f"Both orders: the same verdict on {same} of {count(orders.pairs, 'pair')}; the others count as a tie, or"
            " not at all."
        )
    if orders.one_order:
        yield Remark(
            f"{count(orders.one_order, 'verdict')} in one order only count as they are, and may have a position bias."
        )
    if orders.about == "places":
        yield Remark(
            f"Verdicts name places: labels are those of the order {orders.first_order!r} (about='answers' reads them"
            " otherwise)."
        )
    if orders.known and not orders.named:
        yield Remark("Position bias: of no judge.")
    elif orders.known:
        first = orders.named[0]
        place = "first" if first.bias > 0 else "second"
        low, high = sorted(0.5 + (1 if first.bias > 0 else -1) * each for each in (first.low, first.high))
        yield Remark(
            f"Position bias: of {count(orders.follow, 'judge')}, most {first.judge}, which prefers the {place} place in"
            f" {percent(0.5 + abs(first.bias))} of verdicts ({100 * low:.0f} to {100 * high:.0f} %).",
            names=[first.judge],
        )


def _describe_samples(panel: PanelSummary) -> Iterator[Remark]:
    samples = panel.samples
    if samples is None:
        return
    least, mean = samples.least_steady, samples.steadiness or 0.0
    value, low, high = (each or 0.0 for each in (least.steadiness, least.low, least.high))
    if samples.unit == "correlation":
        what = f"two of one judge on a task correlate by {mean:.2f}"
        lowest = f"by {value:.2f} ({low:.2f} to {high:.2f})"
    else:
        what = f"two of one judge are the same {percent(mean)} of the time"
        lowest = f"{percent(value)} ({100 * low:.0f} to {100 * high:.0f} %)"
    yield Remark(f"Samples: {what}; of {least.judge}, the least steady, {lowest}.", names=[least.judge])
    alone, whole = (samples.panel[str(each)] or 0.0 for each in (1, samples.most))
    one = "" if samples.enough == 1 or not whole else f"; 1 keeps {percent(alone / whole)}"
    kept = f"{100 * samples.keep:g} %"
    if samples.enough == samples.most:
        yield Remark(f"All {count(samples.most, 'sample')} per judge are needed to keep {kept}{one}.")
        return
    of = "of the accuracy with all" if samples.right_from == "gold" else "of the verdicts with all"
    verb = "keeps" if samples.enough == 1 else "keep"
    yield Remark(f"{samples.enough:,} of {samples.most:,} samples per judge {verb} {kept} {of}{one}.")


# Judges: scale, correlated errors, effective number.


def _describe_scale(panel: PanelSummary) -> Iterator[Remark]:
    use, shared = panel.scale_use, panel.shared_offset
    if use is not None:
        yield _describe_scale_use(use)
    if shared is not None:
        sign, way = (-1, "below") if shared.offset < 0 else (1, "above")
        low, high = sorted([sign * shared.low, sign * shared.high], key=abs)
        line = "" if shared.slope == 1 else f", and its differences are multiplied by {shared.slope:.3g}"
        yield Remark(
            f"The panel is {abs(shared.offset):.3g} {way} {shared.known:,} gold labels ({low:.3g} to {high:.3g}), which"
            f" was removed from all scores{line}: error on held-out gold labels {shared.after:.3g} instead of"
            f" {shared.before:.3g}."
        )


def _describe_scale_use(use: ScaleUse) -> Remark:
    named = use.offsets[:_N_JUDGES]
    plain = "" if use.corrected else ", and scores stay as they are"
    if not named:
        return Remark(f"Scale use: no judge clearly scores higher or lower than the others{plain}.")
    more = [f"and {len(use.offsets) - _N_JUDGES:,} more"] if len(use.offsets) > _N_JUDGES else []
    ending = " Offsets were removed before the panel decided." if use.corrected else ""
    if use.can_correct and not use.corrected:
        ending = " Scores stay as they are, because judges do not predict each other better without it."
    return Remark(
        f"Scale use: {'; '.join([*map(_describe_offset, named), *more])}.{ending}", names=[each.judge for each in named]
    )


def _describe_offset(each: JudgeOffset) -> str:
    low, high = sorted((abs(each.low), abs(each.high)))
    way = "higher" if each.offset > 0 else "lower"
    return f"{each.judge} scores {abs(each.offset):.3g} {way} than the others ({low:.3g} to {high:.3g})"


def _describe_pairs(panel: PanelSummary, n_judges: int) -> Iterator[Remark]:
    pairs, scored = panel.pairs, panel.worth is not None
    if not pairs.looked_at or not pairs.tasks:
        few = "no task is confident enough" if pairs.looked_at else f"there are {count(n_judges, 'judge')}"
        yield Remark(f"Correlated errors: not tested, because {few}{' and such labels' if scored else ''}.")
        return
    where = f"on {count(pairs.tasks, 'task')}" + ("" if scored else " whose truth is known or confident")
    if not pairs.found:
        yield Remark(f"Correlated errors: no pair of {pairs.looked_at:,} beyond the others, {where}.")
        return
    first = pairs.named[0]
    if scored:
        what = f"a correlation {first.correlation:.2f} above that of other pairs ({first.low:.2f} to {first.high:.2f})"
    else:
        times = f"{first.low:.2g} to {first.high:.2g} times as many"
        what = f"{first.together:,} wrong labels in common, {first.expected:.3g} expected ({times})"
    yield Remark(
        f"Correlated errors: {pairs.found:,} of {pairs.looked_at:,} pairs, {where}. First {first.judge} and"
        f" {first.other}: {what}.",
        names=[first.judge, first.other],
    )
    yield from list_groups(pairs.groups)


def list_groups(groups: Sequence[Sequence[Any]]) -> Iterator[Remark]:
    """List the first groups.

    >>> [remark.sentence for remark in list_groups([["ada", "bob"], ["eve", "kim"], ["a", "b"], ["c", "d"]])]
    ['- ada, bob', '- eve, kim', '- a, b', '- and 1 more group']
    """
    for group in groups[:_N_GROUPS]:
        yield Remark(f"- {name_some(group, len(group), _N_NAMES)}", names=group)
    if len(groups) > _N_GROUPS:
        yield Remark(f"- and {count(len(groups) - _N_GROUPS, 'more group')}")


def _describe_independence(panel: PanelSummary, n_judges: int) -> Iterator[Remark]:
    effective, ceiling = panel.voices, panel.ceiling
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
    few, cost, wanted, scored = panel.smallest, panel.cost, panel.wanted, panel.worth is not None
    what = f"Smallest panel that keeps {100 * few.keep:g} %"
    if few.size == everybody:
        yield Remark(f"{what}: all of them.")
    else:
        if scored:
            unit = f"an {_UNITS['rmse']}" if panel.error_unit == "rmse" else f"a {_UNITS['distance']}"
            to = f"the truth, all of them {panel.error:.3g}" if isinstance(panel.error, float) else "the whole panel"
            worth = f"have {unit} of {few.error:.3g} to {to}"
        else:
            accuracy = "an accuracy" if panel.by_gold else "an expected accuracy"
            low, high = few.lost
            worth = (
                f"have {accuracy} of {percent(few.accuracy or 0.0)}, {describe_loss(low or 0.0, high or 0.0)} than all,"
                f" and agree with all on {percent(few.agreement or 0.0)} of the tasks"
            )
        yield Remark(
            f"{what}: {few.size:,} of {everybody:,}: {name_some(few.members, few.size, _N_NAMES)}. On held-out tasks,"
            f" such panels {worth}.",
            names=few.members,
        )
    if cost is not None:
        names = [("all judges", cost.panel, cost.panel_per_correct)]
        names += [("the smallest panel", cost.smallest, cost.smallest_per_correct)] if few.size < everybody else []
        prices = [f"{name} {price:,.6g}{'' if scored else _per_correct(each)}" for name, price, each in names]
        yield Remark(f"Cost: {'; '.join(prices)}.")
    if wanted is not None:
        caveat = "" if panel.by_gold else ", as estimated by the whole panel"
        at_most = f"an error of at most {wanted.max_error:g}"
        if wanted.reached:
            who = name_some(wanted.members, len(wanted.members), _N_NAMES)
            yield Remark(
                f"Smallest panel with {at_most}: {who}. On held-out tasks, it is {wanted.error:.3g}{caveat}.",
                names=wanted.members,
            )
        else:
            yield Remark(f"No panel has {at_most}: the best has {wanted.error:.3g} on held-out tasks{caveat}.")


def _per_correct(price: Any) -> str:
    return f", {price:.4g} per correct verdict" if isinstance(price, float) else ", unknown per correct verdict"


def describe_loss(low: float, high: float) -> str:
    """Describe the interval of a loss, or gain.

    >>> describe_loss(0.01, 0.025), describe_loss(-0.03, -0.002), describe_loss(-0.01, 0.02)
    ('1.0 to 2.5 points less', '0.2 to 3.0 points more', 'between 1.0 points more and 2.0 less')
    """
    more, less = f"{100 * abs(low):.1f}", f"{100 * abs(high):.1f}"
    if high < 0:
        return f"{less} to {more} points more"
    return f"{more} to {less} points less" if low >= 0 else f"between {more} points more and {less} less"


def describe_recommendation(choice: Recommendation | None, panel: PanelSummary) -> Iterator[Remark]:
    """Explain the choice between the whole panel, a smaller one and one judge."""
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
    unit = "RMSE" if panel.error_unit == "rmse" else "error"
    yield Remark(
        f"Recommendation: {choice.chosen}{who}, because {why}. Cross-validated {unit}: {errors}.", names=chosen.members
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


def _describe_pivotal(panel: PanelSummary) -> Iterator[Remark]:
    pivotal = panel.pivotal
    if not pivotal.tasks:
        return
    named, who = pivotal.judges[:_N_JUDGES], []
    for each in named:
        right = "" if each.right is None else f" (right on {percent(each.right)})"
        who.append(f"{each.judge} {each.decides:,}{right}")
    more = f" and {len(pivotal.judges) - len(named):,} more" if len(pivotal.judges) > len(named) else ""
    yield Remark(
        f"One judge decides {pivotal.tasks:,} of {pivotal.of:,} tasks ({share(pivotal.tasks, pivotal.of)}), listed in"
        f" pivotal: {', '.join(who)}{more}.",
        names=[each.judge for each in named],
    )
