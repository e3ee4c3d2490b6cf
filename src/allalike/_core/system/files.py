"""Files: found, checked and written whole; what must not stop half-way is finished before the program ends."""

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
    """Let SIGINT and SIGTERM take effect only when this is done; those that are ignored stay ignored.

    >>> try:
    ...     with signals_deferred():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done = True
    ... except KeyboardInterrupt:
    ...     print("done, and interrupted" if done else "interrupted")
    done, and interrupted
    """
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
    """Give an event that is set when the program is asked to end, which then is for whoever waits for it to do.

    SIGINT, SIGTERM and SIGHUP ask for it; those that are ignored stay ignored.

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


# Atomic files, temporary folders, and what they have in common.


@contextmanager
def output_errors(what: str) -> Iterator[None]:
    """Say that something cannot be written, and why.

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
    """Give a path to write to; what is written there takes the place of the file when all went well.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "deep", "note.txt")) as beside:
    ...         _ = beside.write_text("done")
    ...     Path(folder, "deep", "note.txt").read_text(), len(list(Path(folder, "deep").iterdir()))
    ('done', 1)
    """
    with output_errors(failure or f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".allalike-{uuid.uuid4().hex}{path.suffix}")
        try:
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def list_files(folder: Path) -> list[str]:
    """List the files in a folder, at any depth, by their paths from there, in order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("labels", "other"):
    ...         Path(folder, name).mkdir()
    ...     Path(folder, "labels", "t1.png").touch()
    ...     list_files(Path(folder))
    ['labels/t1.png']
    """
    found = ((Path(place), name) for place, _, names in os.walk(folder) for name in names)
    return sorted((place / name).relative_to(folder).as_posix() for place, name in found)


def flush_files(folder: Path) -> None:
    """Have the system write files to the disk before they are put in place; those in inner folders may be many.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "note.txt").touch()
    ...     flush_files(Path(folder))
    """
    for path in folder.iterdir():
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())


def is_link(path: Path) -> bool:
    """Return whether a path is a link, or on Windows a junction, which is the same for folders.

    >>> is_link(Path())
    False
    """
    is_junction = getattr(os.path, "isjunction", None)  # since Python 3.12
    return path.is_symlink() or (is_junction is not None and is_junction(path))


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give a temporary folder that only this user can read, and remove it in the end.

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


# Archives: zip files, unless their list of members is too long.


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
