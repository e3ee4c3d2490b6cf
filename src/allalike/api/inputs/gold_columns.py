"""Columns of gold: which are task and label, by the names that the answers have, and by what the columns hold."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.matches import find_places
from allalike._core.words import count
from allalike.answers import Answers
from allalike.errors import AllalikeError, GoldError
from allalike.readers import Scan, open_gold
from allalike.readers.column_names import rate_name
from allalike.readers.gold import is_truth, open_gold_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers.gold import Gold
    from allalike.readers.formats.tables import Table

__all__ = ["find_better_columns", "name_columns", "name_what_holds_tasks"]

_MAX_BYTES = 1 << 28  # of answers that are read to explain an error
_MIN_TASKS = 0.5  # of what a column of tasks holds


def name_columns(answers: Answers | Scan) -> Mapping[str, str]:
    """Name the columns that the answers were read from, as far as they are known or can be seen.

    >>> import allalike
    >>> name_columns(allalike.scan({"user": ["ada"], "photo": [1], "vote": ["x"]}, columns={"task": "photo"}))
    {'worker': 'user', 'task': 'photo', 'label': 'vote'}
    """
    if isinstance(answers, Answers):
        return {**answers.notes.get("guessed", {}).get("columns", {}), **answers.read_options.get("columns", {})}
    with suppress(AllalikeError):  # which whoever reads the answers will say
        return answers.pick(answers.table())[0] if answers.wide is None else {}
    return answers.columns


def name_what_holds_tasks(error: GoldError, answers: Answers | Scan, gold: Any) -> GoldError:
    """Return an error about the columns of gold with those that hold tasks of the answers, if there are such.

    >>> import allalike
    >>> answers = allalike.read([("ada", "t1", "x"), ("bob", "t1", "x"), ("ada", "t2", "y")])
    >>> print(name_what_holds_tasks(GoldError("No."), answers, {"task": ["x", "y"], "label": ["t1", "t2"]}))
    No. Its column 'label' holds 2 tasks of the answers. Say it with gold_columns={'task': 'label', 'label': 'task'}.
    """
    with suppress(AllalikeError, TypeError):
        if (held := _read(answers)) and (found := _find_columns(open_gold_table(gold), held)):
            named, known = found["task"], len(open_gold(gold, columns=found).task)
            said = f"{error.args[0]} Its column {named!r} holds {count(known, 'task')} of the answers."
            if _share(Column.of_objects("task", [named]), held.tasks):
                return GoldError(f"{said} So is its name: the header is missing. Write one, such as task,label.")
            return GoldError(said, lines=error.lines, gold_columns=found)
    return error


def find_better_columns(answers: Answers | Scan, gold: Any, known: Gold) -> dict[str, str]:
    """Return the columns of gold of which more labels are among those of the answers than in the one that was read.

    >>> import allalike
    >>> answers = allalike.read([("ada", "t1", "x"), ("bob", "t1", "x"), ("ada", "t2", "y")])
    >>> gold = {"task": ["t1", "t2"], "answer": ["x", "y"], "expert": ["eve", "eve"]}
    >>> find_better_columns(answers, gold, open_gold(gold))
    {'task': 'task', 'label': 'answer'}
    """
    with suppress(AllalikeError, TypeError):
        table = open_gold_table(gold)
        if (held := _read(answers)) and (found := _find_columns(table, held)):
            read = Column.of_objects("label", list(known.label.parsed(lambda value: value)[1]))
            first, second = (_share(each, _list_labels(held)) for each in (table.columns(found)["label"], read))
            return found if first > second else {}
    return {}


def _read(answers: Answers | Scan) -> Answers | None:
    if isinstance(answers, Answers):
        return answers
    return answers.read() if answers.size < _MAX_BYTES else None


def _find_columns(table: Table, answers: Answers) -> dict[str, str]:
    """Find a column of tasks, and beside it one of labels, by its name and by the labels of the answers in it."""
    columns = {name: table.columns({"task": name})["task"] for name in table.names}
    if len(columns) < 2:
        return {}
    tasks = {name: _share(column, answers.tasks) for name, column in columns.items()}
    task = max(tasks, key=tasks.__getitem__)
    labels = _list_labels(answers)
    named = {name: is_truth(name) + max(rate_name(name, "label"), 0.0) for name in columns}
    fits = {name: _share(column, labels) + named[name] for name, column in columns.items() if name != task}
    label = max(fits, key=fits.__getitem__)
    if tasks[task] < _MIN_TASKS or (len(fits) > 1 and not fits[label]):
        return {}
    return {"task": task, "label": label}


def _list_labels(answers: Answers) -> Any:
    return answers.encoding.decode(np.arange(answers.encoding.n_labels)) if answers.encoding.nominal else ()


def _share(column: Column, values: Any) -> float:
    """Return which share of what a column holds is among some values."""
    held = column.keep(~column.missing()).factors[1]
    return float((find_places(held, values) >= 0).mean()) if len(held) and len(values) else 0.0
