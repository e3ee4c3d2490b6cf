"""Noise models by label type: they estimate faults from disparities, and compute optimal weights from faults.

`allalike.simulation` samples answers from these and other error models.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Floats
from allalike._core.options import Options, choice, number
from allalike.errors import UnsupportedError

__all__ = ["Gaussian", "General", "Laplace", "Noise", "OneCoin"]

_DUST_SHARE = 1e-12  # relative to the operands; smaller results are rounding errors


@dataclass(frozen=True, kw_only=True)
class Noise(Options):
    """An error model, which computes faults from disparities, and weights from faults.

    `weighting` is the default weighting of P-TD for this noise. `chance` is the expected distance from a guess to the
    truth, or None if it is unknown.
    """

    name: ClassVar[str]
    weighting: ClassVar[str] = "max"
    estimates_fault: ClassVar[bool] = False

    @property
    def chance(self) -> float | None:
        """Expected distance from a guess to the truth."""
        return None

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate faults from disparities and ``mubar``, half the mean distance between two workers."""
        raise UnsupportedError(f"Faults cannot be estimated under {self.name} noise. Use method='P-TD' or 'iP-TD'.")

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Restrict estimated faults to the range for which weights are defined."""
        return fault

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Compute weights from known faults."""
        worst = peak(fault)
        return without_dust(worst - fault, worst)


@dataclass(frozen=True, kw_only=True)
class General(Noise):
    """Noise without a model; only the largest distance from a worthless answer to the others may be known.

    >>> import numpy as np
    >>> General().weight(np.array([1.0, 3.0]))
    array([2., 0.])
    """

    name: ClassVar[str] = "general"
    farthest: float | None = None

    @property
    def chance(self) -> float | None:
        """Distance from a worthless answer to the others."""
        return self.farthest


def peak(values: Floats) -> float:
    """Return the largest value that is not NaN, or NaN if all are NaN."""
    return float(np.fmax.reduce(values, initial=-np.inf)) if not np.isnan(values).all() else np.nan


def without_dust(values: Floats, scale: Floats | float) -> Floats:
    """Replace values by 0 if they are rounding errors relative to the scale.

    >>> import numpy as np
    >>> without_dust(np.array([1e-3, -1e-15, 1e-17]), 1.0)
    array([0.001, 0.   , 0.   ])
    """
    return np.where(np.abs(values) > _DUST_SHARE * scale, values, 0.0)


# Additive Gaussian noise on numbers; a worker's fault is the variance.
#
# The expected squared distance between workers with faults f_i and f_j is f_i + f_j, so the faults solve one linear
# equation per pair. With a ridge lambda >= 0, the least-squares solution has a closed form (Meir et al. 2023, the Anna
# Karenina theorem and its estimator):
#
#     f_i = [2(n-1) pi_i - 8n(n-1) / (4n + lambda - 4) * mubar] / (2n + lambda - 4),
#
# where pi_i is the disparity and mubar half the mean distance. With lambda = 4, f_i is the squared distance to the mean
# and never negative. With a smaller lambda the best workers often have estimates <= 0, and their treatment matters.
# ``floor`` (the default) raises them to a small share of mubar. ``clip`` raises them to 1e-8, so one worker may decide
# all tasks. ``zero`` gives them weight 0, as in the paper, and so discards the best workers.
#
# The optimal weights for known variances are their inverses (Aitken 1935).


