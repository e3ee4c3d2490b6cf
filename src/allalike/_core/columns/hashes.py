"""Hashes of ids and labels: the same 64 bits for the same value, on every machine and in every run.

Rows are grouped by sorting hashes instead of strings, and ties are broken by a hash of seed, task and label. Strings
are hashed straight from Arrow's buffers, eight bytes at a time, for thousands of strings at once.
"""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.lazy_imports import pa, pc

Hashes = npt.NDArray[np.uint64]
_STRINGS_PER_PIECE = 1 << 15  # hashed together, so that their words stay in the cache
_MAX_PIECE_STRING_BYTES = 256  # a longer string is hashed alone
_LOW_BYTE_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_FIRST_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF_WORD_BITS = np.uint64(32)


def mix(bits: Hashes) -> Hashes:
    """Hash 64-bit numbers one to one (Stafford's variant 13 of the MurmurHash3 finaliser).

    >>> [hex(h) for h in mix(np.array([1, 2], dtype=np.uint64))]
    ['0x5692161d100b05e5', '0xdbd238973a2b148a']
    """
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def hash_bytes(value: bytes) -> int:
    """Hash a byte string."""
    return int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")


def hash_objects(values: Iterable[object]) -> Hashes:
    """Hash Python objects by their text.

    >>> hash_objects([("a", 1)])
    array([12444202034427101082], dtype=uint64)
    """
    return np.array([hash_bytes(write(value).encode(errors="surrogatepass")) for value in values], dtype=np.uint64)


def write(value: object) -> str:
    """Format a value like `repr`, but equally for equal values: numbers of any type, times, and sorted sets.

    >>> write(("a", 8.0, frozenset([2, 1]))), write(Decimal("1.10"))
    ("('a', 8, {1, 2})", "Decimal('1.1')")
    """
    if isinstance(value, str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(write, value)))}}}"
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):  # as for long floats
        return write(value.item())
    if isinstance(value, numbers.Number):
        return _write_number(value)
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return repr(value.astimezone(UTC))
    return repr(value)


def _write_number(value: Any) -> str:
    for plain in (int, float):
        try:
            if plain(value) == value:
                return repr(plain(value))
        except (TypeError, ValueError, OverflowError):  # for complex numbers, NaN, infinity
            continue
    return repr(value.normalize() if isinstance(value, Decimal) else value)


def hash_strings(array: Any) -> tuple[Hashes, Hashes]:
    """Hash an Arrow array of strings or binaries; the second hash distinguishes strings that share the first."""
    data, ends = string_bytes(array)
    first, second = np.empty(len(array), np.uint64), np.empty(len(array), np.uint64)
    for start in range(0, len(array), _STRINGS_PER_PIECE):
        piece = slice(start, min(start + _STRINGS_PER_PIECE, len(array)))
        first[piece], second[piece] = _hash_piece(data, ends[piece.start : piece.stop + 1])
    return first, second


