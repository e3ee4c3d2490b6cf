"""Estimate from their metadata how much memory Parquet and Arrow files take once they are read.

Both hold a value that recurs once, with a count, and a few bytes can stand for millions of rows.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from allalike._core.late import pa, pc
from allalike._core.limits import FREE_BYTES, MAX_RATIO
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CODE_BYTES = 4  # of a value that is the number of an entry of a dictionary, or the offset of a text
_MAX_COMPACT_BYTES = 3  # per value
_WIDTHS = {"BOOLEAN": 1, "INT64": 8, "INT96": 8, "DOUBLE": 8}


@dataclass
class Extent:
    """Size of a column of a Parquet file, in bytes."""

    packed: int = 0
    values: int = 0
    least: int = 0
    most: int = 0

    @property
    def is_small(self) -> bool:
        """Whether values take so few bytes that they are stored as a dictionary, and best read as one."""
        return self.packed < _MAX_COMPACT_BYTES * self.values

    def add(self, packed: int, values: int, size: int) -> None:
        """Add a part of the column."""
        self.packed += packed
        self.values += values
        self.least += size
        self.most += size


def find_limit(packed: int) -> int:
    """Return how many bytes a file of so many bytes may unpack to.

    >>> find_limit(10), find_limit(10**9)
    (134217728, 200000000000)
    """
    return max(FREE_BYTES, MAX_RATIO * packed)


def check_unpacked(path: Path, packed: int, unpacked: int) -> None:
    """Refuse a file, or a folder of files, that takes much more memory than its size suggests."""
    if unpacked > find_limit(packed):
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to about {unpacked:,}. The limit is {MAX_RATIO} times its size,"
            f" or {FREE_BYTES:,} bytes if that is more. If it is what you expect, write the columns of worker, task and"
            " label to a CSV file first: plain files have no limit."
        )


def measure_parquet(path: Path, file: Any) -> dict[str, Extent]:
    """Return the extent of each column of an open Parquet file, and refuse one whose sizes make no sense."""
    found: dict[str, Extent] = defaultdict(Extent)
    limit, metadata, risky = find_limit(path.stat().st_size), file.metadata, []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            extent = found[chunk.path_in_schema.split(".")[0]]
            values = max(chunk.num_values, group.num_rows)
            width = max(_WIDTHS.get(chunk.physical_type, _CODE_BYTES), file.schema.column(place).length)
            size = max(chunk.total_uncompressed_size, width * values)
            extent.add(chunk.total_uncompressed_size, values, size)
            is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
            if is_text and values * chunk.total_uncompressed_size > limit >= size:
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
    arrays = [] if batch is None else [array for each in batch.columns for array in _list_arrays(each)]
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
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        return int(_list_lengths(values).max(initial=0))
    is_text = pa.types.is_large_binary(values.type) or pa.types.is_large_string(values.type)
    if is_text or pa.types.is_binary(values.type) or pa.types.is_string(values.type):
        return int(pc.max(pc.binary_length(values)).as_py() or 0)
    return 8


def _list_lengths(views: Any) -> Any:
    return np.frombuffer(views.buffers()[1] or b"", np.int32)[::4][views.offset : views.offset + len(views)]


def measure_shared(column: Any) -> int:
    """Return how many bytes a column of Arrow takes if what its rows share is written out: in views and in runs.

    >>> runs = pa.RunEndEncodedArray.from_arrays(pa.array([10**6], pa.int32()), pa.array(["x" * 100]))
    >>> measure_shared(runs), measure_shared(pa.array(["x" * 100], pa.string_view())), measure_shared(pa.array(["x"]))
    (100000000, 100, 0)
    """
    return sum(map(_measure_one, _list_arrays(column)))


def _measure_one(array: Any) -> int:
    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        return len(array) * _measure_longest(array.values)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return (pc.sum(array.sizes).as_py() or 0) * _measure_longest(array.values)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return int(_list_lengths(array).sum(dtype=np.int64))
    return 0


def estimate_unpacked(path: Path) -> int:
    """Return about how many bytes all columns of a file take once read, and the size of any other file.

    >>> import pathlib, tempfile, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.parquet")
    ...     pyarrow.parquet.write_table(pa.table({"task": pa.array([7] * 10**6, pa.int64())}), path)
    ...     path.stat().st_size < estimate_unpacked(path), estimate_unpacked(path)
    (True, 4000000)
    """
    import pyarrow.parquet as pq

    size, ending = path.stat().st_size, path.suffix.lower()
    try:
        if ending in (".feather", ".arrow"):
            return max(size, measure_arrow(path))
        if ending not in (".parquet", ".pq"):
            return size
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException, InputError):  # whoever reads it will say so
        return size
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes = [max(_CODE_BYTES * each.num_rows * each.num_columns, each.total_byte_size) for each in groups]
    return max(size, int(sum(sizes)))


def measure_arrow(path: Path) -> int:
    """Return how many bytes the batches and dictionaries of an Arrow file take once they are unpacked.

    The format is described at https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format. A buffer that is
    compressed begins with its size.

    >>> import pathlib, tempfile, pyarrow.feather
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.feather")
    ...     pyarrow.feather.write_feather(pa.table({"task": pa.array([7] * 10**6, pa.int64())}), path)
    ...     path.stat().st_size < measure_arrow(path), measure_arrow(path)
    (True, 8000000)
    """
    try:
        with path.open("rb") as file:
            file.seek(-10, 2)
            (length,) = struct.unpack("<i", file.read(4))
            file.seek(-10 - length, 2)
            footer = _Table.of_root(file.read(length))
            blocks = [block for number in (2, 3) for block in footer.structs(number, "<qi4xq")]
            return sum(_measure_block(file, offset, size) for offset, size, _ in blocks)
    except (struct.error, OSError, ValueError, IndexError) as error:
        raise InputError(
            f"{path} cannot be read as Arrow: its footer is damaged. Is it complete? Copy it again."
        ) from error


def _measure_block(file: BinaryIO, offset: int, size: int) -> int:
    file.seek(offset)
    data = file.read(size)
    message = _Table.of_root(data[8 if data[:4] == b"\xff\xff\xff\xff" else 4 :])
    batch = message.table(2)
    if message.byte(1) == 2:  # a dictionary
        batch = batch.table(1)
    buffers, compressed = batch.structs(2, "<qq"), batch.has(3)
    rows = sum(length for length, _ in batch.structs(1, "<qq"))
    return max(
        _CODE_BYTES * rows,
        sum(
            _unpacked_length(file, offset + size + start, length) if compressed else length for start, length in buffers
        ),
    )


def _unpacked_length(file: BinaryIO, start: int, length: int) -> int:
    if length == 0:
        return 0
    file.seek(start)
    (unpacked,) = struct.unpack("<q", file.read(8))
    return length if unpacked < 0 else int(unpacked)


@dataclass(frozen=True)
class _Table:
    """A table of FlatBuffers, as far as the metadata of Arrow need it."""

    data: bytes
    at: int

    @classmethod
    def of_root(cls, data: bytes) -> _Table:
        return cls(data, *struct.unpack_from("<I", data))

    def has(self, number: int) -> bool:
        return self._find(number) > 0

    def byte(self, number: int) -> int:
        return self.data[self._find(number)]

    def table(self, number: int) -> _Table:
        at = self._find(number)
        return _Table(self.data, at + struct.unpack_from("<I", self.data, at)[0])

    def structs(self, number: int, form: str) -> list[tuple[int, ...]]:
        if not self.has(number):
            return []
        at = self._find(number)
        at += struct.unpack_from("<I", self.data, at)[0]
        (length,) = struct.unpack_from("<I", self.data, at)
        return [struct.unpack_from(form, self.data, at + 4 + struct.calcsize(form) * each) for each in range(length)]

    def _find(self, number: int) -> int:
        """Return where a field is, or 0 if it is not there."""
        table = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        (size,) = struct.unpack_from("<H", self.data, table)
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, table + entry)[0] if entry < size else 0
        return self.at + offset if offset else 0
