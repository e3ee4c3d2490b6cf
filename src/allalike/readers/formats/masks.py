"""Folders of masks: one image per answer, in a folder per task or per worker, or listed in ``manifest.csv``.

Whether ``a/b.png`` is the mask of task ``a`` by worker ``b`` or the other way round is said by the user, or by names
of folders or files: ``task``, ``image``, ``worker``, ``annotator`` and the like. Otherwise it is asked. The masks of a
task must have one size; a file that has another one is named before any mask is read.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from allalike._core.masks.files import ARRAYS, PICTURES, MaskFile, picture_size
from allalike._core.masks.volumes import VOLUMES, is_volume, nibabel
from allalike.errors import ColumnError, InputError, OptionError, Proposal
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

ENDINGS = (*PICTURES, *ARRAYS, *VOLUMES)
MANIFEST = "manifest.csv"
LAYOUTS = TASKS_OUTSIDE, WORKERS_OUTSIDE = "tasks/workers", "workers/tasks"

_ADVICE = f"Give a {MANIFEST} in it, with the columns worker, task and path."
_WORDS = {
    "workers": re.compile(r"(?<![a-z])(worker|annotator|rater|user|m?turk|labell?er)", re.IGNORECASE),
    "tasks": re.compile(r"(?<![a-z])(task|image|img|item|question|scan|slide|picture|photo)", re.IGNORECASE),
}


class _Picture(NamedTuple):
    """An image, with its folder, its file name without ending, and its height and width."""

    folder: str
    stem: str
    path: Path
    size: tuple[int, ...]


def open_masks(folder: str | os.PathLike[str], layout: str | None = None) -> Table:
    """Open a folder of masks as a table of workers, tasks and labels; the images are read later.

    >>> import tempfile
    >>> import numpy as np
    >>> from allalike._core.masks.files import write_masks
    >>> from allalike._core.masks.packed import Mask
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for task in ("task1", "task2"):
    ...         _ = write_masks([Mask.of(np.ones((2, 2), np.bool_))] * 2, ["ada", "bob"], Path(folder, task))
    ...     table = open_masks(folder)
    ...     table.load(["worker", "task"])
    {'worker': ['ada', 'bob', 'ada', 'bob'], 'task': ['task1', 'task1', 'task2', 'task2']}
    """
    root = Path(folder)
    remarks: tuple[str, ...] = ()
    if (root / MANIFEST).is_file():
        if layout is not None:
            raise OptionError(f"{root} has a {MANIFEST}, which says where masks lie. Leave the layout out.")
        columns, found = _listed(root), MANIFEST
    else:
        pictures = _pictures(root)
        found = layout or _find_layout(root, pictures)
        _check_sizes(pictures, found, guessed=layout is None)
        columns, remarks = _found(pictures, found), tuple(_compare_names(pictures))
    return Table(
        list(columns), lambda asked: {name: columns[name] for name in asked}, str(root), layout=found, remarks=remarks
    )


def _listed(root: Path) -> dict[str, list[object]]:
    """Read the manifest; paths in it begin at its folder, and must not leave it."""
    where = _within(root, root / MANIFEST)
    table = open_delimited(where)
    names = {name.strip().lower(): name for name in table.names}
    for role in ("worker", "task", "path"):
        if role not in names:
            raise ColumnError(
                f"{where} has no column {role!r}. It needs three, for example:",
                lines=["worker,task,path", "ada,photo1,ada/photo1.png"],
            )
    loaded = table.load(list(names.values()))
    columns = {role: loaded[names[role]].to_pylist() for role in ("worker", "task", "path")}
    for row, path in enumerate(columns["path"], 1):
        if not path:
            raise InputError(f"Row {row} of {where} has no path.")
        if not _within(root, root / path).is_file():
            raise InputError(f"Row {row} of {where} names {path!r}, but there is no such file in {root}.")
    _check_readable(map(Path, columns["path"]))
    return {
        "worker": [worker or None for worker in columns["worker"]],
        "task": [task or None for task in columns["task"]],
        "label": [MaskFile(str(root / path)) for path in columns["path"]],
    }


def _find_layout(root: Path, pictures: Sequence[_Picture]) -> str:
    """Tell by names how masks lie in a folder, or ask."""
    folders, stems = {picture.folder for picture in pictures}, {picture.stem for picture in pictures}
    outer, inner = _find_kind(folders), _find_kind(stems)
    fitting = [layout for layout in LAYOUTS if layout.startswith(outer) and layout.endswith(inner)]
    if len(fitting) == 1:
        return fitting[0]
    best_first = sorted(LAYOUTS, key=lambda layout: len(_find_odd(pictures, layout)))
    raise InputError(
        f"It is unclear whether the folders in {root} are tasks or workers: {' or '.join(LAYOUTS)}. {_ADVICE}",
        proposals=[Proposal({"layout": layout}) for layout in best_first],
    )


def _find_kind(names: set[str]) -> str:
    """Return what all names are called like, tasks or workers; nothing if they are called like neither, or both."""
    kinds = [kind for kind, words in _WORDS.items() if all(map(words.search, names))]
    return kinds[0] if len(kinds) == 1 else ""


def _check_sizes(pictures: Sequence[_Picture], layout: str, *, guessed: bool) -> None:
    """Refuse masks of one task that differ in size, and name the file that differs from most of them.

    >>> names = {"ada": (4, 4), "bob": (9, 4), "eve": (4, 4)}
    >>> masks = [_Picture("t1", name, Path(f"t1/{name}.png"), size) for name, size in names.items()]
    >>> _check_sizes(masks, "tasks/workers", guessed=False)
    Traceback (most recent call last):
    allalike.errors.InputError: t1/bob.png has 9 x 4 pixels, but t1/ada.png has 4 x 4 pixels (height x width), and both
    are masks of task 't1'. The masks of a task must have the same size: correct the file, or leave it out.
    """
    odd = _find_odd(pictures, layout)
    if not odd:
        return
    one, other = odd[0]
    task = _name_task(one, layout)
    more = f" {len(odd) - 1:,} more differ from others of their task." if len(odd) > 1 else ""
    taken = f" The folders were taken for {layout.partition('/')[0]}." if guessed else ""
    sides = " (height x width)" if len(one.size) == 2 else ""
    opposite = LAYOUTS[1 - LAYOUTS.index(layout)]
    raise InputError(
        f"{_sized(one)}, but {_sized(other)}{sides}, and both are masks of task {task!r}.{more} The masks of"
        f" a task must have the same size: correct the file, or leave it out.{taken}",
        proposals=[Proposal({"layout": opposite})] if guessed and not _find_odd(pictures, opposite) else [],
    )


def _find_odd(pictures: Sequence[_Picture], layout: str) -> list[tuple[_Picture, _Picture]]:
    """Return masks that differ in size from most of their task, each with the first of those."""
    tasks: dict[str, list[_Picture]] = {}
    for picture in pictures:
        tasks.setdefault(_name_task(picture, layout), []).append(picture)
    odd = []
    for masks in tasks.values():
        usual = Counter(picture.size for picture in masks).most_common(1)[0][0]
        first = next(picture for picture in masks if picture.size == usual)
        odd += [(picture, first) for picture in masks if picture.size != usual]
    return odd


def _name_task(picture: _Picture, layout: str) -> str:
    return picture.folder if layout == TASKS_OUTSIDE else picture.stem


def _sized(picture: _Picture) -> str:
    unit = "pixels" if len(picture.size) == 2 else "voxels"
    return f"{picture.path} has {' x '.join(map(str, picture.size))} {unit}"


def _found(pictures: Sequence[_Picture], layout: str) -> dict[str, list[object]]:
    """List the images of all folders."""
    outer, inner = [p.folder for p in pictures], [p.stem for p in pictures]
    worker, task = (inner, outer) if layout == TASKS_OUTSIDE else (outer, inner)
    return {"worker": [*worker], "task": [*task], "label": [MaskFile(str(p.path)) for p in pictures]}


def _pictures(root: Path) -> list[_Picture]:
    paths = [
        (inner.name, path)
        for inner in _entries(root, root)
        if inner.is_dir()
        for path in _entries(root, inner)
        if _is_image(path)
    ]
    loose = [path for path in _entries(root, root) if _is_image(path)]
    deep = [path for path in sorted(root.rglob("*")) if _is_deep(path.relative_to(root)) and _is_image(path)]
    if not paths and not loose and not deep:
        raise InputError(
            f"{root} is a folder with no masks in it: no {', '.join(ENDINGS)} files in folders. To read tables,"
            f" name the files, for example '{root}/*.csv'."
        )
    if loose or deep:
        odd = (loose or deep)[0].relative_to(root)
        raise InputError(
            f"It is unclear what {odd} in {root} is: masks lie in one folder per task or worker. {_ADVICE}"
        )
    twice = [place for place, times in Counter((name, _stem(path)) for name, path in paths).items() if times > 1]
    if twice:
        raise InputError(f"There are two images called {'/'.join(twice[0])} in {root}, with different endings.")
    _check_readable(path for _, path in paths)
    try:
        return [_Picture(name, _stem(path), path, picture_size(path)) for name, path in paths]
    except ValueError as error:
        raise InputError(f"A mask cannot be read: {error}.") from error


def _check_readable(paths: Iterable[Path]) -> None:
    """Raise an error if there are volumes, and the package that reads them is missing."""
    if any(map(is_volume, paths)):
        nibabel()


def _stem(path: Path) -> str:
    """Return the name of a file without its ending, which may be that of a packed volume.

    >>> _stem(Path("ada.v2.png")), _stem(Path("ada.v2.nii.gz"))
    ('ada.v2', 'ada.v2')
    """
    return re.sub(r"\.nii(\.gz)?$", "", path.name, flags=re.IGNORECASE) if is_volume(path) else path.stem


def _is_deep(path: Path) -> bool:
    return len(path.parts) > 2 and not any(part.startswith(".") for part in path.parts)


def _compare_names(pictures: Sequence[_Picture]) -> Iterable[str]:
    """Say which names differ in their case only, for they name different things."""
    names = {p.folder for p in pictures}, {p.stem for p in pictures}
    for several in names:
        seen: dict[str, str] = {}
        for name in sorted(several):
            if (other := seen.setdefault(name.casefold(), name)) != name:
                yield f"{other!r} and {name!r} differ in case only, and are taken for different ones. Rename the files."
                break


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
    return path.name.lower().endswith(ENDINGS) and path.is_file()
