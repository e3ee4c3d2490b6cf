"""Pairs: the distances between the workers of each crowd, as dense matrices.

Some methods look at every pair of workers. The sums behind the pairs are sparse and hold all crowds of a run; here
they become stacks of dense matrices, crowds of the same size together, so that one pass serves a thousand small
crowds or one large one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.blocks import Floats
    from allalike.crowds import Crowds
    from allalike.engines import Run

__all__ = ["Stack", "check_pairs", "stacks"]

_MOST_WORKERS = 20_000  # whose pairs still fit in memory, if they are kept once
_MOST_DENSE = 5_000  # the same for methods that compute with whole matrices
_ENTRIES_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Stack:
    """Hold the pair matrices of some crowds with the same number of workers.

    Parameters
    ----------
    workers
        The workers' numbers in the run, one row per crowd.
    distance, common
        Of each pair of workers: the sum of their distances over the tasks that both answered, and how many these are.

    >>> pair = np.array([[[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    >>> Stack(np.array([[0, 1, 2]]), pair, 2 * (pair > 0)).mean
    array([[[nan, 1.5, nan],
            [1.5, nan, nan],
            [nan, nan, nan]]])
    """

    workers: npt.NDArray[np.int64]
    distance: Floats
    common: Floats

    @property
    def mean(self) -> Floats:
        """The mean distance of each pair; NaN where two have no task in common, and between a worker and herself."""
        met = self.common > 0
        mean: Floats = np.where(met, self.distance, np.nan) / np.where(met, self.common, 1.0)
        return mean

    @property
    def identical(self) -> npt.NDArray[np.bool_]:
        """Whether nobody in a crowd ever differed from anyone."""
        return np.asarray(self.distance.max(axis=(1, 2)) == 0)


def check_pairs(crowds: Crowds, *, instead: str, dense: bool = False) -> None:
    """Refuse crowds whose pairs do not fit in memory; ``instead`` says what to do.

    >>> from allalike.crowds import Crowds
    >>> check_pairs(Crowds.single(30_000), instead="Use P-TD.")
    Traceback (most recent call last):
    allalike.errors.TooLargeError: The pairs of 30,000 workers do not fit in memory; 20,000 is the limit. Use P-TD.
    """
    largest = int(crowds.sizes.max())
    limit = _MOST_DENSE if dense else _MOST_WORKERS
    if largest > limit or np.square(crowds.sizes, dtype=np.float64).sum() > _MOST_WORKERS**2:
        many = f"{crowds.n_workers:,} workers" + (f" in crowds of up to {largest:,}" if len(crowds.sizes) > 1 else "")
        raise TooLargeError(f"The pairs of {many} do not fit in memory; {limit:,} is the limit. {instead}")


def stacks(run: Run) -> Iterator[Stack]:
    """Yield the pair matrices of all crowds, some crowds of the same size at a time."""
    crowds = run.crowds
    check_pairs(crowds, instead="P-TD and iP-TD need no pairs.", dense=True)
    sums = run.pairs(run.domain.pair_sums)
    first = np.cumsum(crowds.sizes) - crowds.sizes
    for size in np.unique(crowds.sizes):
        starts = first[crowds.sizes == size]
        step = max(1, _ENTRIES_AT_ONCE // int(size) ** 2)
        for begin in range(0, len(starts), step):
            workers = starts[begin : begin + step, None] + np.arange(size)
            yield Stack(workers, _dense(sums["distance"], workers), _dense(sums["common"], workers))


def _dense(matrix: Any, workers: npt.NDArray[np.int64]) -> Floats:
    n_crowds, size = workers.shape
    rows = matrix[workers.ravel()].tocoo()
    dense = np.zeros((n_crowds * size, size))
    dense[rows.row, rows.col - np.repeat(workers[:, 0], size)[rows.row]] = rows.data
    return dense.reshape(n_crowds, size, size)
