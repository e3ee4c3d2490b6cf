"""JSON parsing. Every error is a `ValueError`, even for values that are nested too deeply."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import chain
from typing import Any

from allalike._core.limits import MAX_DEPTH

_LONG = 1 << 12  # length from which msgspec saves more time than its import takes
_TOO_LONG = "integer string conversion"  # in Python's message


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse a text with the options of `json.loads`.

    Errors are a `json.JSONDecodeError`, except for undecodable bytes.

    >>> parse_json('{"label": [1, 2]}')
    {'label': [1, 2]}
    >>> parse_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
    json.decoder.JSONDecodeError: nested more than 100 levels deep: line 1 column 1 (char 0)
    """
    try:
        value = _parse(text, options)
        if len(text) <= MAX_DEPTH or not is_deep(value):
            return value
    except RecursionError:
        pass
    except ValueError as error:
        if _TOO_LONG not in str(error):
            raise
        raise json.JSONDecodeError("a whole number has thousands of digits", "", 0) from error
    raise json.JSONDecodeError(f"nested more than {MAX_DEPTH} levels deep", "", 0)


def _parse(text: str | bytes, options: dict[str, Any]) -> Any:
    if len(text) >= _LONG and not options.keys() - {"parse_constant"}:
        import msgspec

        with suppress(ValueError):  # for NaN, lone surrogates, UTF-16, and errors, which json locates
            return msgspec.json.decode(text)
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return json.loads(text, **options)


def is_deep(value: Any) -> bool:
    """Return whether lists and dictionaries are nested more deeply than `MAX_DEPTH`."""
    level = [value] if isinstance(value, list | dict) else []
    for _ in range(MAX_DEPTH):
        values = chain.from_iterable(each.values() if type(each) is dict else each for each in level)
        level = [each for each in values if type(each) is list or type(each) is dict]
        if not level:
            return False
    return True
