"""Values: distinct ids or labels, stored in Arrow if possible and otherwise as Python objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import call, cast, hash_objects, hash_strings, mix, string_bytes
from allalike._core.lazy_imports import pa, pc, pd
from allalike.errors import InputError

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


def numpy_of(array: Any) -> npt.NDArray[Any]:
    """Return an Arrow array of numbers without nulls, chunked or not, as numpy (`to_numpy` imports pandas)."""
    if isinstance(array, pa.ChunkedArray):
        chunks = [numpy_of(chunk) for chunk in array.chunks] or [np.empty(0, array.type.to_pandas_dtype())]
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    if pa.types.is_boolean(array.type):
        return numpy_of(cast(array, pa.uint8())).astype(bool)
    return np.from_dlpack(array)


def arrow_of(array: npt.NDArray[Any]) -> pa.Array:
    """Convert a numpy array of numbers to Arrow, with null for NaN (`pa.array` imports pandas).

    >>> arrow_of(np.array([True, False])).to_pylist(), arrow_of(np.array([0.5, np.nan])).to_pylist()
    ([True, False], [0.5, None])
    """

    def bits(mask: Mask) -> pa.Buffer:
        return pa.py_buffer(np.packbits(mask, bitorder="little"))

    if array.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(array), [None, bits(array)])
    array = np.ascontiguousarray(array)
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(0, np.bool_)
    valid = bits(~missing) if missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), [valid, pa.py_buffer(array)])


def is_string(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is text or bytes of any length."""
    types = pa.types
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is text of any length."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def take_rows(column: Any, order: npt.NDArray[np.int64]) -> Any:
    """Return the rows of a column in this order, as Arrow."""
    if isinstance(column, np.ndarray):
        return arrow_of(column[order])
    if is_string(column.type):
        data, ends = string_bytes(column)
        length = int(ends[1] - ends[0])
        if np.all(np.diff(ends) == length):  # three to seven times faster
            texts = data[ends[0] :].reshape(len(column), length).take(order, axis=0)
            offsets = (ends - ends[0]).astype(np.int64 if "large" in str(column.type) else np.int32)
            return pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(offsets), pa.py_buffer(texts)])
    return column.take(arrow_of(order))


