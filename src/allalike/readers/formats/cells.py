"""Cells: a column is one of Arrow where Arrow can hold its values, and a list of Python objects elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.columns.column import Column
from allalike._core.late import pa
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def ready(data: Any) -> Any:
    """Return an Arrow column or a list, whatever was loaded: one of them, a function that reads it, or a `Column`."""
    data = data() if callable(data) else data
    return data.data if isinstance(data, Column) else data


def cells(data: Any) -> list[Any]:
    """Return the values of a column as Python objects.

    >>> cells(pa.chunked_array([["x"]])), cells(["y"])
    (['x'], ['y'])
    """
    read = ready(data)
    return read if isinstance(read, list) else list(read.to_pylist())


def texts(column: Column) -> list[str]:
    """Return values as texts without blanks around them, with nothing where they are missing."""
    pairs = zip(cells(column), column.missing().tolist(), strict=True)
    return ["" if gone else str(value).strip() for value, gone in pairs]


def concatenate(name: str, parts: Sequence[Any], *, mixed: bool = False) -> Any:
    """Put parts of a column together; where their types differ they are refused, or ``mixed`` in a list of objects."""
    parts = [ready(part) for part in parts]
    if all(isinstance(part, list) for part in parts):
        return [value for part in parts for value in part]
    arrays = [pa.array(part) if isinstance(part, list) else part for part in parts]
    columns = [part if isinstance(part, pa.ChunkedArray) else pa.chunked_array([part]) for part in arrays]
    if len({column.type for column in columns}) > 1:  # files may differ in which columns they keep as dictionaries
        columns = [column.cast(value_type(column.type)) for column in columns]
    kinds = {column.type for column in columns}
    if mixed and len(kinds) > 1:
        return [value for part in parts for value in cells(part)]
    check_types(name, kinds)
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def value_type(kind: Any) -> Any:
    """Return the type of the values of a column, also of one that is kept as a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def check_types(name: str, kinds: set[Any]) -> None:
    """Refuse a column that has different types in different files."""
    if len(kinds) > 1:
        listed = ", ".join(sorted(map(str, kinds)))
        raise InputError(f"The column {name!r} has different types in different files: {listed}. Make them the same.")
