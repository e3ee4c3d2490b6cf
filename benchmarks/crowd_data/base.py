"""Data sets: a source of files, a parser, and the parsed answers and gold labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allalike.answers import Answers
    from allalike.datasets import DataSource
    from allalike.domains import Domain


@dataclass(frozen=True)
class Parsed:
    """Answers and gold labels parsed from the files of a source."""

    answers: Answers
    gold: dict[Any, Any]  # gold label by task id
    note: str = ""  # on how the files are parsed


@dataclass(frozen=True)
class Parser:
    """A parser of one data set from the files of a source."""

    name: str
    source: str  # also the name of its folder
    summary: str  # the question to the workers, in one line
    parse: Callable[[Path], Parsed]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The answers of a data set, with gold labels and metadata."""

    name: str
    answers: Answers
    gold: dict[Any, Any]
    source: DataSource
    note: str = ""

    @property
    def domain(self) -> Domain:
        """The label type."""
        return self.answers.domain
