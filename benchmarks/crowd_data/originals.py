"""Readers of original files, with clear errors if the content is not as expected."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.lazy_imports import pa
from allalike.errors import AllalikeError, ColumnError, InputError
from allalike.readers.sources import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.answers import Answers
    from crowd_data.base import Parsed, Parser


def read_columns(path: Path, *names: str) -> list[list[str]]:
    """Read columns of a table in a text file as strings."""
    table = open_table(path)
    _check(path, table.names, names)
    loaded = table.load(names)
    return [loaded[name].to_pylist() for name in names]


def read_truths(path: Path, *, task: str, label: str) -> dict[Any, Any]:
    """Read the gold label of each task, with ids and labels converted as by `allalike.read`."""
    table = open_table(path)
    _check(path, table.names, (task, label))
    columns = table.columns({"task": task, "label": label})
    tasks, labels = (values.take(codes).tolist() for codes, values in (column.factors for column in columns.values()))
    return dict(zip(tasks, labels, strict=True))


def typed_table(path: Path, *names: str, header: bool = True) -> Any:
    """Read a CSV file as an Arrow table with numeric columns parsed; without a header, ``names`` name the columns."""
    import pyarrow.csv as pacsv

    options = pacsv.ReadOptions() if header else pacsv.ReadOptions(column_names=list(names))
    table = _guarded(path, pa.ArrowException, lambda: pacsv.read_csv(path, read_options=options))
    _check(path, table.column_names, names)
    return table


def bare_rows(path: Path) -> list[list[str]]:
    """Read the rows of a CSV file without a header."""
    import csv

    def read() -> list[list[str]]:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file) if row]

    rows: list[list[str]] = _guarded(path, csv.Error, read)
    return rows


def load_json(path: Path) -> Any:
    """Read a JSON file."""
    return _guarded(path, json.JSONDecodeError, lambda: json.loads(path.read_text(encoding="utf-8")))


def count_repeats(answers: Answers, kept: str = "first") -> str:
    """Return a note on the number of repeated answers, of which the first counts."""
    repeats = answers.notes.get("duplicates_removed", 0)
    return f"{repeats:,} rows repeat an answer of the same worker to the same task; the {kept} one counts."


def careful(parser: Parser) -> Parser:
    """Return a parser that raises a one-line error if files have unexpected content."""
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
