"""Distance of rankings with ties and gaps: how far two workers are apart about the pairs of items that both compared.

    d(A, B) = sum over pairs both compared of |r_A - r_B| / number of such pairs,   NaN if there is none,

where r is a worker's share for the first item of a pair: 1, 0, or 1/2 for a tie, and in between where she compared the
pair several times. Between complete orders without ties it is Kendall tau; a tie is halfway between both orders, which
is Fagin's K(1/2) (Fagin, Kumar, Mahdian, Sivakumar and Vee 2004). Sums over the peers of a worker need no distances of
pairs of answers: see `allalike.domains.rankings.comparisons`. With few common pairs it says little, and it is no metric
where gaps are unknown: a>b and b>c agree with whatever they do not compare.
"""

from __future__ import annotations

import itertools

import numpy as np

from allalike._core.blocks.block import Array, Floats, sum_by
from allalike.domains.rankings.codes import PAIRS_PER_CHUNK, PairShares, count_pairs, share_pairs, unpack


def distance(left: Array, right: Array) -> Floats:
    """Compare codes of rankings row by row; NaN where no pair of items is in both.

    >>> from allalike.domains.rankings.codes import TIED, pack
    >>> left = pack([(0, 1, TIED, 2), (0, 1), (0, 1, 2), (0, 1)])
    >>> right = pack([(0, 2, 1), (2, 0, 1), (2, 0, 1), (2, 3)])
    >>> distance(left, right).round(3)
    array([0.167, 0.   , 0.667,   nan])
    """
    result = np.empty(len(left))
    one, other = unpack(left), unpack(right)
    sizes = count_pairs(one) + count_pairs(other)
    marks = np.searchsorted(np.cumsum(sizes), np.arange(0, max(sizes.sum(), 1), PAIRS_PER_CHUNK))
    bounds = np.unique([0, *marks, len(left)])
    for begin, end in itertools.pairwise(bounds.tolist()):
        rows = np.zeros(len(left), np.bool_)
        rows[begin:end] = True
        result[begin:end] = _distance(share_pairs(one.take(rows)), share_pairs(other.take(rows)), end - begin)
    return result


def _distance(left: PairShares, right: PairShares, n_rows: int) -> Floats:
    width = int(max(left.b.max(initial=0), right.b.max(initial=0))) + 1
    one, other = ((part.label * width + part.a) * width + part.b for part in (left, right))
    _, i, j = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    n_met = sum_by(left.label[i], np.ones(len(i)), n_rows)
    missed = sum_by(left.label[i], np.abs(left.share[i] - right.share[j]), n_rows)
    return np.where(n_met > 0, missed / np.maximum(n_met, 1), np.nan)
