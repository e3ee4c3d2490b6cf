"""Values: ids or labels as they came, kept in Arrow where Arrow can hold them and as Python objects elsewhere."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import call, cast, hash_objects, hash_strings, mix, string_bytes
from allalike._core.late import pc
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa


def numpy_of(array: Any) -> npt.NDArray[Any]:
    """View an Arrow array of numbers without nulls, or its chunks, as numpy (its own way imports pandas).

    >>> import pyarrow as pa
    >>> numpy_of(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        chunks = [numpy_of(chunk) for chunk in array.chunks] or [np.empty(0, array.type.to_pandas_dtype())]
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    if pa.types.is_boolean(array.type):
        return numpy_of(cast(array, pa.uint8())).astype(bool)
    return np.from_dlpack(array)


def arrow_of(array: npt.NDArray[Any]) -> pa.Array:
    """Turn a numpy array of numbers into Arrow, with null for NaN (Arrow's own way imports pandas).

    >>> import numpy as np
    >>> arrow_of(np.array([True, False])).to_pylist(), arrow_of(np.array([0.5, np.nan])).to_pylist()
    ([True, False], [0.5, None])
    """
    import pyarrow as pa

    def bits(mask: npt.NDArray[np.bool_]) -> pa.Buffer:
        return pa.py_buffer(np.packbits(mask, bitorder="little"))

    if array.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(array), [None, bits(array)])
    array = np.ascontiguousarray(array)
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(0, np.bool_)
    valid = bits(~missing) if missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), [valid, pa.py_buffer(array)])


def plain_of(value: np.generic) -> Any:
    """Return a number or a moment of numpy as one of Python, which knows no nanoseconds.

    >>> plain_of(np.float32(0.5)), plain_of(np.datetime64("1970-01-01", "ns"))
    (0.5, datetime.datetime(1970, 1, 1, 0, 0))
    """
    if isinstance(value, np.longdouble | np.clongdouble):  # which Python does not have
        return complex(value) if isinstance(value, np.clongdouble) else float(value)
    fine = isinstance(value, np.datetime64) and isinstance(value.item(), int)
    return (value.astype("datetime64[us]") if fine else value).item()


def is_string(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds text or bytes of any length.

    >>> import pyarrow as pa
    >>> is_string(pa.large_string()), is_string(pa.int8())
    (True, False)
    """
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def take_rows(column: Any, order: npt.NDArray[np.int64]) -> Any:
    """Return the rows of a column in this order, as Arrow.

    >>> import pyarrow as pa
    >>> take_rows(pa.array(["a", "b"]), np.array([1, 0])).to_pylist()
    ['b', 'a']
    """
    import pyarrow as pa

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
    """Distinct ids or labels in their order.

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
        """Return the values at these places, as often as they are asked for."""
        if isinstance(self.data, list):
            return Values([self.data[index] for index in indices], self._text)
        return Values(call("take", self.data, arrow_of(indices)))

    def without(self, missing: npt.NDArray[np.bool_]) -> Values:
        """Return the values with nothing at some places.

        >>> Values(["ada", "bob"]).without(np.array([True, False])).tolist()
        [None, 'bob']
        """
        import pyarrow as pa

        if isinstance(self.data, list):
            return Values([None if gone else v for v, gone in zip(self.data, missing, strict=True)], self._text)
        return Values(call("if_else", arrow_of(missing), pa.scalar(None, self.data.type), self.data))

    @classmethod
    def join(cls, parts: Sequence[Values]) -> Values:
        """Put values one behind the other.

        >>> Values.join([Values(["ada"]), Values(["bob"])]).tolist()
        ['ada', 'bob']
        """
        import pyarrow as pa

        if len(parts) == 1:
            return parts[0]
        if any(isinstance(part.data, list) for part in parts):
            return cls([value for part in parts for value in part.tolist()], parts[0]._text)
        kinds = {part.data.type for part in parts}
        common = kinds.pop() if len(kinds) == 1 else pa.large_string() if all(map(is_string, kinds)) else pa.int64()
        return cls(pa.concat_arrays([part.data.cast(common) for part in parts]))

    def widened(self) -> Values:
        """Return whole numbers of any width as those of the largest; leave other values alone.

        >>> import pyarrow as pa
        >>> Values(pa.array([1], pa.int8())).widened().data.type
        DataType(int64)
        """
        import pyarrow as pa

        whole = not isinstance(self.data, list) and pa.types.is_integer(self.data.type)
        return Values(self.data.cast(pa.int64())) if whole else self

    def arrow(self) -> pa.Array:
        """Return the values as Arrow, to be written; Python objects that Arrow cannot hold as their text."""
        import pyarrow as pa

        if not isinstance(self.data, list):
            return self.data
        return pa.array([None if value is None else self._text(value) for value in self.data], pa.string())

    def series(self) -> pd.Series[Any]:
        """Return the values as a pandas series."""
        import pandas as pd

        if isinstance(self.data, list):
            return pd.Series(self.data, dtype=object)
        series: pd.Series[Any] = self.data.to_pandas(integer_object_nulls=True)
        return series

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Hash each value, the same everywhere and always.

        >>> import pyarrow as pa
        >>> bool(Values(pa.array(["a"])).hashes()[0] == Values(pa.array(["b", "a"])).hashes()[1])
        True
        """
        import pyarrow as pa

        if not isinstance(self.data, list):
            if is_string(self.data.type):
                return hash_strings(self.data)[0]
            if pa.types.is_integer(self.data.type):
                return mix(numpy_of(self.data).astype(np.int64).view(np.uint64))
        return hash_objects(self.tolist())


def frame_of(columns: Mapping[str, Values | npt.NDArray[Any]]) -> pd.DataFrame:
    """Return columns as a pandas frame."""
    import pandas as pd

    return pd.DataFrame({n: c.series() if isinstance(c, Values) else c for n, c in columns.items()})


def table_of(columns: Mapping[str, Values | npt.NDArray[Any]]) -> pa.Table:
    """Return columns as an Arrow table."""
    import pyarrow as pa

    arrays = [column.arrow() if isinstance(column, Values) else arrow_of(column) for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def text_column(texts: list[str]) -> Values:
    """Return texts as a column, from their bytes (Arrow's own way imports pandas)."""
    import pyarrow as pa

    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return Values(pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts))))


