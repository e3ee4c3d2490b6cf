"""Identities: what disparities are in other words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.options import check_number
from allalike.theory.arguments import N, as_numbers, as_row

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["cloned_disparity", "cosine_to_squared", "distance_to_mean"]


def cosine_to_squared(cosine: N) -> N:
    """Return 2 (1 - cos), the squared distance of two vectors of length one.

    So workers ordered by their average cosine with the others are ordered by disparity, the other way round.

    >>> cosine_to_squared(0.5)
    1.0
    """
    return 2 * (1 - as_numbers(cosine, "cosine", least=-1, most=1))


def distance_to_mean(disparity: npt.ArrayLike) -> Floats:
    """Return (n-1)/n (pi_i - mubar), each worker's squared distance to the mean answer, with mubar half the mean of pi.

    It is exact for squared distances where every worker answered every task, and is the estimate of P-TD-AK with
    ridge 4.

    Parameters
    ----------
    disparity
        The disparities of all workers.

    >>> distance_to_mean([20, 10, 26])  # of the answers 0, 2, 6, whose mean is 8/3
    array([ 7.11111111,  0.44444444, 11.11111111])
    """
    row = as_row(disparity, "disparity")
    distance: Floats = (len(row) - 1) / len(row) * (row - row.mean() / 2)
    return distance


def cloned_disparity(disparity: N, workers: int, copies: int) -> N:
    """Return (n-1) pi_i / (n-1+r), a worker's disparity when r copies of her join the crowd.

    Copies are at distance 0 from each other. So whoever is copied looks better, for any distance: disparities protect
    from bad workers who err in their own ways, not from those who agree to err.

    Parameters
    ----------
    disparity
        The disparity before.
    workers
        How many workers there were, n, with her.
    copies
        How many copies join, r.

    >>> cloned_disparity(3.0, workers=5, copies=8)
    1.0
    """
    check_number(workers, "workers", least=2, whole=True)
    check_number(copies, "copies", least=0, whole=True)
    return as_numbers(disparity, "disparity") * ((workers - 1) / (workers - 1 + copies))
