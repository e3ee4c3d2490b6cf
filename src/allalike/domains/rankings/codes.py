"""Codes of rankings: which item stands at which place, with ties, gaps, and several rankings in one answer.

A code lists the numbers of items, best first, as bytes: four for each number, the largest byte first, so that codes
sort as the numbers do. Between items there may be marks: ``TIED`` before an item that shares the place of the one
before, ``REST`` before items that the worker did not rank and that share the last place, and ``NEXT`` before a further
ranking by the same worker.
"""

from __future__ import annotations

import struct
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike._core.blocks.block import Array

Codes = npt.NDArray[np.object_]

TIED, NEXT, REST = -1, -2, -3
_CODE = np.dtype(">i4")
_NEXT_BYTES = np.array(NEXT, _CODE).tobytes()


def pack(codes: Iterable[Sequence[int]]) -> Codes:
    """Write lists of items' numbers and marks as bytes."""
    packed = [struct.pack(f">{len(code)}i", *code) for code in codes]
    return np.fromiter(packed, object, len(packed))


def pack_rows(rows: Array) -> Codes:
    """Write a table of items' numbers as bytes, one code per row."""
    packed = np.ascontiguousarray(rows, _CODE)
    codes = np.empty(len(rows), object)
    codes[:] = packed.view(f"V{rows.shape[1] * _CODE.itemsize}").ravel().tolist() if packed.size else b""
    return codes


def join(codes: Codes, chosen: Array, sizes: Array) -> Codes:
    """Concatenate the chosen codes into new ones, so many for each."""
    length = _lengths(codes.tolist())[chosen]
    ends = np.append(0, np.cumsum(length))[np.append(0, np.cumsum(sizes))]
    return _cut(b"".join(codes[chosen]), ends)


def _cut(text: bytes, ends: Array) -> Codes:
    return np.fromiter((text[begin:end] for begin, end in pairwise(ends.tolist())), object, len(ends) - 1)


