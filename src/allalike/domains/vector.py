"""Vectors, and label types based on them: circular numbers and places on the Earth, whose codes are points in space.

    squared:    d(x, y) = |x - y|^2            minimised by the weighted mean
    cosine:     d(x, y) = 1 - cos(x, y)        ignores the lengths of vectors
    euclidean:  d(x, y) = |x - y|              minimised by the geometric median

Vectors work if all coordinates have the same unit, such as x and y in pixels. They fail if units differ, because the
coordinate with the largest values dominates. Rescale coordinates first, or use the fields of an `allalike.Record`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.blocks.pairs import AnswerHashes, Centred, PairDistances
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import number
from allalike.distances import cosine, euclidean
from allalike.distances.euclidean import CentredVectors
from allalike.domains.contract import Domain, Encoding, Kernels, check_forms
from allalike.domains.real import CentredKernels
from allalike.domains.spelling import LARGEST_NUMBER, read_json, read_list
from allalike.errors import LabelError, OptionError
from allalike.noise import Gaussian, General, Noise
from allalike.rules.base import Decision, Rule
from allalike.rules.geometric import geometric_median
from allalike.rules.mean import angles_of, direction, hash_rows, mean, project
from allalike.rules.vote import CHOICES

_COORDINATES_PER_CHUNK = 1 << 22
_NUMBERS = (int, float, np.integer, np.floating)
_CHOICES = ("medoid", "best worker")


@dataclass(frozen=True, kw_only=True)
class Vector(Domain):
    """Numeric vectors of equal length.

    A label is a list, tuple or numpy array of finite numbers, or such a list as JSON text.

    Parameters
    ----------
    distance
        ``squared``: squared Euclidean distance. ``cosine``: 1 minus the cosine of the angle, which ignores the lengths
        of vectors and rejects zero vectors. ``euclidean``: Euclidean distance, which reduces the influence of outliers.
    rule
        Aggregation rule: ``mean``, ``geometric median``, ``medoid`` or ``best worker``. The first two average the
        vectors unscaled, even if the distance is ``cosine``. If lengths do not matter, scale the vectors to unit length
        first.

    >>> import allalike
    >>> rows = [("ada", 1, [0.0, 1.0]), ("bob", 1, [0.0, 3.0]), ("eve", 1, [3.0, 2.0])]
    >>> allalike.discover(rows, domain=Vector(), method="UA").truth["label"].tolist()
    [[1.0, 2.0]]
    >>> workers = allalike.discover(rows, domain=Vector(distance="cosine"), method="UA").workers
    >>> workers["disparity"].round(3).tolist()
    [0.223, 0.223, 0.445]
    """

    name: ClassVar[str] = "vector"
    summary: ClassVar[str] = "numeric vectors of one length; squared Euclidean distance, cosine or Euclidean"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("mean", mean),
        Rule("geometric median", geometric_median),
        *CHOICES,
    )
    distances: ClassVar[tuple[str, ...]] = ("squared", "cosine", "euclidean")

    @property
    def noise(self) -> Noise:
        """Gaussian errors with a variance per worker; for other distances, no specific model.

        A random vector is orthogonal to the others on average, which is a ``cosine`` distance of 1.
        """
        if self.distance == "squared":
            return Gaussian()
        return General(farthest=1.0 if self.distance == "cosine" else None)

    @property
    def recurring(self) -> bool:
        return self.rule in _CHOICES

    @property
    def power(self) -> int:
        return {"squared": 2, "euclidean": 1}.get(self.distance, 0)

    @property
    def centred(self) -> bool:
        """Whether labels are centred per task: False if the rule chooses an answer or lengths are ignored."""
        return self.rule not in _CHOICES and self.distance != "cosine"

    def learn(self, labels: Column) -> VectorEncoding:
        codes, parsed = labels.parsed(_parse)
        return VectorEncoding(domain=self, length=len(parsed[codes[0]]))


@dataclass(frozen=True, kw_only=True)
class VectorKernels(CentredKernels):
    """Sums of distances between vectors: over pairs if Euclidean, otherwise in linear time."""

    domain: Vector

    def distance_between(self, left: Array, right: Array) -> Floats:
        return (
            cosine.distance(left, right) if self.domain.distance == "cosine" else super().distance_between(left, right)
        )

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        distance = np.empty(len(left))
        n_chunks = 1 + distance.size * block.label.shape[1] // _COORDINATES_PER_CHUNK
        for part in np.array_split(np.arange(len(left)), n_chunks):
            distance[part] = self.distance_between(*(block.label.take(side[part], axis=0) for side in (left, right)))
        return distance

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        if self.domain.distance == "euclidean":
            return block[PairDistances].peer_distances(block, weights)
        return euclidean.peer_distances(block, weights, None if self.domain.centred else block[CentredVectors].vectors)


@dataclass(frozen=True, kw_only=True)
class VectorEncoding(Encoding):
    """Vectors of equal length; a code is a row of numbers."""

    kernels_type: ClassVar[type[Kernels]] = VectorKernels
    domain: Vector
    length: int

    def merge(self, others: Sequence[Self]) -> Self:
        lengths = sorted({self.length, *(other.length for other in others)})
        if len(lengths) > 1:
            raise LabelError(f"Some vectors have {lengths[0]} numbers, but others have {lengths[-1]}. Use one form.")
        return self

    def encode(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(_parse)
        check_forms(labels, codes, [f"{len(vector)} numbers" for vector in parsed], f"{self.length} numbers")
        vectors = np.stack([np.empty(self.length), *parsed])[1:]  # also works without vectors
        has_direction = np.asarray(vectors.any(axis=1))[codes]
        if self.domain.distance == "cosine" and not has_direction.all():
            row = int(np.argmin(has_direction))
            raise LabelError(
                f"The vector in row {labels.row(row)} is zero, so it has no direction. Remove the row, or use another"
                " distance than 'cosine'."
            )
        return vectors[codes]

    def decode(self, codes: Array) -> Values:
        return Values(codes.tolist(), text=json.dumps)

    def prepare(self, block: Block) -> Block:
        rule, distance = self.domain.rule, self.domain.distance
        kept: list[object] = []
        if rule in _CHOICES:
            kept.append(AnswerHashes(hash_rows(block.label)))
        if rule == "medoid" or distance == "euclidean":
            kept.append(PairDistances.of(block, partial(self.kernels.distance_within, block)))
        if self.domain.centred:
            return Centred.subtract(block, euclidean.centre(block)).keeping(*kept)
        vectors = cosine.scaled(block.label) if distance == "cosine" else block.label
        return block.keeping(CentredVectors.of(block, vectors), *kept)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "length": self.length}


def _parse(value: Any) -> Floats:
    """Parse a vector of finite numbers with finite squares."""
    if isinstance(value, str):
        value = read_json(value, list)
    if isinstance(value, np.ndarray) and value.dtype.kind not in "iuf":
        value = value.tolist()
    if not isinstance(value, np.ndarray):
        kinds = set(map(type, value)) if isinstance(value, list | tuple) else {None}
        if bool in kinds or not all(kind and issubclass(kind, _NUMBERS) for kind in kinds):
            raise ValueError("a vector must be a list of numbers")
    try:
        vector = np.array(value, np.float64)
    except OverflowError:
        raise ValueError("it contains a number that is too large; rescale, for example from mm to km") from None
    if vector.ndim != 1 or not len(vector):
        raise ValueError("a vector must be a list of at least one number")
    if not np.isfinite(vector).all():
        raise ValueError("it contains a number that is not finite; to mark an answer as missing, remove its row")
    if np.abs(vector).max() > LARGEST_NUMBER:
        raise ValueError("it contains a number whose square overflows; rescale the labels, for example from mm to km")
    return vector + 0.0  # converts -0.0 to 0.0


# Circular numbers: directions, times of day, days of the year.
#
# The mean of 350 and 10 degrees is 0, not 180. A number is a point on a circle, and the distance between two points is
# d = (1 - cos a) / 2, where a is the angle between them. The estimate is the direction of the weighted mean of the
# points (Mardia and Jupp, Directional Statistics, 2000). The length of that mean, from 0 to 1, measures agreement. The
# rule fails if answers are spread around the circle: their mean has no direction, or a random one.


_DIGITS = 12  # of a period, and of degrees, to which estimates are rounded


@dataclass(frozen=True, kw_only=True)
class Circular(Vector):
    """Periodic numbers, such as degrees, hours of the day or days of the year.

    Parameters
    ----------
    period
        Period of the numbers: 360 for degrees, 24 for hours.
    rule
        Aggregation rule: ``direction``, the direction of the weighted mean of the points on the circle.

    >>> import allalike
    >>> rows = [("ada", 1, 350), ("bob", 1, 10), ("ada", 2, 90), ("bob", 2, 100)]
    >>> found = allalike.discover(rows, domain=Circular(period=360), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(4).tolist()
    ([0.0, 95.0], [0.9848, 0.9962])
    """

    name: ClassVar[str] = "circular"
    summary: ClassVar[str] = "periodic numbers such as degrees and hours; (1 - cosine) / 2"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("direction", direction),)
    distances: ClassVar[tuple[str, ...]] = ("cosine",)
    noise: ClassVar[General] = General(farthest=0.5)  # the mean distance of a random direction
    recurring: ClassVar[bool] = False
    centred: ClassVar[bool] = True
    period: float = number(360.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period <= 0:
            raise OptionError(f"period is {self.period!r}. It must be more than 0, such as 360 for degrees.")

    def learn(self, labels: Column) -> CircularEncoding:
        return CircularEncoding(domain=self, length=2)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "period": self.period}


@dataclass(frozen=True, kw_only=True)
class CircularKernels(VectorKernels):
    """Sums of squared distances between points in linear time."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        return euclidean.square_lengths(left - right)


@dataclass(frozen=True, kw_only=True)
class CircularEncoding(VectorEncoding):
    """Finite numbers; a code is a point on a circle of diameter 1, so (1 - cos a) / 2 is the squared distance."""

    kernels_type: ClassVar[type[Kernels]] = CircularKernels
    domain: Circular

    def encode(self, labels: Column) -> Floats:
        angle = labels.numbers % self.domain.period * (2 * np.pi / self.domain.period)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) / 2

    def decode(self, codes: Array) -> Values:
        period = self.domain.period
        numbers = np.round(angles_of(codes.reshape(-1, 2)) / (2 * np.pi), _DIGITS) % 1.0 * period
        digits = max(_DIGITS - 1 - int(np.floor(np.log10(period))), 0)  # removes digits that are rounding errors
        return Values(arrow_of(np.round(numbers, digits) % period))

    def describe(self) -> dict[str, Any]:
        return self.domain.describe()


