"""Numbers on a circle: directions, times of day, days of the year, whatever begins again after a period.

The mean of 350 and 10 degrees is not 180. A number is a point on a circle, two are d = (1 - cos a) / 2 apart with the
angle a between them, and the truth is the direction of the weighted mean of the points
(Mardia and Jupp, Directional Statistics, 2000). How long that mean is, from 0 to 1, says how much the answers agree.

It works for directions, hours of the day and days of the year. It fails where answers are all around the circle: their
mean has no direction, or one that chance decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Ties
from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import number
from allalike.distances import euclidean
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.errors import OptionError
from allalike.noise import General
from allalike.rules.base import Decision, Rule, unknown
from allalike.rules.mean import weighted_mean

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.column import Column

_DIGITS = 12  # of a period, to which truths are rounded
_NO_DIRECTION = 1e-9  # as short as that, a mean has none


@dataclass(frozen=True)
class Turns:
    """The answers of a block as points on the unit circle, turned so that the first of each task is at angle 0."""

    points: Floats
    first: Floats


def direction(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the direction of the weighted mean of the points on the circle; its length is the confidence.

    Where the mean has no direction, one of the answers is drawn. Labels are angles in radians, and the block needs its
    `Turns`.

        (C, S) = sum_i w_i (cos a_i, sin a_i) / sum_i w_i,   truth = atan2(S, C),   confidence = sqrt(C^2 + S^2)

    >>> import allalike
    >>> rows = [("ada", 1, 350), ("bob", 1, 10)]
    >>> allalike.discover(rows, domain=allalike.Circular(period=360), method="UA").truth["label"].tolist()
    [0.0]
    """
    turns = block[Turns]
    weight, total = block.answer_weights(weights)
    mean = weighted_mean(replace(block, label=turns.points), weight, total)
    length = np.hypot(mean[:, 0], mean[:, 1])
    label = np.arctan2(mean[:, 1], mean[:, 0]) + turns.first
    lost = length < _NO_DIRECTION
    if lost.any():
        hashes = mix(np.ascontiguousarray(block.label).view(np.uint64))
        priority = ties.priority(block.to_answers(block.task_hash), hashes, np.argsort(np.argsort(block.label)))
        drawn = np.lexsort((priority, block.task))[block.starts]
        label = np.where(lost, block.label[drawn], label)
    return Decision(label % (2 * np.pi), np.minimum(length, 1.0), unknown(block.n_tasks), lost)


@dataclass(frozen=True, kw_only=True)
class Circular(Domain):
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
    period: float = number(360.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period <= 0:
            raise OptionError(f"period is {self.period!r}. It must be more than 0, such as 360 for degrees.")

    def learn(self, labels: Column) -> CircularEncoding:
        return CircularEncoding(domain=self)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "period": self.period}


@dataclass(frozen=True, kw_only=True)
class CircularEncoding(Encoding):
    """Finite numbers; a code is an angle in radians, from 0 to a whole turn."""

    domain: Circular

    @property
    def kernels(self) -> CircularKernels:
        return CircularKernels(domain=self.domain)

    def encode(self, labels: Column) -> Floats:
        return np.asarray(labels.numbers % self.domain.period * (2 * np.pi / self.domain.period))

    def decode(self, codes: Array) -> Values:
        period = self.domain.period
        share = np.round(codes / (2 * np.pi), _DIGITS) % 1.0
        return Values(arrow_of(np.asarray(_rounded(share * period, period))))

    def prepare(self, block: Block) -> Block:
        first = block.label[block.starts]
        turned = block.label - block.to_answers(first)
        return block.keeping(Turns(np.stack([np.cos(turned), np.sin(turned)], axis=1), first))


class CircularKernels(Kernels):
    """Sums of distances of angles, linear in the number of answers."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        return np.asarray(np.sin((left - right) / 2) ** 2, np.float64)

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        square, weight = euclidean.peer_distances(block, weights, block[Turns].points)
        return square / 4, weight

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        return np.asarray(self.distance_between(left, right) > TOLERANCE**2)


def _rounded(numbers: Floats, period: float) -> Floats:
    """Return numbers without digits that are rounding beside the period."""
    digits = _DIGITS - 1 - int(np.floor(np.log10(period)))
    return np.asarray(np.round(numbers, max(digits, 0)) % period)
