"""Places on the Earth: latitude and longitude in degrees, and errors in kilometres.

A place is a point on a sphere, and two are as far apart as the straight line between their points is long: squared, so
that sums are linear in the number of answers as for vectors (`allalike.domains.vector`), or as it is. Nearby that is
the way on the ground. The mean lies below the surface, and is put back on it; so neither the poles nor the meridian at
180 degrees matter. A worker's ``rmse`` is in kilometres.

    squared:    d(p, q) = |p - q|^2   in square kilometres, with p and q points in space
    euclidean:  d(p, q) = |p - q|

It works for places that people or devices name, a street or a continent apart. It fails where answers are all around
the Earth: their mean may lie on any side.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.pairs import Centred
from allalike._core.columns.values import Values
from allalike.domains.spelling import read_list
from allalike.domains.vector import Vector, VectorEncoding, VectorKernels

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
    from allalike.rules.base import Decision, Rule

_RADIUS = 6371.0088  # of the Earth on average, in kilometres
_NO_SIDE = 1e-9  # of the radius: as near to the middle of the Earth, a mean lies on no side
_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Place(Vector):
    """Places on the Earth: ``[latitude, longitude]`` in degrees, as lists or as JSON.

    Parameters
    ----------
    distance
        ``squared``: the square of the straight line between two places, in kilometres; ``euclidean``: not squared, so
        that single large errors count less.
    rule
        Aggregation rule: ``mean``, ``geometric median``, ``medoid`` or ``best worker``; the first two are
        put back on the surface.

    >>> import allalike
    >>> rows = [("ada", 1, [0.0, 179.0]), ("bob", 1, [0.0, -179.0]), ("ada", 2, [10, 20]), ("bob", 2, [10, 20])]
    >>> allalike.discover(rows, domain=Place(), method="UA").truth["label"].tolist()
    [[0.0, 180.0], [10.0, 20.0]]
    """

    name: ClassVar[str] = "place"
    summary: ClassVar[str] = "places on the Earth, [latitude, longitude]; the line between them in km, squared or not"
    rules: ClassVar[tuple[Rule, ...]] = Vector.rules
    distances: ClassVar[tuple[str, ...]] = ("squared", "euclidean")

    def learn(self, labels: Column) -> PlaceEncoding:
        return PlaceEncoding(domain=self, length=3)


@dataclass(frozen=True, kw_only=True)
class PlaceEncoding(VectorEncoding):
    """Places; a code is a point on the sphere, three numbers in kilometres."""

    @property
    def kernels(self) -> PlaceKernels:
        return PlaceKernels(domain=self.domain)

    def encode(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(_parse)
        latitude, longitude = np.radians(np.array(parsed, np.float64).reshape(-1, 2)).T
        flat = np.cos(latitude)
        points = np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)
        return np.asarray(_RADIUS * points[codes])

    def decode(self, codes: Array) -> Values:
        x, y, z = np.asarray(codes, np.float64).reshape(-1, 3).T
        degrees = np.degrees([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]).T
        return Values((np.round(degrees, _DIGITS) + 0.0).tolist(), text=json.dumps)

    def describe(self) -> dict[str, Any]:
        told = {name: value for name, value in super().describe().items() if name != "length"}
        return {**told, "unit": "km"}


@dataclass(frozen=True, kw_only=True)
class PlaceKernels(VectorKernels):
    """Sums of distances of points, whose means are put back on the sphere."""

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        found = super().decide(block, weights, faults, ties)
        if not self.domain.centred:
            return found
        centre = block[Centred].centre
        point = found.label + centre
        length = np.linalg.norm(point, axis=1)
        lost = length < _NO_SIDE * _RADIUS
        point = np.where(lost[:, None], [1.0, 0.0, 0.0], point)
        point = point * (_RADIUS / np.where(lost, 1.0, length))[:, None]
        return replace(found, label=point - centre, tied=found.tied | lost)


def _parse(value: Any) -> tuple[float, float]:
    """Read latitude and longitude."""
    wanted = "a place is a list of two numbers, latitude and longitude in degrees"
    pair = read_list(value, wanted)
    if len(pair) != 2 or not all(type(each) in (int, float) for each in pair) or not np.isfinite(pair).all():
        raise ValueError(wanted)
    if not -90 <= pair[0] <= 90 or not -360 <= pair[1] <= 360:
        raise ValueError("latitude is from -90 to 90, and longitude from -180 to 180; latitude comes first")
    return float(pair[0]), float(pair[1])
