"""Folders of masks: one image per answer, in a folder per task or per worker, or listed in ``manifest.csv``.

In ``a/b.png``, the task is either the folder or the file. The layout option decides, or names such as ``task``,
``image``, ``worker`` or ``annotator``. Otherwise an error asks for the layout.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from allalike._core.masks import ARRAYS, PICTURES, VOLUMES, MaskFile
from allalike.errors import ColumnError, InputError, OptionError, Proposal
from allalike.readers.formats.files import MANIFEST
from allalike.readers.formats.read_errors import unreadable
from allalike.readers.formats.source import Source, of_columns
from allalike.readers.formats.text import open_delimited

ENDINGS = (*PICTURES, *ARRAYS, *VOLUMES)
LAYOUTS = ("tasks/workers", "workers/tasks")

_ENDING = re.compile(r"(\.nii\.gz|\.\w+)$", re.IGNORECASE)
_ADVICE = f"Add a {MANIFEST} to it, with the columns worker, task and path."
_WORDS = {
    "workers": re.compile(r"(?<![a-z])(worker|annotator|rater|user|m?turk|labell?er)", re.IGNORECASE),
    "tasks": re.compile(r"(?<![a-z])(task|image|img|item|question|scan|slide|picture|photo)", re.IGNORECASE),
}


def open_masks(folder: str | os.PathLike[str], layout: str | None = None) -> Source:
    """Open a folder of masks as a table of workers, tasks and labels; the images are read later."""
    root = Path(folder)
    if (root / MANIFEST).is_file():
        if layout is not None:
            raise OptionError(f"{root} has a {MANIFEST}, which lists the masks. Omit the layout.")
        return of_columns(_read_manifest(root), str(root), guessed={"layout": MANIFEST})
    paths = _list_images(root)
    folders, stems = [path.parent.name for path in paths], [_ENDING.sub("", path.name) for path in paths]
    if len(twice := Counter(zip(folders, stems, strict=True))) < len(paths):
        name = "/".join(twice.most_common(1)[0][0])
        raise InputError(f"{root} has two images called {name}, with different endings. Remove or rename one.")
    found = layout or _find_layout(root, set(folders), set(stems))
    workers, tasks = (stems, folders) if found == LAYOUTS[0] else (folders, stems)
    labels = [MaskFile(str(path)) for path in paths]
    return of_columns({"worker": workers, "task": tasks, "label": labels}, str(root), guessed={"layout": found})


def _read_manifest(root: Path) -> dict[str, list[object]]:
    """Read the manifest; its paths are relative to its folder, and must stay inside it."""
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
            raise InputError(f"Row {row} of {where} has no path. Add the path of its mask, or remove the row.")
        if not _within(root, root / path).is_file():
            raise InputError(f"Row {row} of {where} lists {path!r}, but {root} contains no such file.")
    labels = [MaskFile(str(root / path)) for path in paths]
    return {"worker": [each or None for each in worker], "task": [each or None for each in task], "label": [*labels]}


def _list_images(root: Path) -> list[Path]:
    """List the images in the subfolders of a folder, and refuse images at other depths."""
    try:
        inner = [folder for folder in root.iterdir() if folder.is_dir() and folder.name[0] != "."]
        listed = {*root.rglob("*"), *(path for folder in inner for path in folder.iterdir())}  # rglob follows no links
    except OSError as error:
        raise unreadable(root, error) from error
    shown = [path for path in sorted(listed) if not any(part[0] == "." for part in path.relative_to(root).parts)]
    images = [path for path in shown if _within(root, path).name.lower().endswith(ENDINGS) and path.is_file()]
    if not images:
        raise InputError(
            f"{root} contains no masks: no {', '.join(ENDINGS)} files in subfolders. To read tables, name the files,"
            f" for example '{root}/*.csv'."
        )
    for path in (path.relative_to(root) for path in images):
        if len(path.parts) != 2:
            raise InputError(f"{path} in {root} is not in a folder of a task or worker, as masks should be. {_ADVICE}")
    return images


def _find_layout(root: Path, folders: set[str], stems: set[str]) -> str:
    """Return the layout of a folder of masks by its names, or raise an error that asks for it."""
    kinds = []
    for names in (folders, stems):
        named = [kind for kind, words in _WORDS.items() if all(map(words.search, names))]
        kinds.append(named[0] if len(named) == 1 else "")
    fitting = [layout for layout in LAYOUTS if layout.startswith(kinds[0]) and layout.endswith(kinds[1])]
    if len(fitting) == 1:
        return fitting[0]
    raise InputError(
        f"It is unclear whether the folders in {root} are tasks or workers: {' or '.join(LAYOUTS)}. {_ADVICE}",
        proposals=[Proposal({"layout": layout}) for layout in LAYOUTS],
    )


def _within(root: Path, path: Path) -> Path:
    try:
        inside = path.resolve(strict=path.is_symlink()).is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # such as a link to itself, or an invalid name
        raise InputError(f"{path} cannot be followed: {error}.") from error
    if not inside:
        raise InputError(f"{path} leads out of {root}. Copy the masks into that folder.")
    return path
