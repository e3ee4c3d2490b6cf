"""Spooled files: what is gone once it is read, or lies elsewhere, put into a file for the time being."""

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
    """A work folder, which is there as long as somebody holds this.

    >>> folder = SpoolFolder()
    >>> path, there = folder.path, folder.path.is_dir()
    >>> del folder
    >>> there, path.exists()
    (True, False)
    """

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(work_folder())
        weakref.finalize(self, _leave, stack, os.getpid())


def _leave(stack: ExitStack, process: int) -> None:
    if os.getpid() == process:  # and not one that began as its copy
        stack.close()


class Spooled(type(Path())):  # type: ignore[misc]
    """A file for the time being, which has another name in messages."""

    called = "the open file"
    within: SpoolFolder | None = None

    @classmethod
    def at(cls, path: Path, called: str, within: SpoolFolder | None = None) -> Spooled:
        """Name a file; the folder that it is ``within`` stays as long as the name is in use."""
        made = cls(os.fspath(path))
        made.called, made.within = called, within
        return made

    def __str__(self) -> str:
        return self.called

    def __fspath__(self) -> str:
        return str(super().__str__())


def spool(stream: IO[Any], folder: Path, called: str) -> Spooled:
    """Write all that comes into a file, whose ending says what it looks like.

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
    """Return the file that is open, if it is one that was not read yet, or what is left to read as a file.

    That file is there as long as the path is in use.

    >>> import io
    >>> spool_open_file(io.StringIO("worker,task,label")).read_text()
    'worker,task,label'
    """
    name = getattr(stream, "name", None)
    try:
        untouched = isinstance(name, str) and Path(name).is_file() and stream.tell() == 0
    except (OSError, ValueError):  # as of a text that is read line by line
        untouched = False
    if untouched:
        return Path(str(name))
    folder = SpoolFolder()
    return Spooled.at(spool(stream, folder.path, "the open file"), "the open file", folder)
