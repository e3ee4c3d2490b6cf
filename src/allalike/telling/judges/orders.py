"""Orders: how often judges say the same in both, and who follows the position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_orders"]


def remark_orders(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how steady verdicts are against the order, and who follows the position most.

    >>> named = [{"judge": "gpt", "bias": 0.2, "low": 0.12, "high": 0.27}]
    >>> told = {"about": "places", "first_order": "AB", "pairs": 200, "same": 150, "known": True}
    >>> told |= {"one_order": 12, "follow": 1, "named": named}
    >>> for remark in remark_orders({"panel": {"orders": told}}):
    ...     print(remark.sentence)
    Both orders: the same verdict on 75 % of 200 pairs; the others count as a tie, or not at all.
    12 verdicts in one order only count as they are, and may follow the position.
    Verdicts name places: labels are those of the order 'AB' (about='answers' reads them otherwise).
    Position: 1 judge follows it, most gpt, who prefers the first place in 70 % of verdicts (62 to 77 %).
    """
    told = found["panel"].get("orders")
    if told is None:
        return
    if not told["pairs"]:
        yield Remark("Both orders: no judge has a verdict in both on any task.")
    else:
        same = percent(told["same"] / told["pairs"])
        yield Remark(
            f"Both orders: the same verdict on {same} of {count(told['pairs'], 'pair')}; the others count as a tie, or"
            " not at all."
        )
    if told["one_order"]:
        yield Remark(
            f"{count(told['one_order'], 'verdict')} in one order only count as they are, and may follow the position."
        )
    if told["about"] == "places":
        yield Remark(
            f"Verdicts name places: labels are those of the order {told['first_order']!r} (about='answers' reads them"
            " otherwise)."
        )
    if not told["known"]:
        return
    if not told["named"]:
        yield Remark("Position: no judge is seen to follow it.")
        return
    first = told["named"][0]
    place = "first" if first["bias"] > 0 else "second"
    middle, *limits = sorted([0.5 + abs(first["bias"])]) + sorted(0.5 + abs(first[name]) for name in ("low", "high"))
    yield Remark(
        f"Position: {count(told['follow'], 'judge')} follow{'s' if told['follow'] == 1 else ''} it, most"
        f" {first['judge']}, who prefers the {place} place in {percent(middle)} of verdicts"
        f" ({100 * limits[0]:.0f} to {100 * limits[1]:.0f} %).",
        names=[first["judge"]],
    )
