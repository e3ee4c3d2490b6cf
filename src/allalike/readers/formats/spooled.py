"""Temporary files for streams, which can be read once, and for remote data."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from allalike._core.system.files import work_folder

_BLANK = b"\xef\xbb\xbf \t\r\n"
_CHUNK = 1 << 20


class SpoolFolder:
    """A temporary folder that exists as long as this object.

    >>> folder = SpoolFolder()
    >>> path, there = folder.path, folder.path.is_dir()
    >>> del folder
    >>> there, path.exists()
    (True, False)
    """

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(work_folder())
        process = os.getpid()
        weakref.finalize(self, lambda: stack.close() if os.getpid() == process else None)  # not in a forked copy


class Spooled(type(Path())):  # type: ignore[misc]
    """A temporary file that has another name in messages."""

    called = "the open file"
    within: SpoolFolder | None = None

    @classmethod
    def at(cls, path: Path, called: str, within: SpoolFolder | None = None) -> Spooled:
        """Name a file; the folder that it is ``within`` exists as long as this path."""
        made = cls(os.fspath(path))
        made.called, made.within = called, within
        return made

    def __str__(self) -> str:
        return self.called

    def __fspath__(self) -> str:
        return str(super().__str__())


def spool(stream: IO[Any], folder: Path, called: str) -> Spooled:
    """Write a stream into a file with the ending of JSON or CSV, whichever it looks like.

    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spooled = spool(io.StringIO("[1]"), Path(folder), "the pipe")
    ...     str(spooled), spooled.suffix, spooled.read_bytes()
    ('the pipe', '.json', b'[1]')
    """
    raw = folder / "input"
    with raw.open("wb") as file:
        while part := stream.read(_CHUNK):
            file.write(part.encode() if isinstance(part, str) else part)
    with raw.open("rb") as file:
        start = file.read(1 << 16).lstrip(_BLANK)
    named = raw.with_suffix(".json" if start.startswith((b"[", b"{")) else ".csv")
    raw.rename(named)
    return Spooled.at(named, called)


def spool_open_file(stream: IO[Any]) -> Path:
    """Return the path of an open file of which nothing was read yet, or else a temporary file with the rest of it."""
    name = getattr(stream, "name", None)
    try:
        untouched = isinstance(name, str) and Path(name).is_file() and stream.tell() == 0
    except (OSError, ValueError):  # such as a text that is read line by line
        untouched = False
    if untouched:
        return Path(str(name))
    folder = SpoolFolder()
    return Spooled.at(spool(stream, folder.path, "the open file"), "the open file", folder)
