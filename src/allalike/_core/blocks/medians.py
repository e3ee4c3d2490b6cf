"""Medians of values that belong to places, which are put in order once, however often values change.

Where most places have about as many values, these are the rows of a table, which is sorted several times faster than
all values at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["Medians"]

_MAX_EMPTY = 8  # cells of a table for each value
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Medians:
    """The places of values whose medians are asked for.

    Parameters
    ----------
    place
        Of each value: its place.
    count
        Of each place: how many values it has.
    cell
        Of each value: where it stands in a table with a row for each place; None if that would be mostly empty.

    >>> medians = Medians.of(np.array([0, 0, 0, 2]), 3)
    >>> medians.find(np.array([5.0, 1.0, 2.0, 7.0]), np.array([1.0, 1.0, 2.0, 1.0]))
    array([ 2., nan,  7.])
    """

    place: Array
    count: Array
    cell: Array | None

    @classmethod
    def of(cls, place: Array, n: int) -> Medians:
        """Put values in the order of their places, of which there are n."""
        count = np.bincount(place, minlength=n)
        width = int(count.max(initial=0))
        if n * width > _MAX_EMPTY * len(place):
            return cls(place, count, None)
        rows = np.argsort(place, kind="stable")
        cell = np.empty(len(place), np.intp)
        cell[rows] = np.arange(len(place)) + np.repeat(np.arange(n) * width - np.cumsum(count) + count, count)
        return cls(place, count, cell)

    def find(self, values: Floats, weights: Floats) -> Floats:
        """Return the weighted median at each place, the middle of two where both will do, and NaN for nothing."""
        sort = self._sort_all if self.cell is None else self._sort_rows
        total = sum_by(self.place, weights, len(self.count))
        found = np.full(len(total), np.nan)
        known = np.flatnonzero((self.count > 0) & (total > 0))
        if len(known):
            found[known] = sort(values, weights, total, known)
        return found

    def _sort_rows(self, values: Floats, weights: Floats, total: Floats, known: Array) -> Floats:
        width = int(self.count.max())
        table, weight = np.full(len(self.count) * width, np.nan), np.zeros(len(self.count) * width)
        table[self.cell], weight[self.cell] = values, weights
        table, weight = table.reshape(-1, width)[known], weight.reshape(-1, width)[known]
        order = np.argsort(table, axis=1)  # what is NaN comes last
        order += np.arange(len(known))[:, None] * width
        running = np.cumsum(weight.ravel().take(order), axis=1)
        middle = np.zeros(len(known))
        for share in (0.5 - _ROUNDING, 0.5 + _ROUNDING):
            rank = np.minimum((running < (share * total[known])[:, None]).sum(axis=1), self.count[known] - 1)
            middle += table.ravel()[order[np.arange(len(known)), rank]] / 2
        return middle

    def _sort_all(self, values: Floats, weights: Floats, total: Floats, known: Array) -> Floats:
        order = np.lexsort((values, self.place))
        running = np.cumsum(weights[order])
        last = np.cumsum(self.count)[known]
        first = last - self.count[known]
        before = np.concatenate([[0.0], running])[first]
        middle = np.zeros(len(known))
        for share in (0.5 - _ROUNDING, 0.5 + _ROUNDING):
            at = np.clip(np.searchsorted(running, before + share * total[known]), first, last - 1)
            middle += values[order[at]] / 2
        return middle
