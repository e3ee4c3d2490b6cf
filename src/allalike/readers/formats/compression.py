"""Compression: files packed with gzip, bzip2, xz, Zstandard or zip, read in a stream and within limits.

What a file is packed with is told by its first bytes, not by its name.
"""

from __future__ import annotations

import io
import lzma
import os
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

from allalike._core.late import pa
from allalike._core.limits import FREE_BOOK_BYTES, FREE_BYTES, MAX_MEMBERS, MAX_RATIO, MAX_SAMPLES, MAX_UNPACKED_BYTES
from allalike._core.system.files import Archive
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_BZIP_BLOCK = b"1AY&SY"  # stands at the fourth byte, which tells it from text that begins with BZh
_BOOK_ENDINGS = (".xlsx", ".xlsm", ".ods", ".npz")  # these are zip files of their own kind


def check_regular(path: Path) -> None:
    """Refuse what is neither a file nor missing: a pipe would be waited for, and a device may have no end.

    >>> from pathlib import Path
    >>> check_regular(Path("nowhere.csv"))  # whoever opens it will say so
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "a pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
        raise InputError(
            f"{path} is no file, but {kind}. Answers are read from files, and from standard input (-) by the program."
        )


def find_packing(path: Path) -> str:
    """Tell what a file is packed with, or nothing.

    >>> import gzip, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_bytes(gzip.compress(b"worker,task,label"))
    ...     find_packing(path)
    'gzip'
    """
    check_regular(path)
    with path.open("rb") as file:
        start = file.read(16)
    found = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
    if found == "bz2" and start[4:10] not in (_BZIP_BLOCK, b"\x17rE8P\x90"):
        return ""
    return "" if found == "zip" and _is_book(path) else found


def _is_book(path: Path) -> bool:
    """Tell whether a zip file is a spreadsheet or a file of numpy."""
    if path.suffix.lower() in _BOOK_ENDINGS:
        return True
    try:
        with Archive(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return "[Content_Types].xml" in names or "mimetype" in names or all(name.endswith(".npy") for name in names)


def inner_path(path: Path) -> Path:
    """Return the path of what is packed in a file, whose ending tells its format; of others the path itself.

    >>> from pathlib import Path
    >>> inner_path(Path("answers.csv")).name
    'answers.csv'
    """
    if not path.is_file():
        return path
    packing = find_packing(path)
    if packing == "zip":
        with open_archive(path) as archive:
            return path / PurePosixPath(_member(path, archive).filename).name
    unpacked = path.suffix.lower() in ENDINGS
    return path.with_suffix("") if unpacked and path.stem else path


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, unpacked on the way if need be.

    What is damaged, or unpacks to more than `MAX_RATIO` times its size or `MAX_UNPACKED_BYTES`, is an `InputError`
    when it is read.

    >>> import lzma, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv.xz")
    ...     _ = path.write_bytes(lzma.compress(b"worker,task,label"))
    ...     with open_bytes(path) as file:
    ...         file.read()
    b'worker,task,label'
    """
    packing = find_packing(path)
    if not packing:
        return path.open("rb")
    return cast("BinaryIO", io.BufferedReader(_Unpacked(path, packing), 1 << 16))


@contextmanager
def open_for_threads(path: Path) -> Iterator[BinaryIO]:
    """Open a file as `open_bytes` does, for readers of Arrow: what is wrong with it is said when they are done.

    To their threads the file ends there, for at an error they would be waited for without end.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv.gz")
    ...     _ = path.write_bytes(bytes.fromhex("1f8b0800000000"))
    ...     with open_for_threads(path) as file:
    ...         file.read()
    Traceback (most recent call last):
    allalike.errors.InputError: ...answers.csv.gz cannot be unpacked (gzip): ... Is it complete? Copy it again.
    """
    packing = find_packing(path)
    if not packing:
        with path.open("rb") as file:
            yield file
        return
    inner = _Unpacked(path, packing, late=True)
    with io.BufferedReader(inner, 1 << 16) as unpacked:
        try:
            yield cast("BinaryIO", unpacked)
        except Exception as error:
            if inner.failure is None:
                raise
            raise inner.failure from error
    if inner.failure is not None:
        raise inner.failure


