"""Records in a table: several columns that together are a label, and labels of several scales."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.column import RecordColumn
from allalike._core.columns.values import arrow_of, numpy_of
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELDS
from allalike._core.words import count
from allalike.domains import DOMAINS
from allalike.domains.contract import spell_domain
from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import list_names
from allalike.readers.formats.cells import cells
from allalike.readers.guessing.kinds import guess_domain
from allalike.readers.rating_scales import read_ratings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy.typing as npt

    from allalike._core.columns.column import Column
    from allalike.domains import Domain
    from allalike.readers.formats.tables import Columns, Table
    from allalike.readers.read_options import Reading

_NAME = "record"  # the column that is made of the fields is called so
_SHOWN = 12
_MIN_NUMBERS = 5  # different ones, that hardly recur, measure or count something


def has_fields(names: Sequence[str], fields: Sequence[str], columns: Mapping[str, str], where: str = "") -> bool:
    """Tell whether the fields of a label are columns of a table, which has these names; all must be, or none."""
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
    made = _NAME
    while made in {*table.names} - {*fields}:
        made = f"{made}_"

    def step(columns: Columns, _: int) -> Columns:
        parts = {name: table.column("label", columns[name]) for name in fields}
        return columns | {made: RecordColumn("label", parts)}

    roles = {role: name for role, name in table.roles.items() if role != "label"}
    written = table.text or table.written
    return table.with_step(step, adds=[made], needs=fields, drops=fields, roles=roles, written=written), made


def part_scales(table: Table, picked: Mapping[str, str], how: Reading) -> Table:
    """Make records with a field for each scale, where tasks have scales of their own, such as questions of a survey.

    "Agree" and "Sometimes" are no two classes of one question. So a label fills the field of its scale and no other:
    labels of different scales are never compared, each scale has a label type of its own, and a worker has one weight
    in all of them.
    """
    if how.domain is not None or not table.scales:
        return table
    name = picked["label"]
    loaded = table.load([name, picked["task"], table.scales])
    codes, scales = table.column("task", loaded[table.scales]).factors
    names = [str(each) for each in scales.tolist()]
    if len(names) > MAX_FIELDS:
        return table
    label, task = table.column("label", loaded[name]), table.column("task", loaded[picked["task"]]).factors[0]
    fields, kinds, listed, excluded = {}, {}, [], []
    for place in np.argsort(np.unique(codes, return_index=True)[1]):  # in the order in which they come
        scale, rows = names[place], codes == place
        kinds[scale], beside = _guess(label.keep(rows), task[rows])
        missing = rows & numpy_of(pc.is_in(label.data, value_set=pa.array(beside, label.data.type)))
        if missing.any():
            excluded.append(f"{' and '.join(map(repr, beside))} in {scale} ({count(int(missing.sum()), 'answer')})")
        kept = pc.if_else(arrow_of(rows & ~missing), label.data, pa.scalar(None, label.data.type))
        fields[scale] = table.column("label", kept)
        listed.append((kinds[scale].name, scale, len(np.unique(task[rows]))))
    domain, column, says = kinds[names[0]], fields[names[0]].data, []
    if len(names) > 1:
        make: Any = DOMAINS["record"]
        domain, column = make(fields=tuple(kinds.items()), one=True), RecordColumn("label", fields)
        says = [_describe_scales(listed)]
    says += _describe_codes(kinds, excluded)
    step = lambda columns, _: columns | {name: column}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=says, domain=domain)


def _guess(column: Column, task: npt.NDArray[np.int32]) -> tuple[Domain, list[str]]:
    """Return the type of the labels of a scale, and those that mean no answer; classes where it is unclear.

    Ratings from 0 to 10 are levels, and other numbers that hardly recur are numbers.
    """
    there = ~column.missing()
    given, place = column.keep(there), np.unique(task[there], return_inverse=True)[1].astype(np.int32)
    values = [str(value) for value in cells(given)]
    different = list(dict.fromkeys(values))
    if ratings := read_ratings(different):
        return _make_ratings(ratings), []
    try:
        kind = guess_domain(given, [(given, place)], len(place), lambda: (given, place))
    except InputError as error:
        codes = error.settles.get("abstain", ())
        beside = [str(code) for code in (codes if isinstance(codes, tuple) else (codes,))]
        there[there] = [value not in beside for value in values]
        if beside and there.any():
            return _guess(column.keep(there), task[there])[0], beside
        return DOMAINS["categorical"](), []
    rare = kind.name == "categorical" and given.looks_numeric() and len(different) > len(place) / 2
    return DOMAINS["real"]() if rare and len(different) >= _MIN_NUMBERS else kind, []


def _make_ratings(ratings: Mapping[str, int]) -> Domain:
    """Return levels of whole numbers; where words stand beside some of them, all levels between are named.

    >>> _make_ratings({"3": 3, "5 (best)": 5}).levels
    ('3', '4', '5 (best)')
    """
    make: Any = DOMAINS["ordinal"]
    written = {number: label for label, number in ratings.items()}
    levels = tuple(written.get(n, str(n)) for n in range(min(written), max(written) + 1))
    domain: Domain = make() if all(map(str.isdecimal, ratings)) else make(levels=levels)
    return domain


def _describe_scales(scales: Sequence[tuple[str, str, int]]) -> str:
    """Say which scales there are."""
    shown = [f"{name} ({f'{count} questions, ' if count > 1 else ''}{kind})" for kind, name, count in scales[:_SHOWN]]
    rest = Counter(kind for kind, *_ in scales[_SHOWN:])
    more = f" and {rest.total()} more ({', '.join(f'{count} {kind}' for kind, count in rest.items())})" if rest else ""
    return f"Questions have {len(scales)} scales, each of a kind of its own: {', '.join(shown)}{more}."


def _describe_codes(kinds: Mapping[str, Domain], excluded: Sequence[str]) -> list[str]:
    """Say which labels mean no answer, and which whole numbers are ratings, with what to do if they are codes."""
    names = [name for name, kind in kinds.items() if spell_domain(kind) == "ordinal"]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    says = [f"These mean no answer and are excluded: {', '.join(excluded)}. To count them:"] if excluded else []
    says += [f"Whole numbers are ratings (ordinal) in {shown}. If they are codes of choices:"] if names else []
    return [f"{each} --only NAME --domain categorical." for each in says]
