"""Messages about rates, drift and repeated samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_N_GROUPS = 5
_HALF = 0.505  # of the width, but for rounding


def percents(share: float | None) -> str:
    """Write a share in percent, of which tenths may matter.

    >>> percents(0.70208), percents(None)
    ('70.2 %', 'unknown')
    """
    return "unknown" if share is None else f"{100 * share:.1f} %"


def remark_rate(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what the rate is, and what would make it better known."""
    told = found["panel"].get("rate")
    if told is None:
        return
    good = " or ".join(map(str, told["good"]))
    if told["estimate"] is None:
        yield Remark(
            f"Rate: the panel calls {percents(told['apparent'])} of the tasks {good}. How many are, only known truths"
            f" tell (gold=): begin with the {count(told['ask']['truths'], 'task')} in the table ask."
        )
    else:
        yield Remark(
            f"Rate, corrected by {count(told['known'], 'gold label')}: {percents(told['estimate'])} of the tasks are"
            f" {good} (95 % confidence interval {_limits(told)}). The panel calls {percents(told['apparent'])} so:"
            f" {_say_errors(told, good)}.",
            *(("good", told["good"][0]) if told.get("inferred") else ()),
        )
        yield from _remark_misfit(told, good)
        yield from _remark_picked(told, good)
        yield from _remark_further(told, good)
    yield from _remark_groups(told.get("groups"))


def _say_errors(told: Mapping[str, Any], good: str) -> str:
    parts = [
        f"{percents(told[name])} of those that are{word}"
        for name, word in (("sensitivity", ""), ("specificity", " not"))
        if told[name] is not None
    ]
    if len(parts) < 2:
        return f"it is right on {parts[0]}"
    return f"it is right on {parts[0]}, and on {parts[1]}"


def _limits(told: Mapping[str, Any]) -> str:
    """Write limits in percent.

    >>> _limits({"low": 0.1, "high": 0.25})
    '10.0 to 25.0 %'
    """
    return f"{100 * told['low']:.1f} to {percents(told['high'])}"


def _remark_misfit(told: Mapping[str, Any], good: str) -> Iterator[Remark]:
    """Say that no rate fits, where the rate rests on sensitivity and specificity."""
    if told["drawn"] == "truth" and told["misfit"]:
        called = told["apparent"] if told["picked"]["others"] is None else told["picked"]["others"]
        yield Remark(
            f"The known truths do not fit this run: with such errors, no rate explains that the panel calls"
            f" {percents(called)} of the other tasks {good}. The rate is cut, and"
            " its limits hold only if errors are the same: find out truths of this run.",
        )


def _remark_picked(told: Mapping[str, Any], good: str) -> Iterator[Remark]:
    picked, other = told["picked"], told["rogan_gladen"]
    if told["drawn"] == "truth" or not picked["beyond_chance"] or other["low"] is None:
        return
    rate = "unknown" if other["estimate"] is None else f"{percents(other['estimate'])} ({_limits(other)})"
    yield Remark(
        f"The panel calls {percents(picked['known'])} of the tasks with known truths {good}, and"
        f" {percents(picked['others'])} of the others. If you picked them by their truth, say so (gold_drawn='truth'):"
        f" then the rate is {rate}."
    )


def _remark_further(told: Mapping[str, Any], good: str) -> Iterator[Remark]:
    ask = told["ask"]
    if not ask["truths"] or ask["width"] is None:
        return
    which = f"{ask['called_good']:,} of tasks called {good}, {ask['called_other']:,} of others; see the table ask"
    if ask["least_width"] <= _HALF:
        yield Remark(f"{count(ask['truths'], 'further truth')} would halve these limits ({which}).")
        return
    yield Remark(
        f"{count(ask['truths'], 'further truth')} would make these limits {100 * ask['width']:.0f} % as wide ({which})."
        f" With all truths they would be {100 * ask['least_width']:.0f} % as wide: more tasks help more."
    )


