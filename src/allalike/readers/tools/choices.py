"""Choices: cells that hold several answers at once, read as sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["as_sets"]

_MAX_CHOICES = 30  # more different ones, and longer, are lines of text
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def as_sets(cells: Sequence[str | None], separator: str = "\n") -> list[frozenset[str] | None] | None:
    r"""Return cells as sets if some of them hold several choices, or nothing if none does.

    Choices stand on lines of their own, or what else separates them, or in square brackets.

    >>> as_sets(["cat\ndog", "cat", None, ""]) == [{"cat", "dog"}, {"cat"}, None, None]
    True
    >>> as_sets(["[A] [B]", "[A]"]) == [{"[A]", "[B]"}, {"[A]"}], as_sets(["cat", "dog"])
    (True, None)
    """
    filled = [cell for cell in cells if cell and cell.strip()]
    if filled and all(not _BRACKETS.sub("", cell).strip() for cell in filled):
        parts = {cell: frozenset(_BRACKETS.findall(cell)) for cell in filled}
    elif any(separator in cell.strip() for cell in filled):
        parts = {cell: frozenset(part.strip() for part in cell.split(separator) if part.strip()) for cell in filled}
    else:
        return None
    if all(len(part) < 2 for part in parts.values()) or not _recur(parts.values(), len(filled)):
        return None
    return [parts[cell] if cell and cell.strip() else None for cell in cells]


def _recur(sets: Iterable[frozenset[str]], cells: int) -> bool:
    """Tell whether choices come from a list, and are no lines of a text."""
    kinds = {item for items in sets for item in items}
    return len(kinds) <= max(_MAX_CHOICES, cells / 10) and (len(kinds) < cells or cells < _MAX_CHOICES)
