"""Edges of strings: which are blank, say that there is nothing, or begin or end with blanks.

The first and the last byte of each string tell it for nearly all of them, so that a column of ten million strings is
looked through in a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.calls import cast
from allalike._core.columns.hashes import string_bytes
from allalike._core.columns.values import arrow_of, is_string, numpy_of, text_column
from allalike._core.late import pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["find_nothing", "find_zeros", "has_blank_edges", "has_leading_zeros"]

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
    """Tell whether a string of a chunked Arrow column may begin or end with a blank.

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
    """Tell whether a string of a chunked Arrow column has a needless zero, as codes have and numbers have not.

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
