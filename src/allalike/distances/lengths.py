"""Jaccard distance of covered lengths: of unions of intervals, and of the tagged positions of spans.

    d(A, B) = 1 - length(A and B) / length(A or B),   and 0 if both are empty.

It is the Jaccard distance with lengths instead of counts, and also a metric. Intervals are half-open: they include
their start and exclude their end. Intervals of the same answer and tag are disjoint, so the common length of two
answers is the sum of the overlaps of their intervals. Positions are not enumerated. Intervals that barely miss each
other have the maximum distance.
"""

from collections.abc import Sequence

import numpy as np

from allalike._core.blocks.block import Floats, sum_by
from allalike.distances.matching import Collections, Members, Places, meet, sweep


def pack(labels: Sequence[Sequence[tuple[float, float]]]) -> Collections:
    """Pack unions of sorted and disjoint intervals."""
    bounds = np.array([bound for label in labels for pair in label for bound in pair], np.float64).reshape(-1, 2)
    first = np.concatenate([[0], np.cumsum([len(label) for label in labels], dtype=np.int64)])
    return Collections(first, bounds, np.zeros(len(bounds), np.int64), [None])


def distance(left: Collections, i: Places, right: Collections, j: Places) -> Floats:
    """Compute the distance between union i[k] of the first unions and union j[k] of the others, for all k.

    >>> unions = pack([((0, 4),), ((1, 2), (3, 7)), ()])
    >>> distance(unions, np.array([0, 0, 2]), unions, np.array([1, 2, 2]))
    array([0.71428571, 1.        , 0.        ])
    """
    found = np.empty(len(i))
    for part, members in meet(left, i, right, j):
        first = 2 * np.arange(part.stop - part.start)
        found[part] = measure(members, first, first + 1)
    return found


def join(members: Members) -> Members:
    """Merge overlapping intervals of an answer with the same tag; geometry is start and end.

    >>> geometry = np.array([[0.0, 4.0], [2.0, 3.0], [3.0, 8.0], [9.0, 10.0]])
    >>> join(Members(geometry, np.zeros(4, int), np.zeros(4, int), np.zeros(4, int))).geometry
    array([[ 0.,  8.],
           [ 9., 10.]])
    """
    start, end = members.geometry.T
    order = np.lexsort((start, members.kind, members.answer))
    start, end, kind, answer = start[order], end[order], members.kind[order], members.answer[order]
    cell = np.cumsum((np.diff(kind, prepend=-1) != 0) | (np.diff(answer, prepend=-1) != 0))
    values, rank = np.unique(end, return_inverse=True)
    reached = np.maximum.accumulate(cell * len(values) + rank)  # end of the previous intervals in the cell
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (cell[1:] != cell[:-1]) | (start[1:] > values[reached[:-1] - cell[:-1] * len(values)])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(order)) - 1 if len(order) else first
    joined = np.stack([start[first], values[reached[last] - cell[last] * len(values)]], axis=1)
    return Members(joined, kind[first], answer[first], members.task[order][first])


def measure(members: Members, left: Places, right: Places) -> Floats:
    """Compute the distance between answers left[k] and right[k]; pairs are sorted, with left before right.

    >>> geometry, tag = np.array([[0.0, 4.0], [2.0, 5.0]]), np.zeros(2, int)
    >>> measure(Members(geometry, tag, np.arange(2), tag), np.array([0]), np.array([1]))
    array([0.6])
    """
    n_answers = int(max(left.max(initial=0), right.max(initial=0))) + 1
    start, end = members.geometry.T
    one, other = sweep(start, end, members.task * (int(members.kind.max(initial=0)) + 1) + members.kind)
    shared = np.minimum(end[one], end[other]) - np.maximum(start[one], start[other])
    answers = members.answer[one], members.answer[other]
    between = (answers[0] != answers[1]) & (shared > 0)
    earlier, later = np.minimum(*answers)[between], np.maximum(*answers)[between]
    pair = np.searchsorted(left * n_answers + right, earlier * n_answers + later)
    both = sum_by(pair, shared[between], len(left))
    size = sum_by(members.answer, end - start, n_answers)
    either = size[left] + size[right] - both
    return np.where(either > 0, np.maximum(either - both, 0.0) / np.where(either > 0, either, 1.0), 0.0)
