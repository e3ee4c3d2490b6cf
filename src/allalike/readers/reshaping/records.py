"""Records in a table: several columns that together are a label."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike._core.columns.record_column import RecordColumn
from allalike.errors import ColumnError
from allalike.readers.column_names import list_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.readers.formats.tables import Table

__all__ = ["combine", "has_fields"]

_NAME = "record"  # the column that is made of the fields is called so


def has_fields(names: Sequence[str], fields: Sequence[str], columns: Mapping[str, str], where: str = "") -> bool:
    """Tell whether the fields of a label are columns of a table, which has these names; all must be, or none.

    >>> has_fields(["worker", "task", "year", "name"], ["year", "name"], {})
    True
    """
    known = set(names)
    missing = [name for name in fields if name not in known]
    if not fields or "label" in columns or len(missing) == len(fields):
        return False
    if missing:
        raise ColumnError(
            f"{where} has no column {missing[0]!r}, but other fields of the labels are columns. Add it, or leave it out"
            f" of the fields. Columns: {list_names(names)}."
        )
    return True


def combine(table: Table, fields: Sequence[str]) -> tuple[Table, str]:
    """Return a table in which the fields are one column, and the name of that; a row without any has no label.

    >>> from allalike.readers.formats.tables import of_records
    >>> table, name = combine(of_records([{"who": "ada", "x": 1, "y": None}, {"who": "bob"}]), ["x", "y"])
    >>> table.names, table.load([name])[name].data
    (['who', 'record'], [{'x': 1}, None])
    """
    taken = set(fields)
    rest = [name for name in table.names if name not in taken]
    made = _NAME
    while made in rest:
        made = f"{made}_"

    def asked_of(asked: Sequence[str]) -> list[str]:
        return [*(name for name in asked if name != made), *(fields if made in asked else ())]

    def joined(loaded: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
        found = {name: loaded[name] for name in asked if name != made}
        if made in asked:
            columns = {name: table.column("label", _read(loaded[name])) for name in fields}
            found[made] = RecordColumn("label", columns)
        return found

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return joined(table.load(asked_of(asked)), asked)

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        assert table.load_batches is not None
        for batch in table.load_batches(asked_of(asked)):
            yield joined(batch, asked)

    def load_sample(asked: Sequence[str], rows: int) -> dict[str, Any]:
        found = joined(table.sample(rows, asked_of(asked)), asked)
        return {name: data.data if isinstance(data, RecordColumn) else data for name, data in found.items()}

    combined = replace(
        table,
        names=[*rest, made],
        load=load,
        load_batches=load_batches if table.load_batches is not None else None,
        load_sample=load_sample,
        n_bytes=lambda asked: table.n_bytes(asked_of(asked)),
        written=table.text or table.written,
        parts=(),
        roles={role: name for role, name in table.roles.items() if role != "label"},
    )
    return combined, made


def _read(data: Any) -> Any:
    return data() if callable(data) else data