def _remark_groups(groups: Mapping[str, Any] | None) -> Iterator[Remark]:
    if groups is None:
        return
    for row in groups["named"][:_N_GROUPS]:
        if row["rate"] is None:
            what = f"called so {percents(row['apparent'])} of the time; too few known truths for a rate"
        else:
            what = f"{percents(row['rate'])} ({_limits(row)}), {count(row['tasks'], 'task')}"
        name = row["group"] or "(none)"
        yield Remark(f"- {groups['by']} {name}: {what}", words=[name])
    if names := groups["misfits"]:
        yield Remark(
            f"The known truths of all tasks do not fit {count(len(names), 'group')}, where the panel calls more or"
            f" fewer tasks good than such errors explain: {name_some(names, len(names))}.",
            words=names,
        )
    if groups["number"] > _N_GROUPS:
        yield Remark(f"- and {count(groups['number'] - _N_GROUPS, 'more group')} (see the table rates)")


# Drift: which judges changed since an earlier panel, and what became of the rate.


_N_CHANGES, _N_NAMES = 3, 4
_SCORES = {  # how it is said of changes up and down
    "scores": ("scores", "higher", "lower"),
    "off": ("is", "farther from the others", "nearer to the others"),
    "off truth": ("is", "farther from known truths", "nearer to known truths"),
}


