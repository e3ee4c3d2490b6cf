"""Sources: whatever answers can be read from, opened as a table.

Which files these are is known, too, so that no output takes their place.
"""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.formats.compression import ENDINGS as PACKED
from allalike.readers.formats.compression import inner_path
from allalike.readers.formats.endings import ENDINGS, open_file
from allalike.readers.formats.failures import check_names
from allalike.readers.formats.files import Files
from allalike.readers.formats.frames import find_opener
from allalike.readers.formats.json_files import with_paths
from allalike.readers.formats.masks import MANIFEST, open_masks
from allalike.readers.formats.parquet import PARQUET_ENDINGS, open_parts
from allalike.readers.formats.places import find_places, local_name
from allalike.readers.formats.tables import Table, join, of_records
from allalike.readers.tools import find_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE_COLUMN = "filename"  # the column of workers who have a file each

_MANY_FILES = 1000  # the first files of a folder tell what is in it


def open_table(source: Any, files: Files | None = None) -> Table:
    """Open a path, several paths, a frame, or records as a table; files as is said about them.

    >>> open_table({"worker": ["ada"], "task": [1], "label": ["x"]}).names
    ['worker', 'task', 'label']
    """
    if isinstance(source, Table):
        return source
    if is_path(source):
        return open_files([source], files or Files())
    if isinstance(source, list | tuple) and source and all(is_path(item) for item in source):
        return open_files(source, files or Files())
    if (opener := find_opener(source)) is not None:
        return opener(source)
    if isinstance(source, Mapping):
        return _of_mapping(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return with_paths(of_records(source), lambda: source)
    names = getattr(getattr(source, "dtype", None), "names", None)
    if names:  # an array of numpy with named fields
        return _of_mapping({name: source[name].tolist() for name in names})
    raise InputError(
        f"Answers cannot be read from {type(source).__name__}. Give a path, a pandas, polars, pyarrow or DuckDB table,"
        " a matrix of numpy or scipy, a mapping {task: {worker: label}}, or rows of (worker, task, label)."
    )


def _of_mapping(source: Mapping[Any, Any]) -> Table:
    for name, values in source.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"The column {name!r} is {values!r}. Give the values of all rows, in a list.")
    names = [str(name) for name in source]
    check_names(names, "The table")
    columns = dict(zip(names, map(list, source.values()), strict=True))
    if len({len(values) for values in columns.values()}) > 1:
        listed = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
        raise InputError(f"The columns are not equally long: {listed}.")
    return Table(names, lambda asked: {name: columns[name] for name in asked})


def is_path(source: object) -> bool:
    """Tell whether this names a file.

    >>> is_path("answers.csv"), is_path(("ada", 1, "x"))
    (True, False)
    """
    return isinstance(source, str | os.PathLike)


def open_files(sources: Sequence[str | os.PathLike[str]], files: Files) -> Table:
    """Open one file, several, or all that match a pattern, as one table; exports of a tool by its own reader."""
    paths = [path for source in sources for path in find_places(source, files.query, files.table)]
    tool = find_tool(paths, files.tool)
    if tool is None and files.worker_from is not None:
        paths = [inner for path in paths for inner in _inside(path)]
        tool = find_tool(paths, files.tool)
    if tool is not None:
        return tool.open(paths, files)
    if files.worker_from is None:
        return join([_open_folder(path, files) if path.is_dir() else open_file(path, files) for path in paths])
    _check_stems(paths)
    return join([with_constant(open_file(path, files), FILE_COLUMN, _stem(path), "worker") for path in paths])


def _inside(path: Path) -> list[Path]:
    """Return the files of a folder that are answers by their endings, or else the path."""
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.iterdir()
        if file.is_file() and inner_path(file).suffix.lower() in ENDINGS and file.name[0] not in "._"
    )
    if not found:
        raise InputError(f"The folder {path} has no files with a known ending: {', '.join(ENDINGS)}.")
    return found


def _stem(path: Path) -> str:
    """Return the name of a file without its endings.

    >>> _stem(Path("answers/ada.v2.csv.gz"))
    'ada.v2'
    """
    return path.with_suffix("").stem if path.suffix.lower() in PACKED else path.stem


def _check_stems(paths: Sequence[Path]) -> None:
    stems = [_stem(path) for path in paths]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        raise InputError(f"Two files are called {twice!r}, but each is to be a worker. Rename one of them.")


