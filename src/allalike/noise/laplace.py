"""Laplace noise on numbers: errors whose size matters, not its square, each worker with a mean size of her own.

Its density exp(-|x - t| / b) / (2 b) has heavier tails than that of Gauss: one answer that is far off is no surprise.
The mean size b of a worker's errors is her fault. Where b is known, the most likely truth of a task minimises
sum_i |x_i - t| / b_i: it is the weighted median with the weights 1 / b_i.

The distance of two answers does not tell the faults of both: it is b_i + b_j - b_i b_j / (b_i + b_j) on average, and
not their sum. So no fault is estimated from disparities; a disparity itself is one, up to what the others err.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.noise.base import Noise, check_within

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["Laplace"]


@dataclass(frozen=True, kw_only=True)
class Laplace(Noise):
    """Independent errors with a mean size for each worker, and with heavy tails.

    >>> from allalike._core.blocks.problems import Problems
    >>> Laplace().weight(np.array([0.5, 2.0]), Problems.single(2))
    array([2. , 0.5])
    """

    name: ClassVar[str] = "Laplace"
    weighting: ClassVar[str] = "inverse"

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh by the inverse of the mean size of errors."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Floats:
        """Add an error to each truth, given its mean size.

        >>> Laplace().draw(np.array([1.0, 2.0]), np.zeros(2), np.random.default_rng(0))
        array([1., 2.])
        """
        size = check_within(faults, np.inf, "A mean error")
        shape = np.broadcast_shapes(np.shape(truth), size.shape)
        answers: Floats = np.asarray(truth) + size * rng.laplace(size=shape)
        return answers
