"""Samples of tables: columns as codes with their types and relations, and detection of matrices.

A matrix has one column per worker or per task, row ids, and perhaps columns that are not answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import make_plain
from allalike._core.columns.values import is_nothing, numpy_of
from allalike._core.lazy_imports import late_pattern, pa, pd
from allalike.readers.column_names import SYNONYM, SYNONYMS, is_aside, is_gold, name_consensus, rate_name

Codes = npt.NDArray[np.int64]

_TYPE_VALUES = 400  # distinct values that show the type of a column
_MAX_BINS = 10
_MAX_CELLS = 1 << 19  # a contingency table with fewer cells is counted without hashing
_MAX_NESTED = 1000  # characters by which nested values are compared
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = (
    rf"(?:[a-z]{{3,9}},? )?(?:(?:{_DAY})|{_MONTH}\.? \d{{1,2}},? .*\d|\d{{1,2}} {_MONTH}\.? \d{{4}})(?:[T\W].*)?"
    r"|\d\d?:\d\d(?::\d\d)?.*"
)
_TEXT_TYPES = {  # pattern, and the share of the values that must match
    "whole": (late_pattern(r"[+-]?\d+"), 1.0),
    "number": (late_pattern(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?%?"), 1.0),
    "date": (late_pattern(_DATE, re.IGNORECASE), 0.9),
    "url": (late_pattern(r"(?:https?|s3|gs|ftp)://(?s:.*)", re.IGNORECASE), 0.9),
}
_ARROW_TYPES = {
    "is_temporal": "date",
    "is_integer": "whole",
    "is_floating": "number",
    "is_decimal": "number",
    "is_boolean": "truth value",
}
GOLD = "gold labels"  # reason why a column of a matrix is not a worker
_MAX_CLASSES = 20
_MIN_COLUMNS = 3
_MOST = 0.8  # share of cells with values of other columns, and of columns whose range contains another's median
_TEXT_WORDS = 4  # free text has this many words on average
_MIN_DISTINCT = 10  # with this many rows, a column without repeated values contains no answers
_MAX_NAME, _MAX_ADDRESS = 1000, 400  # characters that are examined
_EMAIL = late_pattern(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_QUESTION = late_pattern(r"(?:q|question|item|task)[\W_]*\d+.*|.*\?|.*\[.+\]", re.IGNORECASE)
_FAMILIES = {"date": "dates", "url": "addresses", "nested": "nested values", "truth value": "numbers"}


class ColumnSample:
    """A column of a sample: the code of each row, the distinct values, a mask of missing rows, and the type.

    Missing values have codes as well. ``n_present`` is the number of distinct values that are not missing, ``n_filled``
    the number of rows with a value, ``texts`` some values as texts, and ``words`` their mean number of words.
    """

    def __init__(self, name: str, codes: Codes, values: list[Any], empty: Sequence[bool], kind: str) -> None:
        self.name, self.codes, self.values, self.kind = name, codes, values, kind
        self.missing = np.array(empty, np.bool_)[codes]
        self.n_values, self.n_present = len(values), len(values) - sum(empty)
        self.n_filled = len(codes) - int(self.missing.sum())
        self.is_numeric = kind in ("whole", "number")
        self.texts = [str(value) for value in values[:_TYPE_VALUES] if value is not None] or [""]
        self.words = sum(len(text.split()) for text in self.texts) / len(self.texts)
        self._empty = empty

    @cached_property
    def present(self) -> set[str]:
        """The values that are not missing, as texts."""
        return {str(value) for value, empty in zip(self.values, self._empty, strict=True) if not empty}

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The distinct values as numbers, also with a decimal comma or a percent sign; NaN for other values."""
        return np.array([_parse_number(value) for value in self.values])

    @cached_property
    def binned(self) -> Codes:
        """The code of each row, or its decile if there are many different numbers."""
        if not self.is_numeric or self.n_values <= 2 * _MAX_BINS:
            return self.codes
        numbers = self.numbers[self.codes]
        return np.digitize(numbers, np.nanquantile(numbers, np.linspace(0, 1, _MAX_BINS + 1)[1:-1]))


