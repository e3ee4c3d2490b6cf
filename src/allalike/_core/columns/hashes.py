"""Hash ids and labels: the same 64 bits for the same value, on every machine and in every run.

Two uses need such a hash. Rows are grouped by task by sorting hashes instead of strings, and ties are drawn by
a hash of seed, task and label, so that a draw depends on nothing but these three. Strings are hashed straight
from Arrow's buffers, eight bytes at a time, for thousands of strings at once.
"""

from __future__ import annotations

import hashlib
import numbers
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Hashes = npt.NDArray[np.uint64]
_STRINGS_PER_PIECE = 1 << 15  # hashed together: their words stay in the cache
_MAX_PIECE_STRING_BYTES = 256  # a longer string is hashed alone
_LOW_BYTE_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_FIRST_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF_WORD_BITS = np.uint64(32)


def mix(bits: Hashes) -> Hashes:
    """Scatter 64-bit numbers, one to one (the finaliser of Stafford's variant 13 of MurmurHash3).

    >>> import numpy as np
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
    """Hash one string of bytes.

    >>> hash_bytes(b"a")
    3405396810240292928
    """
    return int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")


def hash_objects(values: Iterable[object]) -> Hashes:
    """Hash Python objects by how they are written.

    >>> hash_objects([("a", 1)])
    array([12444202034427101082], dtype=uint64)
    """
    return np.array([hash_bytes(write(value).encode(errors="surrogatepass")) for value in values], dtype=np.uint64)


def write(value: object) -> str:
    """Write a value as Python does, but equal ones alike: whole numbers of any type, moments, and sets in order.

    >>> write(("a", 8.0, frozenset([2, 1]))), write(Decimal("1.10"))
    ("('a', 8, {1, 2})", "Decimal('1.1')")
    """
    if isinstance(value, str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(write, value)))}}}"
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):  # as long floats are
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
        except (TypeError, ValueError, OverflowError):  # complex numbers, NaN, infinity
            continue
    return repr(value.normalize() if isinstance(value, Decimal) else value)


def hash_strings(array: Any) -> tuple[Hashes, Hashes]:
    """Hash an Arrow array of strings or binaries; the second hash tells apart what the first does not.

    >>> import pyarrow as pa
    >>> first, second = hash_strings(pa.array(["a", "b", "a"]))
    >>> bool(first[0] == first[2] != first[1]), bool(second[0] == second[2] != second[1])
    (True, True)
    """
    data, ends = string_bytes(array)
    first, second = np.empty(len(array), np.uint64), np.empty(len(array), np.uint64)
    for start in range(0, len(array), _STRINGS_PER_PIECE):
        piece = slice(start, min(start + _STRINGS_PER_PIECE, len(array)))
        first[piece], second[piece] = _hash_piece(data, ends[piece.start : piece.stop + 1])
    return first, second


def string_bytes(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """View the bytes of an Arrow array of strings, and where each string begins and the last one ends.

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
    """Yield the strings' bytes, eight at a time, as little-endian numbers filled up with zeros.

    >>> data = np.frombuffer(b"abcdefghij" + b"x", np.uint8)
    >>> [[word.to_bytes(8, "little").rstrip(bytes(1)) for word in words.tolist()]
    ...  for words in string_words(data, np.array([0, 10, 11]))]
    [[b'abcdefgh', b'x'], [b'ij', b'']]
    """
    begin, size = int(ends[0]), int(ends[-1] - ends[0])
    padded = np.zeros(size + 8, np.uint8)
    padded[:size] = data[begin : begin + size]
    lengths = np.diff(ends)
    shortest, longest = int(lengths.min()), int(lengths.max())
    for done in range(skip, min(longest, most), 8):
        if shortest == longest:
            yield (
                np.ndarray((len(lengths),), "<u8", padded, done, (longest,)) & _LOW_BYTE_MASKS[min(longest - done, 8)]
            )
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


# Calls: functions of Arrow that the smallest table needs, by their names.
#
# Importing `pyarrow.compute`, as the methods of arrays do, makes a function and its documentation of each of 300 names.
# That takes longer than reading a small table, and is not needed to call a few of them.


def call(name: str, *arguments: Any) -> Any:
    """Call a function without options.

    >>> import pyarrow as pa
    >>> call("unique", pa.array([2, 1, 2])).to_pylist(), call("take", pa.array(["a", "b"]), pa.array([1])).to_pylist()
    ([2, 1], ['b'])
    """
    from pyarrow._compute import call_function

    return call_function(name, list(arguments))


def cast(data: Any, kind: Any, *, safe: bool = True) -> Any:
    """Return an array as one of another type; if it is not safe, what does not fit is rounded or cut.

    >>> import pyarrow as pa
    >>> cast(pa.array(["7"]), pa.int64()).to_pylist(), cast(pa.array([2**53 + 1]), pa.float64(), safe=False).to_pylist()
    ([7], [9007199254740992.0])
    """
    from pyarrow._compute import CastOptions, call_function

    return call_function("cast", [data], CastOptions.safe(kind) if safe else CastOptions.unsafe(kind))


def is_each(data: Any, pattern: str) -> bool:
    """Return whether a regular expression is found in each text.

    >>> import pyarrow as pa
    >>> is_each(pa.array(["12", "7"]), "^[0-9]+$"), is_each(pa.array(["12", "x"]), "^[0-9]+$")
    (True, False)
    """
    from pyarrow._compute import MatchSubstringOptions, call_function

    found = call_function("match_substring_regex", [data], MatchSubstringOptions(pattern))
    return bool(call_function("all", [found]).as_py())


