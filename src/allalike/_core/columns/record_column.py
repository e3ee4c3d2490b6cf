"""Columns of records whose fields are columns: what each field holds is kept as it came, and not row by row."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

__all__ = ["RecordColumn"]


class RecordColumn(Column):
    """A column of records, given the column of each field; as a list, it holds a mapping for each row.

    >>> column = RecordColumn("label", {"x": Column.of_objects("label", [1, None]), "y": Column("label", ["a", None])})
    >>> column.data, column.missing()
    ([{'x': 1, 'y': 'a'}, None], array([False,  True]))
    """

    def __init__(self, name: str, fields: Mapping[str, Column]) -> None:
        super().__init__(name, lambda: _join(fields))
        self.fields = dict(fields)
        self._parts: dict[str, list[tuple[Column, npt.NDArray[np.int64]]]] = {}

    @property
    def kind(self) -> str:
        """What the values are by type."""
        return "object"

    @cached_property
    def gaps(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which rows are without each of the fields."""
        return {name: column.missing() for name, column in self.fields.items()}

    def split(
        self, key: str, part: Callable[[int, Column], tuple[Column, npt.NDArray[np.int64]]]
    ) -> list[tuple[Column, npt.NDArray[np.int64]]]:
        """Return, for each field, what ``part`` makes of its number and the column of what is filled, and the rows.

        It is done once for each key, because columns let go of what they came from.
        """
        if key not in self._parts:
            parts = []
            for number, (name, column) in enumerate(self.fields.items()):
                filled = ~self.gaps[name]
                rows = np.flatnonzero(filled)
                made, kept = part(number, column if len(rows) == len(filled) else column.keep(filled))
                parts.append((made, rows[kept]))
            self._parts = {key: parts}
        return self._parts[key]

    def __len__(self) -> int:
        return len(next(iter(self.gaps.values())))

    def missing(self) -> npt.NDArray[np.bool_]:
        """Mark the rows in which no field has a value."""
        gaps: npt.NDArray[np.bool_] = np.logical_and.reduce(list(self.gaps.values()))
        return gaps

    def keep(self, rows: npt.NDArray[np.bool_]) -> RecordColumn:
        """Return the column with these rows only."""
        return self._with({name: column.keep(rows) for name, column in self.fields.items()}, np.flatnonzero(rows))

    def numbered(self, rows: npt.NDArray[np.int64]) -> RecordColumn:
        """Return the column with numbers for its rows."""
        column = self._with({name: column.numbered(rows) for name, column in self.fields.items()}, rows)
        column._rows = rows
        return column

    def head(self, rows: int) -> RecordColumn:
        """Return the first rows only."""
        return self._with({name: column.head(rows) for name, column in self.fields.items()}, np.arange(rows))

    def compacted(self) -> RecordColumn:
        """Return the column as it is."""
        return self

    def _with(self, fields: dict[str, Column], rows: npt.NDArray[np.int64]) -> RecordColumn:
        column = RecordColumn(self.name, fields)
        column.text, column.na = self.text, self.na
        column._rows = rows if self._rows is None else self._rows[rows]
        return column


def _join(fields: Mapping[str, Column]) -> list[dict[str, Any] | None]:
    """Return a mapping for each row, of what is there."""
    values = [(_list(column), column.missing().tolist()) for column in fields.values()]
    rows = zip(*(zip(*pair, strict=True) for pair in values), strict=True)
    return [{name: value for name, (value, gone) in zip(fields, row, strict=True) if not gone} or None for row in rows]


def _list(column: Column) -> list[Any]:
    return list(column.data) if isinstance(column.data, list) else column.data.to_pylist()
