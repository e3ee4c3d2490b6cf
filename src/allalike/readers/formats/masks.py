"""Folders of masks: one image per answer, in a folder per task or per worker, or listed in ``manifest.csv``.

Whether ``a/b.png`` is the mask of task ``a`` by worker ``b`` or the other way round is said by the user, or found out
where that is safe (`allalike.readers.formats.layouts`). The masks of a task must have one size; a file that has another
one is named before any mask is read.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from allalike._core.masks.files import ARRAYS, PICTURES, MaskFile, picture_size
from allalike._core.masks.volumes import VOLUMES, is_volume, nibabel
from allalike.errors import ColumnError, InputError, OptionError
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.formats.layouts import TASKS_OUTSIDE, Picture, check_sizes, guess_layout
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

__all__ = ["ENDINGS", "MANIFEST", "open_masks"]

ENDINGS = (*PICTURES, *ARRAYS, *VOLUMES)
MANIFEST = "manifest.csv"

_ADVICE = f"Give a {MANIFEST} in it, with the columns worker, task and path."


def open_masks(folder: str | os.PathLike[str], layout: str | None = None) -> Table:
    """Open a folder of masks as a table of workers, tasks and labels; the images are read later.

    Parameters
    ----------
    folder
        Where the masks are.
    layout
        ``tasks/workers`` for one folder per task, ``workers/tasks`` for one per worker; guessed where that is safe.

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
        found = layout or guess_layout(root, pictures, _ADVICE)
        check_sizes(pictures, found, guessed=layout is None)
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


def _found(pictures: Sequence[Picture], layout: str) -> dict[str, list[object]]:
    """List the images of all folders."""
    outer, inner = [p.folder for p in pictures], [p.stem for p in pictures]
    worker, task = (inner, outer) if layout == TASKS_OUTSIDE else (outer, inner)
    return {"worker": [*worker], "task": [*task], "label": [MaskFile(str(p.path)) for p in pictures]}


def _pictures(root: Path) -> list[Picture]:
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
        return [Picture(name, _stem(path), path, picture_size(path)) for name, path in paths]
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


def _compare_names(pictures: Sequence[Picture]) -> Iterable[str]:
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
