"""Wide tables: one row per task and one column per worker, or the other way round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.late import pa, pc
from allalike._core.registry import find_close
from allalike.errors import ColumnError, InputError, Proposal
from allalike.readers.column_names import COLUMN, check_chosen, list_names, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.formats.matrices import ROWS
from allalike.readers.formats.tables import Table, of_columns
from allalike.readers.guessing.consensus import MOST_DEPARTURES, find_consensus, measure_departures
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.shapes import GOLD, find_row_ids, find_strangers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["StackedTable", "stack"]

_LOOKED_AT = 10_000  # this many rows tell what columns are


@dataclass(frozen=True)
class StackedTable:
    """The three columns of a matrix, the column of its row ids if that was guessed, and what to say of it."""

    columns: dict[str, Column]
    guessed: dict[str, str]
    remarks: tuple[str, ...] = ()

    def table(self, matrix: Table) -> Table:
        """Return the columns as a table that knows what was found out about the matrix."""
        remarks = (*matrix.remarks, *self.remarks)
        return replace(of_columns(self.columns), guessed=matrix.guessed, remarks=remarks, na=matrix.na)


def stack(table: Table, wide: str, chosen: Mapping[str, str], files: Files | None = None) -> StackedTable:
    """Turn a wide table into three columns; an empty cell is a missing answer.

    The column that names the rows is the chosen one, or that with the name of its role, the index of a frame, or the
    first one if it has no value twice; else the rows are numbered.

    >>> from allalike.readers.formats.tables import of_records
    >>> table = of_records([{"task": "t1", "ada": "x", "bob": None}, {"task": "t2", "ada": "y", "bob": "y"}])
    >>> columns = stack(table, "tasks", {}).columns
    >>> [column.data.to_pylist() for column in columns.values()]
    [['t1', 't2', 't2'], ['ada', 'ada', 'bob'], ['x', 'y', 'y']]
    """
    files = files or Files()
    down, across = ROWS[wide]
    if not table.names:
        raise ColumnError(f"{table.where} has no columns.")
    head = TableSample(table.sample(_LOOKED_AT), frozenset(table.na or ()))
    ids, guessed = _find_ids(table, head, down, chosen)
    names = _select([name for name in table.names if name != ids], files, table.where)
    if not names:
        raise ColumnError(f"{table.where} has no column of answers. A wide table has one per {across}.")
    _refuse_strangers(table, head, names, files, down)
    asked = {ids, *names}
    loaded = table.load([name for name in table.names if name in asked])
    cells = [table.column("label", loaded[name]) for name in names]
    rows = _rows(table, down, loaded[ids] if ids is not None else None, len(cells[0]))
    remarks = (
        []
        if ids is not None or table.index is not None
        else [f"No column names the rows: they are numbered from 1 ({down}s)."]
    )
    if down == "task" and not files.only and (consensus := find_consensus(head, names)):
        remarks.append(
            f"Column {consensus!r} agrees with the majority of the other columns in 95 % of the rows or more. If it is"
            f" their consensus and not a worker, exclude it with skip={consensus!r}."
        )
    present = [~cell.missing() for cell in cells]
    kept = [place for place, here in enumerate(present) if here.any()]
    if not kept:
        raise ColumnError(f"{table.where} has no answers: all cells are empty.")
    remarks += _left_out([name for name, here in zip(names, present, strict=True) if not here.any()], across)
    unanswered = int((~np.logical_or.reduce(present)).sum())
    if unanswered:
        remarks.append(f"{unanswered:,} {down}s have no answers and are left out.")
    heads = [names[place] for place in kept]
    long = _long(rows, heads, [cells[place] for place in kept], [present[place] for place in kept], across)
    return StackedTable(long, guessed, tuple(remarks))


def _left_out(names: Sequence[str], across: str) -> list[str]:
    if not names:
        return []
    return [f"{len(names):,} {across}s have no answers and are left out: {list_names(names)}."]


def _find_ids(
    table: Table, head: TableSample, down: str, chosen: Mapping[str, str]
) -> tuple[str | None, dict[str, str]]:
    """Return the column that names the rows, if there is one, and what was guessed."""
    if chosen:
        check_chosen(table.names, chosen, table.where, roles=(down,))
        return chosen[down], {}
    try:
        picked, guessed = pick_columns(table.names, {}, table.where, roles=(down,))
    except ColumnError:
        picked, guessed = {}, {}
    if picked and 2 * head[picked[down]].n_values > head.n_rows:
        return picked[down], guessed
    first = find_row_ids(head) if table.index is None else None
    return first, {} if first is None else {down: first}


def _select(names: Sequence[str], files: Files, where: str) -> list[str]:
    """Return the columns that are asked for, without those that are to be skipped."""
    for option, patterns in (("only", files.only), ("skip", files.skip)):
        for pattern in patterns:
            if not any(_fits(name, pattern) for name in names):
                close = find_close(pattern, names)
                meant = "" if close is None else f" Did you mean {close!r}?"
                others = tuple(each for each in patterns if each != pattern)
                ways = [(*others, close), others] if close is not None else [others]
                raise ColumnError(
                    f"{where} has no column {pattern!r}.{meant} It has: {list_names(names)}.",
                    proposals=[Proposal({option: way}) for way in ways],
                )
    wanted = [name for name in names if not files.only or any(_fits(name, pattern) for pattern in files.only)]
    return [name for name in wanted if not any(_fits(name, pattern) for pattern in files.skip)]


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _refuse_strangers(table: Table, head: TableSample, names: Sequence[str], files: Files, down: str) -> None:
    """Refuse columns that are probably not answers, unless the columns of answers are named."""
    strangers = {} if files.only else find_strangers(head, names, down)
    if not strangers:
        return
    listed = ", ".join(f"{name!r} ({reason})" for name, reason in strangers.items())
    proposals, hint = [Proposal({"skip": (*files.skip, *strangers)})], ""
    gold = [name for reason in (GOLD, "consensus") for name in strangers if strangers[name] == reason]
    if gold and down == "task":
        workers = [name for name in names if name not in strangers]
        rate, rows = measure_departures(head, [*workers, gold[0]]).get(gold[0], (1.0, 0))
        computed = strangers[gold[0]] != GOLD and rows > 0 and rate <= MOST_DEPARTURES
        rest = tuple(name for name in (*files.skip, *strangers) if name != gold[0])
        use = Proposal({"gold": f"{COLUMN}{gold[0]}", **({"skip": rest} if rest else {})})
        proposals = [*proposals, use] if computed else [use, *proposals]
        hint = f" Use {gold[0]!r} as gold labels, or exclude it."
        hint += " It nearly always is the majority of the others, which it would confirm as gold." if computed else ""
    raise ColumnError(
        f"{table.where} has columns that are probably not answers: {listed}.{hint} If all are answers, name the columns"
        " of answers with only=.",
        proposals=proposals,
    )


def _rows(table: Table, down: str, loaded: Any, count: int) -> Column:
    if loaded is None:
        return Column.of_objects(down, list(table.index if table.index is not None else range(1, count + 1)))
    return table.column(down, loaded)


def _long(rows: Column, names: list[str], cells: list[Column], present: list[Any], across: str) -> dict[str, Column]:
    kept = [cell.keep(here).data for cell, here in zip(cells, present, strict=True)]
    ids = [rows.keep(here).data for here in present]
    heads = pa.chunked_array([pa.array(names)]).dictionary_encode().chunk(0)
    places = np.repeat(np.arange(len(names), dtype=np.int32), [int(here.sum()) for here in present])
    head = pa.DictionaryArray.from_arrays(pa.array(places), heads.dictionary).cast(pa.string())
    columns = {
        rows.name: Column(rows.name, _joined(ids), text=rows.text),
        across: Column(across, pa.chunked_array([head]), text=True),
        "label": Column("label", _joined(kept), text=cells[0].text),
    }
    return {role: columns[role] for role in sorted(columns, key=["task", "worker", "label"].index)}


def _joined(parts: list[Any]) -> Any:
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
    joined = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
    whole = joined.combine_chunks()  # for what is done chunk by chunk would take long with thousands of columns
    return whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])


def _as_whole_numbers(part: Any) -> Any:
    """Return numbers as whole ones, or refuse; floats that do not fit are turned into others on some processors."""
    if pa.types.is_floating(part.type) and not pc.all(pc.less(pc.abs(part), 2.0**63)).as_py():
        raise pa.ArrowInvalid
    return part.cast(pa.int64())
