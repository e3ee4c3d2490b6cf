"""Middles of drawings: where a thing is that several workers drew, number by number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats, sum_by
from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike._core.columns.hashes import mix

__all__ = ["Drawings", "average", "draw_largest", "find_middles", "take_median", "take_most_frequent"]


class Drawings(NamedTuple):
    """The members of some groups, of which a domain finds the middles.

    Parameters
    ----------
    geometry, weight, group
        Of each member: where it is, how much it counts (somewhat, in each group), and the number of its group.
    task_hash
        Of each group: the hash of its task, by which ties are drawn.
    """

    geometry: Floats
    weight: Floats
    group: npt.NDArray[np.intp]
    task_hash: npt.NDArray[np.uint64]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.task_hash)

    def add(self, values: Floats) -> Floats:
        """Add up one number per member over each group."""
        return sum_by(self.group, values, self.n_groups)


def average(drawings: Drawings, values: Floats) -> Floats:
    """Return the weighted mean of each group's numbers; where they are all the same, exactly that.

    >>> group, hashes = np.array([0, 0, 1]), np.zeros(2, np.uint64)
    >>> drawings = Drawings(np.empty((3, 0)), np.array([1.0, 3.0, 2.0]), group, hashes)
    >>> average(drawings, np.array([0.0, 4.0, 0.1]))
    array([3. , 0.1])
    """
    least = np.full(drawings.n_groups, np.inf)
    np.minimum.at(least, drawings.group, values)
    beyond = drawings.add(drawings.weight * (values - least[drawings.group]))
    return np.asarray(least + beyond / drawings.add(drawings.weight))


def take_median(drawings: Drawings, values: Floats) -> Floats:
    """Return the weighted median of each group's numbers; the middle of two where both will do.

    >>> group, hashes = np.array([0, 0, 0, 1, 1]), np.zeros(2, np.uint64)
    >>> drawings = Drawings(np.empty((5, 0)), np.array([0.2, 0.2, 0.6, 1.0, 1.0]), group, hashes)
    >>> take_median(drawings, np.array([1.0, 2.0, 9.0, 3.0, 4.0]))
    array([9. , 3.5])
    """
    lower, upper = find_middles(values, drawings.weight, drawings.group, drawings.n_groups)
    return np.asarray((values[lower] + values[upper]) / 2)


def find_middles(values: Floats, weight: Floats, group: Array, n_groups: int) -> tuple[Array, Array]:
    """Return, per group, the places of the lowest and of the highest of its weighted medians; mostly both are one.

    >>> find_middles(np.array([7.0, 3.0, 5.0, 9.0]), np.ones(4), np.array([0, 0, 1, 1]), 2)
    (array([1, 2]), array([0, 3]))
    """
    order = np.lexsort((values, group))
    groups, weights = group[order], weight[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    running = np.cumsum(weights)
    running -= (running[starts] - weights[starts])[groups]
    half = (sum_by(group, weight, n_groups) / 2)[groups]
    below = sum_by(groups, 1.0 * (running < half * (1 - TOLERANCE)), n_groups)
    reached = sum_by(groups, 1.0 * (running <= half * (1 + TOLERANCE)), n_groups)
    lower, upper = (order[starts + count.astype(np.int64)] for count in (below, reached))
    return lower, upper


def take_most_frequent(drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
    """Return the row of numbers with the largest weight in each group, and whether it was drawn among equals.

    >>> group, hashes = np.array([0, 0, 0]), np.zeros(1, np.uint64)
    >>> drawings = Drawings(np.array([[0.0, 4.0], [0.0, 5.0], [0.0, 5.0]]), np.array([0.6, 0.5, 0.5]), group, hashes)
    >>> take_most_frequent(drawings, Ties())
    (array([[0., 5.]]), array([False]))
    """
    order = np.lexsort((*drawings.geometry.T[::-1], drawings.group))
    geometry, group = drawings.geometry[order], drawings.group[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (group[1:] != group[:-1]) | (geometry[1:] != geometry[:-1]).any(axis=1)
    geometry, group = geometry[new], group[new]
    score = sum_by(np.cumsum(new) - 1, drawings.weight[order], len(group))
    hashes = np.zeros(len(group), np.uint64)
    for bits in np.ascontiguousarray(geometry.T).view(np.uint64):
        hashes = mix(hashes + np.uint64(1) ^ bits)
    largest, drawn = draw_largest(group, score, drawings.task_hash[group], hashes, ties)
    return geometry[largest], drawn


def draw_largest(
    group: Array, score: Floats, task_hash: npt.NDArray[np.uint64], label_hash: npt.NDArray[np.uint64], ties: Ties
) -> tuple[Array, Array]:
    """Return the place of the largest score of each group, in order, and whether it was drawn among equals.

    Of each score: its group, these in order, and the hashes by which equals are drawn.

    >>> group, score, hashes = np.array([3, 3, 7]), np.array([1.0, 2.0, 1.0]), np.zeros(3, np.uint64)
    >>> draw_largest(group, score, hashes, hashes, Ties())
    (array([1, 2]), array([False, False]))
    """
    first = np.flatnonzero(np.diff(group, prepend=-1))
    number = np.cumsum(np.diff(group, prepend=-1) != 0) - 1
    best = np.maximum.reduceat(score, first) if len(first) else score
    leads = np.flatnonzero(score >= best[number] * (1 - TOLERANCE))
    rank = ties.priority(task_hash[leads], label_hash[leads], np.arange(len(leads)))
    order = np.lexsort((rank, number[leads]))
    taken = order[np.flatnonzero(np.diff(number[leads][order], prepend=-1))]
    return leads[taken], np.bincount(number[leads], minlength=len(first)) > 1
