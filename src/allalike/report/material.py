"""Material: what a report is made of, handed over by the result that it is about."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.telling.summary import Summary

Columns = Mapping[str, "Values | Array"]


class Agreed(Protocol):
    """What a report says of how much workers agree; what is not defined is None, and what cannot be known is NaN."""

    @property
    def run(self) -> Run:
        """The answers, where they are."""

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha."""

    @property
    def low(self) -> float:
        """Its lower limit, of 95 %."""

    @property
    def high(self) -> float:
        """Its upper limit, of 95 %."""

    @property
    def ordinal(self) -> tuple[float, float, float]:
        """Krippendorff's ordinal alpha, of levels, and its limits."""

    @property
    def sampled_tasks(self) -> int | None:
        """The number of tasks in the sample; None if all answers were used."""

    def coefficients(self, *, pairs: bool = True) -> dict[str, float | None]:
        """Return all coefficients by their names."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """A result in its parts, so that a report need not know who holds them together.

    >>> import allalike
    >>> material = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).material()
    >>> material.workers["worker"].tolist(), material.summary.tasks
    (['ada', 'bob'], 1)
    """

    run: Run
    weighing: Weighing
    found: TaskTable
    summary: Summary
    workers: Columns
    next_tasks: Columns
    agreement: Agreed | None
    effects: Floats | None
    command: tuple[str, ...] = ()
    panel: Mapping[str, Columns] = field(default_factory=dict)
    scales: Mapping[str, Agreed] = field(default_factory=dict)
    quality: Columns = field(default_factory=dict)


# Brevity: numbers with few digits, texts that are cut, and rows that fit into so many bytes.
#
# A page that is to open at once must not grow with the answers. Every part of it has a budget of bytes; rows are handed
# over in the order of their importance, and what no longer fits is left out, and said to be.


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
