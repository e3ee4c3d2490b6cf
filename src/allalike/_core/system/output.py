"""Output: files that are put into a folder together, whole or not at all, and only in the place of what may go."""

from __future__ import annotations

import errno
import os
import warnings
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from allalike._core.system.claims import find_unproved, folders_locked
from allalike._core.system.files import flush_files, list_files, output_errors
from allalike._core.system.journal import NEW, STAGE_PREFIX, replace_files, stage_made, sweep_stages
from allalike._core.system.moves import exchange_folders, leads_through_link, make_folder, move, remove_empty
from allalike._core.system.signals import signals_deferred
from allalike.errors import LeftoverWarning, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Output"]

_ELSEWHERE = "Name another place for the output."
_WAY_OUT = "Name another place for the output, or have it replaced with overwrite=True."


def _nothing(_: Path) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class Output:
    """Files that are put into a folder together.

    Whoever looks sees the old files or the new ones, also when the process is killed, and when several write at once.

    A folder that is new, or in which there is nothing but what is replaced, is put in place in one step. Where other
    files are in it, these stay; the files to be replaced go away before the first new one comes, and if the process is
    killed in between, the next that writes there puts the rest in place. It is also done so where the system cannot let
    two folders change places, and with a folder in which this process works, or whose rights are not the usual ones.

    Parameters
    ----------
    folder
        Where the files go. It is made if need be.
    find_own
        What tells which files in the folder may be replaced, by their paths from there.
    inputs
        Files that are never replaced, and folders into which nothing is written.
    overwrite
        Whether files may be replaced that ``find_own`` does not name.
    index
        The file that lists the others: the first to go and the last to come.
    failure
        What to say if they cannot be written, before the reason.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Output(folder=Path(folder, "out")).staged() as stage:
    ...         _ = (stage / "note.txt").write_text("done")
    ...     Path(folder, "out", "note.txt").read_text()
    'done'
    """

    folder: Path
    find_own: Callable[[Path], Iterable[str]] = _nothing
    inputs: tuple[Path, ...] = ()
    overwrite: bool = False
    index: str = ""
    failure: str = "The files cannot be written"

    @cached_property
    def _place(self) -> Path:
        """The folder itself, wherever links lead."""
        try:
            return Path(os.path.realpath(self.folder))
        except ValueError as error:  # such as a null byte
            raise OSError(0, str(error)) from error

    def check(self, names: Iterable[str]) -> None:
        """Refuse to write files of these names if they would take the place of what must stay.

        >>> Output(folder=Path("nowhere")).check(["truth.csv"])
        """
        with output_errors(self.failure):
            self._check_folder()
            with self._settled():
                self._find_replaced(list(names))

    @contextmanager
    def staged(self, names: Iterable[str] = ()) -> Iterator[Path]:
        """Give a folder to write to, whose files are put in place when all went well.

        Some ``names`` that are known beforehand can be checked before anything is written.
        """
        with output_errors(self.failure), self._missing_folders(), ExitStack() as opened:
            with self._settled() as left:
                _name_leftovers([*left, *self._find_unproved()])
                stage = opened.enter_context(stage_made(self._stage_parent(list(names))))
            yield stage / NEW
            flush_files(stage / NEW)
            with self._settled(), signals_deferred():
                self._put_in_place(stage)

    def _stage_parent(self, names: list[str]) -> Path:
        """Return where files are written first: beside the folder if it can be put in place whole, or else in it."""
        replaced = self._find_replaced(names)
        beside = not self._place.exists() or self._can_be_exchanged(replaced)
        return self._place.parent if beside else self._place

    def _check_folder(self) -> None:
        """Refuse a folder that cannot be, or cannot be written to."""
        place = self._place
        nearest = next(path for path in (place, *place.parents) if path.exists())
        if not nearest.is_dir():
            raise NotADirectoryError(0, f"{nearest if nearest != place else self.folder} is a file, not a folder")
        if not os.access(nearest, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    @contextmanager
    def _missing_folders(self) -> Iterator[None]:
        """Make the folders around this one that are missing, and remove them again after a failure."""
        self._check_folder()
        missing = [path for path in (self._place, *self._place.parents) if not path.exists()]
        try:
            for path in reversed(missing[1:]):
                with suppress(FileExistsError):  # another process was faster
                    make_folder(path)
            yield
        except BaseException:
            remove_empty(missing)
            raise

    @contextmanager
    def _settled(self) -> Iterator[list[Path]]:
        """Lock the folder and its parent, and complete what a killed process left half done; give what cannot be."""
        place = self._place
        with folders_locked(place.parent, place):
            yield [stage for folder in (place.parent, place) for stage in sweep_stages(folder, place)]

    def _find_unproved(self) -> Iterator[Path]:
        """Find what somebody else's program seems to have left here; nothing of it is touched."""
        for folder in (self._place.parent, self._place):
            yield from find_unproved(folder, STAGE_PREFIX)

    def _find_replaced(self, names: list[str]) -> list[str]:
        """Return which files have to go for these, or refuse."""
        own = [name for name in self.find_own(self._place) if self._has(name)]
        known = set(own)
        for name in names:
            self._check_way(name, known)
            if _is_special(self._place / name):
                raise OutputError(f"{self.folder / name} is a device or a pipe, which no file replaces. {_ELSEWHERE}")
        others = [name for name in names if name not in known and _is_file(self._place / name)]
        replaced = [*own, *others]
        self._check_inputs(names, replaced)
        if others and not self.overwrite:
            raise OutputError(f"{self.folder / others[0]} is there already, and allalike did not write it. {_WAY_OUT}")
        return sorted(replaced, key=lambda name: name != self.index)

    def _has(self, name: str) -> bool:
        """Tell whether something of this name is in the folder itself, and not where a link leads."""
        return os.path.lexists(self._place / name) and not leads_through_link(self._place, name)

    def _check_way(self, name: str, own: set[str]) -> None:
        """Refuse a file where there is a folder with other things in it, or the other way round."""
        path = self._place / name
        if leads_through_link(self._place, name):
            raise OutputError(
                f"{self.folder / name} is behind a link, and nothing is written through one. {_ELSEWHERE}"
            )
        if path.is_dir() and not path.is_symlink():
            inside = {f"{name}/{inner}" for inner in _content(path)}
            if not inside or inside - own:
                raise IsADirectoryError(0, f"{self.folder / name} is a folder, not a file")
        for outer in list(Path(name).parents)[:-1]:
            if _is_file(self._place / outer) and outer.as_posix() not in own:
                raise NotADirectoryError(0, f"{self.folder / outer} is a file")

    def _check_inputs(self, names: list[str], replaced: list[str]) -> None:
        """Refuse to replace an input, or to write into a folder that is one; links lead to it, too."""
        inputs = {_identity(path): path for path in self.inputs} if names or replaced else {}
        inputs.pop(None, None)
        for name in replaced:
            if _identity(self._place / name) in inputs:
                raise OutputError(
                    f"{self.folder / name} is an input of this run, and an input is never replaced. {_ELSEWHERE}"
                )
        for folder in dict.fromkeys((self.folder / name).parent for name in names):
            if _identity(folder) in inputs:
                raise OutputError(
                    f"{folder} is an input of this run, and nothing is written into it, for it would be read as answers"
                    f" the next time. {_ELSEWHERE}"
                )

    def _put_in_place(self, stage: Path) -> None:
        new, place = stage / NEW, self._place
        names = list_files(new)
        old = self._find_replaced(names)
        if not place.exists():
            move(new, place)
        elif len(names) == 1 and set(old) <= set(names) and "/" not in names[0]:
            move(new / names[0], place / names[0])
        elif not (self._can_be_exchanged(old) and _rights(new) == _rights(place) and exchange_folders(new, place)):
            replace_files(stage, place, sorted(names, key=lambda name: name == self.index), old)

    def _can_be_exchanged(self, replaced: list[str]) -> bool:
        """Tell whether another folder can take this one's place: all in it is replaced, and nobody works in it."""
        place = self._place
        with suppress(OSError):  # the working folder may be gone
            here = Path.cwd()
            if place in (here, *here.parents):
                return False
        if place.stat().st_dev != place.parent.stat().st_dev or not os.access(place.parent, os.W_OK):
            return False
        outermost = {name.partition("/")[0] for name in replaced}
        if any(entry.name not in outermost for entry in place.iterdir()):  # before all of a large folder is listed
            return False
        return _content(place) <= set(replaced)


def _name_leftovers(left: list[Path]) -> None:
    """Say in one line what lies there and is nobody's as far as can be known."""
    if left:
        names = ", ".join(map(str, left[:3])) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warnings.warn(
            LeftoverWarning(
                f"Left alone: {names}. Nothing proves that a program of yours made it, or it cannot be completed."
                " Remove it if nobody needs it."
            ),
            stacklevel=2,
        )


def _is_special(path: Path) -> bool:
    """Tell whether something is there that is neither a file nor a folder, such as a device or a pipe."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _content(folder: Path) -> set[str]:
    """Name all that is in a folder, at any depth: files, links, and folders that are empty."""
    found: set[str] = set()
    for place, folders, files in os.walk(folder):
        inner = Path(place)
        links = [name for name in folders if (inner / name).is_symlink()]
        found.update((inner / name).relative_to(folder).as_posix() for name in (*files, *links))
        if not (folders or files) and inner != folder:
            found.add(inner.relative_to(folder).as_posix())
    return found


def _rights(folder: Path) -> tuple[int, int, int]:
    status = folder.stat()
    return status.st_uid, status.st_gid, status.st_mode


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file from all others, by whatever path it is reached."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
