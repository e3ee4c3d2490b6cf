"""Peers: every worker's average distance to the others, the one thing that the proximity methods need.

With missing answers there are two ways to average. **Pooled**, every pair of answers to the same task counts once;
it is a sum over tasks, needs no matrix of workers, and is the default. **Per pair**, every peer counts once,
however many tasks the two have in common. With complete answers both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allalike.distances.euclidean import check_digits
from allalike.methods.steps.pairs import all_pairs

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run
    from allalike.methods.steps.pairs import Ranged

_BYTES_PER_PAIR = 13  # its mean distance, whether the two met, and where it is


@dataclass(frozen=True)
class Disparity:
    """The sums behind every worker's average distance to her peers.

    >>> from allalike._core.blocks.problems import Problems
    >>> import numpy as np
    >>> sums = Disparity(np.array([5.0, 4.0, 0.0]), np.array([2.0, 2.0, 0.0]), Problems.single(3))
    >>> sums.mean, sums.mubar
    (array([2.5 , 2.  , 2.25]), array([1.125, 1.125, 1.125]))
    """

    distance: Floats
    weight: Floats
    problems: Problems

    @cached_property
    def mean(self) -> Floats:
        """Each worker's average distance; a worker without peers is like the mean of the others."""
        known = np.where(self.weight > 0, self.distance, np.nan) / np.where(self.weight > 0, self.weight, 1.0)
        return np.where(np.isnan(known), self.problems.mean(known), known)

    @property
    def mubar(self) -> Floats:
        """Half the mean distance of two workers, every pair of answers counting once."""
        with np.errstate(invalid="ignore"):
            return self.problems.total(self.distance) / self.problems.total(self.weight) / 2


class Peers:
    """The disparities of a run's workers, under any weights of their peers."""

    def __init__(self, run: Run, *, per_pair: bool = False) -> None:
        self.run, self._peer_sums = run, run.kernels.peer_sums
        self._pairs = _mean_distances(run) if per_pair else None
        self.unweighted = (
            self._sums(np.ones(run.problems.n_workers)) if per_pair else _disparity(run.unweighted_peer_sums, run)
        )
        if run.domain.power == 2:
            check_digits(run.problems.peak(self.unweighted.distance))

    def weighted(self, weights: Floats) -> Floats:
        """Return average distances; a worker whose peers have no weight keeps her unweighted one."""
        if np.array_equal(self.run.problems.peak(weights), self.run.problems.low(weights)):
            return self.unweighted.mean
        sums = self._sums(weights)
        return np.where(sums.weight > 0, sums.mean, self.unweighted.mean)

    def comparable(self, fault: Floats) -> Floats:
        """Return faults where agreement shows them: a worker without peers is like the mean of the others.

        Two workers are alike, because a difference between them does not say whose it is.
        """
        problems = self.run.problems
        known = np.where(self.unweighted.weight > 0, fault, np.nan)
        return np.where(np.isnan(known) | (problems.size == 2), problems.mean(known), known)

    def summed(self, weights: Floats) -> Floats:
        """Return weighted sums of distances, as Algorithm 2 of the paper prints it."""
        peers = self.unweighted.weight
        mean = self._sums(weights).distance / np.where(peers > 0, peers, 1.0) * (self.run.problems.size - 1)
        return np.where(peers > 0, mean, self.run.problems.mean(np.where(peers > 0, mean, np.nan)))

    def _sums(self, weights: Floats) -> Disparity:
        if self._pairs is None:
            return _disparity(self.run.sum(self._peer_sums, weights), self.run)
        distance, met = (pairs.times(weights[None])[0] for pairs in self._pairs)
        return Disparity(distance, met, self.run.problems)


def _disparity(sums: dict[str, Floats], run: Run) -> Disparity:
    return Disparity(sums["distance"], sums["weight"], run.problems)


def _mean_distances(run: Run) -> tuple[Ranged, ...]:
    """Return the mean distance of each pair of workers over their common tasks, and which pairs have any."""
    pairs = all_pairs(run, each=_BYTES_PER_PAIR, instead="Leave per_pair out: pooled distances need no pairs.")
    return pairs.measure(lambda pairs: (pairs.distance / np.maximum(pairs.common, 1.0), pairs.common > 0))
