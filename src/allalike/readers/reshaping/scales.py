"""Scales: labels of tasks that have scales of their own, such as the questions of a survey.

"Agree" and "Sometimes" are no two classes of one question. So the labels of each scale are a field of a record in which
a label fills no other: labels of different scales are never compared, each scale has a kind of its own, and a worker
has one weight in all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.record_column import RecordColumn
from allalike._core.columns.values import arrow_of
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELDS
from allalike.errors import InputError
from allalike.readers.guessing.kinds import guess_domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.columns.column import Column
    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

__all__ = ["part_scales"]

_SHOWN = 12


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
    if len(names) == 1:
        return replace(table, domain=_guess(label, task))
    fields, kinds, listed = {}, {}, []
    for place in np.argsort(np.unique(codes, return_index=True)[1]):  # in the order in which they come
        rows = codes == place
        kind = _guess(label.keep(rows), task[rows])
        name = names[place]
        fields[name] = table.column("label", _keep(label.data, rows))
        kinds[name] = kind
        listed.append((kind.name, name, len(np.unique(task[rows]))))
    column = RecordColumn("label", fields)
    return replace(
        table,
        load=lambda asked: {
            name: column if name == picked["label"] else data for name, data in table.load(list(asked)).items()
        },
        domain=_record(kinds),
        remarks=(*table.remarks, _tell(listed)),
    )


def _keep(labels: Any, rows: npt.NDArray[np.bool_]) -> Any:
    return pc.if_else(arrow_of(rows), labels, pa.scalar(None, labels.type))


def _guess(column: Column, task: npt.NDArray[np.int32]) -> Domain:
    """Return the kind of the labels of a scale; classes where it is unclear."""
    from allalike.domains import Categorical

    there = ~column.missing()
    column, place = column.keep(there), np.unique(task[there], return_inverse=True)[1].astype(np.int32)
    try:
        return guess_domain(column, [(column, place)], len(place), lambda: (column, place))
    except InputError:
        return Categorical()


def _record(kinds: Mapping[str, Domain]) -> Domain:
    from allalike.domains import Record

    return Record(fields=tuple(kinds.items()), one=True)


def _tell(scales: Sequence[tuple[str, str, int]]) -> str:
    """Say which scales there are.

    >>> _tell([("ordinal", "Q2", 4), ("categorical", "Q5", 1)])
    'Questions have 2 scales, each of a kind of its own: Q2 (4 questions, ordinal), Q5 (categorical).'
    """
    shown = [f"{name} ({f'{count} questions, ' if count > 1 else ''}{kind})" for kind, name, count in scales[:_SHOWN]]
    rest = Counter(kind for kind, *_ in scales[_SHOWN:])
    more = f" and {rest.total()} more ({', '.join(f'{count} {kind}' for kind, count in rest.items())})" if rest else ""
    return f"Questions have {len(scales)} scales, each of a kind of its own: {', '.join(shown)}{more}."