def remark_drift(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who changed, and how the rate did."""
    told = found["panel"].get("drift")
    if told is None:
        return
    both = f"{count(told['judges'], 'judge')} and {count(told['shared_tasks'], 'task')} in both"
    who = told["drifted"]
    what = f"{name_some(who, len(who), _N_NAMES)} changed" if who else "no judge changed beyond chance"
    if not told["tests"]:
        what = "nothing can be compared without tasks in both, three judges in both, or known truths of both"
    yield Remark(f"Since {told['since']} ({both}): {what}.", names=who, words=[told["since"]])
    for row in told["named"][:_N_CHANGES]:
        yield Remark(f"- {_say_change(row)}", names=[row["judge"]])
    if told["found"] > _N_CHANGES:
        yield Remark(f"- and {count(told['found'] - _N_CHANGES, 'more change')} (see the table drift)")
    for key, word in (("new_judges", "New"), ("gone_judges", "Gone")):
        if told[key]:
            yield Remark(f"{word}: {name_some(told[key], len(told[key]), _N_NAMES)}.", names=told[key])
    yield from _remark_rate(told.get("rate"))


def _say_change(row: Mapping[str, Any]) -> str:
    """Say what changed, on which tasks.

    >>> row = {"judge": "ada", "group": "art", "what": "right", "tasks": "both", "before": 0.9, "now": 0.6}
    >>> _say_change({**row, "n_before": 50, "n_now": 50, "probability": 0.0021})
    'ada is right 60.0 % of the time in art, before 90.0 % (50 tasks in both, probability 0.0021)'
    >>> _say_change({**row, "group": "", "what": "agrees", "tasks": "other", "n_before": 40, "n_now": 50,
    ...              "probability": 1e-5})
    'ada agrees with others 30.0 points less than before, by the measure of these (40 and 50 tasks, probability 1e-05)'
    """
    where = f" in {row['group']}" if row["group"] else ""
    sure = f"probability {row['probability']:.2g}"
    if row["what"] in _SCORES:
        return _say_score(row, where, sure)
    if row["tasks"] == "other":
        tasks = f"{row['n_before']:,} and {row['n_now']:,} tasks"
        if row["what"] == "agrees":
            more = row["now"] - row["before"]
            points = f"{100 * abs(more):.1f} points {'more' if more > 0 else 'less'}"
            return (
                f"{row['judge']} agrees with others {points} than before{where}, by the measure of these"
                f" ({tasks}, {sure})"
            )
    else:
        tasks = f"{row['n_now']:,} tasks in both"
    does = {"right": "is right", "agrees": "agrees with others"}.get(row["what"], row["what"])
    return (
        f"{row['judge']} {does} {percents(row['now'])} of the time{where}, before {percents(row['before'])}"
        f" ({tasks}, {sure})"
    )


def _say_score(row: Mapping[str, Any], where: str, sure: str) -> str:
    """Say how a judge scores in another way.

    >>> row = {"judge": "ada", "what": "scores", "tasks": "both", "before": 3.1, "now": 4.3, "low": 1.0, "high": 1.4}
    >>> _say_score({**row, "n_before": 50, "n_now": 50}, " in art", "probability 0.002")
    'ada scores 1.2 higher than before in art (1 to 1.4; 50 tasks in both, probability 0.002)'
    """
    more = row["now"] - row["before"]
    does, up, down = _SCORES[row["what"]]
    beside = ", by the measure of the others" if row["tasks"] == "other" and row["what"] == "scores" else ""
    tasks = f"{row['n_before']:,} and {row['n_now']:,} tasks"
    tasks = f"{row['n_now']:,} tasks in both" if row["tasks"] == "both" else tasks
    low, high = sorted((row["low"], row["high"]) if more > 0 else (-row["low"], -row["high"]))
    return (
        f"{row['judge']} {does} {abs(more):.3g} {up if more > 0 else down} than before{where}{beside}"
        f" ({low:.3g} to {high:.3g}; {tasks}, {sure})"
    )


def _remark_rate(rate: Mapping[str, Any] | None) -> Iterator[Remark]:
    if rate is None:
        return
    if "other_good" in rate:
        good = " or ".join(map(str, rate["other_good"]))
        yield Remark(f"The earlier rate is that of {good}, and cannot be compared with this one.")
        return
    difference = rate["difference"]
    if difference["estimate"] is not None:
        yield Remark(
            f"The rate was {percents(rate['before']['estimate'])} and is {percents(rate['now']['estimate'])}:"
            f" {100 * difference['estimate']:+.1f} points ({100 * difference['low']:+.1f} to"
            f" {100 * difference['high']:+.1f})."
        )
    if "effect" in rate:
        yield Remark(
            f"Judges who changed move the share that the majority vote calls good by {100 * rate['effect']:+.1f}"
            " points, on tasks in both."
        )


# Samples: how steady judges are, and how many samples are enough.


def remark_samples(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how often two samples are the same, and how many of them keep nearly all.

    >>> least = {"judge": "gpt", "steadiness": 0.8, "low": 0.75, "high": 0.84}
    >>> told = {"most": 5, "steadiness": 0.9, "least_steady": least, "enough": 2, "keep": 0.99}
    >>> told |= {"right_from": "panel", "panel": {"1": 0.96, "2": 0.99, "5": 1.0}}
    >>> for remark in remark_samples({"panel": {"samples": told}}):
    ...     print(remark.sentence)
    Samples: two of one judge are the same 90 % of the time; of gpt, the least steady, 80 % (75 to 84 %).
    2 of 5 samples per judge keep 99 % of what all say; 1 keeps 96 %.
    """
    told = found["panel"].get("samples")
    if told is None:
        return
    least = told["least_steady"]
    if told.get("unit") == "correlation":
        yield Remark(
            f"Samples: two of one judge on a task correlate by {told['steadiness']:.2f}; those of {least['judge']}, the"
            f" least steady, by {least['steadiness']:.2f} ({least['low']:.2f} to {least['high']:.2f}).",
            names=[least["judge"]],
        )
        yield from _remark_enough(told)
        return
    yield Remark(
        f"Samples: two of one judge are the same {percent(told['steadiness'])} of the time; of {least['judge']}, the"
        f" least steady, {percent(least['steadiness'])} ({100 * least['low']:.0f} to {100 * least['high']:.0f} %).",
        names=[least["judge"]],
    )
    yield from _remark_enough(told)


def _remark_enough(told: Mapping[str, Any]) -> Iterator[Remark]:
    worth = "of what is right with all" if told["right_from"] == "gold" else "of what all say"
    alone, whole = told["panel"]["1"], told["panel"][str(told["most"])]
    one = "" if told["enough"] == 1 or not whole else f"; 1 keeps {percent(alone / whole)}"
    if told["enough"] == told["most"]:
        yield Remark(f"All {count(told['most'], 'sample')} per judge are needed to keep {100 * told['keep']:g} %{one}.")
        return
    verb = "keeps" if told["enough"] == 1 else "keep"
    yield Remark(
        f"{told['enough']:,} of {told['most']:,} samples per judge {verb} {100 * told['keep']:g} % {worth}{one}."
    )
