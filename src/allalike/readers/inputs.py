"""Inputs: which files and folders answers and gold are read from, so that no output takes their place."""

from __future__ import annotations

import csv
import glob
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from allalike.readers.formats.masks import MANIFEST
from allalike.readers.sources import is_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["find_inputs", "is_passing", "list_inputs"]


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
    if name.startswith("file:"):
        from urllib.request import url2pathname  # with which comes all of HTTP

        name = url2pathname(urlsplit(name).path)
    elif "://" in name:
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
            yield from _inside(path)


def _inside(path: Path) -> Iterator[Path]:
    if (path / MANIFEST).is_file():
        yield path / MANIFEST
        yield from _listed(path)
    elif path.is_dir():
        yield from (inner for inner in path.rglob("*") if not inner.is_dir())


def _listed(folder: Path) -> Iterator[Path]:
    with suppress(OSError, csv.Error), (folder / MANIFEST).open(encoding="utf-8-sig", errors="replace") as file:
        for row in csv.DictReader(file):
            yield from (folder / path for name, path in row.items() if name and path and name.strip().lower() == "path")
