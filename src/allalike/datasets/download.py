"""Download one file: in parts if need be, checked, and never half."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from allalike.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPResponse
    from pathlib import Path

    from allalike.datasets.catalog import File

__all__ = ["download", "is_right"]

_CHUNK = 1 << 16
_PATIENCE = 30.0  # seconds without a byte
_POINTER = b"version https://git-lfs.github.com/spec/"


def download(file: File, url: str, target: Path, tell: Callable[[int], None]) -> None:
    """Download a file unless it is there and right; what an earlier run began is continued.

    Parameters
    ----------
    file
        What the catalogue says of it.
    url
        Where it lies.
    target
        Where it goes. It appears there when it is whole and right; until then its bytes are in `target.part`.
    tell
        Called with the number of bytes that are here, again and again; it may raise to stop.
    """
    if not is_right(file, target):
        part = target.with_name(f"{target.name}.part")
        if _size(part) >= file.bytes and not is_right(file, part):
            part.unlink()
        _complete(file, url, part, tell)
        if not is_right(file, part):
            raise _wrong(file, url, part)
        part.replace(target)
    tell(file.bytes)


def is_right(file: File, path: Path) -> bool:
    """Whether a file is there, with the size and the checksum that the catalogue says.

    >>> import pathlib, tempfile
    >>> from allalike.datasets.catalog import File
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "abc.txt"
    >>> path.write_text("abc")
    3
    >>> abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    >>> is_right(File(file="abc.txt", bytes=3, sha256=abc), path)
    True
    """
    return _size(path) == file.bytes and _sha256(path) == file.sha256


def _complete(file: File, url: str, part: Path, tell: Callable[[int], None]) -> None:
    """Download what is not yet in the part; try again as long as every try brings more."""
    from http.client import HTTPException
    from urllib.error import HTTPError

    while (have := _size(part)) < file.bytes:
        reason = "the connection broke"
        try:
            _append(file, url, part, tell)
        except DataError:
            raise
        except HTTPError as error:
            error.close()
            if have and error.code == 416:  # there is nothing beyond what is here
                raise _wrong(file, url, part, most="at most ") from error
            reason = str(error)
        except (OSError, HTTPException, ValueError) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        if _size(part) <= have:
            begun = f"{_size(part):,} of {file.bytes:,} bytes are here; fetching again goes on from there."
            raise DataError(f"{url} cannot be fetched: {reason}. {begun if _size(part) else 'Nothing of it is here.'}")


def _append(file: File, url: str, part: Path, tell: Callable[[int], None]) -> None:
    from urllib.request import Request, urlopen

    have = _size(part)
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urlopen(request, timeout=_PATIENCE) as response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        have = have if goes_on else 0
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab" if goes_on else "wb") as out:
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                have += len(chunk)
                if have > file.bytes:
                    break
                tell(have)
    if have != file.bytes and _is_whole(response, have, goes_on=goes_on):
        raise _wrong(file, url, part)


def _is_whole(response: HTTPResponse, have: int, *, goes_on: bool) -> bool:
    """Whether the server sent all it has; if not, the connection broke."""
    total = response.headers.get("Content-Range" if goes_on else "Content-Length", "").rpartition("/")[2]
    return total.isdecimal() and have >= int(total)


def _wrong(file: File, url: str, part: Path, most: str = "") -> DataError:
    """Remove what is not the file, and say in what it differs."""
    with part.open("rb") as begun:
        is_pointer = begun.read(len(_POINTER)) == _POINTER
    size, found = _size(part), _sha256(part)
    part.unlink()
    differs = f"{most}{size:,} bytes instead of {file.bytes:,}" if size != file.bytes else f"the sha256 {found}"
    why = " It is a pointer of Git LFS, which stands for a file that is kept elsewhere." if is_pointer else ""
    return DataError(
        f"{url} is not the file that the catalogue describes (sha256 {file.sha256}): it has {differs}.{why} Nothing of"
        " it was kept."
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
