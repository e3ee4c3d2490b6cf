"""Known truths, matched with the tasks of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold
from allalike.columns.column import Column
from allalike.errors import GoldError, InputError
from allalike.readers.label_maps import read_label_map
from allalike.readers.names import pick_columns
from allalike.readers.sources import open_table

if TYPE_CHECKING:
    from allalike.answers import Answers
    from allalike.readers.tables import Table

__all__ = ["open_gold", "read_gold"]

_ROLES = ("task", "label")
_TRUTH_NAMES = ("gold", "truth", "target", "correct", "trueanswer")


def read_gold(gold: Any, answers: Answers) -> Answers:
    """Return the answers with these known truths.

    Truths of tasks that nobody answered are left out, and counted in the notes.

    >>> from allalike.readers import read
    >>> answers = read([("ada", "t1", "x"), ("bob", "t1", "y"), ("ada", "t2", "x")])
    >>> answers = read_gold({"t2": "x", "t3": "y"}, answers)
    >>> answers.gold_task, answers.gold_label, answers.notes["gold"]
    (array([1]), array([0]), {'tasks': 1, 'without_answers': 1})
    """
    return answers.with_gold(open_gold(gold))


def open_gold(gold: Any, label_map: Any = None) -> Gold:
    """Read known truths: a path or a table with task and label, a mapping, or rows of (task, label).

    A label map says what spellings mean, as it does for the answers.

    >>> open_gold({"t2": "x"}).label.data.to_pylist()
    ['x']
    """
    if isinstance(gold, Gold):
        return gold
    task, label = _columns(gold)
    return Gold(task, Cleaning(label_map=read_label_map(label_map)).map_labels(label))


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
    named = [name for name in table.names if name.casefold() in _TRUTH_NAMES]
    chosen = {"label": named[0]} if len(named) == 1 else {}
    try:
        picked, _ = pick_columns(table.names, chosen, table.where, roles=_ROLES)
    except InputError as error:
        raise GoldError(f"The gold cannot be read: {error} Rename the columns to task and label.") from error
    columns = table.columns(picked)
    return columns["task"], columns["label"]
