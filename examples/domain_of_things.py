"""Four corners around a thing, such as a sign seen at an angle: a kind of thing that lists of objects are made of.

    s(a, b) = area of both / area of either

The area of both is that of the one polygon, cut off at each side of the other (Sutherland and Hodgman 1974). It is
exact where corners are convex, whatever their order. Which things are the same, who saw them, and how many must have
seen them, is known to `Objects`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike.distances.matching import Members, sweep
from allalike.domains.objects.objects import Objects
from allalike.extending import Array, Floats, Ties
from allalike.rules.mean import Drawings, average

NUMBERS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")


@dataclass(frozen=True, kw_only=True)
class Corners(Objects):
    """Lists of four corners ``[[x, y], [x, y], [x, y], [x, y]]``, perhaps with a class behind them."""

    name: ClassVar[str] = "corners"
    summary: ClassVar[str] = "lists of four corners around a thing; distance by the best matching (IoU)"
    _thing: ClassVar[str] = "four corners"
    _width: ClassVar[int] = 8

    def _read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        """Return the corners in order around their middle, from the one at the top left on, and the class."""
        if isinstance(value, dict) and set(NUMBERS) <= set(value):  # as truths are written
            numbers = [value[name] for name in NUMBERS]
            value = [*zip(numbers[::2], numbers[1::2], strict=True), value.get(self._class_key)]
        if not isinstance(value, list | tuple) or len(value) not in (4, 5):
            raise ValueError("four corners are [[x, y], [x, y], [x, y], [x, y]], perhaps with a class behind them")
        corners = np.array(value[:4], np.float64).reshape(4, 2)
        away = corners - corners.mean(axis=0)
        around = corners[np.argsort(np.arctan2(away[:, 1], away[:, 0]), kind="stable")]
        first = np.lexsort((around[:, 0], around.sum(axis=1)))[0]
        return tuple(np.roll(around, -first, axis=0).ravel().tolist()), value[4] if len(value) == 5 else None

    def _columns(self, width: int) -> tuple[str, ...]:
        """Name the corners."""
        return NUMBERS

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        """Return the intersection over the union."""
        pairs = zip(left.reshape(-1, 4, 2), right.reshape(-1, 4, 2), strict=True)
        return np.array([1.0 if np.array_equal(one, other) else overlap(one, other) for one, other in pairs])

    def _find_near(self, members: Members) -> tuple[Array, Array]:
        """Return all pairs with overlapping ranges of x."""
        x = members.geometry[:, ::2]
        return sweep(x.min(axis=1), x.max(axis=1), members.task)

    def _find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        """Average corner by corner."""
        middles = [average(drawings, numbers) for numbers in drawings.geometry.T]
        return np.stack(middles, axis=1), np.zeros(drawings.n_groups, np.bool_)


def overlap(one: Floats, other: Floats) -> float:
    """Return the area of both polygons over that of either."""
    both = one
    for begin, end in zip(other, np.roll(other, -1, axis=0), strict=True):
        both = cut(both, begin, end)
    shared = area(both)
    either = area(one) + area(other) - shared
    return min(shared / either, 1.0) if either > 0 else 0.0


def cut(polygon: Floats, begin: Floats, end: Floats) -> Floats:
    """Keep what lies inside of the line from begin to end: corners there, and points where a side crosses it."""
    x, y = end - begin
    inside = x * (polygon[:, 1] - begin[1]) - y * (polygon[:, 0] - begin[0])
    kept: list[Floats] = []
    for i, j in zip(range(-1, len(polygon) - 1), range(len(polygon)), strict=True):
        if inside[i] * inside[j] < 0:
            share = inside[i] / (inside[i] - inside[j])
            kept.append(polygon[i] + share * (polygon[j] - polygon[i]))
        if inside[j] >= 0:
            kept.append(polygon[j])
    return np.array(kept).reshape(-1, 2)


def area(polygon: Floats) -> float:
    """Measure a polygon by the shoelace formula."""
    x, y = polygon.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2) if len(polygon) else 0.0
