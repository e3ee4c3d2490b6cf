"""Wide tables: one row per task and one column per worker, or the other way round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.column import Column
from allalike.errors import ColumnError, InputError
from allalike.readers.names import pick_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.readers.tables import Table

__all__ = ["ROWS", "stack"]

ROWS = {"tasks": ("task", "worker"), "workers": ("worker", "task")}


def stack(table: Table, wide: str, chosen: Mapping[str, str]) -> tuple[dict[str, Column], dict[str, str]]:
    """Turn a wide table into three columns; an empty cell is a missing answer.

    The column that names the rows is the chosen one, or that with the name of its role, or the first one.

    >>> from allalike.readers.tables import of_records
    >>> table = of_records([{"task": "t1", "ada": "x", "bob": None}, {"task": "t2", "ada": "y", "bob": "y"}])
    >>> columns, guessed = stack(table, "tasks", {})
    >>> [column.data.to_pylist() for column in columns.values()]
    [['t1', 't2', 't2'], ['ada', 'ada', 'bob'], ['x', 'y', 'y']]
    """
    down, across = ROWS[wide]
    try:
        picked, guessed = pick_columns(table.names, chosen, table.where, roles=(down,))
    except ColumnError:
        if chosen or not table.names:
            raise
        picked = guessed = {down: table.names[0]}
    names = [name for name in table.names if name != picked[down]]
    if not names:
        raise InputError(f"{table.where} has one column only. A wide table needs one per {across}.")
    loaded = table.load(table.names)
    rows = table.column(down, loaded[picked[down]])
    cells = [table.column("label", loaded[name]) for name in names]
    present = [~cell.missing() for cell in cells]
    answered = np.logical_or.reduce(present) if down == "task" else np.array([here.any() for here in present])
    if not answered.all():
        place = int(np.argmin(answered))
        task = rows.value(place) if down == "task" else names[place]
        raise InputError(f"Nobody answered task {task!r}. Remove it; a missing answer is an empty cell.")
    return _long(rows, names, cells, present, across), guessed


def _long(rows: Column, names: list[str], cells: list[Column], present: list[Any], across: str) -> dict[str, Column]:
    import pyarrow as pa

    kept = [cell.keep(here).data for cell, here in zip(cells, present, strict=True)]
    ids = [rows.keep(here).data for here in present]
    heads = pa.chunked_array([pa.array(names)]).dictionary_encode().chunk(0)
    places = np.repeat(np.arange(len(names), dtype=np.int32), [int(here.sum()) for here in present])
    head = pa.DictionaryArray.from_arrays(pa.array(places), heads.dictionary).cast(pa.string())
    columns = {
        rows.name: Column(rows.name, _joined(ids), text=rows.text),
        across: Column(across, pa.chunked_array([head]), text=True),
        "label": Column("label", _joined(kept), text=rows.text),
    }
    return {role: columns[role] for role in sorted(columns, key=["task", "worker", "label"].index)}


def _joined(parts: list[Any]) -> Any:
    import pyarrow as pa

    if any(isinstance(part, list) for part in parts):
        return [value for part in parts for value in (part if isinstance(part, list) else part.to_pylist())]
    parts = [part for part in parts if len(part)]
    kinds = {part.type for part in parts}
    if len(kinds) > 1:
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            listed = ", ".join(sorted(map(str, kinds)))
            raise InputError(f"The columns of the wide table have different types: {listed}. Make them the same.")
        try:  # whole numbers that an empty cell has turned into floats
            parts = [_as_whole_numbers(part) for part in parts]
        except pa.ArrowInvalid:
            parts = [part.cast(pa.float64(), safe=False) for part in parts]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks])


def _as_whole_numbers(part: Any) -> Any:
    """Return numbers as whole ones, or refuse; floats that do not fit are turned into others on some processors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(part.type) and not pc.all(pc.less(pc.abs(part), 2.0**63)).as_py():
        raise pa.ArrowInvalid
    return part.cast(pa.int64())
