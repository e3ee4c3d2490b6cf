"""Off together: whose scores err the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.judges.bonds import remark_groups
from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_off_together"]


def remark_off_together(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many pairs are off together, and name the first pair and groups.

    >>> pairs = {"looked_at": 15, "found": 0, "tasks": 80, "named": [], "groups": []}
    >>> [remark.sentence for remark in remark_off_together({"workers": 6, "panel": {"worth": 1.0, "pairs": pairs}})]
    ['Wrong together: no pair of 15 more than others, on 80 tasks.']
    """
    panel = found["panel"]
    if "worth" not in panel:
        return
    pairs = panel["pairs"]
    if not pairs["looked_at"]:
        yield Remark(f"Wrong together: not looked for with {count(found['workers'], 'judge')} and such labels.")
        return
    where = f"on {count(pairs['tasks'], 'task')}"
    if not pairs["found"]:
        yield Remark(f"Wrong together: no pair of {pairs['looked_at']:,} more than others, {where}.")
        return
    first = pairs["named"][0]
    yield Remark(
        f"Wrong together: {pairs['found']:,} of {pairs['looked_at']:,} pairs, {where}. First {first['judge']} and"
        f" {first['other']}: their errors correlate by {first['correlation']:.2f} more than those of other pairs"
        f" ({first['low']:.2f} to {first['high']:.2f}).",
        names=[first["judge"], first["other"]],
    )
    yield from remark_groups(pairs["groups"])
