"""Read Parquet files, folders of them, and Arrow files, after checking their unpacked size."""

from __future__ import annotations

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

import numpy as np

from allalike._core.lazy_imports import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.compression import check_unpacked, find_limit
from allalike.readers.formats.read_errors import each_batch, guard
from allalike.readers.formats.source import Source, join, take_rows

PARQUET_ENDINGS = (".parquet", ".pq")
_BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 26
_ARROW_ROWS = 1 << 17  # per batch of an Arrow file
_BUFFER_BYTES = 1 << 20  # per read of a column, instead of a whole row group
_CODE_BYTES = 4  # of a dictionary index, or of the offset of a text
_MAX_COMPACT_BYTES = 3  # per value
_WIDTHS = {"BOOLEAN": 1, "INT64": 8, "INT96": 8, "DOUBLE": 8}


def open_parquet(path: Path, *_: Any) -> Source:
    """Open a Parquet file; its columns are read lazily."""
    import pyarrow.parquet as pq

    file = guard(path, "Parquet", lambda: pq.ParquetFile(path))
    names = guard(path, "Parquet", lambda: file.schema_arrow.names)

    @cache
    def measured() -> tuple[Counter[str], set[str]]:
        sizes: tuple[Counter[str], set[str]] = guard(path, "Parquet", lambda: _measure_parquet(path, file))
        return sizes

    def n_bytes(asked: Sequence[str]) -> int:
        return sum(measured()[0][name] for name in asked)

    def list_batches(asked: Sequence[str], rows: int | None) -> Iterator[dict[str, Any]]:
        check_unpacked(path, path.stat().st_size, n_bytes(asked))
        columns = list(asked)
        compact = [name for name in columns if name in measured()[1]]
        buffer = 0 if rows is None else _BUFFER_BYTES
        open_again = partial(pq.ParquetFile, path, read_dictionary=compact, buffer_size=buffer)
        with guard(path, "Parquet", open_again) as again:
            parts = (again.read(columns) for _ in (1,)) if rows is None else again.iter_batches(rows, columns=columns)
            yield from each_batch(path, "Parquet", ({name: part[name] for name in asked} for part in parts))

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        return take_rows(list_batches(asked, rows), asked, rows)

    def stream(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        rows = _BATCH_BYTES * file.metadata.num_rows // max(n_bytes(asked), 1)
        return list_batches(asked, max(1, min(_BATCH_ROWS, rows)))

    return Source(names, read, str(path), stream=stream, n_bytes=n_bytes)


def open_parts(folder: Path) -> Source:
    """Open a folder of Parquet files; the names of subfolders such as ``task=t1`` become columns.

    The values of such a column are integers if all of them are written as integers.
    """
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PARQUET_ENDINGS and path.is_file())
    inner = {path: path.relative_to(folder).parts for path in found}
    paths = [path for path, names in inner.items() if not any(name[0] in "._" for name in names)]
    if not paths:
        raise InputError(f"{folder} has Parquet files only in hidden folders, which begin with '_' or '.'.")
    named = [dict(name.split("=", 1) for name in inner[path][:-1] if "=" in name) for path in paths]
    whole = re.compile("0|[1-9][0-9]{0,17}")
    texts = {name for each in named for name, value in each.items() if not whole.fullmatch(value)}
    parts = []
    for path, constants in zip(paths, named, strict=True):
        part = open_parquet(path)
        for name, value in constants.items():
            part = part.with_constant(name, unquote(value) if name in texts else int(value))
        parts.append(part)
    return replace(join(parts), where=str(folder))


