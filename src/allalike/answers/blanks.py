"""Blanks: rows without a worker, a task or a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers.stream import Batch
    from allalike.columns.column import Column

__all__ = ["blank_error", "check_ids", "drop_blanks"]


def drop_blanks(columns: Batch, missing: str, *, before: int | None = None) -> tuple[Batch, npt.NDArray[np.bool_]]:
    """Refuse rows without a label, or drop them; return also which rows have one.

    If the columns are all there are, the error counts the rows without; of a batch, ``before`` rows came ahead.

    >>> from allalike.columns.column import Column
    >>> kept, labelled = drop_blanks({"label": Column.of_objects("label", ["x", None])}, "drop")
    >>> kept["label"].data.to_pylist(), labelled
    (['x'], array([ True, False]))
    """
    blank = columns["label"].missing()
    if blank.any() and missing == "error":
        raise _blank_error(columns["label"], blank, before)
    if blank.any():
        columns = {role: column.keep(~blank) for role, column in columns.items()}
    return columns, ~blank


def check_ids(column: Column, *, before: int | None = None) -> None:
    """Refuse rows without a worker or a task; ``before`` as in `drop_blanks`.

    >>> from allalike.columns.column import Column
    >>> check_ids(Column.of_objects("task", ["t1", None]))
    Traceback (most recent call last):
    allalike.errors.InputError: Row 2 has no task, and 1 rows in all. Fill it in, or remove them.
    """
    blank = column.missing()
    if blank.any():
        raise _blank_error(column, blank, before)


def blank_error(role: str, row: int, count: int | None) -> InputError:
    """Return the error of a row without a worker, task or label; it counts such rows where their number is known.

    >>> blank_error("label", 2, 7).args[0][:45]
    'Row 2 has no label, and 7 rows in all. A miss'
    """
    what = f"Row {row} has no {role}" + ("." if count is None else f", and {count} rows in all.")
    if role != "label":
        return InputError(f"{what} Fill it in, or remove them.")
    return InputError(
        f"{what} A missing answer is a missing row: remove them, or have them dropped with missing='drop' (--missing"
        " drop)."
    )


def _blank_error(column: Column, blank: npt.NDArray[np.bool_], before: int | None) -> InputError:
    row = column.row(int(np.argmax(blank)))
    return blank_error(
        column.name, row if before is None else before + row, int(blank.sum()) if before is None else None
    )
