"""Vocabulary: values numbered in the order in which they come, batch after batch.

While there are few values, those of a batch are found first, for they are few beside its rows; once there are many,
most of them are known, and every row is looked up. Both is done by hashes, among the sorted hashes of all values that
are known, which stays fast for a million workers. Where two values share a hash, a second hash tells, and the values
themselves are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.factors import Codes, distinct
from allalike._core.columns.hashes import Hashes, hash_strings, mix
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of
from allalike._core.late import pa, pc

if TYPE_CHECKING:
    from allalike._core.columns.column import Column

Rows = npt.NDArray[np.int64]

_MANY_VALUES = 3 << 13  # beyond so many, looking up every row is faster than finding the different values of a batch
_END = np.array([-1], np.int64).view(np.uint64)  # the largest hash, which stands behind all others


class Vocabulary:
    """A numbering of values, which grows with one column after the other.

    >>> from allalike._core.columns.column import Column
    >>> vocabulary = Vocabulary()
    >>> vocabulary.number(Column.of_objects("worker", ["bob", "ada", "bob"]), np.arange(3))
    array([0, 1, 0], dtype=int32)
    >>> vocabulary.number(Column.of_objects("worker", ["eve", "ada"]), np.arange(3, 5))
    array([2, 1], dtype=int32)
    >>> vocabulary.values.tolist(), vocabulary.first_rows
    (['bob', 'ada', 'eve'], array([0, 1, 3]))
    """

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._objects: dict[Any, int] = {}
        self._hashes, self._checks = _END, np.zeros(1, np.uint64)  # in order
        self._codes = np.full(1, -1, np.int32)  # in the order of hashes
        self._begins, self._shift = np.zeros(2, np.int64), np.uint64(63)  # where hashes with the same first bits begin
        self._first: list[Rows] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> Values:
        """All values, in the order of their numbers."""
        if self._objects:
            return Values(list(self._objects))
        self._parts = [pa.concat_arrays(self._parts)] if self._parts else []
        return Values(self._parts[0] if self._parts else [])

    @property
    def first_rows(self) -> Rows:
        """The first row of each value."""
        return np.concatenate(self._first)

    def number(self, column: Column, rows: Rows | None = None) -> Codes:
        """Return the number of each value of a column; where the numbers of rows are given, first ones are kept."""
        known = self._size
        if isinstance(column.data, list):
            codes = self._place_objects(column)
        else:
            codes = self._find_rows(column.data)
            rest = np.flatnonzero(codes < 0)
            if len(rest):
                own, values = distinct(column.data if len(rest) == len(codes) else column.data.take(arrow_of(rest)))
                codes[rest] = self._place(values.data)[own]
        if rows is not None and self._size > known:
            new = np.flatnonzero(codes >= known)[::-1]  # of several rows that are assigned to a place, the last stays
            first = np.empty(self._size - known, np.int64)
            first[codes[new] - known] = rows[new]
            self._first.append(first)
        return codes

    def _place_objects(self, column: Column) -> Codes:
        try:
            codes = [self._objects.setdefault(value, len(self._objects)) for value in column.data]
        except TypeError:
            raise column.indistinct() from None
        self._size = len(self._objects)
        return np.array(codes, np.int32)

    def _find_rows(self, column: Any) -> Codes:
        """Return the numbers of values that may occur often, and -1 for those that are new, or if they are not many."""
        if self._size > _MANY_VALUES:
            values = column.combine_chunks()
            hashes = _hash(values)
            if hashes:
                return self._find(values, *hashes)
        return np.full(len(column), -1, np.int32)

    def _place(self, values: Any) -> Codes:
        """Return the numbers of different values, and number those that are new."""
        hashes = _hash(values)
        codes = self._find(values, *hashes) if hashes and self._size else self._find_exactly(values)
        new = np.flatnonzero(codes < 0)
        if len(new):
            codes[new] = np.arange(self._size, self._size + len(new), dtype=np.int32)
            self._parts.append(values if len(new) == len(values) else Values(values).take(new).data)
            self._size += len(new)
            if hashes:
                self._remember(codes[new], *(part[new] for part in hashes))
        return codes

    def _find(self, values: Any, hashes: Hashes, checks: Hashes) -> Codes:
        place = self._search(hashes)
        same = self._hashes.take(place) == hashes
        if np.any(same & (self._checks.take(place) != checks)):
            return self._find_exactly(values)
        return np.where(same, self._codes.take(place), np.int32(-1))

    def _search(self, hashes: Hashes) -> Rows:
        """Do as `numpy.searchsorted` among the known hashes; where to begin is known from the first bits."""
        place = self._begins.take((hashes >> self._shift).view(np.int64))
        behind = np.flatnonzero(self._hashes.take(place) < hashes)
        while len(behind):
            place[behind] += 1
            behind = behind[self._hashes.take(place.take(behind)) < hashes.take(behind)]
        return place

    def _find_exactly(self, values: Any) -> Codes:
        if not self._size:
            return np.full(len(values), -1, np.int32)
        found = pc.index_in(values, value_set=self.values.data)
        return numpy_of(found.fill_null(pa.scalar(-1, pa.int32()))).copy()

    def _remember(self, codes: Codes, hashes: Hashes, checks: Hashes) -> None:
        joined = np.concatenate([hashes, self._hashes])
        order = np.argsort(joined, kind="stable")
        self._hashes = joined[order]
        self._checks = np.concatenate([checks, self._checks])[order]
        self._codes = np.concatenate([codes, self._codes])[order]
        bits = len(joined).bit_length() + 1
        self._shift = np.uint64(64 - bits)
        self._begins = np.searchsorted(self._hashes, np.arange(1 << bits, dtype=np.uint64) << self._shift)


def _hash(values: Any) -> tuple[Hashes, Hashes] | None:
    if is_string(values.type):
        return hash_strings(values)
    if pa.types.is_integer(values.type):
        hashes = mix(numpy_of(values).astype(np.int64).view(np.uint64))
        return hashes, hashes  # one to one: needs no second hash
    return None