def open_arrow(path: Path, *_: Any) -> Source:
    """Open an Arrow (Feather) file, batch by batch, because Arrow's own scanner crashes on errors."""
    with guard(path, "Arrow", lambda: pa.OSFile(os.fspath(path))) as file:
        schema = guard(path, "Arrow", lambda: pa.ipc.open_file(file).schema)
    names = guard(path, "Arrow", lambda: schema.names)

    def list_batches(asked: Sequence[str]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in asked])
        with pa.OSFile(os.fspath(path)) as file:
            reader, shared = pa.ipc.open_file(file, options=options), 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                shared += sum(map(_measure_shared, batch.columns))
                check_unpacked(path, packed, shared)
                for start in range(0, batch.num_rows, _ARROW_ROWS):
                    part = batch.slice(start, _ARROW_ROWS)
                    yield {name: part[name] for name in asked}

    def stream(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        return each_batch(path, "Arrow", list_batches(asked), sound=False)

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        return take_rows(stream(asked), asked, rows)

    packed, size = path.stat().st_size, measure_arrow(path)
    check_unpacked(path, packed, size)
    return Source(names, read, str(path), stream=stream, n_bytes=lambda _: size)


# Memory that files take once read, computed from their metadata.


def _measure_parquet(path: Path, file: Any) -> tuple[Counter[str], set[str]]:
    """Return the bytes that each column takes once read, and the columns that should be read as dictionaries.

    The latter are text columns that take few bytes per value in the file, or that would exceed the limit as plain text.
    """
    packed, n_values, sizes, risky = Counter[str](), Counter[str](), Counter[str](), []
    limit, metadata = find_limit(path.stat().st_size), file.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            name, written = chunk.path_in_schema.split(".")[0], chunk.total_uncompressed_size
            values = max(chunk.num_values, group.num_rows)
            width = max(_WIDTHS.get(chunk.physical_type, _CODE_BYTES), file.schema.column(place).length)
            size = max(written, width * values)
            packed[name] += written
            n_values[name] += values
            sizes[name] += size
            is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
            if is_text and values * written > limit >= size:
                risky.append((name, chunk.path_in_schema, number, values, size))
    texts = {each.name for each in file.schema_arrow if pa.types.is_string(each.type) or pa.types.is_binary(each.type)}
    compact, more = {name for name in texts if packed[name] < _MAX_COMPACT_BYTES * n_values[name]}, Counter[str]()
    for name, column, number, values, size in risky:
        if name not in compact:
            more[name] += max(0, values * _find_longest(path, column, number) - size)
    compact |= {name for name in texts if sizes[name] + more[name] > limit}
    return sizes + Counter({name: size for name, size in more.items() if name not in compact}), compact


def _find_longest(path: Path, column: str, group: int) -> int:
    """Return the size in bytes of the longest text in the dictionary of a row group."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=[column]) as file:
        batch = next(file.iter_batches(1, row_groups=[group], columns=[column], use_threads=False), None)
    arrays = [array for column in batch.columns for array in _list_arrays(column)] if batch is not None else []
    return max((_measure_longest(each.dictionary) for each in arrays if pa.types.is_dictionary(each.type)), default=0)


def _list_arrays(array: Any) -> Iterator[Any]:
    """Yield an array and the arrays nested in it."""
    yield array
    if pa.types.is_struct(array.type):
        parts = [array.field(place) for place in range(array.type.num_fields)]
    else:
        parts = [array.values] if hasattr(array, "values") else []
    for part in parts:
        yield from _list_arrays(part)


def _measure_longest(values: Any) -> int:
    """Return the size in bytes of the longest value."""
    kind = str(values.type)
    if kind in ("string_view", "binary_view"):
        return int(_list_lengths(values).max(initial=0))
    if kind in ("string", "binary", "large_string", "large_binary"):
        return int(pc.max(pc.binary_length(values)).as_py() or 0)
    return 8


def _list_lengths(views: Any) -> Any:
    return np.frombuffer(views.buffers()[1] or b"", np.int32)[::4][views.offset : views.offset + len(views)]


def _measure_shared(column: Any) -> int:
    """Return the bytes that a column's views and runs would take if every row had a copy of the shared values."""
    total = 0
    for array in _list_arrays(column):
        if pa.types.is_run_end_encoded(array.type):
            total += len(array) * _measure_longest(array.values)
        elif pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
            total += (pc.sum(array.sizes).as_py() or 0) * _measure_longest(array.values)
        elif pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
            total += int(_list_lengths(array).sum(dtype=np.int64))
    return total


def estimate_unpacked(path: Path) -> int:
    """Estimate the bytes that all columns of a Parquet or Arrow file take once read; return the size of other files."""
    size, ending = path.stat().st_size, path.suffix.lower()
    openers = {**dict.fromkeys(PARQUET_ENDINGS, open_parquet), **dict.fromkeys((".feather", ".arrow"), open_arrow)}
    with suppress(OSError, InputError):  # reading raises the error
        if ending in openers:
            table = openers[ending](path)
            return max(size, table.n_bytes(table.names))
    return size


def measure_arrow(path: Path) -> int:
    """Return the unpacked size in bytes of the batches and dictionaries of an Arrow file.

    The format is described at https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format. A compressed buffer
    begins with its unpacked size.
    """
    try:
        with path.open("rb") as file:
            file.seek(-10, 2)
            (length,) = struct.unpack("<i", file.read(4))
            file.seek(-10 - length, 2)
            footer = _Table.behind(file.read(length), 0)
            blocks = [*footer.structs(2, "<qi4xq"), *footer.structs(3, "<qi4xq")]
            return sum(_measure_block(file, offset, size) for offset, size, _ in blocks)
    except (struct.error, OSError, ValueError, IndexError) as error:
        raise InputError(
            f"{path} cannot be read as Arrow: its footer is damaged. Check that it is complete, or copy it again."
        ) from error


def _measure_block(file: BinaryIO, offset: int, size: int) -> int:
    file.seek(offset)
    data = file.read(size)
    message = _Table.behind(data[8 if data[:4] == b"\xff\xff\xff\xff" else 4 :], 0)
    batch = _Table.behind(message.data, message.find(2))
    if message.data[message.find(1)] == 2:  # a dictionary
        batch = _Table.behind(batch.data, batch.find(1))
    n_rows = sum(length for length, _ in batch.structs(1, "<qq"))
    unpacked = 0
    for start, length in batch.structs(2, "<qq"):
        if batch.find(3) and length:  # compressed
            file.seek(offset + size + start)
            (written,) = struct.unpack("<q", file.read(8))
            unpacked += length if written < 0 else written
        else:
            unpacked += length
    return max(_CODE_BYTES * n_rows, unpacked)


class _Table(NamedTuple):
    """A FlatBuffers table, with the few operations needed for Arrow's metadata."""

    data: bytes
    at: int

    @classmethod
    def behind(cls, data: bytes, place: int) -> _Table:
        """Return the table that the offset at a position points to."""
        return cls(data, place + struct.unpack_from("<I", data, place)[0])

    def find(self, number: int) -> int:
        """Return the position of a field, or 0 if it is absent."""
        entries = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        (size,) = struct.unpack_from("<H", self.data, entries)
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, entries + entry)[0] if entry < size else 0
        return self.at + offset if offset else 0

    def structs(self, number: int, form: str) -> list[tuple[int, ...]]:
        at = self.find(number)
        if not at:
            return []
        _, begin = _Table.behind(self.data, at)
        (length,) = struct.unpack_from("<I", self.data, begin)
        return [struct.unpack_from(form, self.data, begin + 4 + struct.calcsize(form) * each) for each in range(length)]
