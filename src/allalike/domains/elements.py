"""Elements of sets: texts, whole numbers or tuples of these, all of one type."""

from __future__ import annotations

from functools import reduce
from itertools import chain, starmap, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["find_example", "in_order", "join_examples"]

_TYPE_NAMES = {str: "a text", int: "a whole number", tuple: "a tuple"}


def in_order(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list or set in order, each once, or raise ValueError with the reason.

    >>> in_order(["b", "a", "b"])
    ('a', 'b')
    """
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("a set must be a list, or a text that is one")
    elements = {_element(element) for element in value}
    if len({type(element) for element in elements}) > 1:
        raise ValueError("its elements are of different types")
    try:
        return tuple(sorted(elements))
    except TypeError:
        raise ValueError("its elements have no order, for they hold different types") from None


def find_example(sets: list[tuple[Any, ...]]) -> Any:
    """Return an element that shows of which type all elements are, or None where there are none.

    >>> find_example([("b", "c"), (), ("a",)])
    'a'
    """
    filled = [elements for elements in sets if elements]
    nested = any(type(elements[0]) is tuple for elements in filled)
    return join_examples(chain(*filled) if nested else (elements[0] for elements in filled))


def join_examples(examples: Iterable[Any]) -> Any:
    """Return one example for several, of which None says nothing; refuse those of different types."""
    return reduce(_alike, examples, None)


def _element(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return tuple(map(_element, value))
    if isinstance(value, str):
        value.encode()  # half a character, as "\ud800", can be compared but not written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"its element {value!r} is neither text nor a whole number")
    return value


def _alike(one: Any, other: Any) -> Any:
    """Return the smaller of two elements, or the other of one and nothing; refuse those of different types."""
    if one is None or other is None:
        return other if one is None else one
    if type(one) is not type(other):
        raise LabelError(
            f"The elements of the sets are of different types: {one!r} is {_TYPE_NAMES[type(one)]}, {other!r} is"
            f" {_TYPE_NAMES[type(other)]}. Give all of them the same type."
        )
    return tuple(starmap(_alike, zip_longest(one, other))) if isinstance(one, tuple) else min(one, other)
