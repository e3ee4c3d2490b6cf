"""Failures: why a file or a table cannot be read, in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import InputError, TooLargeError
from allalike.readers.encodings import guess_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["MAX_FIELD_BYTES", "check_utf8", "each_batch", "guard", "unreadable"]

MAX_FIELD_BYTES = 1 << 24  # of a field of a text file, so that an unclosed quote does not swallow all memory


def unreadable(path: Path, error: OSError) -> InputError:
    """Turn a failure of the system into an error that names the file.

    >>> from pathlib import Path
    >>> str(unreadable(Path("a.csv"), PermissionError(13, "Permission denied")))
    'a.csv cannot be read: Permission denied.'
    """
    return InputError(f"{path} cannot be read: {error.strerror or error}.")


def guard(path: Path, file_format: str, read: Callable[[], Any]) -> Any:
    """Return what a function reads; if it fails, raise an error that names the file, its format and the reason.

    >>> from pathlib import Path
    >>> guard(Path("a.json"), "JSON", lambda: json.loads("[1,"))
    Traceback (most recent call last):
    allalike.errors.InputError: a.json cannot be read as JSON: Expecting value: line 1 column 4 (char 3).
    """
    import pyarrow as pa

    try:
        return read()
    except OSError as error:
        raise unreadable(path, error) from error
    except pa.ArrowMemoryError as error:  # also where a damaged file says that it has so much
        raise TooLargeError(
            f"There is not enough memory to read {path} as {file_format}, unless it is damaged. Leave out columns that"
            " are not needed, or split it; of CSV and Parquet, the disk engine reads only a part at a time."
        ) from error
    except (pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError, EOFError) as error:
        reason = str(error).splitlines()[0].strip().rstrip(".")
        if "straddl" in reason:
            reason = f"a field is longer than {MAX_FIELD_BYTES >> 20} MB, or a quote is never closed"
        raise InputError(f"{path} cannot be read as {file_format}: {reason}.") from error


def each_batch(
    path: Path, file_format: str, batches: Iterator[Any], names: Sequence[str], *, sound: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield the columns of one batch of records after the other, each guarded and checked."""
    before = 0
    while (batch := guard(path, file_format, lambda: next(batches, None))) is not None:
        columns = {name: batch.column(name) for name in names}
        check_utf8(columns, str(path), before=before, sound=sound)
        before += batch.num_rows
        yield columns


def check_utf8(
    columns: Mapping[str, Any], where: str, *, before: int = 0, text: bool = False, sound: bool = True
) -> None:
    r"""Refuse Arrow columns with text that is no UTF-8, and name the row; so many rows came ``before`` them.

    Of a ``text`` file it can be said how it is written instead. Where Arrow has taken arrays out of a file as they lie
    there, they are not ``sound`` before all in them has been looked at.

    Arrow takes the bytes of JSON lines and Parquet as they are, and would write them out again.

    >>> import pyarrow as pa
    >>> broken = pa.StringArray.from_buffers(1, *pa.array([b"caf\xe9"]).buffers()[1:])
    >>> check_utf8({"label": broken}, "a.parquet", before=6)
    Traceback (most recent call last):
    allalike.errors.InputError: a.parquet: the 'label' in row 7 is invalid UTF8: b'caf\xe9'. Save it as UTF-8.
    """
    import pyarrow as pa

    for name, column in columns.items():
        try:
            column.validate(full=not sound or not _is_ascii(column))
            if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
                column.cast(pa.large_string())  # which is how it will be written
        except pa.ArrowInvalid as error:
            for row, value in enumerate(column if sound else (), start=before + 1):
                if broken := _broken_text(value):
                    settles = {"encoding": guess_encoding(broken)} if text else {}
                    raise InputError(
                        f"{where}: the {name!r} in row {row} is invalid UTF8: {broken!r}. Save it as UTF-8"
                        f"{', or say how it is written' if text else ''}.",
                        **settles,
                    ) from None
            raise InputError(f"{where}: the column {name!r} is damaged: {error}.") from error


def _is_ascii(column: Any) -> bool:
    """Tell whether all bytes of a column of texts are ASCII, which is found out much faster than UTF-8 is."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return False
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    texts = [np.frombuffer(data, np.int8) for chunk in chunks if (data := chunk.buffers()[2]) is not None]
    return all(not len(text) or int(text.min()) >= 0 for text in texts)


def _broken_text(value: Any) -> bytes:
    try:
        found = value.as_py()
        if isinstance(found, bytes):
            found.decode()
    except UnicodeDecodeError as error:
        return bytes(error.object[:60])
    return b""
