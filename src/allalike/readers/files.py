"""Files of answers: CSV, TSV, JSON lines, JSON and Parquet."""

from __future__ import annotations

import glob
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.preflib import open_soc
from allalike.readers.tables import Table, join, of_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["ENDINGS", "is_path", "matching", "open_files"]

_LONGEST_FIELD = 1 << 24  # bytes of a field that still can be read
_COMPACT = 3  # bytes a value; below that a Parquet column is stored as a dictionary, and best read as one
_ROWS, _BYTES = 1 << 20, 1 << 26  # of a batch
_UNPACKED = 4  # bytes of text in a byte of a compressed file
_CODE = 4  # bytes of a value that is read as the number of an entry of a dictionary
_BUFFER = 1 << 20  # bytes of a Parquet column that are read at once; without, a whole row group is


def is_path(source: object) -> bool:
    """Tell whether this names a file.

    >>> is_path("answers.csv"), is_path(("ada", 1, "x"))
    (True, False)
    """
    return isinstance(source, str | os.PathLike)


def open_files(sources: Sequence[str | os.PathLike[str]]) -> Table:
    """Open one file, several, or all that match a pattern, as one table."""
    return join([_open(path) for source in sources for path in matching(Path(source))])


def matching(path: Path) -> list[Path]:
    """Return the file that a path names, or all that match it if it is a pattern.

    >>> matching(Path("answers.csv"))
    [PosixPath('answers.csv')]
    """
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise InputError(f"No file matches {str(path)!r}.")
    return found


def _open(path: Path) -> Table:
    if path.is_dir():
        from allalike.readers.masks import open_masks  # which reads manifests through this module

        return open_masks(path)
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    opener = ENDINGS.get(suffixes[-1]) if suffixes else None
    if opener is None:
        raise InputError(f"The ending of {path} says nothing about its format. Known endings: {', '.join(ENDINGS)}.")
    try:
        return opener(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be read: {error.strerror or error}.")


def _guarded(path: Path, what: str, read: Callable[[], Any]) -> Any:
    """Read, and say in a line why a file is not what its ending says."""
    import pyarrow as pa

    try:
        return read()
    except OSError as error:
        raise _unreadable(path, error) from error
    except (pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError, EOFError) as error:
        reason = str(error).splitlines()[0].strip().rstrip(".")
        if "straddl" in reason:
            reason = f"a field is longer than {_LONGEST_FIELD >> 20} MB, or a quote is never closed"
        raise InputError(f"{path} cannot be read as {what}: {reason}.") from error


def _each(path: Path, what: str, batches: Iterator[Any], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Read one batch of records after the other."""
    while (batch := _guarded(path, what, lambda: next(batches, None))) is not None:
        yield {name: batch.column(name) for name in names}


def _open_csv(path: Path, delimiter: str) -> Table:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    def options(names: Sequence[str]) -> dict[str, Any]:
        convert = pacsv.ConvertOptions(
            include_columns=list(names),
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
        )
        parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        block = pacsv.ReadOptions(block_size=_LONGEST_FIELD)
        return {"read_options": block, "parse_options": parse, "convert_options": convert}

    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    names = _guarded(path, "text with columns", lambda: _header(path, delimiter))
    other = next((mark for mark in ";\t" if len(names) == 1 and delimiter == "," and mark in names[0]), None)
    if other:
        return _open_csv(path, other)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has two columns called {twice[0]!r}. Rename one of them.")

    def load(asked: Sequence[str]) -> dict[str, Any]:
        table = _guarded(path, "text with columns", lambda: pacsv.read_csv(path, **options(asked)))
        return {name: table[name] for name in asked}

    def flow(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        with _guarded(path, "text with columns", lambda: pacsv.open_csv(path, **options(asked))) as reader:
            yield from _each(path, "text with columns", reader, asked)

    size = path.stat().st_size * (_UNPACKED if path.suffix.lower() == ".gz" else 1)
    return Table(names, load, str(path), text=True, flow=flow, weigh=lambda _: size, delimiter=delimiter)


def _header(path: Path, delimiter: str) -> list[str]:
    """Return the first record of a text file."""
    import csv
    import gzip

    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=delimiter), [])


def _open_jsonl(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.json as pajson

    def read(strings: Sequence[str] = ()) -> Any:
        schema = pa.schema([(name, pa.string()) for name in strings])
        block = pajson.ReadOptions(block_size=_LONGEST_FIELD)
        return pajson.read_json(path, block, pajson.ParseOptions(explicit_schema=schema))

    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    table = _guarded(path, "JSON lines", read)
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if times:  # strings that look like dates stay strings
        table = _guarded(path, "JSON lines", lambda: read(times))
    return Table(table.column_names, lambda asked: {name: table[name] for name in asked}, str(path))


def _open_json(path: Path) -> Table:
    with path.open("rb") as file:
        start = file.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"["):
        return _open_jsonl(path)
    records = _guarded(path, "JSON", lambda: json.loads(path.read_text(encoding="utf-8-sig")))
    return of_records(records, str(path))


def _open_parquet(path: Path) -> Table:
    import pyarrow.parquet as pq

    file = _guarded(path, "Parquet", lambda: pq.ParquetFile(path))
    names = file.schema_arrow.names

    def read(asked: Sequence[str]) -> Any:
        return _guarded(path, "Parquet", lambda: opened(asked).read(columns=list(asked)))

    def opened(asked: Sequence[str], **how: int) -> Any:
        compact = [name for name in asked if _is_compact(file, name)]
        return pq.ParquetFile(path, read_dictionary=compact, **how)

    def load(asked: Sequence[str]) -> dict[str, Any]:
        if weigh(asked) > _BYTES:  # then one after the other is read when it is needed, to save memory
            return {name: lambda name=name: read([name])[name] for name in asked}
        table = read(asked)  # which reads columns in parallel
        return {name: table[name] for name in asked}

    def flow(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        rows = max(1, min(_ROWS, _BYTES * file.metadata.num_rows // max(weigh(asked), 1)))
        with _guarded(path, "Parquet", lambda: opened(asked, buffer_size=_BUFFER)) as open_file:
            yield from _each(path, "Parquet", open_file.iter_batches(rows, columns=list(asked)), asked)

    def weigh(asked: Sequence[str]) -> int:
        chunks = [_extent(file, name) for name in asked]
        return sum(max(size, _CODE * values) for size, values in chunks)

    return Table(names, load, str(path), flow=flow, weigh=weigh)


def _extent(file: Any, name: str) -> tuple[int, int]:
    """Return how many bytes a column of a Parquet file is before compression, and how many values it has."""
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    chunks = [c for g in groups for c in map(g.column, range(g.num_columns)) if c.path_in_schema.split(".")[0] == name]
    return sum(c.total_uncompressed_size for c in chunks), sum(c.num_values for c in chunks)


def _is_compact(file: Any, name: str) -> bool:
    import pyarrow as pa

    kind = file.schema_arrow.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return False
    size, values = _extent(file, name)
    return size < _COMPACT * values


ENDINGS: dict[str, Callable[[Path], Table]] = {
    ".csv": partial(_open_csv, delimiter=","),
    ".tsv": partial(_open_csv, delimiter="\t"),
    ".tab": partial(_open_csv, delimiter="\t"),
    ".jsonl": _open_jsonl,
    ".ndjson": _open_jsonl,
    ".json": _open_json,
    ".parquet": _open_parquet,
    ".pq": _open_parquet,
    ".soc": open_soc,
}
