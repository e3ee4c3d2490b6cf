"""Questions: what is asked where it is not clear which columns are worker, task and label."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from allalike.errors import ColumnError, Proposal
from allalike.readers.column_names import list_names, name_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers.formats.tables import Table
    from allalike.readers.guessing.contents import TableSample

__all__ = ["EXAMPLE", "ask_candidates", "ask_columns", "name_pattern", "show_rows"]

EXAMPLE = (
    "No choice of columns works. A table that works has a row per answer, and tasks with answers by several workers:",
    "worker,task,label",
    "ada,photo1,cat",
    "bob,photo1,cat",
    "ada,photo2,dog",
    "bob,photo2,cat",
    "A table with a column per worker is read with wide='tasks', a file per worker with worker_from='filename'.",
)
_ROWS, _CELL, _NAME, _COLUMNS, _WIDTH = 3, 24, 60, 40, 110


def ask_columns(table: Table, sample: TableSample, why: str, proposals: Sequence[Proposal]) -> ColumnError:
    """Return the error that asks for columns: what was seen, what may be meant, and why that is not sure.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> from allalike.readers.formats.tables import of_records
    >>> rows = {"a": [1, 1], "b": ["x", "y"], "c": [0, 0]}
    >>> table = of_records([dict(zip(rows, row)) for row in zip(*rows.values())])
    >>> columns = {"worker": "b", "task": "a", "label": "c"}
    >>> print(ask_columns(table, TableSample(rows), "Nothing says so.", [Proposal({"columns": columns})]))
    Cannot tell which columns of the table contain worker, task and label. Nothing says so. Columns: 'a', 'b', 'c'.
      a  b  c
      1  x  0
      1  y  0
    Say it with columns={'worker': 'b', 'task': 'a', 'label': 'c'}.
    """
    return ColumnError(
        f"Cannot tell which columns of {name_within(table.where)} contain worker, task and label. {why} Columns:"
        f" {list_names(table.names)}.",
        lines=show_rows(sample),
        proposals=proposals,
    )


def ask_candidates(table: Table, role: str, candidates: Sequence[str]) -> ColumnError:
    """Return the error that asks which of several columns of an export has a role.

    >>> from allalike.readers.formats.tables import of_records
    >>> print(ask_candidates(of_records([{}]), "label", ("Answer.mood", "Answer.tone")))
    The table has 2 columns that may be the label: 'Answer.mood', 'Answer.tone'. The pattern 'Answer.*' takes each of
    them by itself.
    Say it with one of these, the best first:
      columns={'label': 'Answer.mood'}
      columns={'label': 'Answer.tone'}
    """
    what = f"{table.where} has {len(candidates)} columns that may be the {role}: {list_names(candidates)}."
    return ColumnError(
        what + (name_pattern(candidates) if role == "label" else ""),
        proposals=[Proposal({"columns": {role: name}}) for name in candidates],
    )


def name_pattern(labels: Sequence[str]) -> str:
    """Say that a pattern gives a result for each label, if they begin alike.

    >>> name_pattern(["q.a", "q.b"]), name_pattern(["a", "b"])
    (" The pattern 'q.*' takes each of them by itself.", '')
    """
    start = _common_start(labels) if len(labels) > 1 else ""
    return f" The pattern {start + '*'!r} takes each of them by itself." if start else ""


def _common_start(names: Sequence[str]) -> str:
    """Return what all names begin with, up to a mark."""
    first, last = min(names), max(names)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    found = re.match(r".*[^\w\s]|.*_", first[:same])
    return found[0] if found else ""


def show_rows(sample: TableSample) -> list[str]:
    """Write down the first rows, each cell cut; in a wide table each of its columns is a line.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> show_rows(TableSample({"who": ["ada"], "what": ["x" * 40]}))
    ['  who  what', '  ada  xxxxxxxxxxxxxxxxxxxxx...']
    """
    contents = list(sample.contents.values())[:_COLUMNS]
    names = [_cut(content.name, _NAME) for content in contents]
    rows = [[_cut(content.row(place)) for content in contents] for place in range(min(_ROWS, sample.n_rows))]
    lines = _set([names, *rows])
    return lines if max(map(len, lines)) <= _WIDTH else _set([list(row) for row in zip(names, *rows, strict=True)])


def _set(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in rows
    ]


def _cut(value: Any, length: int = _CELL) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= length else text[: length - 3] + "..."
