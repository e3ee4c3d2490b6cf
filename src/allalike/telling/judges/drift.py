"""Drift: which judges changed since an earlier panel, and what became of the rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.judges.rates import percents
from allalike.telling.remark import Remark, name_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_drift"]

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
