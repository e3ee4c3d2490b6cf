"""Written forms of rankings: lists, text and ranks.

    a>b>c          a > b = c > d          a>{b,c}>d          ["a", ["b", "c"], "d"]          {"a": 1, "b": 2, "c": 2}

A ranking is parsed into a tuple of items, best first. Tied items form a nested tuple, and unranked items are missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from allalike._core.limits import MAX_ITEMS
from allalike.domains.spelling import read_json, read_number

_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_TIES = re.compile("[=~]")
_NOT_PLAIN = re.compile(r"[<{}\[\]=~,;|]")
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


def read_ranking(value: Any) -> tuple[Any, ...]:
    """Parse a ranking as a tuple of distinct items; raise ValueError with the reason if it is invalid.

    >>> read_ranking("x > y>z"), read_ranking('[3, 1]')
    (('x', 'y', 'z'), (3, 1))
    >>> read_ranking("a>b=c"), read_ranking("a>{c,b}"), read_ranking([["a"], ["b", "c"]])
    (('a', ('b', 'c')), ('a', ('b', 'c')), ('a', ('b', 'c')))
    >>> read_ranking({"a": 1, "b": 2, "c": 2})
    ('a', ('b', 'c'))
    """
    if isinstance(value, str) and not _NOT_PLAIN.search(value):
        plain = tuple(map(str.strip, value.split(">")))
        if "" not in plain and len(set(plain)) == len(plain) <= MAX_ITEMS:
            return plain
    places = [tuple(map(_read_item, place)) for place in _split_places(value)]
    items = list(chain.from_iterable(places))
    if len(set(items)) < len(items):
        twice = next(item for place, item in enumerate(items) if item in items[:place])
        raise ValueError(f"it ranks {_shorten(twice)} twice")
    if not 0 < len(items) <= MAX_ITEMS:
        raise ValueError(f"it ranks {len(items):,} items; 1 to {MAX_ITEMS:,} are supported")
    return tuple(place[0] if len(place) == 1 else tuple(sort_items(place)) for place in places)


def _split_places(value: Any) -> list[list[Any]]:
    """Split a label into positions, best first, and each position into its tied items."""
    if isinstance(value, str):
        text = value.lstrip()
        if text.startswith("{") and ":" in text:
            return _sort_by_rank(read_json(text, dict))
        return _nest(read_json(text, list)) if text.startswith("[") else _split_text(value)
    if isinstance(value, Mapping):
        return _sort_by_rank(value)
    if isinstance(value, list | tuple):
        return _nest(list(value))
    if isinstance(value, np.ndarray) and value.ndim:
        return _nest(list(value.tolist()))
    raise ValueError("a ranking must be a list of items, or text such as 'a>b>c'")


def _nest(places: list[Any]) -> list[list[Any]]:
    if any(isinstance(place, _SEVERAL) and not len(place) for place in places):
        raise ValueError("a position contains no item")
    return [list(place) if isinstance(place, _SEVERAL) else [place] for place in places]


def _sort_by_rank(ranks: Mapping[Any, Any]) -> list[list[Any]]:
    """Sort items by rank; the smallest rank is the best."""
    places: dict[float, list[Any]] = {}
    for item, rank in ranks.items():
        places.setdefault(read_number(rank, f"the rank of {_shorten(item)},"), []).append(item)
    return [places[rank] for rank in sorted(places)]


def _split_text(text: str) -> list[list[str]]:
    if "<" in text or (">" not in text and not _TIES.search(text) and any(mark in text for mark in ",;|")):
        raise ValueError("write a ranking best first with '>' between items, or as a JSON list")
    places = []
    for place in map(str.strip, text.split(">")):
        braces = place.startswith("{") and place.endswith("}")
        if not braces and ("{" in place or "}" in place):
            raise ValueError("write tied items as a>b=c or as a>{b,c}")
        items = place[1:-1].split(",") if braces else _TIES.split(place)
        places.append([item.strip() for item in items])
    return places


def _read_item(item: Any) -> Any:
    """Validate an item; integral numbers are converted to int."""
    if type(item) is int or (type(item) is str and item):
        return item
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, str) and item:
        return str(item)
    if isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
        return int(item) if item == int(item) else item
    if item is None or isinstance(item, str):
        raise ValueError("a position contains no item")
    raise ValueError(f"{item!r} is neither the name nor the number of an item")


def sort_items(items: Iterable[Any]) -> list[Any]:
    """Sort numbers by size and names alphabetically; names that are integers count as numbers."""
    items = list(items)
    if all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in items):
        return sorted(items, key=int)
    return sorted(items, key=lambda item: (isinstance(item, str), item))


def list_items(parsed: tuple[Any, ...]) -> list[Any]:
    """List all items of a parsed ranking."""
    return [item for place in parsed for item in (place if isinstance(place, tuple) else (place,))]


def write_ranking(ranking: Any) -> str:
    """Format a ranking in a form that can be parsed; several rankings are separated by semicolons.

    >>> write_ranking(["a", ["b", "c"]]), write_ranking(["a>b", "c"]), write_ranking("a>b; c>a")
    ('a>b=c', '["a>b", "c"]', 'a>b; c>a')
    """
    if isinstance(ranking, str):  # several rankings
        return ranking
    places = [[str(item) for item in (place if isinstance(place, list) else [place])] for place in ranking]
    text = ">".join("=".join(place) for place in places)
    try:
        plain = _split_places(text) == places and not text.startswith(("[", "{"))
    except ValueError:
        plain = False
    return text if plain else json.dumps(ranking, ensure_ascii=False)


def _shorten(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:30]}..."
