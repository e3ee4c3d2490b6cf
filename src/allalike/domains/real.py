"""Numbers: labels whose differences are meaningful.

    squared:   d = (x - y)^2    minimised by the weighted mean: for Gaussian errors
    absolute:  d = |x - y|      minimised by the weighted median: for errors with outliers

Numbers work for measurements, estimates and scores. They fail for numbers that are names, such as codes, and for
periodic numbers, such as hours (`allalike.Circular`). Comparing answers cannot reveal a bias shared by all workers.
Under `squared`, a worker's error is the variance of their deviations, so one answer of -999 makes an otherwise good
worker look the worst. Under `absolute` it is the mean absolute deviation, which one outlier affects less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, find_order
from allalike._core.blocks.pairs import Centred
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import flag, option
from allalike.distances import absolute, euclidean
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.domains.offsets import Offsets
from allalike.domains.spelling import LARGEST_NUMBER, Spelling
from allalike.domains.written_labels import NumberForm, check_form
from allalike.errors import LabelError
from allalike.noise import Gaussian, Laplace, Noise
from allalike.rules.base import Rule, unknown
from allalike.rules.mean import mean, median


@dataclass(frozen=True, kw_only=True)
class Real(Domain):
    """Numbers, compared by squared or absolute distance.

    Parameters
    ----------
    distance
        ``squared``, or ``absolute``, which reduces the influence of outliers.
    rule
        Aggregation rule: weighted ``mean`` or ``median``. Default: ``median`` for absolute distance, otherwise
        ``mean``.
    bias
        Whether to estimate and subtract each worker's mean deviation, reported as ``bias`` in the worker table. A bias
        shared by all workers cannot be detected.
    form
        Format of numbers, if not plain: the number 1234.5 written like the labels, such as ``1,234.5``, ``1.234,5 €``,
        ``1234.5 kg``, ``$1234.5``. With ``<1234.5``, a bound such as ``<46`` is read as 46.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain=Real(rule="median"), method="UA").truth["label"].tolist()
    [21.0]
    >>> rows = [(worker, task, task + bias) for worker, bias in (("ada", 0.0), ("bob", 0.0), ("eve", 3.0))
    ...         for task in range(9)]
    >>> allalike.discover(rows, domain=Real(bias=True), method="UA").workers["bias"].round(2).tolist()
    [-1.0, -1.0, 2.0]
    >>> rows = [("ada", 1, "45.5 kg"), ("bob", 1, "46.5 kg")]
    >>> allalike.discover(rows, domain=Real(form="1234.5 kg"), method="UA").truth["label"].tolist()
    [46.0]
    """

    name: ClassVar[str] = "real"
    summary: ClassVar[str] = "numbers; squared Euclidean distance or absolute"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("mean", mean), Rule("median", median))
    distances: ClassVar[tuple[str, ...]] = ("squared", "absolute")
    numeric: ClassVar[bool] = True
    recurring: ClassVar[bool] = False
    bias: bool = flag(False)
    form: str | None = option(None, check_form)

    def __post_init__(self) -> None:
        if not self.rule and self.distance == "absolute":
            object.__setattr__(self, "rule", "median")
        super().__post_init__()

    @property
    def noise(self) -> Noise:
        return Gaussian() if self.distance == "squared" else Laplace()

    @property
    def spelling(self) -> Spelling:
        return Spelling(strip=False, numbers=True)

    @property
    def power(self) -> int:
        return 2 if self.distance == "squared" else 1

    def learn(self, labels: Column) -> RealEncoding:
        return RealEncoding(domain=self, offsets=Offsets() if self.bias else None)


class CentredKernels(Kernels):
    """Sums of distances between numbers or vectors, relative to their task's centre if the block is `Centred`."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        measure = euclidean.square_lengths if self.domain.distance == "squared" else euclidean.lengths
        return measure(left - right)

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        found = super().aggregate(block, weights, faults, ties=ties)
        return found if self.domain.power == 2 else {**found, "error": unknown(block.n_tasks)}

    def restore(self, block: Block, label: Array) -> Array:
        return np.asarray(label + block[Centred].centre) if Centred in block else label

    def restore_answers(self, block: Block, rows: Array) -> Array:
        return block[Centred].answers(block, rows) if Centred in block else block.label[rows]

    def scatter(self, block: Block) -> Floats:
        return np.asarray(np.maximum.reduceat(euclidean.lengths(block.label), block.starts))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        size = np.maximum(euclidean.lengths(left), euclidean.lengths(right))
        return np.asarray(euclidean.lengths(left - right) > TOLERANCE * size + 1e-12 * scatter)


@dataclass(frozen=True, kw_only=True)
class RealKernels(CentredKernels):
    """Sums of squared or absolute distances between centred numbers in linear time."""

    domain: Real

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        if self.domain.distance == "squared":
            return euclidean.peer_distances(block, weights)
        return absolute.peer_distances(block, weights)


@dataclass(frozen=True, kw_only=True)
class RealEncoding(Encoding):
    """Finite numbers with finite squares; a code is the number, corrected for worker offsets if enabled."""

    kernels_type: ClassVar[type[Kernels]] = RealKernels
    domain: Real

    def encode(self, labels: Column) -> Floats:
        numbers = self._read(labels)
        if np.abs(numbers).max(initial=0.0) > LARGEST_NUMBER:
            largest = int(np.argmax(np.abs(numbers)))
            raise LabelError(
                f"The label in row {labels.row(largest)} is {numbers[largest]:g}, whose square overflows. Rescale the"
                " labels, for example from mm to km."
            )
        return numbers

    def _read(self, labels: Column) -> Floats:
        if self.domain.form is None:
            return labels.numbers
        form = NumberForm.of(self.domain.form)
        codes, numbers = labels.parsed(form.parse, form.parse_texts)
        return np.array(numbers, np.float64)[codes]

    def decode(self, codes: Array) -> Values:
        return Values(arrow_of(codes))

    def describe(self) -> dict[str, Any]:
        chosen = {name: value for name in ("bias", "form") if (value := getattr(self.domain, name))}
        return {**super().describe(), **chosen}

    def prepare(self, block: Block) -> Block:
        if self.domain.distance == "squared":
            return Centred.subtract(block, euclidean.centre(block))
        order = find_order(block)
        return Centred.subtract(block, order.middle(block)).keeping(order)
