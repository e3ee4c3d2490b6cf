"""Additive Gaussian noise on numbers, each worker with a variance of her own, which is her fault.

Two workers with faults f_i and f_j are f_i + f_j apart on average (squared), so the faults solve a system of
linear equations, one for each pair. With a ridge lambda >= 0 the least-squares solution is closed (Meir et al.
2023, the Anna Karenina theorem and its estimator):

    f_i = [2(n-1) pi_i - 8n(n-1) / (4n + lambda - 4) * mubar] / (2n + lambda - 4),

where pi_i is the disparity and mubar half the mean distance. With lambda = 4 it is the squared distance to the
mean, hence never negative. With a smaller lambda the best workers often get an estimate <= 0, and what becomes
of them matters: ``floor`` (the default) lifts it to a small share of mubar, ``clip`` to 1e-8, which makes such a
worker a dictator, and ``zero`` gives her no weight, as the paper says, which throws away the best.

The best weights for known variances are their inverses (Aitken 1935).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from allalike.noise.base import Noise
from allalike.registry import check_choice, check_number

if TYPE_CHECKING:
    from allalike.blocks import Floats
    from allalike.crowds import Crowds

__all__ = ["Gaussian"]


@dataclass(frozen=True, kw_only=True)
class Gaussian(Noise):
    """Know that workers are off by independent Gaussian errors.

    Parameters
    ----------
    ridge
        The paper's lambda: how much faults are drawn to zero. 0 is the maximum-likelihood estimate.
    nonpositive
        What to do with a fault that is not positive: ``floor``, ``clip`` or ``zero``.
    floor
        The share of half the mean distance to which ``floor`` lifts a fault.

    >>> from allalike.crowds import Crowds
    >>> import numpy as np
    >>> pi, crowds = np.array([197.3125, 307.5625, 491.25, 319.75, 418.375]), Crowds.single(5)
    >>> Gaussian().fault(pi, np.full(5, 173.425), crowds).round(4)
    array([-25.9583, 121.0417, 365.9583, 137.2917, 268.7917])
    """

    name: ClassVar[str] = "Gaussian"
    weighting: ClassVar[str] = "inverse"
    estimates_fault: ClassVar[bool] = True
    ridge: float = 0.0
    nonpositive: str = "floor"
    floor: float = 0.02

    def __post_init__(self) -> None:
        check_number(self.ridge, "ridge", least=0)
        check_number(self.floor, "floor", least=1e-12)
        check_choice(self.nonpositive, ("floor", "clip", "zero"), "nonpositive")

    def fault(self, disparity: Floats, half_mean: Floats, crowds: Crowds) -> Floats:
        """Estimate the variance of each worker's error."""
        n = crowds.size
        with np.errstate(invalid="ignore", divide="ignore"):
            shared = 8 * n * (n - 1) / (4 * n + self.ridge - 4) * half_mean
            fault = (2 * (n - 1) * disparity - shared) / (2 * n + self.ridge - 4)
        # Two workers and no ridge: one equation for two unknowns; the solution of minimum norm shares the distance.
        return np.where((n == 2) & (self.ridge == 0), disparity / 2, fault)

    def tame(self, fault: Floats, half_mean: Floats) -> Floats:
        """Deal with faults that are not positive."""
        if self.nonpositive == "floor":
            return np.maximum(fault, self.floor * half_mean)
        if self.nonpositive == "clip":
            return np.clip(fault, 1e-8, 1e8)
        return fault

    def weight(self, fault: Floats, crowds: Crowds) -> Floats:
        """Weigh by the inverse variance."""
        with np.errstate(divide="ignore"):
            return 1.0 / fault

    def sample(self, truth: Floats, faults: Floats, seed: int = 0) -> npt.NDArray[np.float64]:
        """Draw one row of answers for each worker, given her variance.

        >>> import numpy as np
        >>> Gaussian().sample(np.array([1.0, 2.0]), np.zeros(1))
        array([[1., 2.]])
        """
        errors = np.random.default_rng(seed).standard_normal((len(faults), len(truth)))
        return np.asarray(truth) + np.sqrt(faults)[:, None] * errors
