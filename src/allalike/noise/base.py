"""Noise: what a domain knows about how workers err."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from allalike.blocks import Floats
    from allalike.crowds import Crowds

__all__ = ["General", "Noise"]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Turn disparities into faults and faults into weights.

    `weighting` is what P-TD does by default with the disparities of this noise, and `chance` the distance to the
    truth of a worker who guesses, where that is known.
    """

    name: ClassVar[str]
    weighting: ClassVar[str] = "max"
    estimates_fault: ClassVar[bool] = False

    @property
    def chance(self) -> float | None:
        """How far from the truth a guess is on average."""
        return None

    def fault(self, disparity: Floats, half_mean: Floats, crowds: Crowds) -> Floats:
        """Estimate the distance to the truth from the disparity and half the mean distance of two workers."""
        raise UnsupportedError(f"No fault can be estimated under {self.name} noise.")

    def tame(self, fault: Floats, half_mean: Floats) -> Floats:
        """Bring estimated faults into the range for which weights are defined."""
        return fault

    def weight(self, fault: Floats, crowds: Crowds) -> Floats:
        """Weigh workers whose fault is known."""
        return crowds.peak(fault) - fault


@dataclass(frozen=True, kw_only=True)
class General(Noise):
    """Know nothing but the distance, and at most how far a worthless answer is from the others.

    >>> from allalike.crowds import Crowds
    >>> import numpy as np
    >>> General().weight(np.array([1.0, 3.0]), Crowds.single(2))
    array([2., 0.])
    """

    name: ClassVar[str] = "general"
    farthest: float | None = None

    @property
    def chance(self) -> float | None:
        """How far from the others a worthless answer is."""
        return self.farthest
