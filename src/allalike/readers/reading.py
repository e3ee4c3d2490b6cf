"""read: from files, frames and rows to answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from allalike.answers import Answers
from allalike.columns import Column
from allalike.domains import DOMAINS, Domain
from allalike.errors import InputError
from allalike.progress import report
from allalike.readers.kinds import guess_domain
from allalike.readers.names import pick_columns
from allalike.readers.tables import Table, of_array, open_table, slices
from allalike.readers.wide import ROWS, stack
from allalike.registry import check_choice, make
from allalike.streams import Stream, check_ids, drop_blanks

__all__ = ["check_reading", "open_stream", "read", "read_with"]


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
    kind = check_reading(repeats, missing, domain)
    report("reading")
    found, guessed = _columns(source, columns or {}, wide)
    found, dropped = _complete(found, missing)
    notes = _notes(guessed)
    if kind is None:
        label = found["label"]
        kind = guess_domain(label, [(label, found["task"].factors[0])], len(label))
        notes["guessed"]["domain"] = kind.name
    if dropped:
        notes["missing_dropped"] = dropped
    kind = kind.with_choices(**choices)
    answers = Answers.of_columns(found["worker"], found["task"], found["label"], kind, repeats=repeats)
    answers.notes.update(notes)
    answers.reading.update(columns=columns or {}, wide=wide, missing=missing)
    return answers


def open_stream(
    choices: Mapping[str, str],
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Stream:
    """Find out how to read answers, as `read_with` does, but do not read them yet.

    CSV and Parquet files are read some rows at a time; everything else is in memory from now on.

    >>> stream = open_stream({}, {"annotator": ["ada", "bob"], "item": ["007", "007"], "vote": [1, 1]})
    >>> stream.notes, stream.size
    ({'guessed': {'columns': {'worker': 'annotator', 'task': 'item', 'label': 'vote'}}}, 0)
    """
    kind = check_reading(repeats, missing, domain)
    if wide is None and not _is_rows(source):
        table = open_table(source)
        picked, guessed = _picked(table, columns or {})
        batches, text, size = partial(table.batches, picked), table.text, table.size(picked)
    else:
        found, guessed = _columns(source, columns or {}, wide)
        batches, text, size = partial(slices, found), found["label"].text, 0
    return Stream(
        batches=batches,
        guess=guess_domain,
        text=text,
        size=size,
        domain=kind,
        choices=choices,
        repeats=repeats,
        missing=missing,
        notes=_notes(guessed),
    )


def check_reading(repeats: str, missing: str, domain: str | Domain | None) -> Domain | None:
    """Refuse options that are none, and make the domain of its name.

    >>> check_reading("last", "drop", "real")
    Real(rule='mean', distance='squared')
    """
    check_choice(repeats, ("first", "last", "error"), "repeats")
    check_choice(missing, ("error", "drop"), "missing")
    return make(domain, DOMAINS, "domain") if isinstance(domain, str) else domain


def _notes(guessed: dict[str, str]) -> dict[str, Any]:
    """Say what was guessed about columns, and how files lie in a folder."""
    layout = {name: guessed.pop(name) for name in ("layout",) if name in guessed}
    return {"guessed": {**({"columns": guessed} if guessed else {}), **layout}}


def _columns(source: Any, given: Mapping[str, str], wide: str | None) -> tuple[dict[str, Column], dict[str, str]]:
    if wide is not None:
        check_choice(wide, ROWS, "wide")
        matrix = isinstance(source, np.ndarray) and source.ndim == 2
        return stack(of_array(source, ROWS[wide][0]) if matrix else open_table(source), wide, given)
    if _is_rows(source):
        return _of_rows(source), {}
    table = open_table(source)
    picked, guessed = _picked(table, given)
    return table.columns(picked), guessed


def _picked(table: Table, given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    picked, guessed = pick_columns(table.names, given, table.where)
    return picked, {**guessed, **({"layout": table.layout} if table.layout else {})}


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
    if columns["label"].missing().all():
        raise InputError("No row has a label.")
    columns, labelled = drop_blanks(columns, missing)
    for role in ("task", "worker"):  # one after the other, so that only one of them is in memory as it came
        check_ids(columns[role])
        _ = columns[role].factors
    return columns, int((~labelled).sum())