# Edges of strings: which are blank, say that there is nothing, or begin or end with blanks.
#
# The first and the last byte of each string tell it for nearly all of them, so that a column of ten million strings is
# looked through in a tenth of a second.


Mask = npt.NDArray[np.bool_]
_BLANKS = b" \t\n\v\f\r\x1c\x1d\x1e\x1f"
_BEYOND_ASCII = bytes(range(128, 256))  # with which other blanks begin and end


def find_nothing(column: Any, words: Sequence[str]) -> Mask:
    """Mark the strings of a chunked Arrow column that are empty, blank, or one of these words.

    >>> import pyarrow as pa
    >>> find_nothing(pa.chunked_array([["cat", " ", "NA "], ["Nadir", ""]]), ["NA"])
    array([False,  True,  True, False,  True])
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _by_value(column, words)
    if not is_string(column.type):
        return np.zeros(len(column), np.bool_)
    may_begin = _table((word.encode()[:1] for word in words if word), _BLANKS + _BEYOND_ASCII)
    nothing = cast(text_column(["", *(word.strip() for word in words)]).data, column.type)
    found = [np.empty(0, np.bool_)]
    for data, ends, chunk in _pieces(column):
        mask = ends[1:] == ends[:-1]
        perhaps = np.flatnonzero(may_begin.take(_first_bytes(data, ends)) & ~mask)
        if len(perhaps):
            texts = pc.utf8_trim_whitespace(chunk.take(arrow_of(perhaps)))
            mask[perhaps] = numpy_of(pc.is_in(texts, value_set=nothing))
        found.append(mask)
    return np.concatenate(found)


def _by_value(column: Any, words: Sequence[str]) -> Mask:
    import pyarrow as pa

    found = [np.empty(0, np.bool_)]
    for chunk in column.chunks:
        values = find_nothing(pa.chunked_array([chunk.dictionary]), words)
        codes = numpy_of(chunk.indices.fill_null(0) if chunk.null_count else chunk.indices)
        found.append(values[codes] if len(values) else np.zeros(len(chunk), np.bool_))
    return np.concatenate(found)


def find_zeros(column: Any) -> Mask:
    r"""Mark the strings of a chunked Arrow column that have a zero byte in them.

    >>> import pyarrow as pa
    >>> find_zeros(pa.chunked_array([["ada", "b\0b"]])), find_zeros(pa.chunked_array([[1, 2]]))
    (array([False,  True]), array([False, False]))
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type) if any(map(_may_have_zeros, _dictionaries(column))) else column
    if not _may_have_zeros(column):
        return np.zeros(len(column), np.bool_)
    return numpy_of(pc.match_substring(column, "\0").fill_null(False))


