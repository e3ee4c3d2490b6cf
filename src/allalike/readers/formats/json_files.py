"""JSON: lines of records, or one list of them."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO

from allalike._core.late import pa
from allalike._core.limits import MAX_COLUMNS, MAX_DEPTH, MAX_FIELD_BYTES
from allalike._core.registry import did_you_mean
from allalike._core.system.json_text import Nesting, find_keys, parse_json
from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import list_names
from allalike.readers.formats.compression import ENDINGS, find_packing, open_bytes, read_start
from allalike.readers.formats.encodings import decode_start, find_encoding, open_text, read_text
from allalike.readers.formats.failures import check_columns, guard
from allalike.readers.formats.frames import is_nested, of_nested
from allalike.readers.formats.tables import Table, of_records

if TYPE_CHECKING:
    from pathlib import Path


# Paths into nested records, such as ``annotations[].completed_by.id``: one row for each element of a list.


Steps = tuple[str | int | None, ...]  # keys, places in a list, and None for each element of it
_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_MAX_DEPTH = 5
_LOOKED_AT, _MOST_LISTS = 200, 50  # paths are looked for in this many records, and lists
_ABSENT = object()
_JOINED = "\0joined"  # the key of a list made of several


def is_path_into(name: str) -> bool:
    """Tell whether a name can only be a path through a list.

    >>> is_path_into("annotations[].user"), is_path_into("a.b"), is_path_into("Rate [a]")
    (True, False, False)
    """
    return re.search(r"\[\d*\]", str(name)) is not None


def with_paths(table: Table, records: Any) -> Table:
    """Return a table whose columns may also be paths into its records; a function returns these.

    >>> from allalike.readers.formats.tables import of_records
    >>> records = [{"id": 1, "said": [{"by": "ada", "what": "x"}, {"by": "bob", "what": "y"}]}]
    >>> table = with_paths(of_records(records), lambda: records)
    >>> table.expand(["said[].by", "id", "said[].what"]).load(["id", "said[].by"])
    {'id': [1, 1], 'said[].by': ['ada', 'bob']}
    """
    return replace(
        table,
        expand=lambda paths: expand_records(records(), paths, table.where),
        list_paths=lambda: list_paths(records()[:_LOOKED_AT]),
    )


def expand_records(records: Sequence[Any], paths: Sequence[str], where: str) -> Table:
    """Make a table of paths: one row for each element of the list in them; what lies above is repeated.

    Lists that stand side by side in each record, and are equally long there, are gone through together.

    >>> expand_records([{"by": ["ada", "bob"], "said": ["x", "y"]}], ["by[]", "said[]"], "The file").load(["said[]"])
    {'said[]': ['x', 'y']}
    >>> expand_records([{"a": [{"b": 1}, {"b": 2}]}], ["a[].c"], "The file")
    Traceback (most recent call last):
    allalike.errors.ColumnError: The file has no 'a[].c' in its first record. Did you mean 'a[].b'? It
    has: 'a[].b'.
    """
    parsed = {path: (path,) if _has_key(records, path) else _parse(path) for path in paths}
    records, parsed = _join_lists(records, parsed)
    _check_in_step(parsed, where)
    rows: list[dict[str, Any]] = []
    empty = 0
    for number, record in enumerate(records):
        found = list(_walk(record, parsed, partial(_place, where, number + 1)))
        empty += not found
        rows += found
    for path in paths:
        if rows and all(row[path] is _ABSENT for row in rows):
            known = [name for group in list_paths(records[:_LOOKED_AT]) for name in group]
            known = list(dict.fromkeys(known))
            raise ColumnError(
                f"{where} has no {path!r} in its first record.{did_you_mean(path, known)} It has: {list_names(known)}."
            )
    columns = {path: [None if row[path] is _ABSENT else row[path] for row in rows] for path in paths}
    remarks = (f"{empty:,} of {len(records):,} records have no elements, and so no answers.",) if empty else ()
    return Table(list(paths), lambda asked: {path: columns[path] for path in asked}, where, remarks=remarks)


def _has_key(records: Sequence[Any], path: str) -> bool:
    return any(isinstance(record, Mapping) and path in record for record in records)


def _place(where: str, record: int) -> str:
    return f"{where}: record {record}"


def _parse(path: str) -> Steps:
    """Take a path apart; that it goes through all records need not be said."""
    path = path.removeprefix("[].")
    steps: list[str | int | None] = []
    end = 0
    for found in _STEP.finditer(path):
        between = path[end : found.start()]
        if between not in ("", ".") or (between == "." and end == 0):
            break
        steps.append(found[1] if found[1] is not None else int(found[2]) if found[2] else None)
        end = found.end()
    if end != len(path) or not steps:
        raise ColumnError(f"{path!r} is no path into records. Write it like annotations[].completed_by.id.")
    return tuple(steps)


def _join_lists(records: Sequence[Any], parsed: dict[str, Steps]) -> tuple[Sequence[Any], dict[str, Steps]]:
    """Make one list of several that are side by side, if they are equally long in every record."""
    keys = sorted({str(steps[0]) for steps in parsed.values() if len(steps) > 1 and steps[1] is None})
    if len(keys) < 2 or not set(keys) <= set(find_side_by_side(records)):
        return records, parsed
    joined = [
        {**record, _JOINED: [dict(zip(keys, each, strict=True)) for each in zip(*map(record.get, keys), strict=True)]}
        for record in records
    ]
    moved = {
        path: (_JOINED, None, steps[0], *steps[2:]) if steps[0] in keys and steps[1:2] == (None,) else steps
        for path, steps in parsed.items()
    }
    return joined, moved


def find_side_by_side(records: Sequence[Any]) -> list[str]:
    """Return the keys of lists that are equally long in each record, if there are several, and not always of one.

    >>> find_side_by_side([{"by": ["ada", "bob"], "said": ["x", "y"], "text": "a"}, {"by": ["eve"], "said": ["x"]}])
    ['by', 'said']
    """
    if not records or not all(isinstance(record, Mapping) for record in records):
        return []
    keys = [key for key, value in records[0].items() if isinstance(value, list)]
    keys = [key for key in keys if all(isinstance(record.get(key), list) for record in records)]
    sizes = {key: tuple(len(record[key]) for record in records) for key in keys}
    times = Counter(sizes.values())
    alike = [key for key in keys if times[sizes[key]] > 1 and max(sizes[key]) > 1]
    return [key for key in alike if sizes[key] == sizes[alike[0]]]


def _check_in_step(parsed: Mapping[str, Steps], where: str) -> None:
    """Refuse paths through two lists of which none is inside the other."""
    lists = sorted(
        {path: steps[: _last_list(steps)] for path, steps in parsed.items()}.items(), key=lambda p: len(p[1])
    )
    for path, steps in lists:
        longest_path, longest = lists[-1]
        if longest[: len(steps)] != steps:
            raise ColumnError(
                f"{where}: {path!r} and {longest_path!r} go through different lists, whose elements do not belong"
                " together. Give paths through the same list."
            )


def _last_list(steps: Steps) -> int:
    return max((place + 1 for place, step in enumerate(steps) if step is None), default=0)


def _walk(value: Any, paths: Mapping[str, Steps], place: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of one record: a value for each path."""
    done = {path: value for path, steps in paths.items() if not steps}
    rest = {path: steps for path, steps in paths.items() if steps}
    rows: list[dict[str, Any]] = [done]
    for step in dict.fromkeys(steps[0] for steps in rest.values()):
        inner = {path: steps[1:] for path, steps in rest.items() if steps[0] == step}
        parts = [part for each in _go(value, step, place) for part in _walk(each, inner, place)]
        rows = [{**row, **part} for row in rows for part in parts]
    yield from rows


