"""Jaccard and Dice distance between masks, 64 pixels at a time.

With the areas a and b of two masks, and the area c of their intersection, the Jaccard distance is 1 - c / (a + b - c)
and the Dice distance is 1 - 2c / (a + b) (Jaccard 1912, Dice 1945). The distance between two empty masks is 0. Only
Jaccard is a metric. Both need one count per pair: the common bits of two masks. The masks of a task are stacked. Bytes
that are equal in all of them are skipped, and the rest are compared in pieces that fit into the cache.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.masks import Mask, lay_over

Counts = npt.NDArray[np.int64]

_WORDS_AT_ONCE = 1 << 18  # words of all masks together
_MAX_DISPUTED_SHARE = 0.8  # above this share of disputed words, selecting them does not pay off


def jaccard(left: Counts, right: Counts, common: Counts) -> Floats:
    """Return the Jaccard distance, given the areas of pairs of masks and of their intersections.

    >>> jaccard(np.array([4, 0]), np.array([4, 0]), np.array([2, 0]))
    array([0.66666667, 0.        ])
    """
    union = left + right - common
    return np.asarray((union - common) / np.maximum(union, 1), np.float64)


def dice(left: Counts, right: Counts, common: Counts) -> Floats:
    """Return the Dice distance, given the areas of pairs of masks and of their intersections.

    >>> dice(np.array([4, 0]), np.array([4, 0]), np.array([2, 0]))
    array([0.5, 0. ])
    """
    both = left + right
    return np.asarray((both - 2 * common) / np.maximum(both, 1), np.float64)


def common_area(left: Mask, right: Mask) -> int:
    """Count the pixels that are on in both masks, within the intersection of their bounding boxes."""
    top, bottom, begin, end = left.box
    other_top, other_bottom, other_begin, other_end = right.box
    rows = max(top, other_top), min(bottom, other_bottom)
    columns = max(begin, other_begin), min(end, other_end)
    if rows[0] >= rows[1] or columns[0] >= columns[1]:
        return 0
    here = left.bits[rows[0] - top : rows[1] - top, columns[0] - begin : columns[1] - begin]
    there = right.bits[rows[0] - other_top : rows[1] - other_top, columns[0] - other_begin : columns[1] - other_begin]
    return int(np.bitwise_count(_words((here & there).reshape(1, -1))).sum())


def common_areas(masks: Sequence[Mask]) -> Counts:
    """Count the pixels that are on in both masks, for all pairs of masks of one image.

    >>> common_areas([Mask.of(np.eye(4, dtype=np.bool_)), Mask.of(np.ones((4, 4), np.bool_))])
    array([[ 4,  4],
           [ 4, 16]])
    """
    n = len(masks)
    words = _words(lay_over(masks)[0].reshape(n, -1))
    counts, agreed = np.zeros((n, n), np.int64), 0
    at_once = max(1, _WORDS_AT_ONCE // n)
    for start in range(0, words.shape[1], at_once):
        piece = words[:, start : start + at_once]
        every = np.bitwise_and.reduce(piece, axis=0)
        disputed = every != np.bitwise_or.reduce(piece, axis=0)
        if np.count_nonzero(disputed) < _MAX_DISPUTED_SHARE * len(disputed):
            agreed += int(np.bitwise_count(every[~disputed]).sum())
            piece = piece.compress(disputed, axis=1)
        for i in range(n):
            counts[i, i:] += np.bitwise_count(piece[i] & piece[i:]).sum(axis=1, dtype=np.int64)
    return np.maximum(counts, counts.T) + agreed


def _words(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """View rows of bytes as rows of 64-bit words, padded with zeros."""
    n, size = rows.shape
    if size % 8:
        filled = np.zeros((n, size + 8 - size % 8), np.uint8)
        filled[:, :size] = rows
        rows = filled
    return rows.view(np.uint64)
