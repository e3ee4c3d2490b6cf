"""Words: how many there are of something, and which options a sentence names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES = (
    "about|abstain|domain|engine|folder|gold|gold_map|memory|min_confidence|missing|order|overwrite|per_task|plain|query"
    "|quorum|only|repeats|sample|skip|table|tie|verdicts|wide|worker_from"
)
_OPTION = re.compile(rf"\b({_NAMES})(?:\(\)|=(?:True\b|'([^']*)'|(?=[\s.,;)])))")


def count(number: int, noun: str) -> str:
    """Write how many there are of something.

    >>> count(1, "task"), count(2000, "task"), count(2, "class")
    ('1 task', '2,000 tasks', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def write_options(sentence: str, write: Callable[[str, str], str]) -> str:
    """Write options, which a sentence names as Python has them, as a face of the program calls them.

    >>> write_options("Use engine='memory', or leave out per_task().", lambda name, value: f"<{name} {value}>")
    'Use <engine memory>, or leave out <per_task >.'
    """
    return _OPTION.sub(lambda found: write(found[1], found[2] or ""), sentence)