def _dictionaries(column: Any) -> Iterator[Any]:
    import pyarrow as pa

    return (pa.chunked_array([chunk.dictionary]) for chunk in column.chunks)


def _may_have_zeros(column: Any) -> bool:
    return is_string(column.type) and any(not data.all() for data, _, _ in _pieces(column))


def has_blank_edges(column: Any) -> bool:
    """Return whether a string of a chunked Arrow column may begin or end with a blank.

    >>> import pyarrow as pa
    >>> has_blank_edges(pa.chunked_array([["cat", "dog "]])), has_blank_edges(pa.chunked_array([["a b"]]))
    (True, False)
    """
    blank = _table((), _BLANKS + _BEYOND_ASCII)
    return any(
        bool(blank.take(_first_bytes(data, ends)).any() or blank.take(data.take(ends[1:] - 1, mode="clip")).any())
        for data, ends, _ in _pieces(column)
    )


def has_leading_zeros(column: Any) -> bool:
    """Return whether a string of a chunked Arrow column has a needless zero, as codes have and numbers have not.

    >>> import pyarrow as pa
    >>> has_leading_zeros(pa.chunked_array([["12", "007"]])), has_leading_zeros(pa.chunked_array([["0", "0.7", "10"]]))
    (True, False)
    """
    may_begin = _table((), b"0-+" + _BLANKS)
    for data, ends, chunk in _pieces(column):
        perhaps = np.flatnonzero(may_begin.take(_first_bytes(data, ends)) & (np.diff(ends) > 1))
        if len(perhaps) and pc.any(pc.match_substring_regex(chunk.take(arrow_of(perhaps)), r"^\s*[-+]?0[0-9]")).as_py():
            return True
    return False


