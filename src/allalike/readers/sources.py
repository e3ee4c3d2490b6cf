"""Sources: whatever answers can be read from, opened as a table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.files import Files
from allalike.readers.formats import ENDINGS, open_file
from allalike.readers.masks import MANIFEST, open_masks
from allalike.readers.parquet import PARQUET_ENDINGS, open_parts
from allalike.readers.tables import Table, join, of_frame, of_records
from allalike.readers.tools import find_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_path", "matching", "open_files", "open_table"]

_MANY_FILES = 1000  # of a folder, by which it is told what is in it


def open_table(source: Any, files: Files | None = None) -> Table:
    """Open a path, several paths, a frame, or records as a table; files as is said about them.

    >>> open_table({"worker": ["ada"], "task": [1], "label": ["x"]}).names
    ['worker', 'task', 'label']
    """
    if is_path(source):
        return open_files([source], files or Files())
    if isinstance(source, list | tuple) and source and all(is_path(item) for item in source):
        return open_files(source, files or Files())
    if isinstance(source, Mapping):
        return _of_mapping(source)
    if hasattr(source, "__arrow_c_stream__") and (hasattr(source, "columns") or hasattr(source, "schema")):
        return of_frame(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return of_records(source)
    raise InputError(
        f"Answers cannot be read from {type(source).__name__}. Give a path, a pandas, polars or pyarrow table, or rows"
        " of (worker, task, label)."
    )


def _of_mapping(source: Mapping[Any, Any]) -> Table:
    for name, values in source.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"The column {name!r} is {values!r}. Give the values of all rows, in a list.")
    columns = {str(name): list(values) for name, values in source.items()}
    if len({len(values) for values in columns.values()}) > 1:
        listed = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
        raise InputError(f"The columns are not equally long: {listed}.")
    return Table(list(columns), lambda names: {name: columns[name] for name in names})


def is_path(source: object) -> bool:
    """Tell whether this names a file.

    >>> is_path("answers.csv"), is_path(("ada", 1, "x"))
    (True, False)
    """
    return isinstance(source, str | os.PathLike)


def open_files(sources: Sequence[str | os.PathLike[str]], files: Files) -> Table:
    """Open one file, several, or all that match a pattern, as one table; exports of a tool by its own reader."""
    paths = [path for source in sources for path in matching(_as_path(source))]
    tool = find_tool(paths, files.tool)
    if tool is not None:
        return tool.open(paths, files)
    return join([_open_folder(path, files) if path.is_dir() else open_file(path, files) for path in paths])


def _as_path(source: str | os.PathLike[str]) -> Path:
    """Return a path, which may have a name of its own for messages."""
    return source if isinstance(source, Path) else Path(source)


def matching(path: Path) -> list[Path]:
    """Return the file that a path names, or all that match it if it is a pattern.

    >>> matching(Path("answers.csv"))
    [PosixPath('answers.csv')]
    """
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise InputError(f"No file matches {str(path)!r}.")
    return found


def _open_folder(folder: Path, files: Files) -> Table:
    """Open a folder of masks, of Parquet files at any depth, or of other files of one format."""
    inside = list(
        islice((path for path in folder.rglob("*") if path.name[0] not in "._" and path.is_file()), _MANY_FILES)
    )
    endings = {path.suffix.lower() for path in inside}
    if (folder / MANIFEST).is_file() or not endings:
        return open_masks(folder)
    if endings & set(PARQUET_ENDINGS):
        return open_parts(folder)
    flat = all(path.parent == folder for path in inside)
    if flat and len(endings) == 1 and endings <= set(ENDINGS):
        return _open_flat(folder, files)
    return open_masks(folder)


def _open_flat(folder: Path, files: Files) -> Table:
    """Open all files of a folder as one table; they must belong together."""
    table = open_files(sorted(path for path in folder.iterdir() if path.name[0] not in "._"), files)
    if any(set(part.names) != set(table.names) for part in table.parts):
        raise InputError(f"{folder} is a folder of files with different columns. Name those that are to be read.")
    return table
