"""Moves: files and folders are made, moved and removed where they are meant to be, and never through a link.

A path is opened part by part, and what follows happens in the folder that is open then: whoever puts a link on the way
meanwhile changes nothing. Paths are whole and have no links in them, as `os.path.realpath` gives them; a link that
is met is an error. Where a system cannot open folders, links are looked for before each step.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["exchange_folders", "is_link", "leads_through_link", "make_folder", "move", "remove_empty", "remove_tree"]

_CAN_OPEN = {os.open, os.mkdir, os.rename, os.rmdir} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FLAGS = sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_PATH"))
_EXCHANGE_FLAG = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS


class _Spot(NamedTuple):
    """A name in a folder that is open, or a whole path where no folder can be."""

    name: str
    folder: int | None


def is_link(path: Path) -> bool:
    """Tell whether a path is a link, or on Windows a junction, which is the same for folders.

    >>> is_link(Path())
    False
    """
    is_junction = getattr(os.path, "isjunction", None)  # since Python 3.12
    return path.is_symlink() or (is_junction is not None and is_junction(path))


def leads_through_link(folder: Path, name: str) -> bool:
    """Tell whether a link lies on the way from a folder to something in it, which itself may be one.

    >>> leads_through_link(Path(), "labels/t1.png")
    False
    """
    return any(is_link(folder / outer) for outer in list(Path(name).parents)[:-1])


def make_folder(path: Path) -> None:
    """Make a folder in one that is there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Path(os.path.realpath(folder), "new")
    ...     make_folder(made)
    ...     made.is_dir()
    True
    """
    with _reached(path) as spot:
        os.mkdir(spot.name, dir_fd=spot.folder)


def move(path: Path, target: Path) -> None:
    """Move a file, a link or a folder; the folders around its new place are made, and a file that is there goes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(os.path.realpath(folder))
    ...     (here / "note.txt").touch()
    ...     move(here / "note.txt", here / "deep" / "note.txt")
    ...     (here / "deep" / "note.txt").exists()
    True
    """
    with _reached(path) as old, _reached(target, make=True) as new:
        os.replace(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)


def exchange_folders(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; where the system cannot do that, do nothing and return False.

    >>> exchange_folders(Path("/nowhere/one"), Path("/nowhere/other"))
    False
    """
    call = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    with suppress(AttributeError, OSError):  # an old or another system
        rename = getattr(ctypes.CDLL(None), call or "")
        with _reached(one) as first, _reached(other) as second:
            if first.folder is not None and second.folder is not None:
                names = os.fsencode(first.name), os.fsencode(second.name)
                return bool(rename(first.folder, names[0], second.folder, names[1], _EXCHANGE_FLAG) == 0)
    return False


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it, or a file; what cannot be removed stays.

    >>> remove_tree(Path("/nowhere/some"))
    """
    with suppress(OSError), _reached(path) as spot:
        if stat.S_ISDIR(os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False).st_mode):
            shutil.rmtree(spot.name, ignore_errors=True, dir_fd=spot.folder)
        else:
            os.unlink(spot.name, dir_fd=spot.folder)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of these folders that are empty, the innermost first.

    >>> remove_empty([Path("/nowhere")])
    """
    for folder in sorted(set(folders), key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError), _reached(folder) as spot:
            os.rmdir(spot.name, dir_fd=spot.folder)


@contextmanager
def _reached(path: Path, *, make: bool = False) -> Iterator[_Spot]:
    """Go to the folder in which something is or will be, which is made if asked for; a link on the way is an error."""
    if not _CAN_OPEN:
        for outer in reversed(path.parents):
            _refuse_link(outer)
            if make:
                outer.mkdir(exist_ok=True)
        yield _Spot(str(path), None)
        return
    folder = _open(path.parent, make=make)
    try:
        yield _Spot(path.name, folder)
    finally:
        os.close(folder)


def _open(path: Path, *, make: bool) -> int:
    """Open a folder part by part."""
    folder = os.open(path.anchor, _FLAGS)
    for part in path.parts[1:]:
        outer = folder
        try:
            folder = _open_inner(part, outer, make=make)
        except OSError:
            for place in reversed((path, *path.parents)):
                _refuse_link(place)
            raise
        finally:
            os.close(outer)
    return folder


def _open_inner(name: str, folder: int, *, make: bool) -> int:
    try:
        return os.open(name, _FLAGS, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FLAGS, dir_fd=folder)


def _refuse_link(path: Path) -> None:
    if is_link(path):
        raise OSError(errno.ELOOP, f"{path} is a link, and nothing is written or removed through one")
