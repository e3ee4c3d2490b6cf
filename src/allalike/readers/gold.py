"""Known truths, matched with the tasks of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns import Column
from allalike.errors import GoldError, InputError
from allalike.readers.names import pick_columns
from allalike.readers.tables import Table, open_table

if TYPE_CHECKING:
    from allalike.answers import Answers

__all__ = ["read_gold"]

_ROLES = ("task", "label")
_TRUTHS = ("gold", "truth", "target", "correct", "trueanswer")


def read_gold(gold: Any, answers: Answers) -> Answers:
    """Return the answers with these known truths.

    Truths of tasks that nobody answered are left out, and counted in the notes.

    >>> from allalike.readers import read
    >>> answers = read([("ada", "t1", "x"), ("bob", "t1", "y"), ("ada", "t2", "x")])
    >>> answers = read_gold({"t2": "x", "t3": "y"}, answers)
    >>> answers.gold_task, answers.gold_label, answers.notes["gold"]
    (array([1]), array([0]), {'tasks': 1, 'without_answers': 1})
    """
    task, label = _columns(gold)
    for column in (task, label):
        missing = column.missing()
        if missing.any():
            raise GoldError(f"The gold has no {column.name} in row {column.row(int(np.argmax(missing)))}.")
    if not len(task):
        raise GoldError("The gold is empty.")
    codes, ids = task.factors
    if np.bincount(codes).max() > 1:
        twice = ids[int(np.argmax(np.bincount(codes)))]
        raise GoldError(f"The gold has two truths for task {twice!r}. Keep one of them.")
    place = _places(ids.tolist(), answers.tasks.tolist())[codes]
    known = place >= 0
    if not known.any():
        raise GoldError(
            f"None of the {len(known)} tasks with gold was answered. The first is {ids[0]!r}; the first task of the"
            f" answers is {answers.tasks[0]!r}."
        )
    domain, encoded = answers.domain.take_gold(label)
    order = np.argsort(place[known])
    place, encoded = place[known][order], encoded[known][order]
    answers = answers.with_gold(domain, place, domain.settle(encoded, place, answers.tasks))
    counts = {"tasks": int(known.sum()), "without_answers": int((~known).sum())}
    return replace(answers, notes={**answers.notes, "gold": counts})


def _columns(gold: Any) -> tuple[Column, Column]:
    is_series = hasattr(gold, "items") and hasattr(gold, "index") and not hasattr(gold, "columns")
    if is_series or (isinstance(gold, Mapping) and not set(_ROLES) <= set(gold)):
        rows = list(gold.items())
    elif isinstance(gold, list | tuple) and gold and isinstance(gold[0], list | tuple):
        rows = list(gold)
        bad = next((row for row, pair in enumerate(rows) if len(pair) != 2), None)
        if bad is not None:
            raise GoldError(f"Row {bad + 1} of the gold is not a pair of task and label: {rows[bad]!r}.")
    else:
        return _of_table(open_table(gold))
    tasks, labels = zip(*rows, strict=True) if rows else ((), ())
    return Column.of_objects("task", list(tasks)), Column.of_objects("label", list(labels))


def _of_table(table: Table) -> tuple[Column, Column]:
    named = [name for name in table.names if name.casefold() in _TRUTHS]
    given = {"label": named[0]} if len(named) == 1 else {}
    try:
        picked, _ = pick_columns(table.names, given, table.where, roles=_ROLES)
    except InputError as error:
        raise GoldError(f"The gold cannot be read: {error} Rename the columns to task and label.") from error
    columns = table.columns(picked)
    return columns["task"], columns["label"]


def _places(wanted: list[Any], tasks: list[Any]) -> Any:
    """Return where each wanted id stands among the tasks, or -1; ids of another type match by their text."""
    same_type = type(wanted[0]) is type(tasks[0])
    key = (lambda value: value) if same_type else str
    place = {key(task): number for number, task in enumerate(tasks)}
    return np.array([place.get(key(value), -1) for value in wanted])
