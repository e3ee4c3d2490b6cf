"""Outcomes: on how many tasks the panel is inconclusive, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_outcomes"]


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
