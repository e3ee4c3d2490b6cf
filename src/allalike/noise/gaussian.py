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

from allalike._core.options import choice, number
from allalike.errors import OptionError
from allalike.noise.base import Noise, Seed, check_within, without_dust

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["Gaussian"]


@dataclass(frozen=True, kw_only=True)
class Gaussian(Noise):
    """Independent Gaussian errors, with a variance for each worker.

    Parameters
    ----------
    ridge
        The paper's lambda: how much faults are drawn to zero. 0 is the maximum-likelihood estimate.
    nonpositive
        What to do with a fault that is not positive: ``floor``, ``clip`` or ``zero``.
    floor
        The share of half the mean distance to which ``floor`` lifts a fault.

    >>> from allalike._core.blocks.problems import Problems
    >>> import numpy as np
    >>> pi, problems = np.array([197.3125, 307.5625, 491.25, 319.75, 418.375]), Problems.single(5)
    >>> Gaussian().fault(pi, np.full(5, 173.425), problems).round(4)
    array([-25.9583, 121.0417, 365.9583, 137.2917, 268.7917])
    """

    name: ClassVar[str] = "Gaussian"
    weighting: ClassVar[str] = "inverse"
    estimates_fault: ClassVar[bool] = True
    ridge: float = number(0.0, least=0)
    nonpositive: str = choice("floor", "clip", "zero")
    floor: float = number(0.02, least=1e-12)

    def fault(self, disparity: Floats, mubar: Floats, problems: Problems) -> Floats:
        """Estimate the variance of each worker's error."""
        n = problems.size
        with np.errstate(invalid="ignore", divide="ignore"):
            shared = 8 * n * (n - 1) / (4 * n + self.ridge - 4) * mubar
            fault = (2 * (n - 1) * disparity - shared) / (2 * n + self.ridge - 4)
        # Two workers and no ridge: one equation for two unknowns; the solution of minimum norm shares the distance.
        return np.where((n == 2) & (self.ridge == 0), disparity / 2, fault)

    def bound_faults(self, fault: Floats, mubar: Floats) -> Floats:
        """Deal with faults that are not positive."""
        if self.nonpositive == "floor":
            return np.maximum(fault, self.floor * mubar)
        if self.nonpositive == "clip":
            return np.clip(fault, 1e-8, 1e8)
        return np.where(without_dust(fault, mubar) > 0, fault, np.inf)  # whose inverse is no weight

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh by the inverse variance."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Floats:
        """Add an error to each truth, given its variance."""
        sd = np.sqrt(check_within(faults, np.inf, "A variance"))
        shape = np.broadcast_shapes(np.shape(truth), sd.shape)
        answers: Floats = np.asarray(truth) + sd * rng.standard_normal(shape)
        return answers

    def sample(
        self,
        truth: Array,
        faults: Floats,
        seed: Seed = 0,
        *,
        bias: npt.ArrayLike = 0.0,
        between_tasks: npt.ArrayLike | None = None,
    ) -> Floats:
        """Draw one row of answers for each worker.

        Parameters
        ----------
        truth
            The number behind each task.
        faults
            The variance of each worker's errors, or the covariance of the errors of all workers in a task.
        seed
            Which draw to take.
        bias
            How far off a worker is on average: one number for each worker, or one for each worker and task.
        between_tasks
            The correlation of a worker's errors in different tasks. Without it they are independent.

        >>> import numpy as np
        >>> Gaussian().sample(np.array([1.0, 2.0]), np.zeros(2), bias=[0.0, 0.5])
        array([[1. , 2. ],
               [1.5, 2.5]])
        >>> Gaussian().sample(np.zeros(1), np.array([[1.0, -1.0], [-1.0, 1.0]])).sum().round(9) + 0.0
        np.float64(0.0)
        """
        errors = np.random.default_rng(seed).standard_normal((len(faults), len(truth)))
        if between_tasks is not None:
            errors = errors @ _root(between_tasks).T
        if np.ndim(faults) == 1:
            errors = np.sqrt(check_within(faults, np.inf, "A variance"))[:, None] * errors
        else:
            errors = _root(faults) @ errors
        off = np.asarray(bias, np.float64)
        answers: Floats = np.asarray(truth) + (off[:, None] if off.ndim == 1 else off) + errors
        return answers


def _root(covariance: npt.ArrayLike) -> Floats:
    """Return a matrix whose product with its transpose is this one; it may be singular, as that of copied errors."""
    matrix = np.asarray(covariance, np.float64)
    symmetric = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and np.allclose(matrix, matrix.T)
    if not symmetric:
        raise OptionError(f"A covariance must be a symmetric square matrix; this one has the shape {matrix.shape}.")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-9 * max(values[-1], 0.0) - 1e-300:
        raise OptionError(f"A covariance must have no negative eigenvalue; this one has {values[0]:g}.")
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
