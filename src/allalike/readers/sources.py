"""Open any source of answers as a table, and list its input files."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from allalike.errors import InputError
from allalike.readers.formats.arrow import PARQUET_ENDINGS, open_parts
from allalike.readers.formats.compression import ENDINGS as PACKED
from allalike.readers.formats.compression import inner_path
from allalike.readers.formats.files import ENDINGS, MANIFEST, Files, open_file
from allalike.readers.formats.frames import find_opener
from allalike.readers.formats.read_errors import check_names
from allalike.readers.formats.remote_files import find_places, local_name
from allalike.readers.formats.source import Source, join, of_columns, of_records
from allalike.readers.tools import find_tool

FILE_COLUMN = "filename"  # the column of workers with a file each
_MANY_FILES = 1000  # inspected per folder


def open_table(source: Any, files: Files | None = None) -> Source:
    """Open a path, several paths, a frame, or records as a source; files are opened with their options."""
    if isinstance(source, Source):
        return source
    listed = source if isinstance(source, list | tuple) else [source]
    if listed and all(map(is_path, listed)):
        return open_files(listed, files or Files())
    if (opener := find_opener(source)) is not None:
        return opener(source)
    if isinstance(source, Mapping):
        return _of_mapping(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return of_records(source)
    names = getattr(getattr(source, "dtype", None), "names", None)
    if names:  # a NumPy array with named fields
        return _of_mapping({name: source[name].tolist() for name in names})
    raise InputError(
        f"Answers cannot be read from {type(source).__name__}. Pass a path, a pandas, polars, pyarrow or DuckDB table,"
        " a NumPy or SciPy matrix, a mapping {task: {worker: label}}, or rows of (worker, task, label)."
    )


def _of_mapping(source: Mapping[Any, Any]) -> Source:
    for name, values in source.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"The column {name!r} is {values!r}. Pass a list with the values of all rows.")
    check_names(list(map(str, source)), "The table")
    columns = {str(name): list(values) for name, values in source.items()}
    if len({len(values) for values in columns.values()}) > 1:
        listed = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
        raise InputError(f"The columns have different lengths: {listed}. Give one value per row in each.")
    return of_columns(columns)


def is_path(source: object) -> bool:
    """Return whether a source is the name of a file."""
    return isinstance(source, str | os.PathLike)


def open_files(sources: Sequence[str | os.PathLike[str]], files: Files) -> Source:
    """Open files, or all files that match a pattern, as one table; exports are opened with the reader of their tool."""
    paths = [path for source in sources for path in find_places(source, files.query, files.table)]
    tool = find_tool(paths, files.tool)
    if tool is None and files.worker_from is not None:
        paths = [inner for path in paths for inner in (_list_folder(path) if path.is_dir() else [path])]
        tool = find_tool(paths, files.tool)
    if tool is not None:
        return tool.open(paths, files)
    if files.worker_from is None:
        return join([_open_folder(path, files) if path.is_dir() else open_file(path, files) for path in paths])
    workers = [path.with_suffix("").stem if path.suffix.lower() in PACKED else path.stem for path in paths]
    twice = next((worker for worker in workers if workers.count(worker) > 1), None)
    if twice is not None:
        raise InputError(f"Two files are called {twice!r}, but each file is a worker. Rename one of them.")
    tables = [open_file(path, files) for path in paths]
    roles = [{**table.roles, "worker": FILE_COLUMN} for table in tables]
    named = zip(tables, workers, roles, strict=True)
    return join([table.with_constant(FILE_COLUMN, worker, roles=own) for table, worker, own in named])


def _list_folder(folder: Path) -> list[Path]:
    """Return the files in a folder that have a known extension."""
    plain = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    found = [path for path in plain if inner_path(path).suffix.lower() in ENDINGS]
    if not found:
        raise InputError(f"The folder {folder} has no files with a known ending: {', '.join(ENDINGS)}. Rename them.")
    return found


def _open_folder(folder: Path, files: Files) -> Source:
    """Open a folder of masks, of Parquet files at any depth, or of other files of one format."""
    from allalike.readers.formats.masks import open_masks

    plain = (path for path in folder.rglob("*") if path.name[0] not in "._" and path.is_file())
    inside = list(islice(plain, _MANY_FILES))
    endings = {path.suffix.lower() for path in inside}
    if (folder / MANIFEST).is_file() or not endings:
        return open_masks(folder, files.layout)
    if endings & set(PARQUET_ENDINGS):
        return open_parts(folder)
    if len(endings) > 1 or not endings <= set(ENDINGS) or any(path.parent != folder for path in inside):
        return open_masks(folder, files.layout)
    table = open_files(sorted(path for path in folder.iterdir() if path.name[0] not in "._"), files)
    if any(set(part.names) != set(table.names) for part in table.parts):
        raise InputError(f"The files in {folder} have different columns. Name the files to read.")
    return table


def find_inputs(source: Any) -> tuple[Path, ...]:
    """Return the local files and folders from which answers or gold labels are read."""
    names: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if hasattr(source, "inputFiles"):  # a data frame of Spark
        with suppress(Exception):  # reading raises the error
            names = source.inputFiles()
    return tuple(path for name in names for path in _find_files(name)) if all(map(is_path, names)) else ()


def _find_files(name: Any) -> list[Path]:
    if is_passing(name):
        return [name]
    place = local_name(os.fspath(name))
    if "://" in place:
        return []
    found = [place] if os.path.exists(place) else glob.glob(place, recursive=True) or [place]  # noqa: PTH110
    return [Path(os.path.abspath(path)) for path in found]  # noqa: PTH100


def is_passing(name: Any) -> bool:
    """Return whether this is a temporary file that has another name in messages, such as standard input."""
    return isinstance(name, Path) and str(name) != os.fspath(name)


def list_inputs(inputs: Iterable[Path]) -> Iterator[Path]:
    """List inputs, and the files in input folders: those that a manifest lists, or else all of them."""
    for path in inputs:
        yield path
        with suppress(OSError, csv.Error):  # reading raises the error
            if not (path / MANIFEST).is_file():
                yield from (inner for inner in path.rglob("*") if path.is_dir() and not inner.is_dir())
                continue
            yield path / MANIFEST
            with (path / MANIFEST).open(encoding="utf-8-sig", errors="replace") as file:
                for row in csv.DictReader(file):
                    named = [each for name, each in row.items() if name and name.strip().lower() == "path" and each]
                    yield from (path / each for each in named)
