"""Numbers: labels whose difference means something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.blocks.centre import Centred
from allalike.blocks.ties import TOLERANCE
from allalike.columns.values import Values, arrow_of
from allalike.distances import euclidean
from allalike.domains.base import Domain
from allalike.domains.encoding import Encoding
from allalike.domains.kernels import Kernels
from allalike.errors import LabelError
from allalike.noise import Gaussian
from allalike.rules.base import Rule
from allalike.rules.mean import mean, median

if TYPE_CHECKING:
    from allalike.blocks.block import Array, Block, Floats
    from allalike.columns.column import Column

__all__ = ["Real"]

_LARGEST_NUMBER = 1e150


@dataclass(frozen=True, kw_only=True)
class Real(Domain):
    """Numbers, compared by squared distance.

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
    noise: ClassVar[Gaussian] = Gaussian()
    recurring: ClassVar[bool] = False

    @property
    def power(self) -> int:
        """Which power of a length the distance is."""
        return 2 if self.distance == "squared" else 1

    def learn(self, labels: Column) -> RealEncoding:
        """Return the encoding, which is the same for all numbers."""
        return RealEncoding(domain=self)


@dataclass(frozen=True, kw_only=True)
class RealEncoding(Encoding):
    """Finite numbers whose squares are finite too; a code is the number itself."""

    @property
    def kernels(self) -> RealKernels:
        """Squared distances."""
        return RealKernels(domain=self.domain)

    @property
    def nothing(self) -> Floats:
        """No numbers."""
        return np.empty(0)

    def encode(self, labels: Column) -> Floats:
        """Read the labels as numbers."""
        numbers = labels.numbers
        largest = int(np.argmax(np.abs(numbers)))
        if abs(numbers[largest]) > _LARGEST_NUMBER:
            raise LabelError(
                f"The label in row {labels.row(largest)} is {numbers[largest]:g}, whose square is beyond all numbers."
                " Measure in larger units."
            )
        return numbers

    def decode(self, codes: Array) -> Values:
        """Return the numbers."""
        return Values(arrow_of(codes))

    def prepare(self, block: Block) -> Block:
        """Centre each task, so that offsets cost no digits."""
        return Centred.subtract(block, euclidean.centre(block))


class RealKernels(Kernels):
    """Sums of squared distances, linear in the number of answers, of numbers that are centred per task."""

    check_digits = staticmethod(euclidean.check_digits)

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Square the differences."""
        return euclidean.distance(left, right)

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Add up squared distances."""
        return euclidean.peer_distances(block, weights)

    def restore(self, block: Block, label: Array) -> Array:
        """Add the centres again."""
        return label + block[Centred].centre

    def restore_answers(self, block: Block, rows: Array) -> Array:
        """Return the numbers as they came."""
        return block[Centred].answers(block, rows)

    def restore_gold(self, block: Block) -> Array:
        """Add the centres again."""
        return block[Centred].gold(block)

    def scatter(self, block: Block) -> Floats:
        """Measure how far the farthest answer to each task is from its centre."""
        return np.asarray(np.maximum.reduceat(np.abs(block.label), block.starts))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell where two numbers differ by more than rounding, which near zero is that of the task's answers."""
        size = np.maximum(np.abs(left), np.abs(right))
        return np.asarray(np.abs(left - right) > TOLERANCE * size + 1e-12 * scatter)
