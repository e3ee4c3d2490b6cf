"""Values in JSON: files as plain records, and checked access to what they hold."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.formats.compression import open_bytes
from allalike.readers.formats.encodings import guess_encoding, with_mark
from allalike.readers.formats.failures import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_WRAPPERS = ("items", "records", "tasks")
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
REQUIRED: Any = object()


class UnexpectedValueError(ValueError):
    """A value of another type than a tool writes there. The frame adds the file and the record."""


def get(value: Any, *keys: str) -> Any:
    """Return the first of several fields of an object that is there, or nothing; without keys the value itself.

    The functions below check the type of what they get. ``default`` is for what is missing or null.

    >>> get({"uid": 7}, "id", "uid"), get(None, "id"), get_id({"uid": 7}, "id", "uid")
    (7, None, 7)
    >>> get_list({"games": "x"}, "games")
    Traceback (most recent call last):
    allalike.readers.tools.trees.UnexpectedValueError: 'games' is a text, where a list should be
    """
    if not keys or value is None:
        return value
    if not isinstance(value, dict):
        raise unexpected(value, f"an object with {keys[0]!r}")
    for key in keys:
        found = value.get(key)
        if found is not None:
            return found
    return None


def _get(expected: str, fits: Callable[[Any], bool], value: Any, *keys: str, default: Any = REQUIRED) -> Any:
    found = get(value, *keys)
    if fits(found):
        return found
    if found is None and default is not REQUIRED:
        return default
    raise unexpected(found, expected, *keys)


def _is_finite(found: Any) -> bool:
    return type(found) is int or (type(found) is float and math.isfinite(found))


get_text = partial(_get, "a text", lambda found: isinstance(found, str))
get_id = partial(_get, "a name or a whole number", lambda found: type(found) in (int, str) and found != "")
get_number = partial(_get, "a finite number", _is_finite)
get_scalar = partial(_get, "a text or a number", lambda found: isinstance(found, str | int | float))


def get_list(value: Any, *keys: str) -> list[Any]:
    """Return a list, which is empty if it is missing or null."""
    return _get("a list", lambda found: isinstance(found, list), value, *keys, default=None) or []


def get_numbers(value: Any, *keys: str) -> list[float]:
    """Return a list of finite numbers, which is empty if it is missing or null."""
    numbers = get_list(value, *keys)
    for number in numbers:
        if not _is_finite(number):
            raise unexpected(number, "a finite number", *(f"{key}[]" for key in keys))
    return numbers


def get_object(value: Any, *keys: str) -> dict[str, Any]:
    """Return an object, which is empty if it is missing or null."""
    return _get("an object", lambda found: isinstance(found, dict), value, *keys, default=None) or {}


def unexpected(value: Any, expected: str, *keys: str) -> UnexpectedValueError:
    """Return the error that says what is there, under one of these keys, and what should be."""
    kind = "an empty text" if value == "" else _KINDS.get(type(value), "something else")
    if not keys:
        return UnexpectedValueError(f"{'nothing' if value is None else kind} stands where {expected} should be")
    there = "missing or empty" if value is None else kind
    return UnexpectedValueError(f"{' or '.join(map(repr, keys))} is {there}, where {expected} should be")


def read_bytes(path: Path) -> bytes:
    """Return all bytes of a file, unpacked if they are packed."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except OSError as error:
        raise unreadable(path, error) from error


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the text of a file, in the encoding that is given or that its bytes tell."""
    data = read_bytes(path)
    encoding = encoding or guess_encoding(data)
    try:
        return data.decode(with_mark(encoding))
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{path} cannot be read as text: {error}.", encoding="latin-1") from error


def load_document(path: Path) -> Any:
    """Return the one value of a JSON file."""
    return load_json(read_bytes(path), str(path))


def load_json(data: bytes, where: str) -> Any:
    """Return the one value of a text in JSON; NaN and Infinity, which are no JSON, are nothing."""
    if not data.strip():
        raise InputError(f"{where} is empty.")
    try:
        return parse_json(data, parse_constant=_skip_constant)
    except ValueError as error:  # of JSON, of UTF-8, and of numbers with thousands of digits
        raise InputError(f"{where} cannot be read as JSON: {str(error).rstrip('.')}.") from error


def _skip_constant(name: str) -> None:
    """Read NaN and such as nothing."""


def load_records(path: Path) -> list[Any]:
    r"""Return the records of a JSON file: those of a list, or one of each line.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"id": 1}\n\n{"id": 2}\n')
    ...     load_records(path)
    [{'id': 1}, {'id': 2}]
    """
    data = read_bytes(path).removeprefix(BOM_UTF8)
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2 or data.lstrip()[:1] != b"{" or not _is_whole(lines[0]):
        document = unwrap(load_json(data, str(path)))
        return document if isinstance(document, list) else [document]
    with suppress(ValueError):
        joined = b"[" + b",".join(lines) + b"]"  # faster than one by one
        records: list[Any] = parse_json(joined, parse_constant=_skip_constant)
        if len(records) == len(lines):
            return records
    numbered = enumerate(data.split(b"\n"), start=1)
    return [load_json(line, f"{path}: line {number}") for number, line in numbered if line.strip()]


def _is_whole(line: bytes) -> bool:
    """Return whether a line is a value of its own, and not part of one over many lines."""
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def unwrap(document: Any) -> Any:
    """Return the list of records that programs wrap in an object, with a count and such; other values as they are.

    >>> unwrap({"items": [{"id": 1}], "total": 1})
    [{'id': 1}]
    """
    if not isinstance(document, dict):
        return document
    inner = [document[key] for key in _WRAPPERS if isinstance(document.get(key), list)]
    others = [value for value in document.values() if isinstance(value, dict | list)]
    return inner[0] if len(inner) == len(others) == 1 else document
