"""Distance between sets of tagged spans, based on covered positions.

    d(A, B) = 1 - |A and B| / |A or B|,   A, B: pairs of a position and a tag

It is the Jaccard distance of sets. Positions are not enumerated: overlapping spans of an answer with the same tag are
merged, and the intersection of two answers is the sum of the overlaps of their spans.
"""

from __future__ import annotations

import numpy as np

from allalike._core.blocks.block import Floats, sum_by
from allalike.distances.matching import Members, Places, sweep


def join_spans(members: Members) -> Members:
    """Merge overlapping spans of an answer with the same tag; geometry is start and end.

    >>> geometry = np.array([[0.0, 4.0], [2.0, 3.0], [3.0, 8.0], [9.0, 10.0]])
    >>> join_spans(Members(geometry, np.zeros(4, int), np.zeros(4, int), np.zeros(4, int))).geometry
    array([[ 0.,  8.],
           [ 9., 10.]])
    """
    start, end = members.geometry.T
    order = np.lexsort((start, members.kind, members.answer))
    start, end, kind, answer = start[order], end[order], members.kind[order], members.answer[order]
    cell = np.cumsum((np.diff(kind, prepend=-1) != 0) | (np.diff(answer, prepend=-1) != 0))
    values, rank = np.unique(end, return_inverse=True)
    reached = np.maximum.accumulate(cell * len(values) + rank)  # end of the previous spans in the cell
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (cell[1:] != cell[:-1]) | (start[1:] > values[reached[:-1] - cell[:-1] * len(values)])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(order)) - 1 if len(order) else first
    joined = np.stack([start[first], values[reached[last] - cell[last] * len(values)]], axis=1)
    return Members(joined, kind[first], answer[first], members.task[order][first])


def measure_positions(members: Members, left: Places, right: Places) -> Floats:
    """Compute the distance between answers left[k] and right[k]; pairs are sorted, with left before right.

    >>> geometry, tag = np.array([[0.0, 4.0], [2.0, 5.0]]), np.zeros(2, int)
    >>> measure_positions(Members(geometry, tag, np.arange(2), tag), np.array([0]), np.array([1]))
    array([0.6])
    """
    spans = join_spans(members)
    n_answers = int(max(left.max(initial=0), right.max(initial=0))) + 1
    start, end = spans.geometry.T
    one, other = sweep(start, end, spans.task * (int(spans.kind.max(initial=0)) + 1) + spans.kind)
    shared = np.minimum(end[one], end[other]) - np.maximum(start[one], start[other])
    earlier, later = (choose(spans.answer[one], spans.answer[other]) for choose in (np.minimum, np.maximum))
    between = (earlier != later) & (shared > 0)
    pair = np.searchsorted(left * n_answers + right, (earlier * n_answers + later)[between])
    both = sum_by(pair, shared[between], len(left))
    size = sum_by(spans.answer, end - start, n_answers)
    either = size[left] + size[right] - both
    return np.where(either > 0, (either - both) / np.where(either > 0, either, 1.0), 0.0)
