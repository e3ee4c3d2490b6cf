"""Parts of objects as they are written: coordinates, classes, and what all objects have in common."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from allalike.errors import LabelError

__all__ = ["NUMBERS", "Known", "order_classes", "read_class", "read_number"]

NUMBERS = ("confidence", "class_confidence", "spread", "supporters")  # what is told of each object of a truth

_LARGEST_NUMBER = 1e150


class Known(NamedTuple):
    """What all objects have in common: their classes in order, and how many numbers say where each is.

    Where objects have no class, None is the only one; where there are no objects, there is none.
    """

    classes: tuple[Any, ...] = ()
    width: int = 0


def order_classes(classes: set[Any], name: str) -> tuple[Any, ...]:
    """Return classes in order; refuse those of different types.

    >>> order_classes({"dog", "cat"}, "boxes")
    ('cat', 'dog')
    >>> order_classes({"dog", None}, "boxes")
    Traceback (most recent call last):
    allalike.errors.LabelError: Some boxes have no class, and some have the class 'dog'. Give all of them a class, or
    none.
    """
    kinds = {type(each): each for each in classes}
    if len(kinds) > 1:
        named = [each for each in kinds.values() if each is not None]
        if None in classes:
            raise LabelError(
                f"Some {name} have no class, and some have the class {named[0]!r}. Give all of them a class, or none."
            )
        one, other = sorted(named, key=lambda each: type(each).__name__)[:2]
        raise LabelError(
            f"The classes of {name} are of different types: {one!r} and {other!r}. Give all of them the same type."
        )
    return tuple(sorted(classes))


def read_number(value: Any) -> float:
    """Return a coordinate, or raise ValueError.

    >>> read_number(-0.0)
    0.0
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the coordinate {value!r} is not a number")
    if not math.isfinite(value) or abs(value) > _LARGEST_NUMBER:
        raise ValueError(f"the coordinate {value} is not finite, or too large")
    return float(value) + 0.0


def read_class(value: Any) -> Any:
    """Return a class, which is a text or a whole number, or raise ValueError.

    >>> read_class(0.93)
    Traceback (most recent call last):
    ValueError: 0.93 is no class, which is a text or a whole number
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value.encode()  # half a character, as "\ud800", can be compared but not written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{value!r} is no class, which is a text or a whole number")
    return value
