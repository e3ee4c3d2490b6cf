"""Estimates of a method, and the kernel that computes its labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike.engines import Run

Decide = Callable[..., "dict[str, Array]"]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Estimates of all workers, and the kernel that estimates labels from them.

    Attributes
    ----------
    disparity, fault, weight
        Mean distance to the other workers, estimated error and weight of each worker.
    iterations, converged
        Number of rounds, and whether they converged before the limit.
    error_rate, confusion, columns
        Error rate and confusion matrix of each worker, and additional columns of the table of workers.
    decide, parameters
        Kernel that estimates labels, if different from the rule of the label type, and its parameters after weight and
        fault.
    probabilities
        Kernel that returns class probabilities, if the method models them.
    choices, notes
        Options of the kernel, and facts for the summary.
    copy_groups, uncertainty
        Copy groups, and uncertainty of the estimates; None if the method does not estimate them.
    """

    disparity: Floats
    fault: Floats
    weight: Floats
    iterations: int = 1
    converged: bool = True
    error_rate: Floats | None = None
    confusion: Floats | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    decide: Decide | None = None
    parameters: tuple[Floats, ...] = ()
    probabilities: Decide | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    copy_groups: CopyGroups | None = None
    uncertainty: Uncertainty | None = None

    @property
    def arguments(self) -> tuple[Floats, ...]:
        """Arguments of kernels that estimate labels: weights, faults and parameters."""
        return (self.weight, self.fault, *self.parameters)

    @property
    def limit_note(self) -> str:
        """A note if the rounds stopped at their limit; otherwise an empty string."""
        stopped = f"stopped at its limit of {self.iterations} rounds; more rounds may change the weights"
        return "" if self.converged else stopped

    def decide_on(self, run: Run) -> Decide:
        """Return the kernel that estimates the labels of a run: the method's kernel, or the rule of the label type."""
        return self.decide or partial(run.kernels.aggregate, ties=run.ties)


@dataclass(frozen=True)
class CopyGroup:
    """Workers who are more similar than skill and chance explain; ``copies`` if a test shows that they copy."""

    members: tuple[int, ...]
    copies: bool
    common: int
    rare: int
    fidelity: float
    p_value: float


@dataclass(frozen=True)
class CopyGroups:
    """Copy groups; each group counts once per task.

    ``number`` is the first worker in each worker's group. ``component`` is the worker's connected component of the
    answers; components have no tasks in common.
    """

    number: npt.NDArray[np.intp]
    groups: tuple[CopyGroup, ...] = ()
    component: npt.NDArray[np.intp] | None = None

    @classmethod
    def independent(cls, n_workers: int) -> CopyGroups:
        """Return one group per worker."""
        return cls(np.arange(n_workers))

    def take(self, order: npt.NDArray[np.intp]) -> CopyGroups:
        """Return the groups of the same workers in another order.

        >>> CopyGroups(np.array([0, 1, 0])).take(np.array([2, 0, 1])).number
        array([0, 0, 2])
        """
        first = np.full(len(order), len(order))
        np.minimum.at(first, self.number[order], np.arange(len(order)))
        return CopyGroups(first[self.number[order]])

    @property
    def has_copies(self) -> bool:
        """Whether any workers copy."""
        return bool((self.number != np.arange(len(self.number))).any())

    @property
    def n_components(self) -> int:
        """Number of connected components of the answers; 1 if it is unknown."""
        return 1 if self.component is None else len(set(self.component.tolist()))

    @property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Mask of the workers who are independent or the first in their group."""
        return np.asarray(self.number == np.arange(len(self.number)))


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Uncertainty of a fit: error, 95 % confidence interval and rank of each worker, and confidence of labels.

    Attributes
    ----------
    unit
        Name of the error in tables: ``mean_error``, ``error_rate`` or ``rmse``.
    shared
        Number of each worker's answers to tasks that other workers answered.
    error, low, high, shrunk
        Estimated error, its confidence interval (NaN if unknown), and the error shrunk towards the mean.
    few
        Mask of workers with too few answers for an estimate.
    relative_error, relative_se, rank_low, rank_high
        Difference between each worker's error and the error of others on the same tasks, its standard error, and the
        range of the worker's rank (1 is the best). NaN if unknown; None if the label type has no model for it.
    informativeness, informativeness_se, uninformative
        Dependence of each worker's answers on the task, its standard error, and mask of uninformative workers.
    variance
        Variance of each worker's numbers, for confidence intervals of labels.
    trust
        Slope of errors on gold labels against the crowd's estimates (0 to 1); None with fewer than 20 gold labels.
    share_se
        Standard error of the logit of the share of correct labels; None with fewer than 20 gold labels.
    confidence
        Facts about label confidence, for the summary; None if confidence is the share of the weights.
    expect
        Function that returns the expected accuracy on a run.
    """

    unit: str
    shared: npt.NDArray[np.int64]
    error: Floats
    low: Floats
    high: Floats
    shrunk: Floats
    few: npt.NDArray[np.bool_]
    relative_error: Floats | None = None
    relative_se: Floats | None = None
    rank_low: Floats | None = None
    rank_high: Floats | None = None
    trust: float | None = None
    share_se: float | None = None
    informativeness: Floats | None = None
    informativeness_se: Floats | None = None
    uninformative: npt.NDArray[np.bool_] | None = None
    variance: Floats | None = None
    confidence: Mapping[str, Any] | None = None
    expect: Callable[[Run], float] | None = None

    def take(self, number: npt.NDArray[np.intp]) -> Uncertainty:
        """Select workers by number; the first worker of a copy group may represent several."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays: dict[str, Any] = {name: each[number] for name, each in columns.items() if isinstance(each, np.ndarray)}
        return replace(self, **arrays)

    def best(self, otherwise: Floats) -> Floats:
        """Return the shrunken errors, with ``otherwise`` in place of NaN."""
        return np.where(np.isnan(self.shrunk), otherwise, self.shrunk)

    def interval_around(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Return the confidence interval, extended to include the estimate of another model.

        >>> few, four = np.zeros(1, bool), np.array([4.0])
        >>> errors = {"error": four, "low": np.array([3.0]), "high": np.array([5.0]), "shrunk": four}
        >>> Uncertainty(unit="mean_error", shared=np.array([9]), few=few, **errors).interval_around(np.array([2.0]))
        (array([2.]), array([5.]))
        """
        return np.minimum(self.low, estimate), np.maximum(self.high, estimate)
