"""Rankings as they are written: items, best first, in a list, as text, or as ranks.

    a>b>c          a > b = c > d          a>{b,c}>d          ["a", ["b", "c"], "d"]          {"a": 1, "b": 2, "c": 2}

A ranking is parsed into a tuple of items, best first; items that are tied stand in a tuple of their own. Whoever ranks
some items only says nothing about the others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from typing import Any

import numpy as np

from allalike._core.columns.values import numpy_of
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_ITEMS
from allalike._core.system.json_text import parse_json
from allalike.domains.lists import json_list

__all__ = ["describe_difference", "in_order", "list_items", "read_ranking", "read_rankings", "write_ranking"]

_MAX_SHOWN_ITEMS = 6
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_TIES = re.compile("[=~]")
_NOT_PLAIN = r"[<{}\[]|^[^>=~]*[,;|][^>=~]*$"  # what is more than items with marks between them, or wrong
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


def read_ranking(value: Any) -> tuple[Any, ...]:
    """Read a ranking as a tuple of different items; raise ValueError with the reason if it is none.

    >>> read_ranking("x > y>z"), read_ranking('[3, 1]')
    (('x', 'y', 'z'), (3, 1))
    >>> read_ranking("a>b=c"), read_ranking("a>{c,b}"), read_ranking([["a"], ["b", "c"]])
    (('a', ('b', 'c')), ('a', ('b', 'c')), ('a', ('b', 'c')))
    >>> read_ranking({"a": 1, "b": 2, "c": 2})
    ('a', ('b', 'c'))
    """
    places = [tuple(map(_item, place)) for place in _places(value)]
    items = list(chain.from_iterable(places))
    if len(set(items)) < len(items):
        twice = next(item for place, item in enumerate(items) if item in items[:place])
        raise ValueError(f"it ranks {_shortened(twice)} twice")
    if not 0 < len(items) <= MAX_ITEMS:
        raise ValueError(f"it ranks {len(items):,} items; 1 to {MAX_ITEMS:,} can be compared")
    return tuple(place[0] if len(place) == 1 else tuple(in_order(place)) for place in places)


def read_rankings(texts: Any) -> list[tuple[Any, ...] | None]:
    """Read an Arrow array of texts as `read_ranking` does, but all at once, and leave what is not plain to it.

    >>> import pyarrow as pa
    >>> read_rankings(pa.array(["x > y>z", "a>c=b", "[3, 1]", "a>a", ""]))
    [('x', 'y', 'z'), ('a', ('b', 'c')), None, None, None]
    """
    if pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type):
        return [None] * len(texts)
    texts = texts.cast(pa.large_string())  # in which texts may have more than 2 GB together
    split = pc.split_pattern(texts, ">")
    coded = split.flatten().dictionary_encode()
    places = [_read_place(text) for text in coded.dictionary.to_pylist()]
    code, ends = numpy_of(coded.indices), numpy_of(split.offsets)
    sizes = np.diff(ends)
    owner = np.repeat(np.arange(len(texts)), sizes)
    odd = numpy_of(pc.match_substring_regex(texts, _NOT_PLAIN)) | (sizes > MAX_ITEMS)
    odd[owner[np.array([place is None for place in places], np.bool_)[code]]] = True
    keys = np.sort(owner * len(places) + code)
    odd[keys[1:][keys[1:] == keys[:-1]] // max(len(places), 1)] = True
    flat = list(map(places.__getitem__, code.tolist()))
    found = [
        None if skip else tuple(flat[begin:end])
        for skip, (begin, end) in zip(odd, pairwise(ends.tolist()), strict=True)
    ]
    tied = np.array([isinstance(place, tuple) for place in places], np.bool_)[code]
    for label in np.unique(owner[tied & (sizes[owner] > 1)]).tolist():  # may have an item here and there
        items = list_items(found[label] or ())
        if len(set(items)) < len(items) or len(items) > MAX_ITEMS:
            found[label] = None
    return found


def _read_place(text: str) -> Any:
    """Read the items of one place; nothing if there is something wrong with it, or perhaps."""
    items = [item.strip() for item in _TIES.split(text)]
    if not all(items) or len(set(items)) < len(items):
        return None
    return items[0] if len(items) == 1 else tuple(in_order(items))


def list_items(parsed: tuple[Any, ...]) -> list[Any]:
    """List the items of a parsed ranking, whether they are tied or not.

    >>> list_items(("a", ("b", "c")))
    ['a', 'b', 'c']
    """
    return [item for place in parsed for item in (place if isinstance(place, tuple) else (place,))]


def describe_difference(what: str, left: list[Any], right: list[Any]) -> str:
    """Say that two rankings have different items, and which."""
    here, there = ([_shortened(item) for item in items] for items in (left, right))
    only = [item for item in (*here, *there) if (item in here) != (item in there)]
    return (
        f"{what} rank different items: {_joined(here, ' > ')} against {_joined(there, ' > ')}. Only one of them has"
        f" {_joined(only, ', ')}."
    )


def _places(value: Any) -> list[list[Any]]:
    """Take a label apart into places, best first, and each of these into the items that share it."""
    if isinstance(value, str):
        text = value.lstrip()
        if text.startswith("{") and ":" in text:
            return _by_rank(_json_ranks(text))
        return _nested(json_list(text)) if text.startswith("[") else _split(value)
    if isinstance(value, Mapping):
        return _by_rank(value)
    if isinstance(value, list | tuple):
        return _nested(list(value))
    if isinstance(value, np.ndarray) and value.ndim:
        return _nested(list(value.tolist()))
    raise ValueError("a ranking is a list of items, or text such as 'a>b>c'")


def _nested(places: list[Any]) -> list[list[Any]]:
    if any(isinstance(place, _SEVERAL) and not len(place) for place in places):
        raise ValueError("a place has no item")
    return [list(place) if isinstance(place, _SEVERAL) else [place] for place in places]


def _json_ranks(text: str) -> Mapping[Any, Any]:
    try:
        ranks: Mapping[Any, Any] = parse_json(text)
    except json.JSONDecodeError:
        raise ValueError('it looks like ranks, but is no JSON such as {"a": 1, "b": 2}') from None
    return ranks


def _by_rank(ranks: Mapping[Any, Any]) -> list[list[Any]]:
    """Sort items by their ranks, of which the smallest is the best."""
    places: dict[float, list[Any]] = {}
    for item, rank in ranks.items():
        number = rank.item() if isinstance(rank, np.generic) else rank
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError(f"the rank of {_shortened(item)} is {rank!r}, which is no number")
        places.setdefault(number, []).append(item)
    return [places[rank] for rank in sorted(places)]


def _split(text: str) -> list[list[str]]:
    if "<" in text or (">" not in text and not _TIES.search(text) and any(mark in text for mark in ",;|")):
        raise ValueError("a ranking is written best first, with '>' between the items, or as a JSON list")
    return [_split_place(place.strip()) for place in text.split(">")]


def _split_place(place: str) -> list[str]:
    """Take a place apart: an item, several with '=' between them, or several in braces."""
    if place.startswith("{") and place.endswith("}"):
        return [item.strip() for item in place[1:-1].split(",")]
    if "{" in place or "}" in place:
        raise ValueError("items that share a place are written as a>b=c, or as a>{b,c}")
    return [item.strip() for item in _TIES.split(place)]


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
    raise ValueError(f"{item!r} is neither the name nor the number of an item")


def in_order(items: Iterable[Any]) -> list[Any]:
    """Sort numbers by size and names by letters; names that are whole numbers count as numbers here."""
    items = list(items)
    if all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in items):
        return sorted(items, key=int)
    return sorted(items, key=lambda item: (isinstance(item, str), item))


def write_ranking(ranking: Any) -> str:
    """Write a ranking so that it can be read again; several by one worker stand one behind the other.

    >>> write_ranking(["a", ["b", "c"]]), write_ranking(["a>b", "c"]), write_ranking("a>b; c>a")
    ('a>b=c', '["a>b", "c"]', 'a>b; c>a')
    """
    if isinstance(ranking, str):  # which stands for several
        return ranking
    places = [[str(item) for item in (place if isinstance(place, list) else [place])] for place in ranking]
    text = ">".join("=".join(place) for place in places)
    try:
        plain = _places(text) == places and not text.startswith(("[", "{"))
    except ValueError:
        plain = False
    return text if plain else json.dumps(ranking, ensure_ascii=False)


def _joined(items: list[str], separator: str) -> str:
    shown = items[:_MAX_SHOWN_ITEMS]
    return separator.join([*shown, "..."] if len(items) > len(shown) else shown)


def _shortened(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:30]}..."