def string_bytes(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of an Arrow array of strings, and the bounds of the strings.

    >>> import pyarrow as pa
    >>> data, ends = string_bytes(pa.array(["ab", "c"]))
    >>> bytes(data), ends
    (b'abc', array([0, 2, 3]))
    """
    _, offsets, buffer = array.buffers()
    wide = str(array.type).startswith("large_")
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32, array.offset + len(array) + 1)[array.offset :]
    data = np.frombuffer(buffer, np.uint8) if buffer else np.empty(0, np.uint8)
    return data[: ends[-1]], ends.astype(np.int64, copy=False)


def string_words(
    data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], skip: int = 0, most: int = _MAX_PIECE_STRING_BYTES
) -> Iterator[Hashes]:
    """Yield the bytes of all strings, eight at a time, as little-endian numbers padded with zeros."""
    begin, size = int(ends[0]), int(ends[-1] - ends[0])
    padded = np.zeros(size + 8, np.uint8)
    padded[:size] = data[begin : begin + size]
    lengths = np.diff(ends)
    shortest, longest = int(lengths.min()), int(lengths.max())
    for done in range(skip, min(longest, most), 8):
        if shortest == longest:
            words: Hashes = np.ndarray((len(lengths),), "<u8", padded, done, (longest,))
            yield words & _LOW_BYTE_MASKS[min(longest - done, 8)]
        else:
            every: Hashes = np.ndarray((size + 1,), "<u8", padded, 0, (1,))
            place = np.minimum(ends[:-1] - begin + done, size)
            yield every[place] & _LOW_BYTE_MASKS[np.clip(lengths - done, 0, 8)]


def _hash_piece(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> tuple[Hashes, Hashes]:
    lengths = np.diff(ends)
    first = lengths.astype(np.uint64) * _SECOND_MULTIPLIER
    second = ~first
    shortest = int(lengths.min())
    for number, word in enumerate(string_words(data, ends)):
        longer = True if shortest > 8 * number else lengths > 8 * number  # a string that has ended keeps its hash
        np.bitwise_xor(first, word, out=first, where=longer)
        np.multiply(first, _FIRST_MULTIPLIER, out=first, where=longer)
        np.bitwise_xor(first, first >> _HALF_WORD_BITS, out=first, where=longer)
        np.bitwise_xor(second, word, out=second, where=longer)
        np.multiply(second, _SECOND_MULTIPLIER, out=second, where=longer)
    for row in np.flatnonzero(lengths > _MAX_PIECE_STRING_BYTES):
        text = data[ends[row] : ends[row + 1]].tobytes()
        first[row], second[row] = hash_bytes(text), hash_bytes(b"check" + text)
    return first, second


# Arrow functions by name. The methods of arrays import `pyarrow.compute`, which generates 300 documented functions and
# takes longer than reading a small table.


def call(name: str, *arguments: Any) -> Any:
    """Call an Arrow function without options."""
    from pyarrow._compute import call_function

    return call_function(name, list(arguments))


def cast(data: Any, kind: Any, *, safe: bool = True) -> Any:
    """Convert an array to another type; values that do not fit are an error if ``safe``, else rounded or truncated."""
    from pyarrow._compute import CastOptions, call_function

    return call_function("cast", [data], CastOptions.safe(kind) if safe else CastOptions.unsafe(kind))


def is_each(data: Any, pattern: str) -> bool:
    """Return whether every text matches a regular expression."""
    from pyarrow._compute import MatchSubstringOptions, call_function

    found = call_function("match_substring_regex", [data], MatchSubstringOptions(pattern))
    return bool(call_function("all", [found]).as_py())


# Plain columns. Arrow has types that its functions do not support, such as views, runs, unions, short floats and
# extensions. Some of their values do not exist in Python, such as times after the year 9999.


def make_plain(column: Any) -> Any:
    """Convert a chunked column to a type that Arrow's functions support, or to a list of Python objects.

    >>> import pyarrow as pa
    >>> make_plain(pa.chunked_array([pa.array(["x"], pa.string_view())])).type
    DataType(large_string)
    >>> make_plain(pa.chunked_array([[{"x": 1}]]))
    [{'x': 1}]
    """
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _make_plain_dictionary(column)
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            return pa.chunked_array([texts], pa.string())
        return make_plain(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if types.is_run_end_encoded(kind):
        try:
            return make_plain(pc.run_end_decode(column))
        except pa.ArrowNotImplementedError:
            return column.to_pylist()
    if types.is_nested(kind) or types.is_interval(kind):
        return column.to_pylist()
    plain = _plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _plain_type(kind: Any) -> Any:
    types = pa.types
    if types.is_float16(kind):
        return pa.float32()
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _make_plain_dictionary(column: Any) -> Any:
    """Return a dictionary of distinct plain values; without a dictionary, the column might fill the memory."""
    empty = make_plain(pa.chunked_array([], column.type.value_type))
    if isinstance(empty, list):
        return column.to_pylist()
    chunks = []
    for chunk in column.chunks:
        values = make_plain(pa.chunked_array([chunk.dictionary]))
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        values, places = values.combine_chunks(), cast(chunk.indices, pa.int32())
        distinct = call("drop_null", call("unique", values))
        if len(distinct) < len(values):
            places, values = pc.index_in(values, distinct).take(places), distinct
        chunks.append(pa.DictionaryArray.from_arrays(places, values))
    return pa.chunked_array(chunks) if chunks else empty


def find_unreadable(column: Any) -> int | None:
    """Return the index of the first value that Python cannot represent, or None.

    These are times beyond the year 9999 or in an unknown zone, and records with a repeated name.
    """
    kind, within = column.type, list(_types(column.type))
    checked = column
    if not any(map(pa.types.is_temporal, within)):
        checked = column.slice(0, 1 if any(map(pa.types.is_struct, within)) else 0)
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):  # minimum and maximum are sufficient
        numbers = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        checked = pa.chunked_array([pc.min_max(numbers).values()], numbers.type).cast(kind)
    if _is_readable(checked):
        return None
    return next(place for place, value in enumerate(column) if not _is_readable(value))


def _is_readable(value: Any) -> bool:
    """Return whether an Arrow value, or every value of a column, can be represented in Python."""
    try:
        value.as_py() if hasattr(value, "as_py") else value.to_pylist()
    except (ValueError, OverflowError, LookupError, OSError, pa.ArrowException):
        return False
    return True


def _types(kind: Any) -> Iterator[Any]:
    """Yield a type and all types nested in it."""
    yield kind
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        yield from _types(kind.value_type)
    elif isinstance(kind, pa.BaseExtensionType):
        yield from _types(kind.storage_type)
    else:
        for number in range(kind.num_fields):
            yield from _types(kind.field(number).type)
