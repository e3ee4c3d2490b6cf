"""Checksums: whether files are those that the catalogue describes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allalike.datasets.catalog import File, Source

__all__ = ["find_difference", "is_right", "sha256_of_file", "sha256_of_tree"]


def find_difference(source: Source, folder: Path) -> str:
    """Say in what a folder differs from the source that the catalogue describes; nothing if it does not.

    >>> import pathlib
    >>> from allalike.datasets.catalog import SOURCES
    >>> find_difference(SOURCES["snow_rte"], pathlib.Path("nowhere"))
    'nowhere/rte.standardized.tsv is not the file that the catalogue describes (sha256 3187c...)'
    """
    if source.sha256:
        names = [file.file for file in source.files]
        if all((folder / name).is_file() for name in names) and sha256_of_tree(folder, names) == source.sha256:
            return ""
        return f"The files in {folder} are not those that the catalogue describes (sha256 {source.sha256} of all)"
    for file in source.files:
        if not is_right(file, folder / file.file):
            return f"{folder / file.file} is not the file that the catalogue describes (sha256 {file.sha256})"
    return ""


def is_right(file: File, path: Path) -> bool:
    """Whether a file is there, with the size and the checksum that the catalogue says.

    >>> import pathlib, tempfile
    >>> from allalike.datasets.catalog import File
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "abc.txt"
    >>> path.write_text("abc")
    3
    >>> abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    >>> is_right(File(file="abc.txt", bytes=3, sha256=abc), path)
    True
    """
    return path.is_file() and path.stat().st_size == file.bytes and sha256_of_file(path) == file.sha256


def sha256_of_file(path: Path) -> str:
    """Return the checksum of a file's bytes."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def sha256_of_tree(folder: Path, names: Iterable[str]) -> str:
    """Return one checksum of many files, their names among it: what `sha256sum NAMES | sha256sum` says of them.

    The names are sorted by their bytes, so the order in which they are given does not matter.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("a", "b"):
    ...     _ = (folder / name).write_text("abc")
    >>> sha256_of_tree(folder, ["b", "a"])
    '6e0534855d1d183250459e82c311fb77578cf75019787625a10154399462260d'
    """
    ordered = sorted(names, key=str.encode)
    listing = "".join(f"{sha256_of_file(folder / name)}  {name}\n" for name in ordered)
    return hashlib.sha256(listing.encode()).hexdigest()
