"""Numbers: labels whose difference means something."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from allalike.blocks.ties import TOLERANCE
from allalike.columns.values import Values, arrow_of
from allalike.distances import euclidean
from allalike.domains.base import Domain
from allalike.domains.centre import given_labels, lost_labels
from allalike.errors import LabelError
from allalike.noise import Gaussian
from allalike.rules.base import Rule
from allalike.rules.mean import mean, median

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats
    from allalike.columns.column import Column

__all__ = ["Real"]

_LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class Real(Domain):
    """Compare numbers by squared distance.

    Parameters
    ----------
    rule
        How a task's numbers become one: ``mean`` or ``median``, both weighted.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain=Real(rule="median"), method="UA").truth["label"].tolist()
    [21.0]
    """

    name: ClassVar[str] = "real"
    summary: ClassVar[str] = "numbers; squared Euclidean distance"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("mean", mean), Rule("median", median))
    distances: ClassVar[tuple[str, ...]] = ("squared",)
    numeric: ClassVar[bool] = True

    @property
    def model(self) -> Gaussian:
        """Expect Gaussian errors with a variance per worker."""
        return Gaussian()

    @property
    def recurring(self) -> bool:
        """Say no: two numbers hardly ever are the same."""
        return False

    def resolve(self, labels: Column) -> Self:
        """Return the domain as it is: numbers need no vocabulary."""
        return self

    def encode(self, labels: Column) -> Array:
        """Read the labels as finite numbers whose squares are finite too."""
        return _checked(labels)

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Read the truths in the same way."""
        return self, _checked(labels)

    def decode(self, codes: Array) -> Values:
        """Return the numbers."""
        return Values(arrow_of(codes))

    def prepare(self, block: Block) -> Block:
        """Centre each task, so that offsets cost no digits."""
        centre = euclidean.centre(block)
        return replace(
            block,
            label=block.label - block.to_answers(centre),
            gold_label=block.gold_label - centre[block.gold_task],
            prepared={"centre": centre, **lost_labels(block, centre)},
        )

    def restore(self, block: Block, label: Array) -> Array:
        """Add the centres again."""
        return label + block.prepared["centre"]

    def answered(self, block: Block, rows: Array) -> Array:
        """Return the numbers as they came."""
        return given_labels(block, rows)

    def known_truths(self, block: Block) -> Array:
        """Add the centres again."""
        return np.asarray(block.gold_label + block.prepared["centre"][block.gold_task])

    def apart(self, left: Array, right: Array) -> Floats:
        """Square the differences."""
        return euclidean.distance(left, right)

    def scatter(self, block: Block) -> Floats:
        """Measure how far the farthest answer to each task is from its centre."""
        return np.asarray(np.maximum.reduceat(np.abs(block.label), block.starts))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell where two numbers differ by more than rounding, which near zero is that of the task's answers."""
        size = np.maximum(np.abs(left), np.abs(right))
        return np.asarray(np.abs(left - right) > TOLERANCE * size + 1e-12 * scatter)

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up squared distances, linear in the number of answers."""
        return euclidean.peer_sums(block, weights)


def _checked(labels: Column) -> Array:
    """Return finite numbers whose squares are finite too."""
    numbers = labels.numbers
    largest = int(np.argmax(np.abs(numbers)))
    if abs(numbers[largest]) > _LARGEST:
        raise LabelError(
            f"The label in row {labels.row(largest)} is {numbers[largest]:g}, whose square is beyond all numbers."
            " Measure in larger units."
        )
    return numbers
