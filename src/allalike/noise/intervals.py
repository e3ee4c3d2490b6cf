"""Noise on sets of intervals: every start and every end is moved, and some intervals are overlooked.

Starts and ends are whole numbers, such as places in a text. Each is moved by a Gaussian error whose standard
deviation is the worker's fault; then all are put in order again, so that intervals stay apart or merge. How far
such an answer is from the truth by Jaccard distance depends on the lengths, and has no closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.options import share, whole
from allalike.noise.base import Noise, check_within

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats

__all__ = ["IntervalNoise"]


@dataclass(frozen=True, kw_only=True)
class IntervalNoise(Noise):
    """Bounds that are off; truths and answers are tables with a start and an end per interval.

    Parameters
    ----------
    length
        Where the line ends that the intervals lie on; it starts at 0.
    miss
        How likely an interval is overlooked. It then ends where it starts.

    >>> import numpy as np
    >>> IntervalNoise(length=50).sample(np.array([[[3, 9], [20, 40]]]), np.array([0.0, 2.0]), seed=1).tolist()
    [[[[3, 9], [20, 40]]], [[[5, 10], [19, 41]]]]
    """

    name: ClassVar[str] = "interval"
    length: int = whole(1000, least=1)
    miss: float = share(0.0)

    @property
    def chance(self) -> float:
        """How far from the truth an answer without a common point is."""
        return 1.0

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Move the bounds, put them in order, and forget some intervals."""
        shift, bounds = check_within(faults, np.inf, "A shift")[..., None, None], np.asarray(truth)
        shape = np.broadcast_shapes(bounds.shape, shift.shape)
        moved = np.rint(bounds + shift * rng.standard_normal(shape)).clip(0, self.length).astype(np.int64)
        answers: npt.NDArray[np.int64] = np.sort(moved.reshape(*shape[:-2], -1), axis=-1).reshape(shape)
        missed = rng.random(shape[:-1]) < self.miss
        answers[..., 1] = np.where(missed, answers[..., 0], answers[..., 1])
        return answers
