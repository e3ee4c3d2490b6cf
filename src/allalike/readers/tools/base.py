"""Shared code of tool readers: checked JSON values, the start of a file, and the base class of tools."""

from __future__ import annotations

import csv
import io
import math
import re
import reprlib
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.limits import MAX_DEPTH
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.compression import inner_path, open_bytes, read_start
from allalike.readers.formats.encodings import decode_start, guess_encoding
from allalike.readers.formats.files import BOOKS, Files
from allalike.readers.formats.read_errors import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.source import Source

REQUIRED: Any = object()
ROLES = ("worker", "task", "label")
_WRAPPERS = ("items", "records", "tasks")
_PEEK_BYTES, _PEEK_ROWS = 1 << 17, 100  # or records
_BINARY = (b"PAR1", b"ARROW1")  # the first bytes of Parquet and Arrow files
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


# JSON values: each function returns a field if it has the right type.


def unexpected(value: Any, expected: str, *keys: str) -> ValueError:
    """Return the error for an unexpected value of one of these keys. The handler adds the file and the record."""
    name = " or ".join(map(repr, keys)) or "a value"
    return ValueError(f"{name} is {'missing' if value is None else reprlib.repr(value)}, where {expected} should be")


def get(value: Any, *keys: str) -> Any:
    """Return the first of several fields that an object has, or None; if no keys are given, the value itself.

    >>> get({"uid": 7}, "id", "uid"), get(None, "id"), get_list({"uid": 7}, "games")
    (7, None, [])
    >>> get_list({"games": "x"}, "games")
    Traceback (most recent call last):
    ValueError: 'games' is 'x', where a list should be
    """
    if not keys or value is None:
        return value
    if not isinstance(value, dict):
        raise unexpected(value, f"an object with {keys[0]!r}")
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _get(expected: str, types: tuple[type, ...], value: Any, *keys: str, default: Any = REQUIRED) -> Any:
    found = get(value, *keys)
    if type(found) in types and found not in (math.inf, -math.inf):  # 1e999 is read as infinity
        return found
    if found is None and default is not REQUIRED:
        return [] if default is list else default
    raise unexpected(found, expected, *keys)


get_text = partial(_get, "a text", (str,))
get_number = partial(_get, "a finite number", (int, float))
get_list = partial(_get, "a list", (list,), default=list)  # empty if it is missing or null


def get_numbers(value: Any, *keys: str) -> list[float]:
    """Return a list of finite numbers, which is empty if it is missing or null."""
    numbers: list[float] = get_list(value, *keys)
    if any(type(number) not in (int, float) or number in (math.inf, -math.inf) for number in numbers):
        raise unexpected(numbers, "finite numbers", *keys)
    return numbers


def count_up(names: Iterable[str]) -> list[str]:
    """Append a number to repeated names: a, b and a (2)."""
    seen: Counter[str] = Counter()
    counted = []
    for name in names:
        seen[name] += 1
        counted.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return counted


# Files, as bytes and JSON.


