"""Bounds: where a disparity can lie, given the faults, when little is known about how workers err."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.theory.arguments import N, as_number, as_numbers, as_row, plain
from allalike.theory.biases import bias_size

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["disparity_bounds", "metric_disparity_bounds", "metric_fault_bounds"]


def disparity_bounds(fault: N, mean_fault: float, *, mean_bias: npt.ArrayLike | None = None) -> tuple[N, N]:
    """Return f_i + mu -+ 2 sqrt(f_i) |b_T|, between which the expected disparity lies for squared distances.

    The size of the mean bias |b_T| is at most sqrt(mu), which is used where it is not given; then a worker with
    f_i = g mu lies between (1 - sqrt(g))^2 mu and (1 + sqrt(g))^2 mu. Both bounds are reached, by workers who always
    give the same wrong answer.

    Parameters
    ----------
    fault, mean_fault
        A worker's fault, or an array of faults; and the mean fault of the others.
    mean_bias
        The mean bias of the others, or its size; by default nothing is known about it.

    >>> disparity_bounds(4.0, 1.0)
    (1.0, 9.0)
    >>> disparity_bounds(4.0, 1.0, mean_bias=0)
    (5.0, 5.0)
    """
    fault, mean_fault = as_numbers(fault, "fault"), as_number(mean_fault, "mean_fault")
    around: N = fault + mean_fault
    margin: N = plain(2 * np.sqrt(fault) * bias_size(mean_bias, mean_fault))
    return around - margin, around + margin


def metric_disparity_bounds(fault: N, faults: npt.ArrayLike) -> tuple[N, N]:
    """Return E_t max(f_i, f_t) and f_i + mu, between which the expected disparity lies for metrics.

    The upper bound is the triangle inequality and always holds. The lower one needs a distance that is a norm and
    errors that are as likely as their opposites; it fails, for one, on labels that are usually wrong.

    Parameters
    ----------
    fault
        A worker's fault, or an array of faults.
    faults
        The faults of the others.

    >>> metric_disparity_bounds(2.0, [1.0, 3.0])
    (2.5, 4.0)
    """
    others, fault = as_row(faults, "faults"), as_numbers(fault, "fault")
    low: N = plain(np.maximum(np.expand_dims(fault, -1), others).mean(axis=-1))
    high: N = fault + float(others.mean())
    return low, high


def metric_fault_bounds(disparity: N) -> tuple[N, N]:
    """Return pi_i / 2 and pi_i, between which the fault of a worker lies who is no better than the mean.

    It holds where both bounds of `metric_disparity_bounds` do. Workers better than the mean are at most pi_i from the
    truth as well, but may be closer than half of that.

    >>> metric_fault_bounds(3.0)
    (1.5, 3.0)
    """
    disparity = as_numbers(disparity, "disparity")
    return disparity / 2, disparity