class TableSample:
    """Some rows of a table, column by column.

    >>> sample = TableSample({"who": ["ada", "ada", "bob"], "day": ["2020-01-02", "2020-01-03", ""]})
    >>> sample["day"].kind, sample.count_partners("who", "day").tolist(), sample.depends_on("who", "day")
    ('date', [2, 1], True)
    """

    def __init__(self, columns: Mapping[str, Any], na: frozenset[str] = frozenset()) -> None:
        self.names = list(columns)
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._data, self._na = columns, na | {""}
        self._columns: dict[str, ColumnSample] = {}
        self._partners: dict[tuple[str, str], Codes] = {}
        self._agreements: dict[tuple[str, str], tuple[float, float]] = {}

    def __getitem__(self, name: str) -> ColumnSample:
        if name not in self._columns:
            self._columns[name] = _encode(name, self._data[name], self._na)
        return self._columns[name]

    @property
    def columns(self) -> list[ColumnSample]:
        """All columns."""
        return [self[name] for name in self.names]

    def count_partners(self, name: str, other: str) -> Codes:
        """Count the distinct values of another column that occur with each value of a column."""
        if (name, other) not in self._partners:
            left, right = self[name], self[other]
            pairs, _ = _count(left.codes * right.n_values + right.codes)
            self._partners[name, other] = np.bincount(pairs // max(right.n_values, 1), minlength=left.n_values)
            self._partners[other, name] = np.bincount(pairs % max(right.n_values, 1), minlength=right.n_values)
        return self._partners[name, other]

    def depends_on(self, name: str, other: str) -> bool:
        """Return whether column ``name`` is a function of column ``other``."""
        return not (self.count_partners(other, name) > 1).any()

    def are_same(self, name: str, other: str) -> bool:
        """Return whether two columns are equal up to renaming of values."""
        return np.array_equal(self[name].codes, self[other].codes)

    def measure_agreement(self, label: str, group: str) -> tuple[float, float]:
        """Estimate the chance-corrected agreement of labels within groups, and its standard error.

        Labels agree within tasks, but not within workers.
        """
        if (label, group) not in self._agreements:
            present = ~self[label].missing
            self._agreements[label, group] = _agree(self[label].binned[present], self[group].codes[present])
        return self._agreements[label, group]


def _count(numbers: Codes) -> tuple[Codes, Codes]:
    """Return the distinct numbers and their frequencies, without slow sorting."""
    if numbers.max(initial=0) < _MAX_CELLS:
        counts = np.bincount(numbers)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    codes, distinct = pd.factorize(numbers)
    return distinct, np.bincount(codes)


def _agree(labels: Codes, groups: Codes) -> tuple[float, float]:
    def count_pairs(sizes: Any) -> float:
        return float((sizes * (sizes - 1.0)).sum())

    _, cells = _count(groups * (int(labels.max(initial=0)) + 1) + labels)
    pairs = count_pairs(np.bincount(groups))
    chance = count_pairs(np.bincount(labels)) / max(count_pairs(np.array([len(labels)])), 1.0)
    if not pairs or chance in (0.0, 1.0):
        return 0.0, 0.0
    return (count_pairs(cells) / pairs - chance) / (1 - chance), float(np.sqrt(2 * chance / (1 - chance) / pairs))


def _parse_number(value: Any) -> float:
    try:
        return float(str(value).strip().rstrip("%").replace(",", "."))
    except ValueError:
        return float("nan")


def _encode(name: str, data: Any, na: frozenset[str]) -> ColumnSample:
    """Encode Arrow data or a list of objects; nested ones are compared by their text."""
    if not isinstance(data, list):
        data = make_plain(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))
    if isinstance(data, list):
        kind = _find_type(data)
        numbers: dict[Any, int] = {}
        codes = np.empty(len(data), np.int64)
        for row, value in enumerate(data):
            key = repr(value)[:_MAX_NESTED] if kind in ("nested", "records") and not is_nothing(value) else value
            codes[row] = numbers.setdefault((type(value), key), len(numbers))
        values = [key for _, key in numbers]
    else:
        kind = next((kind for test, kind in _ARROW_TYPES.items() if getattr(pa.types, test)(data.type)), "text")
        plain = data.cast(data.type.value_type) if pa.types.is_dictionary(data.type) else data
        coded = pa.concat_arrays(plain.chunks or [pa.array([], plain.type)]).dictionary_encode(null_encoding="encode")
        codes, values = numpy_of(coded.indices).astype(np.int64), coded.dictionary.to_pylist()
    empty = [value.strip() in na if isinstance(value, str) else is_nothing(value) for value in values]
    if kind == "text":
        shown = islice((value for value, gone in zip(values, empty, strict=True) if not gone), _TYPE_VALUES)
        texts = [str(value).strip() for value in shown]
        for other, (pattern, share) in _TEXT_TYPES.items() if texts else ():
            if sum(map(bool, map(pattern.fullmatch, texts))) >= share * len(texts):
                kind = other
                break
    return ColumnSample(name, codes, values, empty, kind)


