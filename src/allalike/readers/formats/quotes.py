"""Quotes: those that are never closed, and swallow the rows below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pa, pc
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["check_quotes"]

_MOST_LINES = 10_000  # this many fields with several lines are looked at


def check_quotes(
    columns: Mapping[str, Any], names: Sequence[str], delimiter: str, where: str, *, before: int = 0
) -> None:
    r"""Refuse a field that holds further rows: lines with as many fields, of which some are values of their columns.

    >>> import pyarrow as pa
    >>> columns = {"task": pa.array(["t1", "t1"]), "label": pa.array(["x\nt1,y", "z"])}
    >>> check_quotes(columns, ["task", "label"], ",", "a.csv")
    Traceback (most recent call last):
    allalike.errors.InputError: a.csv: the 'label' in row 1 begins with a quote that is not closed where it should be:
    it holds the row 't1,y', too. Close the quote, or double it if it belongs to the text.
    """
    broken = {name: column for name, column in columns.items() if _has_breaks(column)}
    found = [
        (name, row, line)
        for name, column in broken.items()
        for row, line in _rows_inside(column, len(names), delimiter)
    ]
    if not found:
        return
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    split = [line.split(delimiter) for *_, line in found]
    hits: list[int] = []
    for other, column in columns.items():
        own = [name == other for name, *_ in found]
        cells = ["" if mine else cells[places[other]] for mine, cells in zip(own, split, strict=True)]
        hits += _find_values(cells, column)
    if hits:
        name, row, line = found[min(hits)]
        raise InputError(
            f"{where}: the {name!r} in row {before + row + 1:,} begins with a quote that is not closed where it"
            f" should be: it holds the row {line[:80]!r}, too. Close the quote, or double it if it belongs to"
            " the text."
        )


def _has_breaks(column: Any) -> bool:
    """Tell whether there may be ends of lines in a column; fast, for hardly ever is there anything below a blank."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    texts = [np.frombuffer(data, np.uint8) for chunk in chunks if (data := chunk.buffers()[2]) is not None]
    return any(len(text) and int(text.min()) < ord(" ") for text in texts)


def _rows_inside(column: Any, n_columns: int, delimiter: str) -> Iterator[tuple[int, str]]:
    """Yield the lines within fields that have as many fields as a row has."""
    rows = pc.indices_nonzero(pc.match_substring(column, "\n")).to_pylist()[:_MOST_LINES]
    for row in rows:
        for line in str(column[row].as_py()).splitlines()[1:]:
            if line.count(delimiter) == n_columns - 1:
                yield row, line


def _find_values(cells: list[str], column: Any) -> list[int]:
    """Return the places of the cells that are a value of a column."""
    known = pc.is_in(pa.array(cells, pa.string()), value_set=column.unique()).to_pylist()
    return [place for place, seen in enumerate(known) if seen and cells[place].strip()]
