"""Files: atomic writes, temporary folders, bounded archives, signals, and outputs of several files.

An output never replaces inputs or other programs' files, and never follows links.

A folder that contains only our files is written beside the old one and exchanged with it in one step. In a folder with
other files, ours are replaced one by one, and a list of them (`UNFINISHED`) stays there until the last one is in place.
Until then the result is reported as incomplete, and the next run replaces it.
"""

from __future__ import annotations

import ctypes
import errno
import io
import json
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from allalike._core.limits import MAX_MEMBERS
from allalike._core.system.json_text import parse_json
from allalike.errors import AllalikeError, InputError, OutputError

if sys.platform != "win32":
    import fcntl


@contextmanager
def _signals_handled(names: Iterable[str], handle: Callable[[int], None]) -> Iterator[None]:
    """Handle the signals that exist on this system with a function; ignored signals stay ignored."""
    main = threading.current_thread() is threading.main_thread()  # others get no signals
    numbers = [getattr(signal, name) for name in names if main and hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]  # None if set in C
    try:
        for number in heard:
            signal.signal(number, lambda number, _: handle(number))
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer SIGINT and SIGTERM until the end; ignored signals stay ignored."""
    came: list[int] = []
    try:
        with _signals_handled(("SIGINT", "SIGTERM"), came.append):
            yield
    finally:
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


@contextmanager
def ending_asked() -> Iterator[threading.Event]:
    """Yield an event that is set by SIGINT, SIGTERM and SIGHUP; ignored signals stay ignored.

    >>> with ending_asked() as asked:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     asked.wait()
    True
    """
    asked = threading.Event()
    with _signals_handled(("SIGINT", "SIGTERM", "SIGHUP"), lambda _: asked.set()):
        yield asked


@contextmanager
def output_errors(what: str) -> Iterator[None]:
    """Convert system errors to an `OutputError` that begins with ``what`` and gives the reason.

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
        if "null" not in str(error):  # Python's message for a path that contains NUL
            raise
        raise OutputError(f"{what}: its name contains a NUL character.") from error
    except OSError as error:
        reason = re.sub(r"^.*Detail: \[errno \d+\] ", "", error.strerror or str(error))  # Arrow's prefix
        raise OutputError(f"{what}: {reason}.") from error


@contextmanager
def atomic_file(path: Path, *, failure: str = "") -> Iterator[Path]:
    """Yield a temporary path; its file replaces ``path`` at the end."""
    with output_errors(failure or f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".allalike-{uuid.uuid4().hex}{path.suffix}")
        try:
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def list_files(folder: Path) -> list[str]:
    """List the files in a folder, at any depth, as sorted relative paths."""
    found = ((Path(place), name) for place, _, names in os.walk(folder) for name in names)
    return sorted((place / name).relative_to(folder).as_posix() for place, name in found)


def is_link(path: Path) -> bool:
    """Return whether a path is a link, or on Windows a junction."""
    is_junction = getattr(os.path, "isjunction", None)  # since Python 3.12
    return path.is_symlink() or (is_junction is not None and is_junction(path))


