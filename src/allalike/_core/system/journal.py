"""Journal: many files of a folder are replaced as if in one step, which the next who writes there completes.

New files wait in a stage, a hidden folder on the same disk. Once the journal in it is written, they will be put in
place, whatever happens. What they replace goes away before the first of them comes, so that files of two results never
stand side by side, even if the process is killed in between.

A journal is signed, and so is the name of its stage: only what a program of this user began is completed, and only in
the folder that is being written to. All else is left alone.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from allalike._core.system.claims import CLAIM, claim_folder, draw_name, find_abandoned, find_forgotten, is_proved
from allalike._core.system.files import atomic_file
from allalike._core.system.json_text import parse_json
from allalike._core.system.moves import is_link, make_folder, move, remove_empty, remove_tree
from allalike._core.system.proof import is_signed, sign
from allalike._core.system.signals import signals_deferred

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["NEW", "STAGE_PREFIX", "find_interrupted", "replace_files", "stage_made", "sweep_stages"]

NEW = "new"
STAGE_PREFIX = ".allalike-"
_OLD = "old"
_JOURNAL = "journal.json"


@contextmanager
def stage_made(parent: Path) -> Iterator[Path]:
    """Make a stage, and remove it in the end, unless its journal could not be completed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(os.path.realpath(folder))
    ...     with stage_made(here) as stage:
    ...         [path.name for path in stage.iterdir() if path.is_dir()]
    ...     list(here.iterdir())
    ['new']
    []
    """
    stage = parent / draw_name(parent, STAGE_PREFIX)
    claim = None
    try:
        with signals_deferred():
            make_folder(stage)  # with the rights of any other folder: executors of Spark write into it
            claim = claim_folder(stage)
            make_folder(stage / NEW)
        yield stage
    finally:
        with signals_deferred():
            if claim is not None:
                claim.close()
            if not (stage / _JOURNAL).exists():
                _remove(stage)


def _remove(stage: Path) -> None:
    """Remove a stage; the claim, by which the next knows what was left if this is killed, goes last."""
    for path in (stage / NEW, stage / _OLD, stage):
        remove_tree(path)


def sweep_stages(parent: Path, folder: Path) -> list[Path]:
    """Remove the stages that killed processes left in one folder, and complete those of another, which are both locked.

    Return those that should be completed and cannot be.
    """
    ended = list(find_abandoned(parent, STAGE_PREFIX))
    for stage in parent.glob(f"{STAGE_PREFIX}*"):
        begun = any(os.path.lexists(stage / name) for name in (CLAIM, NEW, _JOURNAL))
        if not begun and is_proved(stage, STAGE_PREFIX):  # killed right away
            remove_tree(stage)
    ended += [stage for stage in find_forgotten(parent, STAGE_PREFIX) if stage not in ended]
    return [stage for stage in ended if not _clear(stage, folder)]


def find_interrupted(folder: Path) -> Path | None:
    """Return the stage whose journal names files that are still to be put into a folder, whoever wrote it.

    >>> find_interrupted(Path("nowhere"))
    """
    place = Path(os.path.realpath(folder))
    for parent in (place, place.parent):
        for journal in parent.glob(f"{STAGE_PREFIX}*/{_JOURNAL}"):
            with suppress(OSError, ValueError, TypeError, KeyError):
                if journal.is_file() and not is_link(journal) and not is_link(journal.parent):
                    name = parse_json(journal.read_text(encoding="utf-8"))["folder"]
                    if name == os.path.relpath(place, parent):
                        return journal.parent
    return None


def _clear(stage: Path, folder: Path) -> bool:
    """Complete what a journal says of a folder, if there is one, and remove the stage; tell whether it was possible."""
    if os.path.lexists(stage / _JOURNAL):
        plan = _read_plan(stage)
        if plan is None:
            return False
        if stage.parent / plan.folder != folder:
            return True  # it is left to whoever writes there next
        try:
            _complete(stage, plan)
        except OSError:
            return False
    _remove(stage)
    return True


@dataclass(frozen=True)
class _Plan:
    """What is to be done: new files come into a folder, which is named from the stage's parent, and old ones go."""

    folder: str
    new: Sequence[str]
    old: Sequence[str]

    def message(self, stage: Path) -> bytes:
        """Return what is signed: what will be done, and where."""
        text = json.dumps(asdict(self), sort_keys=True)
        return b"a journal: " + os.fsencode(os.path.realpath(stage)) + b" " + text.encode()

    def is_plain(self) -> bool:
        """Tell whether it stays in its folder."""
        return all(map(_is_plain, (*self.new, *self.old))) and (self.folder == "." or "/" not in self.folder)


