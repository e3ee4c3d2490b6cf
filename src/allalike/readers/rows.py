"""Rows: answers that are given one by one as (worker, task, label)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from allalike._core.columns.column import Column
from allalike.errors import InputError
from allalike.readers.formats.frames import find_opener

__all__ = ["is_rows", "of_rows"]


def is_rows(source: Any) -> bool:
    """Tell whether a source is rows, and neither a table, a mapping, a matrix nor paths.

    >>> is_rows([("ada", 7, "x")]), is_rows(["one.csv", "two.csv"])
    (True, False)
    """
    if isinstance(source, str | Mapping) or not isinstance(source, Iterable) or find_opener(source) is not None:
        return False
    if isinstance(source, list | tuple):
        return not source or isinstance(source[0], list | tuple)
    return not hasattr(source, "columns") and not isinstance(source, np.ndarray) and not hasattr(source, "index")


def of_rows(source: Iterable[Any]) -> dict[str, Column]:
    """Return rows as columns.

    >>> {name: len(column) for name, column in of_rows([("ada", 7, "x"), ("bob", 7, "y")]).items()}
    {'worker': 2, 'task': 2, 'label': 2}
    """
    rows = list(source)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(f"Row {number + 1} is not (worker, task, label): {row!r}.")
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    roles = ("worker", "task", "label")
    return {role: Column.of_objects(role, list(part)) for role, part in zip(roles, parts, strict=True)}
