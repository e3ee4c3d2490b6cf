"""Matrices: tables with a column per worker or per task, their row ids, and columns that are not answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.late import late_pattern
from allalike.readers.column_names import SYNONYM, SYNONYMS, is_aside, is_gold, name_consensus, rate_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from allalike.readers.inference.samples import ColumnSample, TableSample

GOLD = "gold labels"  # the reason why a column is not a worker
_MAX_CLASSES = 20
_MIN_COLUMNS = 3
_MOST = 0.8  # of cells that have values of other columns, and of columns whose range contains the median of another
_TEXT_WORDS = 4  # free text has this many words on average
_MIN_DISTINCT = 10  # a column of so many rows that all differ has no answers
_MAX_NAME, _MAX_ADDRESS = 1000, 400  # characters that are looked at
_EMAIL = late_pattern(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_QUESTION = late_pattern(r"(?:q|question|item|task)[\W_]*\d+.*|.*\?|.*\[.+\]", re.IGNORECASE)
_FAMILIES = {"date": "dates", "url": "addresses", "nested": "nested values", "truth value": "numbers"}


@dataclass(frozen=True)
class Matrix:
    """The rows of a matrix (tasks or workers), whether names say so, and the columns of its cells.

    ``alone`` is false for a matrix of two columns beside others that do not belong to it.
    """

    rows: str
    named: bool
    cells: list[str]
    alone: bool = True


def find_matrix(sample: TableSample) -> Matrix | None:
    """Return what a table contains as a matrix: columns with the same classes, or with numbers of the same range.

    >>> from allalike.readers.inference.samples import TableSample
    >>> cells = {"q": ["q1", "q2", "q3", "q4"], "rater1": [*"abab"], "rater2": [*"abba"], "rater3": [*"aaab"]}
    >>> find_matrix(TableSample(cells))
    Matrix(rows='tasks', named=True, cells=['rater1', 'rater2', 'rater3'], alone=True)
    >>> find_matrix(TableSample({"id": [1, 2, 3], "Anna": [*"aba"], "Bob": [*"abb"]})).cells
    ['Anna', 'Bob']
    """
    filled = [column for column in sample.columns if column.n_filled]
    cells = max(_list_same_classes(filled), _list_same_range(filled), key=len)
    if len(cells) < _MIN_COLUMNS or 2 * len(cells) < len(sample.names):
        cells = _find_two(sample)
    if not cells:
        return None
    alone = len(cells) > 2 or len(sample.names) <= 3
    others = [name for name in sample.names if name not in cells]
    task, worker = (max((rate_name(name, role) for name in others), default=0.0) for role in ("task", "worker"))
    if _stem(cells[0]) in SYNONYMS["worker"]:
        return Matrix("tasks", True, cells, alone)
    if sum(_QUESTION.fullmatch(name[:_MAX_NAME]) is not None for name in cells) > len(cells) / 2:
        return Matrix("workers", not worker <= SYNONYM < task, cells, alone)  # tasks on both sides are no evidence
    tasks = task > worker if task != worker else sample.n_rows >= len(cells)
    return Matrix("tasks" if tasks else "workers", task != worker, cells, alone)


def _stem(name: str) -> str:
    """Return what precedes the first number of a name."""
    match = re.match(r"([^\d]*?)[\W_]*\d", name[:_MAX_NAME].strip().casefold())
    return (match[1] or "#") if match else ""


def _list_same_stem(names: Sequence[str]) -> list[str]:
    """Return the numbered names with the commonest stem, if there are some."""
    stems = Counter(stem for name in names if (stem := _stem(name)))
    usual, number = stems.most_common(1)[0] if stems else ("", 0)
    return [name for name in names if _stem(name) == usual] if number >= _MIN_COLUMNS else []


def _list_same_classes(columns: Sequence[ColumnSample]) -> list[str]:
    """Return the columns with a few classes in common, of which most of their cells have one."""
    columns = [column for column in columns if column.kind != "date" and column.n_present <= _MAX_CLASSES]
    counts = Counter(value for column in columns for value in _list_values(column))
    common = {value for value, count in counts.items() if count > 1}
    if len(common) > _MAX_CLASSES:
        return []
    return [column.name for column in columns if _measure_share(column, common) >= _MOST]


def _list_same_range(columns: Sequence[ColumnSample]) -> list[str]:
    """Return the columns of numbers whose median is in the range of most others.

    Whole numbers may be ids as well, unless their columns are numbered, such as q1 and q2.
    """
    columns = [column for column in columns if column.is_numeric]
    if 2 * sum(column.kind == "number" for column in columns) < max(len(columns), 1):
        numbered = _list_same_stem([column.name for column in columns])
        columns = [column for column in columns if column.name in numbered]
    numbers = [column.numbers[~np.isnan(column.numbers)] for column in columns]
    ranges = [(own.min(), own.max()) for own in numbers]
    within = [sum(low <= np.median(own) <= high for low, high in ranges) for own in numbers]
    return [column.name for column, count in zip(columns, within, strict=True) if count > _MOST * len(columns)]


def _list_values(column: ColumnSample) -> set[str]:
    return {str(column.values[code]) for code in set(column.codes[~column.missing].tolist())}


def _measure_share(column: ColumnSample, values: Collection[str]) -> float:
    """Return the share of filled cells with one of some values."""
    known = np.array([str(value) in values for value in column.values], np.bool_)[column.codes]
    return float(known[~column.missing].mean())


def _find_two(sample: TableSample) -> list[str]:
    """Return the only two columns that may be a matrix by themselves: neither is named or looks like an id."""
    first = sample.columns[0] if len(sample.names) > 2 else None
    free = [column for column in sample.columns if column.n_filled and not is_gold(column.name)]
    free = [column for column in free if not is_aside(column.name)]
    if first in free and first is not None and first.n_values == sample.n_rows:
        free.remove(first)
    pairs = [pair for pair in combinations(free[:_MAX_CLASSES], 2) if _are_two(sample, pair)]
    return [column.name for column in pairs[0]] if len(pairs) == 1 else []


def _are_two(sample: TableSample, pair: Sequence[ColumnSample]) -> bool:
    names = [column.name for column in pair]
    rates = {role: sorted(rate_name(name, role) for name in names) for role in SYNONYMS}
    one_worker = rates["worker"][0] < SYNONYM < rates["worker"][1]
    if {*names} <= {*"xyzXYZ"} or one_worker or rates["task"][1] > SYNONYM or rates["label"][1] >= SYNONYM:
        return False
    recurs = any(column.n_present < column.n_filled or column.kind == "number" for column in pair)
    if not recurs and all(sample[name].n_values < sample.n_rows for name in {*sample.names} - {*names}):
        return False
    if len(_list_same_classes(pair)) == 2:
        return len(_list_values(pair[0]) | _list_values(pair[1])) > 1
    return all(column.is_numeric for column in pair) and len(_list_same_range(pair)) == 2


def find_row_ids(sample: TableSample) -> str | None:
    """Return the first column if it identifies the rows of a matrix: its values are unique and not answers."""
    first, *others = sample.columns
    if not others or first.kind in ("number", "date", "nested", "truth value") or first.missing.any():
        return None
    stem = _stem(first.name)
    if first.n_values < sample.n_rows or (stem and stem == _stem(others[0].name)):
        return None
    if not stem and len(_list_same_stem([other.name for other in others])) > _MOST * len(others):
        return first.name
    answers = {str(value) for column in others for value in column.values[: _MAX_CLASSES + 1]}
    return first.name if _measure_share(first, answers) <= 0.5 else None


def find_strangers(sample: TableSample, names: Sequence[str], rows: str = "task") -> dict[str, str]:
    """Return the columns of a matrix that are probably not answers, with the reason; each row is a task or a worker."""
    columns = [sample[name] for name in names if sample[name].n_filled]
    families = Counter(map(_name_family, columns))
    usual, number = families.most_common(1)[0] if families else ("", 0)
    usual = usual if 2 * number > len(columns) else ""
    recur = 2 * sum(each.n_present <= max(each.n_filled / 2, 2) for each in columns) > len(columns)
    reasons = {}
    for column in columns:
        reason = GOLD if is_gold(column.name) else _find_reason(column, usual, recur=recur)
        reasons[column.name] = reason or (name_consensus(column.name) if rows == "task" else "")
    return {name: reason for name, reason in reasons.items() if reason}


def _name_family(column: ColumnSample) -> str:
    if column.is_numeric:
        return "numbers"
    free = column.words >= _TEXT_WORDS and column.n_present > 0.8 * column.n_filled
    return _FAMILIES.get(column.kind, "free text" if free else "words")


def _find_reason(column: ColumnSample, usual: str, *, recur: bool) -> str:
    """Return why a column has no answers, where most columns are of a family, and their values recur or not."""
    family = _name_family(column)
    if family != usual and (usual or family == "dates") and (family != "words" or usual == "numbers"):
        return family
    values = [str(value) for value in column.values if value is not None]
    if values and all(len(value) <= _MAX_ADDRESS and _EMAIL.fullmatch(value) for value in values):
        return "e-mail addresses"
    if recur and column.n_present == column.n_filled >= _MIN_DISTINCT:
        return "all different"
    return "by its name" if is_aside(column.name) else ""
