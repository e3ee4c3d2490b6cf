"""What a data set is: a source of files, a parser that reads them, and the answers and truths that come out."""

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
    """What a parser found in the files of a source.

    Parameters
    ----------
    answers
        The answers, without gold.
    gold
        The known truth of each task that has one, by task id.
    note
        What a reader of results should know about this reading of the files, if anything.

    >>> import allalike
    >>> Parsed(allalike.read([("ada", 1, "x"), ("bob", 1, "x")]), {1: "x"}).gold
    {1: 'x'}
    """

    answers: Answers
    gold: dict[Any, Any]
    note: str = ""


@dataclass(frozen=True)
class Parser:
    """The way from the files of a source to one data set.

    Parameters
    ----------
    name
        The name of the data set.
    source
        The name of the source, which is that of its folder.
    summary
        What was asked, in one line.
    parse
        The function from the source's folder to answers and truths.

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
    """The answers of a data set, and what is known about it.

    Parameters
    ----------
    name
        The name of the data set.
    answers
        The answers, with the gold attached.
    gold
        The known truth of each task that has one, by task id.
    source
        Where the files come from.
    note
        What to know about how the files are read.

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
        """The kind of label."""
        return self.answers.domain
