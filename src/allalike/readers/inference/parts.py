"""Infer whether the rows of a table are parts of answers, and which columns describe each part.

Rows are parts of one answer with ``duplicates="set"``, or where a column is the id of a classification: by its name,
because each of its values has one worker and one task, and because some have rows with different labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.late import late_pattern
from allalike.readers.column_names import is_aside
from allalike.readers.inference.samples import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from allalike.readers.formats.source import Source
    from allalike.readers.inference.samples import Codes, ColumnSample

_ID = late_pattern(
    r"classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id", re.IGNORECASE
)
_COUNTS = late_pattern(
    r"(.*[ _.-])?(counts?|how[ _.-]?many|hwmn\w*|number|quantity|amount)([ _.-].*)?",  # Zooniverse leaves out vowels
    re.IGNORECASE,
)
_COUNT = late_pattern(r"\s*\d+(\.0+)?\s*(\+|(-|to|–)\s*\d+)?\s*")  # noqa: RUF001
_ROWS = 100_000
_MAX_VALUES = 30  # of a column that describes parts


@dataclass(frozen=True)
class PartColumns:
    """The columns that describe parts of answers: the id of the answer, counts, and others."""

    id: str | None
    counts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    recognised: bool = True

    def keys(self, picked: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns that are the same in all rows of an answer."""
        return picked["worker"], picked["task"], *([self.id] if self.id else [])


def find_part_columns(table: Source, picked: Mapping[str, str], *, given: bool = False) -> PartColumns | None:
    """Return the columns of parts, or nothing if each row is an answer; ``given`` says that rows are parts."""
    others = [name for name in table.names if name not in picked.values()]
    ids = [name for name in others if _ID.search(name)]
    if not ids and not given:
        return None
    na = frozenset(table.na or ())
    head = TableSample(table.sample(_ROWS, [*picked.values(), *ids]), na)
    answers, label = _join(head[picked["worker"]].codes, head[picked["task"]].codes), head[picked["label"]]
    if not given and _count(answers) == len(answers):
        return None
    id_name = next((name for name in ids if _identifies(head[name].codes, answers, label)), None)
    if id_name is None and not given:
        return None
    found = PartColumns(id_name, recognised=not given)
    beside = [name for name in others if name not in ids]
    head = TableSample(table.sample(_ROWS, list(dict.fromkeys([*picked.values(), *found.keys(picked), *beside]))), na)
    answers = np.zeros(head.n_rows, np.int64)
    for key in found.keys(picked):
        answers = _join(answers, head[key].codes)
    counts, rest = [], []
    for column in (head[name] for name in beside):
        if not _describes_parts(column, answers, ~head[picked["label"]].missing):
            continue
        if are_counts(column.name, map(str, column.values), column.n_present):
            counts.append(column.name)
        elif column.n_present <= _MAX_VALUES and not is_aside(column.name):
            rest.append(column.name)
    return replace(found, counts=tuple(counts), others=tuple(rest))


def _identifies(ids: Codes, answers: Codes, label: ColumnSample) -> bool:
    """Return whether a column has one worker and task for each value, and several labels for some."""
    present = ~label.missing
    one_answer = _count(_join(answers, ids)) == _count(ids)
    return one_answer and _count(_join(ids, label.codes)[present]) > _count(ids[present])


def _describes_parts(column: ColumnSample, answers: Codes, present: npt.NDArray[np.bool_]) -> bool:
    """Return whether a column differs within answers, and is neither a time nor the number of a row in its answer."""
    rows = present & ~column.missing
    codes, answers = column.codes[rows], answers[rows]
    differs = _count(_join(answers, codes)) > _count(answers)
    if not differs or column.kind == "date" or 2 * column.n_present > len(codes):
        return False
    if column.kind != "whole":
        return True
    numbers = column.numbers[codes]
    order = np.lexsort((numbers, answers))
    first = np.flatnonzero(np.diff(answers[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(first, np.diff([*first, len(order)]))
    return not any((numbers[order] == place + start).all() for start in (0, 1))


def are_counts(name: str, values: Iterable[str], n_present: int) -> bool:
    """Return whether a column says how many things there are: by its name, and its distinct values, such as 11-50."""
    shown = [value for value in values if _COUNT.fullmatch(value)]
    return _COUNTS.fullmatch(name) is not None and bool(shown) and len(shown) >= n_present


def _join(left: Codes, right: Codes) -> Codes:
    """Return a code for each pair of codes."""
    return np.unique(left, return_inverse=True)[1].astype(np.int64) * np.int64(right.max(initial=0) + 1) + right


def _count(codes: Codes) -> int:
    return len(np.unique(codes))
