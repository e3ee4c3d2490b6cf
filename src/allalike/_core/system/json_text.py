r"""JSON: values out of text, nested no deeper than people write them.

Parsers of JSON call themselves for what is nested. Python's gives up at some depth with a `RecursionError`, that of
Arrow overflows the stack and ends the process, and whatever later walks through the value may do so, too. Records of
tools have fewer than 20 levels. So a text is looked at here before a parser sees it, and refused if it has more than
`MAX_DEPTH` levels.

The look costs a small part of what parsing does. All bytes go but brackets and quotes; two quotes next to each other
are then a text without brackets, or the end of one text and the beginning of another, and go too, for neither changes
whether a bracket stands in a text. What is left is short, and added up by numpy.

>>> parse_json('{"label": [1, 2]}')
{'label': [1, 2]}
>>> parse_json("[" * 101 + "]" * 101)
Traceback (most recent call last):
json.decoder.JSONDecodeError: nested more than 100 levels deep: line 1 column 1 (char 0)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from allalike._core.late import pa
from allalike._core.limits import MAX_DEPTH

_MARKS = b'"[]{}'
_OTHERS = bytes(set(range(256)) - set(_MARKS))
_STEPS = np.zeros(256, np.int32)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_BETWEEN = b"}\n{"  # records, outside of any text, for in these a line break has to be written as an escape
_BLANKS = np.frombuffer(b" \t\r\n", np.uint8)
_CHUNK = 1 << 20
_TOO_LONG = "integer string conversion"  # as Python says it


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Return the value of a text, with options of `json.loads`; whatever is wrong with it is a `ValueError`.

    That of depth and of numbers with thousands of digits is a `json.JSONDecodeError`, as all are but for wrong bytes.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if is_deep(text):
        raise json.JSONDecodeError(f"nested more than {MAX_DEPTH} levels deep", text, 0)
    try:
        return json.loads(text, **options)
    except ValueError as error:
        if _TOO_LONG not in str(error):
            raise
        raise json.JSONDecodeError("a whole number has thousands of digits", text, 0) from error


def is_deep(text: str) -> bool:
    """Tell whether a text is nested more deeply than `MAX_DEPTH`.

    >>> is_deep("[" * 101), is_deep('["' + "[" * 101 + '"]')
    (True, False)
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:  # as of most labels and records
        return False
    nesting, starts = Nesting(), range(0, len(text), _CHUNK)
    return any(nesting.feed(text[start : start + _CHUNK].encode(errors="replace")) > MAX_DEPTH for start in starts)


def find_keys(lines: bytes) -> tuple[set[bytes], int]:
    r"""Return the different keys of all objects in whole lines, as they are written, and how many there are in all.

    >>> keys, number = find_keys(b'{"a": "b", "c" : {"d": 1}}\n{"a": "\\": "}\n')
    >>> sorted(keys), number
    ([b'a', b'c', b'd'], 4)
    """
    if b"\\" in lines:  # escapes become bytes that stand in no text
        lines = lines.replace(rb"\\", b"\0\0").replace(rb"\"", b"\0\1")
    data = np.frombuffer(lines + b"\n", np.uint8)
    quotes = np.flatnonzero(data == ord('"')).astype(np.int64, copy=False)
    ends = quotes[1::2]
    after = data[ends + 1]
    if np.isin(after, _BLANKS).any():
        solid = np.flatnonzero(~np.isin(data, _BLANKS))
        after = data[solid.take(np.searchsorted(solid, ends + 1), mode="clip")]
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), max(len(quotes) - 1, 0), [None, pa.py_buffer(quotes), pa.py_buffer(lines)]
    )
    keys = texts.take(2 * np.flatnonzero(after == ord(":")))
    return {key[1:] for key in keys.unique().to_pylist()}, len(keys)


@dataclass
class Nesting:
    r"""How deep brackets are nested in bytes that come piece by piece; those in texts do not count.

    >>> nesting = Nesting()
    >>> nesting.feed(rb'{"a": [1, "[[\"['), nesting.feed(b'["]}'), nesting.depth
    (2, 2, 0)
    """

    depth: int = 0
    inside: bool = False  # of a text
    _escaping: bool = False  # by the last byte

    def feed(self, data: bytes) -> int:
        """Go on with further bytes; return the greatest depth in them, or that before them."""
        data = b"\\" + data if self._escaping else data
        if b"\\" in data:
            data = data.replace(rb"\\", b"").replace(rb"\"", b"")
        self._escaping = data.endswith(b"\\")
        marks = np.frombuffer(data.translate(None, _OTHERS).replace(b'""', b""), np.uint8)
        quotes = marks == ord('"')
        outside = (np.cumsum(quotes) + self.inside) % 2 == 0
        depths = self.depth + np.cumsum(_STEPS[marks] * outside)
        deepest = int(np.max(depths, initial=self.depth))
        if len(marks):
            self.depth, self.inside = int(depths[-1]), not outside[-1]
        return deepest

    def feed_lines(self, data: bytes) -> int:
        """Go on with lines that have a record each; return the greatest depth, or one that it cannot be beyond.

        Where a record ends with a line and another begins with the next, nothing is open, or a parser stops there. Each
        of these places has a bracket of its own; if hardly any are left, no record is deep, and that is counted fast.
        """
        last = data.rfind(_BETWEEN)
        openings = np.count_nonzero(np.frombuffer(data, np.uint8) | 32 == ord("{"))  # for [ | 32 is { as well
        bound = self.depth + int(openings) - data.count(_BETWEEN)
        if last < 0 or bound > MAX_DEPTH:
            return self.feed(data)
        self.depth, self.inside, self._escaping = 0, False, False
        self.feed(data[last + len(_BETWEEN) - 1 :])
        return bound
