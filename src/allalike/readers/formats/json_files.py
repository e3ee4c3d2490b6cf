"""Read JSON and JSON Lines files, and paths into nested records."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from allalike._core.lazy_imports import pa
from allalike._core.registry import did_you_mean
from allalike._core.system.json_text import is_deep, parse_json
from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import list_names
from allalike.readers.formats.compression import inner_path, open_bytes
from allalike.readers.formats.encodings import find_encoding, read_text, undecodable
from allalike.readers.formats.frames import is_nested, of_nested
from allalike.readers.formats.read_errors import guard
from allalike.readers.formats.source import Source, of_columns, of_records

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.readers.formats.files import Files

Steps = tuple[str | int | None, ...]  # keys, indices, and None for each element of a list

LINES = (".jsonl", ".ndjson")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_PATH = re.compile(r"(?:[^.\[\]]+|\[\d*\])(?:\.[^.\[\]]+|\.?\[\d*\])*")
_LISTED_DEPTH, _LISTED_RECORDS, _LISTED_LISTS = 5, 200, 50  # limits of the search for paths
_ABSENT = object()
_BLOCK_BYTES = 1 << 20
_MOST_FIELDS = 32  # decoded into columns; records with more fields stay dictionaries


def open_json(path: Path, files: Files | None = None) -> Source:
    """Open a JSON file: records in a list or one per line, ``{task: {worker: label}}``, or a list per column."""
    given = files.encoding if files else None
    encoding = given or guard(path, "JSON", lambda: find_encoding(path))
    lines = inner_path(path).suffix.lower() in LINES
    table = _open_lines(path, encoding) if lines else _open_document(path, encoding)
    found = {} if given or encoding.startswith("utf-8") else {"encoding": encoding}
    return replace(table, guessed={**table.guessed, **found})


def _open_document(path: Path, encoding: str) -> Source:
    text = guard(path, "JSON", lambda: read_text(path, encoding)).lstrip()
    try:
        document = guard(path, "JSON", partial(parse_json, text))
    except InputError:
        first: Any = None if text else {}
        with suppress(ValueError):
            first = parse_json(text.partition("\n")[0])
        if not isinstance(first, dict):
            raise
        return _open_lines(path, encoding)
    if is_nested(document):
        return replace(of_nested(document, str(path)), written=True)
    if _are_columns(document):
        return of_columns(document, str(path), written=True)
    return of_records(document if isinstance(document, list) else [document], str(path), written=True)


def _are_columns(document: Any) -> bool:
    """Return whether an object contains one list per column, with one value per row."""
    if not isinstance(document, dict) or len(document) < 2:
        return False
    lists = all(isinstance(values, list) and values for values in document.values())
    plain = lists and not any(isinstance(value, dict | list) for values in document.values() for value in values)
    return plain and len({len(values) for values in document.values()}) == 1


def _open_lines(path: Path, encoding: str) -> Source:
    """Open a file with one record per line; it is read completely, because any record may add a column."""
    names: dict[str, None] = {}
    parts: list[Any] = []
    for block, line in _read_blocks(path, encoding):
        part = _decode(block, names)
        if part is None:  # a field is new
            names.update(dict.fromkeys(chain.from_iterable(_parse_lines(block, path, line))))
            part = _decode(block, names)
        if part is None:
            return of_records(_parse_all(path, encoding), str(path), written=True)
        parts.append(part)
    if not names:
        raise InputError(f"{path} is empty.")
    try:
        columns = pa.concat_tables(parts, promote_options="permissive").combine_chunks()  # numbered twice as fast
    except pa.ArrowException:  # a field has several types
        return of_records(_parse_all(path, encoding), str(path), written=True)
    table = of_columns({name: columns[name] for name in names}, str(path), written=True)
    return replace(table, records=cache(partial(_parse_all, path, encoding)))


def _read_blocks(path: Path, encoding: str) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of complete lines, of about a megabyte, and the number of the first line."""
    number = 1

    def open_as_utf8() -> Any:
        return open_bytes(path) if encoding == "utf-8" else io.BytesIO(read_text(path, encoding).encode())

    with guard(path, "JSON lines", open_as_utf8) as file:
        while block := guard(path, "JSON lines", lambda: file.read(_BLOCK_BYTES) + file.readline()):
            yield block, number
            number += block.count(b"\n")


def _decode(block: bytes, names: Collection[str]) -> Any:
    """Decode lines into an Arrow table; return None if a field is new, is nested, or has several types."""
    import msgspec

    if not 0 < len(names) <= _MOST_FIELDS:
        return None
    fields = {f"field{number}": name for number, name in enumerate(names)}
    typed = [(field, str | int | float | bool | None, None) for field in fields]
    try:
        record = msgspec.defstruct("Record", typed, rename=fields, forbid_unknown_fields=True, gc=False)
        records = msgspec.json.Decoder(record).decode_lines(block)
        columns = {name: list(map(attrgetter(field), records)) for field, name in fields.items()}
        table = pa.table(columns)
    except (ValueError, OverflowError, RecursionError, pa.ArrowException):
        return None
    floats = [name for name in names if pa.types.is_floating(table[name].type)]
    return None if any(bool in map(type, columns[name]) for name in floats) else table  # False would become 0.0


def _parse_all(path: Path, encoding: str) -> list[dict[str, Any]]:
    return [record for block, line in _read_blocks(path, encoding) for record in _parse_lines(block, path, line)]


