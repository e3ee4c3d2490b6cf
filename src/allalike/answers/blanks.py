"""Blanks: rows without a worker, a task or a label, and ids that nobody means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import InputError

if TYPE_CHECKING:
    from allalike._core.columns.column import Column

__all__ = ["blank_error", "check_ids", "zero_error"]


def check_ids(column: Column, *, before: int | None = None) -> None:
    """Refuse rows without a worker or a task, or with a zero byte in it; of a batch, ``before`` rows came ahead.

    >>> from allalike._core.columns.column import Column
    >>> check_ids(Column.of_objects("task", ["t1", None]))
    Traceback (most recent call last):
    allalike.errors.InputError: Row 2 has no task; 1 row of 2 has none. Fill it in, or remove such rows.
    """
    blank = column.missing()
    if blank.any():
        row = column.row(int(np.argmax(blank)))
        counted = (int(blank.sum()), len(blank)) if before is None else None
        raise blank_error(column.name, row + (before or 0), counted)
    zeros = column.zeros()
    if zeros.any():
        place = int(np.argmax(zeros))
        raise zero_error(column.name, column.row(place) + (before or 0), column.value(place))


def zero_error(role: str, row: int, found: Any) -> InputError:
    r"""Return the error of an id with a zero byte in it, which no two programs read alike.

    >>> print(zero_error("worker", 3, "a\0b"))
    The worker in row 3 has a zero byte in it: 'a\x00b'. Remove it.
    """
    return InputError(f"The {role} in row {row} has a zero byte in it: {found!r}. Remove it.")


def blank_error(role: str, row: int, counted: tuple[int, int] | None, found: Any = None) -> InputError:
    """Return the error of a row without a worker, task or label.

    It counts such rows, and all, where that is known, and says what was found instead of a label.

    >>> print(blank_error("label", 2, (7, 90), "NA"))
    Row 2 has no label ('NA' stands there); 7 rows of 90 have none. A missing answer is a missing row: remove such rows,
    or have them dropped. Say it with missing='drop'.
    """
    instead = f" ({found!r} stands there)" if isinstance(found, str) and found else ""
    rows = ""
    if counted is not None:
        count, total = counted
        rows = f"; {count:,} rows of {total:,} have none" if count > 1 else f"; 1 row of {total:,} has none"
    what = f"Row {row} has no {role}{instead}{rows}."
    if role != "label":
        return InputError(f"{what} Fill it in, or remove such rows.")
    return InputError(
        f"{what} A missing answer is a missing row: remove such rows, or have them dropped.", missing="drop"
    )
