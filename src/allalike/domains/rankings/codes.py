"""Rankings as arrays: which items stand at which place, with ties, gaps, and several rankings in one answer.

A code of a ranking is a row of items' numbers, best first, filled up with -1: so complete orders are drawn. Or it is a
string of bytes, four for each number, the largest first, so that codes sort as the rows would. Between the items there
may be marks: ``TIED`` before an item that shares the place of the one before, ``REST`` before items that nobody ranked
and that share the last place, and ``NEXT`` before a further ranking by the same worker.

A ranking of k items compares k (k - 1) / 2 pairs, and that is all it says. A pair {a, b} with a < b has a share r for
a: 1 if a is before b, 0 if behind, 1/2 if they are tied; several rankings that compare it are averaged.
"""

from __future__ import annotations

import struct
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TIED, NEXT, REST = -1, -2, -3
PAIRS_PER_CHUNK = 1 << 21  # pairs of items that are listed together
_CODE = np.dtype(">i4")


class Rankings(NamedTuple):
    """The items of many labels, label after label and best first.

    >>> found = unpack(pack([(3, TIED, 1, 2), (0, 1, NEXT, 1, 2)]))
    >>> found.label, found.ranking
    (array([0, 0, 0, 1, 1, 1, 1]), array([0, 0, 0, 1, 1, 2, 2]))
    >>> found.item, found.level
    (array([3, 1, 2, 0, 1, 1, 2]), array([0, 0, 1, 0, 1, 0, 1]))
    """

    n_labels: int
    label: npt.NDArray[np.intp]
    ranking: npt.NDArray[np.intp]
    item: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]
    filled: npt.NDArray[np.bool_]

    @property
    def strict(self) -> npt.NDArray[np.int64]:
        """How many items each label orders, if it is one ranking without ties, and else 0."""
        sizes = np.bincount(self.label, minlength=self.n_labels)
        again = self.label[1:] == self.label[:-1]
        loose = again & ((self.ranking[1:] != self.ranking[:-1]) | (self.level[1:] == self.level[:-1]))
        sizes[self.label[1:][loose]] = 0
        return sizes

    def take(self, rows: Array) -> Rankings:
        """Return some labels only; which ones is told for all of them."""
        number = np.cumsum(rows) - 1
        kept = rows[self.label]
        ranking = self.ranking[kept]
        if len(ranking):
            ranking = np.cumsum(np.append(0, np.diff(ranking) > 0))
        return Rankings(
            int(rows.sum()), number[self.label[kept]], ranking, self.item[kept], self.level[kept], self.filled[kept]
        )


def pack(codes: Iterable[Sequence[int]]) -> npt.NDArray[np.object_]:
    """Write items' numbers and marks as bytes.

    >>> [list(code) for code in pack([(0, 258)])]
    [[0, 0, 0, 0, 0, 0, 1, 2]]
    """
    packed = [struct.pack(f">{len(code)}i", *code) for code in codes]
    return np.fromiter(packed, object, len(packed))


def pack_rows(rows: Array) -> npt.NDArray[np.object_]:
    """Write rows of items' numbers as bytes, each of the same length.

    >>> bool((pack_rows(np.array([[0, 258]])) == pack([(0, 258)])).all())
    True
    """
    packed = np.ascontiguousarray(rows, _CODE)
    codes = np.empty(len(rows), object)
    codes[:] = packed.view(f"V{rows.shape[1] * _CODE.itemsize}").ravel().tolist() if packed.size else b""
    return codes


def join(codes: Array, chosen: Array, sizes: Array) -> npt.NDArray[np.object_]:
    """Put some of the codes one behind the other, so many of them for each of the new ones.

    >>> found = join(pack([(3,), (1, TIED, 2)]), np.array([0, 1, 0]), np.array([2, 1]))
    >>> numbers(found)
    (array([ 3,  1, -1,  2,  3]), array([4, 1]))
    """
    parts = codes[chosen]
    length = _lengths(codes.tolist())[chosen]
    ends = np.append(0, np.cumsum(length))[np.append(0, np.cumsum(sizes))]
    return _cut(b"".join(parts), ends)


