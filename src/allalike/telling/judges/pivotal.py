"""Pivotal tasks: how many verdicts one judge decides, and who does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.telling.remark import Remark, percent, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_pivotal"]

_N_NAMED = 2


def remark_pivotal(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say on how many tasks the verdict turns without one judge, and who decides most of them.

    >>> judges = [{"judge": "ada", "decides": 20, "right": 0.75}, {"judge": "bob", "decides": 9, "right": None}]
    >>> told = {"tasks": 24, "of": 100, "share": 0.24, "judges": judges}
    >>> for remark in remark_pivotal({"panel": {"pivotal": told}}):
    ...     print(remark.sentence)
    One judge decides 24 of 100 tasks (24.0 %), listed in pivotal: ada 20 (right on 75 %), bob 9.
    """
    told = found["panel"].get("pivotal")
    if told is None or not told["tasks"]:
        return
    named = told["judges"][:_N_NAMED]
    who = [f"{each['judge']} {each['decides']:,}{_say_right(each['right'])}" for each in named]
    more = len(told["judges"]) - len(named)
    yield Remark(
        f"One judge decides {told['tasks']:,} of {told['of']:,} tasks ({share(told['tasks'], told['of'])}), listed in"
        f" pivotal: {', '.join(who)}{f' and {more:,} more' if more else ''}.",
        names=[each["judge"] for each in named],
    )


def _say_right(right: float | None) -> str:
    return "" if right is None else f" (right on {percent(right)})"
