"""Spelling: which differences between written labels mean nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.extraction import find_extractor
from allalike._core.system.json_text import parse_json
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Spelling:
    """The normalisation of each distinct label before labels are compared.

    >>> Spelling(lower=True)(" Cat"), Spelling(extract="number")("The answer is 42."), Spelling(extract="number")("No.")
    ('cat', '42', None)
    """

    strip: bool = True
    lower: bool = False
    extract: str | tuple[str, ...] | None = None
    numbers: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether blanks are all that is taken away."""
        return not self.lower and self.extract is None

    def __call__(self, text: str) -> str | None:
        """Return the label that a text means, or nothing if none is found in it."""
        found: str | None = text
        for step in self.steps:
            found = None if found is None else find_extractor(step)(found)
        if found is None:
            return None
        found = found.strip() if self.strip or self.extract is not None else found
        return found.casefold() if self.lower else found

    @property
    def steps(self) -> tuple[str, ...]:
        """The ways in which labels are found in what was written, one after the other."""
        return (self.extract,) if isinstance(self.extract, str) else self.extract or ()


def match_key(value: object) -> object:
    """Return what is the same for 1, 1.0, ``"1"`` and ``"1.0"``; other values, and codes such as ``"01"``, stay.

    >>> [match_key(value) for value in (1, 1.0, "1.0", " 1", "01", "x ", 0.5)]
    ['1', '1', '1', '1', '01', 'x', '0.5']
    """
    text = str(value).strip() if isinstance(value, str | int | float) else None
    if text is None:
        return value
    digits = text.lstrip("+-")
    if not digits[:1].isdigit() or not digits.isascii() or (digits[:1] == "0" and digits[1:2].isdigit()):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1 << 53 else repr(number)


def read_name(value: Any, what: str) -> Any:
    """Return the name of a class, an element or an option: a text or a whole number; else raise ValueError.

    >>> read_name(1.5, "its element")
    Traceback (most recent call last):
    ValueError: its element 1.5 is neither text nor a whole number
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value.encode()  # half a character, as "\ud800", can be compared but not written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{what} {value!r} is neither text nor a whole number")
    return value


def list_some(values: Sequence[Any], most: int) -> str:
    """Return the first of some values for a message."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


# Lists that are written as text.


def check_separator(value: Any, name: str) -> str:
    """Return what stands between the items of a list, if it is a text."""
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} is {value!r}. It must be a text that stands between elements.")
    return value


def split_items(text: str, separator: str) -> list[str]:
    """Return the items of a list that is written with something between them; blanks around them mean nothing."""
    return [item.strip() for item in text.split(separator) if item.strip()]


def json_list(text: str) -> list[Any]:
    """Read a JSON list, or raise ValueError with the reason.

    >>> json_list('["a", 1]')
    ['a', 1]
    >>> json_list('["a"')
    Traceback (most recent call last):
    ValueError: it is no JSON list (Expecting ',' delimiter at character 5)
    """
    try:
        value = parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON list ({error.msg} at character {error.pos + 1})") from None
    if not isinstance(value, list):
        raise ValueError("it is no JSON list")
    return value


def read_list(value: Any, wanted: str) -> list[Any]:
    """Return a list, tuple, array or JSON list as a list, or raise ValueError that says what is wanted.

    >>> read_list("[1, 2]", "it must be a list"), read_list((1, 2), "it must be a list")
    ([1, 2], [1, 2])
    """
    if isinstance(value, str):
        return json_list(value)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple):
        raise ValueError(wanted)
    return list(value)
