"""Claims: folders that a running process uses, those that a killed one left, and locks between processes.

Such a folder has a name that proves that a program of this user gave it, in this very place: half of it is drawn, and
the other half is signed. A folder of another name is not ours, whatever lies in it, and is never touched.

A claim ends with its process, however that ends. Where the file system has no locks there are no claims, and the locks
of another machine may not be seen (a container is another machine each time it is started). There only time tells: what
takes minutes to write and was not touched for a week has nobody left who writes it.

A work folder is such a folder in which a program keeps something while it runs, for its user alone; what a killed one
left goes with the next.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from allalike._core.system.moves import is_link, remove_tree
from allalike._core.system.proof import sign
from allalike._core.system.signals import signals_deferred

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CLAIM",
    "claim_folder",
    "draw_name",
    "find_abandoned",
    "find_forgotten",
    "find_unproved",
    "folders_locked",
    "is_proved",
    "make_work_folder",
    "work_folder",
]

CLAIM = "in-use"
_LOCK = ".allalike-lock"  # on Windows, where folders have no locks
_MAX_TRIES, _PAUSE_SECONDS = 1000, 0.05
_FORGOTTEN_SECONDS = 7 * 24 * 3600
_HALF = 16  # hexadecimal digits that are drawn, and as many that are signed
_PREFIX = "allalike-"


def draw_name(parent: Path, prefix: str) -> str:
    """Draw a name for a folder that is to be made, which proves who gave it.

    >>> here, elsewhere = Path("/some"), Path("/other")
    >>> [is_proved(here / draw_name(folder, ".x-"), ".x-") for folder in (here, elsewhere)]
    [True, False]
    """
    drawn = secrets.token_hex(_HALF // 2)
    return f"{prefix}{drawn}{_sign_name(parent, prefix + drawn) or secrets.token_hex(_HALF // 2)}"


def is_proved(path: Path, prefix: str) -> bool:
    """Tell whether a program of this user made a folder of this name in this place.

    >>> is_proved(Path(".some-backup"), ".some-"), is_proved(Path(".some-" + "0" * 32), ".some-")
    (False, False)
    """
    if not _is_drawn(path, prefix) or is_link(path):
        return False
    signed = _sign_name(path.parent, path.name[:-_HALF])
    return bool(signed) and secrets.compare_digest(signed, path.name[-_HALF:])


def _is_drawn(path: Path, prefix: str) -> bool:
    return re.fullmatch(rf"{re.escape(prefix)}[0-9a-f]{{{2 * _HALF}}}", path.name) is not None


def _sign_name(parent: Path, name: str) -> str:
    return sign(b"a folder of work: " + os.fsencode(os.path.realpath(parent)) + b"/" + name.encode())[:_HALF]


def claim_folder(folder: Path) -> IO[bytes] | None:
    """Claim a folder for as long as the returned file is open; nothing where there are no locks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = Path(parent, draw_name(Path(parent), "some-"))
    ...     folder.mkdir()
    ...     claim = claim_folder(folder)
    ...     while_used = list(find_abandoned(Path(parent), "some-"))
    ...     claim.close()
    ...     while_used, list(find_abandoned(Path(parent), "some-")) == [folder]
    ([], True)
    """
    path = folder / CLAIM
    file = (path if sys.platform == "win32" else path.with_suffix(".new")).open("wb")
    try:
        file.write(_host())
        file.flush()
        if sys.platform != "win32":  # where nobody can remove a file while it is open
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.with_suffix(".new").rename(path)  # so that nobody sees it before it is locked
    except OSError:
        file.close()
        Path(file.name).unlink(missing_ok=True)
        return None
    return file


def find_abandoned(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield the folders that were claimed by processes of this user and this machine that have ended."""
    for claim in parent.glob(f"{prefix}*/{CLAIM}"):
        if not (is_proved(claim.parent, prefix) and _is_plain_file(claim)):
            continue
        with suppress(OSError), claim.open("r+b") as file:
            if file.read() != _host() or not _is_own(claim.parent):
                continue
            if sys.platform == "win32":
                file.close()
                claim.unlink()
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield claim.parent


