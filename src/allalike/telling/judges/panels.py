"""Messages about smaller panels, outcomes, unreadable verdicts and use of the scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, percent
from allalike.telling.summary import Summary
from allalike.telling.truths import remark_reading, say_ties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_N_NAMES = 4


def remark_smallest(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who is in the smallest panel that keeps nearly all, and what it loses."""
    if "accuracy" not in found["panel"]:
        return
    told, everybody = found["panel"]["smallest"], found["workers"]
    what = f"Smallest panel that keeps {100 * told['keep']:g} %"
    if told["size"] == everybody:
        yield Remark(f"{what}: all of them.")
        return
    right = "are right" if found["panel"]["accuracy_from"] == "gold" else "should be right"
    yield Remark(
        f"{what}: {told['size']:,} of {everybody:,}: {name_some(told['members'], told['size'], _N_NAMES)}. On tasks"
        f" that did not choose them, such panels {right} {percent(told['accuracy'])} of the time,"
        f" {_say_lost(*told['lost'])} than all, and agree with all on {percent(told['agreement'])} of the tasks.",
        names=told["members"],
    )


def _say_lost(low: float, high: float) -> str:
    """Write between which limits something is less, or more.

    >>> _say_lost(0.01, 0.025), _say_lost(-0.03, -0.002), _say_lost(-0.01, 0.02)
    ('1.0 to 2.5 points less', '0.2 to 3.0 points more', 'between 1.0 points more and 2.0 less')
    """
    more, less = f"{100 * abs(low):.1f}", f"{100 * abs(high):.1f}"
    if high < 0:
        return f"{less} to {more} points more"
    return f"{more} to {less} points less" if low >= 0 else f"between {more} points more and {less} less"


