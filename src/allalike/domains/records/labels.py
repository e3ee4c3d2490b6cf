"""Labels that are records: mappings or JSON objects, taken apart into columns, one for each field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.record_column import RecordColumn
from allalike._core.late import pa
from allalike._core.limits import MAX_FIELDS
from allalike._core.system.json_text import parse_json
from allalike.domains.spelling import Spelling
from allalike.errors import InputError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike._core.blocks.block import Array
    from allalike.domains.contract import Domain
    from allalike.domains.records.fields import NamedKinds

__all__ = ["list_names", "naming", "read_record", "split_labels", "value_of", "write_record"]


def list_names(labels: Column, ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the fields that records have, in the order in which they come first, but for those to be ignored.

    >>> list_names(Column("label", [{"x": 1}, {"y": 2, "x": 1, "z": 0}]), ["z"])
    ('x', 'y')
    """
    records = labels.parsed(read_record)[1]
    left_out = set(ignored)
    names = tuple(dict.fromkeys(name for record in records for name in record if name not in left_out))
    if len(names) > MAX_FIELDS:
        raise LabelError(
            f"The labels are records of {len(names):,} fields, such as {names[0]!r} and {names[-1]!r}, and a record has"
            f" at most {MAX_FIELDS:,}. Leave out those that do not count; what is asked of each thing is its own task."
        )
    return names


def split_labels(
    labels: Column, fields: NamedKinds, parse: Callable[[Any], tuple[Any, ...]]
) -> list[tuple[Column, Array]]:
    """Return, for each field, the column of what was filled in, and in which rows.

    ``parse`` returns the values of all fields of a label, None where they are missing.

    >>> parts = split_labels(Column("label", [(1, None), (2, "a")]), (("x", None), ("y", None)), lambda label: label)
    >>> [(column.data.to_pylist(), rows.tolist()) for column, rows in parts]
    [([1, 2], [0, 1]), (['a'], [1])]
    """
    if isinstance(labels, RecordColumn):
        return labels.split(repr(fields), lambda number, column: _spelt(column, fields[number][1]))
    codes, parsed = labels.parsed(parse)
    whole = len(codes) == len(parsed) and bool((codes == np.arange(len(codes))).all())
    parts = []
    for number, (name, _) in enumerate(fields):
        values = [record[number] for record in parsed]
        given = values if whole else [values[code] for code in codes]
        with naming(name):
            data = Column.of_objects("label", given).data if given else given
        filled = np.array([value is not None for value in given], np.bool_)
        parts.append((labels.replaced(data, np.arange(len(given))).keep(filled), np.flatnonzero(filled)))
    return parts


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the field in errors about its labels.

    >>> with naming("year"):
    ...     raise InputError("It is no number.")
    Traceback (most recent call last):
    allalike.errors.LabelError: The field 'year': It is no number.
    """
    try:
        yield
    except InputError as error:
        raise LabelError(f"The field {name!r}: {error.args[0]}") from None


def read_record(value: Any) -> Mapping[str, Any]:
    """Return a record as a mapping, or raise ValueError with the reason.

    >>> read_record('{"x": 1}')
    {'x': 1}
    """
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except json.JSONDecodeError:
            raise ValueError("it is no JSON object") from None
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("a record must be a mapping from names of fields to values, or a JSON object")
    return value


def value_of(value: Any, kind: Domain | None) -> Any:
    """Return what a field holds, as its kind spells it, or None if that is nothing.

    >>> value_of("  ", None), value_of(0, None)
    (None, 0)
    """
    if isinstance(value, str):
        meant = value if kind is None else kind.spelling(value)
        return None if meant is None or not meant.strip() else meant
    return None if value is None or (isinstance(value, float) and np.isnan(value)) else value


def _spelt(column: Column, kind: Domain | None) -> tuple[Column, Array]:
    """Return what a column holds as its kind spells it, and where that is something."""
    everywhere = np.arange(len(column))
    spelling = Spelling(strip=False) if kind is None else kind.spelling
    if column.kind != "text" or not len(everywhere) or (spelling.is_plain and not spelling.strip):
        return column, everywhere
    codes, values = column.factors
    given = values.tolist()
    meant = [spelling(value) or None if isinstance(value, str) else value for value in given]
    if meant == given:
        return column, everywhere
    texts = pa.array(meant, pa.large_string()).take(pa.array(codes))
    filled = np.array([value is not None for value in meant], np.bool_)[codes]
    return column.replaced(pa.chunked_array([texts]), everywhere).keep(filled), np.flatnonzero(filled)


def write_record(record: Any) -> str:
    """Write a record as a JSON object.

    >>> write_record({"x": [1.5]})
    '{"x": [1.5]}'
    """
    return json.dumps(record, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return an array as a list, and a date as its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
