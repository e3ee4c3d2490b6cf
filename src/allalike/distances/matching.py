"""Distances of collections of objects, such as the boxes of a picture, by the best matching of their objects.

    M(A, B) = largest sum of s(a, b) over one-to-one matchings of objects of A and B of the same class
    f1:       d = 1 - 2 M / (|A| + |B|)
    jaccard:  d = (|A| + |B| - 2 M) / (|A| + |B| - M)
    count:    d = ||A| - |B|| / max(|A|, |B|)

Here s is how similar two objects are, from 0 to 1. Each distance lies between 0 and 1; it is 0 between two empty
collections, and 1 between an empty one and any other. ``f1`` is 1 minus the panoptic quality (Kirillov et al. 2019)
where objects only match if they share more than half. ``jaccard`` is the transform of Steinhaus of the cost of turning
A into B, where to leave an object out costs 1 and to replace one costs 2 (1 - s); it is a metric if s is one minus a
metric, which the intersection over the union is, and a cut is not. ``f1`` is none: {a}, {a, b}, {b}.

Few objects have more than one partner. An edge whose ends have no other edge is matched at once. What is left goes to
`scipy.sparse.csgraph.min_weight_full_bipartite_matching`, several pairs of collections at a time.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats, sum_by
from allalike._core.late import sparse
from allalike._core.system.memory import check_memory
from allalike.distances.jaccard import chunks, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from allalike._core.masks import Mask

Places = npt.NDArray[np.int64]
_BYTES_PER_MEETING = 120  # of two objects: their places, shapes and similarity
_EDGES_AT_ONCE = 1 << 10  # matched together, of as many pairs of collections as have them
_MAX_SPARE_PORTS = 1 << 20  # so many places may stay empty before ends are numbered anew


class Collections(NamedTuple):
    """Many collections: collection k has the objects ``first[k]`` up to ``first[k + 1]``.

    Of each object, ``geometry`` has a row of numbers, and ``kind`` the number of its class among ``classes``.
    """

    first: Places
    geometry: Floats
    kind: Places
    classes: list[Any]

    @property
    def sizes(self) -> Places:
        """The number of objects per collection."""
        return np.diff(self.first)

    def kinds_among(self, classes: list[Any]) -> Places:
        """Return the class of each object as a number among others; classes that these lack come behind them."""
        place = {name: code for code, name in enumerate(classes)}
        codes = [place.get(name, len(classes) + code) for code, name in enumerate(self.classes)]
        return np.array(codes, np.int64)[self.kind]


class Members(NamedTuple):
    """Objects that may be compared: those of different answers to the same task.

    Of each object, ``geometry`` has a row, and ``kind``, ``answer`` and ``task`` are the numbers of its class, of the
    answer to which it belongs, and of its task.
    """

    geometry: Floats
    kind: Places
    answer: Places
    task: Places

    def cut(self, which: slice) -> Members:
        """Return some of the objects."""
        return Members(self.geometry[which], self.kind[which], self.answer[which], self.task[which])


class Edges(NamedTuple):
    """Pairs of objects, by their places among `Members`, and how similar they are; each pair once."""

    left: Places
    right: Places
    similarity: Floats

    def keep(self, which: npt.NDArray[np.bool_]) -> Edges:
        """Return some of the edges."""
        return Edges(self.left[which], self.right[which], self.similarity[which])


def pack(labels: Sequence[Sequence[tuple[Hashable, ...]]], width: int) -> Collections:
    """Pack collections into one array; an object is a tuple of so many numbers, and its class."""
    things = list(chain.from_iterable(labels))
    columns = [np.fromiter(map(itemgetter(place), things), np.float64, len(things)) for place in range(width)]
    given = list(map(itemgetter(width), things))
    classes = sorted(set(given))
    number = {name: code for code, name in enumerate(classes)}
    return Collections(
        np.concatenate([[0], np.cumsum(np.fromiter(map(len, labels), np.int64, len(labels)))]),
        np.stack(columns, axis=1),
        np.fromiter(map(number.__getitem__, given), np.int64, len(given)),
        classes,
    )


def sweep(low: Floats, high: Floats, cell: Places) -> tuple[Places, Places]:
    """Return all pairs of things in the same cell whose ranges from low to high meet, each once.

    Things are put in order of their lower ends; those that begin before a thing ends follow it.

    >>> left, right = sweep(np.array([0.0, 2.0, 1.0, 0.0]), np.array([1.0, 3.0, 2.0, 9.0]), np.array([0, 0, 0, 1]))
    >>> left, right
    (array([0, 2]), array([2, 1]))
    """
    values = np.unique(low)
    key = cell * (len(values) + 1) + np.searchsorted(values, low)
    order = np.argsort(key, kind="stable")
    beyond = cell[order] * (len(values) + 1) + np.searchsorted(values, high[order], side="right")
    last = np.searchsorted(key[order], beyond)
    begin = np.arange(1, len(order) + 1)
    last = np.maximum(last, begin)
    check_memory(
        _BYTES_PER_MEETING * float((last - begin).sum()),
        f"Comparing objects that may be the same, up to {int(np.bincount(cell).max(initial=0)):,} of a task,",
        "Give fewer answers of each task, or split large pictures and texts into several tasks.",
    )
    left, right = ranges(begin, last)
    return order[left], order[right]


def match(pair: Places, left: Places, right: Places, similarity: Floats, n_pairs: int) -> Floats:
    """Return M of each pair of collections.

    ``pair`` says to which pair of collections an edge belongs, ``left`` and ``right`` number its ends, so that an
    object has another number in each pair of collections.

    >>> pair, left, right = np.array([0, 0, 0, 2]), np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2])
    >>> match(pair, left, right, np.array([0.75, 0.5, 0.5, 0.25]), 3)
    array([1.  , 0.  , 0.25])
    """
    from scipy.sparse import csgraph

    left, right = _compact(left), _compact(right)
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    total = sum_by(pair[alone], similarity[alone], n_pairs)
    rest = np.flatnonzero(~alone)
    rest = rest[np.argsort(pair[rest], kind="stable")]
    bounds = np.flatnonzero(np.diff(pair[rest], prepend=-1, append=n_pairs))
    for part in chunks(np.diff(bounds), _EDGES_AT_ONCE) if len(rest) else ():
        edges = rest[bounds[part.start] : bounds[part.stop]]
        row, column = (np.unique(ends[edges], return_inverse=True)[1] for ends in (left, right))
        height, width = int(row.max()) + 1, int(column.max()) + 1
        single = np.arange(height)  # whoever is on the left may stay alone, which counts nothing
        gain = np.concatenate([1 + similarity[edges], np.ones(height)])  # 1 for everyone: an edge of 0 would be none
        ends = np.concatenate([row, single]), np.concatenate([column, width + single])
        graph = sparse.csr_array((gain, ends), shape=(height, width + height))
        home = np.zeros(height, np.int64)
        home[row] = pair[edges]
        chosen = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
        total += sum_by(home[chosen[0]], graph[chosen] - 1, n_pairs)
    return total


def _compact(ends: Places) -> Places:
    """Number ends anew where their numbers are much larger than there are ends."""
    if not len(ends) or int(ends.max()) < 8 * len(ends) + _MAX_SPARE_PORTS:
        return ends
    return np.unique(ends, return_inverse=True)[1]


def _f1(matched: Floats, size: Places, other: Places) -> Floats:
    total = size + other
    return np.where(total > 0, 1 - 2 * matched / np.maximum(total, 1), 0.0)


def _jaccard(matched: Floats, size: Places, other: Places) -> Floats:
    either = size + other - matched
    return np.where(either > 0, (either - matched) / np.where(either > 0, either, 1.0), 0.0)


def _count(matched: Floats, size: Places, other: Places) -> Floats:
    return np.asarray(np.abs(size - other) / np.maximum(np.maximum(size, other), 1), np.float64)


DISTANCES: dict[str, Callable[[Floats, Places, Places], Floats]] = {"f1": _f1, "jaccard": _jaccard, "count": _count}


def measure_surfaces(left: Mask, right: Mask) -> dict[str, float]:
    """Return the Hausdorff distance, that at 95 %, and the mean surface distance of two masks of one size.

    They are the maximum, the 95th percentile and the mean of the distances of border pixels to the nearest of the other
    border, both ways, in pixels or in the millimetres of a volume (Huttenlocher et al. 1993; Heimann et al. 2009). Two
    empty masks are 0 apart; an empty one and another are NaN apart.

    >>> from allalike._core.masks import Mask
    >>> squares = np.zeros((2, 9, 9), np.bool_)
    >>> squares[0, 2:5, 2:5] = squares[1, 2:5, 4:7] = True
    >>> {name: round(distance, 3) for name, distance in measure_surfaces(*map(Mask.of, squares)).items()}
    {'hausdorff': 2.0, 'hausdorff_95': 2.0, 'surface_distance': 1.0}
    """
    from scipy.spatial import KDTree

    both = np.array([0.0 if left.area == right.area else np.nan])
    if left.area and right.area:
        one, other = _border(left), _border(right)
        both = np.concatenate([KDTree(a).query(b)[0] for a, b in ((other, one), (one, other))])
    found = {"hausdorff": both.max(), "hausdorff_95": np.percentile(both, 95), "surface_distance": both.mean()}
    return {name: float(distance) for name, distance in found.items()}


def _border(mask: Mask) -> Floats:
    """Return the places of all pixels that have an off pixel beside them, or the edge of the picture."""
    from scipy import ndimage

    whole = mask.shown()
    (box,) = ndimage.find_objects(whole.view(np.uint8))
    inner = np.pad(whole[box], 1)
    place = np.argwhere(inner & ~ndimage.binary_erosion(inner)) + [side.start for side in box]
    return np.asarray(place * ((1.0, 1.0) if mask.grid is None else mask.grid.spacing), np.float64)
