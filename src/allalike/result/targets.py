"""Targets: paths of results and tables, and the earlier files that may be replaced."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from allalike._core.registry import make
from allalike._core.system.addresses import find_address
from allalike._core.system.files import Output
from allalike._core.system.tables import FORMATS, guard_text
from allalike.errors import InputError, OutputError
from allalike.readers.formats.places import local_name
from allalike.readers.sources import list_inputs
from allalike.result.saved import STATE, SUMMARY, find_digest, read_summary
from allalike.result.writers import WRITERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from allalike.result.writers import Writer

REPORT = "report.html"
DETAILS = "details"
_MAIN = ("truth", "workers", "judges")  # tables in the folder itself
_FURTHER = ("groups", "next_tasks", "objects", "probabilities", "quality", "confusion", "changes")
_OF_PANELS = ("pairs", "sizes", "coverage", "orders", "samples", "verdicts", "rates", "ask", "drift", "annotators")
_MASK_FOLDERS = ("labels", "unweighted")
_PLAN = {"task", "worker", "price", "gain"}
_COMPARISON = {"method", "seconds", "iterations", "converged", "note"}


def place_table(name: str, file_format: str) -> str:
    """Return the path of a table in the folder of a result: all but the main ones are in ``details``.

    >>> place_table("truth", "csv"), place_table("groups", "csv")
    ('truth.csv', 'details/groups.csv')
    """
    return f"{name}.{file_format}" if name in _MAIN else f"{DETAILS}/{name}.{file_format}"


def result_names(file_format: str) -> list[str]:
    """Name the files that a result or a panel may have; those of masks, and for other tools, are further ones."""
    names = [place_table(name, file_format) for name in (*_MAIN, *_FURTHER, *_OF_PANELS)]
    return [*names, f"{DETAILS}/workers.{file_format}", SUMMARY]


def find_writers(names: Iterable[str]) -> dict[str, Writer]:
    """Return the writers of these names, which may have options in brackets, each once.

    >>> list(find_writers(["coco", "COCO"]))
    ['coco']
    """
    found = [make(name, WRITERS, "writer") for name in names]
    return {writer.name: writer for writer in found}


def written_names(writers: Iterable[Writer]) -> list[str]:
    """Name the files that writers may write, as far as their names are known beforehand.

    >>> written_names(find_writers(["coco"]).values())
    ['coco/annotations.json']
    """
    return [f"{writer.name}/{file}" for writer in writers for file in writer.files if "*" not in file]


def result_output(
    folder: str | os.PathLike[str],
    *,
    inputs: tuple[Path, ...] = (),
    overwrite: bool = False,
    unchanged: str | None = None,
) -> Output:
    """Return where a result is written: a folder, in which an earlier result may be replaced.

    That must be the one whose digest is given, if one is.

    >>> result_output("").check([])
    Traceback (most recent call last):
    allalike.errors.OutputError: The output is ''. Name a folder, such as allalike-out, or . for this one.
    """
    name = os.fspath(folder)
    if not name:
        raise OutputError("The output is ''. Name a folder, such as allalike-out, or . for this one.")
    name = local_name(name) if name.startswith("file:") else name
    if (address := find_address(name)) is not None:
        kind, remedy = "an address", "copy it there"
        if address.is_database:
            kind, remedy = "a database", "load its CSV or Parquet files into the database"
        raise OutputError(
            f"A result cannot be written to {address}, which is {kind}. Write it to a folder, such as"
            f" allalike-out, and {remedy}."
        )
    return Output(
        folder=Path(name),
        find_own=partial(list_saved, unchanged=unchanged),
        inputs=tuple(list_inputs(inputs)),
        overwrite=overwrite,
        index=SUMMARY,
        failure=f"The result cannot be written to {name}",
    )


def list_saved(folder: Path, unchanged: str | None = None) -> list[str]:
    """List the files of a result that its summary names and that a result may have.

    The digest of an ``unchanged`` result must be that of the one in the folder.

    >>> list_saved(Path("nowhere"))
    []
    """
    if unchanged is not None and find_digest(folder) != unchanged:
        raise OutputError(f"The result in {folder} was replaced meanwhile, so nothing is written. Update it once more.")
    with suppress(OSError, ValueError, TypeError, KeyError, InputError):
        summary = read_summary(folder)
        listed = summary["files"] if "allalike" in summary["versions"] else []
        return [name for name in listed if _is_own(PurePosixPath(name))]
    return []


def names_input(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Return whether the summary of a saved result names a path among its inputs, as text; nothing there is opened."""
    with suppress(OSError, ValueError, TypeError, KeyError, InputError):
        listed = read_summary(Path(folder))["inputs"]
        return not {os.fspath(path), str(Path(path).absolute()), os.path.realpath(path)}.isdisjoint(listed)
    return False


