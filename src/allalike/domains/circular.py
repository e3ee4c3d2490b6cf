"""Numbers on a circle: directions, times of day, days of the year, and other periodic quantities.

The mean of 350 and 10 degrees is not 180. A number is a point on a circle, two are d = (1 - cos a) / 2 apart with the
angle a between them, and the truth is the direction of the weighted mean of the points
(Mardia and Jupp, Directional Statistics, 2000). How long that mean is, from 0 to 1, says how much the answers agree.

It works for directions, hours of the day and days of the year. It fails where answers are all around the circle: their
mean has no direction, or one that chance decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.pairs import Centred
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import number
from allalike.distances import euclidean
from allalike.domains.vector import Vector, VectorEncoding, VectorKernels
from allalike.errors import OptionError
from allalike.noise import General
from allalike.rules.base import Decision, Rule, unknown
from allalike.rules.mean import hash_rows, weighted_mean

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.columns.column import Column

_DIGITS = 12  # of a period, to which truths are rounded
_NO_DIRECTION = 1e-9  # as short as that, a mean has none


def direction(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the direction of the weighted mean of the points on the circle; its length is the confidence.

    Where the mean has no direction, one of the answers is drawn. A block has centred points.

        (C, S) = sum_i w_i (cos a_i, sin a_i) / sum_i w_i,   truth = atan2(S, C),   confidence = sqrt(C^2 + S^2)

    >>> import allalike
    >>> rows = [("ada", 1, 350), ("bob", 1, 10)]
    >>> allalike.discover(rows, domain=allalike.Circular(period=360), method="UA").truth["label"].tolist()
    [0.0]
    """
    weight, total = block.answer_weights(weights)
    centre = block[Centred].centre
    mean = weighted_mean(block, weight, total) + centre
    length = 2 * np.linalg.norm(mean, axis=1)
    lost = length < _NO_DIRECTION
    label = mean / np.where(lost, 1.0, length)[:, None] - centre
    if lost.any():
        points = block[Centred].answers(block, np.arange(len(block.label)))
        order = np.argsort(np.argsort(_angles(points)))
        priority = ties.priority(block.to_answers(block.task_hash), hash_rows(points), order)
        drawn = np.lexsort((priority, block.task))[block.starts]
        label = np.where(lost[:, None], block.label[drawn], label)
    return Decision(label, np.minimum(length, 1.0), unknown(block.n_tasks), lost)


def _angles(points: Floats) -> Floats:
    """Return the angles of points, from 0 to a whole turn."""
    return np.asarray(np.arctan2(points[:, 1], points[:, 0]) % (2 * np.pi))


@dataclass(frozen=True, kw_only=True)
class Circular(Vector):
    """Numbers that begin again after a period, such as degrees, hours of the day or days of the year.

    Parameters
    ----------
    period
        After how much a number means the same again: 360 for degrees, 24 for hours.
    rule
        Aggregation rule: ``direction``, that of the weighted mean of their points on the circle.

    >>> import allalike
    >>> rows = [("ada", 1, 350), ("bob", 1, 10), ("ada", 2, 90), ("bob", 2, 100)]
    >>> found = allalike.discover(rows, domain=Circular(period=360), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(4).tolist()
    ([0.0, 95.0], [0.9848, 0.9962])
    """

    name: ClassVar[str] = "circular"
    summary: ClassVar[str] = "numbers that begin again after a period: degrees, hours; (1 - cosine) / 2"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("direction", direction),)
    distances: ClassVar[tuple[str, ...]] = ("cosine",)
    noise: ClassVar[General] = General(farthest=0.5)  # as far is a direction at random from any other
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
class CircularEncoding(VectorEncoding):
    """Finite numbers; a code is a point on a circle of diameter 1, where (1 - cos a) / 2 is the squared distance."""

    domain: Circular

    @property
    def kernels(self) -> CircularKernels:
        return CircularKernels(domain=self.domain)

    def encode(self, labels: Column) -> Floats:
        angle = labels.numbers % self.domain.period * (2 * np.pi / self.domain.period)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) / 2

    def decode(self, codes: Array) -> Values:
        period = self.domain.period
        numbers = np.round(_angles(codes.reshape(-1, 2)) / (2 * np.pi), _DIGITS) % 1.0 * period
        digits = max(_DIGITS - 1 - int(np.floor(np.log10(period))), 0)  # without those that are rounding beside it
        return Values(arrow_of(np.round(numbers, digits) % period))

    def describe(self) -> dict[str, Any]:
        return self.domain.describe()


@dataclass(frozen=True, kw_only=True)
class CircularKernels(VectorKernels):
    """Sums of squared distances of points, linear in the number of answers."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        return euclidean.square_lengths(left - right)
