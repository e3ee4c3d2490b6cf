"""JSON: lines of records, or one list of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.compression import ENDINGS, find_packing, open_bytes, read_start
from allalike.readers.encodings import decode_start, find_encoding, read_text
from allalike.readers.failures import MAX_FIELD_BYTES, check_utf8, guard
from allalike.readers.tables import Table, of_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["open_json", "open_json_lines"]


def open_json_lines(path: Path, encoding: str | None = None) -> Table:
    """Open a file with one record a line; it is read here, because the records say which columns there are.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"worker": "ada", "task": 1, "label": "x"}')
    ...     open_json_lines(path).names
    ['worker', 'task', 'label']
    """
    import pyarrow as pa
    import pyarrow.json as pajson

    def read(strings: Sequence[str] = ()) -> Any:
        schema = pa.schema([(name, pa.string()) for name in strings])
        block = pajson.ReadOptions(block_size=MAX_FIELD_BYTES)
        return pajson.read_json(_source(path, encoding), block, pajson.ParseOptions(explicit_schema=schema))

    if not guard(path, "JSON lines", lambda: read_start(path, 1)):
        raise InputError(f"{path} is empty.")
    table = guard(path, "JSON lines", read)
    names = guard(path, "JSON lines", lambda: table.column_names)
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if times:  # strings that look like dates stay strings
        table = guard(path, "JSON lines", lambda: read(times))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = {name: table[name] for name in asked}
        check_utf8(columns, str(path))
        return columns

    return Table(names, load, str(path), written=True)


def _source(path: Path, encoding: str | None) -> Any:
    """Return what Arrow reads: the path itself if it can."""
    encoding = encoding or find_encoding(path)
    if encoding != "utf-8":
        return io.BytesIO(read_text(path, encoding).encode())
    packed = find_packing(path) or path.suffix.lower() in ENDINGS  # Arrow would go by the ending
    return open_bytes(path) if packed else path


def open_json(path: Path, encoding: str | None = None) -> Table:
    """Open a file with a list of records, or with one record a line, whichever it begins like.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.json")
    ...     _ = path.write_text('[{"worker": "ada"}, {"worker": "bob"}]')
    ...     open_json(path).load(["worker"])
    {'worker': ['ada', 'bob']}
    """
    encoding = encoding or guard(path, "JSON", lambda: find_encoding(path))
    start = decode_start(read_start(path, 1 << 16), encoding).lstrip()
    if not start.startswith("["):
        return open_json_lines(path, encoding)
    records = guard(path, "JSON", lambda: json.loads(read_text(path, encoding)))
    return replace(of_records(records, str(path)), written=True)
