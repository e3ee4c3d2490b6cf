"""Sources: whatever answers can be read from, opened as a table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.delimited import open_delimited
from allalike.readers.failures import unreadable
from allalike.readers.files import Files
from allalike.readers.json_files import open_json, open_json_lines
from allalike.readers.masks import open_masks
from allalike.readers.parquet import open_parquet
from allalike.readers.preflib import open_orders, open_soc
from allalike.readers.tables import Table, join, of_frame, of_records
from allalike.readers.tools import find_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ENDINGS", "is_path", "matching", "open_files", "open_table"]

ENDINGS: dict[str, Callable[[Path], Table]] = {
    ".csv": open_delimited,
    ".tsv": partial(open_delimited, delimiter="\t"),
    ".tab": partial(open_delimited, delimiter="\t"),
    ".jsonl": open_json_lines,
    ".ndjson": open_json_lines,
    ".json": open_json,
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".soc": open_soc,
    ".soi": open_orders,
    ".toc": open_orders,
    ".toi": open_orders,
}


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
    paths = [path for source in sources for path in matching(Path(source))]
    tool = find_tool(paths, files.tool)
    if tool is not None:
        return tool.open(paths, files)
    return join([_open(path) for path in paths])


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


def _open(path: Path) -> Table:
    if path.is_dir():
        return open_masks(path)
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    opener = ENDINGS.get(suffixes[-1]) if suffixes else None
    if opener is None:
        raise InputError(f"The ending of {path} says nothing about its format. Known endings: {', '.join(ENDINGS)}.")
    try:
        return opener(path)
    except OSError as error:
        raise unreadable(path, error) from error
