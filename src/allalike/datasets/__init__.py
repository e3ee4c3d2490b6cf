"""Public data sets with gold labels: catalogue and download.

The parsers that read their files are in `benchmarks/crowd_data` of the repository.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any

from allalike._core.registry import find

__all__ = ["DATASETS", "SOURCES", "DataSource", "File", "fetch", "path", "source_of"]


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a source.

    Parameters
    ----------
    file
        The path in the source's folder.
    path
        The path in the repository, if it differs.
    bytes, sha256
        Size and checksum. They are missing if users supply the file, or if the source has one checksum for all files.
    """

    file: str
    bytes: int = 0
    sha256: str = ""
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Files that were published together.

    Parameters
    ----------
    name
        The name of the source and of its folder.
    domain
        The label types.
    citation, licence
        Authors, and terms of use.
    files
        The files.
    bytes, sha256
        Size and checksum of all files together. Such sources have many files, and are fetched as one archive of the
        repository. The checksum is the output of `sha256sum FILES | sha256sum`, with the files sorted.
    repo, commit, root
        The GitHub repository, the commit, and the folder in it.
    public
        Whether there is a public copy.
    note
        A remark.
    datasets
        The data sets in it by name: summary, domain, and numbers of workers, tasks, answers and gold labels.
    """

    name: str
    domain: str
    citation: str
    licence: str
    files: tuple[File, ...]
    bytes: int = 0
    sha256: str = ""
    repo: str = ""
    commit: str = ""
    root: str = ""
    public: bool = True
    note: str = ""
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return self.bytes or sum(file.bytes for file in self.files)

    def path(self, file: File) -> str:
        """Return the path of a file in the repository."""
        path = file.path or file.file
        return f"{self.root}/{path}" if self.root else path


def _expand(pattern: str) -> list[str]:
    """Expand braces as a shell does: {a,b}/{1,2}.png gives a/1.png, a/2.png, b/1.png, b/2.png."""
    parts = re.split(r"\{(.*?)\}", pattern)  # every second part was in braces
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def _read(page: Traversable) -> DataSource:
    facts = tomllib.loads(page.read_text(encoding="utf-8"))
    listed = facts.pop("files")
    if "sha256" in facts:
        listed = [{"file": file} for pattern in listed for file in _expand(pattern)]
    return DataSource(name=page.name.removesuffix(".toml"), files=tuple(File(**file) for file in listed), **facts)


_PAGES = [page for page in (files("allalike.datasets") / "catalog").iterdir() if page.name.endswith(".toml")]
SOURCES = {source.name: source for source in sorted(map(_read, _PAGES), key=lambda source: source.name)}
_SOURCE_OF = {name: source for source in SOURCES for name in SOURCES[source].datasets}
DATASETS: dict[str, str] = {name: SOURCES[source].datasets[name]["summary"] for name, source in _SOURCE_OF.items()}


def fetch(name: str) -> Path:
    """Download the missing files of a data set or source, check them, and return their folder.

    `ALLALIKE_DATA` lists folders with files that need no download, separated as in `PATH`. Each source has a subfolder
    with its name. Downloaded files are moved to the user's cache once they are complete and verified. An interrupted
    fetch continues with the missing files.

    >>> fetch("TRI")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No data set is called 'TRI'. Did you mean 'TRI...
    """
    from allalike.datasets.downloads import fetch_source

    return fetch_source(source_of(name))


def path(name: str) -> Path:
    """Return the folder with the files of a data set or source."""
    from allalike.datasets.downloads import require_folder

    return require_folder(source_of(name))


def source_of(name: str) -> DataSource:
    """Return the source of a data set, or the source with this name.

    >>> source_of("chinese").name, source_of("quiz_chinese").name
    ('quiz_chinese', 'quiz_chinese')
    """
    known = {**_SOURCE_OF, **{name: name for name in SOURCES}}
    return SOURCES[find(name, known, "data set")]
