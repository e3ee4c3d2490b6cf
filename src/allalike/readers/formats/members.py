"""Members: the files in a zip archive, read one by one and within limits, also if they are packed with Zstandard."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Self

from allalike._core.late import pa
from allalike._core.limits import FREE_BYTES, MAX_SAMPLES
from allalike.errors import InputError
from allalike.readers.formats.compression import check_regular, check_size, open_archive

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ArchiveMembers"]

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
