"""Contents of columns: the values of a sample as numbers, what they look like, and how two columns relate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import make_plain
from allalike._core.columns.values import is_nothing, numpy_of
from allalike._core.late import pa, pd

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOOKED_AT = 400  # different values that tell the kind of a column
_MOST_BINS = 10  # of numbers, so that near ones are alike
_MOST_CELLS = 1 << 19  # a table of pairs with no more is counted in one go
_MOST_SHOWN = 1000  # characters that tell a nested value from others
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"(?:[a-z]{{3,9}},? )?(?:(?:{_DAY})|{_MONTH}\.? \d{{1,2}},? .*\d|\d{{1,2}} {_MONTH}\.? \d{{4}})(?:[T\W].*)?"
    r"|\d\d?:\d\d(?::\d\d)?.*",
    re.IGNORECASE,
)
_TEXT_KINDS = {  # pattern, and the share of values that it describes
    "whole": (re.compile(r"[+-]?\d+"), 1.0),
    "number": (re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?%?"), 1.0),
    "date": (_DATE, 0.9),
    "url": (re.compile(r"(?:https?|s3|gs|ftp)://(?s:.*)", re.IGNORECASE), 0.9),
}
_ARROW_KINDS = {
    "is_temporal": "date",
    "is_integer": "whole",
    "is_floating": "number",
    "is_decimal": "number",
    "is_boolean": "truth value",
}


@dataclass(frozen=True, eq=False)
class Content:
    """A column of a sample: the number of each row's value, by its first row, and what the values are.

    ``values`` contains what is missing as well, such as None; of ``n_present`` this is not so.
    """

    name: str
    codes: npt.NDArray[np.int64]
    values: list[Any]
    missing: npt.NDArray[np.bool_]
    kind: str
    n_present: int

    @property
    def n_values(self) -> int:
        """The number of different values; no value is one of them."""
        return len(self.values)

    @cached_property
    def n_filled(self) -> int:
        """The number of rows that have a value."""
        return int((~self.missing).sum())

    @cached_property
    def texts(self) -> list[str]:
        """Some of the different values as they are written."""
        return [str(value) for value in self.values[:_LOOKED_AT] if value is not None] or [""]

    @cached_property
    def words(self) -> float:
        """The mean number of words of a value."""
        return sum(len(text.split()) for text in self.texts) / len(self.texts)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The different values as numbers, also if written with a comma or per cent; NaN for all others."""
        try:
            return np.array(self.values, np.float64)
        except (TypeError, ValueError, OverflowError):
            return np.array([_parse_number(value) for value in self.values])

    @cached_property
    def binned(self) -> npt.NDArray[np.int64]:
        """The number of each row's value, or of its tenth where there are many numbers."""
        if self.kind not in ("whole", "number") or self.n_values <= 2 * _MOST_BINS:
            return self.codes
        numbers = self.numbers[self.codes]
        return np.digitize(numbers, np.nanquantile(numbers, np.linspace(0, 1, _MOST_BINS + 1)[1:-1]))


