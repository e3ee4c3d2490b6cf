"""Bonds: who is wrong with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["remark_bonds", "remark_groups"]

_N_GROUPS, _N_NAMES = 3, 4


def remark_bonds(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many pairs are wrong together, and name the first pair and groups.

    >>> pairs = {"looked_at": 3, "found": 0, "tasks": 20, "named": [], "groups": []}
    >>> [remark.sentence for remark in remark_bonds({"workers": 3, "panel": {"pairs": pairs}})]
    ['Wrong together: no pair of 3 more than others, on 20 tasks whose truth is known or sure.']
    """
    pairs = found["panel"]["pairs"]
    if "worth" in found["panel"]:
        return
    if not pairs["looked_at"] or not pairs["tasks"]:
        few = "no task is sure enough" if pairs["looked_at"] else f"there are {count(found['workers'], 'judge')}"
        yield Remark(f"Wrong together: not looked for, because {few}.")
        return
    where = f"on {pairs['tasks']:,} tasks whose truth is known or sure"
    if not pairs["found"]:
        yield Remark(f"Wrong together: no pair of {pairs['looked_at']:,} more than others, {where}.")
        return
    first, groups = pairs["named"][0], pairs["groups"]
    yield Remark(
        f"Wrong together: {pairs['found']:,} of {pairs['looked_at']:,} pairs, {where}. First {first['judge']} and"
        f" {first['other']}: {first['together']:,} wrong answers in common, {first['expected']:.3g} expected"
        f" ({first['low']:.2g} to {first['high']:.2g} times as many).",
        names=[first["judge"], first["other"]],
    )
    yield from remark_groups(groups)


def remark_groups(groups: Sequence[Sequence[Any]]) -> Iterator[Remark]:
    """Name the first groups.

    >>> [remark.sentence for remark in remark_groups([["ada", "bob"], ["eve", "kim"], ["a", "b"], ["c", "d"]])]
    ['- ada, bob', '- eve, kim', '- a, b', '- and 1 more group']
    """
    for group in groups[:_N_GROUPS]:
        yield Remark(f"- {name_some(group, len(group), _N_NAMES)}", names=group)
    if len(groups) > _N_GROUPS:
        yield Remark(f"- and {count(len(groups) - _N_GROUPS, 'more group')}")
