"""Extractors by name: number, choice, a field of JSON, the last line, or a regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from allalike.errors import OptionError

__all__ = ["Extract", "check_extract", "find_extractor"]

Extract = Callable[[str], str | None]

_KNOWN = "number, choice, json:KEY, last line, or a regular expression with one group"


@cache
def find_extractor(how: str) -> Extract:
    r"""Return the function that finds a label in a text, or nothing where there is none.

    >>> find_extractor("last line")("Let me think.\nyes\n"), find_extractor("json:a")('{"a": 1}')
    ('yes', '1')
    >>> find_extractor(r"is (\w+)")("It is red.")
    'red'
    >>> find_extractor("numbers")
    Traceback (most recent call last):
    allalike.errors.OptionError: extract is 'numbers'. It must be number, choice, json:KEY, last line, or a regular
    expression with one group, such as 'is (\w+)'.
    """
    from allalike._core.extraction.choices import extract_choice
    from allalike._core.extraction.fields import find_field
    from allalike._core.extraction.numbers import extract_number

    named: dict[str, Extract] = {"number": extract_number, "choice": extract_choice, "last line": _find_last_line}
    if how in named:
        return named[how]
    if how.startswith("json:") and how[5:].strip():
        return partial(find_field, path=how[5:].strip())
    if "(" not in how:
        raise OptionError(f"extract is {how!r}. It must be {_KNOWN}, such as 'is (\\w+)'.")
    try:
        pattern = re.compile(how, re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise OptionError(f"extract is {how!r}, which is no regular expression: {error}.") from None
    if pattern.groups != 1:
        raise OptionError(f"extract is {how!r}, which has {pattern.groups} groups. It must have one, around the label.")
    return partial(_find_match, pattern)


def check_extract(how: Any, name: str) -> str | tuple[str, ...]:
    """Return the way to extract labels, or several that follow each other, if there is such a way.

    >>> check_extract(["json:answer", "number"], "extract")
    ('json:answer', 'number')
    """
    steps = tuple(how) if isinstance(how, list | tuple) else (how,)
    for step in steps:
        if not isinstance(step, str):
            raise OptionError(f"{name} is {how!r}. It must be {_KNOWN}.")
        find_extractor(step)
    return steps if isinstance(how, list | tuple) else how


def _find_last_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[-1].strip() or None if lines else None


def _find_match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found and found[1] else None
