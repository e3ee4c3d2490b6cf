"""One-coin noise on k classes: worker i errs with probability f_i, and then any wrong class is as likely.

Two workers differ with probability f_i + f_j - c f_i f_j, where c = k / (k-1). Hence the disparity is
pi_i = mu + (1 - c mu) f_i on average, with mu the mean fault (Meir et al. 2023, the one-coin corollary), and

    f_i = (pi_i - mu) / (1 - c mu).

For mu the paper takes half the mean distance (``mu="half"``). That is a little too small, because the mean
distance is 2 mu - c mu^2 and not 2 mu; solving for mu (``mu="exact"``) makes the estimate consistent, with the
same order of workers. The best weights for known faults are the log odds log((1 - f)(k - 1) / f) (Grofman, Owen
and Feld 1983), or to first order 1 - f - 1/k. Workers worse than chance get weight 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.options import choice
from allalike.noise.base import Noise, check_within, without_dust

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["OneCoin"]

_MIN_FAULT = 0.001  # a fault closer to 0 or 1 than this would weigh too much


@dataclass(frozen=True, kw_only=True)
class OneCoin(Noise):
    """Independent errors, with a probability for each worker.

    Parameters
    ----------
    classes
        How many classes there are.
    mu
        How the mean fault is estimated: ``half`` the mean distance, or ``exact``.
    transform
        How a fault becomes a weight: ``log`` odds, or ``linear``.

    >>> from allalike._core.blocks.problems import Problems
    >>> import numpy as np
    >>> pi, problems = np.array([0.34375, 0.375, 0.46875, 0.5625, 0.625]), Problems.single(5)
    >>> OneCoin(classes=2).fault(pi, np.full(5, 0.2375), problems).round(5)
    array([0.20238, 0.2619 , 0.44048, 0.61905, 0.7381 ])
    """

    name: ClassVar[str] = "one-coin"
    estimates_fault: ClassVar[bool] = True
    classes: int = 2
    mu: str = choice("half", "exact")
    transform: str = choice("log", "linear")

    @property
    def chance(self) -> float:
        """How often a guess is wrong."""
        return 1 - 1 / max(self.classes, 2)

    def fault(self, disparity: Floats, mubar: Floats, problems: Problems) -> Floats:
        """Estimate the probability of each worker's error."""
        mu = mubar
        if self.mu == "exact":
            mu = self.chance * (1 - np.sqrt(np.maximum(0.0, 1 - 2 * mubar / self.chance)))
        slope = 1 - mu / self.chance
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(slope < 1e-9, np.nan, (disparity - mu) / slope)

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh by the log odds of being right."""
        fault = np.clip(fault, _MIN_FAULT, 1 - _MIN_FAULT)
        if self.transform == "linear":
            return without_dust(self.chance - fault, 1.0)
        return without_dust(np.log((1 - fault) * (max(self.classes, 2) - 1) / fault), 1.0)

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Err with the given probability, and then take any other class."""
        faults, classes = check_within(faults, 1, "A probability of error"), max(self.classes, 2)
        shape = np.broadcast_shapes(np.shape(truth), faults.shape)
        errs = rng.random(shape) < faults
        answers: npt.NDArray[np.int64] = (truth + errs * rng.integers(1, classes, shape)) % classes
        return answers
