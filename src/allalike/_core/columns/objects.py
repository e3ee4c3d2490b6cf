"""Objects: what Python has for ids and labels, held in Arrow where Arrow can hold them."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import plain_of
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "as_float",
    "hold_objects",
    "is_hashable",
    "is_nothing",
    "is_real",
    "plain_values",
    "reads_as_number",
    "shorten",
]

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
    """Tell whether something is no value: None, NaN, or what pandas has for it.

    >>> is_nothing(float("nan")), is_nothing(None), is_nothing(0)
    (True, True, False)
    """
    if isinstance(value, float | Decimal):
        return math.isnan(value) if isinstance(value, float) else value.is_nan()
    return value is None or type(value).__name__ in _NOTHING


def is_hashable(value: Any) -> bool:
    """Tell whether Python can tell a value from others.

    >>> is_hashable(("x", 1)), is_hashable(("x", []))
    (True, False)
    """
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_text(value: str | bytes | None) -> bool:
    r"""Tell whether a string, or some bytes, can be written as UTF-8; nothing can.

    >>> _is_text("x"), _is_text("\ud800"), _is_text(b"x"), _is_text(b"\xff")
    (True, False, True, False)
    """
    try:
        _ = value.encode() if isinstance(value, str) else (value or b"").decode()
    except UnicodeError:
        return False
    return True


def is_real(value: Any) -> bool:
    """Tell whether something is a number that can be near another, of whatever type.

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
    """Tell whether a value is a finite number, or text that reads as one.

    >>> reads_as_number(" 1.5"), reads_as_number("1_000"), reads_as_number("nan")
    (True, False, False)
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):  # which Python reads, but nobody else
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False
