"""Factors: the sorted distinct values of a column, and the code of each row.

A dictionary of a million strings misses the cache on every row. Columns with many distinct values are therefore grouped
by sorting hashes, which is three to four times faster. A second hash distinguishes values that share the sorted part of
the first. Both have about 100 bits, so that the probability of a collision among a hundred million values is below
1e-14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import call, cast, hash_strings, is_each, mix, string_bytes, string_words, write
from allalike._core.columns.values import Values, arrow_of, is_string, is_text, numpy_of
from allalike._core.lazy_imports import pa, pc

Codes = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_SAMPLE_ROWS = 1 << 16  # for deciding whether a column has many distinct values
_MIN_VARIED_VALUES = 3 << 13  # distinct values in the sample from which hashes are faster than a dictionary
_MIN_STRINGS_AS_NUMBERS = 1 << 13  # fewer strings are sorted as strings
_SORT_KEY_BYTES = 16  # of a string that is sorted as numbers


def factorize(column: Any, *, text: bool = False, many: bool | None = None) -> tuple[Codes, Values]:
    """Return the codes of the rows of an Arrow column, and the sorted distinct values.

    With ``text``, strings become numbers if all are integers in Python's notation: ``"10"`` comes after ``"9"``, and
    ``"007"`` stays a string. ``many`` states whether there are many values; by default a sample decides.

    >>> import pyarrow as pa
    >>> codes, values = factorize(pa.chunked_array([["b", "a"], ["b"]]))
    >>> codes, values.tolist()
    (array([1, 0, 1], dtype=int32), ['a', 'b'])
    >>> factorize(pa.chunked_array([["9", "10"]]), text=True)[1].tolist()
    [9, 10]
    """
    rows, code, values = _groups(column, many)
    rank, values = ranked(values, text=text)
    return _put_back(rank[code], rows), values


def distinct(column: Any) -> tuple[Codes, Values]:
    """Return the codes of the rows of an Arrow column, and the distinct values in any order."""
    rows, code, values = _groups(column, None)
    return _put_back(code, rows), values


def factorize_objects(objects: list[Any]) -> tuple[Codes, Values]:
    """Return the codes of Python objects, and the distinct ones, sorted naturally or else by representation.

    >>> codes, values = factorize_objects([("b", 1), ("a", 2), ("b", 1)])
    >>> codes, values.tolist()
    (array([1, 0, 1], dtype=int32), [('a', 2), ('b', 1)])
    """
    distinct = list(dict.fromkeys(objects))
    distinct = [distinct[index] for index in order_of(Values(distinct))]
    place = {value: code for code, value in enumerate(distinct)}
    return np.array([place[value] for value in objects], dtype=np.int32), Values(distinct)


def unite(parts: Sequence[Values]) -> tuple[Codes, Values]:
    """Return the sorted distinct values of several parts, and the code of each value of each part.

    >>> codes, values = unite([Values(["b", "c"]), Values(["a", "b"])])
    >>> codes, values.tolist()
    (array([1, 2, 0, 1], dtype=int32), ['a', 'b', 'c'])
    """
    joined = Values.join(parts)
    if isinstance(joined.data, list):
        return factorize_objects(joined.data)
    return factorize(pa.chunked_array([joined.data]))


def order_of(values: Values) -> npt.NDArray[Any]:
    """Return the indices that sort values naturally, or by representation if they cannot be compared."""
    if not isinstance(values.data, list):
        return _order(values.data)
    keys = values.data
    if any(isinstance(value, frozenset | tuple) for value in keys):  # sets are compared by inclusion
        keys = [write(value) if _holds_sets(value) else value for value in keys]
    try:
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    except TypeError:
        return np.array(sorted(range(len(keys)), key=[write(value) for value in values.data].__getitem__), np.int64)


def _holds_sets(value: Any) -> bool:
    return isinstance(value, frozenset) or (isinstance(value, tuple) and any(map(_holds_sets, value)))


def ranked(values: Values, *, text: bool) -> tuple[Codes, Values]:
    """Return the rank of each value, and the sorted values; ``text`` is as in `factorize`."""
    if text and is_each(values.data, "^(0|-?[1-9][0-9]{0,17})$"):
        values = Values(cast(values.data, pa.int64()))
    order = order_of(values)
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    return rank, values if np.all(order[1:] > order[:-1]) else values.take(order)


def group_by_hash(hashes: Hashes, checks: Hashes) -> tuple[Rows, Codes, Rows]:
    """Group rows by hash; return the rows in sorted order, their groups, and each group's first row.

    One sort is sufficient, because the row number replaces the lower bits of each hash. The second hash distinguishes
    values that share only the upper bits.
    """
    bits = np.uint64(max(len(hashes) - 1, 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    keys = hashes & ~low
    del hashes
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    rows = (keys & low).astype(np.int64)
    keys >>= bits
    begins = _changes(keys)
    del keys
    check = checks[rows]
    differs = _changes(check)
    if np.any(differs & ~begins):
        run = np.cumsum(begins)
        mixed = np.flatnonzero(np.isin(run, run[differs & ~begins]))
        rows[mixed] = rows[mixed][np.lexsort((rows[mixed], check[mixed], run[mixed]))]
        begins |= _changes(checks[rows])
    return rows, np.cumsum(begins, dtype=np.int32) - np.int32(1), rows[begins]


def _changes(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mark the values that differ from the previous one."""
    begins = np.empty(len(values), np.bool_)
    begins[:1] = True
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _groups(column: Any, many: bool | None) -> tuple[Rows | None, Codes, Values]:
    """Return the rows in a new order (None if unchanged), their codes, and the distinct values."""
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.add(column, pa.scalar(0.0, kind))  # turns -0.0 into 0.0
    if (is_string(kind) or pa.types.is_integer(kind)) and (_has_many(column) if many is None else many):
        rows, code, first = _group_rows(column)
        if column.nbytes > 1 << 30 and is_string(kind):
            column = column.cast(pa.large_string() if is_text(kind) else pa.large_binary())
        whole = column.combine_chunks()  # taking rows from many chunks is slow
        return rows, code, Values(whole.take(arrow_of(first)))
    coded = column if pa.types.is_dictionary(kind) else call("dictionary_encode", column)
    coded = coded.unify_dictionaries()
    if not len(coded):
        return None, np.empty(0, np.int32), Values(pa.array([], coded.type.value_type))
    codes = np.concatenate([numpy_of(chunk.indices).astype(np.int32) for chunk in coded.chunks])
    return None, *only_used(codes, Values(coded.chunk(0).dictionary))