def _is_own(path: PurePosixPath) -> bool:
    """Tell whether a result may have such a file.

    >>> names = ["details/groups.csv", "labels/t1.png", "truth.parquet/part-00000.parquet", "doccano/import.jsonl"]
    >>> [_is_own(PurePosixPath(name)) for name in names]
    [True, True, True, True]
    >>> names = ["notes.txt", "labels/notes.txt", "labels/../t1.png", "groups.csv", "coco/notes.json", "labels"]
    >>> [_is_own(PurePosixPath(name)) for name in names]
    [False, False, False, False, False, False]
    """
    names = {name for file_format in FORMATS for name in result_names(file_format)}
    outer = str(path.parent)
    if str(path) in {REPORT, *names} or outer == ".":
        return str(path) in {REPORT, *names}
    if outer == STATE:
        return path.suffix in (".parquet", ".json")
    if outer in _MASK_FOLDERS:
        return path.name.endswith((".png", ".nii.gz"))
    if outer in names:  # a table that was written in parts
        return path.suffix == ".parquet" == PurePosixPath(outer).suffix
    owner = WRITERS.get(path.parts[0])
    return owner is not None and ".." not in path.parts and owner().owns(str(path.relative_to(path.parts[0])))


def table_output(path: str | os.PathLike[str], *, inputs: tuple[Path, ...] = (), overwrite: bool = False) -> Output:
    """Say where the table of a comparison or a plan is written: into a file, which may take the place of such a table.

    >>> table_output("").check([])
    Traceback (most recent call last):
    allalike.errors.OutputError: The path of the table is ''. Name a file, such as table.csv.
    """

    def is_own(start: str) -> bool:
        head = set(start.partition("\n")[0].strip().split(","))
        return head >= _COMPARISON or head == _PLAN

    return _file_output(path, "table.csv", is_own, inputs, overwrite=overwrite)


def write_table(
    table: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    inputs: tuple[Path, ...] = (),
    overwrite: bool = False,
    safe_csv: bool = False,
) -> Path:
    """Write a table as CSV, whole or not at all, and return its path.

    An earlier table of this kind is replaced, another file only if it may be overwritten, and an input never. If the
    table must be safe, texts that a spreadsheet would take for formulas get an apostrophe before them.
    """
    target = Path(path)
    with table_output(path, inputs=inputs, overwrite=overwrite).staged([target.name]) as stage:
        if safe_csv:
            table = table.map(lambda cell: guard_text(cell) if isinstance(cell, str) else cell)
        table.to_csv(stage / target.name, index=False)
    return target


def page_output(path: str | os.PathLike[str], *, inputs: tuple[Path, ...] = (), overwrite: bool = False) -> Output:
    """Say where a report is written: into a file, which may take the place of a report."""
    mark = 'name="generator" content="allalike'
    return _file_output(path, "report.html", lambda start: mark in start, inputs, overwrite=overwrite)


def list_output(
    path: str | os.PathLike[str], ids: Iterable[object], *, inputs: tuple[Path, ...] = (), overwrite: bool = False
) -> Output:
    """Say where ids are written, one a line: into a file, which may take the place of one that lists nothing else."""
    known = set(map(str, ids))
    if odd := next((each for each in known if len(each.splitlines()) > 1), None):
        raise OutputError(f"The id {odd!r} has several lines, and a list has one for each id.")

    def is_own(start: str) -> bool:
        *whole, rest = start.split("\n")
        return set(whole) <= known and any(each.startswith(rest) for each in known)

    return _file_output(path, "list.txt", is_own, inputs, overwrite=overwrite)


def _file_output(
    path: str | os.PathLike[str],
    example: str,
    is_own: Callable[[str], bool],
    inputs: tuple[Path, ...],
    *,
    overwrite: bool,
) -> Output:
    """Say where one file is written; what it begins with tells whether it may take another's place."""
    target, what = Path(path), example.partition(".")[0]
    if not os.fspath(path):
        raise OutputError(f"The path of the {what} is ''. Name a file, such as {example}.")
    if (address := find_address(path)) is not None:
        raise OutputError(f"The {what} cannot be written to {address}: it is no file. Name one of this machine.")
    if target.is_dir():
        raise OutputError(f"The {what} cannot be written to {os.fspath(path)}: it is a folder, not a file.")
    return Output(
        folder=target.parent,
        find_own=lambda folder: [target.name] if is_own(_read_start(folder / target.name)) else [],
        inputs=tuple(list_inputs(inputs)),
        overwrite=overwrite,
        failure=f"The {what} cannot be written to {os.fspath(path)}",
    )


def _read_start(path: Path) -> str:
    """Return how a file begins, or nothing if it is none, or no text."""
    if not path.is_file():  # to open a pipe is to wait for whoever writes to it
        return ""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1000)
    except (OSError, ValueError):
        return ""
