"""Compressed files: gzip, bzip2, xz, Zstandard and zip, detected by their first bytes, unpacked within size limits."""

from __future__ import annotations

import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, NoReturn, cast

from allalike._core.lazy_imports import pa
from allalike._core.limits import FREE_BOOK_BYTES, FREE_BYTES, MAX_MEMBERS, MAX_RATIO, MAX_SAMPLES, MAX_UNPACKED_BYTES
from allalike._core.system.files import Archive
from allalike.errors import InputError

ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_MAGIC = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<xz>\xfd7zXZ\x00)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04|PK\x05\x06)"
    rb"|(?P<bz2>BZh.(?:1AY&SY|\x17rE8P\x90))",
    re.DOTALL,
)
_BOOK_ENDINGS = (".xlsx", ".xlsm", ".ods", ".npz")  # formats that are zip files themselves
_ZSTANDARD = 93  # the compression method, which zipfile supports since Python 3.14
_TO_TEXT = "write the columns of worker, task and label to a CSV file"
_DAMAGES = (OSError, EOFError, RuntimeError, ValueError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def check_regular(path: Path) -> None:
    """Refuse pipes, which would block, and devices, whose content may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "a pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
        raise InputError(
            f"{path} is {kind}, not a file. Answers are read from files, or from standard input (-) by the program."
        )


def find_limit(packed: int, free: int = 0) -> int:
    """Return the largest unpacked size allowed for a file of ``packed`` bytes: at least ``free`` bytes."""
    return max(free or FREE_BYTES, MAX_RATIO * packed)


def check_unpacked(
    path: Path, packed: int, unpacked: int, *, free: int = 0, most: int | None = None, instead: str = _TO_TEXT
) -> None:
    """Refuse a file or folder whose unpacked size exceeds the limit for its packed size."""
    limit = find_limit(packed, free) if most is None else min(find_limit(packed, free), most)
    if unpacked > limit:
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to more than {limit:,}. The limit is {MAX_RATIO} times its size,"
            f" but at least {free or FREE_BYTES:,} bytes{f' and at most {most:,}' if most else ''}. If you trust the"
            f" file, {instead} first: uncompressed files have no limit."
        )


def find_packing(path: Path) -> str:
    """Return the compression format of a file, or an empty string if it is not compressed."""
    check_regular(path)
    with path.open("rb") as file:
        found = _MAGIC.match(file.read(16))
    packing = str(found.lastgroup) if found else ""
    return "" if packing == "zip" and _is_book(path) else packing


def _is_book(path: Path) -> bool:
    """Return whether a zip file is a spreadsheet or a NumPy archive."""
    if path.suffix.lower() in _BOOK_ENDINGS:
        return True
    try:
        with Archive(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return "[Content_Types].xml" in names or "mimetype" in names or all(name.endswith(".npy") for name in names)


def inner_path(path: Path) -> Path:
    """Return a path whose extension shows the format of a compressed file's content, or else the path itself."""
    if not path.is_file():
        return path
    if find_packing(path) == "zip":
        with _naming_damage(path, "zip"), Archive(path) as archive:
            return path / PurePosixPath(_find_member(path, archive).filename).name
    return path.with_suffix("") if path.suffix.lower() in ENDINGS and path.stem else path


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, and unpack it if necessary; a damaged or oversized file raises `InputError`."""
    packing = find_packing(path)
    return cast("BinaryIO", io.BufferedReader(_Unpacked(path, packing), 1 << 16)) if packing else path.open("rb")


def read_start(path: Path, n_bytes: int) -> bytes:
    """Return the first unpacked bytes of a file."""
    with open_bytes(path) as file:
        return file.read(n_bytes)


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, within limits."""

    def __init__(self, path: Path, packing: str) -> None:
        self._path, self._packing = path, packing
        self._packed, self._unpacked = path.stat().st_size, 0
        self._stack = ExitStack()
        self._inner: Any = self._stack.enter_context(self._open())

    def _open(self) -> Any:
        if self._packing == "xz":
            return lzma.open(self._path)
        if self._packing != "zip":
            return pa.CompressedInputStream(pa.OSFile(os.fspath(self._path)), self._packing)
        with _naming_damage(self._path, self._packing):  # also for a password or an unknown compression method
            archive = self._stack.enter_context(Archive(self._path))
            return archive.open(_find_member(self._path, archive))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        with _naming_damage(self._path, self._packing):
            data = self._inner.read(len(view))
        self._unpacked += len(data)
        check_unpacked(self._path, self._packed, self._unpacked, most=MAX_UNPACKED_BYTES, instead="unpack it")
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stack.close()
        super().close()


@contextmanager
def _naming_damage(path: Path, packing: str, member: str = "") -> Iterator[None]:
    """Convert the exceptions of a decompressor into an error that names the damaged file."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGES as error:
        reason = f"{member}: " * bool(member) + str(error).rstrip(".")
        raise InputError(
            f"{path} cannot be unpacked ({packing}): {reason}. Check that it is complete, copy it again, or unpack it."
        ) from error


def _find_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only file in an archive, ignoring the metadata files that macOS and Windows add."""
    files = []
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        is_litter = name.parts[:1] == ("__MACOSX",) or name.name in (".DS_Store", "Thumbs.db", "desktop.ini")
        if not info.is_dir() and not is_litter:
            files.append(info)
    if len(files) != 1:
        listed = ", ".join(repr(info.filename) for info in files[:10]) + (" ..." if len(files) > 10 else "")
        found = f"{len(files):,} files: {listed}" if files else "no file"
        raise InputError(f"{path} contains {found}. Use an archive with one file, or unpack it first.")
    return files[0]


def check_archive(path: Path) -> list[str]:
    """Return the names of the members of a zip file, after checking their total size."""
    with ArchiveMembers(path, MAX_MEMBERS, free=FREE_BOOK_BYTES, instead="save it as .csv or .npy") as members:
        return members.names


class ArchiveMembers(Archive):
    """The files in a zip archive, read one by one and within limits; Zstandard is supported."""

    def __init__(self, path: Path, most: int | None = None, *, free: int = 0, instead: str = "save it as JSON") -> None:
        check_regular(path)
        self._path = path
        with _naming_damage(path, "zip"):
            super().__init__(path, MAX_SAMPLES if most is None else most)
        packed, unpacked = path.stat().st_size, sum(info.file_size for info in self.infolist())
        try:
            check_unpacked(path, packed, unpacked, free=free, most=MAX_UNPACKED_BYTES, instead=instead)
        except InputError:
            self.close()
            raise

    @property
    def names(self) -> list[str]:
        """The names of the files, in the order of the archive."""
        return list(self.NameToInfo)

    def read_member(self, name: str) -> bytes:
        """Return the bytes of a file; if two files have the same name, the last one counts."""
        info = self.NameToInfo[name]
        with _naming_damage(self._path, "zip", name):
            return self._read_zstandard(info) if info.compress_type == _ZSTANDARD else self.read(info)

    def _read_zstandard(self, info: zipfile.ZipInfo) -> bytes:
        if info.flag_bits & 1:
            raise RuntimeError("it is encrypted")
        stored = copy(info)  # read the compressed bytes as if they were the file, without a checksum
        stored.compress_type, stored.file_size, stored.CRC = zipfile.ZIP_STORED, info.compress_size, cast("Any", None)
        packed = self.read(stored)
        data: bytes = pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("bad checksum")
        return data


def check_prolog(path: Path, stream: IO[bytes], tool: str) -> None:
    """Refuse XML with a document type declaration, in any encoding.

    Its entities could expand to a huge text or include another file, and no supported tool declares any.
    """
    from xml.parsers import expat  # nosec B407 # stopped before anything is expanded

    def refuse(*_: object) -> NoReturn:
        raise InputError(f"{path} declares XML entities, which {tool} never does. Export it again from {tool}.")

    elements: list[Any] = []  # entities are declared before the first one
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, lambda *element: elements.append(element)
    try:
        while not elements and (part := stream.read(1 << 12)):
            parser.Parse(part)
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError):  # such as an unknown encoding; reading raises the error
        return
