"""Columns of parts: whether the rows of a table are parts of answers, and which columns say something of each part.

Rows are parts of one answer if a column is the id of a classification: its name says so, each of its values has one
worker and one task, and some have rows with different labels. Without such a column nobody can tell parts from
corrections. But people who answer again often say the same again; where they never do, it is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.answers.cleaning import check_ids
from allalike.errors import InputError
from allalike.readers.column_names import is_aside
from allalike.readers.guessing.contents import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from allalike.readers.formats.tables import Table
    from allalike.readers.guessing.contents import Content

_ID = re.compile(
    r"classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id", re.IGNORECASE
)
_COUNTS = re.compile(
    r"(.*[ _.-])?(counts?|how[ _.-]?many|hwmn\w*|number|quantity|amount)([ _.-].*)?",  # Zooniverse leaves out vowels
    re.IGNORECASE,
)
_COUNT = re.compile(r"\s*\d+(\.0+)?\s*(\+|(-|to|–)\s*\d+)?\s*")  # noqa: RUF001
_WHOLE = re.compile(r"\s*\d+\s*")
_ROWS = 100_000  # the first rows tell what columns are,
_FIRST_ROWS = 10_000  # and fewer whether rows are parts at all, which are neighbours, where no id says so
_MIN_ANSWERS = 5  # without an id, as many answers with several rows are asked about
_MAX_VALUES = 30  # what is said of things is one of a few values


@dataclass(frozen=True)
class PartColumns:
    """Which columns say what parts of answers are."""

    id: str | None
    counts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    recognised: bool = True

    def keys(self, picked: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns that are the same in all rows of an answer.

        >>> PartColumns("classification").keys({"worker": "user", "task": "photo", "label": "species"})
        ('user', 'photo', 'classification')
        """
        return picked["worker"], picked["task"], *([self.id] if self.id else [])


def find_part_columns(
    table: Table, picked: Mapping[str, str], *, given: bool = False, open_kind: bool = True
) -> PartColumns | None:
    """Return the columns of parts, or nothing if each row is an answer; ask where both may be.

    ``given`` says that rows are parts, and ``open_kind`` that the kind of label is to be guessed.

    >>> from allalike.readers.formats.tables import of_records
    >>> seen = [("c1", "ada", "lion", "eats"), ("c1", "ada", "zebra", "rests"), ("c2", "bob", "lion", "eats")]
    >>> names = ("classification", "worker", "label", "does", "task")
    >>> rows = [dict(zip(names, (f"{id}-{task}", *rest, task))) for task in range(3) for id, *rest in seen]
    >>> find_part_columns(of_records(rows), {role: role for role in ("worker", "task", "label")})
    PartColumns(id='classification', counts=(), others=('does',), recognised=True)
    """
    others = [name for name in table.names if name not in picked.values()]
    ids = [name for name in others if _ID.search(name)]
    if not (given or ((ids or open_kind) and _has_repeats(table, picked, _ROWS if ids else _FIRST_ROWS))):
        return None
    head = TableSample(table.sample(_ROWS, [*picked.values(), *ids]), frozenset(table.na or ()))
    worker, task, label = (head[picked[role]] for role in ("worker", "task", "label"))
    pair = worker.codes * np.int64(task.n_values) + task.codes
    there = ~label.missing
    found = next((name for name in ids if _names_answers(head[name].codes, pair, label, there)), None)
    if found is None and not given:
        if open_kind:
            _ask_if_doubtful(table, picked, pair[there], label, label.codes[there])
        return None
    keys = pair if found is None else _join(pair, head[found].codes)
    beside = [name for name in others if name not in ids]
    whole = TableSample(table.sample(_ROWS, beside), frozenset(table.na or ())) if beside else None
    said = [whole[name] for name in beside if _is_said_of_parts(whole[name], keys, there)] if whole else []
    counts = [each.name for each in said if are_counts(each.name, map(str, each.values), each.n_present)]
    rest = [
        each.name
        for each in said
        if each.name not in counts and each.n_present <= _MAX_VALUES and not is_aside(each.name)
    ]
    return PartColumns(found, tuple(counts), tuple(rest), recognised=not given)