class TableSample:
    """Some rows of a table, column by column.

    >>> sample = TableSample({"who": ["ada", "ada", "bob"], "day": ["2020-01-02", "2020-01-03", ""]})
    >>> sample["day"].kind, sample.count_partners("who", "day").tolist(), sample.follows("who", "day")
    ('date', [2, 1], True)
    """

    def __init__(self, columns: Mapping[str, Any], na: frozenset[str] = frozenset()) -> None:
        self.names = list(columns)
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._columns, self._nothing = columns, frozenset(("", *na))
        self._contents: dict[str, Content] = {}
        self._partners: dict[tuple[str, str], npt.NDArray[np.int64]] = {}
        self._agreements: dict[tuple[str, str], tuple[float, float]] = {}

    def __getitem__(self, name: str) -> Content:
        if name not in self._contents:
            self._contents[name] = _encode(name, self._columns[name], self._nothing)
        return self._contents[name]

    @property
    def contents(self) -> dict[str, Content]:
        """The content of each column."""
        return {name: self[name] for name in self.names}

    def count_partners(self, name: str, other: str) -> npt.NDArray[np.int64]:
        """Count for each value of a column with how many different values of another it comes."""
        if (name, other) not in self._partners:
            left, right = self[name], self[other]
            pairs, _ = _count(left.codes * right.n_values + right.codes)
            self._partners[name, other] = np.bincount(pairs // max(right.n_values, 1), minlength=left.n_values)
            self._partners[other, name] = np.bincount(pairs % max(right.n_values, 1), minlength=right.n_values)
        return self._partners[name, other]

    def follows(self, name: str, other: str) -> bool:
        """Return whether a column has the same value wherever another has."""
        return not (self.count_partners(other, name) > 1).any()

    def measure_agreement(self, label: str, group: str) -> tuple[float, float]:
        """Measure how much more often than by chance two rows of a group have the same label, and the error of this.

        It tells what labels are about: the answers to a task agree, those of a worker do not.
        """
        if (label, group) not in self._agreements:
            self._agreements[label, group] = _measure_agreement(self[label], self[group])
        return self._agreements[label, group]


def _count(numbers: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the different numbers, and how often each occurs; without a sort, which takes long."""
    if numbers.max(initial=0) < _MOST_CELLS:
        counts = np.bincount(numbers)
        different = np.flatnonzero(counts)
        return different, counts[different]
    codes, different = pd.factorize(numbers)
    return different, np.bincount(codes)


def _measure_agreement(label: Content, group: Content) -> tuple[float, float]:
    present = ~label.missing
    labels, groups = label.binned[present], group.codes[present]
    _, cells = _count(groups * (int(labels.max(initial=0)) + 1) + labels)
    within, together, all_pairs = (
        float((counts * (counts - 1.0)).sum()) for counts in (cells, np.bincount(groups), np.array([len(labels)]))
    )
    totals = np.bincount(labels)
    chance = float((totals * (totals - 1.0)).sum()) / max(all_pairs, 1.0)
    if not together or chance in (0.0, 1.0):
        return 0.0, 0.0
    return (within / together - chance) / (1 - chance), float(np.sqrt(2 * chance / (1 - chance) / together))


def _parse_number(value: Any) -> float:
    try:
        return float(str(value).strip().rstrip("%").replace(",", "."))
    except ValueError:
        return float("nan")


def _encode(name: str, data: Any, nothing: frozenset[str]) -> Content:
    codes, values, kind = _encode_list(data) if isinstance(data, list) else _encode_arrow(data)
    gone = [value.strip() in nothing if isinstance(value, str) else is_nothing(value) for value in values]
    empty = np.array(gone, np.bool_)
    if kind == "text":
        texts = [str(values[place]).strip() for place in np.flatnonzero(~empty)[:_LOOKED_AT]]
        for other, (pattern, share) in _TEXT_KINDS.items():
            if texts and kind == "text" and sum(map(bool, map(pattern.fullmatch, texts))) >= share * len(texts):
                kind = other
    return Content(name, codes, values, empty[codes], kind, len(values) - int(empty.sum()))


def _encode_arrow(data: Any) -> tuple[npt.NDArray[np.int64], list[Any], str]:
    plain = make_plain(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))
    if isinstance(plain, list):
        return _encode_list(plain)
    column = plain.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunks, or of more than fit in one
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode(null_encoding="encode")
    kind = next((kind for test, kind in _ARROW_KINDS.items() if getattr(pa.types, test)(column.type)), "text")
    return numpy_of(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist(), kind


def _encode_list(data: list[Any]) -> tuple[npt.NDArray[np.int64], list[Any], str]:
    numbers: dict[Any, int] = {}
    nested = []
    codes = np.empty(len(data), np.int64)
    for row, value in enumerate(data):
        try:
            codes[row] = numbers.setdefault((type(value), value), len(numbers))
        except TypeError:  # not hashable
            nested.append(value)
            codes[row] = numbers.setdefault((list, repr(value)[:_MOST_SHOWN]), len(numbers))
    values = [value for _, value in numbers]
    if nested:
        records = any(isinstance(value, list) and any(isinstance(item, dict) for item in value) for value in nested)
        return codes, values, "records" if records else "nested"
    types = {kind for kind, value in numbers if value is not None}
    if types <= {int, float}:
        whole = not any(isinstance(value, float) and value == value and not value.is_integer() for value in values)
        return codes, values, "whole" if whole else "number"
    kinds: dict[Any, str] = {bool: "truth value", np.bool_: "truth value", str: "text"}
    return codes, values, kinds.get(types.pop(), "object") if len(types) == 1 else "object"
