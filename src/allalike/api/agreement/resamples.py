"""Resamples: how much a number would vary if other tasks of the same kind had been asked.

The bootstrap (Efron: Bootstrap methods: another look at the jackknife. Annals of Statistics 1979) draws as many tasks
as there are, with replacement, a thousand times, and looks at what the number is each time. A sum over the drawn tasks
is a sum over all, with the weight w_u of how often u was drawn. So sums per task are all it needs.

Where there are many tasks, they are put into a thousand groups by a hash of their ids, and groups are drawn in place of
tasks: since chance made the groups, their sums vary as much as those of tasks do, and a spread that is learned from a
thousand groups is off by 2 %. Nothing is kept per task, and one look at the answers is enough. The weights come from a
fixed seed, and groups have a fixed order, so that every engine finds the same limits.

It fails with few tasks: what did not occur in ten tasks is not drawn either, and the limits are too close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.hashes import mix

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

MAX_GROUPS = 1000
RESAMPLES = 1000
_LIMITS = (0.025, 0.975)
_MAX_UNKNOWN = 0.05  # share of the resamples that say nothing, beyond which no limits are given


@dataclass(frozen=True)
class TaskGroups:
    """The groups of tasks that are drawn together, or each for itself where all tasks are named by their hashes.

    >>> TaskGroups(2, np.array([5, 9], np.uint64)).number(np.array([9, 5, 7], np.uint64))
    array([1, 0, 1])
    >>> TaskGroups(10).number(np.array([9, 5, 7], np.uint64))
    array([3, 2, 4])
    """

    count: int
    hashes: npt.NDArray[np.uint64] | None = None

    @classmethod
    def of_tasks(cls, hashes: npt.NDArray[np.uint64]) -> TaskGroups:
        """Make a group of each task; there must be at least one, which may be any."""
        each = np.unique(hashes) if len(hashes) else np.zeros(1, np.uint64)
        return cls(len(each), each)

    def number(self, task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """Return the group of each task; one that has no name may be in any."""
        if self.hashes is None:
            return (mix(task_hash) % np.uint64(self.count)).astype(np.intp)
        return np.minimum(np.searchsorted(self.hashes, task_hash), self.count - 1).astype(np.intp)


def draw_weights(n_groups: int) -> Floats:
    """Return how often each group (a column) is drawn in each resample (a row).

    >>> weights = draw_weights(7)
    >>> weights.shape, set(weights.sum(axis=1))
    ((1000, 7), {np.float64(7.0)})
    """
    drawn = np.random.default_rng(0).integers(0, n_groups, (RESAMPLES, n_groups), np.int32)
    drawn += np.arange(RESAMPLES, dtype=np.int32)[:, None] * n_groups
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES * n_groups)
    return counts.reshape(RESAMPLES, n_groups).astype(np.float64)


def find_limits(values: Floats) -> tuple[float, float]:
    """Return the limits between which 95 % of the resampled numbers lie, NaN if too many of them are unknown.

    >>> find_limits(np.arange(1001.0)), find_limits(np.full(10, np.nan))
    ((25.0, 975.0), (nan, nan))
    """
    known = values[~np.isnan(values)]
    if not len(known) or len(known) < (1 - _MAX_UNKNOWN) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, _LIMITS).tolist()
    return low, high
