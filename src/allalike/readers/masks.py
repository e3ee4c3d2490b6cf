"""Folders of masks: one image per answer, in a folder per task or per worker, or listed in ``manifest.csv``.

Whether ``a/b.png`` is the mask of task ``a`` by worker ``b`` or the other way round is found out by what must hold,
then by what is likely: masks of a task have one size; a task has several masks; folders or files that are called
``task``, ``image``, ``worker`` or ``annotator`` are that; and masks of the same task look alike, while masks of
the same worker do not. Where all that says nothing, the user must: a manifest has the columns worker, task and path.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from allalike.distances.overlap import common_area, jaccard
from allalike.errors import ColumnError, InputError
from allalike.masks.files import MaskFile, picture_size, pillow, read_picture
from allalike.masks.packed import Mask
from allalike.readers.delimited import open_delimited
from allalike.readers.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from allalike.masks.packed import Pixels

__all__ = ["ENDINGS", "MANIFEST", "layout", "open_masks"]

ENDINGS = (".png", ".tif", ".tiff")
MANIFEST = "manifest.csv"

_SAMPLE_SIZE = 8  # of folders, and of files of each, that are looked into
_MAX_DISTANCE_RATIO = 0.9  # of the mean distance of a task's masks to that of a worker's, for the two to differ
_WORKER_WORDS = r"(?<![a-z])(worker|annotator|rater|user|m?turk|labell?er)"
_TASK_WORDS = r"(?<![a-z])(task|image|img|item|question|scan|slide|picture|photo)"
_ADVICE = f"Give a {MANIFEST} in it, with the columns worker, task and path."


@dataclass(frozen=True)
class _Picture:
    """An image, with its folder and its file name without ending."""

    folder: str
    stem: str
    path: Path


def open_masks(folder: str | os.PathLike[str]) -> Table:
    """Open a folder of masks as a table of workers, tasks and labels; the images are read later.

    >>> import tempfile
    >>> from allalike.masks.files import write_pictures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for task in ("task1", "task2"):
    ...         _ = write_pictures([np.ones((2, 2), np.bool_)] * 2, ["ada", "bob"], Path(folder, task))
    ...     table = open_masks(folder)
    ...     table.load(["worker", "task"])
    {'worker': ['ada', 'bob', 'ada', 'bob'], 'task': ['task1', 'task1', 'task2', 'task2']}
    """
    root = Path(folder)
    pillow()
    laid_out = layout(root)
    columns = _listed(root) if laid_out == MANIFEST else _found(root, laid_out)
    return Table(list(columns), lambda asked: {name: columns[name] for name in asked}, str(root), layout=laid_out)


def layout(folder: str | os.PathLike[str]) -> str:
    """Tell how masks lie in a folder: ``task/worker``, ``worker/task``, or as ``manifest.csv`` says.

    >>> import tempfile
    >>> from allalike.masks.files import write_pictures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for worker in ("ada", "bob"):
    ...         _ = write_pictures([np.ones((2, 2), np.bool_)], ["lung"], Path(folder, worker))
    ...     layout(folder)
    'worker/task'
    """
    root = Path(folder)
    if (root / MANIFEST).is_file():
        return MANIFEST
    return "task/worker" if _tasks_outside(root, _pictures(root)) else "worker/task"


def _listed(root: Path) -> dict[str, list[object]]:
    """Read the manifest; paths in it begin at its folder, and must not leave it."""
    where = _within(root, root / MANIFEST)
    table = open_delimited(where)
    names = {name.strip().lower(): name for name in table.names}
    for role in ("worker", "task", "path"):
        if role not in names:
            raise ColumnError(f"{where} has no column {role!r}. It must have the columns worker, task and path.")
    loaded = table.load(list(names.values()))
    columns = {role: loaded[names[role]].to_pylist() for role in ("worker", "task", "path")}
    for row, path in enumerate(columns["path"], 1):
        if not path:
            raise InputError(f"Row {row} of {where} has no path.")
        if not _within(root, root / path).is_file():
            raise InputError(f"Row {row} of {where} names {path!r}, but there is no such file in {root}.")
    return {
        "worker": [worker or None for worker in columns["worker"]],
        "task": [task or None for task in columns["task"]],
        "label": [MaskFile(str(root / path)) for path in columns["path"]],
    }


def _found(root: Path, laid_out: str) -> dict[str, list[object]]:
    """List the images of all folders."""
    pictures = _pictures(root)
    outer, inner = [p.folder for p in pictures], [p.stem for p in pictures]
    worker, task = (inner, outer) if laid_out == "task/worker" else (outer, inner)
    return {"worker": [*worker], "task": [*task], "label": [MaskFile(str(p.path)) for p in pictures]}


def _pictures(root: Path) -> list[_Picture]:
    pictures = [
        _Picture(inner.name, path.stem, path)
        for inner in _entries(root, root)
        if inner.is_dir()
        for path in _entries(root, inner)
        if _is_image(path)
    ]
    loose = [path for path in _entries(root, root) if _is_image(path)]
    deep = [path for path in root.glob("[!.]*/[!.]*/[!.]*") if _is_image(path)]
    if not pictures and not loose and not deep:
        raise InputError(
            f"{root} is a folder with no masks in it: no {', '.join(ENDINGS)} files in folders. To read tables,"
            f" name the files, for example '{root}/*.csv'."
        )
    if loose or deep:
        odd = (loose or deep)[0].relative_to(root)
        raise InputError(
            f"It is unclear what {odd} in {root} is: masks lie in one folder per task or worker. {_ADVICE}"
        )
    twice = [place for place, times in Counter((p.folder, p.stem) for p in pictures).items() if times > 1]
    if twice:
        raise InputError(f"There are two images called {'/'.join(twice[0])} in {root}, with different endings.")
    return pictures


def _entries(root: Path, folder: Path) -> list[Path]:
    """List what is in a folder, but for hidden things; whatever leads out of the root is an error."""
    try:
        return [_within(root, path) for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}.") from error


def _within(root: Path, path: Path) -> Path:
    try:
        inside = path.resolve(strict=path.is_symlink()).is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, a name that is no name
        raise InputError(f"{path} cannot be followed: {error}.") from error
    if not inside:
        raise InputError(f"{path} leads out of {root}. Copy the masks into it.")
    return path


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_file()


def _tasks_outside(root: Path, pictures: Sequence[_Picture]) -> bool:
    """Tell whether folders are tasks and files workers."""
    for test in (_by_size, _by_number, _by_name, _by_likeness):
        answer = test(pictures)
        if answer is not None:
            return answer
    raise InputError(f"It is unclear whether the folders in {root} are tasks or workers. {_ADVICE}")


def _by_size(pictures: Sequence[_Picture]) -> bool | None:
    """Masks of a task have one size."""
    try:
        sizes = [(p, picture_size(p.path)) for p in pictures]
    except ValueError as error:
        raise InputError(f"A mask cannot be read: {error}.") from error
    by_folder, by_stem = (_constant((key(p), size) for p, size in sizes) for key in (_folder, _stem))
    if not by_folder and not by_stem:
        raise InputError(
            "The masks differ in size both within folders and between files of the same name. The masks of a task"
            f" must have the same size: resize them, or sort them into tasks with a {MANIFEST}."
        )
    return None if by_folder and by_stem else by_folder


def _constant(pairs: Iterable[tuple[str, tuple[int, int]]]) -> bool:
    """Tell whether all of the same key have the same value."""
    seen: dict[str, tuple[int, int]] = {}
    return all(seen.setdefault(key, value) == value for key, value in pairs)


def _folder(picture: _Picture) -> str:
    return picture.folder


def _stem(picture: _Picture) -> str:
    return picture.stem


def _by_number(pictures: Sequence[_Picture]) -> bool | None:
    """A task has several masks, so names that never recur are not those of tasks."""
    recurs = [max(Counter(map(key, pictures)).values()) > 1 for key in (_folder, _stem)]
    return recurs[0] if recurs[0] != recurs[1] else None


def _by_name(pictures: Sequence[_Picture]) -> bool | None:
    """Names may say what they name."""
    outside = _said(map(_folder, pictures)), _said(map(_stem, pictures))
    said = {answer for answer in (outside[0], None if outside[1] is None else not outside[1]) if answer is not None}
    return said.pop() if len(said) == 1 else None


def _said(names: Iterable[str]) -> bool | None:
    """Tell whether all names are called like tasks, or like workers."""
    every = list(names)
    are_tasks, are_workers = (
        all(re.search(words, name.lower()) for name in every) for words in (_TASK_WORDS, _WORKER_WORDS)
    )
    return are_tasks if are_tasks != are_workers else None


def _by_likeness(pictures: Sequence[_Picture]) -> bool | None:
    """Masks of a task are alike, masks of a worker are not; some of them are looked at."""
    folders, stems = (
        {name for name, _ in Counter(map(key, pictures)).most_common(_SAMPLE_SIZE)} for key in (_folder, _stem)
    )
    sample = [p for p in pictures if p.folder in folders and p.stem in stems]
    try:
        masks = {p: Mask.of(_not_zero(p.path)) for p in sample}
    except ValueError as error:
        raise InputError(f"A mask cannot be read: {error}.") from error
    within_folder, within_stem = (_mean_distance(masks, key) for key in (_folder, _stem))
    if not min(within_folder, within_stem) < _MAX_DISTANCE_RATIO * max(within_folder, within_stem):
        return None
    return within_folder < within_stem


def _not_zero(path: Path) -> Pixels:
    values = read_picture(path, colours=True)
    pixels: Pixels = np.any(values.reshape(*values.shape[:2], -1) != 0, axis=2)
    return pixels


def _mean_distance(masks: dict[_Picture, Mask], key: Callable[[_Picture], str]) -> float:
    """Average the Jaccard distance of all pairs of masks with the same key; NaN if there are none."""
    pairs = [(masks[a], masks[b]) for a, b in combinations(masks, 2) if key(a) == key(b)]
    areas = np.array([(a.area, b.area, common_area(a, b)) for a, b in pairs], np.int64).reshape(-1, 3)
    return float(jaccard(*areas.T).mean()) if len(areas) else float("nan")
