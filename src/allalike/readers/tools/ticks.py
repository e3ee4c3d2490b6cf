"""Ticks: options of a question that have a column each, which is empty where an option was not ticked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.tools.sheets import BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UNTICKED", "fill_ticks"]

UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})
_OPTION = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")


def fill_ticks(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns of options, in which those that somebody left open who ticked another are no longer empty.

    Options of a question are columns that are called alike but for a number or brackets at the end. Each has one value
    only: the same mark in all of them, or the option's own text.

    >>> fill_ticks({"Q1_1": ["tea", "", ""], "Q1_2": ["milk", "milk", ""], "Q2_1": ["a", "b", ""]})
    {'Q1_1': ['tea', 'no', ''], 'Q1_2': ['milk', 'milk', '']}
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for name, cells in columns.items():
        stem = _OPTION.sub("", name)
        if stem != name:
            groups.setdefault(stem, {})[name] = cells
    filled: dict[str, list[str]] = {}
    for group in groups.values():
        if _are_ticks(group):
            ticked = [any(not _is_blank(cell) for cell in row) for row in zip(*group.values(), strict=True)]
            for name, cells in group.items():
                pairs = zip(cells, ticked, strict=True)
                filled[name] = [UNTICKED if there and _is_blank(cell) else cell for cell, there in pairs]
    return filled


def _are_ticks(group: Mapping[str, list[str]]) -> bool:
    values = [{cell.strip() for cell in cells if not _is_blank(cell)} for cells in group.values()]
    if len(group) < 2 or any(len(each) > 1 for each in values):
        return False
    marks = [value.casefold() for each in values for value in each]
    return bool(marks) and (set(marks) <= _MARKS or (len(set(marks)) == len(marks) > 1))


def _is_blank(cell: str) -> bool:
    return cell.strip() in BLANKS
