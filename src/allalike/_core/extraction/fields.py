"""Fields of JSON within a text: whole, in a fence of code, between words, or cut off."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import is_deep, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["find_field"]

_MAX_TRIES = 1000  # of places where an object may begin
_MAX_DIGITS = 4000  # of a whole number, which Python refuses to read beyond
_ABSENT = object()


def find_field(text: str, path: str) -> str | None:
    r"""Return a field of the last object that has it, as text; nothing where it is absent, empty or null.

    >>> find_field('Sure: {"a": {"b": 4.50}} Done.', "a.b"), find_field('{"answer": ""}', "answer")
    ('4.50', None)
    >>> find_field('{"reasoning": "a line \\frac', "answer"), find_field('{"answer": "yes", "why": "bec', "answer")
    (None, 'yes')
    """
    keys = [[path], path.split(".")] if "." in path else [[path]]
    if keys[-1][-1] not in text and not keys[-1][-1].isdigit():
        return None
    for value in _objects(text):
        for way in keys:
            found = _follow(value, way)
            if found is not _ABSENT:
                return _written(found)
    return _find_broken(text, keys[-1][-1])


def _objects(text: str) -> Iterator[Any]:
    """Yield the values of JSON in a text, the last one first; only the outermost."""
    decoder = json.JSONDecoder(strict=False, parse_float=_Number, parse_int=_Number)
    found, place = [], 0
    for _ in range(_MAX_TRIES):
        begins = [begin for mark in "{[" if (begin := text.find(mark, place)) >= 0]
        if not begins:
            break
        place = min(begins)
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if not is_deep(text[place:end]):
            found.append(value)
        place = end
    yield from reversed(found)


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def _follow(value: Any, way: Sequence[str]) -> Any:
    for key in way:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(value):
            value = value[int(key[:9])]
        else:
            return _ABSENT
    return value


def _written(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(_with_numbers(value), ensure_ascii=False)
    return str(text).strip() or None


def _with_numbers(value: Any) -> Any:
    """Return a value with its numbers as numbers again."""
    if isinstance(value, dict):
        return {key: _with_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_numbers(inner) for inner in value]
    if not isinstance(value, _Number) or len(value) > _MAX_DIGITS:
        return value
    return int(value) if value.lstrip("-").isdigit() else float(value)


def _find_broken(text: str, key: str) -> str | None:
    """Find a field in what is nearly JSON: cut off, or with line breaks and backslashes that JSON does not allow."""
    value = r'("(?:[^"\\]|\\.)*"|"[^"\n]*$|[^\s,{}\[\]"][^,{}\n]*)'
    found = re.findall(rf'["\']{re.escape(key)}["\']\s*:\s*{value}', text, flags=re.DOTALL)
    if not found:
        return None
    last = found[-1].strip()
    try:
        return _written(parse_json(last, strict=False, parse_float=_Number, parse_int=_Number))
    except ValueError:
        return last.strip("\"'").strip() or None