def read_start(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, unpacked.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_bytes(b"worker,task,label")
    ...     read_start(path, 6)
    b'worker'
    """
    with open_bytes(path) as file:
        return file.read(n_bytes)


def check_archive(path: Path) -> list[str]:
    """Return the names of what is in a zip file, all of which has to keep within the limits.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "book.xlsx")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("sheet.xml", "<a/>")
    ...     check_archive(path)
    ['sheet.xml']
    """
    check_regular(path)
    with open_archive(path) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
        check_size(path, unpacked, free=FREE_BOOK_BYTES, instead="save it as .csv or .npy")
        return archive.namelist()


def check_size(path: Path, unpacked: int, *, free: int, instead: str) -> None:
    """Refuse a packed file that unpacks to more than the limits; up to ``free`` bytes its own size does not matter."""
    packed = path.stat().st_size
    most = min(max(free, MAX_RATIO * packed), MAX_UNPACKED_BYTES)
    if unpacked > most:
        raise InputError(
            f"{path} has {packed:,} bytes and unpacks to more than {most:,}. Limits are {MAX_RATIO} times its size"
            f" (beyond {free:,} bytes) and {MAX_UNPACKED_BYTES:,} bytes. If it is what you expect, {instead}"
            " first: plain files have no limit."
        )


class _Unpacked(io.RawIOBase):
    """What a packed file holds, as far as it keeps within the limits."""

    def __init__(self, path: Path, packing: str, *, late: bool = False) -> None:
        self._path, self._packing, self._late = path, packing, late
        self.failure: InputError | None = None
        self._unpacked = 0
        self._stack: list[Any] = []
        self._inner = self._open()

    def _open(self) -> Any:
        if self._packing == "xz":
            return lzma.open(self._path)
        if self._packing == "zip":
            archive = open_archive(self._path)
            self._stack.append(archive)
            return _open_member(self._path, archive)

        return pa.CompressedInputStream(pa.OSFile(os.fspath(self._path)), self._packing)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; if they cannot be read, they are the last, or it is an error."""
        try:
            return 0 if self.failure else self._read(buffer)
        except InputError as error:
            self.failure = error
            if not self._late:
                raise
            return 0

    def _read(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._inner.read(len(view))
        except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error, ValueError) as error:
            reason = str(error).rstrip(".")
            raise InputError(
                f"{self._path} cannot be unpacked ({self._packing}): {reason}. Is it complete? Copy it again."
            ) from error
        view[: len(data)] = data
        self._unpacked += len(data)
        if self._unpacked > FREE_BYTES:
            check_size(self._path, self._unpacked, free=FREE_BYTES, instead="unpack it")
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            for each in self._stack:
                each.close()
        super().close()


def open_archive(path: Path, most: int = MAX_MEMBERS) -> zipfile.ZipFile:
    """Open a zip file of at most so many members; one that is damaged is an `InputError`."""
    try:
        return Archive(path, most)
    except InputError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InputError(f"{path} cannot be unpacked (zip): {error}. Is it complete? Copy it again.") from error


def _member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only file in an archive; what macOS puts beside it does not count."""
    files = [info for info in archive.infolist() if not info.is_dir() and not _is_litter(info.filename)]
    if len(files) != 1:
        listed = ", ".join(repr(info.filename) for info in files[:10]) + (" ..." if len(files) > 10 else "")
        found = f"{len(files):,} files: {listed}" if files else "no file"
        raise InputError(f"{path} holds {found}. Give an archive with one file in it, or unpack it first.")
    return files[0]


def _is_litter(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parts[0] == "__MACOSX" or path.name in (".DS_Store", "Thumbs.db", "desktop.ini")


def _open_member(path: Path, archive: zipfile.ZipFile) -> Any:
    try:
        return archive.open(_member(path, archive))
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:  # a password, or a method unknown here
        raise InputError(f"{path} cannot be unpacked (zip): {str(error).rstrip('.')}. Unpack it first.") from error


# Members: the files in a zip archive, read one by one and within limits, also if they are packed with Zstandard.


_ZSTANDARD = 93  # the number of the method, which zipfile knows since Python 3.14
_HEAD = struct.Struct("<4s22xHH")  # what stands before a member: a mark, and how long its name and the rest are
_ENCRYPTED = 1


class ArchiveMembers:
    """The files in a zip archive.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "log.eval")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("header.json", "{}")
    ...     with ArchiveMembers(path) as members:
    ...         members.names, members.read("header.json")
    (['header.json'], b'{}')
    """

    def __init__(self, path: Path) -> None:
        check_regular(path)
        self._path = path
        self._archive = open_archive(path, MAX_SAMPLES)
        self._infos = {info.filename: info for info in self._archive.infolist()}
        try:
            unpacked = sum(info.file_size for info in self._infos.values())
            check_size(path, unpacked, free=FREE_BYTES, instead="save it as JSON")
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
            data = self._unpack(info) if info.compress_type == _ZSTANDARD else self._archive.read(info)
        except (
            OSError,
            EOFError,
            RuntimeError,
            NotImplementedError,
            ValueError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            reason = str(error).rstrip(".")
            raise InputError(
                f"{self._path} cannot be unpacked (zip): {name}: {reason}. Is it complete? Copy it again."
            ) from error
        return data

    def _unpack(self, info: zipfile.ZipInfo) -> bytes:
        if info.flag_bits & _ENCRYPTED:
            raise RuntimeError("it is encrypted")
        packed = self._packed(info)
        data: bytes = pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("bad checksum")
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        file = self._archive.fp
        assert file is not None
        file.seek(info.header_offset)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("bad head of a file")
        _, name, more = _HEAD.unpack(head)
        file.seek(name + more, 1)
        return file.read(info.compress_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
