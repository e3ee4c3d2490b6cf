"""Lists that are written as text."""

from __future__ import annotations

import json
from typing import Any

from allalike._core.system.json_text import parse_json
from allalike.errors import OptionError

__all__ = ["check_separator", "json_list", "split_items"]


def check_separator(value: Any, name: str) -> str:
    """Return what stands between the items of a list, if it is a text.

    >>> check_separator(";", "separator")
    ';'
    """
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} is {value!r}. It must be a text that stands between elements.")
    return value


def split_items(text: str, separator: str) -> list[str]:
    """Return the items of a list that is written with something between them; blanks around them mean nothing.

    >>> split_items("a; b;", ";")
    ['a', 'b']
    """
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
