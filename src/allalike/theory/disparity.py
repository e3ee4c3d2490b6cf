"""Expected disparity: how far a worker with a given fault is from the others, on average.

Squared distances add up: worker i with bias b_i (her expected answer less the truth, on each task) and independent
errors is f_i + f_j - 2 <b_i, b_j> from worker j, where <x, y> is the mean over tasks of x y. Averaged over the others
this is the Anna Karenina theorem (Meir et al. 2023). Answers 0 and 1 have squared distances too, so it also
describes yes-or-no tasks, and rankings pair by pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.options import check_number
from allalike.theory.arguments import N, as_number, as_numbers, plain
from allalike.theory.biases import as_bias, inner

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["expected_agreement", "expected_disparity", "expected_disparity_one_coin", "mallows_swaps"]


def expected_disparity(fault: N, mean_fault: float, *, bias: npt.ArrayLike = 0.0, mean_bias: npt.ArrayLike = 0.0) -> N:
    """Return f_i + mu - 2 <b_i, b_T>, the expected disparity for squared distances.

    With the fault and the bias of one other worker in place of the means it is the expected distance of the two.
    It holds for any errors that are independent between workers, Gaussian or not. Without bias only f_i + mu remains,
    so disparities order workers as faults do.

    Parameters
    ----------
    fault
        A worker's fault, the mean square of her bias plus her variance; or an array of faults.
    mean_fault
        The mean fault of the others.
    bias
        The worker's bias: one number, or one for each task. For an array of faults, a row for each.
    mean_bias
        The mean bias of the others, in the same form.

    >>> expected_disparity(2.0, 3.0)
    5.0
    >>> expected_disparity(2.0, 3.0, bias=[1, -1], mean_bias=[1, 0])
    4.0
    """
    fault, mean_fault = as_numbers(fault, "fault"), as_number(mean_fault, "mean_fault")
    own, theirs = as_bias(bias, fault, "bias"), as_bias(mean_bias, mean_fault, "mean_bias")
    expected: N = plain(fault + mean_fault - 2 * inner(own, theirs))
    return expected


def expected_disparity_one_coin(fault: N, mean_fault: float, *, classes: int = 2) -> N:
    """Return mu + (1 - c mu) f_i with c = k / (k-1), the expected disparity under one-coin noise.

    It grows with the fault if and only if mu < (k-1) / k, that is, if the others on average do better than guess;
    otherwise the best workers are the farthest from the others.

    >>> expected_disparity_one_coin(0.25, 0.5)
    0.5
    >>> expected_disparity_one_coin(0.1, 0.4, classes=4)
    0.4466...
    """
    check_number(classes, "classes", least=2, whole=True)
    fault, mean_fault = as_numbers(fault, "fault", most=1), as_number(mean_fault, "mean_fault", most=1)
    return mean_fault + (1 - classes / (classes - 1) * mean_fault) * fault


def expected_agreement(accuracy: N, mean_accuracy: float, *, classes: int = 2) -> N:
    """Return p_i p + (1 - p_i)(1 - p) / (k-1), how often a worker says what another one says.

    With two classes this is the identity of Kurvers et al. (2019). It is one less the expected disparity.

    >>> expected_agreement(0.75, 0.5)
    0.5
    >>> 1 - expected_disparity_one_coin(0.25, 0.5)
    0.5
    """
    check_number(classes, "classes", least=2, whole=True)
    p, q = as_numbers(accuracy, "accuracy", most=1), as_number(mean_accuracy, "mean_accuracy", most=1)
    return p * q + (1 - p) * (1 - q) / (classes - 1)


def mallows_swaps(phi: float, items: int) -> Floats:
    """Return how likely Mallows noise swaps each pair of items, pairs (1, 2), (1, 3), ..., (2, 3), ...

    Items that are g places apart in the true ranking keep their order with probability h(g+1) - h(g), where
    h(x) = x / (1 - phi^x) (Mallows 1957); here it is written without a difference, and holds for phi = 1 as well.
    A ranking is an answer of 0 or 1 for each pair, and the chance to swap it is the bias; so these numbers are the
    ``bias`` of `expected_disparity` with Kendall's tau, and their mean is the fault.

    Parameters
    ----------
    phi
        The dispersion: 0 always gives the true ranking, 1 any ranking.
    items
        How many items are ranked.

    >>> mallows_swaps(0.5, 3).round(4)
    array([0.3333, 0.2381, 0.3333])
    """
    phi = as_number(phi, "phi", most=1)
    check_number(items, "items", least=2, whole=True)
    powers = phi ** np.arange(items)
    sums = powers.cumsum()
    swap = 1 - (powers * np.arange(1, items + 1)).cumsum()[:-1] / (sums[:-1] * sums[1:])
    first, second = np.triu_indices(items, 1)
    swaps: Floats = swap[second - first - 1]
    return swaps
