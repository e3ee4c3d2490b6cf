"""Groups of objects: drawings of the same object in different answers to a task.

Two objects of different answers are joined by an edge if they are similar enough, regardless of their classes. The
edges of a task are sorted by decreasing similarity (rounded to nine digits), then by equality of classes, then by the
objects themselves. Initially every object is a group. Each edge in turn joins the groups of its ends unless an answer
has objects in both. A worker thus supports a group only once, and the result does not depend on the order of rows, the
engine or blocks. It does not depend on weights either, so groups are computed once.

A connected component in which no answer occurs twice is a single group. Only other components are processed edge by
edge.

Grouping fails if different objects are closer to each other than two drawings of the same object.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.lazy_imports import sparse

_DIGITS = 9


@dataclass(frozen=True)
class GroupedObjects:
    """The objects in the answers of a block, grouped by identity."""

    answer: Array
    group: npt.NDArray[np.intp]
    geometry: Floats
    kind: Array
    task: Array
    classes: npt.NDArray[np.object_]
    class_hash: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.task)


def group_objects(left: Array, right: Array, similarity: Floats, same: Array, answer: Array, rank: Array) -> Array:
    """Return the group index of each object; groups are sorted by their first object.

    >>> left, right, similarity = np.array([0, 1, 0]), np.array([2, 2, 3]), np.array([0.5, 0.9, 0.4])
    >>> same = np.array([True, True, True])
    >>> group_objects(left, right, similarity, same, np.array([0, 0, 1, 2]), np.arange(4))  # 0 and 1 are one worker's
    array([0, 1, 1, 0])
    """
    n = len(answer)
    part = _find_parts(left, right, n)
    width = int(answer.max(initial=0)) + 1
    key = np.sort(part * width + answer)
    crowded = np.zeros(int(part.max(initial=-1)) + 1, np.bool_)  # components with several objects of an answer
    crowded[key[1:][key[1:] == key[:-1]] // width] = True
    open_edges = np.flatnonzero(crowded[part[left]])
    if not len(open_edges):
        return _number(part, rank)
    left, right, same, similarity = left[open_edges], right[open_edges], same[open_edges], similarity[open_edges]
    first, second = np.minimum(rank[left], rank[right]), np.maximum(rank[left], rank[right])
    order = np.lexsort((second, first, ~same, -similarity.round(_DIGITS)))
    owner = np.arange(n)
    inside = np.flatnonzero(crowded[part])
    owner[inside] = _join(left[order], right[order], answer, part, inside, n)[inside]
    alone = ~crowded[part]
    owner[alone] = n + part[alone]
    return _number(owner, rank)


def _find_parts(left: Array, right: Array, n: int) -> Array:
    """Number the connected components of objects."""
    from scipy.sparse import csgraph

    graph = sparse.coo_array((np.ones(len(left), np.int8), (left, right)), shape=(n, n))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], np.int64)


def _join(left: Array, right: Array, answer: Array, part: Array, inside: Array, n: int) -> Array:
    """Join groups along sorted edges unless an answer has objects in both; return a representative per object."""
    owner = list(range(n))
    first_answer = np.full(int(part.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_answer, part[inside], answer[inside])
    shift = np.zeros(n, np.int64)
    shift[inside] = answer[inside] - first_answer[part[inside]]
    who = [1 << place for place in shift.tolist()]  # bit sets of the answers in each group
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        a, b = one, other
        while owner[a] != a:
            owner[a] = a = owner[owner[a]]
        while owner[b] != b:
            owner[b] = b = owner[owner[b]]
        if a != b and not who[a] & who[b]:
            owner[b] = a
            who[a] |= who[b]
    found = np.array(owner)
    while not np.array_equal(found, found[found]):
        found = found[found]
    return found


def _number(owner: Array, rank: Array) -> Array:
    """Number the groups in the order of their first objects."""
    order = np.argsort(rank)
    _, first, place = np.unique(owner[order], return_index=True, return_inverse=True)
    number = np.empty(len(owner), np.int64)
    number[order] = np.argsort(np.argsort(first))[place]
    return number
