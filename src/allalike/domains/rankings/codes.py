"""Codes of rankings: item numbers with marks for ties, gaps and repeated rankings.

A code contains the numbers of items, best first, as big-endian integers of four bytes, so that codes sort like lists of
numbers. Marks precede items: ``TIED`` an item tied with its predecessor, ``REST`` the unranked items tied for the last
position, and ``NEXT`` a further ranking by the same worker.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array

Codes = npt.NDArray[np.object_]

TIED, NEXT, REST = -1, -2, -3
_CODE = np.dtype(">i4")


def pack(codes: Iterable[Sequence[int]]) -> Codes:
    """Convert lists of item numbers and marks to bytes."""
    packed = [struct.pack(f">{len(code)}i", *code) for code in codes]
    return np.fromiter(packed, object, len(packed))


def list_numbers(codes: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all numbers of codes, including marks, and their count per code."""
    listed = codes.tolist()
    sizes = np.fromiter(map(len, listed), np.int64, len(listed)) // _CODE.itemsize
    return np.frombuffer(b"".join(listed), _CODE).astype(np.int64), sizes


def renumber(codes: Codes, place: Array) -> Codes:
    """Renumber the items in codes, given the new number of each item."""
    numbers, sizes = list_numbers(codes)
    table = np.append(place, [REST, NEXT, TIED])  # marks are negative, so they index from the end
    flat = table[numbers].astype(_CODE).tobytes()
    ends = np.append(0, np.cumsum(sizes)) * _CODE.itemsize
    return np.fromiter((flat[begin:end] for begin, end in pairwise(ends.tolist())), object, len(codes))


class Rankings(NamedTuple):
    """The items of many labels, sorted by label and position.

    >>> rankings = unpack(pack([(3, TIED, 1, 2), (0, 1, NEXT, 1, 2)]))
    >>> rankings.label, rankings.ranking
    (array([0, 0, 0, 1, 1, 1, 1]), array([0, 0, 0, 1, 1, 2, 2]))
    >>> rankings.item, rankings.level
    (array([3, 1, 2, 0, 1, 1, 2]), array([0, 0, 1, 0, 1, 0, 1]))
    """

    n_labels: int
    label: npt.NDArray[np.intp]
    ranking: npt.NDArray[np.intp]
    item: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]

    @property
    def starts(self) -> npt.NDArray[np.intp]:
        """The index of each ranking's first item."""
        return np.flatnonzero(np.append(True, np.diff(self.ranking) > 0)[: len(self.ranking)])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of items in each ranking."""
        return np.diff(np.append(self.starts, len(self.ranking)))

    @property
    def n_items(self) -> npt.NDArray[np.int64]:
        """The number of items in each label."""
        return np.bincount(self.label, minlength=self.n_labels)

    @property
    def strict(self) -> npt.NDArray[np.int64]:
        """The number of items in each label that is a single ranking without ties, otherwise 0."""
        n_items, steps = self.n_items, np.zeros(self.n_labels, np.int64)
        np.maximum.at(steps, self.label, self.level + 1)
        return np.where(steps == n_items, n_items, 0)

    def table(self, labels: npt.NDArray[np.bool_], q: int) -> Array:
        """Return the items of some labels with q items, one row per label."""
        dtype = np.min_scalar_type(-int(self.item.max(initial=0)) - 1)  # small numbers sort faster
        return self.item[labels[self.label]].astype(dtype).reshape(-1, q)


def unpack(codes: Codes) -> Rankings:
    """Return the items, rankings and levels in codes."""
    flat, sizes = list_numbers(codes)
    label = np.repeat(np.arange(len(codes)), sizes)
    starts = np.cumsum(sizes) - sizes
    items = np.flatnonzero(flat >= 0)
    before = np.append(NEXT, flat[:-1])
    before[starts[sizes > 0]] = NEXT
    mark = before[items]
    begins = mark == NEXT
    ranking = np.cumsum(begins) - 1
    steps = np.cumsum(mark != TIED)
    level = steps - steps[begins][ranking]
    return Rankings(len(codes), label[items], ranking, flat[items], level)


def add_up(codes: Codes, starts: Array) -> Codes:
    """Merge each group of adjacent codes into one with several rankings, regardless of the order of rows."""
    listed, bounds = codes.tolist(), [*starts.tolist(), len(codes)]
    groups = (listed[begin:end] for begin, end in pairwise(bounds))
    return pack(_join(sorted(chain.from_iterable(map(split, group)))) for group in groups)


def take_apart(codes: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Return the single rankings in codes, and their number per code."""
    if NEXT not in list_numbers(codes)[0]:
        return codes, np.ones(len(codes), np.int64)
    parts = list(map(split, codes.tolist()))
    return pack(chain.from_iterable(parts)), np.fromiter(map(len, parts), np.int64, len(parts))


def fill_gaps(codes: Codes, task: Array, n_tasks: int) -> Codes:
    """Append the items of a task that a ranking lacks, tied at the last position.

    >>> list_numbers(fill_gaps(pack([(0, 1), (2, 0, 1)]), np.array([0, 0]), 1))[0]
    array([ 0,  1, -3,  2,  2,  0,  1])
    """
    parts, tasks = list(map(split, codes.tolist())), task.tolist()
    items: list[set[int]] = [set() for _ in range(n_tasks)]
    for own, rankings in zip(tasks, parts, strict=True):
        items[own].update(*rankings)
    return pack(
        _join(_fill(ranking, items[own]) for ranking in rankings) for own, rankings in zip(tasks, parts, strict=True)
    )


def _fill(ranking: list[int], items: set[int]) -> list[int]:
    kept = ranking[: ranking.index(REST)] if REST in ranking else ranking
    rest = sorted(item for item in items.difference(kept) if item >= 0)
    tail = [number for item in rest for number in (TIED, item)]
    return [*kept, *([REST, *tail[1:]] if rest else [])]


def split(code: bytes) -> list[list[int]]:
    """Return the numbers of each ranking in a code."""
    numbers = struct.unpack(f">{len(code) // _CODE.itemsize}i", code)
    if NEXT not in numbers:
        return [list(numbers)]
    rankings: list[list[int]] = [[]]
    for number in numbers:
        if number == NEXT:
            rankings.append([])
        else:
            rankings[-1].append(number)
    return rankings


def _join(rankings: Iterable[list[int]]) -> list[int]:
    """Concatenate the numbers of rankings, with marks between them."""
    return [number for ranking in rankings for number in (NEXT, *ranking)][1:]
