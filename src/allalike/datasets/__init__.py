"""Data sets: public answers with known truths, where they lie, and how they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from allalike._core.registry import find
from allalike.datasets.base import Dataset, Parsed, Parser
from allalike.datasets.catalog import SOURCES, File, Source
from allalike.datasets.parsers import PARSERS
from allalike.errors import UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DATASETS", "SOURCES", "Dataset", "File", "Parsed", "Parser", "Source", "fetch", "load", "path", "source_of"]

DATASETS: dict[str, str] = {name: parser.summary for name, parser in PARSERS.items()}


def load(name: str) -> Dataset:
    """Read a data set, with its gold; its files must be here.

    Parameters
    ----------
    name
        A name of `DATASETS`, in any case; or that of a source which has only one data set.

    >>> data = load("Chinese")  # doctest: +SKIP
    >>> data.answers.n_answers, len(data.gold)  # doctest: +SKIP
    (1200, 24)
    >>> load("Chinees")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No data set is called 'Chinees'. Did you mean 'Chinese'? Known data sets: ...
    """
    from allalike.datasets.folders import require_folder
    from allalike.readers import read_gold

    parser = _parser(name)
    source = SOURCES[parser.source]
    parsed = parser.parse(require_folder(source))
    held = replace(parsed.answers, frame="pandas")  # however they are stored, nobody brought a frame
    answers = read_gold(parsed.gold, held) if parsed.gold else held
    return Dataset(name=parser.name, answers=answers, gold=parsed.gold, source=source, note=parsed.note)


def fetch(name: str) -> Path:
    """Download the files of a data set or source unless they are here, check them, and return their folder.

    Files that are in a folder of `ALLALIKE_DATA` (several are separated as in `PATH`), under the name of their source,
    are not downloaded. Others go to the user's cache, each when it is whole and checked; a fetch that was interrupted
    goes on with those that are not there.

    >>> fetch("IT")  # doctest: +SKIP
    PosixPath('/home/ada/.cache/allalike/quiz_it')
    >>> fetch("TRI")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No data set is called 'TRI'. Did you mean 'TRI...
    """
    from allalike.datasets.downloads import fetch_source

    return fetch_source(source_of(name))


def path(name: str) -> Path:
    """Return the folder in which the files of a data set or source lie.

    >>> path("IT")  # doctest: +SKIP
    PosixPath('/home/ada/.cache/allalike/quiz_it')
    >>> path("quiz_itt")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No data set is called 'quiz_itt'. Did you mean 'quiz_it'? ...
    """
    from allalike.datasets.folders import require_folder

    return require_folder(source_of(name))


def source_of(name: str) -> Source:
    """Return the source of a data set, or the source that has this name.

    >>> source_of("chinese").name, source_of("quiz_chinese").name
    ('quiz_chinese', 'quiz_chinese')
    """
    known = {**{name: parser.source for name, parser in PARSERS.items()}, **{name: name for name in SOURCES}}
    return SOURCES[find(name, known, "data set")]


def _parser(name: str) -> Parser:
    if name in PARSERS or name.casefold() not in map(str.casefold, SOURCES):
        return find(name, PARSERS, "data set")
    source = find(name, SOURCES, "source")
    inside = [parser for parser in PARSERS.values() if parser.source == source.name]
    if len(inside) == 1:
        return inside[0]
    listed = ", ".join(parser.name for parser in inside)
    raise UnknownNameError(f"{source.name!r} is a source of several data sets. Choose one of: {listed}.")
