"""Files: atomic writes, temporary folders, bounded archives, and signals that arrive meanwhile."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import tempfile
import threading
import uuid
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.limits import MAX_MEMBERS
from allalike.errors import AllalikeError, InputError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let SIGINT and SIGTERM take effect only at the end; those that are ignored stay ignored."""
    if threading.current_thread() is not threading.main_thread():  # where signals raise nothing
        yield
        return
    came: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler not in (signal.SIG_IGN, None):  # None was set from outside Python, and cannot be set again
                before[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came_number in dict.fromkeys(came):
            signal.raise_signal(came_number)


@contextmanager
def ending_asked() -> Iterator[threading.Event]:
    """Yield an event that is set by SIGINT, SIGTERM and SIGHUP; those that are ignored stay ignored.

    >>> with ending_asked() as asked:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     asked.wait()
    True
    """
    asked = threading.Event()
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers} if main else {}
    heard = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in heard:
        signal.signal(number, lambda *_: asked.set())
    try:
        yield asked
    finally:
        for number in heard:
            signal.signal(number, before[number])


@contextmanager
def output_errors(what: str) -> Iterator[None]:
    """Turn failures of the system into an error that says what cannot be written, and why.

    >>> with output_errors("The table cannot be written to out.csv"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    allalike.errors.OutputError: The table cannot be written to out.csv: No space left on device.
    """
    try:
        yield
    except AllalikeError:
        raise
    except ValueError as error:
        if "null" not in str(error):  # as Python says it of a path with a NUL in it
            raise
        raise OutputError(f"{what}: its name has a NUL in it.") from error
    except OSError as error:
        reason = re.sub(r"^.*Detail: \[errno \d+\] ", "", error.strerror or str(error))  # as Arrow has it
        raise OutputError(f"{what}: {reason}.") from error


@contextmanager
def atomic_file(path: Path, *, failure: str = "") -> Iterator[Path]:
    """Yield a path to write to, which replaces the file at the end."""
    with output_errors(failure or f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".allalike-{uuid.uuid4().hex}{path.suffix}")
        try:
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def list_files(folder: Path) -> list[str]:
    """List the files in a folder, at any depth, by their paths from there, in order."""
    found = ((Path(place), name) for place, _, names in os.walk(folder) for name in names)
    return sorted((place / name).relative_to(folder).as_posix() for place, name in found)


def is_link(path: Path) -> bool:
    """Return whether a path is a link, or on Windows a junction, which is the same for folders."""
    is_junction = getattr(os.path, "isjunction", None)  # since Python 3.12
    return path.is_symlink() or (is_junction is not None and is_junction(path))


@contextmanager
def work_folder() -> Iterator[Path]:
    """Yield a temporary folder that only this user can read, and remove it in the end.

    >>> with work_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    folder = Path(tempfile.mkdtemp(prefix="allalike-"))
    try:
        yield folder
    finally:
        with signals_deferred():
            shutil.rmtree(folder, ignore_errors=True)


_MEMBER = b"PK\x01\x02"  # the beginning of each entry of the list of members
_MAX_ENTRY_BYTES = 1 << 12  # on average


class Archive(zipfile.ZipFile):
    """A zip file whose list of members is refused if it is too long, before it is parsed."""

    def __init__(self, path: str | Path, most: int = MAX_MEMBERS) -> None:
        self._list = _MemberList(path)
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


class _MemberList(io.FileIO):
    """A zip file while its list of members is read, in one go."""

    is_read = False
    most = MAX_MEMBERS

    def read(self, size: int | None = -1) -> Any:
        if self.is_read:
            return super().read(size)
        what = f"a list of files of {size or 0:,} bytes"
        if size is None or size <= self.most * _MAX_ENTRY_BYTES:
            data = super().read(size)
            number = data.count(_MEMBER)
            if number <= self.most:
                return data
            what = f"{number:,} files"
        raise InputError(
            f"{self.name!s} holds {what}, and an archive may hold {self.most:,} files. Unpack it, and give those that"
            " are needed."
        )
