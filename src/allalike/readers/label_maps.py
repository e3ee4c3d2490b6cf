"""Label maps: what spellings of labels mean, from a mapping or a file with the columns from and to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allalike.domains.spelling import match_key
from allalike.errors import InputError
from allalike.readers.sources import open_table

__all__ = ["read_label_map"]


def read_label_map(given: Any) -> dict[Any, str]:
    """Return what each spelling means; a spelling is the same with blanks around it, and 1 the same as 1.0.

    >>> read_label_map({"yes": 1, "no": 0})
    {'yes': '1', 'no': '0'}
    >>> read_label_map([("y", "yes"), ("Y", "yes")])
    {'y': 'yes', 'Y': 'yes'}
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, list | tuple) and given and all(isinstance(p, list | tuple) and len(p) == 2 for p in given):
        pairs = list(given)
    else:
        pairs = _of_table(given)
    meant: dict[Any, str] = {}
    for spelling, meaning in pairs:
        if not isinstance(spelling, str | int | float) or not isinstance(meaning, str | int | float):
            raise InputError(f"The label map has {spelling!r} for {meaning!r}. Give texts or numbers.")
        key = match_key(spelling)
        if meant.setdefault(key, str(meaning)) != str(meaning):
            raise InputError(f"The label map has two meanings for {spelling!r}: {meant[key]!r} and {str(meaning)!r}.")
    if not meant:
        raise InputError("The label map is empty.")
    return meant


def _of_table(given: Any) -> list[tuple[Any, Any]]:
    table = open_table(given)
    names = {name.strip().casefold(): name for name in table.names}
    picked = [names[name] for name in ("from", "to") if name in names]
    if len(picked) < 2:
        picked = table.names
    if len(picked) != 2:
        raise InputError(
            f"{table.where} is no label map: it has the columns {', '.join(table.names)}. Call two of them from and to."
        )
    columns = table.columns({"worker": picked[0], "task": picked[1]})
    spellings, meanings = (column.data for column in columns.values())
    return list(zip(*(c if isinstance(c, list) else c.to_pylist() for c in (spellings, meanings)), strict=True))