def list_numbers(codes: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all numbers of codes, marks included, and how many each code has."""
    listed = codes.tolist()
    return np.frombuffer(b"".join(listed), _CODE).astype(np.int64), _lengths(listed) // _CODE.itemsize


def _lengths(codes: list[bytes]) -> npt.NDArray[np.int64]:
    different = set(map(len, codes))
    if len(different) == 1:
        return np.full(len(codes), different.pop(), np.int64)
    return np.fromiter(map(len, codes), np.int64, len(codes))


def renumber(codes: Codes, place: Array) -> Codes:
    """Return codes with other numbers of the same items; the new number of each item is given."""
    numbers, sizes = list_numbers(codes)
    table = np.append(place, [REST, NEXT, TIED])  # negative numbers count from the end
    return _cut(table[numbers].astype(_CODE).tobytes(), np.append(0, np.cumsum(sizes)) * _CODE.itemsize)


class Rankings(NamedTuple):
    """The items of many labels, label after label and best first.

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
    filled: npt.NDArray[np.bool_]

    @property
    def starts(self) -> npt.NDArray[np.intp]:
        """The first item of each ranking."""
        return np.flatnonzero(np.append(True, np.diff(self.ranking) > 0)[: len(self.ranking)])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of items of each ranking."""
        return np.diff(np.append(self.starts, len(self.ranking)))

    @property
    def n_pairs(self) -> npt.NDArray[np.int64]:
        """The number of pairs of items of each label; those of several rankings count several times."""
        n = self.lengths
        return np.bincount(self.label[self.starts], n * (n - 1) // 2, self.n_labels).astype(np.int64)

    def keep(self, items: npt.NDArray[np.bool_]) -> Rankings:
        """Return the rankings of some items only; labels keep their numbers."""
        columns: list[Any] = [column[items] for column in self[1:]]
        return Rankings(self.n_labels, *columns)


def unpack(codes: Codes) -> Rankings:
    """Return the items, rankings and levels of codes."""
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
    rest = np.cumsum(mark == REST)
    filled = rest > (rest[begins] - (mark[begins] == REST))[ranking]
    return Rankings(len(codes), label[items], ranking, flat[items], level, filled)


class Listed(NamedTuple):
    """The items of labels in a row; how many each label has; and how many if it is one order without ties, else 0."""

    items: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    strict: npt.NDArray[np.int64]

    @classmethod
    def of(cls, codes: Codes) -> Listed:
        """List the items of codes."""
        flat, sizes = list_numbers(codes)
        if (flat >= 0).all():
            return cls(flat, sizes, sizes)
        label, item = np.repeat(np.arange(len(codes)), sizes), flat >= 0
        n_items = np.bincount(label[item], minlength=len(codes))
        loose = np.bincount(label[(flat == TIED) | (flat == NEXT)], minlength=len(codes)) > 0
        return cls(flat[item], n_items, np.where(loose, 0, n_items))

    def table(self, rows: npt.NDArray[np.bool_], q: int) -> Array:
        """Return the items of some labels that have q of them, one row per label; the rows are told for all."""
        items = self.items if rows.all() else self.items[np.repeat(rows, self.sizes)]
        dtype = np.min_scalar_type(-int(self.items.max(initial=0)) - 1)  # small numbers sort faster
        return items.astype(dtype, copy=False).reshape(-1, q)


def add_up(codes: Codes, starts: Array) -> Codes:
    """Make one code of each group of neighbouring ones: several rankings, in an order independent of that of rows."""
    ends = np.append(starts[1:], len(codes))
    groups = (codes[begin:end].tolist() for begin, end in zip(starts.tolist(), ends.tolist(), strict=True))
    single = _NEXT_BYTES not in b"".join(codes)
    joined = (
        group[0] if len(group) == 1 else _NEXT_BYTES.join(sorted(group if single else chain(*map(_split, group))))
        for group in groups
    )
    return np.fromiter(joined, object, len(starts))


def take_apart(codes: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Return the single rankings of codes, and how many each code has."""
    if _NEXT_BYTES not in b"".join(codes):
        return codes, np.ones(len(codes), np.int64)
    parts = list(map(_split, codes.tolist()))
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.fromiter(chain.from_iterable(parts), object, int(sizes.sum())), sizes


def _split(code: bytes) -> list[bytes]:
    """Split a code into single rankings; bytes of a mark may also begin within a number."""
    flat = np.frombuffer(code, _CODE)
    parts = np.split(flat, np.flatnonzero(flat == NEXT))
    return [part[place > 0 :].tobytes() for place, part in enumerate(parts)]


def fill_gaps(codes: Codes, task: Array, n_tasks: int) -> Codes:
    """Put the items of a task that a ranking lacks at its end, all at one place, whatever stood there before.

    >>> list_numbers(fill_gaps(pack([(0, 1), (2, 0, 1)]), np.array([0, 0]), 1))[0]
    array([ 0,  1, -3,  2,  2,  0,  1])
    """
    rankings = unpack(codes)
    n_items = int(rankings.item.max(initial=0)) + 1
    there = np.unique(task[rankings.label] * n_items + rankings.item)
    own, items = there // n_items, there % n_items
    first = np.searchsorted(own, np.arange(n_tasks + 1))
    label = rankings.label[rankings.starts]
    short = np.unique(label[rankings.lengths < np.diff(first)[task[label]]])
    result, known = codes.copy(), dict[tuple[bytes, int], bytes]()
    for place, code, number in zip(short.tolist(), codes[short], task[short].tolist(), strict=True):
        key = code, number
        if key not in known:
            known[key] = _NEXT_BYTES.join(
                _fill(part, items[first[number] : first[number + 1]]) for part in _split(code)
            )
        result[place] = known[key]
    return result


def _fill(ranking: bytes, items: Array) -> bytes:
    flat = np.frombuffer(ranking, _CODE)
    kept = flat[: int(np.argmax(flat == REST))] if (flat == REST).any() else flat
    rest = np.setdiff1d(items, kept)
    tail = np.full(2 * len(rest), TIED)
    tail[1::2] = rest
    tail[:1] = REST
    filled: bytes = np.concatenate([kept, tail]).astype(_CODE).tobytes()
    return filled
