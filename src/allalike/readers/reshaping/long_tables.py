"""Long tables: one row per object, of which the rows of a worker and a task together are an answer.

The columns that say where an object is, and perhaps its class, are named together as the label, such as
``x1 y1 x2 y2 class``, or are recognised by the names that tools give them. A row in which all of them are blank says
that the worker saw nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of
from allalike.answers.cleaning import check_ids
from allalike.domains.things.box_forms import BOX_KEYS, CLASS_KEYS
from allalike.errors import LabelError
from allalike.readers.column_names import pick_columns

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

__all__ = ["gather_objects", "list_texts", "list_values", "take_values"]

_SIDES = tuple(keys for keys in BOX_KEYS if len(keys) > 1)


def gather_objects(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> Table:
    """Return a table of answers if a table has a row for each object, and else the table itself.

    >>> from allalike.readers.formats.tables import of_records
    >>> box = {"worker": "ada", "task": 1, "x1": 0, "y1": 0, "x2": 4, "y2": 3}
    >>> found = gather_objects(of_records([box, {**box, "x1": 2}]), {}, None)
    >>> found.load(["x1 y1 x2 y2"])["x1 y1 x2 y2"].data
    [[{'x1': 0.0, 'y1': 0.0, 'x2': 4.0, 'y2': 3.0}, {'x1': 2.0, 'y1': 0.0, 'x2': 4.0, 'y2': 3.0}]]
    """
    parts = _find_parts(table, chosen, domain)
    if not parts:
        return table
    others = [name for name in table.names if name not in parts]
    given = {role: name for role, name in chosen.items() if role != "label"}
    picked, _ = pick_columns(others, given, table.where, roles=("worker", "task"))
    label = chosen.get("label", " ".join(parts))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = _gather(table, picked, parts)
        return {name: columns[role] for role, name in {**picked, "label": label}.items() if name in asked}

    return table.loaded_by(
        load,
        names=[*picked.values(), label],
        text=False,
        roles={**picked, "label": label},
        remarks=[*table.remarks, "Each row is an object; the rows of a worker and a task together are an answer."],
    )


def _find_parts(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> list[str]:
    """Return the columns of an object: those that are named together, or those that have the usual names."""
    label = chosen.get("label") if isinstance(chosen, Mapping) else None
    if label is not None:
        words = str(label).split()
        several = len(words) > 1 and label not in table.names and all(word in table.names for word in words)
        return words if several else []
    if table.roles or (domain is not None and domain.name != "boxes"):
        return []
    names = {name.casefold(): name for name in reversed(table.names)}
    sides = next((keys for keys in _SIDES if all(key in names for key in keys)), ())
    kind = next((key for key in CLASS_KEYS if key in names), None) if sides else None
    return [names[key] for key in (*sides, *([kind] if kind else []))]


def _gather(table: Table, picked: Mapping[str, str], parts: Sequence[str]) -> dict[str, Column]:
    """Put the objects of each worker and task into a list."""
    asked = [*picked.values(), *parts]
    loaded = {name: data() if callable(data) else data for name, data in table.load(asked).items()}
    ids = {role: table.column(role, loaded[name]) for role, name in picked.items()}
    for column in ids.values():
        check_ids(column)
    worker, task = (copy(ids[role]).factors[0] for role in ("worker", "task"))  # which lets go of the values
    values = [list_values(table.column(name, loaded[name]).data) for name in parts]
    keys = [name.casefold() for name in parts]
    named = any(set(sides) <= set(keys) for sides in _SIDES)
    place: dict[tuple[int, int], int] = {}
    first: list[int] = []
    answers: list[list[Any]] = []
    for row, (who, what, *cells) in enumerate(zip(worker.tolist(), task.tolist(), *values, strict=True)):
        number = place.setdefault((who, what), len(answers))
        if number == len(answers):
            answers.append([])
            first.append(row)
        thing = _read_cells(cells, keys, row)
        if thing:
            answers[number].append(dict(zip(keys, thing, strict=False)) if named else thing)
    rows = np.array(first, np.int64)
    found = {role: column.replaced(take_values(column.data, rows), rows) for role, column in ids.items()}
    return {**found, "label": Column("label", answers).numbered(rows)}


def take_values(data: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some values of an Arrow column or a list.

    >>> take_values(["x", "y", "z"], np.array([2, 0]))
    ['z', 'x']
    """
    return [data[row] for row in rows] if isinstance(data, list) else data.take(arrow_of(rows))


def list_values(data: Any) -> list[Any]:
    """Return the values of an Arrow column or a list as a list.

    >>> import pyarrow as pa
    >>> list_values(pa.chunked_array([["x"]]))
    ['x']
    """
    return data if isinstance(data, list) else data.to_pylist()


def list_texts(table: Table, data: Any) -> list[str]:
    """Return values as texts, with nothing where they are missing.

    >>> from allalike.readers.formats.tables import of_records
    >>> list_texts(of_records([{}]), ["x ", None])
    ['x', '']
    """
    column = table.column("label", data() if callable(data) else data)
    pairs = zip(list_values(column.data), column.missing().tolist(), strict=True)
    return ["" if gone else str(value).strip() for value, gone in pairs]


def _read_cells(cells: list[Any], names: list[str], row: int) -> list[Any]:
    """Return the numbers and the class of one object; nothing if all of its cells are blank."""
    kinds = [name in CLASS_KEYS for name in names]
    if not any(kinds) and len(cells) % 2:
        kinds[-1] = True  # an odd last one can only be a class
    blank = [cell is None or (isinstance(cell, float) and cell != cell) or str(cell).strip() == "" for cell in cells]
    if all(empty for empty, kind in zip(blank, kinds, strict=True) if not kind):
        return []
    found = []
    for name, cell, empty, kind in zip(names, cells, blank, kinds, strict=True):
        if kind:
            found.extend([] if empty else [str(cell).strip() if isinstance(cell, str) else cell])
            continue
        try:
            found.append(float("nan" if empty else cell))
        except (TypeError, ValueError):
            raise LabelError(f"{name} in row {row + 1} is {cell!r}, which is no number. Correct it.") from None
        if empty:
            raise LabelError(f"{name} in row {row + 1} is blank, though others are not. Fill in all, or none.")
    return found
