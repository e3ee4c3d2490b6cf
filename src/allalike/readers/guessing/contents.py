"""Contents: what the columns of a sample hold, and how two of them go together."""

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

_LOOKED_AT = 400  # this many different values tell the kind of a column
_MOST_BINS = 10  # numbers are put into this many bins, so that near ones are alike
_MOST_CELLS = 1 << 19  # a table of pairs with no more cells is counted in one go
_CLEAR_ERRORS = 6  # an agreement of as many times its error is clear
_MOST_SHOWN = 1000  # this many characters tell a nested value from others
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"(?:[a-z]{{3,9}},? )?(?:(?:{_DAY})|{_MONTH}\.? \d{{1,2}},? .*\d|\d{{1,2}} {_MONTH}\.? \d{{4}})(?:[T\W].*)?"
    r"|\d\d?:\d\d(?::\d\d)?.*",
    re.IGNORECASE,
)
_URL = re.compile(r"(?:https?|s3|gs|ftp)://", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?%?\s*")


@dataclass(frozen=True, eq=False)
class Content:
    """What a column holds: the number of each row's value, by its first row, and what the values look like.

    Of ``n_present`` different ones it can be said that they are values.

    >>> import pyarrow as pa
    >>> Content.of("day", pa.chunked_array([["2020-01-02", "2020-01-03", ""]])).kind
    'date'
    """

    name: str
    codes: npt.NDArray[np.int64]
    values: list[Any]
    missing: npt.NDArray[np.bool_]
    kind: str
    n_present: int

    @classmethod
    def of(cls, name: str, data: Any, na: frozenset[str] = frozenset()) -> Content:
        """Look at an Arrow column, or at a list of Python objects."""
        codes, values, kind = _of_list(data) if isinstance(data, list) else _of_arrow(data)
        none = frozenset((None, "", *na))
        empty = np.array([_is_missing(value, none) for value in values], np.bool_)
        present = [values[place] for place in np.flatnonzero(~empty)[:_LOOKED_AT]]
        kind = kind if kind != "text" else _tell_kind(present)
        return cls(name, codes, values, empty[codes], kind, len(values) - int(empty.sum()))

    @property
    def n_values(self) -> int:
        """How many different values there are; no value is one of them."""
        return len(self.values)

    @cached_property
    def gaps(self) -> float:
        """Which share of the rows has no value."""
        return float(self.missing.mean()) if len(self.missing) else 0.0

    @property
    def is_blank(self) -> bool:
        """Whether no row has a value."""
        return bool(self.missing.all())

    @cached_property
    def length(self) -> float:
        """How long the values are written, on average."""
        shown = [str(value) for value in self.values[:_LOOKED_AT] if value is not None]
        return float(np.mean([len(text) for text in shown])) if shown else 0.0

    @cached_property
    def words(self) -> float:
        """How many words the values have, on average."""
        shown = [str(value) for value in self.values[:_LOOKED_AT] if value is not None]
        return float(np.mean([len(text.split()) for text in shown])) if shown else 0.0

    @cached_property
    def binned(self) -> npt.NDArray[np.int64]:
        """The number of each row's value, or of the tenth in which it is where there are many numbers."""
        if self.kind not in ("whole", "number") or self.n_values <= 2 * _MOST_BINS:
            return self.codes
        numbers = _numbers_of(self.values)[self.codes]
        edges = np.nanquantile(numbers, np.linspace(0, 1, _MOST_BINS + 1)[1:-1])
        return np.digitize(numbers, edges)

    @property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The different numbers of a column of such."""
        numbers = _numbers_of([value for value in self.values if value is not None])
        return numbers[np.flatnonzero(~np.isnan(numbers))]

    def row(self, place: int) -> Any:
        """Return the value of a row."""
        return self.values[int(self.codes[place])]


@dataclass(frozen=True, eq=False)
class Pair:
    """How two columns go together: how many different pairs there are, and of each value with how many others."""

    count: int
    n_with_left: npt.NDArray[np.int64]
    n_with_right: npt.NDArray[np.int64]

    @cached_property
    def shared(self) -> float:
        """Which share of the values of the left column come with two of the right or more."""
        return float((self.n_with_left > 1).mean())

    @classmethod
    def of(cls, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> Pair:
        """Count pairs.

        >>> pair = Pair.of(np.array([0, 0, 1]), np.array([0, 1, 1]))
        >>> pair.count, pair.n_with_left.tolist(), pair.n_with_right.tolist()
        (3, [2, 1], [1, 2])
        """
        width = int(right.max()) + 1
        different, _ = _count(left * width + right)
        return cls(len(different), np.bincount(different // width), np.bincount(different % width))


def _count(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the different ones of whole numbers, and how often each occurs."""
    if int(keys.max()) < _MOST_CELLS:
        counts = np.bincount(keys)
        different = np.flatnonzero(counts)
        return different, counts[different]
    codes, different = pd.factorize(keys)
    return different, np.bincount(codes)


class TableSample:
    """Some rows of a table, column by column.

    >>> sample = TableSample({"a": ["x", "x", "y"], "b": [1, 2, 1]})
    >>> sample.n_rows, sample.kept("a", "b"), sample.shared("b", "a")
    (3, 1.0, 0.5)
    """

    def __init__(self, columns: Mapping[str, Any], na: frozenset[str] = frozenset()) -> None:
        self.names = list(columns)
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._columns, self._na = columns, na
        self.looks: dict[tuple[str, str], float] = {}  # how much each column looks like a role, where that was asked
        self._contents: dict[str, Content] = {}
        self._pairs: dict[tuple[str, str], Pair] = {}
        self._agreements: dict[tuple[str, str], tuple[float, float]] = {}

    def __getitem__(self, name: str) -> Content:
        if name not in self._contents:
            self._contents[name] = Content.of(name, self._columns[name], self._na)
        return self._contents[name]

    @property
    def contents(self) -> dict[str, Content]:
        """What each column holds."""
        return {name: self[name] for name in self.names}

    def pair(self, left: str, right: str) -> Pair:
        """Return how two columns go together."""
        if (left, right) not in self._pairs:
            pair = Pair.of(self[left].codes, self[right].codes)
            self._pairs[left, right] = pair
            self._pairs[right, left] = Pair(pair.count, pair.n_with_right, pair.n_with_left)
        return self._pairs[left, right]

    def alike(self, left: str, right: str) -> bool:
        """Tell whether two columns say the same in other words."""
        return np.array_equal(self[left].codes, self[right].codes)

    def follows(self, name: str, other: str) -> bool:
        """Tell whether one column has the same value wherever another has."""
        return self.pair(name, other).count == self[other].n_values

    def kept(self, worker: str, task: str) -> float:
        """Return the share of rows that stay when repeats are set aside."""
        return self.pair(worker, task).count / max(self.n_rows, 1)

    def shared(self, name: str, other: str) -> float:
        """Return which share of the values of one column come with two of another or more."""
        return self.pair(name, other).shared

    def agreement(self, label: str, group: str) -> float:
        """Return how much more often than by chance two rows of a group have the same label, less its error; at most 1.

        It says which of two columns labels are about: the answers to a task agree, those of a worker do not.
        """
        return float(np.clip(np.subtract(*self._agreement(label, group)), 0, 1))

    def lead(self, label: str, group: str, other: str | None = None) -> float:
        """Tell how clearly labels agree more within one group than within another, or than by chance, from -1 to 1."""
        (more, error), (less, noise) = (self._agreement(label, each) if each else (0.0, 0.0) for each in (group, other))
        return float(np.clip((more - less) / max(_CLEAR_ERRORS * np.hypot(error, noise), 1e-9), -1, 1))

    def _agreement(self, label: str, group: str) -> tuple[float, float]:
        if (label, group) not in self._agreements:
            self._agreements[label, group] = self._agree(self[label], self[group])
        return self._agreements[label, group]

    @staticmethod
    def _agree(label: Content, group: Content) -> tuple[float, float]:
        """Return how much more often than by chance labels of a group are the same, and the error of it."""
        present = ~label.missing
        labels, groups = label.binned[present], group.codes[present]
        if not len(labels):
            return 0.0, 0.0
        width = int(labels.max()) + 1
        _, cells = _count(groups * width + labels)
        sizes, totals = np.bincount(groups).astype(float), np.bincount(labels).astype(float)
        pairs, all_pairs = (sizes * (sizes - 1)).sum(), (totals.sum() * (totals.sum() - 1))
        if not pairs or not all_pairs:
            return 0.0, 0.0
        within, chance = (cells * (cells - 1.0)).sum() / pairs, (totals * (totals - 1)).sum() / all_pairs
        if chance >= 1:
            return 0.0, 0.0
        return float((within - chance) / (1 - chance)), float(np.sqrt(2 * chance / (1 - chance) / pairs))


def _of_arrow(data: Any) -> tuple[npt.NDArray[np.int64], list[Any], str]:
    plain = make_plain(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))
    if isinstance(plain, list):
        return _of_list(plain)
    column = plain.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunks, or of more than fit in one
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    encoded = column.dictionary_encode(null_encoding="encode")
    tests = {
        "date": pa.types.is_temporal,
        "whole": pa.types.is_integer,
        "number": lambda k: pa.types.is_floating(k) or pa.types.is_decimal(k),
        "truth value": pa.types.is_boolean,
    }
    found = next((name for name, test in tests.items() if test(kind)), "text")
    codes = numpy_of(encoded.indices).astype(np.int64)
    return codes, encoded.dictionary.to_pylist(), found