class Values:
    """Distinct ids or labels in order.

    >>> import pyarrow as pa
    >>> names = Values(pa.array(["ada", "bob"]))
    >>> names[1], len(names), names.take(np.array([1, 1, 0])).tolist()
    ('bob', 2, ['bob', 'bob', 'ada'])
    """

    def __init__(self, data: Any, text: Callable[[Any], str] = str) -> None:
        self.data = data
        self._text = text

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        value = self.data[index]
        return value if isinstance(self.data, list) else value.as_py()

    def tolist(self) -> list[Any]:
        """Return the values as Python objects."""
        return list(self.data) if isinstance(self.data, list) else self.data.to_pylist()

    def take(self, indices: npt.NDArray[Any]) -> Values:
        """Return the values with these indices, in this order."""
        if isinstance(self.data, list):
            return Values([self.data[index] for index in indices], self._text)
        return Values(call("take", self.data, arrow_of(indices)))

    def without(self, missing: Mask) -> Values:
        """Return the values with None or null where ``missing`` is true."""
        if isinstance(self.data, list):
            return Values([None if gone else v for v, gone in zip(self.data, missing, strict=True)], self._text)
        return Values(call("if_else", arrow_of(missing), pa.scalar(None, self.data.type), self.data))

    @classmethod
    def join(cls, parts: Sequence[Values]) -> Values:
        """Concatenate values; numbers among texts become texts."""
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(part.data, list) for part in parts):
            return cls([value for part in parts for value in part.tolist()], parts[0]._text)
        kinds = {part.data.type for part in parts}
        common = next(iter(kinds))
        if len(kinds) > 1:
            whole = all(map(pa.types.is_integer, kinds))
            common = pa.large_string() if any(map(is_string, kinds)) else pa.int64() if whole else pa.float64()
        return cls(pa.concat_arrays([part.data.cast(common) for part in parts]))

    def widened(self) -> Values:
        """Return integers of any width as 64-bit integers, and other values unchanged."""
        whole = not isinstance(self.data, list) and pa.types.is_integer(self.data.type)
        return Values(self.data.cast(pa.int64())) if whole else self

    def arrow(self) -> pa.Array:
        """Return the values as Arrow for writing; Python objects become text."""
        if not isinstance(self.data, list):
            return self.data
        return pa.array([None if value is None else self._text(value) for value in self.data], pa.string())

    def series(self) -> pd.Series[Any]:
        """Return the values as a pandas series."""
        if isinstance(self.data, list):
            return pd.Series(self.data, dtype=object)
        series: pd.Series[Any] = self.data.to_pandas(integer_object_nulls=True)
        return series

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Hash each value, equally on every machine and in every run."""
        if not isinstance(self.data, list):
            if is_string(self.data.type):
                return hash_strings(self.data)[0]
            if pa.types.is_integer(self.data.type):
                return mix(numpy_of(self.data).astype(np.int64).view(np.uint64))
        return hash_objects(self.tolist())


def frame_of(columns: Mapping[str, Values | npt.NDArray[Any]]) -> pd.DataFrame:
    """Return columns as a pandas frame."""
    return pd.DataFrame({n: c.series() if isinstance(c, Values) else c for n, c in columns.items()})


def table_of(columns: Mapping[str, Values | npt.NDArray[Any]]) -> pa.Table:
    """Return columns as an Arrow table."""
    arrays = [column.arrow() if isinstance(column, Values) else arrow_of(column) for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def text_column(texts: list[str]) -> Values:
    """Return texts as a column (`pa.array` imports pandas)."""
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return Values(pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts))))


# Checks of strings. For a dictionary, only the distinct values are checked. For other columns, first and last bytes
# exclude nearly all strings, so that ten million are checked in a tenth of a second.

_CODE = r"^\s*[-+]?0[0-9]"  # with leading zeros
_MAY_BE_BLANK = np.zeros(256, np.bool_)  # by first or last byte; there are also blanks outside ASCII
_MAY_BE_BLANK[[*b" \t\n\v\f\r\x1c\x1d\x1e\x1f", *range(128, 256)]] = True


def find_nothing(column: Any, words: Sequence[str]) -> Mask:
    """Mark the strings of a chunked Arrow column that are empty, blank, or one of these words.

    >>> import pyarrow as pa
    >>> find_nothing(pa.chunked_array([["cat", " ", "NA "], ["Nadir", ""]]), ["NA"])
    array([False,  True,  True, False,  True])
    """
    may_begin = _MAY_BE_BLANK.copy()
    may_begin[[word.encode()[0] for word in words if word]] = True

    def mark(strings: Any) -> Mask:
        first, lengths = _first_bytes(strings)
        mask: Mask = lengths == 0
        perhaps = np.flatnonzero(may_begin.take(first) & ~mask)
        if len(perhaps):
            nothing = cast(text_column(["", *(word.strip() for word in words)]).data, strings.type)
            texts = pc.utf8_trim_whitespace(strings.take(arrow_of(perhaps)))
            mask[perhaps] = numpy_of(pc.is_in(texts, value_set=nothing))
        return mask

    return _check_strings(column, mark)


def find_zeros(column: Any) -> Mask:
    r"""Mark the strings of a chunked Arrow column that contain a zero byte.

    >>> import pyarrow as pa
    >>> find_zeros(pa.chunked_array([["ada", "b\0b"]])), find_zeros(pa.chunked_array([[1, 2]]))
    (array([False,  True]), array([False, False]))
    """

    def mark(strings: Any) -> Mask:
        if string_bytes(strings)[0].all():
            return np.zeros(len(strings), np.bool_)
        return numpy_of(pc.match_substring(strings, "\0").fill_null(False))

    return _check_strings(column, mark)


def has_blank_edges(column: Any) -> bool:
    """Return whether a string of a chunked Arrow column may begin or end with a blank.

    >>> import pyarrow as pa
    >>> has_blank_edges(pa.chunked_array([["cat", "dog "]])), has_blank_edges(pa.chunked_array([["a b"]]))
    (True, False)
    """
    for strings in _distinct(column):
        for at_end in (False, True):
            if _MAY_BE_BLANK.take(_first_bytes(strings, at_end=at_end)[0]).any():
                return True
    return False


def has_leading_zeros(column: Any) -> bool:
    """Return whether a string of a chunked Arrow column has leading zeros, as in codes.

    >>> import pyarrow as pa
    >>> has_leading_zeros(pa.chunked_array([["12", "007"]])), has_leading_zeros(pa.chunked_array([["0", "0.7", "10"]]))
    (True, False)
    """
    may_begin = _MAY_BE_BLANK.copy()
    may_begin[[*b"0-+"]] = True
    for strings in _distinct(column):
        first, lengths = _first_bytes(strings)
        perhaps = np.flatnonzero(may_begin.take(first) & (lengths > 1))
        if len(perhaps) and pc.any(pc.match_substring_regex(strings.take(arrow_of(perhaps)), _CODE)).as_py():
            return True
    return False


def _check_strings(column: Any, mark: Callable[[Any], Mask]) -> Mask:
    """Mark rows by their strings; rows of other types are not marked."""
    parts = [np.empty(0, np.bool_)]
    if pa.types.is_dictionary(column.type):
        for chunk in column.chunks:
            marked = _check_strings(pa.chunked_array([chunk.dictionary]), mark)
            codes = numpy_of(chunk.indices.fill_null(0) if chunk.null_count else chunk.indices)
            parts.append(marked[codes] if len(marked) else np.zeros(len(chunk), np.bool_))
    elif is_string(column.type):
        parts += [mark(chunk) for chunk in column.chunks if len(chunk)]
    else:
        return np.zeros(len(column), np.bool_)
    return np.concatenate(parts)


def _distinct(column: Any) -> list[Any]:
    """Return arrays with all strings of a column, and for dictionaries only the distinct strings."""
    coded = pa.types.is_dictionary(column.type)
    arrays = [chunk.dictionary if coded else chunk for chunk in column.chunks]
    return [array for array in arrays if len(array)]


def _first_bytes(strings: Any, *, at_end: bool = False) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the first or last byte of each string (any byte for an empty one), and the lengths."""
    data, ends = string_bytes(strings)
    data = data if len(data) else np.zeros(1, np.uint8)
    return data.take(ends[1:] - 1 if at_end else ends[:-1], mode="clip"), np.diff(ends)


