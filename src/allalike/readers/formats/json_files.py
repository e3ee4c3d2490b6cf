"""JSON: lines of records, or one list of them."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO

from allalike._core.late import pa
from allalike._core.limits import MAX_COLUMNS, MAX_DEPTH, MAX_FIELD_BYTES
from allalike._core.system.json_text import Nesting, find_keys, parse_json
from allalike.errors import InputError
from allalike.readers.formats.compression import ENDINGS, find_packing, open_bytes, read_start
from allalike.readers.formats.encodings import decode_start, find_encoding, open_text, read_text
from allalike.readers.formats.failures import check_columns, guard
from allalike.readers.formats.frames import is_nested, of_nested
from allalike.readers.formats.paths import with_paths
from allalike.readers.formats.tables import Table, of_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["open_json", "open_json_lines"]

_NULL_LINE = re.compile(
    rb"^[ \t\r\xef\xbb\xbf]*null", re.MULTILINE
)  # a line that begins so is no record, whatever follows
_FEW_GAPS, _GAPS_OF_A_KEY = 1 << 22, 32  # where Arrow would write more gaps, Python is faster
_CHANGED_TYPE = "changed from"  # Arrow says it so of a column


def open_json_lines(path: Path, encoding: str | None = None) -> Table:
    """Open a file with one record a line; it is read here, because the records say which columns there are.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"worker": "ada", "task": 1, "label": "x"}')
    ...     open_json_lines(path).names
    ['worker', 'task', 'label']
    """
    import pyarrow.json as pajson

    written = encoding or guard(path, "JSON lines", lambda: find_encoding(path))

    def read(strings: Sequence[str] = ()) -> Any:
        schema = pa.schema([(name, pa.string()) for name in strings])
        block = pajson.ReadOptions(block_size=MAX_FIELD_BYTES)
        return pajson.read_json(_source(path, written), block, pajson.ParseOptions(explicit_schema=schema))

    if not guard(path, "JSON lines", lambda: read_start(path, 1)):
        raise InputError(f"{path} is empty.")
    if _look_at_lines(path, written):  # for each of which Arrow would write a gap into all other records
        return _of_lines(path, _read_lines(path, written))
    try:
        table = guard(path, "JSON lines", read)
    except InputError as error:  # perhaps because a column, or something nested, is not of one type
        records = _read_lines(path, written)
        nested = any(
            isinstance(value, dict | list) for each in records if isinstance(each, dict) for value in each.values()
        )
        if not nested and _CHANGED_TYPE not in str(error):
            raise
        return _of_lines(path, records)
    names = guard(path, "JSON lines", lambda: table.column_names)
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if times:  # strings that look like dates stay strings
        table = guard(path, "JSON lines", lambda: read(times))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = {name: table[name] for name in asked}
        check_columns(columns, str(path))
        return columns

    return with_paths(Table(names, load, str(path), written=True), cache(partial(_read_lines, path, written)))


def _of_lines(path: Path, records: list[Any]) -> Table:
    """Open records as they were read by Python."""
    return with_paths(replace(of_records(records, str(path)), written=True), lambda: records)


def _read_lines(path: Path, encoding: str) -> list[Any]:
    """Read one record a line as they are, nested or not."""
    text = guard(path, "JSON lines", lambda: read_text(path, encoding))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [guard(path, f"JSON lines (line {number})", partial(parse_json, line)) for number, line in lines]


def _source(path: Path, encoding: str) -> Any:
    """Return what Arrow reads: the path itself if it can."""
    packed = find_packing(path) or path.suffix.lower() in ENDINGS  # Arrow would go by the ending
    return path if encoding == "utf-8" and not packed else _open(path, encoding)


def _open(path: Path, encoding: str) -> BinaryIO:
    """Open a file as bytes of UTF-8."""
    return open_bytes(path) if encoding == "utf-8" else io.BytesIO(read_text(path, encoding).encode())


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
    start = decode_start(read_start(path, 1 << 16), encoding, path).lstrip()
    if not start.startswith("[") and not _is_one_object(path, start, encoding):
        return open_json_lines(path, encoding)
    document = guard(path, "JSON", lambda: parse_json(read_text(path, encoding)))
    if is_nested(document):
        return replace(of_nested(document, str(path)), written=True)
    if _are_columns(document):
        return Table(list(document), lambda asked: {name: document[name] for name in asked}, str(path), written=True)
    return _of_lines(path, [document] if isinstance(document, dict) else document)


def _look_at_lines(path: Path, encoding: str) -> bool:
    """Refuse lines at which Arrow would crash, null and very deeply nested ones; tell whether most keys are rare."""
    nesting, known, rare = Nesting(), set[bytes](), False
    for lines in _whole_lines(path, encoding):
        if b"null" in lines and _NULL_LINE.search(lines):
            raise InputError(f"{path} cannot be read as JSON lines: one of them is null, which is no record.")
        if nesting.feed_lines(lines) > MAX_DEPTH:
            raise InputError(f"{path} is nested more than {MAX_DEPTH} levels deep, which is not read.")
        if not rare:
            keys, number = find_keys(lines)
            known |= keys
            gaps = lines.count(b"{") * len(keys) - number
            rare = len(known) > MAX_COLUMNS or gaps > max(_FEW_GAPS, _GAPS_OF_A_KEY * number)
    return rare


def _whole_lines(path: Path, encoding: str) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    rest: list[bytes] = []
    with guard(path, "JSON lines", lambda: _open(path, encoding)) as file:
        while block := guard(path, "JSON lines", lambda: file.read(MAX_FIELD_BYTES)):
            end = block.rfind(b"\n") + 1
            if end:
                yield b"".join([*rest, block[:end]])
                rest = []
            rest.append(block[end:])
    yield b"".join(rest)


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
        record = parse_json(line)
    except ValueError:
        return bool(more)
    return not more and (is_nested(record) or _are_columns(record))


def _are_columns(document: Any) -> bool:
    """Tell whether an object has a list for each column, with a value for each row.

    >>> _are_columns({"worker": ["ada", "bob"], "label": ["x", "y"]}), _are_columns({"task": 7, "labels": ["x", "y"]})
    (True, False)
    """
    if not isinstance(document, dict) or len(document) < 2:
        return False
    lists = all(isinstance(values, list) and values for values in document.values())
    plain = lists and not any(isinstance(value, dict | list) for values in document.values() for value in values)
    return plain and len({len(values) for values in document.values()}) == 1
