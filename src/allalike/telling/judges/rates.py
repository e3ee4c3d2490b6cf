"""Rates: which share of the tasks is good, how well that is known, and which truths to find out next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["percents", "remark_rate"]

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