# Python objects as ids and labels, converted to Arrow if possible.

_ARROW_TYPES = (str, int, float, bool, bytes)
_NOTHING = ("NAType", "NaTType")  # of pandas
_MAX_BITS = 13_000  # of an integer, about 4,000 digits


def hold_objects(name: str, objects: list[Any]) -> Any:
    """Return objects of one type as an Arrow column, or as a list if Arrow has no type for them.

    >>> hold_objects("worker", ["ada", "bob"]).type, hold_objects("task", [(1, 2)])
    (DataType(string), [(1, 2)])
    """
    objects = plain_values(objects, name)
    kinds = {type(value) for value in objects if value is not None}
    if kinds == {int, float} and name == "label":
        objects = [value if value is None else as_float(value) for value in objects]
    elif len(kinds) > 1:
        first = next(value for value in objects if value is not None)
        other = next(r for r, v in enumerate(objects) if v is not None and type(v) is not type(first))
        remedy = "Give all of them the same type."
        if str in kinds and kinds <= set(_ARROW_TYPES):
            remedy = "Write all of them as texts, in quotes."
        raise InputError(
            f"The {name}s are of mixed types: {shorten(first)} is {type(first).__name__},"
            f" {shorten(objects[other])} in row {other + 1} is {type(objects[other]).__name__}. {remedy}"
        )
    if not kinds <= set(_ARROW_TYPES):
        return objects
    try:
        array = pa.array(objects, from_pandas=True)
        if bytes in kinds:
            array.cast(pa.string())  # as it will be written
        return pa.chunked_array([array])
    except OverflowError:  # integers beyond 64 bits
        row = next((row for row, value in enumerate(objects) if value and value.bit_length() > _MAX_BITS), None)
        if row is not None:  # Python does not print longer numbers
            raise InputError(f"The {name} in row {row + 1} has more than 4,000 digits. Write it as text.") from None
        return objects
    except (UnicodeEncodeError, pa.ArrowInvalid):
        row = next(row for row, value in enumerate(objects) if not _is_unicode(value))
        raise InputError(
            f"The {name} {shorten(objects[row])} in row {row + 1} is not valid text. Correct it."
        ) from None