def _find_type(data: list[Any]) -> str:
    """Return the type of Python objects: nested, records, whole, number, truth value, text or object."""
    types = {type(value) for value in data if value is not None}
    if any(kind.__hash__ is None for kind in types) or tuple in types:
        lists = (value for value in data if isinstance(value, list | tuple))
        return "records" if any(isinstance(item, dict) for value in lists for item in value) else "nested"
    if types <= {int, float}:
        whole = not any(isinstance(value, float) and value == value and not value.is_integer() for value in data)
        return "whole" if whole else "number"
    simple = {bool: "truth value", np.bool_: "truth value", str: "text"}
    return simple.get(types.pop(), "object") if len(types) == 1 else "object"


@dataclass(frozen=True)
class Matrix:
    """What the rows of a matrix are (tasks or workers), whether names confirm this, and the columns of its cells.

    ``alone`` is False for a matrix of two columns in a table with unrelated columns.
    """

    rows: str
    named: bool
    cells: list[str]
    alone: bool = True


def find_matrix(sample: TableSample) -> Matrix | None:
    """Detect a matrix: columns with the same classes, or with numbers in the same range.

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
    """Return the part of a name before its first number."""
    match = re.match(r"([^\d]*?)[\W_]*\d", name[:_MAX_NAME].strip().casefold())
    return (match[1] or "#") if match else ""


def _list_same_stem(names: Sequence[str]) -> list[str]:
    """Return the numbered names with the most common stem, at least three."""
    stems = Counter(stem for name in names if (stem := _stem(name)))
    usual, number = stems.most_common(1)[0] if stems else ("", 0)
    return [name for name in names if _stem(name) == usual] if number >= _MIN_COLUMNS else []


def _list_same_classes(columns: Sequence[ColumnSample]) -> list[str]:
    """Return the columns in which most cells have one of a few classes: of several columns, or of numbered ones."""
    columns = [column for column in columns if column.kind != "date" and column.n_present <= _MAX_CLASSES]
    counts = Counter(value for column in columns for value in column.present)
    numbered = _list_same_stem([column.name for column in columns])
    common = {value for value, count in counts.items() if count > 1}
    if any(not common.isdisjoint(column.present) for column in columns if column.name in numbered):
        common |= {value for column in columns if column.name in numbered for value in column.present}
    few = len(common) <= _MAX_CLASSES
    return [column.name for column in columns if few and _measure_share(column, common) >= _MOST]


def _list_same_range(columns: Sequence[ColumnSample]) -> list[str]:
    """Return the numeric columns whose median is in the range of most others.

    Integers may be ids, unless the names of their columns are numbered, such as q1 and q2.
    """
    columns = [column for column in columns if column.is_numeric]
    if 2 * sum(column.kind == "number" for column in columns) < max(len(columns), 1):
        numbered = _list_same_stem([column.name for column in columns])
        columns = [column for column in columns if column.name in numbered]
    numbers = [column.numbers[~np.isnan(column.numbers)] for column in columns]
    ranges = [(own.min(), own.max()) for own in numbers]
    within = [sum(low <= np.median(own) <= high for low, high in ranges) for own in numbers]
    return [column.name for column, count in zip(columns, within, strict=True) if count > _MOST * len(columns)]


def _measure_share(column: ColumnSample, values: Collection[str]) -> float:
    """Return the share of non-empty cells with one of these values."""
    known = np.array([str(value) in values for value in column.values], np.bool_)[column.codes]
    return float(known[~column.missing].mean())


def _find_two(sample: TableSample) -> list[str]:
    """Return the only pair of columns that may be a matrix: neither has the name or the values of an id."""
    named = len(sample.names) > 2 and sample.columns[0].n_values == sample.n_rows
    free = [own for own in sample.columns[named:] if own.n_filled and not (is_gold(own.name) or is_aside(own.name))]
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
        return len(pair[0].present | pair[1].present) > 1
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
    """Return columns of a matrix that are probably not answers, with reasons; ``rows`` are "task" or "worker"."""
    columns = [sample[name] for name in names if sample[name].n_filled]
    usual, number = Counter(map(_name_family, columns)).most_common(1)[0] if columns else ("", 0)
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
    """Return the reason why a column has no answers, or ""; ``usual`` is the family of most columns."""
    family = _name_family(column)
    if family != usual and (usual or family == "dates") and (family != "words" or usual == "numbers"):
        return family
    values = [str(value) for value in column.values if value is not None]
    if values and all(_EMAIL.fullmatch(value[:_MAX_ADDRESS]) for value in values):
        return "e-mail addresses"
    if recur and column.n_present == column.n_filled >= _MIN_DISTINCT:
        return "all different"
    return "by its name" if is_aside(column.name) else ""
