"""read: from files, frames and rows to answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from allalike.answers import Answers
from allalike.columns import Column
from allalike.domains import DOMAINS, Domain
from allalike.errors import InputError
from allalike.progress import report
from allalike.readers.kinds import guess_domain
from allalike.readers.names import pick_columns
from allalike.readers.tables import of_array, open_table
from allalike.readers.wide import ROWS, stack
from allalike.registry import check_choice, make

__all__ = ["read", "read_with"]


def read(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Answers:
    """Read answers from a file, several, a frame or rows of (worker, task, label).

    Parameters
    ----------
    source
        A path or several (CSV, TSV, JSON lines, JSON, Parquet; globs too), a pandas, polars or pyarrow table, a
        mapping of columns, or rows of (worker, task, label).
    columns
        Which column is which: ``{"worker": ..., "task": ..., "label": ...}``. What is not given is recognised by
        its name.
    wide
        ``tasks`` for one row per task and one column per worker, ``workers`` for one row per worker.
    repeats
        Which answer to keep where a worker answered a task more than once: ``first``, ``last``, or ``error``.
    missing
        What to do with rows without a label: ``error``, or ``drop`` them.
    domain
        The kind of label: a name from `allalike.DOMAINS`, a `Domain`, or nothing to have it guessed.

    >>> answers = read({"annotator": ["ada", "bob"], "item": ["007", "007"], "vote": [1, 1]})
    >>> answers.notes["guessed"]["columns"]
    {'worker': 'annotator', 'task': 'item', 'label': 'vote'}
    """
    return read_with({}, source, columns=columns, wide=wide, repeats=repeats, missing=missing, domain=domain)


def read_with(
    choices: Mapping[str, str],
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Answers:
    """Read as `read` does, with another rule or distance of the domain, be that given or guessed."""
    check_choice(missing, ("error", "drop"), "missing")
    kind = make(domain, DOMAINS, "domain") if isinstance(domain, str) else domain
    report("reading")
    found, guessed = _columns(source, columns or {}, wide)
    found, dropped = _complete(found, missing)
    layout = guessed.pop("layout", None)
    notes: dict[str, Any] = {"guessed": {"columns": guessed} if guessed else {}}
    if layout:
        notes["guessed"]["layout"] = layout
    if kind is None:
        kind = guess_domain(found["label"], found["task"].factors[0])
        notes["guessed"]["domain"] = kind.name
    if dropped:
        notes["missing_dropped"] = dropped
    kind = kind.with_choices(**choices)
    answers = Answers.of_columns(found["worker"], found["task"], found["label"], kind, repeats=repeats)
    answers.notes.update(notes)
    return answers


def _columns(source: Any, given: Mapping[str, str], wide: str | None) -> tuple[dict[str, Column], dict[str, str]]:
    if wide is not None:
        check_choice(wide, ROWS, "wide")
        matrix = isinstance(source, np.ndarray) and source.ndim == 2
        return stack(of_array(source, ROWS[wide][0]) if matrix else open_table(source), wide, given)
    if _is_rows(source):
        return _of_rows(source), {}
    table = open_table(source)
    picked, guessed = pick_columns(table.names, given, table.where)
    return table.columns(picked), {**guessed, **({"layout": table.layout} if table.layout else {})}


def _is_rows(source: Any) -> bool:
    if isinstance(source, str | Mapping) or not isinstance(source, Iterable) or hasattr(source, "__arrow_c_stream__"):
        return False
    if isinstance(source, list | tuple):
        return not source or isinstance(source[0], list | tuple)
    return not hasattr(source, "columns") and not isinstance(source, np.ndarray)


def _of_rows(source: Iterable[Any]) -> dict[str, Column]:
    rows = list(source)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(f"Row {number + 1} is not (worker, task, label): {row!r}.")
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        role: Column.of_objects(role, list(part)) for role, part in zip(("worker", "task", "label"), parts, strict=True)
    }


def _complete(columns: dict[str, Column], missing: str) -> tuple[dict[str, Column], int]:
    """Refuse rows without an id, and refuse or drop those without a label; encode the ids."""
    if not len(columns["label"]):
        raise InputError("There are no answers.")
    blank = columns["label"].missing()
    dropped = int(blank.sum())
    if dropped == len(blank):
        raise InputError("No row has a label.")
    if dropped and missing == "error":
        row = columns["label"].row(int(np.argmax(blank)))
        raise InputError(
            f"Row {row} has no label, and {dropped} rows in all. A missing answer is a missing row: remove them, or"
            " have them dropped with missing='drop' (--missing drop)."
        )
    if dropped:
        columns = {role: column.keep(~blank) for role, column in columns.items()}
    for role in ("task", "worker"):  # one after the other, so that only one of them is in memory as it came
        blank = columns[role].missing()
        if blank.any():
            row = columns[role].row(int(np.argmax(blank)))
            raise InputError(
                f"Row {row} has no {role}, and {int(blank.sum())} rows in all. Fill it in, or remove them."
            )
        _ = columns[role].factors
    return columns, dropped
