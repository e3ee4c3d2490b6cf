"""Archives: zip files, unless their list of members is too long."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from allalike._core.limits import MAX_MEMBERS
from allalike.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_MEMBER = b"PK\x01\x02"  # with which each entry of the list begins
_MAX_ENTRY_BYTES = 1 << 12  # on average


class Archive(zipfile.ZipFile):
    """A zip file, whose members are counted before they are looked at one by one.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "book.xlsx")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("sheet.xml", "<a/>")
    ...     with Archive(path) as archive:
    ...         archive.namelist()
    ['sheet.xml']
    """

    def __init__(self, path: str | Path, most: int = MAX_MEMBERS) -> None:
        self._list = _List(path)
        self._list.most = most
        try:
            super().__init__(self._list)
        except BaseException:
            self._list.close()
            raise
        self._list.is_read = True

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._list.close()


class _List(io.FileIO):
    """A file of which more than the end is read once, in one go: the list of members, which comes before them."""

    is_read = False
    most = MAX_MEMBERS

    def read(self, size: int | None = -1) -> Any:
        if self.is_read:
            return super().read(size)
        if size is not None and size > self.most * _MAX_ENTRY_BYTES:
            raise _too_long(self.name, f"a list of files of {size:,} bytes", self.most)
        data = super().read(size)
        if (number := data.count(_MEMBER)) > self.most:
            raise _too_long(self.name, f"{number:,} files", self.most)
        return data


def _too_long(path: Any, what: str, most: int) -> InputError:
    return InputError(
        f"{path} holds {what}, and an archive may hold {most:,} files. Unpack it, and give those that are needed."
    )
