"""Words of messages: counts of things, and names of options."""

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
    """Write a number with a noun.

    >>> count(1, "task"), count(2000, "task"), count(2, "class")
    ('1 task', '2,000 tasks', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def write_options(sentence: str, write: Callable[[str, str], str]) -> str:
    """Replace the options that a sentence names as in Python by their names in another interface.

    >>> write_options("Use engine='memory', or leave out per_task().", lambda name, value: f"<{name} {value}>")
    'Use <engine memory>, or leave out <per_task >.'
    """
    return _OPTION.sub(lambda found: write(found[1], found[2] or ""), sentence)
