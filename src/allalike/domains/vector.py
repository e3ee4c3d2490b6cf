"""Vectors: embeddings, points, probability vectors, and whatever else is some numbers in an order.

    squared:    d(x, y) = |x - y|^2            whose weighted sum is least at the weighted mean
    cosine:     d(x, y) = 1 - cos(x, y)        in which lengths mean nothing
    euclidean:  d(x, y) = |x - y|              whose weighted sum is least at the geometric median

It works where all coordinates have one unit, such as x and y in pixels. It fails where they have not, for the largest
numbers then decide alone: scale them before, or make them fields of a `allalike.Record`. Of places on the Earth a
degree of longitude is no fixed length (`allalike.Place`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.pairs import AnswerHashes, Centred, PairDistances
from allalike._core.columns.values import Values
from allalike.distances import cosine, euclidean
from allalike.distances.euclidean import CentredVectors
from allalike.domains.contract import Domain, Encoding
from allalike.domains.real import CentredKernels
from allalike.domains.spelling import json_list
from allalike.errors import LabelError
from allalike.noise import Gaussian, General, Noise
from allalike.rules.base import Rule
from allalike.rules.geometric import geometric_median
from allalike.rules.mean import hash_rows, mean
from allalike.rules.vote import CHOICES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.column import Column

_LARGEST_NUMBER = 1e150
_COORDINATES_PER_CHUNK = 1 << 22
_NUMBERS = (int, float, np.integer, np.floating)
_CHOICES = ("medoid", "best worker")


@dataclass(frozen=True, kw_only=True)
class Vector(Domain):
    """Vectors of numbers, all of one length.

    A label is a list, tuple or numpy array of finite numbers, or a text that is such a list in JSON.

    Parameters
    ----------
    distance
        ``squared``: the squared Euclidean distance, the sum over coordinates. ``cosine``: 1 minus the cosine of the
        angle, for which lengths mean nothing, and a vector of zeros is an error. ``euclidean``: not squared, so that
        single large errors count less.
    rule
        Aggregation rule: ``mean``, ``geometric median``, ``medoid`` or ``best worker``. The
        first two average the vectors as they are, also where the distance is ``cosine``; where lengths mean nothing,
        scale the vectors to one length before.

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
        """Gaussian errors with a variance per worker; for other distances nothing in particular.

        A vector in a random direction is perpendicular to the others on average, which under ``cosine`` is 1.
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
        """Whether labels are prepared by subtracting their task's centre; answers that are chosen stay as they are."""
        return self.rule not in _CHOICES and self.distance != "cosine"

    def learn(self, labels: Column) -> VectorEncoding:
        codes, parsed = labels.parsed(_parse)
        return VectorEncoding(domain=self, length=len(parsed[codes[0]]))


@dataclass(frozen=True, kw_only=True)
class VectorEncoding(Encoding):
    """Vectors of one length; a code is a row of numbers."""

    domain: Vector
    length: int

    @property
    def kernels(self) -> VectorKernels:
        return VectorKernels(domain=self.domain)

    def merge(self, others: Sequence[Self]) -> Self:
        lengths = sorted({self.length, *(other.length for other in others)})
        if len(lengths) > 1:
            raise LabelError(
                f"Some vectors have {lengths[0]} numbers, but others have {lengths[-1]}. All vectors must be of one"
                " length."
            )
        return self

    def encode(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(_parse)
        sizes = np.array([len(vector) for vector in parsed])[codes]
        if (sizes != self.length).any():
            row = int(np.argmax(sizes != self.length))
            raise LabelError(
                f"The vector in row {labels.row(row)} has {sizes[row]} numbers, but others have {self.length}. All"
                " vectors must be of one length."
            )
        vectors = np.stack([np.empty(self.length), *parsed])[1:]  # also where there is none
        has_direction = np.asarray(vectors.any(axis=1))[codes]
        if self.domain.distance == "cosine" and not has_direction.all():
            row = int(np.argmin(has_direction))
            raise LabelError(
                f"The vector in row {labels.row(row)} is zero, and has no direction. Remove the row, or take another"
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


@dataclass(frozen=True, kw_only=True)
class VectorKernels(CentredKernels):
    """Sums of distances of vectors: over pairs if they are Euclidean, else linear in the number of answers."""

    domain: Vector

    def distance_between(self, left: Array, right: Array) -> Floats:
        if self.domain.distance == "cosine":
            return cosine.distance(left, right)
        measure = euclidean.square_lengths if self.domain.distance == "squared" else euclidean.lengths
        return measure(left - right)

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


def _parse(value: Any) -> Floats:
    """Read a vector of finite numbers whose squares are finite too."""
    vector = _numbers(json_list(value) if isinstance(value, str) else value)
    if not np.isfinite(vector).all():
        raise ValueError("a number in it is not finite; a missing answer is a missing row")
    if np.abs(vector).max() > _LARGEST_NUMBER:
        raise ValueError("the square of a number in it is beyond all numbers; measure in larger units")
    return vector + 0.0  # which makes -0.0 the 0.0 that it is


def _numbers(value: Any) -> Floats:
    if isinstance(value, np.ndarray) and value.dtype.kind not in "iuf":
        value = value.tolist()
    if not isinstance(value, np.ndarray):
        kinds = set(map(type, value)) if isinstance(value, list | tuple) else {None}
        if bool in kinds or not all(kind and issubclass(kind, _NUMBERS) for kind in kinds):
            raise ValueError("a vector must be a list of numbers")
    try:
        vector = np.array(value, np.float64)
    except OverflowError:
        raise ValueError("a number in it is beyond all numbers; measure in larger units") from None
    if vector.ndim != 1 or not len(vector):
        raise ValueError("a vector must be a list of at least one number")
    return vector
