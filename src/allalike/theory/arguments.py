"""Arguments of formulas: numbers, or arrays of them, that lie in a range."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from allalike.errors import OptionError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = ["N", "as_floats", "as_number", "as_numbers", "as_row", "plain"]

N = TypeVar("N", float, npt.NDArray[np.float64])


def as_floats(values: Any, name: str) -> Floats:
    """Return finite numbers as an array.

    >>> as_floats("one", "fault")
    Traceback (most recent call last):
    allalike.errors.OptionError: fault is 'one'. It must be a finite number, or an array of them.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.dtype.kind not in "iuf" or not array.size or not np.isfinite(array).all():
        raise OptionError(f"{name} is {values!r}. It must be a finite number, or an array of them.")
    return array.astype(np.float64)


def as_numbers(values: N, name: str, *, least: float = 0, most: float = inf) -> N:
    """Return a number as a float and a list as an array, if all of it is in the range.

    >>> as_numbers([0.5, 1.5], "fault", most=1)
    Traceback (most recent call last):
    allalike.errors.OptionError: fault is 1.5. It must be a number from 0 to 1.
    """
    array = as_floats(values, name)
    for value in (array.min().item(), array.max().item()):
        if not least <= value <= most:
            span = f"{least} or more" if most == inf else f"from {least} to {most}"
            raise OptionError(f"{name} is {value!r}. It must be a number {span}.")
    checked: N = plain(array)
    return checked


def as_number(value: float, name: str, *, least: float = 0, most: float = inf) -> float:
    """Return one number, if it is in the range.

    >>> as_number([0.5, 1.5], "mean_fault")
    Traceback (most recent call last):
    allalike.errors.OptionError: mean_fault is [0.5, 1.5]. It must be one number.
    """
    if as_floats(value, name).ndim:
        raise OptionError(f"{name} is {value!r}. It must be one number.")
    return as_numbers(value, name, least=least, most=most)


def as_row(values: npt.ArrayLike, name: str) -> Floats:
    """Return some numbers that are not negative as an array with one dimension.

    >>> as_row([1, 2], "disparity")
    array([1., 2.])
    """
    row: Floats = np.atleast_1d(as_numbers(as_floats(values, name), name))
    if row.ndim > 1:
        raise OptionError(f"{name} has {row.ndim} dimensions. Give a plain list of numbers.")
    return row


def plain(values: Any) -> Any:
    """Return an array without dimensions as a number.

    >>> import numpy as np
    >>> plain(np.float64(2))
    2.0
    """
    return float(values) if np.ndim(values) == 0 else values
