"""Rating scales in words of several languages and in integers, with levels from lowest to highest.

The words are in ``rating_scales.json``. All labels must be words of one scale; only those that occur are levels. A word
at the end of all labels is ignored: "very helpful" and "not at all helpful" have the levels "very" and "not at all".
Sentiments (positive, neutral, negative) and stances (agree, neutral, disagree) are classes and not levels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from allalike._core.lazy_imports import late_pattern

_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_SCALES = [  # the level of each word
    {word.casefold(): level for level, words in enumerate(scale) for word in words.split("|")}
    for language in _WORDS["scales"].values()
    for scale in language
]
NO_OPINION = frozenset(_WORDS["no opinion"])  # occurs with a scale, and is not one of its levels
_MIN_LEVELS = 3  # the order of two levels is irrelevant
_NUMBERED = late_pattern(r"^\s*\(?\d{1,2}\)?\s*[-.:=)]\s*|\s*[-(]?\s*\d{1,2}\s*\)?\s*$")
_RATING = late_pattern(r"(\d{1,2})(?:\s*[-.:=(]\s*[^\W\d].*)?|[^\W\d].*[-.:=(]\s*(\d{1,2})\)?", re.DOTALL)
_RANGES = ((1, 5), (1, 7), (0, 10))  # of ratings
_MAX_ANCHORS = 3  # levels of a rating with words next to the number: both ends and the middle


def find_scale(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels in the order of the scale that contains all of them; None unless exactly one scale does."""
    if len(labels) < _MIN_LEVELS or {*_WORDS["stances"]}.issuperset(map(_simplify, labels)):
        return None
    orders = set(_find_orders(labels))
    return orders.pop() if len(orders) == 1 else None


def order_levels(labels: Collection[str]) -> tuple[str, ...]:
    """Return labels, possibly fewer than three, in the order of a scale; nothing if no scale contains all of them.

    Words for "no opinion" are excluded.
    """
    words = sorted(label for label in labels if label.strip().casefold() not in NO_OPINION)
    return next(iter(_find_orders(words)), ()) if words else ()


def read_ratings(labels: Collection[str]) -> dict[str, int]:
    """Return the number of each label, lowest first, if all are ratings from 0 to 10; otherwise nothing.

    The ends and the middle may have words next to the number. Two values up to 2 are codes, for example yes and no.
    """
    matches = {label: _RATING.fullmatch(label.strip()) for label in labels}
    numbers = {label: int(match[1] or match[2]) for label, match in matches.items() if match}
    plain = sum(label.strip().isdecimal() for label in numbers)
    codes = len(numbers) <= 2 and max(numbers.values(), default=0) <= 2
    same = len(numbers) < len(labels) or len(set(numbers.values())) < len(numbers)
    if same or codes or max(numbers.values()) > _RANGES[-1][1] or not plain or len(labels) - plain > _MAX_ANCHORS:
        return {}
    return dict(sorted(numbers.items(), key=lambda item: item[1]))


def find_range(labels: Collection[str]) -> tuple[int, int] | None:
    """Return the usual range that contains all ratings: 1 to 5, 1 to 7 or 0 to 10; None for other labels."""
    numbers = read_ratings(labels).values()
    fitting = (each for each in _RANGES if numbers and each[0] <= min(numbers) and max(numbers) <= each[1])
    return next(fitting, None)


def _find_orders(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return labels in the order of each scale that contains all of them as different levels."""
    ways = [[_simplify(label) for label in labels]]
    if len({word.rpartition(" ")[2] for word in ways[0]}) == 1:
        ways.append([word.rpartition(" ")[0] for word in ways[0]])
    orders = []
    for words in ways:
        for scale in _SCALES:
            levels = {scale[word]: label for word, label in zip(words, labels, strict=True) if word in scale}
            if len(levels) == len(labels):
                orders.append(tuple(levels[level] for level in sorted(levels)))
    return orders


def _simplify(label: str) -> str:
    """Return the same text for ``Strongly Agree``, ``strongly_agree`` and ``5 - Strongly agree``."""
    bare = _NUMBERED.sub("", label.strip()) or label
    return re.sub(r"[\s_]+", " ", bare.replace("\u2019", "'")).strip(" .").casefold()
