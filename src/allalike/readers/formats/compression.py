"""Packed files: gzip, bzip2, xz, Zstandard and zip, known by their first bytes, read in a stream and within limits."""

from __future__ import annotations

import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, cast

import numpy as np

from allalike._core.late import pa, pc
from allalike._core.limits import FREE_BOOK_BYTES, FREE_BYTES, MAX_MEMBERS, MAX_RATIO, MAX_SAMPLES, MAX_UNPACKED_BYTES
from allalike._core.system.files import Archive
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")


_MAGIC = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<xz>\xfd7zXZ\x00)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04|PK\x05\x06)"
    rb"|(?P<bz2>BZh.(?:1AY&SY|\x17rE8P\x90))",
    re.DOTALL,
)


_BOOK_ENDINGS = (".xlsx", ".xlsm", ".ods", ".npz")  # these are zip files of their own kind


_ZSTANDARD = 93  # the number of the method, which zipfile knows since Python 3.14


_TO_TEXT = "write the columns of worker, task and label to a CSV file"


_DAMAGES = (OSError, EOFError, RuntimeError, ValueError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def check_regular(path: Path) -> None:
    """Refuse what is neither a file nor missing: a pipe would be waited for, and a device may have no end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "a pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
        raise InputError(
            f"{path} is no file, but {kind}. Answers are read from files, and from standard input (-) by the program."
        )


def find_limit(packed: int, free: int = 0) -> int:
    """Return how many bytes a file of so many bytes may unpack to; ``free`` of them whatever its size."""
    return max(free or FREE_BYTES, MAX_RATIO * packed)


def check_unpacked(
    path: Path, packed: int, unpacked: int, *, free: int = 0, most: int | None = None, instead: str = _TO_TEXT
) -> None:
    """Refuse a file, or a folder of files, that unpacks to much more than its size suggests."""
    limit = find_limit(packed, free) if most is None else min(find_limit(packed, free), most)
    if unpacked > limit:
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to more than {limit:,}. The limit is {MAX_RATIO} times its size,"
            f" but at least {free or FREE_BYTES:,} bytes{f' and at most {most:,}' if most else ''}. If it is what you"
            f" expect, {instead} first: plain files have no limit."
        )


def find_packing(path: Path) -> str:
    """Return the name of the format that a file is packed in, or an empty one."""
    check_regular(path)
    with path.open("rb") as file:
        found = _MAGIC.match(file.read(16))
    packing = str(found.lastgroup) if found else ""
    return "" if packing == "zip" and _is_book(path) else packing


def _is_book(path: Path) -> bool:
    """Return whether a zip file is a spreadsheet or a file of numpy."""
    if path.suffix.lower() in _BOOK_ENDINGS:
        return True
    try:
        with Archive(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return "[Content_Types].xml" in names or "mimetype" in names or all(name.endswith(".npy") for name in names)


def inner_path(path: Path) -> Path:
    """Return the path of what is packed in a file, whose ending shows its format; of others the path itself."""
    if not path.is_file():
        return path
    if find_packing(path) == "zip":
        with _open_archive(path) as archive:
            return path / PurePosixPath(_find_member(path, archive).filename).name
    return path.with_suffix("") if path.suffix.lower() in ENDINGS and path.stem else path


def open_bytes(path: Path, *, late: bool = False) -> BinaryIO:
    """Open a file for reading, unpacked on the way if need be; what is damaged or too large is an `InputError`."""
    packing = find_packing(path)
    if not packing:
        return path.open("rb")
    return cast("BinaryIO", io.BufferedReader(_Unpacked(path, packing, late=late), 1 << 16))


@contextmanager
def open_for_threads(path: Path) -> Iterator[BinaryIO]:
    """Open a file as `open_bytes` does, for threads of Arrow, which would be waited for without end at an error.

    To them the file ends there, and the error is raised when they are done.
    """
    with open_bytes(path, late=True) as file:
        raw = cast("Any", file).raw
        try:
            yield file
        except Exception as error:
            if getattr(raw, "failure", None) is None:
                raise
            raise raw.failure from error
    if getattr(raw, "failure", None) is not None:
        raise raw.failure


def read_start(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    with open_bytes(path) as file:
        return file.read(n_bytes)


class _Unpacked(io.RawIOBase):
    """The content of a packed file, as far as it keeps within the limits; errors are kept for ``late``r if need be."""

    def __init__(self, path: Path, packing: str, *, late: bool) -> None:
        self._path, self._packing, self._late = path, packing, late
        self._packed, self._unpacked = path.stat().st_size, 0
        self.failure: InputError | None = None
        self._stack = ExitStack()
        self._inner: Any = self._stack.enter_context(self._open())

    def _open(self) -> Any:
        if self._packing == "xz":
            return lzma.open(self._path)
        if self._packing != "zip":
            return pa.CompressedInputStream(pa.OSFile(os.fspath(self._path)), self._packing)
        archive = self._stack.enter_context(_open_archive(self._path))
        member = _find_member(self._path, archive)
        try:
            return archive.open(member)
        except (RuntimeError, zipfile.BadZipFile) as error:  # a password, or a method that is not known here
            raise _damaged(self._path, self._packing, error) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = b"" if self.failure else self._read(len(view))
        except InputError as error:
            self.failure, data = error, b""
            if not self._late:
                raise
        view[: len(data)] = data
        return len(data)

    def _read(self, n_bytes: int) -> bytes:
        try:
            data: bytes = self._inner.read(n_bytes)
        except _DAMAGES as error:
            raise _damaged(self._path, self._packing, error) from error
        self._unpacked += len(data)
        check_unpacked(self._path, self._packed, self._unpacked, most=MAX_UNPACKED_BYTES, instead="unpack it")
        return data

    def close(self) -> None:
        self._stack.close()
        super().close()


def _damaged(path: Path, packing: str, error: Exception, member: str = "") -> InputError:
    reason = f"{member}: " * bool(member) + str(error).rstrip(".")
    return InputError(f"{path} cannot be unpacked ({packing}): {reason}. Is it complete? Copy it again, or unpack it.")


def _open_archive(path: Path, most: int = MAX_MEMBERS) -> zipfile.ZipFile:
    """Open a zip file of at most so many members."""
    try:
        return Archive(path, most)
    except InputError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise _damaged(path, "zip", error) from error


def _find_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only file in an archive; what macOS and Windows put beside it does not count."""
    files = []
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        is_litter = name.parts[:1] == ("__MACOSX",) or name.name in (".DS_Store", "Thumbs.db", "desktop.ini")
        if not info.is_dir() and not is_litter:
            files.append(info)
    if len(files) != 1:
        listed = ", ".join(repr(info.filename) for info in files[:10]) + (" ..." if len(files) > 10 else "")
        found = f"{len(files):,} files: {listed}" if files else "no file"
        raise InputError(f"{path} holds {found}. Give an archive with one file in it, or unpack it first.")
    return files[0]


def check_archive(path: Path) -> list[str]:
    """Return the names of what is in a zip file, all of which has to keep within the limits."""
    with ArchiveMembers(path, MAX_MEMBERS, free=FREE_BOOK_BYTES, instead="save it as .csv or .npy") as members:
        return members.names


class ArchiveMembers:
    """The files in a zip archive, read one by one and within limits, also if they are packed with Zstandard."""

    def __init__(self, path: Path, most: int | None = None, *, free: int = 0, instead: str = "save it as JSON") -> None:
        check_regular(path)
        self._path, self._archive = path, _open_archive(path, MAX_SAMPLES if most is None else most)
        self._infos = {info.filename: info for info in self._archive.infolist()}
        packed, unpacked = path.stat().st_size, sum(info.file_size for info in self._archive.infolist())
        try:
            check_unpacked(path, packed, unpacked, free=free, most=MAX_UNPACKED_BYTES, instead=instead)
        except InputError:
            self._archive.close()
            raise

    @property
    def names(self) -> list[str]:
        """The names of the files, in the order of the archive."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; of two with one name, of the last."""
        info = self._infos[name]
        try:
            return self._read_zstandard(info) if info.compress_type == _ZSTANDARD else self._archive.read(info)
        except _DAMAGES as error:
            raise _damaged(self._path, "zip", error, name) from error

    def _read_zstandard(self, info: zipfile.ZipInfo) -> bytes:
        if info.flag_bits & 1:
            raise RuntimeError("it is encrypted")
        stored = copy(info)  # as if the packed bytes were the file, whose checksum nobody knows
        stored.compress_type, stored.file_size, stored.CRC = zipfile.ZIP_STORED, info.compress_size, cast("Any", None)
        packed = self._archive.read(stored)
        data: bytes = pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("bad checksum")
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()


# Estimate from their metadata how much memory Parquet and Arrow files take once they are read.


_CODE_BYTES = 4  # of a value that is the number of an entry of a dictionary, or the offset of a text


_MAX_COMPACT_BYTES = 3  # per value


_WIDTHS = {"BOOLEAN": 1, "INT64": 8, "INT96": 8, "DOUBLE": 8}


@dataclass
class Extent:
    """Size of a column of a Parquet file, in bytes: as stored, and at least and at most once it is read."""

    packed: int = 0
    values: int = 0
    least: int = 0
    most: int = 0

    @property
    def is_small(self) -> bool:
        """Whether values take so few bytes that they are stored as a dictionary, and best read as one."""
        return self.packed < _MAX_COMPACT_BYTES * self.values


def measure_parquet(path: Path, file: Any) -> dict[str, Extent]:
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


def measure_shared(column: Any) -> int:
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
    import pyarrow.parquet as pq

    size, ending = path.stat().st_size, path.suffix.lower()
    try:
        if ending in (".feather", ".arrow"):
            return max(size, measure_arrow(path))
        if ending not in (".parquet", ".pq"):
            return size
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
