"""Biases: what workers get wrong on average, on each task, in the direction in which they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.errors import OptionError
from allalike.theory.arguments import as_floats

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["as_bias", "bias_size", "inner"]

_ROUNDING_SHARE = 1e-9  # by how much, relatively, a computed bias may exceed what its fault allows


def as_bias(values: npt.ArrayLike, fault: float | Floats, name: str) -> Floats:
    """Return biases with the tasks along the last axis, if the faults leave room for them.

    One number is the same bias on every task. A fault is the mean square of the bias plus the variance, so it cannot
    be less than the first.

    >>> as_bias([1, -1], 1.0, "bias")
    array([ 1., -1.])
    >>> as_bias(2, 1.0, "bias")
    Traceback (most recent call last):
    allalike.errors.OptionError: bias has the mean square 4, but the fault is 1. A fault is no less than that.
    """
    bias = as_floats(values, name)
    if bias.ndim and bias.shape[:-1] != np.shape(fault):
        raise OptionError(
            f"{name} has the shape {bias.shape}. Give one number, or one for each task, in a row for each fault."
        )
    bias = np.atleast_1d(bias)
    square, limit = (np.ravel(a) for a in np.broadcast_arrays(inner(bias, bias), fault))
    over = square > limit * (1 + _ROUNDING_SHARE)
    if over.any():
        found, allowed = square[over][0], limit[over][0]
        raise OptionError(
            f"{name} has the mean square {found:g}, but the fault is {allowed:g}. A fault is no less than that."
        )
    return bias


def bias_size(mean_bias: npt.ArrayLike | None, mean_fault: float) -> float:
    """Return the root mean square of a bias, or the largest that the fault allows.

    >>> bias_size(None, 9.0), bias_size([1, -1], 9.0)
    (3.0, 1.0)
    """
    square = mean_fault if mean_bias is None else np.square(as_bias(mean_bias, mean_fault, "mean_bias")).mean()
    return float(np.sqrt(square))


def inner(own: Floats, theirs: Floats) -> Floats:
    """Return <x, y>, the mean product over tasks.

    >>> import numpy as np
    >>> inner(np.array([1.0, 2.0]), np.array([3.0])).item()
    4.5
    """
    tasks = {own.shape[-1], theirs.shape[-1]} - {1}
    if len(tasks) > 1:
        raise OptionError(f"The biases are on {own.shape[-1]} and on {theirs.shape[-1]} tasks. Give as many for both.")
    product: Floats = (own * theirs).mean(axis=-1)
    return product
