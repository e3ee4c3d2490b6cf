"""Distances between collections of objects, such as the boxes in an image, by optimal matching.

    M(A, B) = largest sum of s(a, b) over one-to-one matchings of objects of A and B of the same class

    f1:       d = 1 - 2 M / (|A| + |B|)
    jaccard:  d = (|A| + |B| - 2 M) / (|A| + |B| - M)
    count:    d = ||A| - |B|| / max(|A|, |B|)

Here s is the similarity of two objects, from 0 to 1. All distances are between 0 and 1: 0 for two empty collections,
and 1 for an empty and a nonempty one. If objects match only above a similarity of one half, ``f1`` is 1 minus the
panoptic quality (Kirillov et al. 2019). ``jaccard`` is the Steinhaus transform of an edit cost from A to B: deletion
costs 1 and replacement 2 (1 - s). It is a metric if 1 - s is a metric, as for intersection over union without a
threshold. ``f1`` is not a metric: consider {a}, {a, b}, {b}.

Most objects have at most one partner. Edges that share no end with other edges are matched directly. The remaining ones
are passed to `scipy.sparse.csgraph.min_weight_full_bipartite_matching`, for several pairs of collections at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats, sum_by
from allalike._core.lazy_imports import sparse
from allalike._core.masks import Mask
from allalike._core.system.memory import check_memory
from allalike.distances.jaccard import chunks, ranges

Places = npt.NDArray[np.int64]
_BYTES_PER_MEETING = 120  # per pair of objects: indices, shapes and similarity
CELLS_PER_CHUNK = 1 << 19  # pairs of objects compared at a time
_EDGES_AT_ONCE = 1 << 10  # edges matched together, from several pairs of collections
_MAX_SPARE_PORTS = 1 << 20  # maximum number of unused indices before ends are renumbered


class Collections(NamedTuple):
    """Many collections: collection k has the objects ``first[k]`` to ``first[k + 1]``.

    For each object, ``geometry`` has a row of numbers, and ``kind`` the index of its class in ``classes``.
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
        """Return the class indices of objects in another list; missing classes get the largest indices."""
        place = {name: code for code, name in enumerate(classes)}
        codes = [place.get(name, len(classes) + code) for code, name in enumerate(self.classes)]
        return np.array(codes, np.int64)[self.kind]


class Members(NamedTuple):
    """Objects in different answers to the same tasks.

    For each object, ``geometry`` has a row of numbers. ``kind``, ``answer`` and ``task`` are the indices of its class,
    its answer and its task.
    """

    geometry: Floats
    kind: Places
    answer: Places
    task: Places

    def cut(self, which: slice) -> Members:
        """Return some of the objects."""
        return Members(self.geometry[which], self.kind[which], self.answer[which], self.task[which])


class Edges(NamedTuple):
    """Pairs of objects as indices into `Members`, each pair once, and their similarities."""

    left: Places
    right: Places
    similarity: Floats

    def keep(self, which: npt.NDArray[np.bool_]) -> Edges:
        """Return some of the edges."""
        return Edges(self.left[which], self.right[which], self.similarity[which])


def pack(labels: Sequence[Sequence[tuple[Hashable, ...]]], width: int) -> Collections:
    """Pack collections into arrays; an object is a tuple of ``width`` numbers and its class."""
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


def meet(left: Collections, i: Places, right: Collections, j: Places) -> Iterator[tuple[slice, Members]]:
    """Yield the objects of pairs i[k], j[k] of collections, in chunks: task k has the answers 2 k and 2 k + 1."""
    kinds = right.kind if right is left else right.kinds_among(left.classes)
    for part in chunks((left.sizes[i] + right.sizes[j]) ** 2, CELLS_PER_CHUNK):
        one, own = ranges(left.first[i[part]], left.first[i[part] + 1])
        other, theirs = ranges(right.first[j[part]], right.first[j[part] + 1])
        answer = np.concatenate([2 * one, 2 * other + 1])
        order = np.argsort(answer, kind="stable")
        geometry = np.concatenate([left.geometry[own], right.geometry[theirs]])[order]
        kind = np.concatenate([left.kind[own], kinds[theirs]])[order]
        yield part, Members(geometry, kind, answer[order], answer[order] // 2)


def sweep(low: Floats, high: Floats, cell: Places) -> tuple[Places, Places]:
    """Return all distinct pairs of objects in the same cell with overlapping ranges from low to high.

    Objects are sorted by their lower ends, so the overlapping ones follow.

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
        f"Comparing similar objects, up to {int(np.bincount(cell).max(initial=0)):,} per task,",
        "Use fewer answers per task, or split large pictures and texts into several tasks.",
    )
    left, right = ranges(begin, last)
    return order[left], order[right]


def match(pair: Places, left: Places, right: Places, similarity: Floats, n_pairs: int) -> Floats:
    """Return M for each pair of collections.

    ``pair`` is the index of an edge's pair of collections. ``left`` and ``right`` number its ends; an object has
    different numbers in different pairs.

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
        single = np.arange(height)  # leaves the left object unmatched, with no gain
        gain = np.concatenate([1 + similarity[edges], np.ones(height)])  # plus 1, because zeros are not edges
        ends = np.concatenate([row, single]), np.concatenate([column, width + single])
        graph = sparse.csr_array((gain, ends), shape=(height, width + height))
        home = np.zeros(height, np.int64)
        home[row] = pair[edges]
        chosen = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
        total += sum_by(home[chosen[0]], graph[chosen] - 1, n_pairs)
    return total


def _compact(ends: Places) -> Places:
    """Renumber ends if their numbers are much larger than their count."""
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
    """Return the Hausdorff distance, its 95th percentile version, and the mean surface distance between two masks.

    They are the maximum, the 95th percentile and the mean of distances from border pixels to the nearest border pixel
    of the other mask, in both directions. The unit is pixels, or millimetres for volumes (Huttenlocher et al. 1993;
    Heimann et al. 2009). The distance between two empty masks is 0; if only one is empty, it is NaN.

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
    """Return the coordinates of all pixels adjacent to an off pixel or to the edge of the image."""
    from scipy import ndimage

    whole = mask.shown()
    (box,) = ndimage.find_objects(whole.view(np.uint8))
    inner = np.pad(whole[box], 1)
    place = np.argwhere(inner & ~ndimage.binary_erosion(inner)) + [side.start for side in box]
    return np.asarray(place * ((1.0, 1.0) if mask.grid is None else mask.grid.spacing), np.float64)
