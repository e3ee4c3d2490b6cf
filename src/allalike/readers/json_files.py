"""JSON: lines of records, or one list of them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import InputError
from allalike.readers.compression import ENDINGS, find_packing, open_bytes, read_start
from allalike.readers.encodings import decode_start, find_encoding, open_text, read_text
from allalike.readers.failures import MAX_FIELD_BYTES, check_utf8, guard
from allalike.readers.frames import is_nested, of_nested
from allalike.readers.paths import with_paths
from allalike.readers.tables import Table, of_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["open_json", "open_json_lines"]

_MAX_DEPTH = 100
_NULL_LINE = re.compile(rb"^[ \t]*null[ \t\r]*$", re.MULTILINE)
_CHANGED_TYPE = "changed from"  # as Arrow says it of a column
_LONG_LINE = 800  # characters, in which brackets may be nested as deeply as is dangerous


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
    _refuse_lines(path)
    try:
        table = guard(path, "JSON lines", read)
    except InputError as error:  # perhaps because a column, or something nested, is not of one type
        records = _read_lines(path, encoding)
        nested = any(
            isinstance(value, dict | list) for each in records if isinstance(each, dict) for value in each.values()
        )
        if not nested and _CHANGED_TYPE not in str(error):
            raise
        return with_paths(replace(of_records(records, str(path)), written=True), lambda: records)
    if any(_is_deep(field.type) for field in table.schema):
        raise _too_deep(path)
    names = guard(path, "JSON lines", lambda: table.column_names)
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if times:  # strings that look like dates stay strings
        table = guard(path, "JSON lines", lambda: read(times))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = {name: table[name] for name in asked}
        check_utf8(columns, str(path))
        return columns

    return with_paths(Table(names, load, str(path), written=True), cache(partial(_read_lines, path, encoding)))


def _read_lines(path: Path, encoding: str | None) -> list[Any]:
    """Read one record a line as they are, nested or not."""
    text = guard(path, "JSON lines", lambda: read_text(path, encoding))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [guard(path, f"JSON lines (line {number})", partial(json.loads, line)) for number, line in lines]


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
    if not start.startswith("[") and not _is_one_object(path, start, encoding):
        return open_json_lines(path, encoding)
    document = guard(path, "JSON", lambda: json.loads(read_text(path, encoding)))
    if isinstance(document, dict | list) and _is_nested_deeply(document):
        raise _too_deep(path)
    if is_nested(document):
        return replace(of_nested(document, str(path)), written=True)
    records = [document] if isinstance(document, dict) else document
    return with_paths(replace(of_records(records, str(path)), written=True), lambda: records)


def _too_deep(path: Path) -> InputError:
    return InputError(f"{path} is nested more than {_MAX_DEPTH} levels deep, which is not read.")


def _refuse_lines(path: Path) -> None:
    """Refuse lines at which Arrow would crash: null, and very deeply nested ones, which must be long."""
    with guard(path, "JSON lines", lambda: open_bytes(path)) as file:
        while block := guard(path, "JSON lines", lambda: file.read(MAX_FIELD_BYTES)):
            if b"null" in block and _NULL_LINE.search(block):
                raise InputError(f"{path} cannot be read as JSON lines: one of them is null, which is no record.")
            breaks = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            ends = np.concatenate([[-1], breaks, [len(block)]])
            for place in np.flatnonzero(np.diff(ends) > _LONG_LINE):
                line = block[ends[place] + 1 : ends[place + 1]]
                if line.count(b"[") + line.count(b"{") > _LONG_LINE // 2 and _depth(line) > _MAX_DEPTH:
                    raise _too_deep(path)


def _depth(text: bytes) -> int:
    r"""Return how deep brackets are nested, without those in strings.

    >>> _depth(rb'{"a": [1, "[[\"[["]}')
    2
    """
    codes = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    outside = np.cumsum(codes == ord('"')) % 2 == 0
    steps = np.isin(codes, (ord("["), ord("{"))).astype(np.int64) - np.isin(codes, (ord("]"), ord("}")))
    return int(np.max(np.cumsum(steps * outside), initial=0))


def _is_deep(kind: Any) -> bool:
    """Tell whether a type of Arrow is nested too deeply."""
    level = [kind]
    for _ in range(_MAX_DEPTH):
        level = [each.field(place).type for each in level for place in range(each.num_fields)]
        if not level:
            return False
    return True


def _is_nested_deeply(document: Any) -> bool:
    level = [document]
    for _ in range(_MAX_DEPTH):
        inner = [child for each in level for child in (each.values() if isinstance(each, dict) else each)]
        level = [child for child in inner if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _is_one_object(path: Path, start: str, encoding: str) -> bool:
    """Tell whether a file is one object, and not one a line."""
    if not start.startswith("{"):
        return False
    try:
        with guard(path, "JSON", lambda: open_text(path, encoding)) as file:
            line = guard(path, "JSON", lambda: next((line for line in file if line.strip()), ""))
            more = guard(path, "JSON", lambda: any(line.strip() for line in file))
    except InputError:  # whose row will be named where lines are read
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return bool(more)
    return not more and is_nested(record)
