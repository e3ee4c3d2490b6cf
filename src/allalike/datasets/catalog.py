"""The catalogue: which public data there are, who made them, under which licence, and where each file lies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a source.

    Parameters
    ----------
    file
        The path in the source's folder.
    path
        Where it lies in the repository, if it is called otherwise there.
    bytes, sha256
        Its size and checksum; nothing where everyone brings a file of her own, or where the source has those of all
        files together.

    >>> SOURCES["quiz_it"].files[0].file
    'answer.csv'
    """

    file: str
    bytes: int = 0
    sha256: str = ""
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files that were published together: who made them, and where they lie.

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
    bytes, sha256
        The size and the checksum of all files together, where they are many: then they are fetched as one archive of
        the repository. The checksum is what `sha256sum FILES | sha256sum` says, with the files sorted.
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
        """How many bytes the files have."""
        return self.bytes or sum(file.bytes for file in self.files)

    def path(self, file: File) -> str:
        """Return where a file lies in the repository.

        >>> source = SOURCES["quiz_it"]
        >>> source.path(source.files[0])
        'Datasets/ITMANAGE/answer.csv'
        """
        path = file.path or file.file
        return f"{self.root}/{path}" if self.root else path


class Catalogue(Mapping[str, Source]):
    """All sources by name; what is known of one is read when it is asked for.

    >>> len(SOURCES) >= 40, "snow_rte" in SOURCES, SOURCES["GG"].public
    (True, True, False)
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
    listed = facts.pop("files")
    if "sha256" in facts:
        listed = [{"file": file} for pattern in listed for file in _expand(pattern)]
    return Source(name=name, files=tuple(File(**file) for file in listed), **facts)


def _expand(pattern: str) -> list[str]:
    """List the names that braces stand for, as a shell does.

    >>> _expand("{a,b}/{1,2}.png")
    ['a/1.png', 'a/2.png', 'b/1.png', 'b/2.png']
    """
    parts = re.split(r"\{(.*?)\}", pattern)
    choices = [
        part.split(",") if place % 2 else [part] for place, part in enumerate(parts)
    ]  # each second was in braces
    return ["".join(chosen) for chosen in product(*choices)]