def remark_costs(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what all judges cost, and what the smallest panel does."""
    cost = found["panel"].get("cost")
    if cost is None or "accuracy" not in found["panel"]:
        return
    prices = [
        f"{name} {cost[key]:,.6g}, {'unknown' if each is None else f'{each:.4g}'} per correct verdict"
        for name, key in (("all judges", "panel"), ("the smallest panel", "smallest"))
        if key == "panel" or found["panel"]["smallest"]["size"] < found["workers"]
        for each in (cost[f"{key}_per_correct"],)
    ]
    yield Remark(f"Cost: {'; '.join(prices)}.")


# Smaller panels of scores: how far the panel is from the truth, who is needed, and what that saves.


_UNITS = {"rmse": "RMSE", "distance": "mean distance"}
_ARTICLES = {"rmse": "an", "distance": "a"}


def remark_scores(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many scores there are, and how far from the truth the panel is."""
    panel = found["panel"]
    if "worth" not in panel:
        return
    summary = Summary.from_dict(found)
    yield Remark(
        f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
        f" ({summary.domain.name}), {summary.answers / summary.tasks:.3g} per task."
    )
    yield from remark_reading(summary)
    unit, gold = _UNITS[panel["error_unit"]], summary.gold
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        read = math.sqrt if panel["error_unit"] == "rmse" else float
        yield Remark(
            f"Its {unit} to the truth is {read(gold.error):.3g} on {count(gold.tasks, 'task')} with known truths,"
            f" {read(gold.unweighted_error):.3g} if everyone counts the same, {panel['guess_error']:.3g} between two"
            " tasks."
        )
    elif panel["error"] is not None:
        yield Remark(
            f"Its {unit} to the truth should be about {panel['error']:.3g}; between two tasks it is"
            f" {panel['guess_error']:.3g}."
        )


def remark_smallest_scores(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who is in the smallest panel that keeps nearly all, how far it is from the truth, and what it costs."""
    panel = found["panel"]
    if "worth" not in panel:
        return
    told, everybody, unit = panel["smallest"], found["workers"], panel["error_unit"]
    what = f"Smallest panel that keeps {100 * told['keep']:g} %"
    if told["size"] == everybody:
        yield Remark(f"{what}: all of them.")
    else:
        to = "the whole panel" if panel["error"] is None else f"the truth, all of them {panel['error']:.3g}"
        yield Remark(
            f"{what}: {told['size']:,} of {everybody:,}: {name_some(told['members'], told['size'], _N_NAMES)}. On tasks"
            f" that did not choose them, such panels have {_ARTICLES[unit]} {_UNITS[unit]} of {told['error']:.3g} to"
            f" {to}.",
            names=told["members"],
        )
    if "cost" in panel:
        few = f"; the smallest panel {panel['cost']['smallest']:,.6g}" if told["size"] < everybody else ""
        yield Remark(f"Cost: all judges {panel['cost']['panel']:,.6g}{few}.")


# Wanted error: the smallest panel that errs no more than is allowed.


def remark_wanted(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who is in the smallest panel that errs no more than is wanted, or that there is none.

    >>> told = {"max_error": 0.1, "reached": True, "members": ["ada", "eve"], "error": 0.08}
    >>> print(next(remark_wanted({"panel": {"accuracy_from": "gold", "wanted": told}})).sentence)
    Smallest panel with an error of at most 0.1: ada, eve. On tasks that did not choose it, it is 0.08.
    >>> none = {"max_error": 0.01, "reached": False, "error": 0.08}
    >>> print(next(remark_wanted({"panel": {"accuracy_from": "gold", "wanted": none}})).sentence)
    No panel has an error of at most 0.01: the best has 0.08 on tasks that did not choose it.
    """
    panel = found["panel"]
    told = panel.get("wanted")
    if told is None:
        return
    known = "gold" in (panel.get("accuracy_from"), panel.get("worth_from"))
    doubt = "" if known else ", as far as the whole panel can tell"
    error = f"{told['error']:.3g}"
    if not told["reached"]:
        yield Remark(
            f"No panel has an error of at most {told['max_error']:g}: the best has {error} on tasks that did not choose"
            f" it{doubt}."
        )
        return
    who = name_some(told["members"], len(told["members"]), _N_NAMES)
    yield Remark(
        f"Smallest panel with an error of at most {told['max_error']:g}: {who}. On tasks that did not choose it, it"
        f" is {error}{doubt}.",
        names=told["members"],
    )


# Outcomes: on how many tasks the panel is inconclusive, and why.


def remark_outcomes(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many tasks are ties, and on how many the panel says nothing, unless it is because it is not sure.

    >>> told = {"tie": "draw", "undecided": 2, "quorum": 3.0, "below_quorum": 1}
    >>> [remark.sentence for remark in remark_outcomes({"panel": {"outcomes": {**told, "ties": 5}}})]
    ["'draw' is a tie, the verdict on 5 tasks (tie= names another).", 'Inconclusive: fewer than 3 independent ...']
    """
    told = found["panel"]["outcomes"]
    if "tie" in told:
        yield Remark(f"{told['tie']!r} is a tie, the verdict on {count(told['ties'], 'task')} (tie= names another).")
    if told.get("below_quorum"):
        yield Remark(
            f"Inconclusive: fewer than {told['quorum']:g} independent voices on {count(told['below_quorum'], 'task')}."
        )
    if told["undecided"]:
        yield Remark(f"Inconclusive: every judge contradicts herself on {count(told['undecided'], 'task')}.")
    if names := told.get("voiceless"):
        yield Remark(
            f"Without a voice, contradicting herself on every task: {name_some(names, len(names))}.", names=names
        )


# Unreadable verdicts: how many there are, and whose.


def remark_unreadable(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many verdicts could not be read, and who gave the most of them.

    >>> named = [{"judge": "llama", "unreadable": 30, "asked": 200}, {"judge": "gpt", "unreadable": 11, "asked": 200}]
    >>> told = {"verdicts": 41, "judges": 2, "tasks": 1, "named": named}
    >>> [remark.sentence for remark in remark_unreadable({"panel": {"unreadable": told}})]
    ['Unreadable: 41 verdicts of 2 judges, most of llama (30 of 200). 1 task has none that can be read.']
    """
    told = found["panel"]["unreadable"]
    if not told["verdicts"]:
        return
    what = f"Unreadable: {count(told['verdicts'], 'verdict')}"
    if not told["named"]:
        yield Remark(f"{what}; whose they are is not known of answers that were read before.")
        return
    first = told["named"][0]
    most = "of" if told["judges"] == 1 else f"of {told['judges']:,} judges, most of"
    has = "has" if told["tasks"] == 1 else "have"
    tasks = f" {count(told['tasks'], 'task')} {has} none that can be read." if told["tasks"] else ""
    yield Remark(
        f"{what} {most} {first['judge']} ({first['unreadable']:,} of {first['asked']:,}).{tasks}",
        names=[first["judge"]],
    )


# Verdicts: how many there are, how often the panel is right, and what cannot be known without truths.


def remark_verdicts(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many verdicts there are, what they are worth, and how often the panel is right."""
    if "accuracy" not in found["panel"]:
        return
    summary = Summary.from_dict(found)
    sure = summary.confidence
    assert sure is not None
    worth = f", worth about {sure.voices_per_task:.2g} voices" if sure.voices_per_task else ""
    yield Remark(
        f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
        f" ({summary.domain.name})."
    )
    yield Remark(
        f"Panel: {sure.answers_per_task:.3g} verdicts per task{worth}; {summary.changed:,} labels differ from the"
        f" majority vote{say_ties(summary)}."
    )
    yield from remark_reading(summary)
    yield _remark_rightness(summary, found["panel"])
    if summary.abstained is not None:
        yield Remark(
            f"It abstains from {summary.abstained:,} tasks that are less sure than {summary.min_confidence:g}."
        )


def _remark_rightness(summary: Summary, panel: Mapping[str, Any]) -> Remark:
    gold, sure, error = summary.gold, summary.confidence, panel["calibration_error"]
    assert sure is not None
    if gold is None or gold.error is None or gold.unweighted_error is None:
        return Remark(f"It should be right {percent(sure.mean)} of the time.")
    mended = "" if error["mended"] == error["own"] else f", mended by known truths {error['mended']:.3f}"
    others = f"the majority vote on {percent(1 - gold.unweighted_error)}"
    right = percent(1 - gold.error)
    if panel["accuracy_from"] == "gold":
        right, others = percent(panel["accuracy"]), f"without any on {right}, {others}"
    return Remark(
        f"It is right on {right} of {count(gold.tasks, 'task')} with known truths (each decided without its own),"
        f" {others}; its probabilities are {error['own']:.3f} off{mended}."
    )


def remark_limits(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what cannot be known."""
    if "gold" in (found["panel"].get(name) for name in ("accuracy_from", "worth_from")):
        yield Remark("What is known here is known of tasks like those with known truths.")
    else:
        yield Remark(
            "Without known truths (gold=, 50 or more) nobody can tell errors that all judges share from truth: a panel"
            " of one family agrees with itself, and looks sure."
        )


# Scale use: who scores higher than the others, and whether that was taken away.


_N_NAMED = 2


def remark_scale_use(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who uses the scale in another way than the others, and what was done about it.

    >>> eve = {"judge": "eve", "offset": 1.5, "low": 1.2, "high": 1.8}
    >>> told = {"corrected": ["offsets"], "can_correct": True, "offsets": [eve]}
    >>> for remark in remark_scale_use({"panel": {"scale_use": told}}):
    ...     print(remark.sentence)
    Scale use: eve scores 1.5 higher than the others (1.2 to 1.8). Offsets were taken away before the panel decided.
    >>> told = {"corrected": [], "can_correct": True, "offsets": []}
    >>> [remark.sentence for remark in remark_scale_use({"panel": {"scale_use": told}})]
    ['Scale use: no judge clearly scores higher or lower than the others, and scores stay as they are.']
    """
    told = found["panel"].get("scale_use")
    if told is None:
        return
    named = told["offsets"][:_N_NAMED]
    if not named:
        yield Remark(f"Scale use: no judge clearly scores higher or lower than the others{_say_plain(told)}.")
        return
    yield Remark(
        f"Scale use: {'; '.join(_say_offsets(told['offsets']))}.{_say_correction(told)}",
        names=[each["judge"] for each in named],
    )


def remark_shared_offset(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what all judges share, and was taken away.

    >>> told = {"known": 60, "offset": 0.5, "low": 0.4, "high": 0.6, "slope": 1.0, "before": 0.61, "after": 0.36}
    >>> for remark in remark_shared_offset({"panel": {"shared_offset": told}}):
    ...     print(remark.sentence)
    The panel is 0.5 above 60 known truths (0.4 to 0.6), which was taken away from all scores: truths that did not tell
    it are 0.36 from the panel instead of 0.61.
    """
    told = found["panel"].get("shared_offset")
    if told is None:
        return
    way, (low, high) = ("above", "below")[told["offset"] < 0], sorted([told["low"], told["high"]], key=abs)
    line = "" if told["slope"] == 1 else f", and its differences are stretched by {told['slope']:.3g}"
    yield Remark(
        f"The panel is {abs(told['offset']):.3g} {way} {told['known']:,} known truths ({_unsigned(low, told)} to"
        f" {_unsigned(high, told)}), which was taken away from all scores{line}: truths that did not tell it are"
        f" {told['after']:.3g} from the panel instead of {told['before']:.3g}."
    )


def _unsigned(limit: float, told: Mapping[str, Any]) -> str:
    """Write a limit in the direction of the offset."""
    return f"{-limit if told['offset'] < 0 else limit:.3g}"


def _say_plain(told: Mapping[str, Any]) -> str:
    return "" if told["corrected"] else ", and scores stay as they are"


def _say_offsets(named: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in named[:_N_NAMED]:
        low, high = sorted(abs(each[end]) for end in ("low", "high"))
        way = "higher" if each["offset"] > 0 else "lower"
        yield f"{each['judge']} scores {abs(each['offset']):.3g} {way} than the others ({low:.3g} to {high:.3g})"
    if len(named) > _N_NAMED:
        yield f"and {len(named) - _N_NAMED:,} more"


def _say_correction(told: Mapping[str, Any]) -> str:
    if told["corrected"]:
        return " Offsets were taken away before the panel decided."
    if told["can_correct"]:
        return " Scores stay as they are, for judges predict each other no better without it."
    return ""