@dataclass(frozen=True, kw_only=True)
class Gaussian(Noise):
    """Independent Gaussian errors, with one variance per worker.

    Parameters
    ----------
    ridge
        Ridge penalty on faults, the paper's lambda. 0 is the least-squares estimate.
    nonpositive
        Treatment of faults that are not positive: ``floor``, ``clip`` or ``zero``.
    floor
        Lower bound on faults for ``floor``, as a share of half the mean distance.

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
        n = np.float64(len(disparity))  # a numpy float, so the fault of a single worker is NaN
        with np.errstate(invalid="ignore", divide="ignore"):
            shared = 8 * n * (n - 1) / (4 * n + self.ridge - 4) * mubar
            fault = (2 * (n - 1) * disparity - shared) / (2 * n + self.ridge - 4)
        # Two workers without ridge: one equation for two unknowns; the minimum-norm solution splits the distance.
        return np.where((n == 2) & (self.ridge == 0), disparity / 2, fault)

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Replace faults that are not positive."""
        if self.nonpositive == "floor":
            return np.maximum(fault, self.floor * mubar)
        if self.nonpositive == "clip":
            return np.clip(fault, 1e-8, 1e8)
        return np.where(without_dust(fault, mubar) > 0, fault, np.inf)  # weight 0

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Compute inverse variances."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault


# Laplace noise on numbers; a worker's fault is the mean absolute error.
#
# The density exp(-|x - t| / b) / (2 b) has heavier tails than a Gaussian, so outliers are common. The fault b is the
# worker's mean absolute error. If it is known, the most likely true value minimises sum_i |x_i - t| / b_i. This value
# is the weighted median with weights 1 / b_i.
#
# The expected distance between two answers is b_i + b_j - b_i b_j / (b_i + b_j), and not the sum of the faults.
# Therefore faults are not estimated from disparities, and P-TD uses the disparity itself.


@dataclass(frozen=True, kw_only=True)
class Laplace(Noise):
    """Independent Laplace errors, with heavy tails and one mean absolute error per worker.

    >>> Laplace().weight(np.array([0.5, 2.0]))
    array([2. , 0.5])
    """

    name: ClassVar[str] = "Laplace"
    weighting: ClassVar[str] = "inverse"

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Compute inverse mean absolute errors."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault


# One-coin noise on k classes: worker i errs with probability f_i, and all wrong classes have the same probability.
#
# Two workers differ with probability f_i + f_j - c f_i f_j, with c = k / (k-1). With the mean fault mu, the expected
# disparity is pi_i = mu + (1 - c mu) f_i (Meir et al. 2023, the one-coin corollary). Hence
#
#     f_i = (pi_i - mu) / (1 - c mu).
#
# The paper estimates mu by half the mean distance (``mu="half"``). This is slightly too small, because the mean
# distance is 2 mu - c mu^2. Solving for mu (``mu="exact"``) makes the estimate consistent, and keeps the order of
# workers. The optimal weights for known faults are the log odds log((1 - f)(k - 1) / f) (Grofman, Owen and Feld 1983),
# or 1 - f - 1/k to first order. Workers worse than chance get weight 0.


_MIN_FAULT = 0.001  # lower bound of faults and of 1 - fault, which bounds the weights


@dataclass(frozen=True, kw_only=True)
class OneCoin(Noise):
    """Independent errors, with one error probability per worker.

    Parameters
    ----------
    classes
        Number of classes.
    mu
        Estimate of the mean fault: ``half`` (half the mean distance) or ``exact``.
    transform
        Conversion from fault to weight: ``log`` (log odds) or ``linear``.

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
        """Error probability of a guess."""
        return 1 - 1 / max(self.classes, 2)

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the probability of each worker's error."""
        mu = mubar
        if self.mu == "exact":
            mu = self.chance * (1 - np.sqrt(max(0.0, 1 - 2 * mubar / self.chance)))
        slope = 1 - mu / self.chance
        return np.full(len(disparity), np.nan) if slope < 1e-9 else np.asarray((disparity - mu) / slope)

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Compute the log odds of a correct answer, or its linear approximation."""
        fault = np.clip(fault, _MIN_FAULT, 1 - _MIN_FAULT)
        if self.transform == "linear":
            return without_dust(self.chance - fault, 1.0)
        return without_dust(np.log((1 - fault) * (max(self.classes, 2) - 1) / fault), 1.0)