# Plain columns: whatever Arrow hands over becomes one of the types that can be sorted and counted, or Python objects.
#
# Arrow has more types than its functions work with: views, runs, unions, short floats, extensions by others. Some of
# their values have no form outside of Arrow, such as times after the year 9999.


def make_plain(column: Any) -> Any:
    """Return a column of Arrow, in chunks, with a type that Arrow's functions know, or as a list of Python objects.

    >>> import pyarrow as pa
    >>> make_plain(pa.chunked_array([pa.array(["x"], pa.string_view())])).type
    DataType(large_string)
    >>> make_plain(pa.chunked_array([[{"x": 1}]]))
    [{'x': 1}]
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column)
    if isinstance(kind, pa.BaseExtensionType):
        return _of_extension(column)
    if pa.types.is_run_end_encoded(kind):
        return _of_runs(column)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return column.to_pylist()
    plain = _plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

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


def _of_dictionary(column: Any) -> Any:
    """Keep a dictionary, of plain values, without those that are missing or there twice."""
    import pyarrow as pa

    none = make_plain(pa.chunked_array([], column.type.value_type))
    if isinstance(none, list):
        return column.to_pylist()
    if not column.num_chunks:
        return none
    dictionaries = [_decoded(make_plain(pa.chunked_array([chunk.dictionary]))) for chunk in column.chunks]
    kind = pa.dictionary(column.type.index_type, dictionaries[0].type)
    whole = [each.combine_chunks() for each in dictionaries]
    if kind != column.type:
        parts = zip(column.chunks, whole, strict=True)
        column = pa.chunked_array([pa.DictionaryArray.from_arrays(part.indices, each) for part, each in parts], kind)
    if all(not each.null_count and len(each.unique()) == len(each) for each in whole):
        return column
    parts = zip(column.chunks, whole, strict=True)
    return pa.chunked_array([_without_repeats(part.indices, each) for part, each in parts])


def _without_repeats(places: Any, values: Any) -> Any:
    """Return a dictionary array in which each value is there once; written out, a few bytes could fill the memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = values.unique().drop_null()
    return pa.DictionaryArray.from_arrays(pc.index_in(values, kept).take(places), kept)


def _decoded(column: Any) -> Any:
    """Write out a column that is a dictionary itself."""
    import pyarrow as pa

    flat = isinstance(column, list) or not pa.types.is_dictionary(column.type)
    return column if flat else column.cast(column.type.value_type)


def _of_extension(column: Any) -> Any:
    """Return what an extension by others is stored as; ids that are universally unique as texts."""
    import pyarrow as pa

    if column.type.extension_name == "arrow.uuid":
        return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
    return make_plain(pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type))


def _of_runs(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return make_plain(pc.run_end_decode(column))
    except pa.ArrowNotImplementedError:
        return column.to_pylist()


def find_zone(kind: Any) -> str | None:
    """Return the time zone in a type, or in those within it, that is not known here.

    >>> import pyarrow as pa
    >>> find_zone(pa.list_(pa.timestamp("us", "Nowhere/City"))), find_zone(pa.timestamp("us", "Europe/Paris"))
    ('Nowhere/City', None)
    """
    import pyarrow as pa

    zones = (str(each.tz) for each in _types(kind) if pa.types.is_timestamp(each) and not _is_known(each))
    return next(zones, None)


def _is_known(kind: Any) -> bool:
    import pyarrow as pa

    try:
        return pa.scalar(0, kind).as_py() is not None
    except (pa.ArrowException, LookupError, ValueError, OSError):
        return False


def find_twice(kind: Any) -> str | None:
    """Return the name that two fields of a record within a type have.

    >>> import pyarrow as pa
    >>> find_twice(pa.list_(pa.struct([("x", pa.int8()), ("x", pa.int8())])))
    'x'
    """
    import pyarrow as pa

    for each in _types(kind):
        names = [str(field.name) for field in each] if pa.types.is_struct(each) else []
        if len(set(names)) < len(names):
            return next(name for name in names if names.count(name) > 1)
    return None


def find_beyond(column: Any) -> int | None:
    """Return the place of the first date or time that is beyond the calendar, which ends with the year 9999.

    >>> import pyarrow as pa
    >>> find_beyond(pa.chunked_array([pa.array([0, 253402300800], pa.timestamp("s"))]))
    1
    """
    import pyarrow as pa

    if not any(map(pa.types.is_temporal, _types(column.type))) or _is_within(column):
        return None
    return next((place for place, value in enumerate(column) if not _is_shown(value)), None)


def _is_within(column: Any) -> bool:
    """Return whether all values have a form in Python; of dates and times, the first and the last tell of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return _is_shown(column)
    numbers = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    ends = pc.min_max(numbers)
    return all(_is_shown(pa.scalar(ends[name].as_py(), numbers.type).cast(kind)) for name in ("min", "max"))


def _is_shown(value: Any) -> bool:
    """Return whether a value of Arrow, or a column of them, can be had in Python."""
    try:
        value.as_py() if hasattr(value, "as_py") else value.to_pylist()
    except (ValueError, OverflowError):
        return False
    return True


def _types(kind: Any) -> Iterator[Any]:
    """Yield a type, and all types within it."""
    import pyarrow as pa

    yield kind
    if pa.types.is_dictionary(kind):
        yield from _types(kind.value_type)
    elif isinstance(kind, pa.BaseExtensionType):
        yield from _types(kind.storage_type)
    elif pa.types.is_run_end_encoded(kind):
        yield from _types(kind.value_type)
    else:
        for number in range(kind.num_fields):
            yield from _types(kind.field(number).type)
