"""Wording of messages: counts, numbers, and names of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allalike._core.lazy_imports import late_pattern

_NAMES = (
    "about|abstain_label|domain|duplicates|engine|exclude|gold|gold_map|include|memory|min_confidence|missing|na_values"
    "|order|overwrite|per_task|query|question|quorum|sample|screening|table|tie|verdicts|wide|work_dir|worker_from"
)
_OPTION = late_pattern(rf"\b({_NAMES})(?:\(\)|=(?:True\b|(False)\b|'([^']*)'|(?=[\s.,;)])))")


def count(number: int, noun: str) -> str:
    """Format a count with its noun.

    >>> count(1, "task"), count(2000, "task"), count(2, "class")
    ('1 task', '2,000 tasks', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def write_options(sentence: str, write: Callable[[str, Any], str]) -> str:
    """Replace Python option names in a sentence with the names that another interface uses.

    >>> write_options("Use engine='memory', or leave out per_task().", lambda name, value: f"<{name} {value}>")
    'Use <engine memory>, or leave out <per_task >.'
    """
    return _OPTION.sub(lambda found: write(found[1], found[2] is None and (found[3] or "")), sentence)


def cut(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters, with an ellipsis at the end.

    >>> cut("a long story", 8), cut("short", 8)
    ('a long \u2026', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def show_number(value: float) -> str:
    """Format a number with three significant digits, and from 100 on without decimals.

    >>> show_number(2.5), show_number(9788.4)
    ('2.5', '9,788')
    """
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
