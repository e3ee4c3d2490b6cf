"""Reshape columns: joined coordinates, lists of answers, merged cells, groups of columns.

Columns are named together as the label, such as ``lat lon``, or ``x y`` with the domain ``vector``; or recognised by
their names where no other is the label: ``lat`` and ``lon``, or ``p_cat p_dog p_owl`` whose rows add up to 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.late import pa, pc
from allalike._core.registry import find_close
from allalike.errors import ColumnError, InputError, LabelError, Proposal
from allalike.readers.column_names import list_names, pick_columns
from allalike.readers.reshaping.wide import list_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

_KINDS = {"place": "a place", "probability": "the probabilities of its options", "vector": "a vector"}
_LATITUDE = re.compile(r"(?i)(.*(?:^|[^a-z]))(?:lat|latitude)(\W*)")
_LONGITUDE = ("lon", "lng", "long", "longitude")
_CHANCE = re.compile(r"(?i)(p|pr|prob|proba|probability)[ _.(\[-]+(.+?)[)\]]?")
_SAMPLE_ROWS = 1000
_TOLERANCE = 0.011  # by which probabilities may miss 1, as for `allalike.Probability`


def join_columns(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> Table:
    """Return a table with one column in the place of several that are a label together, and any other as it is.

    >>> from allalike.readers.formats.tables import of_records
    >>> said = [{"worker": "ada", "task": 1, "lat": "52.5", "lon": "13.4"}]
    >>> found = join_columns(of_records(said), {}, None)
    >>> found.names, found.domain, found.load(["lat lon"])["lat lon"]
    (['worker', 'task', 'lat lon'], 'place', [[52.5, 13.4]])
    """
    if not isinstance(chosen, Mapping) or (domain is not None and domain.name not in _KINDS):
        return table
    kind, parts = _find_parts(table, chosen, domain)
    if not parts:
        return table
    label, options = " ".join(parts), [_name_option(name) for name in parts]
    others = [name for name in table.names if name not in parts]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        rest = [name for name in asked if name != label]
        loaded = table.load([*rest, *(parts if label in asked else ())])
        found = {name: loaded[name] for name in rest}
        if label in asked:
            rows = zip(*(_numbers(table, name, loaded[name]) for name in parts), strict=True)
            found[label] = [_join(row, kind, options, number) for number, row in enumerate(rows)]
        return found

    listed = ", ".join(map(repr, parts[:-1])) + f" and {parts[-1]!r}"
    return table.loaded_by(
        load,
        names=[*others, label],
        roles={**table.roles, "label": label},
        domain=kind if domain is None else "",
        remarks=[*table.remarks, f"{listed} together are the label, {_KINDS[kind]}."],
    )


def _find_parts(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> tuple[str, list[str]]:
    """Return what the columns are that together are the label, and their names."""
    found = {"place": _find_place(table.names), "probability": _find_chances(table.names)}
    if "label" in chosen:
        words = str(chosen["label"]).split()
        kind = next((kind for kind, parts in found.items() if parts == words), "") if domain is None else domain.name
        several = len(words) > 1 and chosen["label"] not in table.names and all(word in table.names for word in words)
        return (kind, words) if kind and several else ("", [])
    kinds = [kind for kind, parts in found.items() if parts and (domain is None or domain.name == kind)]
    if table.roles or len(kinds) != 1 or not _are_answers(table, chosen, found[kinds[0]], kinds[0]):
        return "", []
    return kinds[0], found[kinds[0]]


def _find_place(names: Sequence[str]) -> list[str]:
    """Return the columns of latitude and longitude, if there is one of each."""
    known = {name.casefold(): name for name in names}
    latitudes = [(name, match) for name in names if (match := _LATITUDE.fullmatch(name))]
    if len(latitudes) != 1:
        return []
    name, match = latitudes[0]
    others = [known[key] for word in _LONGITUDE if (key := f"{match[1]}{word}{match[2]}".casefold()) in known]
    return [name, others[0]] if len(others) == 1 else []


def _find_chances(names: Sequence[str]) -> list[str]:
    found = [name for name in names if _CHANCE.fullmatch(name)]
    return found if len(found) > 1 else []


def _name_option(name: str) -> str:
    """Return the option whose probability a column has.

    >>> _name_option("p_cat"), _name_option("prob(dog)"), _name_option("owl")
    ('cat', 'dog', 'owl')
    """
    match = _CHANCE.fullmatch(name)
    return match[2] if match else name


def _are_answers(table: Table, chosen: Mapping[str, str], parts: Sequence[str], kind: str) -> bool:
    """Tell whether columns are numbers that workers gave, and no other column is the label."""
    others = [name for name in table.names if name not in parts]
    given = {role: name for role, name in chosen.items() if role != "label"}
    try:
        picked, _ = pick_columns(others, given, table.where, roles=("worker", "task"))
    except ColumnError:
        return False
    try:
        pick_columns([name for name in others if name not in picked.values()], {}, table.where, roles=("label",))
    except ColumnError:
        return _fit(table, picked["task"], parts, kind)
    return False


def _fit(table: Table, task: str, parts: Sequence[str], kind: str) -> bool:
    """Tell whether some rows have numbers that may be labels: of a task they differ, and chances add up to 1."""
    try:
        sample = table.sample(_SAMPLE_ROWS, [task, *parts])
        rows = list(zip(*(_numbers(table, name, sample[name]) for name in parts), strict=True))
    except InputError:
        return False
    full = [row for row in rows if None not in row]
    if not full:
        return False
    if kind == "probability":
        _check_sums(table, parts, full)
    tasks = sample[task] if isinstance(sample[task], list) else sample[task].to_pylist()
    return len(set(tasks)) == len(tasks) or len(set(zip(map(str, tasks), rows, strict=True))) > len(
        set(map(str, tasks))
    )


def _check_sums(table: Table, parts: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Refuse probabilities that do not add up to 1."""
    odd = next((sum(row) for row in rows if abs(sum(row) - 1) > _TOLERANCE), None)
    if odd is not None:
        raise ColumnError(
            f"{table.where} has columns that look like the probabilities of options, {list_names(parts)}, but those of"
            f" a row add up to {odd:.3g} and not to 1. Correct them, or take one of the columns as the label.",
            columns={"label": parts[0]},
        )