def _is_plain(name: str) -> bool:
    """Tell whether a name leads to a file in a folder, or in folders in it, and nowhere else on any system.

    >>> [_is_plain(name) for name in ("a.csv", "labels/a.png", "../a.csv", "/a.csv", "C:a.csv", "labels/../../a", "")]
    [True, True, False, False, False, False, False]
    """
    windows = PureWindowsPath(name)
    return bool(name) and not windows.anchor and "\\" not in name and ".." not in PurePosixPath(name).parts


def replace_files(stage: Path, folder: Path, new: Sequence[str], old: Sequence[str]) -> None:
    """Put new files of a stage into a folder, and take old ones out of it before.

    The first of the old ones is the first to go, and the last of the new ones the last to come.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, stage_made(Path(os.path.realpath(folder))) as stage:
    ...     here = stage.parent
    ...     (here / "old.csv").touch()
    ...     (stage / NEW / "new.csv").touch()
    ...     replace_files(stage, here, ["new.csv"], ["old.csv"])
    ...     [path.name for path in here.glob("*.csv")]
    ['new.csv']
    """
    plan = _Plan(os.path.relpath(folder, stage.parent), list(new), list(old))
    with atomic_file(stage / _JOURNAL) as beside, beside.open("w", encoding="utf-8") as file:
        json.dump({**asdict(plan), "signature": sign(plan.message(stage))}, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        _complete(stage, plan)
    except OSError:
        _undo(stage, plan)
        raise


def _read_plan(stage: Path) -> _Plan | None:
    """Return what a journal says, if this user's own program wrote it."""
    try:
        said = parse_json((stage / _JOURNAL).read_text(encoding="utf-8"))
        signature = said.pop("signature")
        plan = _Plan(**said)
        return plan if is_signed(plan.message(stage), signature) and plan.is_plain() else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _complete(stage: Path, plan: _Plan) -> None:
    """Do what is to be done; whatever of it is done already is left as it is."""
    folder = _folder_of(stage, plan)
    for name in plan.old:
        if not os.path.lexists(stage / _OLD / name):
            _move(folder / name, stage / _OLD / name)
    remove_empty(place for name in plan.old for place in _folders(folder, name))
    for name in plan.new:
        if os.path.lexists(stage / NEW / name):
            if os.path.lexists(folder / name):
                raise FileExistsError(0, f"{folder / name} was made by somebody else meanwhile")
            _move(stage / NEW / name, folder / name)
    (stage / _JOURNAL).unlink()  # before the rest of the stage, or it would be completed again


def _undo(stage: Path, plan: _Plan) -> None:
    """Put the old files back."""
    folder = _folder_of(stage, plan)
    for name in reversed(plan.new):
        if not os.path.lexists(stage / NEW / name):
            _move(folder / name, stage / NEW / name)
    remove_empty(place for name in plan.new for place in _folders(folder, name))
    for name in plan.old:
        if os.path.lexists(stage / _OLD / name):
            _move(stage / _OLD / name, folder / name)
    (stage / _JOURNAL).unlink()


def _folder_of(stage: Path, plan: _Plan) -> Path:
    return stage.parent / plan.folder


def _move(path: Path, place: Path) -> None:
    with suppress(FileNotFoundError):  # somebody has removed it
        move(path, place)


def _folders(folder: Path, name: str) -> list[Path]:
    """Return the folders between a folder and one of its files."""
    return [folder / inner for inner in Path(name).parents if inner != Path()]
