"""Groups on the screen: how much workers agree in each, a line for each group."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from allalike.cli.console import rows, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["draw_groups"]

_WIDTH, _MAX_NAME = 80, 26
_HEADS = ("kind", "answers", "workers", "tasks", "alpha", "limits", "equal")
_RIGHT = ("answers", "workers", "tasks", "alpha", "equal")


def draw_groups(summary: Mapping[str, Any]) -> list[str]:
    r"""Return the lines of a table with a line for each group, and what its numbers mean.

    >>> numbers = {"answers": 8, "workers": 4, "tasks": 2, "alpha": 0.5, "low": 0.1, "high": 0.7, "percent": 0.75}
    >>> group = {"group": {"sex": "f"}, "domain": {"name": "categorical"}, **numbers}
    >>> print("\n".join(draw_groups({"by": ["sex"], "groups": [group]})[:2]))
      sex  kind         answers  workers  tasks  alpha  limits        equal
      f    categorical        8        4      2  0.500  0.10 to 0.70   75 %
    """
    table = [(*summary["by"], *_HEADS), *(_line(group) for group in summary["groups"])]
    names = len(summary["by"])
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    right = [place >= names and _HEADS[place - names] in _RIGHT for place in range(len(widths))]
    shown = [
        tuple(
            cell.rjust(width) if to_right else cell for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        for line in table
    ]
    prose = (
        "Alpha is 1 if nobody disagrees, and 0 if answers to the same task are no closer than answers to any task of"
        " the group. One task alone has no alpha, and fewer than 20 have no limits (95 %). Equal: the share of equal"
        " pairs of answers to a task."
    )
    return [*rows(shown).splitlines(), "", *wrap(prose, _WIDTH)]


def _line(group: Mapping[str, Any]) -> tuple[str, ...]:
    limits = "" if group["low"] is None else f"{group['low']:.2f} to {group['high']:.2f}"
    return (
        *(_shortened(value) for value in group["group"].values()),
        group["domain"]["name"],
        *(f"{group[name]:,}" for name in ("answers", "workers", "tasks")),
        "-" if group["alpha"] is None else f"{group['alpha']:.3f}",
        limits,
        "" if group["percent"] is None else f"{100 * group['percent']:.0f} %",
    )


def _shortened(name: str) -> str:
    shown = visible(name) or "(none)"
    return shown if len(shown) <= _MAX_NAME else f"{shown[: _MAX_NAME - 3]}..."