def _numbers(table: Table, name: str, data: Any) -> list[float | None]:
    """Return the cells of a column as numbers; None where there is none."""
    read = table.column("label", data() if callable(data) else data).data
    cells = read if isinstance(read, list) else read.to_pylist()
    return [_number(cell, name, row) for row, cell in enumerate(cells)]


def _number(cell: Any, name: str, row: int) -> float | None:
    if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise LabelError(f"{name} in row {row + 1} is {cell!r}, which is no number. Correct it.") from None


def _join(row: Sequence[float | None], kind: str, options: Sequence[str], number: int) -> Any:
    """Return a label, or nothing where all of its parts are blank."""
    if all(cell is None for cell in row):
        return None
    if None in row:
        raise LabelError(
            f"A part of the label in row {number + 1} is blank, though others are not. Fill in all, or none."
        )
    return dict(zip(options, row, strict=True)) if kind == "probability" else list(row)


# Listed answers: a record for each task with all of its labels in a list, in which each place is a worker.


_PLAIN = ("categorical", "ordinal", "real", "text", "date")  # kinds of which a list is several labels
_PLACE = "place"
_LISTED_ANSWERS_SAMPLE_ROWS = 100


def spread_lists(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> Table:
    """Return a table with a row for each label, if tasks have their labels in lists and there are no workers.

    >>> from allalike.readers.formats.tables import of_records
    >>> records = [{"task": "t1", "labels": ["x", "y"]}, {"task": "t2", "labels": ["x"]}]
    >>> found = spread_lists(of_records(records), {}, None)
    >>> found.load(["place", "task", "labels"])
    {'place': [1, 2, 1], 'task': ['t1', 't1', 't2'], 'labels': ['x', 'y', 'x']}
    """
    picked = _find(table, chosen, domain)
    if picked is None:
        return table
    task, label = picked["task"], picked["label"]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        loaded = table.load([task, label])
        tasks, lists = (_listed(loaded[name]) for name in (task, label))
        rows = [
            (place, one, value)
            for one, values in zip(tasks, lists, strict=True)
            for place, value in enumerate(values or (), start=1)
            if value is not None
        ]
        columns = dict(zip((_PLACE, task, label), map(list, zip(*rows, strict=True)), strict=True))
        return {name: columns[name] for name in asked}

    said = f"Each task has its labels in a list ({label!r}): the places in it are taken for the workers."
    return table.loaded_by(
        load,
        names=[_PLACE, task, label],
        roles={"worker": _PLACE, "task": task, "label": label},
        remarks=[*table.remarks, said],
    )


def _find(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> dict[str, str] | None:
    """Return the columns of tasks and of lists of labels, if a table has such and no column of workers."""
    if table.text or table.roles or not isinstance(chosen, Mapping) or "worker" in chosen:
        return None
    if (domain is not None and domain.name not in _PLAIN) or _pick(table, {}, ("worker",)):
        return None
    picked = _pick(table, chosen, ("task", "label"))
    if picked is None:
        return None
    try:
        lists = _listed(table.sample(_LISTED_ANSWERS_SAMPLE_ROWS, [picked["label"]])[picked["label"]])
    except InputError:
        return None
    plain = all(isinstance(each, list | tuple) and not any(map(_is_nested, each)) for each in lists if each is not None)
    return picked if plain and any(each and len(each) > 1 for each in lists) else None


def _pick(table: Table, chosen: Mapping[str, str], roles: Sequence[str]) -> dict[str, str] | None:
    try:
        return pick_columns(table.names, chosen, table.where, roles=roles)[0]
    except ColumnError:
        return None


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | dict)


def _listed(data: Any) -> list[Any]:
    read = data() if callable(data) else data
    return read if isinstance(read, list) else list(read.to_pylist())


# Merged cells: an id that stands in the first of its rows only, and is blank in those below, as spreadsheets write
# it.
#
# It is known by the other id: every row has one, and with the ids filled in no worker answers a task twice.


_MERGED_CELLS_SAMPLE_ROWS = 2000
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
    name = _merged_cells_find(table, picked) if table.text else None
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


def _merged_cells_find(table: Table, picked: Mapping[str, str]) -> str | None:
    """Return the column whose blank cells mean the one above."""
    sample = table.sample(_MERGED_CELLS_SAMPLE_ROWS, [picked["worker"], picked["task"]])
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


# Groups: the rows of a table that have the same value in a column, such as those of a block or of some workers.


def part_table(
    table: Table, names: Sequence[str], picked: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], Table]]:
    """Yield the rows that have the same values in some columns, as tables, each with these values.

    >>> from allalike.readers.formats.tables import of_records
    >>> table = of_records([{"who": "ada", "sex": "f"}, {"who": "bob", "sex": "m"}, {"who": "eve", "sex": "f"}])
    >>> parts = part_table(table, ["sex"], {"worker": "who"})
    >>> [(values, part.load(["who"])["who"].data.to_pylist()) for values, part in parts]
    [(('f',), ['ada', 'eve']), (('m',), ['bob'])]
    """
    if missing := [name for name in names if name not in table.names]:
        free = [name for name in table.names if name not in {*names, *picked.values()}]
        close = find_close(missing[0], free) or next(iter(free), None)
        right = tuple(each for each in (*(name for name in names if name not in missing), close) if each)
        raise ColumnError(
            f"{table.where} has no column {missing[0]!r}. Columns: {list_names(table.names)}.",
            proposals=[Proposal({"by": right or None})],
        )
    held: dict[str, Column] = {}

    def load(asked: Sequence[str], rows: npt.NDArray[np.bool_]) -> dict[str, Any]:
        new = [name for name in asked if name not in held]
        for name, data in table.load(new).items() if new else ():
            role = "label" if name == picked.get("label") else "task"
            held[name] = table.column(role, data() if callable(data) else data)
        return {name: held[name].keep(rows) for name in asked}

    found = [Column("task", list_texts(table, data)).factors for data in table.load(names).values()]
    codes = np.stack([each for each, _ in found])
    for place in np.unique(codes, axis=1).T:
        rows = (codes == place[:, None]).all(axis=0)
        values = tuple(str(known.tolist()[code]) for (_, known), code in zip(found, place, strict=True))
        yield values, table.loaded_by(partial(load, rows=rows), roles=dict(picked))