# Places on the Earth: points on a sphere; the distance is the length of a straight line in kilometres.
#
# For nearby places, that is the distance on the ground. The mean is below the surface and is projected back onto it, so
# poles and the 180th meridian are not special cases. The mean fails if answers are spread all around the Earth.


_RADIUS = 6371.0088  # mean radius of the Earth in kilometres


@dataclass(frozen=True, kw_only=True)
class Place(Vector):
    """Places on the Earth: ``[latitude, longitude]`` in degrees, as lists or as JSON.

    Parameters
    ----------
    distance
        ``squared``: the squared length of the straight line between two places, in kilometres. ``euclidean``: its
        length, which reduces the influence of outliers.
    rule
        Aggregation rule: ``mean``, ``geometric median``, ``medoid`` or ``best worker``; the first two are projected
        onto the surface.

    >>> import allalike
    >>> rows = [("ada", 1, [0.0, 179.0]), ("bob", 1, [0.0, -179.0]), ("ada", 2, [10, 20]), ("bob", 2, [10, 20])]
    >>> allalike.discover(rows, domain=Place(), method="UA").truth["label"].tolist()
    [[0.0, 180.0], [10.0, 20.0]]
    """

    name: ClassVar[str] = "place"
    summary: ClassVar[str] = "places on the Earth, [latitude, longitude]; straight-line distance in km, squared or not"
    rules: ClassVar[tuple[Rule, ...]] = Vector.rules
    distances: ClassVar[tuple[str, ...]] = ("squared", "euclidean")

    def learn(self, labels: Column) -> PlaceEncoding:
        return PlaceEncoding(domain=self, length=3)


