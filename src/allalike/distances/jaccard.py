"""Jaccard distance between sets: the share of their union that belongs to only one of them.

    d(A, B) = 1 - |A and B| / |A or B|,   and 0 if both are empty (Jaccard 1901).

It is a metric. Sets are stored as rows of a sparse structure: sorted element numbers in one array, and the start of
each row in another. Compiled code counts the common elements of two rows in one pass. Similarity of elements is
ignored: ``{"cat"}`` is as distant from ``{"cats"}`` as from ``{"sea"}``.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.lazy_imports import sparse

Places = npt.NDArray[np.int64]

_ELEMENTS_PER_CHUNK = 1 << 22  # elements compared at a time


class Sets(NamedTuple):
    """Many sets: set k has the sorted element numbers ``codes[first[k]:first[k + 1]]``."""

    first: Places
    codes: Places
    elements: list[Any]
    place: dict[Any, int]


def pack(labels: Sequence[Sequence[Hashable]]) -> Sets:
    """Number the elements in sorted order, and put all sets into one array."""
    elements = sorted({element for label in labels for element in label})  # type: ignore[type-var]
    place = {element: code for code, element in enumerate(elements)}
    codes = np.array([place[element] for label in labels for element in label], np.int64)
    first = np.concatenate([[0], np.cumsum([len(label) for label in labels], dtype=np.int64)])
    return Sets(first, codes, elements, place)


def distance(left: Sets, i: npt.NDArray[np.intp], right: Sets, j: npt.NDArray[np.intp]) -> Floats:
    """Compute the distance between set i[k] of the first sets and set j[k] of the others, for all k.

    >>> sets = pack([("a", "b"), ("b", "c"), ()])
    >>> distance(sets, np.array([0, 0, 2]), sets, np.array([1, 2, 2]))
    array([0.66666667, 1.        , 0.        ])
    """
    if len(left.elements) < len(right.elements):
        left, i, right, j = right, j, left, i
    codes = right.codes
    if right is not left:  # elements missing in the other sets get the largest numbers
        known = [left.place.get(element, len(left.elements) + n) for n, element in enumerate(right.elements)]
        codes = np.array(known, np.int64)[codes]
    width = len(left.elements) + len(right.elements)
    size, other_size = left.first[i + 1] - left.first[i], right.first[j + 1] - right.first[j]
    both = np.empty(len(i), np.int64)
    for part in chunks(size + other_size, _ELEMENTS_PER_CHUNK):
        one = _rows(left.first, left.codes, i[part], width)
        other = _rows(right.first, codes, j[part], width)
        both[part] = np.diff(one.multiply(other).indptr)
    either = size + other_size - both
    return np.asarray((either - both) / np.maximum(either, 1), np.float64)


def _rows(first: Places, codes: Places, rows: npt.NDArray[np.intp], width: int) -> Any:
    """Return these sets as a sparse matrix of zeros and ones, one row per set."""
    _, place = ranges(first[rows], first[rows + 1])
    ends = np.concatenate([[0], np.cumsum(first[rows + 1] - first[rows])])
    matrix = sparse.csr_array((np.ones(len(place), np.int8), codes[place], ends), shape=(len(rows), width))
    matrix.sort_indices()
    return matrix


def chunks(sizes: npt.NDArray[np.integer[Any]], most: int) -> Iterator[slice]:
    """Split a list into slices, each with sizes that sum to about ``most``."""
    group = np.cumsum(sizes) // most
    bounds = np.flatnonzero(np.diff(group, prepend=group[:1])).tolist()
    for begin, end in zip([0, *bounds], [*bounds, len(sizes)], strict=True):
        yield slice(begin, end)


def ranges(begin: npt.NDArray[np.integer[Any]], end: npt.NDArray[np.integer[Any]]) -> tuple[Places, Places]:
    """List the integers of many ranges: the index of the range and the integer.

    >>> ranges(np.array([5, 0, 2]), np.array([7, 0, 3]))
    (array([0, 0, 2]), array([5, 6, 2]))
    """
    counts = end - begin
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
