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

__all__ = ["Dataset", "Parsed", "Parser"]


@dataclass(frozen=True)
class Parsed:
    """Answers and gold labels parsed from the files of a source.

    Parameters
    ----------
    answers
        The answers, without gold.
    gold
        The gold label of each task that has one, by task id.
    note
        A remark on how the files are parsed, if readers of results need one.

    >>> import allalike
    >>> Parsed(allalike.read([("ada", 1, "x"), ("bob", 1, "x")]), {1: "x"}).gold
    {1: 'x'}
    """

    answers: Answers
    gold: dict[Any, Any]
    note: str = ""


@dataclass(frozen=True)
class Parser:
    """A parser of one data set from the files of a source.

    Parameters
    ----------
    name
        The name of the data set.
    source
        The name of the source and of its folder.
    summary
        The question to the workers, in one line.
    parse
        The function from the source's folder to answers and gold labels.

    >>> import allalike
    >>> def parse(folder):
    ...     return Parsed(allalike.read(folder / "answers.csv"), {})
    >>> Parser("quiz", "quizzes", "which answer is right", parse).source
    'quizzes'
    """

    name: str
    source: str
    summary: str
    parse: Callable[[Path], Parsed]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The answers of a data set, with gold labels and metadata.

    Parameters
    ----------
    name
        The name of the data set.
    answers
        The answers, with gold labels.
    gold
        The gold label of each task that has one, by task id.
    source
        The source of the files.
    note
        A remark on how the files are parsed.

    >>> import allalike
    >>> from allalike.datasets import SOURCES
    >>> answers = allalike.read([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> Dataset(name="mine", answers=answers, gold={1: "x"}, source=SOURCES["GG"]).domain.name
    'categorical'
    """

    name: str
    answers: Answers
    gold: dict[Any, Any]
    source: DataSource
    note: str = ""

    @property
    def domain(self) -> Domain:
        """The label type."""
        return self.answers.domain
