"""Values: ids or labels as they came, kept in Arrow where Arrow can hold them and as Python objects elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.calls import call, cast
from allalike._core.columns.hashes import hash_objects, hash_strings, mix, string_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

__all__ = [
    "Values",
    "arrow_of",
    "frame_of",
    "is_string",
    "numpy_of",
    "plain_of",
    "table_of",
    "take_rows",
    "text_column",
]


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
    """Tell whether an Arrow type holds text or bytes of any length.

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
