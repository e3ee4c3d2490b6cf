"""Vectors: embeddings, points, probability vectors, and whatever else is some numbers in an order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike.blocks.block import Array, Block, Floats, pair_chunks, sum_by
from allalike.blocks.ties import TOLERANCE, Ties
from allalike.columns.hashes import mix
from allalike.columns.values import Values
from allalike.distances import cosine
from allalike.domains.base import Domain
from allalike.domains.centre import given_labels, lost_labels
from allalike.domains.lists import json_list
from allalike.errors import LabelError
from allalike.noise import Gaussian, General, Noise
from allalike.rules.base import Rule, unknown
from allalike.rules.choice import best_worker, medoid
from allalike.rules.geometric import geometric_median, sum_vectors, vector_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.columns.column import Column

__all__ = ["Vector"]

_LARGEST = 1e150
_AT_ONCE = 1 << 22  # coordinates that are compared together
_NUMBERS = (int, float, np.integer, np.floating)
_CHOICES = ("medoid", "best worker")


@dataclass(frozen=True, kw_only=True)
class Vector(Domain):
    """Compare vectors of numbers, all of one length.

    A label is a list, tuple or numpy array of finite numbers, or a text that is such a list in JSON.

    Parameters
    ----------
    distance
        ``squared``: the squared Euclidean distance, the sum over coordinates. ``cosine``: 1 minus the cosine of the
        angle, for which lengths mean nothing, and a vector of zeros is an error. ``euclidean``: not squared, so that
        single large errors count less.
    rule
        How a task's vectors become one: ``mean``, ``geometric median``, ``medoid`` or ``best worker``. The
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
        Rule("mean", vector_mean),
        Rule("geometric median", geometric_median),
        Rule("medoid", medoid),
        Rule("best worker", best_worker),
    )
    distances: ClassVar[tuple[str, ...]] = ("squared", "cosine", "euclidean")
    length: int | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def model(self) -> Noise:
        """Expect Gaussian errors with a variance per worker; for other distances nothing in particular.

        A vector in a random direction is perpendicular to the others on average, which under ``cosine`` is 1.
        """
        if self.distance == "squared":
            return Gaussian()
        return General(farthest=1.0 if self.distance == "cosine" else None)

    @property
    def recurring(self) -> bool:
        """Whether a truth is one of the answers, and not a mean."""
        return self.rule in _CHOICES

    def resolve(self, labels: Column) -> Self:
        """Fix how many numbers a vector has."""
        return self._knowing(length=self._read(labels).shape[1])

    def join(self, parts: Sequence[Self]) -> Self:
        """Take the length that the vectors of all shards have."""
        lengths = sorted({part.length for part in parts if part.length is not None})
        if len(lengths) > 1:
            raise LabelError(
                f"Some vectors have {lengths[0]} numbers, but others have {lengths[-1]}. All vectors must be of one"
                " length."
            )
        return self._knowing(length=lengths[0] if lengths else None)

    def encode(self, labels: Column) -> Array:
        """Return one row of numbers per answer."""
        return self._read(labels)

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Return one row of numbers per truth."""
        return self, self._read(labels)

    def _read(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(_parse)
        sizes = np.array([len(vector) for vector in parsed])[codes]
        wanted = self.length or int(sizes[0])
        if (sizes != wanted).any():
            row = int(np.argmax(sizes != wanted))
            raise LabelError(
                f"The vector in row {labels.row(row)} has {sizes[row]} numbers, but others have {wanted}. All vectors"
                " must be of one length."
            )
        vectors = np.stack(parsed)
        has_direction = np.asarray(vectors.any(axis=1))[codes]
        if self.distance == "cosine" and not has_direction.all():
            row = int(np.argmin(has_direction))
            raise LabelError(
                f"The vector in row {labels.row(row)} is zero, and has no direction. Remove the row, or take another"
                " distance than 'cosine'."
            )
        return vectors[codes]

    def describe(self) -> dict[str, Any]:
        """Say in a summary how many numbers a vector has."""
        return {**super().describe(), "length": self.length}

    def decode(self, codes: Array) -> Values:
        """Return the vectors as lists."""
        return Values(codes.tolist(), text=json.dumps)

    def prepare(self, block: Block) -> Block:
        """Centre each task, so that offsets cost no digits; compare pairs and hash labels where that is needed."""
        prepared: dict[str, Array] = {}
        if self.rule in _CHOICES:
            prepared["answer_hash"] = _hashes(block.label)
        if self.rule == "medoid" or self.distance == "euclidean":
            prepared["left"], prepared["right"], prepared["apart"] = self._pairs(block)
        points = cosine.scaled(block.label) if self.distance == "cosine" else block.label
        centre = _centre(replace(block, label=points))
        prepared["points"] = points - block.to_answers(centre)
        if self.rule in _CHOICES or self.distance == "cosine":
            return block.with_prepared(**prepared)
        gold = block.gold_label - centre[block.gold_task]
        prepared |= lost_labels(block, centre)
        return replace(block, label=prepared["points"], gold_label=gold).with_prepared(**prepared, centre=centre)

    def restore(self, block: Block, label: Array) -> Array:
        """Add the centres again."""
        return np.asarray(label + block.prepared["centre"]) if "centre" in block.prepared else label

    def answered(self, block: Block, rows: Array) -> Array:
        """Return the vectors as they came."""
        return given_labels(block, rows) if "centre" in block.prepared else block.label[rows]

    def known_truths(self, block: Block) -> Array:
        """Add the centres again."""
        if "centre" not in block.prepared:
            return block.gold_label
        return np.asarray(block.gold_label + block.prepared["centre"][block.gold_task])

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find, per task, the vector; its error is known only where faults are variances."""
        found = super().aggregate(block, weights, faults, ties=ties)
        return found if self.distance == "squared" else {**found, "error": unknown(block.n_tasks)}

    def apart(self, left: Array, right: Array) -> Floats:
        """Measure how far vectors are apart, pair by pair."""
        if self.distance == "cosine":
            return cosine.distance(left, right)
        squared = np.einsum("ij,ij->i", left - right, left - right)
        return np.asarray(squared if self.distance == "squared" else np.sqrt(squared), np.float64)

    def scatter(self, block: Block) -> Floats:
        """Measure how far the farthest answer to each task is from its centre."""
        return np.asarray(np.maximum.reduceat(_length(block.label), block.starts))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell where two vectors differ by more than rounding, which near zero is that of the task's answers."""
        size = np.maximum(_length(left), _length(right))
        return np.asarray(_length(left - right) > TOLERANCE * size + 1e-12 * scatter)

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up distances to peers: over pairs if they are Euclidean, else linear in the number of answers.

        With a task's weight W, its weighted mean z and V = sum_j w_j |x_j - z|^2, the weighted squared distance of x_i
        to all answers is W |x_i - z|^2 + V, as for numbers (`allalike.distances.euclidean`).
        """
        if self.distance == "euclidean":
            left, right, apart = (block.prepared[name] for name in ("left", "right", "apart"))
            weight, worker = weights.take(block.worker[right]), block.worker[left]
            distance = sum_by(worker, apart * weight, block.n_workers)
            return {"distance": distance, "weight": sum_by(worker, weight, block.n_workers)}
        own, points = weights.take(block.worker), block.prepared["points"]
        total = block.per_task(own)
        mean = sum_vectors(block, own[:, None] * points) / np.where(total > 0, total, 1.0)[:, None]
        away = points - block.to_answers(mean)
        square = np.einsum("ij,ij->i", away, away)
        around, everyone = block.to_answers(block.per_task(own * square)), block.to_answers(total)
        return {
            "distance": block.per_worker(everyone * square + around),
            "weight": block.per_worker(everyone - own),
        }

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up the distances of the pairs per pair of workers."""
        pairs = ((left, right, self._compare(block, left, right)) for left, right in pair_chunks(block, rows))
        return self.pair_matrices(block, rows, pairs)

    def _pairs(self, block: Block) -> tuple[Array, Array, Floats]:
        """Compare the answers to each task with each other: both answers of each ordered pair, and their distance."""
        pairs = list(pair_chunks(block))
        left, right = np.concatenate([i for i, _ in pairs]), np.concatenate([j for _, j in pairs])
        left, right = left[left < right], right[left < right]
        apart = self._compare(block, left, right)
        return np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([apart, apart])

    def _compare(self, block: Block, left: Array, right: Array) -> Floats:
        """Measure how far answers are apart, some at a time."""
        apart = np.empty(len(left))
        for part in np.array_split(np.arange(len(left)), 1 + apart.size * block.label.shape[1] // _AT_ONCE):
            apart[part] = self.apart(block.label[left[part]], block.label[right[part]])
        return apart


def _parse(value: Any) -> Floats:
    """Read a vector of finite numbers whose squares are finite too."""
    vector = _numbers(json_list(value) if isinstance(value, str) else value)
    if not np.isfinite(vector).all():
        raise ValueError("a number in it is not finite; a missing answer is a missing row")
    if np.abs(vector).max() > _LARGEST:
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


def _centre(block: Block) -> Floats:
    """Return a vector near each task's mean: the first answer, plus the mean difference to it."""
    first = block.label[block.starts]
    centre: Floats = first + sum_vectors(block, block.label - block.to_answers(first)) / block.sizes[:, None]
    return centre


def _hashes(vectors: Floats) -> Array:
    """Hash each vector, the same everywhere and always."""
    hashes = np.zeros(len(vectors), np.uint64)
    for bits in np.ascontiguousarray(vectors.T).view(np.uint64):
        hashes = mix(hashes + np.uint64(1) ^ bits)
    return hashes


def _length(vectors: Array) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), np.float64)