def with_constant(table: Table, name: str, value: str, role: str) -> Table:
    """Return a table with one more column, which has the same value in all rows, and the role of it.

    >>> from allalike.readers.formats.tables import of_records
    >>> found = with_constant(of_records([{"task": 1}, {"task": 2}]), "file", "ada", "worker")
    >>> found.load(["file"])["file"].to_pylist(), dict(found.roles)
    (['ada', 'ada'], {'worker': 'file'})
    """
    import pyarrow as pa

    def fill(columns: dict[str, Any], asked: Sequence[str]) -> dict[str, Any]:
        first = next(iter(columns.values()), ())  # a file without columns has no rows
        rows = first() if callable(first) else first
        own = {name: pa.array([value] * len(rows))} if name in asked else {}
        return {**{other: data for other, data in columns.items() if other in asked}, **own}

    def others(asked: Sequence[str]) -> list[str]:
        """Return the columns to load, at least one of which tells how many rows there are."""
        return [other for other in asked if other != name] or [other for other in table.names if other != name][:1]

    batches, part, expand = table.load_batches, table.load_sample, table.expand
    return replace(
        table,
        names=[name, *others(table.names)],
        load=lambda asked: fill(table.load(others(asked)), asked),
        load_batches=None if batches is None else lambda asked: (fill(each, asked) for each in batches(others(asked))),
        load_sample=None if part is None else lambda asked, rows: fill(part(others(asked), rows), asked),
        expand=None if expand is None else lambda paths: with_constant(expand(others(paths)), name, value, role),
        n_bytes=lambda asked: table.n_bytes(others(asked)),
        roles={**table.roles, role: name},
    )


def _open_folder(folder: Path, files: Files) -> Table:
    """Open a folder of masks, of Parquet files at any depth, or of other files of one format."""
    inside = list(
        islice((path for path in folder.rglob("*") if path.name[0] not in "._" and path.is_file()), _MANY_FILES)
    )
    endings = {path.suffix.lower() for path in inside}
    if (folder / MANIFEST).is_file() or not endings:
        return open_masks(folder, files.layout)
    if endings & set(PARQUET_ENDINGS):
        return open_parts(folder)
    flat = all(path.parent == folder for path in inside)
    if flat and len(endings) == 1 and endings <= set(ENDINGS):
        return _open_flat(folder, files)
    return open_masks(folder, files.layout)


def _open_flat(folder: Path, files: Files) -> Table:
    """Open all files of a folder as one table; they must belong together."""
    table = open_files(sorted(path for path in folder.iterdir() if path.name[0] not in "._"), files)
    if any(set(part.names) != set(table.names) for part in table.parts):
        raise InputError(f"{folder} is a folder of files with different columns. Name those that are to be read.")
    return table


def find_inputs(source: Any) -> tuple[Path, ...]:
    """Name the files and folders that answers or gold are read from, if there are any.

    >>> [path.name for path in find_inputs(["a.csv", "file:///data/b.csv"])], find_inputs({"t1": "x"})
    (['a.csv', 'b.csv'], ())
    """
    names: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if hasattr(source, "inputFiles"):  # a data frame of Spark
        with suppress(Exception):  # reading it will say what is wrong
            names = source.inputFiles()
    if not all(map(is_path, names)):
        return ()
    return tuple(path for name in names for path in ([name] if is_passing(name) else _find_files(os.fspath(name))))


def is_passing(name: Any) -> bool:
    """Tell whether this is a file for the time being that has another name for people, such as standard input.

    >>> is_passing(Path("a.csv")), is_passing("a.csv")
    (False, False)
    """
    return isinstance(name, Path) and str(name) != os.fspath(name)


def _find_files(name: str) -> list[Path]:
    return [Path(os.path.abspath(path)) for path in _matching(name)]  # noqa: PTH100


def _matching(name: str) -> list[str]:
    """Return the files that a name stands for; those on other machines are not in the way of any output."""
    name = local_name(name)
    if "://" in name:
        return []
    return [name] if os.path.exists(name) else glob.glob(name, recursive=True) or [name]  # noqa: PTH110


def list_inputs(inputs: Iterable[Path]) -> Iterator[Path]:
    """List inputs with the files in those that are folders: what a manifest names, or else all of them.

    >>> list(list_inputs([Path("nowhere.csv")]))
    [PosixPath('nowhere.csv')]
    """
    for path in inputs:
        yield path
        with suppress(OSError):  # whoever reads it will say why it cannot be
            yield from _list_inside(path)


def _list_inside(path: Path) -> Iterator[Path]:
    if (path / MANIFEST).is_file():
        yield path / MANIFEST
        yield from _list_manifest(path)
    elif path.is_dir():
        yield from (inner for inner in path.rglob("*") if not inner.is_dir())


def _list_manifest(folder: Path) -> Iterator[Path]:
    with suppress(OSError, csv.Error), (folder / MANIFEST).open(encoding="utf-8-sig", errors="replace") as file:
        for row in csv.DictReader(file):
            yield from (folder / path for name, path in row.items() if name and path and name.strip().lower() == "path")
