"""Matching of values between sources that write them differently."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, is_text, numpy_of
from allalike._core.late import pa, pc
from allalike.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]

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
