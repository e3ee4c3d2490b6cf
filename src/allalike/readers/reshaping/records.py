"""Records in a table: several columns that together are a label."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import RecordColumn
from allalike._core.columns.values import arrow_of
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELDS
from allalike._core.words import count
from allalike.domains import DOMAINS
from allalike.domains.contract import spell_domain
from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import list_names
from allalike.readers.guessing.kinds import guess_domain
from allalike.readers.rating_scales import read_ratings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.columns.column import Column
    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

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


# Scales: labels of tasks that have scales of their own, such as the questions of a survey.
#
# "Agree" and "Sometimes" are no two classes of one question. So the labels of each scale are a field of a record in
# which a label fills no other: labels of different scales are never compared, each scale has a kind of its own, and a
# worker has one weight in all of them.


_SHOWN = 12
_MIN_NUMBERS = 5  # different ones, that hardly recur, measure or count something


def part_scales(table: Table, picked: Mapping[str, str], domain: Domain | None = None) -> Table:
    """Return a table whose labels are records with a field for each scale, if it has several and no kind is given.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> columns = {"who": ["a", "b"] * 2, "q": [1, 1, 2, 2], "is": ["yes", "no", "low", "low"], "of": [*"xxyy"]}
    >>> load = lambda asked: {name: pa.chunked_array([columns[name]]) for name in asked}
    >>> table = Table([*columns], load, scales="of")
    >>> found = part_scales(table, {"worker": "who", "task": "q", "label": "is"})
    >>> found.load(["is"])["is"].data
    [{'x': 'yes'}, {'x': 'no'}, {'y': 'low'}, {'y': 'low'}]
    """
    if domain is not None or not table.scales:
        return table
    loaded = table.load([picked["label"], picked["task"], table.scales])
    codes, scales = table.column("task", loaded[table.scales]).factors
    names = [str(name) for name in scales.tolist()]
    if len(names) > MAX_FIELDS:
        return table
    label = table.column("label", loaded[picked["label"]])
    task = table.column("task", loaded[picked["task"]]).factors[0]
    fields, kinds, listed, excluded = {}, {}, [], []
    for place in np.argsort(np.unique(codes, return_index=True)[1]):  # in the order in which they come
        name, rows = names[place], codes == place
        kind, beside = _guess(label.keep(rows), task[rows])
        missing = rows & pc.is_in(label.data, value_set=pa.array(beside, label.data.type)).to_numpy(
            zero_copy_only=False
        )
        excluded += [f"{_listed(beside)} in {name} ({count(int(missing.sum()), 'answer')})"] if missing.any() else []
        fields[name] = table.column("label", _keep(label.data, rows & ~missing))
        kinds[name] = kind
        listed.append((kind.name, name, len(np.unique(task[rows]))))
    one = len(names) == 1
    column = fields[names[0]].data if one else RecordColumn("label", fields)
    return replace(
        table,
        load=lambda asked: {
            name: column if name == picked["label"] else data for name, data in table.load(list(asked)).items()
        },
        domain=kinds[names[0]] if one else _record(kinds),
        remarks=(*table.remarks, *([] if one else [_tell(listed)]), *_tell_excluded(excluded), *_tell_ratings(kinds)),
    )


def _keep(labels: Any, rows: npt.NDArray[np.bool_]) -> Any:
    return pc.if_else(arrow_of(rows), labels, pa.scalar(None, labels.type))


def _guess(column: Column, task: npt.NDArray[np.int32]) -> tuple[Domain, list[str]]:
    """Return the kind of the labels of a scale, and those that mean no answer; classes where it is unclear.

    Ratings from 0 to 10 are levels, and other numbers that hardly recur are numbers.
    """
    there = ~column.missing()
    given, place = column.keep(there), np.unique(task[there], return_inverse=True)[1].astype(np.int32)
    values = [str(value) for value in given.data.to_pylist()]
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
    if all(map(str.isdecimal, ratings)):
        return DOMAINS["ordinal"]()
    written = {number: label for label, number in ratings.items()}
    make: Any = DOMAINS["ordinal"]
    domain: Domain = make(levels=tuple(written.get(n, str(n)) for n in range(min(written), max(written) + 1)))
    return domain


def _record(kinds: Mapping[str, Domain]) -> Domain:
    from allalike.domains import Record

    return Record(fields=tuple(kinds.items()), one=True)


def _listed(labels: Sequence[str]) -> str:
    return " and ".join(map(repr, labels))


def _tell_excluded(labels: Sequence[str]) -> list[str]:
    """Say which answers are not levels of their scale.

    >>> _tell_excluded(["'Unsure' in Q2 (3 answers)"])[0].partition(". ")[0]
    "These mean no answer and are excluded: 'Unsure' in Q2 (3 answers)"
    """
    counts = "To count them: --only NAME --domain categorical."
    return [f"These mean no answer and are excluded: {', '.join(labels)}. {counts}"] if labels else []


def _tell_ratings(kinds: Mapping[str, Domain]) -> list[str]:
    """Say that whole numbers are ratings, and what to do if they are codes.

    >>> _tell_ratings({"1 to 7": DOMAINS["ordinal"](), "Which?": DOMAINS["categorical"]()})
    ['Whole numbers are ratings (ordinal) in 1 to 7. If they are codes of choices: --only NAME --domain categorical.']
    """
    names = [name for name, kind in kinds.items() if spell_domain(kind) == "ordinal"]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    codes = "If they are codes of choices: --only NAME --domain categorical."
    return [f"Whole numbers are ratings (ordinal) in {shown}. {codes}"] if names else []


def _tell(scales: Sequence[tuple[str, str, int]]) -> str:
    """Say which scales there are.

    >>> _tell([("ordinal", "Q2", 4), ("categorical", "Q5", 1)])
    'Questions have 2 scales, each of a kind of its own: Q2 (4 questions, ordinal), Q5 (categorical).'
    """
    shown = [f"{name} ({f'{count} questions, ' if count > 1 else ''}{kind})" for kind, name, count in scales[:_SHOWN]]
    rest = Counter(kind for kind, *_ in scales[_SHOWN:])
    more = f" and {rest.total()} more ({', '.join(f'{count} {kind}' for kind, count in rest.items())})" if rest else ""
    return f"Questions have {len(scales)} scales, each of a kind of its own: {', '.join(shown)}{more}."
