"""Columns of the answers as they were read, with conversion to codes or numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from decimal import Decimal
from functools import cached_property
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.factors import Codes, factorize, factorize_objects
from allalike._core.columns.hashes import call, cast, make_plain
from allalike._core.columns.values import (
    Values,
    arrow_of,
    as_float,
    find_nothing,
    find_zeros,
    has_leading_zeros,
    hold_objects,
    is_string,
    numpy_of,
    reads_as_number,
    shorten,
)
from allalike._core.lazy_imports import pa
from allalike.errors import InputError, LabelError

_Part = tuple["Column", npt.NDArray[np.int64]]

_SAMPLE_ROWS, _MAX_FEW_VALUES = 1 << 16, 1 << 12  # columns with so few values among the first rows are factorized
_OBJECT_BYTES = 1 << 9  # of a Python object, about
_LOOK_ROWS = 1 << 13  # for deciding whether strings recur
_CODE_PATTERN = re.compile(r"\s*[-+]?0[0-9]")  # with leading zeros


class Column:
    """The ids or labels of one column: an Arrow column, or a list of Python objects.

    >>> import pyarrow as pa
    >>> column = Column("label", pa.chunked_array([["2.5", "1"]]), text=True)
    >>> column.numbers
    array([2.5, 1. ])
    >>> codes, values = column.factors
    >>> codes, values.tolist()
    (array([1, 0], dtype=int32), ['1', '2.5'])
    """

    def __init__(
        self, name: str, data: Any | Callable[[], Any], *, text: bool = False, na: Sequence[str] | None = None
    ) -> None:
        self.name = name
        self.text = text
        self.na = na
        self.trimmed = False  # True if no string begins or ends with blanks
        self._source = data
        self._rows: npt.NDArray[np.int64] | None = None
        self._parsed: dict[Any, tuple[Codes, list[Any]]] = {}

    @classmethod
    def of_objects(cls, name: str, objects: list[Any]) -> Column:
        """Make a column of Python objects; numbers and strings are converted to Arrow."""
        return cls(name, hold_objects(name, objects))

    @classmethod
    def of_codes(cls, name: str, codes: Codes, values: Values) -> Column:
        """Make a column of values and the code of each row."""
        column = cls(name, values.data)
        vars(column)["factors"] = codes, values
        return column

    @cached_property
    def data(self) -> Any:
        """The values as they were read."""
        data = self._source() if callable(self._source) else self._source
        if isinstance(data, list):
            return data
        column = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
        plain = make_plain(column)
        pa.default_memory_pool().release_unused()
        return plain

    def __len__(self) -> int:
        return len(self.factors[0]) if "factors" in vars(self) else len(self.data)

    @property
    def form(self) -> Any:
        """The Arrow type of the values, or None for a list of Python objects."""
        return None if isinstance(self.data, list) else self.data.type

    @property
    def n_bytes(self) -> int:
        """The approximate memory of the values in bytes."""
        return _OBJECT_BYTES * len(self.data) if self.form is None else int(self.data.nbytes)

    def tolist(self) -> list[Any]:
        """Return the values as Python objects."""
        return list(self.data) if self.form is None else list(self.data.to_pylist())

    @classmethod
    def join(cls, parts: Sequence[Column]) -> Column:
        """Concatenate columns of the same form."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        values = [value for part in parts for value in (part.data if first.form is None else part.data.chunks)]
        data = values if first.form is None else pa.chunked_array(values)
        return cls(first.name, data, text=first.text, na=first.na)

    @cached_property
    def kind(self) -> str:
        """The type of the values: text, whole, number, truth value or object."""
        if self.form is None:
            return "object"
        types, kind = pa.types, self.data.type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if is_string(kind):
            return "text"
        if types.is_integer(kind):
            return "whole"
        if types.is_boolean(kind):
            return "truth value"
        return "number" if types.is_floating(kind) or types.is_decimal(kind) else "object"

    @cached_property
    def factors(self) -> tuple[Codes, Values]:
        """The code of each row, and the sorted distinct values; the original data are released."""
        if self.form is None:
            try:
                factors = factorize_objects(self.data)
            except TypeError:
                raise self.indistinct() from None
        else:
            factors = factorize(self.data, text=self.text and self.kind == "text")
        del self.data, self._source
        pa.default_memory_pool().release_unused()
        return factors

    def indistinct(self) -> InputError:
        """Return the error for unhashable Python objects, such as lists."""
        row = 0
        with suppress(TypeError):
            while hash(self.data[row]) is not None:
                row += 1
        value = self.data[row]
        return InputError(
            f"The {self.name}s cannot be compared: row {self.row(row)} has {shorten(value)}, of type"
            f" {type(value).__name__}. Write them as texts or numbers."
        )

    def parsed(
        self, parse: Callable[[Any], Any], parse_texts: Callable[[Any], list[Any]] | None = None
    ) -> tuple[Codes, list[Any]]:
        """Parse every distinct value once; return the code of each row, and the parsed values.

        An error names the row of the value. ``parse_texts`` can parse a whole Arrow array of texts; values for which it
        returns None are parsed one by one.

        >>> Column.of_objects("label", ["a b", "c", "a b"]).parsed(str.split)
        (array([0, 1, 0], dtype=int32), [['a', 'b'], ['c']])
        """
        key = getattr(parse, "__qualname__", ""), repr(getattr(parse, "__self__", parse))  # a domain and its options
        if key not in self._parsed:
            if "factors" not in vars(self) and self.form is None:  # may be unhashable
                codes, values = np.arange(len(self.data), dtype=np.int32), Values(self.data)
            else:
                codes, values = self.factors
            at_once = parse_texts if not isinstance(values.data, list) and is_string(values.data.type) else None
            parsed = [None] * len(values) if at_once is None else at_once(values.data)
            for code, value in enumerate(values.tolist() if None in parsed else []):
                parsed[code] = self._parse(parse, value, codes, code) if parsed[code] is None else parsed[code]
            self._parsed = {key: (codes, parsed)}
        return self._parsed[key]

    def _parse(self, parse: Callable[[Any], Any], value: Any, codes: Codes, code: int) -> Any:
        options: Mapping[str, Any] = {}
        try:
            return parse(value)
        except InputError as error:
            reason, options = error.args[0], error.options
        except UnicodeError:
            reason = "it is not valid text"
        except RecursionError:
            reason = "it is nested too deeply"
        except ValueError as error:
            reason = str(error)
        row = self.row(int(np.argmax(codes == code)))
        raise LabelError(f"The {self.name} in row {row} does not fit: {reason}. It is {shorten(value)}.", **options)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The values as finite numbers; an error names the first row that is not one."""
        numbers = self._as_numbers
        if numbers is None:
            row, value = self.first_text()
            what = f"The {self.name} {shorten(value)} in row {row} is not a number."
            raise LabelError(f"{what} Correct it, or choose another label type.", domain="categorical")
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int(np.argmin(finite))
            raise LabelError(
                f"The {self.name} in row {self.row(row)} is {numbers[row]}, not a finite number. Remove the row."
            )
        return numbers

    @cached_property
    def _as_numbers(self) -> npt.NDArray[np.float64] | None:
        """The values as numbers, or None; only the distinct ones are converted if they are known."""
        if "factors" in vars(self) or (self.form is not None and pa.types.is_dictionary(self.data.type)):
            codes, values = self.factors
            numbers = Column(self.name, values.data)._as_numbers
            return None if numbers is None else numbers[codes]
        if self.form is None and all(isinstance(value, Real | Decimal) for value in self.data):
            return np.array([as_float(value) for value in self.data])
        try:
            data = self.data if self.form is not None else pa.chunked_array([pa.array(self.data)])
            if is_string(data.type) and not self.trimmed:
                data = call("utf8_trim_whitespace", data)
            return numpy_of(cast(data, pa.float64(), safe=not pa.types.is_integer(data.type)))  # beyond 2**53, nearest
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return None

    def is_numeric(self) -> bool:
        """Return whether every value is a number, or text that can be read as one."""
        return self._as_numbers is not None and bool(np.isfinite(self._as_numbers).all())

    def looks_numeric(self) -> bool:
        """Return whether every value is a number, or text written as one; ``"007"`` is a code and not a number.

        >>> [Column.of_objects("label", [text, "12"]).looks_numeric() for text in ("7", "007", "x")]
        [True, False, False]
        """
        if self.kind != "text":
            return self.kind in ("whole", "number")
        few = self.n_distinct(_SAMPLE_ROWS) <= _MAX_FEW_VALUES
        values = self.factors[1].data if few or "factors" in vars(self) else self.data
        strings = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        return pa.types.is_integer(strings.type) or (not has_leading_zeros(strings) and self.is_numeric())

    def n_distinct(self, sample: int | None = None) -> int:
        """Count the distinct values, of the first ``sample`` rows or of all rows."""
        if sample is None or "factors" in vars(self) or self.form is None:
            return len(self.factors[1])
        return len(call("unique", self.data.slice(0, sample)))

    def text_among_numbers(self) -> tuple[int, Any] | None:
        """Return the row and value of the first text if at least half of the distinct values are numbers, else None."""
        values = self.factors[1].tolist()
        texts = sum(not reads_as_number(value) for value in values)
        return self.first_text() if 0 < texts <= len(values) / 2 else None

    def missing(self) -> npt.NDArray[np.bool_]:
        """Mark the rows without a value: null, NaN, an empty field of a text file, or a word for a missing value."""
        data = self.data
        if isinstance(data, list):
            nothing = {"", *(word.strip() for word in self.na)} if self.na is not None else set()
            return np.array([v is None or (isinstance(v, str) and v.strip() in nothing) for v in data], np.bool_)
        mask = numpy_of(data.is_null()) if data.null_count else np.zeros(len(data), np.bool_)
        if pa.types.is_floating(data.type):
            mask = mask | numpy_of(data.is_null(nan_is_null=True))
        if self.na is not None and self.kind == "text":
            mask = mask | find_nothing(data, self.na)
        elif self.text and is_string(data.type):
            length = call("binary_length", data)
            if length.null_count:
                length = call("coalesce", length, pa.scalar(0, length.type))
            mask = mask | (numpy_of(length) == 0)
        return mask

    def zeros(self) -> npt.NDArray[np.bool_]:
        """Mark the rows with a string that contains a zero byte."""
        if self.form is None:
            return np.array([isinstance(value, str) and "\0" in value for value in self.data], np.bool_)
        return find_zeros(self.data)

    def keep(self, rows: npt.NDArray[np.bool_]) -> Column:
        """Return the column with only these rows; errors name the original rows."""
        if self.form is not None:
            return self.replaced(self.data.filter(arrow_of(rows)), np.flatnonzero(rows))
        return self.replaced(list(compress(self.data, rows)), np.flatnonzero(rows))

    def replaced(self, data: Any, rows: npt.NDArray[np.int64]) -> Column:
        """Return a column of other values for these rows; errors name the original rows."""
        column = Column(self.name, data, text=self.text, na=self.na)
        column._rows = rows if self._rows is None else self._rows[rows]
        return column

    def compacted(self) -> Column:
        """Return the column as a dictionary if its strings recur, so that each distinct one is checked once."""
        if self.form is None or not is_string(self.data.type):
            return self
        if len(call("unique", self.data.slice(0, _LOOK_ROWS))) > min(_LOOK_ROWS // 8, len(self.data) // 2):
            return self
        column = copy(self)
        vars(column)["data"] = call("dictionary_encode", self.data)
        return column

    def head(self, rows: int) -> Column:
        """Return only the first rows."""
        return self.part(0, rows)

    def part(self, start: int, stop: int) -> Column:
        """Return the rows from ``start`` up to, but not including, ``stop``."""
        return Column(self.name, self.data[start:stop], text=self.text, na=self.na)

    def numbered(self, rows: npt.NDArray[np.int64]) -> Column:
        """Return the column with row numbers, from 0, for use in error messages."""
        other = copy(self)
        other._rows = rows
        return other

    def value(self, index: int) -> Any:
        """Return the original value of a row."""
        return self.data[index] if self.form is None else self.data[index].as_py()

    def row(self, index: int) -> int:
        """Return the number of a row for the user: counted from 1, without a header."""
        return int(self._rows[index] if self._rows is not None else index) + 1

    def first_text(self, *, codes: bool = False) -> tuple[int, Any]:
        """Return the row and value of the first value that is not a number, or is a code with leading zeros."""

        def is_text(value: Any) -> bool:
            return not reads_as_number(value) or (codes and _CODE_PATTERN.match(str(value)) is not None)

        if "factors" not in vars(self):
            return next((self.row(row), value) for row, value in enumerate(self.tolist()) if is_text(value))
        place, values = self.factors
        texts = [code for code, value in enumerate(values.tolist()) if is_text(value)]
        row = int(np.argmax(np.isin(place, texts)))
        return self.row(row), values[int(place[row])]


class RecordColumn(Column):
    """A column of records, with a column for each field; as a list, it contains a mapping per row.

    >>> column = RecordColumn("label", {"x": Column.of_objects("label", [1, None]), "y": Column("label", ["a", None])})
    >>> column.data, column.missing()
    ([{'x': 1, 'y': 'a'}, None], array([False,  True]))
    """

    def __init__(self, name: str, fields: Mapping[str, Column]) -> None:
        super().__init__(name, lambda: _join(fields))
        self.fields = dict(fields)
        self._parts: dict[str, list[_Part]] = {}

    @property
    def kind(self) -> str:
        """The type of the values: always object."""
        return "object"

    @cached_property
    def gaps(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Masks of the rows without a value, by field."""
        return {name: column.missing() for name, column in self.fields.items()}

    def split(self, key: str, part: Callable[[int, Column], _Part]) -> list[_Part]:
        """Apply ``part`` to the number and the gap-free column of each field; return the results and the rows.

        The result is cached, because columns release their data.
        """
        if key not in self._parts:
            parts = []
            for number, (name, column) in enumerate(self.fields.items()):
                filled = ~self.gaps[name]
                rows = np.flatnonzero(filled)
                made, kept = part(number, column if len(rows) == len(filled) else column.keep(filled))
                parts.append((made, rows[kept]))
            self._parts = {key: parts}
        return self._parts[key]

    def __len__(self) -> int:
        return len(next(iter(self.gaps.values())))

    def missing(self) -> npt.NDArray[np.bool_]:
        """Mark the rows in which no field has a value."""
        gaps: npt.NDArray[np.bool_] = np.logical_and.reduce(list(self.gaps.values()))
        return gaps

    def keep(self, rows: npt.NDArray[np.bool_]) -> RecordColumn:
        """Return the column with these rows only."""
        return self._with({name: column.keep(rows) for name, column in self.fields.items()}, np.flatnonzero(rows))

    def numbered(self, rows: npt.NDArray[np.int64]) -> RecordColumn:
        """Return the column with row numbers."""
        column = self._with({name: column.numbered(rows) for name, column in self.fields.items()}, rows)
        column._rows = rows
        return column

    def head(self, rows: int) -> RecordColumn:
        """Return only the first rows."""
        return self._with({name: column.head(rows) for name, column in self.fields.items()}, np.arange(rows))

    def compacted(self) -> RecordColumn:
        """Return the column unchanged."""
        return self

    def _with(self, fields: dict[str, Column], rows: npt.NDArray[np.int64]) -> RecordColumn:
        column = RecordColumn(self.name, fields)
        column.text, column.na = self.text, self.na
        column._rows = rows if self._rows is None else self._rows[rows]
        return column


def _join(fields: Mapping[str, Column]) -> list[dict[str, Any] | None]:
    """Return a mapping per row of the fields that have a value."""
    n_rows = len(next(iter(fields.values())))
    records: list[dict[str, Any]] = [{} for _ in range(n_rows)]
    for name, column in fields.items():
        for record, value, gone in zip(records, column.tolist(), column.missing().tolist(), strict=True):
            if not gone:
                record[name] = value
    return [record or None for record in records]
