"""Lists that are written as text."""

from __future__ import annotations

import json
from typing import Any

from allalike._core.system.json_text import parse_json

__all__ = ["json_list"]


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
