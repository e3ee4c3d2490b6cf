"""Samples of tables: the values of each column as codes, their type, and how two columns relate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import make_plain
from allalike._core.columns.values import is_nothing, numpy_of
from allalike._core.late import late_pattern, pa, pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    Codes = npt.NDArray[np.int64]

_TYPE_VALUES = 400  # distinct values that show the type of a column
_MAX_BINS = 10
_MAX_CELLS = 1 << 19  # a contingency table with fewer cells is counted without hashing
_MAX_NESTED = 1000  # characters that distinguish a nested value from others
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


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """A column of a sample: the code of each row's value, the distinct values, which rows are missing, and the type.

    Missing values have codes as well; ``n_present`` counts the distinct values that are not missing.
    """

    name: str
    codes: Codes
    values: list[Any]
    missing: npt.NDArray[np.bool_]
    kind: str
    n_present: int

    @property
    def n_values(self) -> int:
        """The number of distinct values, a missing one included."""
        return len(self.values)

    @cached_property
    def n_filled(self) -> int:
        """The number of rows that have a value."""
        return int((~self.missing).sum())

    @cached_property
    def texts(self) -> list[str]:
        """Some of the distinct values as texts."""
        return [str(value) for value in self.values[:_TYPE_VALUES] if value is not None] or [""]

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return self.kind in ("whole", "number")

    @cached_property
    def words(self) -> float:
        """The mean number of words in a value."""
        return sum(len(text.split()) for text in self.texts) / len(self.texts)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The distinct values as numbers, also with a decimal comma or a per cent sign; NaN for all others."""
        return np.array([_parse_number(value) for value in self.values])

    @cached_property
    def binned(self) -> Codes:
        """The code of each row's value, or its decile where there are many numbers."""
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
        """Count the distinct values of another column beside each value of a column."""
        if (name, other) not in self._partners:
            left, right = self[name], self[other]
            pairs, _ = _count(left.codes * right.n_values + right.codes)
            self._partners[name, other] = np.bincount(pairs // max(right.n_values, 1), minlength=left.n_values)
            self._partners[other, name] = np.bincount(pairs % max(right.n_values, 1), minlength=right.n_values)
        return self._partners[name, other]

    def depends_on(self, name: str, other: str) -> bool:
        """Return whether the value of one column determines that of the first."""
        return not (self.count_partners(other, name) > 1).any()

    def are_same(self, name: str, other: str) -> bool:
        """Return whether two columns have equal values in the same rows."""
        return np.array_equal(self[name].codes, self[other].codes)

    def measure_agreement(self, label: str, group: str) -> tuple[float, float]:
        """Estimate the chance-corrected agreement of labels within groups, and its standard error.

        Answers agree within tasks, and not within workers.
        """
        if (label, group) not in self._agreements:
            present = ~self[label].missing
            self._agreements[label, group] = _agree(self[label].binned[present], self[group].codes[present])
        return self._agreements[label, group]


def _count(numbers: Codes) -> tuple[Codes, Codes]:
    """Return the distinct numbers and their frequencies; without sorting, which is slow."""
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
    """Encode Arrow data or a list of objects, nested ones by how they are printed."""
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
        present = (str(value) for value, is_empty in zip(values, empty, strict=True) if not is_empty)
        texts = [text.strip() for text in islice(present, _TYPE_VALUES)]
        fits = (
            other
            for other, (pattern, share) in _TEXT_TYPES.items()
            if texts and sum(map(bool, map(pattern.fullmatch, texts))) >= share * len(texts)
        )
        kind = next(fits, kind)
    return ColumnSample(name, codes, values, np.array(empty, np.bool_)[codes], kind, empty.count(False))


def _find_type(data: list[Any]) -> str:
    """Return the type of Python objects: nested values, records, numbers, truth values, texts or other objects."""
    types = {type(value) for value in data if value is not None}
    if any(kind.__hash__ is None for kind in types) or tuple in types:
        lists = (value for value in data if isinstance(value, list | tuple))
        return "records" if any(isinstance(item, dict) for value in lists for item in value) else "nested"
    if types <= {int, float}:
        whole = not any(isinstance(value, float) and value == value and not value.is_integer() for value in data)
        return "whole" if whole else "number"
    simple = {bool: "truth value", np.bool_: "truth value", str: "text"}
    return simple.get(types.pop(), "object") if len(types) == 1 else "object"
