"""Merged cells: an id that stands in the first of its rows only, and is blank in those below, as spreadsheets write it.

It is known by the other id: every row has one, and with the ids filled in no worker answers a task twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.readers.formats.tables import Table

__all__ = ["fill_down"]

_SAMPLE_ROWS = 2000
_MIN_BLANK = 0.3  # of the rows


def fill_down(table: Table, picked: Mapping[str, str]) -> Table:
    """Return a table whose workers or tasks are in each row, if they stand in the first of several only.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> cells = {"task": ["t1", "", "t2", ""], "worker": ["ada", "bob", "ada", "bob"]}
    >>> table = Table(list(cells), lambda asked: {name: pa.chunked_array([cells[name]]) for name in asked}, text=True)
    >>> fill_down(table, {"worker": "worker", "task": "task"}).load(["task"])["task"].to_pylist()
    ['t1', 't1', 't2', 't2']
    """
    name = _find(table, picked) if table.text else None
    if name is None:
        return table
    batches = table.load_batches

    def load(asked: Sequence[str]) -> dict[str, Any]:
        loaded = table.load(asked)
        return {**loaded, name: _fill(loaded[name])} if name in loaded else loaded

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        assert batches is not None
        last = None
        for batch in batches(asked):
            if name in batch and len(batch[name]):
                column = _fill(batch[name], last)
                last = column[-1].as_py()
                batch = {**batch, name: column}
            yield batch

    return replace(
        table,
        load=load,
        load_batches=None if batches is None else load_batches,
        load_sample=None,
        parts=(),
        delimiter="",
        remarks=[*table.remarks, f"{table.where} has blank cells below those of {name!r}, which are filled with them."],
    )


def _find(table: Table, picked: Mapping[str, str]) -> str | None:
    """Return the column whose blank cells mean the one above."""
    sample = table.sample(_SAMPLE_ROWS, [picked["worker"], picked["task"]])
    for role, other in (("task", "worker"), ("worker", "task")):
        ids, others = (_texts(sample[picked[each]]) for each in (role, other))
        blank = [not each.strip() for each in ids]
        if not ids or blank[0] or sum(blank) < _MIN_BLANK * len(ids) or not all(each.strip() for each in others):
            continue
        filled = _fill(pa.array(ids)).to_pylist()
        if len(set(filled)) > 1 and len(set(zip(filled, others, strict=True))) == len(filled):
            return picked[role]
    return None


def _texts(cells: Any) -> list[str]:
    return list(map(str, cells.to_pylist() if hasattr(cells, "to_pylist") else cells))


def _fill(cells: Any, before: str | None = None) -> Any:
    """Put the value above into blank cells; above the first stands what came before."""
    column = pa.chunked_array([cells]) if isinstance(cells, pa.Array) else cells
    kept = pc.if_else(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(column)), 0), None, column)
    above = pa.chunked_array([pa.array([before], column.type), *kept.chunks])
    return pc.fill_null_forward(above).slice(1).fill_null("")