def plain_values(objects: list[Any], name: str = "value") -> list[Any]:
    """Convert numpy numbers and times to Python, and missing values to None.

    >>> plain_values([np.int8(1), float("nan"), Decimal("NaN"), "x"])
    [1, None, None, 'x']
    """
    if any(issubclass(kind, np.generic) for kind in set(map(type, objects))):
        objects = [
            _plain_of(value, name, row) if isinstance(value, np.generic) else value
            for row, value in enumerate(objects, start=1)
        ]
    if any(kind in (float, Decimal) or kind.__name__ in _NOTHING for kind in set(map(type, objects))):
        return [None if is_nothing(value) else value for value in objects]
    return objects


def _plain_of(value: np.generic, name: str, row: int) -> Any:
    if isinstance(value, np.longdouble | np.clongdouble):  # no Python types
        return complex(value) if isinstance(value, np.clongdouble) else float(value)
    plain = value.item()
    if isinstance(value, np.datetime64) and isinstance(plain, int):  # nanoseconds, unknown to Python
        plain = value.astype("datetime64[us]").item()
        if isinstance(plain, int):
            raise InputError(f"The {name} in row {row} is {value}, outside the years 1 to 9999. Write it as text.")
    return plain


def is_nothing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or a missing value of pandas."""
    if isinstance(value, float | Decimal):
        return math.isnan(value) if isinstance(value, float) else value.is_nan()
    return value is None or type(value).__name__ in _NOTHING


def _is_unicode(value: str | bytes | None) -> bool:
    try:
        _ = value.encode() if isinstance(value, str) else (value or b"").decode()
    except UnicodeError:
        return False
    return True


def as_float(value: Any) -> float:
    """Return the nearest float, infinite for numbers beyond the range of floats.

    >>> as_float(2**70), as_float(-(10**400))
    (1.1805916207174113e+21, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shorten(value: Any) -> str:
    """Format a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} characters)"


def reads_as_number(value: Any) -> bool:
    """Return whether a value is a finite number, or text that can be read as one.

    >>> reads_as_number(" 1.5"), reads_as_number("1_000"), reads_as_number("nan")
    (True, False, False)
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):  # read by Python only
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


# Matching of values between sources that write them differently.

_WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0*$"
_TRUTH_VALUES = ("true", "false")
_LARGEST_WHOLE = float(1 << 53)


def write_plainly(value: Any) -> str:
    """Format a value so that 1, 1.0, "1" and " 1.0" are equal, as are True and "true"; leading zeros are kept.

    >>> [write_plainly(value) for value in (1, 1.0, " 1.0", "007", True, "TRUE", 1.5, "cat ")]
    ['1', '1', '1', '007', 'true', 'true', '1.5', 'cat']
    """
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    text = re.sub(_WHOLE, r"\1", f"{value:.0f}" if whole else str(value).strip())
    return text.lower() if text.lower() in _TRUTH_VALUES else text