@dataclass(frozen=True, kw_only=True)
class PlaceKernels(VectorKernels):
    """Sums of distances between points; means are projected onto the sphere."""

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        found = super().decide(block, weights, faults, ties)
        if not self.domain.centred:
            return found
        label, _, lost = project(block, found.label, _RADIUS, ties)
        return replace(found, label=label, tied=found.tied | lost)


@dataclass(frozen=True, kw_only=True)
class PlaceEncoding(VectorEncoding):
    """Places; a code is a point on the sphere, as three coordinates in kilometres."""

    kernels_type: ClassVar[type[Kernels]] = PlaceKernels

    def encode(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(_parse_place)
        latitude, longitude = np.radians(np.array(parsed, np.float64).reshape(-1, 2)).T
        flat = np.cos(latitude)
        points = np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)
        return np.asarray(_RADIUS * points[codes])

    def decode(self, codes: Array) -> Values:
        x, y, z = np.asarray(codes, np.float64).reshape(-1, 3).T
        degrees = np.degrees([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]).T
        return Values((np.round(degrees, _DIGITS) + 0.0).tolist(), text=json.dumps)

    def describe(self) -> dict[str, Any]:
        return {**self.domain.describe(), "unit": "km"}


def _parse_place(value: Any) -> tuple[float, float]:
    """Return latitude and longitude."""
    wanted = "a place is a list of two numbers, latitude and longitude in degrees"
    pair = read_list(value, wanted)
    if len(pair) != 2 or not all(type(each) in (int, float) for each in pair) or not np.isfinite(pair).all():
        raise ValueError(wanted)
    if not -90 <= pair[0] <= 90 or not -360 <= pair[1] <= 360:
        raise ValueError("latitude must be from -90 to 90 and longitude from -180 to 180; latitude comes first")
    return float(pair[0]), float(pair[1])