def find_forgotten(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield the folders of this user that nobody holds, and in which nothing has changed for a week.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = Path(parent, draw_name(Path(parent), "some-"))
    ...     folder.mkdir()
    ...     new = list(find_forgotten(Path(parent), "some-"))
    ...     os.utime(folder, (0, 0))
    ...     new, list(find_forgotten(Path(parent), "some-")) == [folder]
    ([], True)
    """
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            if is_proved(path, prefix) and _is_own(path) and not _is_held(path / CLAIM):
                newest = max(each.lstat().st_mtime for each in (path, *path.rglob("*")))
                if newest < time.time() - _FORGOTTEN_SECONDS:
                    yield path


def find_unproved(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield what looks as if a program of this user had left it more than a week ago, and nothing proves it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     for name in ("some-backup", "some-0123456789abcdef0123456789abcdef"):
    ...         Path(parent, name).mkdir()
    ...         os.utime(Path(parent, name), (0, 0))
    ...     [path.name for path in find_unproved(Path(parent), "some-")]
    ['some-0123456789abcdef0123456789abcdef']
    """
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            old = path.lstat().st_mtime < time.time() - _FORGOTTEN_SECONDS
            if old and _is_drawn(path, prefix) and _is_own(path) and not is_proved(path, prefix):
                yield path


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_held(claim: Path) -> bool:
    """Tell whether a process has the lock of a claim, as far as that can be seen from here."""
    if sys.platform == "win32" or not _is_plain_file(claim):
        return False
    with claim.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # there are no locks
            return False
    return False


@contextmanager
def folders_locked(*folders: Path) -> Iterator[None]:
    """Wait until no other process has locked any of these folders; those that do not exist are left out.

    Whoever locks an outer and an inner folder names the outer one first.

    >>> with folders_locked(Path(), Path("nowhere")):
    ...     pass
    """
    with ExitStack() as stack:
        for folder in dict.fromkeys(folders):
            descriptor = _lock(folder) if folder.is_dir() else None
            if descriptor is not None:
                stack.callback(os.close, descriptor)
        yield


def _lock(folder: Path) -> int | None:
    """Return a descriptor that has the lock of a folder until it is closed, or nothing where there are no locks."""
    if sys.platform == "win32":
        for _ in range(_MAX_TRIES):
            with suppress(FileExistsError, PermissionError):
                return os.open(folder / _LOCK, os.O_CREAT | os.O_EXCL | os.O_TEMPORARY)
            time.sleep(_PAUSE_SECONDS)
        raise TimeoutError(0, f"another process is writing to {folder}")
    else:  # noqa: RET506, by which mypy knows what systems have
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except OSError:  # a folder that cannot be listed
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException as error:  # no locks, or an interrupt while it waits
            os.close(descriptor)
            if not isinstance(error, OSError):
                raise
            return None
        return descriptor


def _host() -> bytes:
    """Name this machine: on a shared disk, the locks of another one may not be seen."""
    return platform.node().encode()


def _is_own(folder: Path) -> bool:
    return sys.platform == "win32" or folder.lstat().st_uid == os.geteuid()


def make_work_folder(parent: str | os.PathLike[str] | None = None) -> tuple[Path, IO[bytes] | None]:
    """Make a folder, in that of the system by default, and claim it; those that nobody uses any more are removed.

    >>> made, claim = make_work_folder()
    >>> made.name.startswith("allalike-")
    True
    >>> claim.close()
    >>> other, claim = make_work_folder()
    >>> made.exists(), claim.close(), remove_tree(other)
    (False, None, None)
    """
    place = Path(os.path.realpath(parent or tempfile.gettempdir()))
    for left in find_abandoned(place, _PREFIX):
        remove_tree(left)
    made = place / draw_name(place, _PREFIX)
    made.mkdir(mode=0o700)
    return made, claim_folder(made)


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give a work folder, and remove it in the end.

    >>> with work_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    folder, claim = make_work_folder()
    try:
        yield folder
    finally:
        with signals_deferred():
            if claim is not None:
                claim.close()  # first, for on Windows a file that is open cannot be removed
            remove_tree(folder)