def _pieces(column: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the bytes of the strings of each chunk, where they begin and the last one ends, and the chunk."""
    for chunk in column.chunks:
        data, ends = string_bytes(chunk)
        if len(chunk):
            yield data if len(data) else np.zeros(1, np.uint8), ends, chunk


def _first_bytes(data: Any, ends: Any) -> Any:
    """Return the first byte of each string, and any other of an empty one."""
    return data.take(ends[:-1], mode="clip")


def _table(starts: Iterable[bytes], more: bytes) -> Mask:
    """Return for each byte whether it is one of some."""
    table = np.zeros(256, np.bool_)
    table[list(more)] = True
    table[[start[0] for start in starts]] = True
    return table


# Objects: what Python has for ids and labels, held in Arrow where Arrow can hold them.


_ARROW_TYPES = (str, int, float, bool, bytes)
_NOTHING = ("NAType", "NaTType")  # of pandas
_MAX_BITS = 13_000  # of whole numbers, which are about 4,000 digits


def hold_objects(name: str, objects: list[Any]) -> Any:
    """Return objects of one type as an Arrow column, or as a list if Arrow cannot hold them.

    >>> hold_objects("worker", ["ada", "bob"]).type, hold_objects("task", [(1, 2)])
    (DataType(string), [(1, 2)])
    """
    import pyarrow as pa

    _check_moments(name, objects)
    objects = plain_values(objects)
    kinds = {type(value) for value in objects if value is not None}
    if kinds == {int, float} and name == "label":
        objects = [value if value is None else as_float(value) for value in objects]
    elif len(kinds) > 1:
        raise _mixed(name, objects, kinds)
    if kinds <= set(_ARROW_TYPES):
        try:
            array = pa.array(objects, from_pandas=True)
            if bytes in kinds:
                array.cast(pa.string())  # which is how it will be written
            return pa.chunked_array([array])
        except OverflowError:  # whole numbers beyond 64 bits
            _check_digits(name, objects)
        except (UnicodeEncodeError, pa.ArrowInvalid):
            row = next(row for row, value in enumerate(objects) if not _is_text(value))
            raise InputError(
                f"The {name} {shorten(objects[row])} in row {row + 1} is no valid text. Correct it."
            ) from None
    return objects


def _check_moments(name: str, objects: list[Any]) -> None:
    """Refuse moments of numpy that Python does not have."""
    if np.datetime64 not in set(map(type, objects)):
        return
    moments = ((row, value) for row, value in enumerate(objects) if isinstance(value, np.datetime64))
    beyond = next(((row, value) for row, value in moments if isinstance(plain_of(value), int)), None)
    if beyond is not None:
        row, value = beyond
        raise InputError(
            f"The {name} in row {row + 1} is {value}, beyond the years 1 to 9999. Write it as a text, or leave it out."
        )


def _mixed(name: str, objects: list[Any], kinds: set[type]) -> InputError:
    first = next(value for value in objects if value is not None)
    row = next(r for r, v in enumerate(objects) if v is not None and type(v) is not type(first))
    texts = str in kinds and kinds <= set(_ARROW_TYPES)
    return InputError(
        f"The {name}s are of mixed types: {shorten(first)} is {type(first).__name__},"
        f" {shorten(objects[row])} in row {row + 1} is {type(objects[row]).__name__}."
        f" {'Write all of them as texts, in quotes.' if texts else 'Give all of them the same type.'}"
    )


def plain_values(objects: list[Any]) -> list[Any]:
    """Return numbers and moments of numpy as those of Python, and nothing for what says that there is no value.

    >>> from decimal import Decimal
    >>> plain_values([np.int8(1), float("nan"), Decimal("NaN"), "x"])
    [1, None, None, 'x']
    """
    if any(issubclass(kind, np.generic) for kind in set(map(type, objects))):
        objects = [plain_of(value) if isinstance(value, np.generic) else value for value in objects]
    if any(kind in (float, Decimal) or kind.__name__ in _NOTHING for kind in set(map(type, objects))):
        return [None if is_nothing(value) else value for value in objects]
    return objects


def is_nothing(value: Any) -> bool:
    """Return whether something is no value: None, NaN, or what pandas has for it.

    >>> is_nothing(float("nan")), is_nothing(None), is_nothing(0)
    (True, True, False)
    """
    if isinstance(value, float | Decimal):
        return math.isnan(value) if isinstance(value, float) else value.is_nan()
    return value is None or type(value).__name__ in _NOTHING


def is_hashable(value: Any) -> bool:
    """Return whether Python can tell a value from others.

    >>> is_hashable(("x", 1)), is_hashable(("x", []))
    (True, False)
    """
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_text(value: str | bytes | None) -> bool:
    r"""Return whether a string, or some bytes, can be written as UTF-8; nothing can.

    >>> _is_text("x"), _is_text("\ud800"), _is_text(b"x"), _is_text(b"\xff")
    (True, False, True, False)
    """
    try:
        _ = value.encode() if isinstance(value, str) else (value or b"").decode()
    except UnicodeError:
        return False
    return True


def is_real(value: Any) -> bool:
    """Return whether something is a number that can be near another, of whatever type.

    >>> is_real(2**70), is_real(Decimal(1)), is_real(1j), is_real("1")
    (True, True, False, False)
    """
    return isinstance(value, Real | Decimal)


def _check_digits(name: str, numbers: Sequence[int | None]) -> None:
    """Refuse whole numbers that Python does not write down."""
    row = next((row for row, value in enumerate(numbers) if value and value.bit_length() > _MAX_BITS), None)
    if row is not None:
        raise InputError(f"The {name} in row {row + 1} is a number of more than 4,000 digits. Write it as a text.")


def as_float(value: Any) -> float:
    """Return the nearest float; what is beyond all of them is infinite.

    >>> as_float(2**70), as_float(-(10**400))
    (1.1805916207174113e+21, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shorten(value: Any) -> str:
    """Show a value in a message.

    >>> shorten("x" * 90)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (92 characters)"
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} characters)"


def reads_as_number(value: Any) -> bool:
    """Return whether a value is a finite number, or text that reads as one.

    >>> reads_as_number(" 1.5"), reads_as_number("1_000"), reads_as_number("nan")
    (True, False, False)
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):  # which Python reads, but nobody else
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False
