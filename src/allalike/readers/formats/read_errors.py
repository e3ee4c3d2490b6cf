"""One-line errors for files and tables that cannot be read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.columns.hashes import find_unreadable, make_plain
from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_COLUMNS, MAX_EMPTY_CELLS, MAX_FIELD_BYTES
from allalike.errors import ColumnError, InputError, Proposal, TooLargeError
from allalike.readers.formats.encodings import guess_encoding, undecodable

ENGINES = ("polars", "duckdb", "_duckdb", "pyo3_runtime")  # packages that compute what is read
TOO_LONG = f"a row is longer than {MAX_FIELD_BYTES >> 20} MB, or a closing quote is missing"


def unreadable(path: Path | str, error: OSError) -> InputError:
    """Convert an operating system error into one that names the file."""
    return InputError(f"{path} cannot be read: {str(error.strerror or error).rstrip('.')}.")


def check_width(names: Sequence[Any], where: str) -> None:
    """Refuse a table with too many columns."""
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"{where} has {len(names):,} columns, and the limit is {MAX_COLUMNS:,}. Remove columns. If it is a matrix,"
            " transpose it, or write one row of worker, task and label per answer."
        )


def check_gaps(n_empty: int, where: str) -> None:
    """Refuse a table with too many empty cells, which take no space in its file."""
    if n_empty > MAX_EMPTY_CELLS:
        raise InputError(
            f"{where} would be a table with {n_empty:,} empty cells, and the limit is {MAX_EMPTY_CELLS:,}. Remove"
            " columns that are not needed. If it is a matrix, write one row of worker, task and label per answer."
        )


def check_names(names: Sequence[Any], where: str) -> None:
    """Refuse a table with too many columns, or with two columns of the same name."""
    check_width(names, where)
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise ColumnError(f"{where} has two columns called {twice!r}. Rename one of them.")


def guard(path: Any, file_format: str, read: Callable[[], Any], encoding: str = "") -> Any:
    """Return the result of a function; if it fails, raise an error that names the source, its format and the reason.

    For text that cannot be decoded, the error proposes another encoding.

    >>> guard("a.json", "JSON", lambda: json.loads("[1,"))
    Traceback (most recent call last):
    allalike.errors.InputError: a.json cannot be read as JSON: Expecting value: line 1 column 4 (char 3).
    """
    try:
        return read()
    except OSError as error:
        raise unreadable(path, error) from error
    except pa.ArrowMemoryError as error:  # also raised if the metadata of a damaged file contain a huge size
        raise TooLargeError(
            f"There is not enough memory to read {path} as {file_format}, or it is damaged. Remove columns that are not"
            " needed, split the file, or use engine='disk', which reads CSV and Parquet in parts."
        ) from error
    except BaseException as error:  # a panic of polars is not an Exception
        known = (pa.ArrowException, UnicodeError, json.JSONDecodeError, EOFError)
        if not isinstance(error, known) and type(error).__module__.partition(".")[0] not in ENGINES:
            raise
        if encoding and isinstance(error, UnicodeError):
            raise undecodable(path, encoding, error) from error
        reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__).rstrip(".")
        reason = TOO_LONG if "straddl" in reason else reason
        raise InputError(f"{path} cannot be read as {file_format}: {reason}.") from error


def each_batch(
    path: Path | str, file_format: str, batches: Iterator[dict[str, Any]], *, encoding: str = "", **checks: Any
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each batch, which is read with `guard` and checked with `check_columns`."""
    while (columns := guard(path, file_format, lambda: next(batches, None), encoding)) is not None:
        check_columns(columns, str(path), **checks)
        checks["before"] = checks.get("before", 0) + len(next(iter(columns.values()), ()))
        yield columns


def check_columns(
    columns: Mapping[str, Any], where: str, *, before: int = 0, text: bool = False, sound: bool = True
) -> None:
    r"""Refuse Arrow columns with unreadable values, and name the row, counted from ``before``.

    Arrow copies the bytes of JSON lines and Parquet unchanged, even if they are not valid UTF-8.

    For a ``text`` file the message proposes an encoding. Arrays that Arrow maps from a file unchecked are not ``sound``
    and are validated completely.

    >>> broken = pa.StringArray.from_buffers(1, *pa.array([b"caf\xe9"]).buffers()[1:])
    >>> check_columns({"label": broken}, "a.parquet", before=6)
    Traceback (most recent call last):
    allalike.errors.InputError: a.parquet: the 'label' in row 7 is invalid UTF8: b'caf\xe9'. Save it as UTF-8.
    """
    for name, data in columns.items():
        column = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
        try:
            column.validate(full=not sound or not _is_ascii(column))
            plain = make_plain(pa.chunked_array([], column.type))
            if not isinstance(plain, list) and plain.type in (pa.binary(), pa.large_binary()):
                make_plain(column).cast(pa.large_string())  # the type in which it will be written
        except pa.ArrowInvalid as error:
            for row, value in enumerate(column if sound else (), start=before + 1):
                if broken := _find_broken(value):
                    known = [Proposal({"encoding": guess_encoding(broken)})] if text else []
                    remedy = "Save it as UTF-8, or name its encoding." if text else "Save it as UTF-8."
                    what = f"{where}: the {name!r} in row {row} is invalid UTF8: {broken!r}. {remedy}"
                    raise InputError(what, proposals=known) from None
            raise InputError(f"{where}: the column {name!r} is damaged: {error}.") from error
        if (place := find_unreadable(column)) is not None:
            raise InputError(
                f"{where}: the {name!r} in row {before + place + 1} cannot be read as {column.type}. Dates must be in"
                " years 1 to 9999 and in known time zones, and records must have each field once."
            )


def _is_ascii(column: Any) -> bool:
    """Return whether all bytes of a text column are ASCII, which is much faster to check than UTF-8."""
    if not pa.types.is_string(column.type):
        return False
    texts = [np.frombuffer(data, np.int8) for chunk in column.chunks if (data := chunk.buffers()[2]) is not None]
    return all(not len(text) or int(text.min()) >= 0 for text in texts)


def _find_broken(value: Any) -> bytes:
    """Return the bytes of a value that is not valid UTF-8, or empty bytes if it is valid."""
    try:
        found = value.as_py()
        if isinstance(found, bytes):
            found.decode()
    except UnicodeDecodeError as error:
        return bytes(error.object[:60])
    except (ValueError, OverflowError):  # errors of another kind
        pass
    return b""