def find_places(wanted: Values, known: Values) -> Places:
    """Return the index of each wanted value among the known ones, or -1.

    A value without an exact match is looked up by its plain text, unless several known values share this text.

    >>> find_places(Values(["8", " 7.0", "9", "07"]), Values([7, 8]))
    array([ 1,  0, -1, -1])
    """
    if not len(wanted) or not len(known):
        return np.full(len(wanted), -1, np.int64)
    places = _find_same(wanted, known)
    if (places >= 0).all():
        return places
    texts = _plain_texts(known)
    counts = pc.value_counts(texts)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        texts = pc.if_else(pc.is_in(texts, value_set=repeated), pa.scalar(None, texts.type), texts)
    return np.where(places >= 0, places, _look_up(_plain_texts(wanted), texts))


def _find_same(wanted: Values, known: Values) -> Places:
    """Look up exact values; among Python objects, True does not match 1, unlike in Python."""
    if isinstance(wanted.data, list) or isinstance(known.data, list):
        place = {(isinstance(value, bool), value): number for number, value in enumerate(known.tolist())}
        return np.array([place.get((isinstance(value, bool), value), -1) for value in wanted.tolist()], np.int64)
    kinds = [wanted.data.type, known.data.type]
    if kinds[0] == kinds[1]:
        return _look_up(wanted.data, known.data)
    with suppress(pa.ArrowInvalid):  # integers beyond 63 bits
        if all(pa.types.is_integer(kind) or is_text(kind) for kind in kinds):
            common = pa.int64() if all(map(pa.types.is_integer, kinds)) else pa.large_string()
            return _look_up(wanted.data.cast(common), known.data.cast(common))
    return np.full(len(wanted), -1, np.int64)


def _look_up(wanted: Any, known: Any) -> Places:
    places = pc.index_in(wanted, value_set=known, skip_nulls=True)
    return numpy_of(places.fill_null(pa.scalar(-1, pa.int32()))).astype(np.int64)


def _plain_texts(values: Values) -> Any:
    """Format values like `write_plainly`, but with Arrow if possible."""
    data, texts = values.data, pa.large_string()
    kind = None if isinstance(data, list) else data.type
    if kind is not None and pa.types.is_integer(kind):
        return data.cast(texts)
    if kind is not None and pa.types.is_floating(kind):
        numbers = data.cast(pa.float64())
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _LARGEST_WHOLE))
        rounded = pc.if_else(whole, numbers, pa.scalar(0.0)).cast(pa.int64()).cast(texts)
        return pc.if_else(whole, rounded, numbers.cast(texts))
    if kind is None or not is_text(kind):
        return pa.array(map(write_plainly, values.tolist()), texts)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(data.cast(texts)), _WHOLE, r"\1")
    lower = pc.utf8_lower(plain)
    return pc.if_else(pc.is_in(lower, value_set=pa.array(_TRUTH_VALUES, texts)), lower, plain)


def cast_like(ids: Values, known: Values, what: str) -> Values:
    """Convert ids to the type of the known ones: among texts, integers become texts.

    >>> import pyarrow as pa
    >>> cast_like(Values(pa.array([7, 8])), Values(pa.array(["7", "x"])), "tasks").tolist()
    ['7', '8']
    """
    if isinstance(known.data, list) and (isinstance(ids.data, list) or type(ids[0]) is type(known[0])):
        return Values(ids.tolist())
    if not isinstance(ids.data, list) and not isinstance(known.data, list):
        mine, theirs = ids.data.type, known.data.type
        if mine == theirs:
            return ids
        whole = pa.types.is_integer(mine)
        if (is_text(theirs) and (whole or is_text(mine))) or (whole and pa.types.is_integer(theirs)):
            with suppress(pa.ArrowInvalid):  # integers that do not fit
                return Values(ids.data.cast(theirs))
            if pa.uint64() not in (mine, theirs):
                return ids
    kinds = [type(each[0]).__name__ if isinstance(each.data, list) else each.data.type for each in (ids, known)]
    raise InputError(
        f"The {what} of the new answers have a different type from those so far: {ids[0]!r} is {kinds[0]},"
        f" {known[0]!r} is {kinds[1]}. Give all of them the same type, or run it again on all answers."
    )
