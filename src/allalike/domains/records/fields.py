"""Fields of records: mappings or JSON objects, split into one column per field.

Fields are written as names with label types:

    name:text, year:real, tags:set(separator=';'), colour

The label types of fields without one are detected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from allalike._core.blocks.block import Array
from allalike._core.columns.column import Column, RecordColumn
from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_FIELDS
from allalike._core.options import check_number
from allalike._core.registry import choose
from allalike.domains.contract import Domain, spell_domain
from allalike.domains.spelling import Spelling, match_key, read_json
from allalike.errors import InputError, LabelError, OptionError

NamedKinds = tuple[tuple[str, Domain | None], ...]
_FORM = 'Write it as "name:text, year:real", or as {"name": "text", "year": "real"}.'
_PIECE = re.compile(r"""(?:[^,()'"]|'[^']*'|"[^"]*"|\((?:[^()'"]|'[^']*'|"[^"]*")*\))+""")


def read_fields(given: Any, known: Mapping[str, type[Domain]]) -> NamedKinds:
    """Parse fields given as text, a mapping, names or pairs, with the known domains.

    >>> from allalike.domains import DOMAINS
    >>> fields = read_fields("year: real(rule=median), tags:set(separator=','), colour", DOMAINS)
    >>> [(name, domain and domain.name) for name, domain in fields]
    [('year', 'real'), ('tags', 'set'), ('colour', None)]
    """
    fields = tuple((name, _kind_of(name, kind, known)) for name, kind in _pairs(given))
    names = [name for name, _ in fields]
    if len(names) > MAX_FIELDS:
        raise OptionError(
            f"fields contains {len(names):,} fields, but a record has at most {MAX_FIELDS:,}. Remove fields."
        )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"The field {twice!r} is listed twice. List each field once.")
    return fields


def _pairs(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, str):
        pieces = [piece.strip() for piece in _PIECE.findall(given) if piece.strip()]
        if _PIECE.sub("", given).replace(",", ""):
            raise OptionError(f"fields is {given!r}, which cannot be parsed. {_FORM}")
        pairs: Iterable[Any] = [tuple(part.strip() for part in piece.split(":", 1)) for piece in pieces]
    elif isinstance(given, Mapping):
        pairs = given.items()
    elif isinstance(given, Iterable):
        pairs = given
    else:
        raise OptionError(f"fields is {given!r}. {_FORM}")
    for pair in pairs:
        name, kind = (pair, None) if isinstance(pair, str) else pair if len(pair) == 2 else (*pair, None)
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"A field has the name {name!r}. {_FORM}")
        yield name.strip(), kind


def _kind_of(name: str, kind: Any, known: Mapping[str, type[Domain]]) -> Domain | None:
    if kind is None or kind == "":
        return None
    try:
        return choose(kind, known, "domain", Domain)
    except (OptionError, LookupError) as error:
        raise type(error)(f"The field {name!r}: {error}") from None


def read_importance(given: Any, fields: NamedKinds) -> tuple[tuple[str, float], ...]:
    """Return the importance of fields by name; without fields, any names are accepted."""
    importance, names = dict(given), [name for name, _ in fields]
    for name, value in importance.items():
        if names and name not in names:
            raise OptionError(f"importance contains {name!r}, which is not one of the fields: {', '.join(names)}.")
        if check_number(value, f"The importance of {name!r}", least=0) == 0:
            raise OptionError(f"The importance of {name!r} is 0. Exclude the field with ignore=[{name!r}].")
    return tuple(importance.items())


def write_fields(fields: NamedKinds) -> str:
    """Format fields in a form that can be parsed."""
    return ", ".join(name if domain is None else f"{name}:{_spell(domain)}" for name, domain in fields)


def _spell(domain: Domain) -> str:
    """Format a domain for use inside double quotes if possible."""
    spelled = spell_domain(domain)
    return spelled if "'" in spelled else spelled.replace('"', "'")


def list_names(labels: Column, ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the field names in order of first occurrence, without ignored ones."""
    records = labels.parsed(read_record)[1]
    left_out = set(ignored)
    names = tuple(dict.fromkeys(name for record in records for name in record if name not in left_out))
    if len(names) > MAX_FIELDS:
        raise LabelError(
            f"The labels are records of {len(names):,} fields, such as {names[0]!r} and {names[-1]!r}, but a record has"
            f" at most {MAX_FIELDS:,}. Remove fields; if fields are questions about separate objects, make them tasks."
        )
    return names


def split_labels(
    labels: Column, fields: NamedKinds, parse: Callable[[Any], tuple[Any, ...]]
) -> list[tuple[Column, Array]]:
    """Return the column of filled values and their rows for each field.

    ``parse`` returns the values of all fields of a label; missing values are None.
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


def place_bare(labels: Column, known: Mapping[str, Sequence[Any]]) -> Column:
    """Convert labels without field names to records: fill each field whose vocabulary contains them, or else the first.

    If labels fill one field only, the extra values are not compared.

    >>> place_bare(Column("label", ["yes", "1"]), {"Q1": ["no", "yes"], "Q2": ["1"], "Q3": ["1", "2"]}).data
    [{'Q1': 'yes'}, {'Q2': '1', 'Q3': '1'}]
    """
    codes, values = labels.parsed(lambda value: value)
    if any(isinstance(value, Mapping) or str(value).lstrip().startswith("{") for value in values):
        return labels
    keys = {name: {match_key(each) for each in words if isinstance(each, str | int)} for name, words in known.items()}
    placed = [{name: value for name, words in keys.items() if match_key(value) in words} for value in values]
    records = [record or {next(iter(known)): value} for record, value in zip(placed, values, strict=True)]
    return labels.replaced([records[code] for code in codes], np.arange(len(codes)))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Add the field name to errors about its labels."""
    try:
        yield
    except InputError as error:
        raise LabelError(f"The field {name!r}: {error.args[0]}") from None


def read_record(value: Any) -> Mapping[str, Any]:
    """Parse a record as a mapping, or raise ValueError with the reason."""
    if isinstance(value, str):
        value = read_json(value, dict)
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("a record must be a mapping from field names to values, or a JSON object")
    return value


def value_of(value: Any, kind: Domain | None) -> Any:
    """Return the normalised value of a field, or None if it is empty.

    >>> value_of("  ", None), value_of(0, None)
    (None, 0)
    """
    if isinstance(value, str):
        meant = value if kind is None else kind.spelling(value)
        return None if meant is None or not meant.strip() else meant
    return None if value is None or (isinstance(value, float) and np.isnan(value)) else value


def _spelt(column: Column, kind: Domain | None) -> tuple[Column, Array]:
    """Return the normalised values of a column, and whether each is filled."""
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
    """Format a record as a JSON object."""
    return json.dumps(record, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Convert an array to a list, and a date to text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
