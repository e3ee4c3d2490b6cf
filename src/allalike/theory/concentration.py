"""Concentration: how many workers and tasks it takes until disparities are close to what is expected of them.

M_t stands for the largest t-th absolute moment of an error (answer less truth, bias included) of any worker on any
task. Workers, and the errors of one worker on different tasks, are independent.
"""

from __future__ import annotations

from math import floor, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.options import check_number
from allalike.errors import OptionError
from allalike.theory.arguments import as_number, as_row

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["deviation_chance", "gaussian_moments", "sample_size"]

_ROUNDING_SHARE = 1e-12  # relative: a bound that is a whole number is not to lose one to rounding


def gaussian_moments(fault: float) -> tuple[float, float, float, float]:
    """Return the first four absolute moments of a Gaussian error without bias and with this variance.

    >>> [round(moment, 4) for moment in gaussian_moments(1.0)]
    [0.7979, 1.0, 1.5958, 3.0]
    """
    fault = as_number(fault, "fault")
    first = sqrt(2 * fault / pi)
    return first, fault, 2 * fault * first, 3 * fault * fault


def sample_size(eps: float, delta: float, moments: npt.ArrayLike) -> tuple[int, int]:
    """Return how many workers and tasks keep a disparity within eps of its mean, but for a chance of delta.

    These are the least whole numbers with (Meir et al. 2023)

        n > 24 (4 M2^2 + 4 M2 + 2 M4) / (delta eps^2) + 1,
        m > max(12 (M4 + 4 M1 M3 + 4 M1^2 M2) / (delta eps^2), 3 M4 / delta).

    They are safe, and at least six times larger than `deviation_chance` asks for. They change with the unit of
    measurement, because the terms 4 M2 and 3 M4 / delta come from a deviation of 1 in the proof.

    Parameters
    ----------
    eps
        How far a disparity may be from its expected value.
    delta
        How likely it may be farther.
    moments
        The first four absolute moments of errors, M1, M2, M3, M4.

    >>> sample_size(1.0, 0.2, gaussian_moments(1.0))
    (1682, 639)
    """
    check_number(eps, "eps", least=np.nextafter(0, 1).item())
    delta = as_number(delta, "delta", least=np.nextafter(0, 1).item(), most=1)
    m1, m2, m3, m4 = _moments(moments)
    scale = delta * eps * eps
    workers = 24 * (4 * m2 * m2 + 4 * m2 + 2 * m4) / scale + 1
    tasks = max(12 * (m4 + 4 * m1 * m3 + 4 * m1 * m1 * m2) / scale, 3 * m4 / delta)
    return _above(workers), _above(tasks)


def deviation_chance(eps: float, workers: int, tasks: int, moments: npt.ArrayLike) -> float:
    """Bound the chance that a disparity is farther than eps from its mean.

    The variance of a disparity is at most V / (n-1) + W / m, where V = M4 + 4 M1 M3 + 4 M2^2 is for the other workers
    and W = M4 + 4 M1 M3 + 4 M1^2 M2 for the worker's own errors; Chebyshev's inequality does the rest. It is ours, and
    does not depend on the unit of measurement.

    Parameters
    ----------
    eps
        How far a disparity may be from its expected value.
    workers, tasks
        How many there are, n and m.
    moments
        The first four absolute moments of errors, M1, M2, M3, M4.

    >>> round(deviation_chance(1.0, 200, 200, gaussian_moments(1.0)), 4)
    0.114
    """
    check_number(eps, "eps", least=np.nextafter(0, 1).item())
    check_number(workers, "workers", least=2, whole=True)
    check_number(tasks, "tasks", least=1, whole=True)
    m1, m2, m3, m4 = _moments(moments)
    variance = (m4 + 4 * m1 * m3 + 4 * m2 * m2) / (workers - 1) + (m4 + 4 * m1 * m3 + 4 * m1 * m1 * m2) / tasks
    return min(1.0, variance / eps / eps)


def _moments(moments: npt.ArrayLike) -> tuple[float, float, float, float]:
    row = as_row(moments, "moments")
    if len(row) != 4:
        raise OptionError(f"moments has {len(row)} numbers. Give four: the first to fourth absolute moment.")
    roots = row ** (1 / np.arange(1, 5))
    if (roots[:-1] > roots[1:] * (1 + 1e-9)).any():
        raise OptionError(f"moments is {moments!r}. No errors have such moments: the t-th root of M_t grows with t.")
    m1, m2, m3, m4 = row.tolist()
    return m1, m2, m3, m4


def _above(bound: float) -> int:
    return floor(bound * (1 + _ROUNDING_SHARE)) + 1
