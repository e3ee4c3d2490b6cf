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

from allalike._core.masks.files import ARRAYS, PICTURES, VOLUMES, MaskFile, picture_size
from allalike.errors import ColumnError, InputError, OptionError, Proposal
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

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

    def __str__(self) -> str:
        return f"{self.path} has {' x '.join(map(str, self.size))} {'pixels' if len(self.size) == 2 else 'voxels'}"


def open_masks(folder: str | os.PathLike[str], layout: str | None = None) -> Table:
    """Open a folder of masks as a table of workers, tasks and labels; the images are read later.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("ada", "bob"):
    ...         Path(folder, f"worker_{name}").mkdir()
    ...         Image.new("L", (2, 2)).save(Path(folder, f"worker_{name}", "cell7.png"))
    ...     open_masks(folder).load(["worker", "task"])
    {'worker': ['worker_ada', 'worker_bob'], 'task': ['cell7', 'cell7']}
    """
    root = Path(folder)
    if (root / MANIFEST).is_file():
        if layout is not None:
            raise OptionError(f"{root} has a {MANIFEST}, which says where masks lie. Leave the layout out.")
        columns, found = _read_manifest(root), MANIFEST
    else:
        pictures = _list_pictures(root)
        found = layout or _find_layout(root, pictures)
        _check_sizes(pictures, found, guessed=layout is None)
        outer, inner = ("task", "worker") if found == TASKS_OUTSIDE else ("worker", "task")
        columns = {
            outer: [picture.folder for picture in pictures],
            inner: [picture.stem for picture in pictures],
            "label": [MaskFile(str(picture.path)) for picture in pictures],
        }
    names = ["worker", "task", "label"]
    return Table(names, lambda asked: {name: columns[name] for name in asked}, str(root), layout=found)


def _read_manifest(root: Path) -> dict[str, list[object]]:
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
    worker, task, paths = (loaded[names[role]].to_pylist() for role in ("worker", "task", "path"))
    for row, path in enumerate(paths, 1):
        if not path:
            raise InputError(f"Row {row} of {where} has no path.")
        if not _within(root, root / path).is_file():
            raise InputError(f"Row {row} of {where} names {path!r}, but there is no such file in {root}.")
    labels = [MaskFile(str(root / path)) for path in paths]
    return {"worker": [each or None for each in worker], "task": [each or None for each in task], "label": [*labels]}


def _list_pictures(root: Path) -> list[_Picture]:
    """List the images in the folders of a folder, and refuse any that lie elsewhere."""
    inner = [folder for folder in _entries(root, root) if folder.is_dir()]
    paths = [path for folder in (root, *inner) for path in _entries(root, folder) if _is_image(path)]
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if len(parts) > 2 and not any(part.startswith(".") for part in parts) and _is_image(path):
            paths.append(path)
    if not paths:
        raise InputError(
            f"{root} is a folder with no masks in it: no {', '.join(ENDINGS)} files in folders. To read tables,"
            f" name the files, for example '{root}/*.csv'."
        )
    elsewhere = [path for place in paths if len((path := place.relative_to(root)).parts) != 2]
    if elsewhere:
        raise InputError(
            f"It is unclear what {elsewhere[0]} in {root} is: masks lie in one folder per task or worker. {_ADVICE}"
        )
    names = [(path.parent.name, re.sub(r"(\.nii\.gz|\.\w+)$", "", path.name, flags=re.IGNORECASE)) for path in paths]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"There are two images called {'/'.join(twice[0])} in {root}, with different endings.")
    try:
        return [_Picture(*name, path, picture_size(path)) for name, path in zip(names, paths, strict=True)]
    except ValueError as error:
        raise InputError(f"{error}.") from error


def _find_layout(root: Path, pictures: Sequence[_Picture]) -> str:
    """Return how masks lie in a folder by its names, or ask."""
    kinds = []
    for names in ({picture.folder for picture in pictures}, {picture.stem for picture in pictures}):
        named = [kind for kind, words in _WORDS.items() if all(map(words.search, names))]
        kinds.append(named[0] if len(named) == 1 else "")
    fitting = [layout for layout in LAYOUTS if layout.startswith(kinds[0]) and layout.endswith(kinds[1])]
    if len(fitting) == 1:
        return fitting[0]
    best_first = sorted(LAYOUTS, key=lambda layout: len(_find_odd(pictures, layout)))
    raise InputError(
        f"It is unclear whether the folders in {root} are tasks or workers: {' or '.join(LAYOUTS)}. {_ADVICE}",
        proposals=[Proposal({"layout": layout}) for layout in best_first],
    )


def _check_sizes(pictures: Sequence[_Picture], layout: str, *, guessed: bool) -> None:
    """Refuse masks of one task that differ in size, and name the file that differs from most of them."""
    odd = _find_odd(pictures, layout)
    if not odd:
        return
    task, one, other = odd[0]
    more = f" {len(odd) - 1:,} more differ from others of their task." if len(odd) > 1 else ""
    taken = f" The folders were taken for {layout.partition('/')[0]}." if guessed else ""
    sides = " (height x width)" if len(one.size) == 2 else ""
    opposite = LAYOUTS[1 - LAYOUTS.index(layout)]
    raise InputError(
        f"{one}, but {other}{sides}, and both are masks of task {task!r}.{more} The masks of"
        f" a task must have the same size: correct the file, or leave it out.{taken}",
        proposals=[Proposal({"layout": opposite})] if guessed and not _find_odd(pictures, opposite) else [],
    )


def _find_odd(pictures: Sequence[_Picture], layout: str) -> list[tuple[str, _Picture, _Picture]]:
    """Return task and masks that differ in size from most of their task, each with the first of those."""
    tasks: dict[str, list[_Picture]] = {}
    for picture in pictures:
        tasks.setdefault(picture.folder if layout == TASKS_OUTSIDE else picture.stem, []).append(picture)
    odd = []
    for task, masks in tasks.items():
        usual = Counter(picture.size for picture in masks).most_common(1)[0][0]
        first = next(picture for picture in masks if picture.size == usual)
        odd += [(task, picture, first) for picture in masks if picture.size != usual]
    return odd


def _is_image(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS) and path.is_file()


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
