"""Wide tables: one row per task and one column per worker, or the other way round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of
from allalike._core.late import pa, pc
from allalike._core.registry import find_close
from allalike.answers.cleaning import check_ids
from allalike.domains.things.boxes import BOX_KEYS, CLASS_KEYS
from allalike.errors import ColumnError, InputError, LabelError, Proposal
from allalike.readers.column_names import COLUMN, check_chosen, list_names, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.formats.frames import ROWS
from allalike.readers.formats.tables import Table, of_columns
from allalike.readers.guessing.consensus import MOST_DEPARTURES, find_consensus, measure_departures
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.shapes import GOLD, find_row_ids, find_strangers

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.domains import Domain

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


# Long tables: one row per object, of which the rows of a worker and a task together are an answer.
#
# The columns that say where an object is, and perhaps its class, are named together as the label, such as
# ``x1 y1 x2 y2 class``, or are recognised by the names that tools give them. A row in which all of them are blank says
# that the worker saw nothing.


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
