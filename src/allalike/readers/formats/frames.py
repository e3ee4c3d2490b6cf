"""Open what Python holds as tables: data frames, streams of Arrow, data sets, rows and nested mappings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import is_nothing
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_LEVELS
from allalike.domains import DOMAINS, Domain
from allalike.errors import InputError
from allalike.readers.formats.failures import ENGINES, check_columns, check_names, guard
from allalike.readers.formats.places import spool_open_file
from allalike.readers.formats.source import Source, join, of_columns, of_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = {"tasks": ("task", "worker"), "workers": ("worker", "task")}  # of matrices
_DATA_SET = "The data set"
_ROLES = ("worker", "task", "label")


def find_opener(source: Any) -> Callable[[Any], Source] | None:
    """Return the function that opens a frame, a data set, a relation or a nested mapping; nothing for other sources."""
    if is_nested(source):
        return of_nested
    kind = type(source).__module__.partition(".")[0]
    if kind == "datasets":
        return of_data_set
    if is_computed(source):
        return lambda computed: of_frame(_compute(computed))
    if kind == "pyarrow" and hasattr(source, "to_table"):
        return _of_dataset
    if kind == "pandas" and hasattr(source, "to_frame") and source.index.nlevels > 1:  # labels by worker and task
        return lambda series: of_frame(series.to_frame(name="label" if series.name is None else series.name))
    if hasattr(source, "__arrow_c_stream__") and (hasattr(source, "columns") or hasattr(source, "schema")):
        return of_frame
    return None


def hold(source: Any) -> Any:
    """Return a source that can be read more than once: streams, queries, open files and iterators are read now."""
    if hasattr(source, "read"):
        return guard("The open file", "a file", lambda: spool_open_file(source))
    if is_computed(source):
        return _compute(source)
    return list(source) if hasattr(source, "__next__") else source


def of_frame(frame: Any) -> Source:
    """Open a frame of pandas, polars, pyarrow, or anything else that exports Arrow columns."""
    if hasattr(frame, "iloc"):
        return _of_pandas(frame)
    if not isinstance(frame, pa.Table):
        check_zeros(getattr(frame, "schema", ""))
    kinds = dict(frame.schema.items()) if type(frame).__module__.partition(".")[0] == "polars" else {}
    beyond = [name for name, kind in kinds.items() if str(kind) in ("Object", "Int128", "UInt128")]  # of Arrow's types
    objects = {name: frame.get_column(name).to_list for name in beyond}
    rest = frame.drop(beyond) if beyond else frame
    table = rest if isinstance(rest, pa.Table) else guard("The table", "Arrow", lambda: pa.table(rest))

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = {name: table[name].slice(0, rows) for name in asked if name not in objects}
        check_columns(columns, "The table")
        return {name: objects[name]() if name in objects else columns[name] for name in asked}

    return Source([*table.column_names, *objects], read, levels=_find_levels(kinds))


def _of_pandas(frame: Any) -> Source:
    """Open a frame of pandas; an index with names becomes columns, another one names the rows."""
    named = [name for name in frame.index.names if name is not None]
    plain = type(frame.index).__name__ == "RangeIndex"
    if frame.index.nlevels > 1 or (named and named[0] not in frame.columns):
        check_names([str(name) for name in (*named, *frame.columns)], "The table")
        frame, plain = frame.reset_index(), True
    names = [str(name) for name in frame.columns]
    place = {name: number for number, name in enumerate(names)}

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = {name: _read_series(frame.iloc[:rows, place[name]]) for name in asked}
        check_columns({name: data for name, data in columns.items() if not isinstance(data, list)}, "The table")
        return columns

    levels = _find_levels(dict(zip(names, frame.dtypes, strict=True)))
    return Source(names, read, index=None if plain else frame.index.tolist(), levels=levels)


def _find_levels(kinds: Mapping[str, Any]) -> dict[str, Domain]:
    """Return the levels of columns whose categories are ordered: in pandas, and in each Enum of polars."""
    found: dict[str, Domain] = {}
    for name, kind in kinds.items():
        if type(kind).__name__ == "Enum" or (type(kind).__name__ == "CategoricalDtype" and kind.ordered):
            levels = kind.categories.to_list()
            if set(map(type, levels)) in ({str}, {int}) and len(levels) <= MAX_LEVELS:
                ordinal: Any = DOMAINS["ordinal"]
                found[name] = ordinal(levels=tuple(levels))
    return found


def _read_series(series: Any) -> Any:
    """Return a column of pandas as an Arrow column, or as a list of objects if Arrow has no such type."""
    if not len(series):
        return []
    if series.dtype != object:
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.Array.from_pandas(series)
            if not isinstance(array.type, pa.BaseExtensionType):  # periods and intervals of pandas
                return pa.chunked_array([array])
    return [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]


def _of_dataset(source: Any) -> Source:
    """Open a data set of Arrow, of which only the columns that are asked for are read, or a scanner, which is read."""
    if not hasattr(source, "schema"):
        return of_frame(source.to_table())

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = list(asked)
        table = source.to_table(columns=columns) if rows is None else source.head(rows, columns=columns)
        return of_frame(table).load(asked)

    return Source(list(source.schema.names), read, _DATA_SET)


def is_nested(source: Any) -> bool:
    """Return whether a mapping has the form ``{task: {worker: label}}``."""
    if not isinstance(source, Mapping) or not source or not all(isinstance(each, Mapping) for each in source.values()):
        return False
    labels = [label for each in source.values() for label in each.values()]
    return bool(labels) and not any(isinstance(label, Mapping) for label in labels)


def of_nested(source: Mapping[Any, Mapping[Any, Any]], where: str = "The mapping") -> Source:
    """Open ``{task: {worker: label}}``; None and NaN are no answers.

    Frames are also written so, by columns or by rows, which their names show.
    """
    remarks: tuple[str, ...] = ()
    if set(source) >= set(_ROLES) and len({tuple(values) for values in source.values()}) == 1:  # columns by row number
        columns = {str(name): list(values.values()) for name, values in source.items()}
    elif all(set(values) >= set(_ROLES) for values in source.values()):  # records by row number
        return of_records(list(source.values()), where)
    else:
        rows = [
            (worker, task, label)
            for task, labels in source.items()
            for worker, label in labels.items()
            if not is_nothing(label)
        ]
        columns = {role: [row[place] for row in rows] for place, role in enumerate(_ROLES)}
        if empty := sum(all(map(is_nothing, labels.values())) for labels in source.values()):
            remarks = (f"{empty:,} tasks have no answers and are left out.",)
    return of_columns(columns, where, remarks=remarks)


def is_rows(source: Any) -> bool:
    """Return whether a source is rows, and not a table, a mapping, a matrix or paths."""
    if isinstance(source, str | Mapping) or not isinstance(source, Iterable) or find_opener(source) is not None:
        return False
    if isinstance(source, list | tuple):
        return not source or isinstance(source[0], list | tuple)
    return not hasattr(source, "columns") and not isinstance(source, np.ndarray) and not hasattr(source, "index")


def of_rows(source: Iterable[Any]) -> dict[str, Column]:
    """Return rows of (worker, task, label) as columns."""
    rows = list(source)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(f"Row {number + 1} is not (worker, task, label): {row!r}.")
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    return {role: Column.of_objects(role, list(part)) for role, part in zip(_ROLES, parts, strict=True)}


def is_computed(source: Any) -> bool:
    """Return whether this is a relation of DuckDB, a lazy frame of polars, or a stream of Arrow that is read once."""
    if type(source).__module__.partition(".")[0] in ENGINES and (hasattr(source, "project") or _is_lazy(source)):
        return True
    if not hasattr(source, "__arrow_c_stream__"):
        return False
    passes = hasattr(source, "read_next_batch") or hasattr(source, "__next__")  # and is gone when it is read
    frame = hasattr(source, "to_frame") or hasattr(source, "columns") or hasattr(source, "schema")
    return passes or not frame


def _is_lazy(source: Any) -> bool:
    return hasattr(source, "collect") and hasattr(source, "collect_schema")


def _compute(source: Any) -> Any:
    """Return all rows of what is computed or handed over once."""
    if _is_lazy(source):
        check_zeros(guard("The stream", "Arrow", source.collect_schema))
        return guard("The stream", "Arrow", source.collect)
    return guard("The stream", "Arrow", lambda: pa.table(source))


def check_zeros(schema: Any) -> None:
    """Refuse names with a zero byte, at which polars would abort."""
    if "\\x00" in repr(schema):
        raise InputError("The table has a name with a zero byte in it, of a column or of a field. Rename it.")


def of_data_set(source: Any) -> Source:
    """Open a data set of Hugging Face, with its splits joined; classes have their names, and -1 is none."""
    if isinstance(source, dict):
        return join([of_data_set(split) for split in source.values()])
    if not hasattr(source, "num_rows"):  # a stream, which is read now
        source = import_module("datasets").Dataset.from_list(list(source), features=source.features)

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        table = source.select_columns(list(asked)).with_format("arrow")[:rows]
        columns = {name: _name_classes(table[name], source.features[name]) for name in asked}
        check_columns(columns, _DATA_SET)
        return columns

    return Source(source.column_names, read, _DATA_SET)


def _name_classes(column: Any, feature: Any) -> Any:
    """Return the names of classes that are kept as numbers, and any other column as it is."""
    column = column.combine_chunks()
    if type(feature).__name__ != "ClassLabel":
        return column
    return pc.take(pa.array(feature.names, pa.string()), pc.if_else(pc.less(column, 0), None, column))


def is_matrix(source: Any) -> bool:
    """Return whether this is a matrix of numpy or scipy."""
    return (isinstance(source, np.ndarray) and source.ndim == 2) or (
        hasattr(source, "tocoo") and len(source.shape) == 2
    )


def find_matrix(source: Any) -> Path | None:
    """Return the path of a matrix, if that is the source."""
    named = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
    if not isinstance(named, str | os.PathLike) or Path(named).suffix.lower() not in (".npy", ".npz"):
        return None
    return Path(named)