def _has_many(column: Any) -> bool:
    sample = column.slice(0, _SAMPLE_ROWS)
    return len(column) > _SAMPLE_ROWS and len(sample.unique()) > _MIN_VARIED_VALUES


def _group_rows(column: Any) -> tuple[Rows, Codes, Rows]:
    if not is_string(column.type):
        hashes = mix(numpy_of(column).astype(np.int64).view(np.uint64))  # one to one: no second hash needed
        return group_by_hash(hashes, hashes)
    hashes, checks = np.empty(len(column), np.uint64), np.empty(len(column), np.uint64)
    start = 0
    for chunk in column.chunks:
        end = start + len(chunk)
        hashes[start:end], checks[start:end] = hash_strings(chunk)
        start = end
    return group_by_hash(hashes, checks)


def _put_back(codes: Codes, rows: Rows | None) -> Codes:
    """Return the codes in the order of the column."""
    if rows is None:
        return codes
    ordered = np.empty(len(codes), np.int32)
    ordered[rows] = codes
    return ordered


def only_used(codes: Codes, values: Values) -> tuple[Codes, Values]:
    """Remove the values that do not occur; if all occur, return the same object.

    >>> codes, values = only_used(np.array([2, 0]), Values(["a", "b", "c"]))
    >>> codes, values.tolist()
    (array([1, 0], dtype=int32), ['a', 'c'])
    """
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    if len(used) == len(values):
        return codes, values
    place = np.zeros(len(values), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return place[codes], values.take(used)


def _order(array: Any) -> npt.NDArray[Any]:
    """Sort an Arrow array; many short strings are sorted as numbers, without their common prefix."""
    if len(array) > _MIN_STRINGS_AS_NUMBERS and is_string(array.type):
        data, ends = string_bytes(array)
        lengths = np.diff(ends)
        first_and_last = (call("min_max", array)[name].as_py() for name in ("min", "max"))
        low, high = (text.encode() if isinstance(text, str) else text for text in first_and_last)
        differing = (place for place, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
        shared = next(differing, min(len(low), len(high)))
        if lengths.max() - shared <= _SORT_KEY_BYTES:
            words = [word.byteswap() for word in string_words(data, ends, shared)]
            keys = [*([lengths] if lengths.min() < lengths.max() else []), *reversed(words)]
            return np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0] if keys else lengths)
    return numpy_of(call("sort_indices", array))
