"""Table: named columns of whatever kind, read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allalike.columns import Column
from allalike.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Table", "join", "of_array", "of_frame", "of_records", "open_table"]


@dataclass(frozen=True)
class Table:
    """Hold the names of columns and the way to read them.

    Parameters
    ----------
    names
        The names of the columns.
    load
        Reads some columns: for each name an Arrow column, a list, or a function that returns one of these.
    where
        What to call the table in a message.
    text
        Whether it comes from a text file, where all values are strings.
    layout
        How files of labels lie in a folder, where that was found out.
    """

    names: list[str]
    load: Callable[[Sequence[str]], dict[str, Any]]
    where: str = "The table"
    text: bool = False
    layout: str = ""

    def columns(self, picked: Mapping[str, str]) -> dict[str, Column]:
        """Return the column of each role, given its name.

        >>> of_records([{"who": "ada"}]).columns({"worker": "who"})["worker"].data.to_pylist()
        ['ada']
        """
        loaded = self.load(list(picked.values()))
        return {role: self.column(role, loaded[name]) for role, name in picked.items()}

    def column(self, role: str, data: Any) -> Column:
        """Make a column of what was loaded."""
        return Column.of_objects(role, data) if isinstance(data, list) else Column(role, data, text=self.text)


def open_table(source: Any) -> Table:
    """Open a path, several paths, a frame, or records as a table.

    >>> open_table({"worker": ["ada"], "task": [1], "label": ["x"]}).names
    ['worker', 'task', 'label']
    """
    from allalike.readers.files import is_path, open_files

    if is_path(source):
        return open_files([source])
    if isinstance(source, list | tuple) and source and all(is_path(item) for item in source):
        return open_files(source)
    if isinstance(source, Mapping):
        columns = {str(name): list(values) for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            listed = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
            raise InputError(f"The columns are not equally long: {listed}.")
        return Table(list(columns), lambda names: {name: columns[name] for name in names})
    if hasattr(source, "__arrow_c_stream__") and (hasattr(source, "columns") or hasattr(source, "schema")):
        return of_frame(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return of_records(source)
    raise InputError(
        f"Answers cannot be read from {type(source).__name__}. Give a path, a pandas, polars or pyarrow table, or rows"
        " of (worker, task, label)."
    )


def of_frame(frame: Any) -> Table:
    """Open a pandas, polars, pyarrow or other frame that can hand over Arrow columns.

    >>> import pandas as pd
    >>> of_frame(pd.DataFrame({"worker": ["ada"]})).names
    ['worker']
    """
    if hasattr(frame, "iloc"):
        twice = [name for name in frame.columns if list(frame.columns).count(name) > 1]
        if twice:
            raise InputError(f"The table has two columns called {twice[0]!r}. Rename one of them.")
        names = {str(name): name for name in frame.columns}
        return Table(list(names), lambda asked: {name: _of_series(frame[names[name]]) for name in asked})
    import pyarrow as pa

    table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    return Table(table.column_names, lambda asked: {name: table[name] for name in asked})


def _of_series(series: Any) -> Any:
    import pyarrow as pa

    if series.dtype == object:
        return [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]
    return pa.chunked_array([pa.Array.from_pandas(series)]) if len(series) else []


def of_records(records: Sequence[Mapping[str, Any]], where: str = "The table") -> Table:
    """Open a list of mappings from column to value; what a record lacks is missing.

    >>> of_records([{"worker": "ada", "task": 1}, {"label": "x"}]).names
    ['worker', 'task', 'label']
    """
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InputError(f"{where}: row {row + 1} is no record with named fields.")
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    return Table(names, lambda asked: {name: [r.get(name) for r in records] for name in asked}, where)


def join(tables: Sequence[Table]) -> Table:
    """Put tables with the same columns one below the other.

    >>> part = of_records([{"worker": "ada"}])
    >>> join([part, part]).load(["worker"])
    {'worker': ['ada', 'ada']}
    """
    if len(tables) == 1:
        return tables[0]
    names = [name for name in tables[0].names if all(name in table.names for table in tables)]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        parts = [table.load(asked) for table in tables]
        return {name: _concatenate(name, [part[name] for part in parts]) for name in asked}

    where = f"{tables[0].where} and {len(tables) - 1} more"
    return Table(names, load, where, text=all(table.text for table in tables))


def _concatenate(name: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    parts = [part() if callable(part) else part for part in parts]
    if all(isinstance(part, list) for part in parts):
        return [value for part in parts for value in part]
    arrays = [pa.array(part) if isinstance(part, list) else part for part in parts]
    columns = [part if isinstance(part, pa.ChunkedArray) else pa.chunked_array([part]) for part in arrays]
    if len({column.type for column in columns}) > 1:  # files may differ in which columns they keep as dictionaries
        columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns]
    kinds = {column.type for column in columns}
    if len(kinds) > 1:
        listed = ", ".join(sorted(map(str, kinds)))
        raise InputError(f"The column {name!r} has different types in different files: {listed}. Make them the same.")
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def of_array(array: np.ndarray[Any, Any], rows: str) -> Table:
    """Open a matrix of numpy as a wide table: its rows and columns are numbered from 0.

    >>> import numpy as np
    >>> of_array(np.eye(2), "task").names
    ['task', '0', '1']
    """
    columns = {str(number): list(column) for number, column in enumerate(array.T)}
    columns = {rows: list(range(len(array))), **columns}
    return Table(list(columns), lambda asked: {name: columns[name] for name in asked}, "The matrix")