def _cut(text: bytes, ends: Array) -> npt.NDArray[np.object_]:
    """Cut bytes at some places into codes."""
    return np.fromiter((text[begin:end] for begin, end in pairwise(ends.tolist())), object, len(ends) - 1)


def numbers(codes: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all numbers of codes, marks included, and how many each code has.

    >>> numbers(pack([(3, 1), (2,)])), numbers(np.array([[3, 1], [2, -1]]))
    ((array([3, 1, 2]), array([2, 1])), (array([3, 1, 2]), array([2, 1])))
    """
    if codes.ndim == 2:
        there = codes >= 0
        return codes[there].astype(np.int64), np.count_nonzero(there, axis=1)
    listed = codes.tolist()
    return np.frombuffer(b"".join(listed), _CODE).astype(np.int64), _lengths(listed) // _CODE.itemsize


def _lengths(codes: list[bytes]) -> npt.NDArray[np.int64]:
    """Return the lengths of codes, which mostly are all the same."""
    different = set(map(len, codes))
    if len(different) == 1:
        return np.full(len(codes), different.pop(), np.int64)
    return np.fromiter(map(len, codes), np.int64, len(codes))


def renumber(codes: Array, place: Array) -> npt.NDArray[np.object_]:
    """Return packed codes with other numbers of the same items; the new one of each is given.

    >>> numbers(renumber(pack([(0, TIED, 1)]), np.array([5, 7])))[0]
    array([ 5, -1,  7])
    """
    found, sizes = numbers(codes)
    table = np.append(place, [REST, NEXT, TIED])  # which negative numbers find from the end
    return _cut(table[found].astype(_CODE).tobytes(), np.append(0, np.cumsum(sizes)) * _CODE.itemsize)


def unpack(codes: Array) -> Rankings:
    """Find out which item stands where in each label.

    >>> unpack(np.array([[2, 0, -1], [1, 0, 2]])).item
    array([2, 0, 1, 0, 2])
    """
    flat, sizes = numbers(codes)
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
    """The items of labels, one behind the other; how many each label has; and how many if it is a plain order, else 0.

    >>> Listed.of(pack([(3, 1), (0, TIED, 2)])).strict
    array([2, 0])
    """

    items: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    strict: npt.NDArray[np.int64]

    @classmethod
    def of(cls, codes: Array) -> Listed:
        """List the items of codes."""
        flat, sizes = numbers(codes)
        if (flat >= 0).all():
            return cls(flat, sizes, sizes)
        found = unpack(codes)
        return cls(found.item, np.bincount(found.label, minlength=len(codes)), found.strict)

    def table(self, rows: npt.NDArray[np.bool_], q: int, dtype: Any = np.int64) -> Array:
        """Return the items of some labels that have q of them, one row each; which ones is told for all."""
        items = self.items if rows.all() else self.items[np.repeat(rows, self.sizes)]
        return items.astype(dtype, copy=False).reshape(-1, q)


def add_up(codes: Array, starts: Array) -> npt.NDArray[np.object_]:
    """Make one code of each group of neighbouring ones: several rankings, in an order that rows have no part in.

    >>> numbers(add_up(pack([(1, 2), (0, 1), (2, 1)]), np.array([0, 2])))[0]
    array([ 0,  1, -2,  1,  2,  2,  1])
    """
    mark = np.array(NEXT, _CODE).tobytes()
    ends = np.append(starts[1:], len(codes))
    groups = (codes[begin:end].tolist() for begin, end in zip(starts.tolist(), ends.tolist(), strict=True))
    single = mark not in b"".join(codes)
    joined = (
        group[0] if len(group) == 1 else mark.join(sorted(group if single else _parts(group))) for group in groups
    )
    return np.fromiter(joined, object, len(starts))


def take_apart(codes: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the single rankings of codes, and how many each was made of.

    >>> apart, sizes = take_apart(pack([(0, 1, NEXT, 1, 2), (2, 1)]))
    >>> numbers(apart), sizes
    ((array([0, 1, 1, 2, 2, 1]), array([2, 2, 2])), array([2, 1]))
    """
    if codes.ndim == 2 or np.array(NEXT, _CODE).tobytes() not in b"".join(codes):
        return codes, np.ones(len(codes), np.int64)
    parts = [_parts([code]) for code in codes.tolist()]
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.fromiter(chain.from_iterable(parts), object, int(sizes.sum())), sizes


def _parts(codes: list[bytes]) -> list[bytes]:
    """Take codes apart into single rankings."""
    found: list[bytes] = []
    for code in codes:
        flat = np.frombuffer(code, _CODE)
        cuts = np.flatnonzero(flat == NEXT)
        found += [np.delete(part, 0).tobytes() if k else part.tobytes() for k, part in enumerate(np.split(flat, cuts))]
    return found


def fill_gaps(codes: Array, task: Array, n_tasks: int) -> npt.NDArray[np.object_]:
    """Put the items of a task that a ranking lacks at its end, all at one place, whatever stood there before.

    >>> numbers(fill_gaps(pack([(0, 1), (2, 0, 1)]), np.array([0, 0]), 1))[0]
    array([ 0,  1, -3,  2,  2,  0,  1])
    """
    found = unpack(codes)
    n_items = int(found.item.max(initial=0)) + 1
    there = np.unique(task[found.label] * n_items + found.item)
    own, items = there // n_items, there % n_items
    first = np.searchsorted(own, np.arange(n_tasks + 1))
    begins = np.flatnonzero(np.append(True, np.diff(found.ranking) > 0))
    lengths = np.diff(np.append(begins, len(found.ranking)))
    label = found.label[begins]
    short = np.unique(label[lengths < np.diff(first)[task[label]]])
    result, known = codes.copy(), dict[tuple[bytes, int], bytes]()
    for place, code, number in zip(short.tolist(), codes[short], task[short].tolist(), strict=True):
        key = code, number
        if key not in known:
            known[key] = _filled(code, items[first[number] : first[number + 1]])
        result[place] = known[key]
    return result


def _filled(code: bytes, items: Array) -> bytes:
    flat = np.frombuffer(code, _CODE)
    parts: list[Any] = []
    for part in np.split(flat, np.flatnonzero(flat == NEXT)):
        kept = part[: int(np.argmax(part == REST))] if (part == REST).any() else part
        rest = np.setdiff1d(items, kept)
        tail = np.full(2 * len(rest), TIED)
        tail[1::2] = rest
        tail[:1] = REST
        parts += [kept, tail]
    filled: bytes = np.concatenate(parts).astype(_CODE).tobytes()
    return filled


class PairShares(NamedTuple):
    """What labels say of pairs of items: for a pair a < b of a label, the share for a, by how many comparisons."""

    label: npt.NDArray[np.intp]
    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    share: Floats
    times: Floats


def share_pairs(found: Rankings) -> PairShares:
    """List the pairs of items of each label, each once.

    >>> pairs = share_pairs(unpack(pack([(3, TIED, 1, 2), (0, 1, NEXT, 1, 0, NEXT, 0, 1)])))
    >>> pairs.a, pairs.b, pairs.share.round(3), pairs.times
    (array([1, 1, 2, 0]), array([2, 3, 3, 1]), array([1.   , 0.5  , 0.   , 0.667]), array([1., 1., 1., 3.]))
    """
    starts = np.flatnonzero(np.append(True, np.diff(found.ranking) > 0)) if len(found.ranking) else np.empty(0, np.intp)
    lengths = np.diff(np.append(starts, len(found.ranking)))
    parts = []
    for k in np.unique(lengths[lengths > 1]):
        place = starts[lengths == k][:, None] + np.arange(k)
        i, j = np.triu_indices(int(k), 1)
        left, right = place[:, i].ravel(), place[:, j].ravel()
        first, second = found.item[left], found.item[right]
        share = np.where(found.level[left] < found.level[right], 1.0, 0.5)
        swapped = first > second
        parts.append(
            (
                found.label[left],
                np.where(swapped, second, first),
                np.where(swapped, first, second),
                np.where(swapped, 1.0 - share, share),
            )
        )
    if not parts:
        empty = np.empty(0, np.int64)
        return PairShares(empty, empty, empty, np.empty(0), np.empty(0))
    label, a, b, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = sort_triples(label, a, b)
    label, a, b, share = label[order], a[order], b[order], share[order]
    new = np.append(True, (np.diff(label) != 0) | (np.diff(a) != 0) | (np.diff(b) != 0))
    if new.all():
        return PairShares(label, a, b, share, np.ones(len(share)))
    begin = np.flatnonzero(new)
    count = np.diff(np.append(begin, len(share))).astype(np.float64)
    return PairShares(label[begin], a[begin], b[begin], np.add.reduceat(share, begin) / count, count)


def sort_triples(first: Array, second: Array, third: Array) -> npt.NDArray[np.intp]:
    """Return the order of triples of whole numbers from 0; mostly the three fit in one number, which sorts fastest.

    >>> sort_triples(np.array([1, 0, 0]), np.array([0, 2, 2]), np.array([0, 5, 4]))
    array([2, 1, 0])
    """
    sizes = [int(part.max(initial=0)) + 1 for part in (first, second, third)]
    if sizes[0] * sizes[1] * sizes[2] >= 1 << 62:
        order: npt.NDArray[np.intp] = np.lexsort((third, second, first))
        return order
    keys: npt.NDArray[np.int64] = (first.astype(np.int64) * sizes[1] + second) * sizes[2] + third
    return np.argsort(keys, kind="stable")


def count_pairs(found: Rankings) -> npt.NDArray[np.int64]:
    """Count the pairs of items in each label, those of several rankings several times.

    >>> count_pairs(unpack(pack([(0, 1, 2), (4,)])))
    array([3, 0])
    """
    if not len(found.ranking):
        return np.zeros(found.n_labels, np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(found.ranking) > 0))
    lengths = np.diff(np.append(starts, len(found.ranking)))
    counts = np.bincount(found.label[starts], lengths * (lengths - 1) // 2, found.n_labels)
    return counts.astype(np.int64)


# Pairs of items, some at a time: an item with a range of later ones.
#
# With few answers to a task of many items, a pass over the answers costs less than calling it: then hundreds of pairs
# go into one pass. With many answers one pair fills the cache, and pairs go one by one.


_NUMBERS_AT_ONCE = 1 << 14


def item_pairs(n_items: int, n_answers: int) -> Iterator[tuple[int, slice]]:
    """Yield all pairs of items: one, and a range of those after it.

    >>> list(item_pairs(4, 3))
    [(0, slice(1, 4, None)), (1, slice(2, 4, None)), (2, slice(3, 4, None))]
    >>> list(item_pairs(3, 10_000))
    [(0, slice(1, 2, None)), (0, slice(2, 3, None)), (1, slice(2, 3, None))]
    """
    step = max(_NUMBERS_AT_ONCE // max(n_answers, 1), 1)
    for item in range(n_items):
        for first in range(item + 1, n_items, step):
            yield item, slice(first, min(first + step, n_items))


class Sides:
    """The answers of a block, which take one side or the other in each pair of items, with their weights.

    >>> from allalike._core.blocks.block import Block
    >>> sides = Sides(Block.of([[0], [0], [0]]), np.array([1.0, 2.0, 4.0]))
    >>> sides.weigh(np.array([[True, False, True]]))
    (array([2., 5.]), array([[1, 0, 1]]))
    """

    def __init__(self, block: Block, weight: Floats) -> None:
        self._weight, self._n_sides = weight, 2 * block.n_tasks
        self._first = block.to_answers(2 * np.arange(block.n_tasks))[None]

    def weigh(self, taken: npt.NDArray[np.bool_]) -> tuple[Floats, Array]:
        """Add up the weight of both sides of some pairs (rows), per task; tell which sum is that of an answer's side.

        The other side's is the one beside it.
        """
        place = self._first + taken
        if len(taken) == 1:
            return sum_by(place[0], self._weight, self._n_sides), place
        place += self._n_sides * np.arange(len(taken))[:, None]
        weights = np.broadcast_to(self._weight, place.shape).ravel()
        return sum_by(place.ravel(), weights, self._n_sides * len(taken)), place
