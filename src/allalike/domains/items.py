"""Rankings as they are written: items, best first, in a list or as text."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.domains.lists import json_list

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["describe_difference", "in_order", "read_ranking", "write_ranking"]

_MAX_ITEMS = 1000  # of a task; they have half a million pairs
_MAX_SHOWN_ITEMS = 6
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_TIE_MARKS = "=~{}"
_NOT_YET = "tied and partial rankings are not supported yet; rank every item of the task once, one above the other"


def read_ranking(value: Any) -> tuple[Any, ...]:
    """Read a ranking as a tuple of different items; raise ValueError with the reason if it is none.

    >>> read_ranking("x > y>z"), read_ranking('[3, 1]')
    (('x', 'y', 'z'), (3, 1))
    """
    items = tuple(map(_item, _listed(value)))
    if len(set(items)) < len(items):
        twice = next(item for place, item in enumerate(items) if item in items[:place])
        raise ValueError(f"it ranks {_shortened(twice)} twice")
    if not 0 < len(items) <= _MAX_ITEMS:
        raise ValueError(f"it ranks {len(items):,} items; 1 to {_MAX_ITEMS:,} can be compared")
    return items


def describe_difference(what: str, left: list[Any], right: list[Any]) -> str:
    """Say that two rankings have different items, and which."""
    here, there = ([_shortened(item) for item in items] for items in (left, right))
    only = [item for item in (*here, *there) if (item in here) != (item in there)]
    return (
        f"{what} rank different items: {_joined(here, ' > ')} against {_joined(there, ' > ')}. Only one of them has"
        f" {_joined(only, ', ')}."
        f" {_NOT_YET[0].upper()}{_NOT_YET[1:]}."
    )


def _listed(value: Any) -> list[Any]:
    """Take a label apart into its items."""
    if isinstance(value, str):
        return json_list(value) if value.lstrip().startswith("[") else _split(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return list(value.tolist())
    raise ValueError("a ranking is a list of items, or text such as 'a>b>c'")


def _split(text: str) -> list[str]:
    if any(mark in text for mark in _TIE_MARKS):
        raise ValueError(_NOT_YET)
    if "<" in text or (">" not in text and any(mark in text for mark in ",;|")):
        raise ValueError("a ranking is written best first, with '>' between the items, or as a JSON list")
    return [item.strip() for item in text.split(">")]


def _item(item: Any) -> Any:
    """Check one item; a whole number is the same item however it is written."""
    if type(item) is int or (type(item) is str and item):
        return item
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, str) and item:
        return str(item)
    if isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
        return int(item) if item == int(item) else item
    if item is None or isinstance(item, str):
        raise ValueError("a place has no item")
    several = isinstance(item, list | tuple | set | frozenset | dict | np.ndarray)
    raise ValueError(_NOT_YET if several else f"{item!r} is neither the name nor the number of an item")


def in_order(items: Iterable[Any]) -> list[Any]:
    """Sort numbers by size and names by letters; names that are whole numbers count as numbers here."""
    items = list(items)
    if all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in items):
        return sorted(items, key=int)
    return sorted(items, key=lambda item: (isinstance(item, str), item))


def write_ranking(items: list[Any]) -> str:
    """Write a ranking so that it can be read again."""
    names = [str(item) for item in items]
    text = ">".join(names)
    try:
        return text if _split(text) == names and not text.startswith("[") else json.dumps(items, ensure_ascii=False)
    except ValueError:
        return json.dumps(items, ensure_ascii=False)


def _joined(items: list[str], separator: str) -> str:
    shown = items[:_MAX_SHOWN_ITEMS]
    return separator.join([*shown, "..."] if len(items) > len(shown) else shown)


def _shortened(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:30]}..."
