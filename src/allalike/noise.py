"""Noise models: what disparities say about faults, and faults about weights, by label type.

`allalike.simulation` draws answers with these errors and others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.options import Options, choice, number
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = ["Gaussian", "General", "Laplace", "Noise", "OneCoin"]

_DUST_SHARE = 1e-12  # what is smaller than this share of what it was computed from is rounding


@dataclass(frozen=True, kw_only=True)
class Noise(Options):
    """A way to err: it turns disparities into faults, and faults into weights.

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

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the distance to the truth from the disparity and half the mean distance of two workers."""
        raise UnsupportedError(f"No fault can be estimated under {self.name} noise.")

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Bring estimated faults into the range for which weights are defined."""
        return fault

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh workers whose fault is known."""
        worst = peak(fault)
        return without_dust(worst - fault, worst)


@dataclass(frozen=True, kw_only=True)
class General(Noise):
    """Noise of which only the distance is known, and at most how far a worthless answer is from the others.

    >>> import numpy as np
    >>> General().weight(np.array([1.0, 3.0]))
    array([2., 0.])
    """

    name: ClassVar[str] = "general"
    farthest: float | None = None

    @property
    def chance(self) -> float | None:
        """How far from the others a worthless answer is."""
        return self.farthest


def peak(values: Floats) -> float:
    """Return the largest number that is not NaN; NaN if there is none."""
    return float(np.fmax.reduce(values, initial=-np.inf)) if not np.isnan(values).all() else np.nan


def without_dust(values: Floats, scale: Floats | float) -> Floats:
    """Return values with 0 in place of what is rounding beside the scale, so that rounding decides nothing.

    >>> import numpy as np
    >>> without_dust(np.array([1e-3, -1e-15, 1e-17]), 1.0)
    array([0.001, 0.   , 0.   ])
    """
    return np.where(np.abs(values) > _DUST_SHARE * scale, values, 0.0)


# Additive Gaussian noise on numbers, with a variance for each worker, which is their fault.
#
# Two workers with faults f_i and f_j are f_i + f_j apart on average (squared), so the faults solve a system of
# linear equations, one for each pair. With a ridge lambda >= 0 the least-squares solution is closed (Meir et al.
# 2023, the Anna Karenina theorem and its estimator):
#
#     f_i = [2(n-1) pi_i - 8n(n-1) / (4n + lambda - 4) * mubar] / (2n + lambda - 4),
#
# where pi_i is the disparity and mubar half the mean distance. With lambda = 4 it is the squared distance to the
# mean, hence never negative. With a smaller lambda the best workers often get an estimate <= 0, and what becomes
# of them matters: ``floor`` (the default) lifts it to a small share of mubar, ``clip`` to 1e-8, which makes such a
# worker a dictator, and ``zero`` gives them no weight, as the paper says, which throws away the best.
#
# The best weights for known variances are their inverses (Aitken 1935).


@dataclass(frozen=True, kw_only=True)
class Gaussian(Noise):
    """Independent Gaussian errors, with a variance for each worker.

    Parameters
    ----------
    ridge
        The paper's lambda: how much faults are drawn to zero. 0 is the maximum-likelihood estimate.
    nonpositive
        Treatment of a fault that is not positive: ``floor``, ``clip`` or ``zero``.
    floor
        The share of half the mean distance to which ``floor`` lifts a fault.

    >>> import numpy as np
    >>> pi = np.array([197.3125, 307.5625, 491.25, 319.75, 418.375])
    >>> Gaussian().fault(pi, 173.425).round(4)
    array([-25.9583, 121.0417, 365.9583, 137.2917, 268.7917])
    """

    name: ClassVar[str] = "Gaussian"
    weighting: ClassVar[str] = "inverse"
    estimates_fault: ClassVar[bool] = True
    ridge: float = number(0.0, least=0)
    nonpositive: str = choice("floor", "clip", "zero")
    floor: float = number(0.02, least=1e-12)

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the variance of each worker's error."""
        n = np.float64(len(disparity))  # whose quotients of zeros are NaN: of one worker nothing is known
        with np.errstate(invalid="ignore", divide="ignore"):
            shared = 8 * n * (n - 1) / (4 * n + self.ridge - 4) * mubar
            fault = (2 * (n - 1) * disparity - shared) / (2 * n + self.ridge - 4)
        # Two workers and no ridge: one equation for two unknowns; the solution of minimum norm shares the distance.
        return np.where((n == 2) & (self.ridge == 0), disparity / 2, fault)

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Deal with faults that are not positive."""
        if self.nonpositive == "floor":
            return np.maximum(fault, self.floor * mubar)
        if self.nonpositive == "clip":
            return np.clip(fault, 1e-8, 1e8)
        return np.where(without_dust(fault, mubar) > 0, fault, np.inf)  # whose inverse is no weight

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the inverse variance."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault


# Laplace noise on numbers: errors whose size matters, not its square, each worker with an own mean size.
#
# Its density exp(-|x - t| / b) / (2 b) has heavier tails than that of Gauss: one answer that is far off is no surprise.
# The mean size b of a worker's errors is their fault. Where b is known, the most likely truth of a task minimises
# sum_i |x_i - t| / b_i: it is the weighted median with the weights 1 / b_i.
#
# The distance of two answers does not tell the faults of both: it is b_i + b_j - b_i b_j / (b_i + b_j) on average, and
# not their sum. So no fault is estimated from disparities; a disparity itself is one, up to what the others err.


@dataclass(frozen=True, kw_only=True)
class Laplace(Noise):
    """Independent errors with a mean size for each worker, and with heavy tails.

    >>> Laplace().weight(np.array([0.5, 2.0]))
    array([2. , 0.5])
    """

    name: ClassVar[str] = "Laplace"
    weighting: ClassVar[str] = "inverse"

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the inverse of the mean size of errors."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault


# One-coin noise on k classes: worker i errs with probability f_i, and then any wrong class is as likely.
#
# Two workers differ with probability f_i + f_j - c f_i f_j, where c = k / (k-1). Hence the disparity is
# pi_i = mu + (1 - c mu) f_i on average, with mu the mean fault (Meir et al. 2023, the one-coin corollary), and
#
#     f_i = (pi_i - mu) / (1 - c mu).
#
# For mu the paper takes half the mean distance (``mu="half"``). That is a little too small, because the mean
# distance is 2 mu - c mu^2 and not 2 mu; solving for mu (``mu="exact"``) makes the estimate consistent, with the
# same order of workers. The best weights for known faults are the log odds log((1 - f)(k - 1) / f) (Grofman, Owen
# and Feld 1983), or to first order 1 - f - 1/k. Workers worse than chance get weight 0.


_MIN_FAULT = 0.001  # a fault closer to 0 or 1 than this would weigh too much


@dataclass(frozen=True, kw_only=True)
class OneCoin(Noise):
    """Independent errors, with a probability for each worker.

    Parameters
    ----------
    classes
        Number of classes.
    mu
        Estimate of the mean fault: ``half`` the mean distance, or ``exact``.
    transform
        Conversion of a fault to a weight: ``log`` odds, or ``linear``.

    >>> import numpy as np
    >>> pi = np.array([0.34375, 0.375, 0.46875, 0.5625, 0.625])
    >>> OneCoin(classes=2).fault(pi, 0.2375).round(5)
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

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the probability of each worker's error."""
        mu = mubar
        if self.mu == "exact":
            mu = self.chance * (1 - np.sqrt(max(0.0, 1 - 2 * mubar / self.chance)))
        slope = 1 - mu / self.chance
        return np.full(len(disparity), np.nan) if slope < 1e-9 else np.asarray((disparity - mu) / slope)

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the log odds of being right."""
        fault = np.clip(fault, _MIN_FAULT, 1 - _MIN_FAULT)
        if self.transform == "linear":
            return without_dust(self.chance - fault, 1.0)
        return without_dust(np.log((1 - fault) * (max(self.classes, 2) - 1) / fault), 1.0)
