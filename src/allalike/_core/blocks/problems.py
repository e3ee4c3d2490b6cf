"""Problems: the workers of independent problems that are solved in one pass.

Most runs hold one crowd. Where every task is a problem of its own, or where an experiment repeats a problem a
thousand times, each problem has its own workers, and whatever compares workers with each other (how many there
are, their mean, their largest fault, the sum of their weights) does so within the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats


@dataclass(frozen=True)
class Problems:
    """How many workers each problem has; the workers of a problem stand next to each other.

    Every method returns one number per worker: that of her crowd.

    >>> import numpy as np
    >>> problems = Problems(np.array([2, 1]))
    >>> problems.total(np.array([1.0, 2.0, 5.0]))
    array([3., 3., 5.])
    >>> problems.mean(np.array([1.0, np.nan, np.nan]))
    array([ 1.,  1., nan])
    """

    sizes: npt.NDArray[np.int64]

    @classmethod
    def single(cls, n_workers: int) -> Problems:
        """Make one crowd of all workers."""
        return cls(np.array([n_workers]))

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """How many workers there are."""
        return np.repeat(self.sizes, self.sizes)

    @property
    def n_workers(self) -> int:
        """How many workers there are in all problems."""
        return int(self.sizes.sum())

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first worker of each problem."""
        return np.cumsum(self.sizes) - self.sizes

    def add(self, values: Any) -> Floats:
        """Add up rows of workers to one row per problem."""
        table = np.asarray(values, np.float64)
        if self.sizes.all():
            return np.add.reduceat(table, self.starts, axis=0)
        sums = np.zeros((len(self.sizes), *table.shape[1:]))
        sums[self.sizes > 0] = np.add.reduceat(table, self.starts[self.sizes > 0], axis=0)
        return sums

    def spread(self, values: Array) -> Array:
        """Give each worker the row of her problem."""
        return np.repeat(values, self.sizes, axis=0)

    def total(self, values: Any) -> Floats:
        """Add up."""
        return self._spread(np.add, np.asarray(values, np.float64))

    def peak(self, values: Floats) -> Floats:
        """Find the largest number; NaN does not count unless there is nothing else."""
        return self._spread(np.fmax, values)

    def low(self, values: Floats) -> Floats:
        """Find the smallest number; NaN does not count unless there is nothing else."""
        return self._spread(np.fmin, values)

    def mean(self, values: Floats) -> Floats:
        """Average the numbers that are not NaN."""
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            return self.total(np.where(known, values, 0.0)) / self.total(known)

    def _spread(self, reduce: np.ufunc, values: Floats) -> Floats:
        there = self.sizes > 0  # half of a crowd may be empty
        return np.repeat(reduce.reduceat(values, self.starts[there]), self.sizes[there])
