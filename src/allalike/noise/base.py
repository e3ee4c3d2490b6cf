"""Noise: what a domain knows about how workers err."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from allalike._core.options import Options
from allalike.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["General", "Noise", "Seed", "check_within", "without_dust"]

Seed: TypeAlias = "int | np.random.Generator"  # not looked up: NumPy loads its generators when they are asked for

_DUST_SHARE = 1e-12  # what is smaller than this share of what it was computed from is rounding


@dataclass(frozen=True, kw_only=True)
class Noise(Options):
    """A way to err: it turns disparities into faults and faults into weights, and draws answers with these faults.

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

    def fault(self, disparity: Floats, mubar: Floats, problems: Problems) -> Floats:
        """Estimate the distance to the truth from the disparity and half the mean distance of two workers."""
        raise UnsupportedError(f"No fault can be estimated under {self.name} noise.")

    def bound_faults(self, fault: Floats, mubar: Floats) -> Floats:
        """Bring estimated faults into the range for which weights are defined."""
        return fault

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh workers whose fault is known."""
        worst = problems.peak(fault)
        return without_dust(worst - fault, worst)

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Array:
        """Draw an answer for each truth and fault, which are matched as numpy does; a label's own axes come last."""
        raise UnsupportedError(f"No answers can be drawn under {self.name} noise.")

    def sample(self, truth: Array, faults: Floats, seed: Seed = 0) -> Array:
        """Draw one row of answers for each worker, given her fault: an answer to every task.

        >>> import numpy as np
        >>> from allalike.noise import OneCoin
        >>> OneCoin(classes=3).sample(np.array([0, 1, 2]), np.zeros(1))
        array([[0, 1, 2]])
        """
        return self.draw(np.asarray(truth)[None], np.asarray(faults)[:, None], np.random.default_rng(seed))


@dataclass(frozen=True, kw_only=True)
class General(Noise):
    """Noise of which only the distance is known, and at most how far a worthless answer is from the others.

    >>> from allalike._core.blocks.problems import Problems
    >>> import numpy as np
    >>> General().weight(np.array([1.0, 3.0]), Problems.single(2))
    array([2., 0.])
    """

    name: ClassVar[str] = "general"
    farthest: float | None = None

    @property
    def chance(self) -> float | None:
        """How far from the others a worthless answer is."""
        return self.farthest


def without_dust(values: Floats, scale: Floats | float) -> Floats:
    """Return values with 0 in place of what is rounding beside the scale, so that rounding decides nothing.

    >>> import numpy as np
    >>> without_dust(np.array([1e-3, -1e-15, 1e-17]), 1.0)
    array([0.001, 0.   , 0.   ])
    """
    return np.where(np.abs(values) > _DUST_SHARE * scale, values, 0.0)


def check_within(values: Any, most: float, what: str) -> Floats:
    """Return the values as an array if all of them lie between 0 and a limit.

    >>> check_within([0.5, 1.5], 1, "A probability of error")
    Traceback (most recent call last):
    allalike.errors.OptionError: A probability of error must be between 0 and 1, and one is 1.5.
    """
    array = np.asarray(values, np.float64)
    fits = (array >= 0) & (array <= most)
    if not fits.all():
        limit = f"between 0 and {most:g}" if np.isfinite(most) else "a number, at least 0"
        raise OptionError(f"{what} must be {limit}, and one is {array[~fits].flat[0]:g}.")
    return array