def _parse_lines(block: bytes, path: Path, first: int) -> list[dict[str, Any]]:
    import msgspec

    with suppress(ValueError, RecursionError):  # NaN, which the json module reads, and errors, whose line is named
        records: list[Any] = msgspec.json.Decoder().decode_lines(block)
        if all(isinstance(record, dict) for record in records) and not is_deep(records):
            return records
    records = []
    for number, line in enumerate(block.split(b"\n"), start=first):
        try:
            record = parse_json(line) if line.strip() else {}
        except UnicodeError as error:
            raise undecodable(path, "utf-8", error, number) from error
        except ValueError as error:
            raise InputError(f"{path}: line {number} cannot be read as JSON: {error}. Correct or remove it.") from error
        if not isinstance(record, dict):
            raise InputError(f"{path}: line {number} is not a JSON object ({{...}}). Correct or remove it.")
        records += [record] if line.strip() else []
    return records


# Paths into nested records, such as ``annotations[].completed_by.id``: one row per element of a list.


def expand_records(records: Sequence[Any], paths: Sequence[str], where: str) -> Source:
    """Make a table of paths with one row per element of their list; values outside the list are repeated."""
    keys = {key for record in records if isinstance(record, Mapping) for key in record}
    parsed = {path: (path,) if path in keys else _parse(path) for path in paths}
    _check_same_list(parsed, where)
    rows: list[dict[str, Any]] = []
    n_empty = 0
    for number, record in enumerate(records, start=1):
        found = _walk(record, parsed, f"{where}: record {number}")
        n_empty += not found
        rows += found
    for path in paths:
        if rows and all(row[path] is _ABSENT for row in rows):
            known = list(dict.fromkeys(chain.from_iterable(list_paths(records))))
            raise ColumnError(
                f"{where} has no {path!r} in its first record.{did_you_mean(path, known)} It has: {list_names(known)}."
            )
    columns = {path: [None if row[path] is _ABSENT else row[path] for row in rows] for path in paths}
    remarks = (f"{n_empty:,} of {len(records):,} records have an empty list, and so no answers.",) if n_empty else ()
    return of_columns(columns, where, remarks=remarks)


def _parse(path: str) -> Steps:
    """Split a path into steps; a leading ``[].``, the list of all records, is optional."""
    path = path.removeprefix("[].")
    if not _PATH.fullmatch(path):
        raise ColumnError(f"{path!r} is not a path into records. Write it like annotations[].completed_by.id.")
    return tuple(key or (int(index) if index else None) for key, index in _STEP.findall(path))


def _check_same_list(parsed: Mapping[str, Steps], where: str) -> None:
    """Refuse paths through two lists, neither of which contains the other."""
    lists = {path: steps[: len(steps) - steps[::-1].index(None)] for path, steps in parsed.items() if None in steps}
    longest = max(lists, key=lambda path: len(lists[path]), default="")
    for path, steps in lists.items():
        if lists[longest][: len(steps)] != steps:
            raise ColumnError(
                f"{where}: {path!r} and {longest!r} lead through different lists, whose elements do not correspond."
                " Give paths through the same list."
            )


def _walk(value: Any, paths: Mapping[str, Steps], where: str) -> list[dict[str, Any]]:
    """Return the rows of one record, each with a value per path."""
    rows = [{path: value for path, steps in paths.items() if not steps}]
    for step in dict.fromkeys(steps[0] for steps in paths.values() if steps):
        inner = {path: steps[1:] for path, steps in paths.items() if steps and steps[0] == step}
        parts = [part for each in _take_step(value, step, where) for part in _walk(each, inner, where)]
        rows = [{**row, **part} for row in rows for part in parts]
    return rows


def _take_step(value: Any, step: str | int | None, where: str) -> list[Any]:
    """Return the value of a key, the element at an index of a list, or each of its elements."""
    if isinstance(step, str):
        return [value.get(step, _ABSENT) if isinstance(value, Mapping) else _ABSENT]
    if value is None or value is _ABSENT:
        return [] if step is None else [_ABSENT]
    if not isinstance(value, list):
        raise InputError(f"{where} has {str(value)[:40]!r} instead of a list where a path has []. Correct the path.")
    return value if step is None else [value[step] if step < len(value) else _ABSENT]


def list_paths(records: Sequence[Any]) -> list[list[str]]:
    """List the paths that lead through the same list, for each list in the records; at most 5 steps deep."""
    groups: dict[str, dict[str, None]] = {"": {}}

    def note(value: Any, path: str, prefix: str, depth: int) -> None:
        """Add the paths of a value to the group of the innermost list that they lead through."""
        if isinstance(value, Mapping) and value and depth < _LISTED_DEPTH:
            for key, inner in value.items():
                if not set(str(key)) & set(".[]"):
                    note(inner, f"{path}.{key}" if path else str(key), prefix, depth + 1)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            path = f"{path}[]"
            if path in groups or len(groups) <= _LISTED_LISTS:
                groups.setdefault(path, {})
                for item in value[:_LISTED_RECORDS]:
                    note(item, path, path, depth)
        elif path and value is not None:
            groups[prefix][path] = None

    for record in records[:_LISTED_RECORDS]:
        note(record, "", "", 0)
    return [
        [path for other, paths in groups.items() if prefix.startswith(other) for path in paths] for prefix in groups
    ]