def _has_repeats(table: Table, picked: Mapping[str, str], most: int) -> bool:
    """Tell whether a worker has two of the first rows for a task."""
    sample = table.sample(most, [picked["worker"], picked["task"]])
    try:
        columns = [table.column("task", data) for data in sample.values()]
        for column in columns:
            check_ids(column)
        worker, task = (column.factors for column in columns)
    except InputError:  # of ids that reading will refuse
        return False
    pairs = worker[0].astype(np.int64) * len(task[1]) + task[0]
    return len(np.unique(pairs)) < len(pairs)


def _names_answers(
    ids: npt.NDArray[np.int64], pair: npt.NDArray[np.int64], label: Content, there: npt.NDArray[np.bool_]
) -> bool:
    """Tell whether a column has one worker and task for each value, and several labels for some."""
    one = len(np.unique(_join(pair, ids))) == len(np.unique(ids))
    return one and len(np.unique(_join(ids, label.codes)[there])) > len(np.unique(ids[there]))


def _ask_if_doubtful(
    table: Table,
    picked: Mapping[str, str],
    pair: npt.NDArray[np.int64],
    label: Content,
    codes: npt.NDArray[np.int64],
) -> None:
    """Ask whether rows are parts, where workers have several neighbours for a task and never say the same in two."""
    rows = np.unique(pair, return_counts=True)[1]
    several, apart = int((rows > 1).sum()), len(pair) - len(rows) - int((pair[1:] == pair[:-1]).sum())
    words = label.kind not in ("whole", "number", "date") and 2 * label.n_present <= len(pair)
    if several < _MIN_ANSWERS or 2 * apart > len(pair) - len(rows) or not words:
        return
    if len(np.unique(_join(pair, codes))) < len(pair):
        return
    raise InputError(
        f"{table.where}: {several:,} times a worker has several rows for a task, each with another"
        f" {picked['label']!r}. If the rows are parts of one answer, they are a set; if a row corrects the one before"
        " it, keep the last with repeats='last'.",
        repeats="set",
    )


def _is_said_of_parts(content: Content, keys: npt.NDArray[np.int64], there: npt.NDArray[np.bool_]) -> bool:
    """Tell whether a column differs within answers, and is neither the number of a row nor a time."""
    rows = there & ~content.missing
    codes, answers = content.codes[rows], keys[rows]
    differs = len(np.unique(_join(answers, codes))) > len(np.unique(answers))
    if not differs or content.kind == "date" or 2 * content.n_present > len(codes):
        return False
    return not _counts_up(content, answers, codes)


def _counts_up(content: Content, answers: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> bool:
    """Tell whether a column numbers the rows of each answer from 0 or 1."""
    if content.kind != "whole":
        return False
    numbers = np.array([float(value) if _WHOLE.fullmatch(str(value)) else np.nan for value in content.values])[codes]
    order = np.lexsort((numbers, answers))
    first = np.flatnonzero(np.diff(answers[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(first, np.diff([*first, len(order)]))
    return any(bool((numbers[order] == place + start).all()) for start in (0, 1))


def are_counts(name: str, values: Iterable[str], n_present: int) -> bool:
    """Tell whether a column says how many there are of things: by its name, and the different values that are present.

    >>> are_counts("how_many", ["1", "11-50", ""], 2), are_counts("how_many", ["a few"], 1), are_counts("age", ["3"], 1)
    (True, False, False)
    """
    shown = [value for value in values if _COUNT.fullmatch(value)]
    return _COUNTS.fullmatch(name) is not None and bool(shown) and len(shown) >= n_present


def _join(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a number for each pair of numbers."""
    joined = np.unique(left, return_inverse=True)[1].astype(np.int64)
    return joined * np.int64(int(right.max(initial=0)) + 1) + right
