"""Jaccard distance between unions of intervals: the share of the total length covered by only one of them.

    d(A, B) = 1 - length(A and B) / length(A or B),   and 0 if both are empty.

Intervals are half-open: they include their start and exclude their end. It is the Jaccard distance with lengths instead
of counts, and also a metric. Intervals that barely miss each other have the maximum distance.

An interval of A overlaps those intervals of B that end after it starts and start before it ends. These are contiguous,
and two binary searches in the boundaries of B find the first and the last of them. So two unions of p and q intervals
have at most p + q overlaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike.distances.jaccard import chunks, ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Floats

_INTERVALS_PER_CHUNK = 1 << 20  # intervals compared at a time


class Unions(NamedTuple):
    """Many unions: union k has the sorted intervals ``begin[first[k]:first[k + 1]]`` to ``end[...]``."""

    first: npt.NDArray[np.int64]
    begin: Floats
    end: Floats

    def take(self, rows: npt.NDArray[np.intp]) -> Unions:
        """Return only these unions."""
        _, place = ranges(self.first[rows], self.first[rows + 1])
        sizes = self.first[rows + 1] - self.first[rows]
        return Unions(np.concatenate([[0], np.cumsum(sizes)]), self.begin[place], self.end[place])


def pack(labels: Sequence[Sequence[tuple[float, float]]]) -> Unions:
    """Pack unions into one array; the intervals of each must be sorted and disjoint."""
    bounds = np.array([bound for label in labels for pair in label for bound in pair], np.float64)
    first = np.concatenate([[0], np.cumsum([len(label) for label in labels], dtype=np.int64)])
    return Unions(first, bounds[::2], bounds[1::2])


def distance(left: Unions, i: npt.NDArray[np.intp], right: Unions, j: npt.NDArray[np.intp]) -> Floats:
    """Compute the distance between union i[k] of the first unions and union j[k] of the others, for all k.

    >>> unions = pack([((0, 4),), ((1, 2), (3, 7)), ()])
    >>> distance(unions, np.array([0, 0, 2]), unions, np.array([1, 2, 2]))
    array([0.71428571, 1.        , 0.        ])
    """
    found = np.empty(len(i))
    intervals = (left.first[i + 1] - left.first[i]) + (right.first[j + 1] - right.first[j])
    for part in chunks(intervals, _INTERVALS_PER_CHUNK):
        rows, one = np.unique(i[part], return_inverse=True)
        columns, other = np.unique(j[part], return_inverse=True)
        ours, theirs = left.take(rows), right.take(columns)
        both = _shared(ours, one, theirs, other)
        either = _lengths(ours)[one] + _lengths(theirs)[other] - both
        found[part] = np.maximum(either - both, 0.0) / np.where(either > 0, either, 1.0)
    return found


def _lengths(unions: Unions) -> Floats:
    row = np.repeat(np.arange(len(unions.first) - 1), np.diff(unions.first))
    return np.bincount(row, unions.end - unions.begin, len(unions.first) - 1).astype(np.float64, copy=False)


def _shared(left: Unions, i: npt.NDArray[np.intp], right: Unions, j: npt.NDArray[np.intp]) -> Floats:
    """Return the length covered by both unions of each pair."""
    values = np.unique(np.concatenate([right.begin, right.end]))
    row = np.repeat(np.arange(len(right.first) - 1), np.diff(right.first)) * (len(values) + 1)
    pair, own = ranges(left.first[i], left.first[i + 1])
    wanted = j[pair] * (len(values) + 1)
    until = np.searchsorted(values, left.begin, side="right")[own] + wanted
    before = np.searchsorted(values, left.end, side="left")[own] + wanted
    first = np.searchsorted(row + np.searchsorted(values, right.end), until)  # first interval that ends after the start
    last = np.searchsorted(row + np.searchsorted(values, right.begin), before)  # first interval that starts too late
    which, met = ranges(first, last)
    own, pair = own[which], pair[which]
    overlap = np.minimum(left.end[own], right.end[met]) - np.maximum(left.begin[own], right.begin[met])
    return np.bincount(pair, overlap, len(i)).astype(np.float64, copy=False)
