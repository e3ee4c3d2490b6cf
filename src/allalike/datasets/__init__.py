"""Public data sets with gold labels: a catalogue, and their download.

The parsers that read their files are in `benchmarks/crowd_data` of the repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.registry import find
from allalike.datasets.catalog import SOURCES, File, Source

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DATASETS", "SOURCES", "File", "Source", "fetch", "path", "source_of"]

_SOURCE_OF = {name: source for source in SOURCES for name in SOURCES[source].datasets}
DATASETS: dict[str, str] = {name: SOURCES[source].datasets[name]["summary"] for name, source in _SOURCE_OF.items()}


def fetch(name: str) -> Path:
    """Download the files of a data set or source unless they are here, check them, and return their folder.

    Files in a folder of `ALLALIKE_DATA` (several are separated as in `PATH`), under the name of their source, are not
    downloaded. Others go to the user's cache, each when it is complete and checked. An interrupted fetch goes on with
    the missing files.

    >>> fetch("IT")  # doctest: +SKIP
    PosixPath('/home/ada/.cache/allalike/quiz_it')
    >>> fetch("TRI")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No data set is called 'TRI'. Did you mean 'TRI...
    """
    from allalike.datasets.downloads import fetch_source

    return fetch_source(source_of(name))


def path(name: str) -> Path:
    """Return the folder with the files of a data set or source.

    >>> path("IT")  # doctest: +SKIP
    PosixPath('/home/ada/.cache/allalike/quiz_it')
    """
    from allalike.datasets.downloads import require_folder

    return require_folder(source_of(name))


def source_of(name: str) -> Source:
    """Return the source of a data set, or the source that has this name.

    >>> source_of("chinese").name, source_of("quiz_chinese").name
    ('quiz_chinese', 'quiz_chinese')
    """
    known = {**_SOURCE_OF, **{name: name for name in SOURCES}}
    return SOURCES[find(name, known, "data set")]
