"""Matches: which values of one source are those of another, where each writes them in its own way."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, is_string, numpy_of
from allalike.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]

_WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0*$"
_TRUTH_VALUES = ("true", "false")
_LARGEST_WHOLE = float(1 << 53)


def write_plainly(value: Any) -> str:
    """Write a value so that 1, 1.0, "1" and " 1.0" are the same, and True and "true"; leading zeros stay.

    >>> [write_plainly(value) for value in (1, 1.0, " 1.0", "007", True, "TRUE", 1.5, "cat ")]
    ['1', '1', '1', '007', 'true', 'true', '1.5', 'cat']
    """
    text = re.sub(_WHOLE, r"\1", f"{value:.0f}" if _is_whole(value) else str(value).strip())
    return text.lower() if text.lower() in _TRUTH_VALUES else text


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE


def find_places(wanted: Values, known: Values) -> Places:
    """Return where each of the wanted values stands among those that are known, or -1.

    A value that is not there as it came is looked for as it is written plainly, unless that could be several.

    >>> from allalike._core.columns.values import Values
    >>> find_places(Values(["8", " 7.0", "9", "07"]), Values([7, 8]))
    array([ 1,  0, -1, -1])
    """
    if not len(wanted) or not len(known):
        return np.full(len(wanted), -1, np.int64)
    if isinstance(wanted.data, list) or isinstance(known.data, list):
        return _object_places(wanted.tolist(), known.tolist())
    found = _same_places(wanted.data, known.data)
    if (found >= 0).all():
        return found
    plain, texts = (_plain_texts(values.data) for values in (wanted, known))
    if plain is None or texts is None:
        return np.where(found >= 0, found, _object_places(wanted.tolist(), known.tolist()))
    if plain.equals(wanted.data) and texts.equals(known.data):
        return found
    return np.where(found >= 0, found, _look_up(plain, _unambiguous(texts)))


def _same_places(wanted: Any, known: Any) -> Places:
    """Look up what is of the same type; of whole numbers and texts, none is lost by a cast."""
    import pyarrow as pa

    kinds = [wanted.type, known.type]
    if kinds[0] == kinds[1]:
        return _look_up(wanted, known)
    common = pa.int64() if all(map(pa.types.is_integer, kinds)) else pa.large_string()
    if not all(pa.types.is_integer(kind) or _is_text(kind) for kind in kinds):
        return np.full(len(wanted), -1, np.int64)
    try:
        return _look_up(wanted.cast(common), known.cast(common))
    except pa.ArrowInvalid:  # whole numbers beyond 63 bits
        return np.full(len(wanted), -1, np.int64)


def _look_up(wanted: Any, known: Any) -> Places:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(wanted, value_set=known, skip_nulls=True)
    return numpy_of(found.fill_null(pa.scalar(-1, pa.int32()))).astype(np.int64)


def _is_text(kind: Any) -> bool:
    return is_string(kind) and "binary" not in str(kind)


def _plain_texts(data: Any) -> Any:
    """Write Arrow values plainly, as `write_plainly` does; nothing for types of which it is not known how."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, texts = data.type, pa.large_string()
    if pa.types.is_integer(kind):
        return data.cast(texts)
    if pa.types.is_boolean(kind):
        return pc.if_else(data, *(pa.scalar(text, texts) for text in _TRUTH_VALUES))
    if pa.types.is_floating(kind):
        numbers = data.cast(pa.float64())
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _LARGEST_WHOLE))
        rounded = pc.if_else(whole, numbers, pa.scalar(0.0)).cast(pa.int64()).cast(texts)
        return pc.if_else(whole, rounded, numbers.cast(texts))
    if not _is_text(kind):
        return None
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(data.cast(texts)), _WHOLE, r"\1")
    lower = pc.utf8_lower(plain)
    return pc.if_else(pc.is_in(lower, value_set=pa.array(_TRUTH_VALUES, texts)), lower, plain)


def _unambiguous(texts: Any) -> Any:
    """Leave out texts that come several times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = pc.value_counts(texts)
    again = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    return pc.if_else(pc.is_in(texts, value_set=again), pa.scalar(None, texts.type), texts) if len(again) else texts


def _object_places(wanted: list[Any], known: list[Any]) -> Places:
    exact = {value: place for place, value in enumerate(known)}
    plain: dict[str, int] = {}
    for place, value in enumerate(known):
        text = write_plainly(value)
        plain[text] = place if text not in plain else -1
    found = np.array([exact[value] if _is_same(value, exact, known) else -1 for value in wanted], np.int64)
    loose = np.array([plain.get(write_plainly(value), -1) for value in wanted], np.int64)
    return np.where(found >= 0, found, loose)


def _is_same(value: Any, exact: dict[Any, int], known: list[Any]) -> bool:
    """Return whether a value is there as it is: True is not 1, though Python says so."""
    return value in exact and isinstance(value, bool) == isinstance(known[exact[value]], bool)


def cast_like(ids: Values, known: Values, what: str) -> Values:
    """Return ids as those are kept that are known: among texts, whole numbers are texts.

    >>> import pyarrow as pa
    >>> cast_like(Values(pa.array([7, 8])), Values(pa.array(["7", "x"])), "tasks").tolist()
    ['7', '8']
    """
    import pyarrow as pa

    if isinstance(known.data, list) and (isinstance(ids.data, list) or type(ids[0]) is type(known[0])):
        return Values(ids.tolist())
    if not isinstance(ids.data, list) and not isinstance(known.data, list):
        mine, theirs = ids.data.type, known.data.type
        whole = pa.types.is_integer(mine)
        texts = is_string(theirs) and "binary" not in f"{mine} {theirs}" and (whole or is_string(mine))
        if mine == theirs:
            return ids
        if texts or (whole and pa.types.is_integer(theirs)):
            with suppress(pa.ArrowInvalid):  # whole numbers that do not fit
                return Values(ids.data.cast(theirs))
            if pa.uint64() not in (mine, theirs):
                return ids
    raise InputError(
        f"The {what} of the new answers are of another type than those so far: {ids[0]!r} is {_kind(ids)},"
        f" {known[0]!r} is {_kind(known)}. Give all of them the same type, or run it again on all answers."
    )


def _kind(ids: Values) -> str:
    return type(ids[0]).__name__ if isinstance(ids.data, list) else str(ids.data.type)
