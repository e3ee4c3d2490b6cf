"""95 % confidence intervals by a bootstrap over tasks.

The bootstrap (Efron: Bootstrap methods: another look at the jackknife. 1979) draws as many tasks as there are, with
replacement, a thousand times. A sum over the drawn tasks is a sum over all tasks, weighted by how often each was drawn.

From 1,000 tasks on, tasks form groups by a hash of their ids, and groups are drawn: an interval from a thousand groups
is off by 2 %. Seed and order are fixed, so that every engine gives the same interval. With few tasks it is too narrow,
because what did not occur in ten tasks is not drawn either.
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
_QUANTILES = (0.025, 0.975)
_MAX_UNKNOWN = 0.05  # share of resamples without a value, beyond which there is no interval


@dataclass(frozen=True)
class TaskGroups:
    """Groups of tasks that are drawn together: single tasks, named by their hashes, or tasks of similar hashes."""

    n_groups: int
    hashes: npt.NDArray[np.uint64] | None = None

    def number(self, task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """Return the group of each task; a task without one may be in any."""
        if self.hashes is None:
            return (mix(task_hash) % np.uint64(self.n_groups)).astype(np.intp)
        return np.minimum(np.searchsorted(self.hashes, task_hash), self.n_groups - 1).astype(np.intp)


def group_tasks(paired: npt.NDArray[np.uint64], n_tasks: int) -> TaskGroups:
    """Make a group of each pairable task, given their hashes, or a thousand groups of many tasks.

    >>> group_tasks(np.array([9, 5], np.uint64), 3).number(np.array([9, 5, 7], np.uint64))
    array([1, 0, 1])
    """
    if n_tasks > MAX_GROUPS:
        return TaskGroups(MAX_GROUPS)
    hashes = np.unique(paired)
    return TaskGroups(len(hashes), hashes) if len(hashes) else TaskGroups(1)


def draw_weights(n_groups: int) -> Floats:
    """Return how often each group (a column) is drawn in each resample (a row)."""
    drawn = np.random.default_rng(0).integers(0, n_groups, (RESAMPLES, n_groups), np.int32)
    drawn += np.arange(RESAMPLES, dtype=np.int32)[:, None] * n_groups
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES * n_groups)
    return counts.reshape(RESAMPLES, n_groups).astype(np.float64)


def compute_interval(values: Floats) -> tuple[float, float]:
    """Return the quantiles of the resampled values, NaN if too many are unknown.

    >>> compute_interval(np.arange(1001.0)), compute_interval(np.full(10, np.nan))
    ((25.0, 975.0), (nan, nan))
    """
    known = values[~np.isnan(values)]
    if not len(known) or len(known) < (1 - _MAX_UNKNOWN) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, _QUANTILES).tolist()
    return low, high
