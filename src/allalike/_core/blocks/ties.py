"""Ties: draw a winner among equals, the same one in every run, on every engine, for every order of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import mix

__all__ = ["DRAWN", "TOLERANCE", "Ties"]

TOLERANCE = 1e-9  # scores that are closer than this, relative to the best, are equal

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Ties:
    """How ties are broken: by a hash of seed, task and label, or by taking the first label.

    The option with the smallest priority wins.

    >>> import numpy as np
    >>> task, labels = np.full(2, 7, np.uint64), np.array([11, 12], np.uint64)
    >>> winners = [int(np.argmin(Ties(seed).priority(task, labels, labels))) for seed in range(1000)]
    >>> 450 < sum(winners) < 550
    True
    >>> Ties(first=True).priority(labels, labels, np.array([3, 4]))
    array([3, 4], dtype=uint64)
    """

    seed: int = 0
    first: bool = False

    def priority(self, task_hash: Hashes, label_hash: Hashes, order: npt.NDArray[np.int64]) -> Hashes:
        """Give each tied option its priority; ``order`` is its place among all labels."""
        if self.first:
            return order.astype(np.uint64)
        salt = mix(np.array([self.seed % (1 << 64)], dtype=np.uint64))
        return mix(mix(task_hash ^ salt) ^ label_hash)


DRAWN = Ties()  # as everywhere by default
