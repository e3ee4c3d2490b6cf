"""Journal: many files of a folder are replaced as if in one step, which the next who writes there completes.

New files wait in a stage, a hidden folder on the same disk. Once the journal in it is written, they will be put in
place, whatever happens. What they replace goes away before the first of them comes, so that files of two results never
stand side by side, even if the process is killed in between.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.system.claims import CLAIM, claim_folder, find_abandoned, find_forgotten
from allalike.system.files import atomic_file, remove_empty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["NEW", "replace_files", "stage_made", "sweep_stages"]

NEW = "new"
_OLD = "old"
_JOURNAL = "journal.json"
_STAGE_PREFIX = ".allalike-"


@contextmanager
def stage_made(parent: Path) -> Iterator[Path]:
    """Make a stage, and remove it in the end, unless its journal could not be completed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with stage_made(Path(folder)) as stage:
    ...         [path.name for path in stage.iterdir() if path.is_dir()]
    ...     list(Path(folder).iterdir())
    ['new']
    []
    """
    stage = parent / f"{_STAGE_PREFIX}{uuid.uuid4().hex}"
    stage.mkdir()  # with the rights of any other folder: executors of Spark write into it
    claim = None
    try:
        claim = claim_folder(stage)
        (stage / NEW).mkdir()
        yield stage
    finally:
        if claim is not None:
            claim.close()
        if not (stage / _JOURNAL).exists():
            shutil.rmtree(stage, ignore_errors=True)


def sweep_stages(parent: Path) -> None:
    """Complete and remove the stages that killed processes left in a folder, which is locked, and their half files."""
    for stage in find_abandoned(parent, f"{_STAGE_PREFIX}*"):
        _clear(stage)
    for stage in parent.glob(f"{_STAGE_PREFIX}*"):
        if stage.is_dir() and not any((stage / name).exists() for name in (CLAIM, NEW)):  # killed right away
            shutil.rmtree(stage, ignore_errors=True)
    for left in find_forgotten(parent, f"{_STAGE_PREFIX}{'[0-9a-f]' * 32}*"):
        _clear(left)


def _clear(left: Path) -> None:
    """Complete what a journal says, if there is one, and remove what is left."""
    with suppress(OSError):
        if left.is_file():
            left.unlink()
        elif (left / _JOURNAL).exists():
            _complete(left)
        shutil.rmtree(left, ignore_errors=True)


def replace_files(stage: Path, folder: Path, new: Sequence[str], old: Sequence[str]) -> None:
    """Put new files of a stage into a folder, and take old ones out of it before.

    The first of the old ones is the first to go, and the last of the new ones the last to come.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, stage_made(Path(folder)) as stage:
    ...     Path(folder, "old.csv").touch()
    ...     Path(stage, NEW, "new.csv").touch()
    ...     replace_files(stage, Path(folder), ["new.csv"], ["old.csv"])
    ...     [path.name for path in Path(folder).glob("*.csv")]
    ['new.csv']
    """
    plan = {"folder": os.path.relpath(folder, stage.parent), "new": list(new), "old": list(old)}
    with atomic_file(stage / _JOURNAL) as beside, beside.open("w", encoding="utf-8") as file:
        json.dump(plan, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        _complete(stage)
    except OSError:
        _undo(stage)
        raise


def _read(stage: Path) -> tuple[Path, dict[str, Any]]:
    plan = json.loads((stage / _JOURNAL).read_text(encoding="utf-8"))
    return stage.parent / plan["folder"], plan


def _complete(stage: Path) -> None:
    """Do what the journal says; whatever of it is done already is left as it is."""
    folder, plan = _read(stage)
    for name in plan["old"]:
        if not os.path.lexists(stage / _OLD / name):
            _move(folder / name, stage / _OLD / name)
    remove_empty(place for name in plan["old"] for place in _folders(folder, name))
    for name in plan["new"]:
        if os.path.lexists(stage / NEW / name):
            if os.path.lexists(folder / name):
                raise FileExistsError(0, f"{folder / name} was made by somebody else meanwhile")
            _move(stage / NEW / name, folder / name)
    (stage / _JOURNAL).unlink()  # before the rest of the stage, or it would be completed again


def _undo(stage: Path) -> None:
    """Put the old files back."""
    folder, plan = _read(stage)
    for name in reversed(plan["new"]):
        if not os.path.lexists(stage / NEW / name):
            _move(folder / name, stage / NEW / name)
    remove_empty(place for name in plan["new"] for place in _folders(folder, name))
    for name in plan["old"]:
        if os.path.lexists(stage / _OLD / name):
            _move(stage / _OLD / name, folder / name)
    (stage / _JOURNAL).unlink()


def _move(path: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # somebody has removed it
        path.rename(place)


def _folders(folder: Path, name: str) -> list[Path]:
    """Return the folders between a folder and one of its files."""
    return [folder / inner for inner in Path(name).parents if inner != Path()]
