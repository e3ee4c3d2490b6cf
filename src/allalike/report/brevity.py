"""Brevity: numbers with few digits, texts that are cut, and rows that fit into so many bytes.

A page that is to open at once must not grow with the answers. Every part of it has a budget of bytes; rows are handed
over in the order of their importance, and what no longer fits is left out, and said to be.
"""

from __future__ import annotations

import json
import math
from typing import Any

_DIGITS = 4
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def brief(number: Any, digits: int = _DIGITS) -> float | int | None:
    """Return a number with few digits, and None for what is no number.

    >>> brief(0.123456), brief(2.0), brief(float("nan")), brief(float("inf"))
    (0.1235, 2, None, None)
    """
    value = float(number)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def cut(text: str, most: int) -> str:
    """Return a text, or its beginning with dots behind it.

    >>> cut("a long story", 8), cut("short", 8)
    ('a long \u2026', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def compact(data: Any) -> str:
    r"""Write data as JSON that can stand in a page: no sign in it begins a tag, and half characters are escaped.

    >>> compact({"a": ["</script>", 1]})
    '{"a":["\\u003c/script\\u003e",1]}'
    """
    return _encode(data).translate(_ESCAPES).encode("utf-8", "backslashreplace").decode("utf-8")


def count_bytes(text: str) -> int:
    """Count the bytes that a text takes on the page; most ids are letters and digits, and need not be written for it.

    >>> count_bytes("t7"), count_bytes("<t>"), len(compact("<t>"))
    (4, 15, 15)
    """
    return len(text) + 2 if text.isascii() and text.isalnum() else len(compact(text).encode())


class Budget:
    """The bytes that a part of the page may still take.

    >>> budget = Budget(10)
    >>> budget.take(6), budget.take(6), budget.left
    (True, False, 4)
    """

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Tell whether so many bytes still fit, and if so, count them."""
        if size > self.left:
            return False
        self.left -= size
        return True


def show_number(value: float) -> str:
    """Write a number with three digits, or all of those before the point.

    >>> show_number(2.5), show_number(9788.4)
    ('2.5', '9,788')
    """
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