def _of_list(data: list[Any]) -> tuple[npt.NDArray[np.int64], list[Any], str]:
    known: dict[Any, int] = {}
    nested = records = False
    codes = np.empty(len(data), np.int64)
    for row, value in enumerate(data):
        try:
            codes[row] = known.setdefault((type(value), value), len(known))
        except TypeError:  # not hashable
            nested = True
            records = records or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
            codes[row] = known.setdefault(("nested", repr(value)[:_MOST_SHOWN]), len(known))
    values = [value for _, value in known]
    if nested:
        return codes, values, "records" if records else "nested"
    kinds = {kind for kind, value in known if value is not None}
    names = {bool: "truth value", np.bool_: "truth value", int: "whole", float: "number", str: "text"}
    if kinds <= {int, float}:
        whole = all(
            isinstance(value, int) or value != value or float(value).is_integer()
            for _, value in known
            if value is not None
        )
        return codes, values, "whole" if whole else "number"
    return codes, values, names.get(kinds.pop(), "object") if len(kinds) == 1 else "object"


def _is_missing(value: Any, none: frozenset[str | None]) -> bool:
    if isinstance(value, str):
        return value.strip() in none
    return is_nothing(value)


def _tell_kind(values: list[Any]) -> str:
    """Tell what texts are by what most of them look like."""
    looked = [str(value) for value in values[:_LOOKED_AT]]
    if not looked:
        return "text"
    if all(map(_WHOLE.fullmatch, looked)):
        return "whole"
    if all(map(_NUMBER.fullmatch, looked)):
        return "number"
    for kind, pattern in (("date", _DATE), ("url", _URL)):
        matches = pattern.fullmatch if kind == "date" else pattern.match
        if sum(matches(text.strip()) is not None for text in looked) > 0.9 * len(looked):
            return kind
    return "text"


def _numbers_of(values: list[Any]) -> npt.NDArray[np.float64]:
    """Return numbers, also such as are written with a comma or per cent; NaN for what is none."""
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError):
        return np.array([_number_of(value) for value in values])


def _number_of(value: Any) -> float:
    try:
        return float(str(value).strip().rstrip("%").replace(",", "."))
    except ValueError:
        return float("nan")
