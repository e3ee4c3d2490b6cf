"""Unreadable verdicts: how many there are, and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_unreadable"]


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
