"""Readers of original files, with clear errors if the content is not as expected."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike.errors import AllalikeError, ColumnError, InputError
from allalike.readers.sources import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.answers import Answers
    from crowd_data.base import Parsed, Parser

__all__ = ["bare_rows", "careful", "count_repeats", "load_json", "read_columns", "read_truths", "typed_table"]


def read_columns(path: Path, *names: str) -> list[list[str]]:
    r"""Read columns of a table in a text file as strings.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.tsv")
    ...     _ = path.write_text("who\twhat\nada\t007\n")
    ...     read_columns(path, "what", "who")
    [['007'], ['ada']]
    """
    table = open_table(path)
    _check(path, table.names, names)
    loaded = table.load(names)
    return [loaded[name].to_pylist() for name in names]


def read_truths(path: Path, *, task: str, label: str) -> dict[Any, Any]:
    r"""Read the gold label of each task, with ids and labels converted as by `allalike.read`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "truth.csv")
    ...     _ = path.write_text("item,truth\n7,yes\n8,no\n")
    ...     read_truths(path, task="item", label="truth")
    {7: 'yes', 8: 'no'}
    """
    table = open_table(path)
    _check(path, table.names, (task, label))
    columns = table.columns({"task": task, "label": label})
    tasks, labels = (values.take(codes).tolist() for codes, values in (column.factors for column in columns.values()))
    return dict(zip(tasks, labels, strict=True))


def typed_table(path: Path, *names: str, header: bool = True) -> Any:
    r"""Read a CSV file as an Arrow table with numeric columns parsed; without a header, ``names`` name the columns.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("0,22,3\n0,32,1\n")
    ...     typed_table(path, "task", "worker", "label", header=False).column("label").to_pylist()
    [3, 1]
    """
    import pyarrow.csv as pacsv

    options = pacsv.ReadOptions() if header else pacsv.ReadOptions(column_names=list(names))
    table = _guarded(path, pa.ArrowException, lambda: pacsv.read_csv(path, read_options=options))
    _check(path, table.column_names, names)
    return table


def bare_rows(path: Path) -> list[list[str]]:
    r"""Read the rows of a CSV file without a header.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("a,b\nb , b\n")
    ...     bare_rows(path)
    [['a', 'b'], ['b', 'b']]
    """
    import csv

    def read() -> list[list[str]]:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file) if row]

    rows: list[list[str]] = _guarded(path, csv.Error, read)
    return rows


def load_json(path: Path) -> Any:
    """Read a JSON file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.json")
    ...     _ = path.write_text('{"a": [1]}')
    ...     load_json(path)
    {'a': [1]}
    """
    return _guarded(path, json.JSONDecodeError, lambda: json.loads(path.read_text(encoding="utf-8")))


def count_repeats(answers: Answers, kept: str = "first") -> str:
    """Return a note on the number of repeated answers, of which the first counts.

    >>> import allalike
    >>> count_repeats(allalike.read([("ada", 1, "x"), ("ada", 1, "y"), ("bob", 1, "y")]))
    '1 rows repeat an answer of the same worker to the same task; her first one counts.'
    """
    repeats = answers.notes.get("repeats_set_aside", 0)
    return f"{repeats:,} rows repeat an answer of the same worker to the same task; her {kept} one counts."


def careful(parser: Parser) -> Parser:
    """Return a parser that raises a one-line error if files have unexpected content.

    >>> from crowd_data.base import Parser
    >>> parser = Parser("quiz", "quizzes", "which answer is right", lambda folder: {}["answers"])
    >>> careful(parser).parse("data")
    Traceback (most recent call last):
    allalike.errors.InputError: The files in data are not those of 'quizzes' (KeyError: 'answers'). Fetch the data set
    again.
    """
    return replace(parser, parse=partial(_parse, parser))


def _parse(parser: Parser, folder: Path) -> Parsed:
    try:
        return parser.parse(folder)
    except AllalikeError:
        raise
    except (LookupError, OSError, SyntaxError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(
            f"The files in {folder} are not those of {parser.source!r} ({reason}). Fetch the data set again."
        ) from error


def _check(path: Path, found: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ColumnError(
            f"{path} has no column {missing[0]!r}; it has {', '.join(found)}. It is not the original file: fetch it"
            " again."
        )


def _guarded(path: Path, unreadable: type[Exception], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (OSError, UnicodeDecodeError, unreadable) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0].strip().rstrip(".")
        raise InputError(f"{path} cannot be read: {reason}. Fetch the data set again.") from error
