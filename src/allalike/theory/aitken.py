"""Aitken's weights 1 / f with faults that are only nearly right: each within a share delta of the true one."""

from __future__ import annotations

from math import sqrt

from allalike.theory.arguments import as_number

__all__ = ["aitken_error_bound", "inverse_bounds", "weight_shift"]


def inverse_bounds(delta: float) -> tuple[float, float]:
    """Return 1 - delta and 1 + 2 delta, between which f / f-hat lies if f-hat is within (1 -+ delta) f.

    It needs delta <= 1/2 (in print 1): for more, 1 / (1 - delta) is greater than 1 + 2 delta.

    >>> inverse_bounds(0.25)
    (0.75, 1.5)
    """
    delta = as_number(delta, "delta", most=0.5)
    return 1 - delta, 1 + 2 * delta


def aitken_error_bound(error: float, delta: float, largest: float) -> float:
    """Return error + 50 delta s^2, which bounds the mean squared error of the weighted mean with estimated faults.

    It needs delta <= 1/2, and a truth that is no larger in size than the largest answer. It is very loose:
    `weight_shift` gives a bound that needs neither.

    Parameters
    ----------
    error
        The mean squared error of the weighted mean with the true faults.
    delta
        By which share the estimated faults may be off.
    largest
        The largest size of an answer, s.

    >>> aitken_error_bound(1.0, 0.01, 2.0)
    3.0
    """
    error, largest = as_number(error, "error"), as_number(largest, "largest")
    return error + 50 * as_number(delta, "delta", most=0.5) * largest * largest


def weight_shift(delta: float) -> float:
    """Return the largest share of the weight that can be with other workers if faults are off by a share delta.

    It is (1 - sqrt(1 - delta^2)) / delta, about delta / 2, and is reached. The weighted mean moves by no more than
    this share of the range of the answers: if the range is at most R on every task, the root mean squared error
    grows by no more than R times this share. It is ours.

    >>> weight_shift(0.6)
    0.333...
    """
    delta = as_number(delta, "delta", most=1)
    return delta / (1 + sqrt(1 - delta * delta))
