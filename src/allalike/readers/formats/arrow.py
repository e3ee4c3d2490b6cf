"""Read Parquet files, folders of them, and Arrow files, within limits that are measured before."""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import unquote

import numpy as np

from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.compression import check_unpacked, find_limit
from allalike.readers.formats.failures import check_columns, check_width, each_batch, guard
from allalike.readers.formats.source import Source, join, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PARQUET_ENDINGS = (".parquet", ".pq")
_BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 26
_ARROW_ROWS = 1 << 17  # a file of Arrow is read this many at a time
_BUFFER_BYTES = 1 << 20  # this much of a column is read at once, and not a whole row group
_CODE_BYTES = 4  # of a value that is the number of an entry of a dictionary, or the offset of a text
_MAX_COMPACT_BYTES = 3  # per value
_WIDTHS = {"BOOLEAN": 1, "INT64": 8, "INT96": 8, "DOUBLE": 8}


def open_parquet(path: Path) -> Source:
    """Open a Parquet file, whose columns are read when they are needed."""
    import pyarrow.parquet as pq

    file = guard(path, "Parquet", lambda: pq.ParquetFile(path))
    names = guard(path, "Parquet", lambda: file.schema_arrow.names)
    check_width(names, str(path))
    kinds, packed = dict(zip(names, file.schema_arrow.types, strict=True)), path.stat().st_size

    @cache
    def extents() -> dict[str, Extent]:
        measured: dict[str, Extent] = guard(path, "Parquet", lambda: _measure_parquet(path, file))
        return measured

    def is_compact(name: str) -> bool:
        """Return whether a column is best read as a dictionary, or must be because it would fill the memory."""
        is_text, extent = pa.types.is_string(kinds[name]) or pa.types.is_binary(kinds[name]), extents().get(name)
        return is_text and extent is not None and (extent.is_small or extent.most > find_limit(packed))

    def n_bytes(asked: Sequence[str]) -> int:
        known = [name for name in asked if name in extents()]
        return sum(extents()[name].least if is_compact(name) else extents()[name].most for name in known)

    def reopen(asked: Sequence[str], **options: int) -> Any:
        check_unpacked(path, packed, n_bytes(asked))
        compact = list(filter(is_compact, asked))
        return guard(path, "Parquet", lambda: pq.ParquetFile(path, read_dictionary=compact, **options))

    def list_batches(asked: Sequence[str], rows: int) -> Iterator[dict[str, Any]]:
        with reopen(asked, buffer_size=_BUFFER_BYTES) as open_file:
            batches = open_file.iter_batches(rows, columns=list(asked))
            yield from each_batch(path, "Parquet", batches, asked)

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        if rows is not None:
            return take_rows(list_batches(asked, rows), asked, rows)
        with reopen(asked) as open_file:
            table = guard(path, "Parquet", lambda: open_file.read(columns=list(asked)))
        columns = {name: table[name] for name in asked}
        check_columns(columns, str(path))
        return columns

    def stream(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        rows = _BATCH_BYTES * file.metadata.num_rows // max(n_bytes(asked), 1)
        return list_batches(asked, max(1, min(_BATCH_ROWS, rows)))

    return Source(names, read, str(path), stream=stream, n_bytes=n_bytes)


def open_parts(folder: Path) -> Source:
    """Open a folder of Parquet files; names of inner folders such as ``task=t1`` are columns, too.

    Their values are whole numbers if all are written as such.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PARQUET_ENDINGS and path.is_file())
    paths = [path for path in files if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    if not paths:
        raise InputError(f"{folder} has no Parquet files but in folders that begin with a line or a point.")
    named = [[part.split("=", 1) for part in path.relative_to(folder).parts[:-1] if "=" in part] for path in paths]
    values: dict[str, list[str]] = {}
    for name, value in chain.from_iterable(named):
        values.setdefault(name, []).append(value)
    whole = re.compile("0|[1-9][0-9]{0,17}")
    numeric = {name for name, found in values.items() if all(map(whole.fullmatch, found))}
    parts = []
    for path, constants in zip(paths, named, strict=True):
        part = open_parquet(path)
        for name, value in constants:
            part = part.with_constant(name, int(value) if name in numeric else unquote(value))
        parts.append(part)
    return replace(join(parts), where=str(folder))


def open_arrow(path: Path) -> Source:
    """Open an Arrow (Feather) file; batch by batch, because the scanner of Arrow crashes at errors."""
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
                yield from (batch.slice(start, _ARROW_ROWS) for start in range(0, batch.num_rows, _ARROW_ROWS))

    def stream(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        yield from each_batch(path, "Arrow", list_batches(asked), asked, sound=False)

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        if rows is not None:
            return take_rows(stream(asked), asked, rows)
        parts = list(stream(asked))
        return {name: pa.chunked_array([part[name] for part in parts], schema.field(name).type) for name in asked}

    packed, size = path.stat().st_size, measure_arrow(path)
    check_unpacked(path, packed, size)
    return Source(names, read, str(path), stream=stream, n_bytes=lambda _: size)


# How much memory files take once they are read, by their metadata.


@dataclass
class Extent:
    """Size of a column of a Parquet file, in bytes: as stored, and at least and at most once it is read."""

    packed: int = 0
    values: int = 0
    least: int = 0
    most: int = 0

    @property
    def is_small(self) -> bool:
        """Whether values take so few bytes that they must be dictionary-encoded, and are best read so."""
        return self.packed < _MAX_COMPACT_BYTES * self.values


def _measure_parquet(path: Path, file: Any) -> dict[str, Extent]:
    """Return the extent of each column of an open Parquet file."""
    found: dict[str, Extent] = defaultdict(Extent)
    limit, metadata, risky = find_limit(path.stat().st_size), file.metadata, []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            extent, packed = found[chunk.path_in_schema.split(".")[0]], chunk.total_uncompressed_size
            values = max(chunk.num_values, group.num_rows)
            width = max(_WIDTHS.get(chunk.physical_type, _CODE_BYTES), file.schema.column(place).length)
            size = max(packed, width * values)
            extent.packed += packed
            extent.values += values
            extent.least += size
            extent.most += size
            is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
            if is_text and values * packed > limit >= size:
                risky.append((extent, chunk.path_in_schema, number, values, size))
    for extent, column, number, values, size in risky:
        if "." in column or not extent.is_small:  # others are read as dictionaries anyway
            extent.most += max(0, values * _find_longest(path, column, number) - size)
    return dict(found)


def _find_longest(path: Path, column: str, group: int) -> int:
    """Return how many bytes the longest text of a dictionary has, from its first row."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=[column]) as file:
        batch = next(file.iter_batches(1, row_groups=[group], columns=[column], use_threads=False), None)
    arrays = [array for column in batch.columns for array in _list_arrays(column)] if batch is not None else []
    return max((_measure_longest(each.dictionary) for each in arrays if pa.types.is_dictionary(each.type)), default=0)


def _list_arrays(array: Any) -> Iterator[Any]:
    """Yield an array and those within it."""
    yield array
    if pa.types.is_struct(array.type):
        parts = [array.field(place) for place in range(array.type.num_fields)]
    else:
        parts = [array.values] if hasattr(array, "values") else []
    for part in parts:
        yield from _list_arrays(part)


def _measure_longest(values: Any) -> int:
    """Return how many bytes the longest of some values has."""
    kind = str(values.type)
    if kind in ("string_view", "binary_view"):
        return int(_list_lengths(values).max(initial=0))
    if kind in ("string", "binary", "large_string", "large_binary"):
        return int(pc.max(pc.binary_length(values)).as_py() or 0)
    return 8


def _list_lengths(views: Any) -> Any:
    return np.frombuffer(views.buffers()[1] or b"", np.int32)[::4][views.offset : views.offset + len(views)]


def _measure_shared(column: Any) -> int:
    """Return how many bytes a column of Arrow takes if what its rows share is written out: in views and in runs."""
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
    """Return about how many bytes all columns of a file take once read, and the size of any other file."""
    size, ending = path.stat().st_size, path.suffix.lower()
    try:
        if ending in (".feather", ".arrow"):
            return max(size, measure_arrow(path))
        if ending not in (".parquet", ".pq"):
            return size
        import pyarrow.parquet as pq  # takes longer than reading a small table

        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException, InputError):  # which reading will name
        return size
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes = [max(_CODE_BYTES * each.num_rows * each.num_columns, each.total_byte_size) for each in groups]
    return max(size, int(sum(sizes)))


def measure_arrow(path: Path) -> int:
    """Return how many bytes the batches and dictionaries of an Arrow file take once they are unpacked.

    The format is described at https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format. A buffer that is
    compressed begins with its size.
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
            f"{path} cannot be read as Arrow: its footer is damaged. Is it complete? Copy it again."
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
    """A table of FlatBuffers, as far as the metadata of Arrow need it."""

    data: bytes
    at: int

    @classmethod
    def behind(cls, data: bytes, place: int) -> _Table:
        """Return the table that the bytes at a place lead to."""
        return cls(data, place + struct.unpack_from("<I", data, place)[0])

    def find(self, number: int) -> int:
        """Return where a field is, or 0 if it is not there."""
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