def read_bytes(path: Path) -> bytes:
    """Return all bytes of a file, uncompressed."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except OSError as error:
        raise unreadable(path, error) from error


def load_json(data: bytes, where: str) -> Any:
    """Return the value of a JSON text; NaN and Infinity, which are not valid JSON, become null."""
    if not data.strip():
        raise InputError(f"{where} is empty.")
    try:
        return parse_json(data, parse_constant=lambda _: None)
    except ValueError as error:  # invalid JSON or UTF-8, or numbers with thousands of digits
        raise InputError(f"{where} cannot be read as JSON: {str(error).rstrip('.')}.") from error


def load_document(path: Path) -> Any:
    """Return the value of a JSON file."""
    return load_json(read_bytes(path), str(path))


def load_records(path: Path) -> list[Any]:
    """Return the records of a JSON file: those of a list, or one per line."""
    data = read_bytes(path).removeprefix(BOM_UTF8)
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2 or data.lstrip()[:1] != b"{" or _parse(lines[0]) is None:  # a single document
        document = unwrap(load_json(data, str(path)))
        return document if isinstance(document, list) else [document]
    with suppress(ValueError):  # parsing all lines at once is faster
        records: list[Any] = parse_json(b"[" + b",".join(lines) + b"]", parse_constant=lambda _: None)
        if len(records) == len(lines):
            return records
    numbered = enumerate(data.split(b"\n"), start=1)
    return [load_json(line, f"{path}: line {number}") for number, line in numbered if line.strip()]


def unwrap(document: Any) -> Any:
    """Return the list of records that an object contains, for example with a count, and other values unchanged."""
    if not isinstance(document, dict):
        return document
    inner = [document[key] for key in _WRAPPERS if isinstance(document.get(key), list)]
    others = [value for value in document.values() if isinstance(value, dict | list)]
    return inner[0] if len(inner) == len(others) == 1 else document


def split_cells(text: str) -> Iterator[list[str]]:
    """Return the rows of delimited text, split at the most frequent delimiter of its first line."""
    delimiter = max(",\t;|", key=text.partition("\n")[0].count)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _parse(text: str | bytes) -> Any:
    """Return a JSON value, or None for other texts."""
    with suppress(ValueError):
        return parse_json(text)
    return None


@dataclass(frozen=True)
class FileProbe:
    """The start of a file, in the forms that distinguish exports of tools; empty if it cannot be read."""

    path: Path

    @cached_property
    def ending(self) -> str:
        """The extension of the file name, without that of a compression format."""
        with suppress(OSError, InputError):  # such as an archive of several files
            return inner_path(self.path).suffix.lower()
        return ""

    @cached_property
    def start(self) -> str:
        """The first characters; empty for a folder, or for a Parquet or Arrow file."""
        with suppress(OSError, InputError):
            if self.path.is_file():
                sample = read_start(self.path, _PEEK_BYTES)
                if not sample.startswith(_BINARY):
                    return decode_start(sample, guess_encoding(sample), self.path)
        return ""

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows of a spreadsheet or of delimited text; the last may be incomplete. Empty for other files."""
        with suppress(OSError, InputError, UnsupportedError, csv.Error):  # reading raises the error
            if self.ending in BOOKS:
                from allalike.readers.formats.spreadsheets import read_sheet

                return read_sheet(self.path, _PEEK_ROWS)
            if self.ending in (".csv", ".tsv", ".tab", ".txt"):
                return list(split_cells(self.start))
        return []

    @property
    def names(self) -> list[str]:
        """The names in the first row of a spreadsheet or of delimited text."""
        return self.rows[0] if self.rows else []

    @cached_property
    def document(self) -> Any:
        """The value of a JSON file, or of its start; None for other files."""
        text = self.start.lstrip()
        value = _parse(text) if text[:1] in ("[", "{") else None
        return _parse(_close_brackets(text)) if value is None else value

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first records of JSON Lines or of a list, or the only record; empty for other files."""
        document = unwrap(self.document)
        if isinstance(document, list):
            return [item for item in document[:_PEEK_ROWS] if isinstance(item, dict)]
        lines = map(_parse, filter(str.strip, self.start.splitlines()[:_PEEK_ROWS]))
        records = list(takewhile(lambda record: isinstance(record, dict), lines))
        return records or ([document] if isinstance(document, dict) else [])

    def has_names(self, *names: str, start: str = "") -> bool:
        """Return whether the first row has these names, and a name with this prefix, ignoring case."""
        plain = [name.strip().casefold() for name in self.names]
        begins = any(name.startswith(start.casefold()) for name in plain)
        return begins and {name.casefold() for name in names} <= {*plain}

    def has(self, *paths: str) -> bool:
        """Return whether one of the first records has all of these fields.

        ``games.score`` is a field of the object, or of the objects in the list, ``games``; ``*`` is any field.
        """
        found = ((any(True for _ in _follow(record, path.split("."))) for path in paths) for record in self.records)
        return any(map(all, found))


def _follow(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    """Yield the values at the end of a path."""
    if not steps:
        yield value
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _follow(item, steps)
    elif isinstance(value, dict):
        names = value if steps[0] == "*" else [steps[0]]
        for name in names:
            if name in value:
                yield from _follow(value[name], steps[1:])


def _close_brackets(text: str) -> str:
    """Close the brackets of truncated JSON, and drop its incomplete last value; other texts become empty."""
    closing: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text if text[:1] in ("[", "{") else ""):
        mark = token[0]
        if mark[0] == '"':
            continue
        if mark in "[{":
            closing.append("]" if mark == "[" else "}")
        elif mark in "]}" and closing.pop() != mark:
            return ""
        if not closing or len(closing) > MAX_DEPTH:
            return ""
        end = token.start() if mark == "," else token.end()
    return text[:end] + "".join(reversed(closing))


# Tools, whose exports are recognised by the start of a file.


@dataclass(frozen=True)
class Original:
    """The content that a task showed, as far as the export contains it."""

    record: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    picture: str | None = None
    sides: tuple[Any, Any] = (None, None)
    percent: bool = False

    @property
    def size(self) -> tuple[int, int] | None:
        """The width and height of the image, or None if unknown."""
        known = [int(side) for side in self.sides if str(side).isdecimal() and int(side)]
        return (known[0], known[1]) if len(known) == 2 else None


class Tool(ABC):
    """A program with its own export format. Each export is recognised by at most one tool.

    The docstring describes the export, and its first line is the summary. `record_tool`, `sheet_tool` and `survey_tool`
    make a tool from a function (``reader``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    reader: ClassVar[Any]

    @abstractmethod
    def recognises(self, peek: FileProbe) -> bool:
        """Return whether a file was written by this tool."""

    @abstractmethod
    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table, whose roles are the columns of worker, task and label."""

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the content of each task by the task's name, if the exports contain it."""
        return {}

    @classmethod
    def made_of(cls, name: str, title: str, reader: Any, **more: Any) -> type[Tool]:
        """Return the tool of a reader: a function with a docstring."""
        summary = (reader.__doc__ or "").partition("\n")[0].removeprefix("Read ").removesuffix(".")
        about = {"name": name, "title": title, "summary": summary, "reader": staticmethod(reader), **more}
        return type(reader.__name__, (cls,), {**about, "__doc__": reader.__doc__, "__module__": reader.__module__})
