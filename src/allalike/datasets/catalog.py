"""The catalogue: which public data there are, who made them, under which licence, and where each file lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["SOURCES", "Catalogue", "File", "Source"]


@dataclass(frozen=True, kw_only=True)
class File:
    """Describe one file of a source.

    Parameters
    ----------
    file
        The path in the source's folder.
    bytes, sha256
        Its size and checksum; nothing where everyone brings a file of her own.

    >>> SOURCES["quiz_it"].files[0].file
    'answer.csv'
    """

    file: str
    bytes: int = 0
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Describe files that were published together.

    Parameters
    ----------
    name
        The name, which is that of the folder too.
    domain
        The kinds of label in it.
    citation, licence
        Who made it, and what the source says about using it.
    files
        What belongs to it.
    repo, commit, root
        Where the files lie: the GitHub repository, the commit, and the folder in it.
    public
        Whether there is a public copy at all.
    note
        What else to know.
    datasets
        What is known of the answers in each data set: domain, workers, tasks, answers, gold.

    >>> source = SOURCES["quiz_it"]
    >>> source.repo, source.size
    ('garfieldpigljy/CrowdLabelwithTextContent', 13030)
    """

    name: str
    domain: str
    citation: str
    licence: str
    files: tuple[File, ...]
    repo: str = ""
    commit: str = ""
    root: str = ""
    public: bool = True
    note: str = ""
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(file.bytes for file in self.files)

    def path(self, file: File) -> str:
        """Return where a file lies in the repository.

        >>> source = SOURCES["quiz_it"]
        >>> source.path(source.files[0])
        'Datasets/ITMANAGE/answer.csv'
        """
        return f"{self.root}/{file.file}" if self.root else file.file


class Catalogue(Mapping[str, Source]):
    """Read what is known of a source when it is asked for.

    >>> len(SOURCES), "snow_rte" in SOURCES, SOURCES["GG"].public
    (40, True, False)
    """

    def __getitem__(self, name: str) -> Source:
        """Read one source."""
        if name not in _names():
            raise KeyError(name)
        return _read(name)

    def __iter__(self) -> Iterator[str]:
        """Go through the names, in order."""
        return iter(_names())

    def __len__(self) -> int:
        """Count the sources."""
        return len(_names())


SOURCES = Catalogue()

_FOLDER = files("allalike.datasets") / "catalog"


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(page.name.removesuffix(".toml") for page in _FOLDER.iterdir() if page.name.endswith(".toml")))


@cache
def _read(name: str) -> Source:
    import tomllib

    facts = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    listed = tuple(File(**file) for file in facts.pop("files"))
    return Source(name=name, files=listed, **facts)
