"""Smaller panels: who is needed, and what that saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.telling.remark import Remark, name_some, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_costs", "remark_smallest"]

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