@contextmanager
def work_folder() -> Iterator[Path]:
    """Yield a temporary folder that only this user can read, and remove it at the end.

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


_MEMBER = b"PK\x01\x02"  # the beginning of each entry in the list of members
_MAX_ENTRY_BYTES = 1 << 12  # on average


class Archive(zipfile.ZipFile):
    """A zip file that refuses an overlong list of members before parsing it."""

    def __init__(self, path: str | Path, most: int = MAX_MEMBERS) -> None:
        file = _MemberList(path)
        file.most = most
        try:
            super().__init__(file)
        except BaseException:
            file.close()
            raise
        file.is_read = True

    def close(self) -> None:
        """Close the file."""
        with self.fp or nullcontext():  # the destructor also closes an archive that could not be opened
            super().close()


class _MemberList(io.FileIO):
    """The file of an archive; it limits the first read, which is that of the list of members."""

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
            f"{self.name!s} contains {what}, more than the limit of {self.most:,} files. Unpack it and use only the"
            " files that you need."
        )


# Outputs: several files that are written into a folder together.

STAGE_PREFIX = ".allalike-"
UNFINISHED = ".allalike-unfinished.json"
_ELSEWHERE = "Choose another place for the output."
_WAY_OUT = "Choose another place for the output, or replace it with overwrite=True."
_CAN_OPEN = {os.open, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLDER_FLAGS = sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))
_EXCHANGE_FLAG = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS


@dataclass(frozen=True, kw_only=True)
class Output:
    """Several files that are written into a folder together.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Output(folder=Path(folder, "out")).staged() as stage:
    ...         _ = (stage / "note.txt").write_text("done")
    ...     Path(folder, "out", "note.txt").read_text()
    'done'
    """

    folder: Path
    find_own: Callable[[Path], Iterable[str]] = lambda _: ()
    inputs: tuple[Path, ...] = ()
    overwrite: bool = False
    index: str = ""
    failure: str = "The files cannot be written"

    @cached_property
    def _place(self) -> Path:
        """The folder with links resolved."""
        return Path(os.path.realpath(self.folder))

    def check(self, names: Iterable[str]) -> None:
        """Raise an error if files with these names would replace a file that must be kept."""
        with output_errors(self.failure):
            self._check_folder()
            with _locked(self._place.parent, self._place):
                self._find_replaced(list(names))

    @contextmanager
    def staged(self, names: Iterable[str] = ()) -> Iterator[Path]:
        """Yield a temporary folder, whose files are moved to their places at the end; check known ``names`` first."""
        with output_errors(self.failure), self._missing_folders():
            with _locked(self._place.parent, self._place):  # so that no other run is writing files there
                replaced = self._find_replaced(list(names))
                whole = not self._place.exists() or self._can_be_exchanged(replaced)
            parent = self._place.parent if whole else self._place
            stage = parent / f"{STAGE_PREFIX}{secrets.token_hex(16)}"
            try:
                stage.mkdir()  # with the usual permissions, because executors of Spark write into it
                yield stage
                flush_files(stage)
                with _locked(self._place.parent, self._place), signals_deferred():
                    self._put_in_place(stage)
            finally:
                with signals_deferred():
                    shutil.rmtree(stage, ignore_errors=True)

    def _check_folder(self) -> None:
        """Raise an error if the folder cannot be created or written to."""
        place = self._place
        nearest = next(path for path in (place, *place.parents) if path.exists())
        if not nearest.is_dir():
            raise NotADirectoryError(0, f"{nearest if nearest != place else self.folder} is a file, not a folder")
        if not os.access(nearest, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    @contextmanager
    def _missing_folders(self) -> Iterator[None]:
        """Make the missing parent folders, and remove them again after a failure."""
        self._check_folder()
        missing = [path for path in (self._place, *self._place.parents) if not path.exists()]
        try:
            for path in reversed(missing[1:]):
                path.mkdir(exist_ok=True)  # another process may have made it
            yield
        except BaseException:
            for path in missing:
                with suppress(OSError):  # another process has written into it
                    path.rmdir()
            raise

    def _find_replaced(self, names: list[str]) -> list[str]:
        """Return the files that would be replaced by these names, or raise an error."""
        place = self._place
        listed = {*self.find_own(place), *_list_unfinished(place)}
        own = {name for name in listed if os.path.lexists(place / name) and not _is_behind_link(place, name)}
        for name in names:
            self._check_name(name, own)
        others = [name for name in names if name not in own and _is_file(place / name)]
        replaced = sorted({*own, *others})
        self._check_inputs(names, replaced)
        if others and not self.overwrite:
            raise OutputError(f"{self.folder / others[0]} exists already, and allalike did not write it. {_WAY_OUT}")
        return replaced

    def _check_name(self, name: str, own: set[str]) -> None:
        """Raise an error for a file behind a link, a device, or a folder with other files."""
        path, shown = self._place / name, self.folder / name
        if _is_behind_link(self._place, name):
            raise OutputError(f"{shown} is behind a link, and allalike does not write through links. {_ELSEWHERE}")
        if path.is_dir() and not path.is_symlink():
            inside = {f"{name}/{inner}" for inner in _list_content(path)}
            if not inside or inside - own:
                raise IsADirectoryError(0, f"{shown} is a folder, not a file")
        elif path.exists() and not path.is_file():
            raise OutputError(f"{shown} is a device or a pipe and is never replaced. {_ELSEWHERE}")
        for outer in list(Path(name).parents)[:-1]:
            if _is_file(self._place / outer) and outer.as_posix() not in own:
                raise NotADirectoryError(0, f"{self.folder / outer} is a file")

    def _check_inputs(self, names: list[str], replaced: list[str]) -> None:
        """Raise an error if an input would be replaced, or an input folder written to, even via a link."""
        inputs = {_identity(path): path for path in self.inputs} if names or replaced else {}
        inputs.pop(None, None)
        for name in replaced:
            if _identity(self._place / name) in inputs:
                raise OutputError(
                    f"{self.folder / name} is an input of this run, and inputs are never replaced. {_ELSEWHERE}"
                )
        for folder in dict.fromkeys((self.folder / name).parent for name in names):
            if _identity(folder) in inputs:
                raise OutputError(
                    f"{folder} is an input of this run. Nothing is written into it, because it would be read as answers"
                    f" next time. {_ELSEWHERE}"
                )

    def _put_in_place(self, stage: Path) -> None:
        names, place = list_files(stage), self._place
        old = self._find_replaced(names)
        if not place.exists():
            stage.rename(place)
        elif len(names) == 1 and set(old) <= set(names) and "/" not in names[0]:
            (stage / names[0]).replace(place / names[0])
        elif self._can_be_exchanged(old) and _rights(stage) == _rights(place):
            _exchange_folders(stage, place)
        else:
            self._replace_one_by_one(stage, sorted(names, key=lambda name: name == self.index), old)

    def _can_be_exchanged(self, replaced: list[str]) -> bool:
        """Return whether the folder can be exchanged: all files in it are ours, and it is not in use."""
        place = self._place
        with suppress(OSError):  # the working folder may have been removed
            here = Path.cwd()
            if place in (here, *here.parents):
                return False
        if place.stat().st_dev != place.parent.stat().st_dev or not os.access(place.parent, os.W_OK):
            return False
        outermost = {name.partition("/")[0] for name in replaced}
        if any(entry.name not in outermost for entry in place.iterdir()):  # before listing all of a large folder
            return False
        return _list_content(place) <= set(replaced)

    def _replace_one_by_one(self, stage: Path, new: list[str], old: list[str]) -> None:
        """Remove the old files that have no successor, and move the new files to their places, the index last."""
        place = self._place
        marks = {name: _mark(stage / name) for name in new}
        (stage / UNFINISHED).write_text(json.dumps(marks), encoding="utf-8")
        flush_files(stage)
        (stage / UNFINISHED).replace(place / UNFINISHED)
        for name in sorted(set(old) - set(new)):
            with _opened(place, name) as (path, folder), suppress(FileNotFoundError):
                os.unlink(path, dir_fd=folder)
            for outer in list(Path(name).parents)[:-1]:
                with suppress(OSError):  # it contains other files
                    (place / outer).rmdir()
        for name in new:
            with _opened(place, name, make=True) as (path, folder):
                os.replace(stage / name, path, dst_dir_fd=folder)
        (place / UNFINISHED).unlink()


def _list_unfinished(place: Path) -> list[str]:
    """List the files that an interrupted run put in place and that have not changed since."""
    path = place / UNFINISHED
    try:
        marks = parse_json(path.read_text(encoding="utf-8")) if path.is_file() and not is_link(path) else {}
        return [name for name, mark in marks.items() if ".." not in name and _mark(place / name) == mark]
    except (OSError, ValueError, AttributeError):
        return []


def _mark(path: Path) -> list[int]:
    """Return the inode and modification time of a file; other processes cannot predict them."""
    try:
        status = path.lstat()
    except OSError:
        return []
    return [status.st_ino, status.st_mtime_ns]


def flush_files(folder: Path) -> None:
    """Flush files to the disk, except those in inner folders, which may be many."""
    for path in folder.iterdir():
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())


@contextmanager
def _locked(*folders: Path) -> Iterator[None]:
    """Lock these folders against other processes; if the system has no locks, continue."""
    with ExitStack() as stack:
        for folder in folders if sys.platform != "win32" else ():
            with suppress(OSError):  # for a new folder, or a disk without locks
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _exchange_folders(new: Path, place: Path) -> None:
    """Exchange two folders, in one step if the system supports it."""
    call = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform, "")
    with suppress(AttributeError, OSError):  # on old or other systems
        here = {"linux": -100, "darwin": -2}[sys.platform] if call else 0  # AT_FDCWD
        if getattr(ctypes.CDLL(None), call)(here, os.fsencode(new), here, os.fsencode(place), _EXCHANGE_FLAG) == 0:
            return
    old = new.with_name(f"{new.name}-old")
    place.rename(old)
    try:
        new.rename(place)
    except OSError:
        old.rename(place)
        raise
    old.rename(new)


@contextmanager
def _opened(place: Path, name: str, *, make: bool = False) -> Iterator[tuple[str, int | None]]:
    """Open the folder of a file level by level, so that no link is followed, even one created meanwhile."""
    parts = Path(name).parts
    if not _CAN_OPEN:
        if make:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
        if _is_behind_link(place, name):
            raise OSError(errno.ELOOP, f"{place / name} is behind a link")
        yield str(place / name), None
        return
    folder = os.open(place, _FOLDER_FLAGS)
    try:
        for part in parts[:-1]:
            with suppress(FileExistsError):
                if make:
                    os.mkdir(part, dir_fd=folder)
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield parts[-1], folder
    finally:
        os.close(folder)


def _is_behind_link(folder: Path, name: str) -> bool:
    """Return whether a folder between a folder and a file in it is a link; the file itself may be one."""
    return any(is_link(folder / outer) for outer in list(Path(name).parents)[:-1])


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _list_content(folder: Path) -> set[str]:
    """List files, links and empty folders in a folder, at any depth."""
    content: set[str] = set()
    for place, folders, files in os.walk(folder):
        inner = Path(place)
        links = [name for name in folders if (inner / name).is_symlink()]
        content.update((inner / name).relative_to(folder).as_posix() for name in (*files, *links))
        if not (folders or files) and inner != folder:
            content.add(inner.relative_to(folder).as_posix())
    return content


def _rights(folder: Path) -> tuple[int, int, int]:
    status = folder.stat()
    return status.st_uid, status.st_gid, status.st_mode


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; they are the same for all paths to it."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