def _go(value: Any, step: str | int | None, place: Any) -> list[Any]:
    """Take one step: to a key, to a place of a list, or to each of its elements."""
    if isinstance(step, str):
        return [value.get(step, _ABSENT) if isinstance(value, Mapping) else _ABSENT]
    if value is None or value is _ABSENT:
        return [] if step is None else [_ABSENT]
    if not isinstance(value, list):
        raise InputError(f"{place()} has {str(value)[:40]!r} where [] in a path says that there is a list.")
    if step is None:
        return value
    return [value[step] if step < len(value) else _ABSENT]


def list_paths(records: Sequence[Any]) -> list[list[str]]:
    """List the paths of records that are in step together, for each list in them; at most 5 steps deep.

    >>> list_paths([{"id": 1, "said": [{"by": {"name": "ada"}, "what": ["x"]}]}])
    [['id'], ['id', 'said[].by.name', 'said[].what']]
    """
    groups: dict[str, dict[str, None]] = {"": {}}
    for record in records:
        _note(record, "", "", 0, groups)
    listed = [
        [path for other, paths in groups.items() if prefix.startswith(other) for path in paths] for prefix in groups
    ]
    beside = [key for key in find_side_by_side(records) if key in groups[""]]
    plain = [path for path in groups[""] if path not in beside]
    return [*listed, *([[*plain, *(f"{key}[]" for key in beside)]] if beside else [])]


def _note(value: Any, path: str, prefix: str, depth: int, groups: dict[str, dict[str, None]]) -> None:
    """Take down the paths of a record, each with the list that it goes through last."""
    if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
        named = {key: inner for key, inner in value.items() if not set(str(key)) & set(".[]")}
        for key, inner in named.items():
            _note(inner, f"{path}.{key}" if path else str(key), prefix, depth + 1, groups)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        if len(groups) > _MOST_LISTS and f"{path}[]" not in groups:
            return
        groups.setdefault(f"{path}[]", {})
        for item in value[:_LOOKED_AT]:
            _note(item, f"{path}[]", f"{path}[]", depth, groups)
    elif path and value is not None:
        groups[prefix][path] = None


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
