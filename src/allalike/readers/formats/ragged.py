"""Ragged rows: those of a text file that do not all have as many fields as its header."""

from __future__ import annotations

import csv
from itertools import islice
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike.errors import InputError
from allalike.readers.formats.dialects import Dialect, long_fields, split_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


__all__ = ["fill_rows"]

_BATCH_ROWS = 1 << 16
_SHOWN = 60
_NAMES = {"\t": "a tab", " ": "a blank"}


def fill_rows(
    lines: Iterable[str],
    dialect: Dialect,
    asked: Sequence[str],
    where: str,
    remarks: list[str],
    *,
    skip: int = 0,
    before: tuple[int, int] = (0, 0),
) -> Iterator[dict[str, Any]]:
    r"""Yield columns of rows, some at a time; fields that a row lacks are empty, which is counted in the remarks.

    A row with too many fields is refused. The first rows can be skipped, where they were read already; or so many rows
    and lines of the file came ``before`` these lines.

    >>> from allalike.readers.formats.dialects import Dialect
    >>> remarks = []
    >>> lines = ["worker,task,label\n", "ada,t1\n", "bob,t1,x\n"]
    >>> rows = fill_rows(lines, Dialect(["worker", "task", "label"]), ["label"], "a.csv", remarks)
    >>> [batch["label"].to_pylist() for batch in rows], remarks
    ([['', 'x']], ['1 of 2 rows of a.csv has fewer fields than the header, the first is row 1 (line 2): the last ones...
    """
    place = {name: number for number, name in enumerate(dialect.names)}
    places = {name: place[name] for name in asked}
    short = _Short()
    rows = _check_rows(lines, dialect, where, short, before)
    with long_fields():
        number = sum(1 for _ in islice(rows, skip))
    while True:
        with long_fields():
            chunk = list(islice(rows, _BATCH_ROWS))
        if not chunk:
            break
        number += len(chunk)
        cells = {name: [row[place] if place < len(row) else "" for row in chunk] for name, place in places.items()}
        yield {name: pa.array(column, pa.string()) for name, column in cells.items()}
    if short.number and (said := short.describe(before[0] + number, where)) not in remarks:
        remarks.append(said)


class _Short:
    """How many rows have too few fields, and where the first of them is."""

    def __init__(self) -> None:
        self.number, self.first = 0, (0, 0)

    def add(self, row: int, line: int) -> None:
        if not self.number:
            self.first = (row, line)
        self.number += 1

    def describe(self, n_rows: int, where: str) -> str:
        row, line = self.first
        have = "has" if self.number == 1 else "have"
        return (
            f"{self.number:,} of {n_rows:,} rows of {where} {have} fewer fields than the header, the first is row"
            f" {row:,} (line {line:,}): the last ones are read as empty."
        )


def _check_rows(
    lines: Iterable[str], dialect: Dialect, where: str, short: _Short, before: tuple[int, int]
) -> Iterator[list[str]]:
    """Yield the rows below the header; note short ones, and refuse long ones."""
    row, expected = before[0], len(dialect.names)
    rest = islice(lines, dialect.skip, None)
    try:
        for fields, first, _ in split_rows(rest, dialect.delimiter):
            row, line = row + 1, before[1] + dialect.skip + first
            if len(fields) < expected:
                short.add(row, line)
            elif any(field.strip() for field in fields[expected:]):
                raise InputError(_too_long(fields, dialect, f"{where}: row {row:,} (line {line:,})"))
            yield fields
    except csv.Error as error:
        raise InputError(f"{where} cannot be read as text with columns: {error}, behind row {row:,}.") from error


def _too_long(fields: list[str], dialect: Dialect, which: str) -> str:
    delimiter = dialect.delimiter
    text = delimiter.join(fields)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    mark = _NAMES.get(delimiter, repr(delimiter))
    return (
        f"{which} has {len(fields)} fields, but there are {len(dialect.names)} columns: {shown!r}. Perhaps a quote is"
        f" missing, a field with {mark} in it has no quotes around it, or the first column has no name in the header."
    )
