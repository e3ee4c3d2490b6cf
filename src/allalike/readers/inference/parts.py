"""Columns of parts: whether the rows of a table are parts of answers, and which columns say something of each part.

Rows are parts of one answer where it is said (``repeats="set"``), or where a column is the id of a classification: its
name says so, each of its values has one worker and one task, and some have rows with different labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import is_aside
from allalike.readers.inference.samples import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from allalike.readers.formats.tables import Table
    from allalike.readers.inference.samples import ColumnSample

    Numbers = npt.NDArray[np.int64]

_ID = re.compile(
    r"classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id", re.IGNORECASE
)
_COUNTS = re.compile(
    r"(.*[ _.-])?(counts?|how[ _.-]?many|hwmn\w*|number|quantity|amount)([ _.-].*)?",  # Zooniverse leaves out vowels
    re.IGNORECASE,
)
_COUNT = re.compile(r"\s*\d+(\.0+)?\s*(\+|(-|to|–)\s*\d+)?\s*")  # noqa: RUF001
_ROWS = 100_000  # the first rows tell what columns are
_MAX_VALUES = 30  # what is said of things is one of a few values


@dataclass(frozen=True)
class PartColumns:
    """Which columns say what parts of answers are."""

    id: str | None
    counts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    recognised: bool = True

    def keys(self, picked: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns that are the same in all rows of an answer."""
        return picked["worker"], picked["task"], *([self.id] if self.id else [])


def find_part_columns(table: Table, picked: Mapping[str, str], *, given: bool = False) -> PartColumns | None:
    """Return the columns of parts, or nothing if each row is an answer; ``given`` says that rows are parts.

    >>> from allalike.readers.formats.tables import of_records
    >>> seen = [("c1", "ada", "lion", "eats"), ("c1", "ada", "zebra", "rests"), ("c2", "bob", "lion", "eats")]
    >>> names = ("classification", "worker", "label", "does", "task")
    >>> rows = [dict(zip(names, (f"{id}-{task}", *rest, task))) for task in range(3) for id, *rest in seen]
    >>> find_part_columns(of_records(rows), {role: role for role in ("worker", "task", "label")})
    PartColumns(id='classification', counts=(), others=('does',), recognised=True)
    """
    others = [name for name in table.names if name not in picked.values()]
    ids = [name for name in others if _ID.search(name)]
    if not ids and not given:
        return None
    na = frozenset(table.na or ())
    head = TableSample(table.sample(_ROWS, [*picked.values(), *ids]), na)
    answers, label = _number_answers(head, picked), head[picked["label"]]
    if not given and _count(answers) == len(answers):
        return None
    found = next((name for name in ids if _names_answers(head[name].codes, answers, label)), None)
    if found is None and not given:
        return None
    beside = [name for name in others if name not in ids]
    head = TableSample(table.sample(_ROWS, [*picked.values(), *([found] if found else []), *beside]), na)
    answers, label = _number_answers(head, picked, found), head[picked["label"]]
    counts, rest = [], []
    for content in (head[name] for name in beside):
        if not _is_said_of_parts(content, answers, ~label.missing):
            continue
        if are_counts(content.name, map(str, content.values), content.n_present):
            counts.append(content.name)
        elif content.n_present <= _MAX_VALUES and not is_aside(content.name):
            rest.append(content.name)
    return PartColumns(found, tuple(counts), tuple(rest), recognised=not given)


def _number_answers(head: TableSample, picked: Mapping[str, str], found: str | None = None) -> Numbers:
    """Return the number of the answer of each row: of its worker and task, and of its id if there is one."""
    answers = _join(head[picked["worker"]].codes, head[picked["task"]].codes)
    return answers if found is None else _join(answers, head[found].codes)


def _names_answers(ids: Numbers, answers: Numbers, label: ColumnSample) -> bool:
    """Return whether a column has one worker and task for each value, and several labels for some."""
    if _count(_join(answers, ids)) > _count(ids):
        return False
    there = ~label.missing
    return _count(_join(ids, label.codes)[there]) > _count(ids[there])


def _is_said_of_parts(content: ColumnSample, answers: Numbers, there: npt.NDArray[np.bool_]) -> bool:
    """Return whether a column differs within answers, and is neither a time nor the number of a row in its answer."""
    rows = there & ~content.missing
    codes, answers = content.codes[rows], answers[rows]
    differs = _count(_join(answers, codes)) > _count(answers)
    if not differs or content.kind == "date" or 2 * content.n_present > len(codes):
        return False
    if content.kind != "whole":
        return True
    texts = map(str, content.values)
    numbers = np.array([float(text) if text.strip().isdecimal() else np.nan for text in texts])[codes]
    order = np.lexsort((numbers, answers))
    first = np.flatnonzero(np.diff(answers[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(first, np.diff([*first, len(order)]))
    return not any((numbers[order] == place + start).all() for start in (0, 1))


def are_counts(name: str, values: Iterable[str], n_present: int) -> bool:
    """Return whether a column says how many there are of things: by its name, and its different values.

    >>> are_counts("how_many", ["1", "11-50", ""], 2), are_counts("how_many", ["a few"], 1), are_counts("age", ["3"], 1)
    (True, False, False)
    """
    shown = [value for value in values if _COUNT.fullmatch(value)]
    return _COUNTS.fullmatch(name) is not None and bool(shown) and len(shown) >= n_present


def _join(left: Numbers, right: Numbers) -> Numbers:
    """Return a number for each pair of numbers."""
    joined = np.unique(left, return_inverse=True)[1].astype(np.int64)
    return joined * np.int64(int(right.max(initial=0)) + 1) + right


def _count(numbers: Numbers) -> int:
    return len(np.unique(numbers))
