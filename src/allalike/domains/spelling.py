"""Normalisation of written labels: differences in spelling that do not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allalike._core.extraction import find_extractor
from allalike._core.system.json_text import parse_json
from allalike.errors import OptionError

LARGEST_NUMBER = 1e150  # squares of larger numbers overflow


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
        """Whether stripping whitespace is the only normalisation."""
        return not self.lower and self.extract is None

    def __call__(self, text: str) -> str | None:
        """Return the normalised label, or None if extraction finds no label."""
        found: str | None = text
        for step in self.steps:
            found = None if found is None else find_extractor(step)(found)
        if found is None:
            return None
        found = found.strip() if self.strip or self.extract is not None else found
        return found.casefold() if self.lower else found

    @property
    def steps(self) -> tuple[str, ...]:
        """The extractors, in the order of application."""
        return (self.extract,) if isinstance(self.extract, str) else self.extract or ()


def match_key(value: object) -> object:
    """Return a key that is equal for 1, 1.0, ``"1"`` and ``"1.0"``; codes such as ``"01"`` keep their form.

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
    """Return the name of a class, an element or an option: text or an integer; otherwise raise ValueError.

    >>> read_name(1.5, "its element")
    Traceback (most recent call last):
    ValueError: its element 1.5 is neither text nor a whole number
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value.encode()  # raises an error for lone surrogates such as "\ud800", which cannot be written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{what} {value!r} is neither text nor a whole number")
    return value


def read_number(value: Any, what: str) -> Any:
    """Return a finite Python number with a finite square; otherwise raise ValueError.

    >>> read_number(np.float32(0.5), "the bound")
    0.5
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} {value!r} is not a number")
    if not abs(value) <= LARGEST_NUMBER:
        raise ValueError(f"{what} {value} is not finite or too large")
    return value + 0  # converts -0.0 to 0.0


def list_some(values: Sequence[Any], most: int) -> str:
    """Format the first values of a list for a message."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


# Lists written as text.


def check_separator(value: Any, name: str) -> str:
    """Return the separator of list items if it is nonempty text."""
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} is {value!r}. It must be the text between elements, such as ';'.")
    return value


def split_items(text: str, separator: str) -> list[str]:
    """Split text into list items; whitespace around items is ignored."""
    return [item.strip() for item in text.split(separator) if item.strip()]


def write_json(label: Any) -> str:
    """Format a label as JSON."""
    return json.dumps(label, ensure_ascii=False)


def read_json(text: str, kind: type[list[Any]] | type[dict[str, Any]], **options: Any) -> Any:
    """Parse a JSON list or object, or raise ValueError with the reason.

    >>> read_json('["a", 1]', list)
    ['a', 1]
    >>> read_json('["a"', list)
    Traceback (most recent call last):
    ValueError: it is not a valid JSON list (Expecting ',' delimiter at character 5)
    """
    name = "list" if kind is list else "object"
    try:
        value = parse_json(text, **options)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not a valid JSON {name} ({error.msg} at character {error.pos + 1})") from None
    if not isinstance(value, kind):
        raise ValueError(f"it is not a JSON {name}")
    return value


def read_list(value: Any, wanted: str) -> list[Any]:
    """Convert a list, tuple, array or JSON list to a list, or raise ValueError with the text ``wanted``.

    >>> read_list("[1, 2]", "it must be a list"), read_list((1, 2), "it must be a list")
    ([1, 2], [1, 2])
    """
    if isinstance(value, str):
        return list(read_json(value, list))
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple):
        raise ValueError(wanted)
    return list(value)
