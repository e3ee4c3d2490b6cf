"""Fit: the estimates of a method, and the kernel with which it decides tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Run

Decide = Callable[..., "dict[str, Array]"]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Estimates of all workers, and the kernel that estimates labels from them.

    Attributes
    ----------
    disparity, fault, weight
        Mean distance to the other workers, estimated error and weight, one number per worker.
    iterations, converged
        Number of rounds, and whether they ended before their limit.
    error_rate, confusion, columns
        Error rate per worker, confusion matrix per worker, and further columns of the table of workers.
    decide, parameters
        Kernel that estimates labels, if not the rule of the label type, and its parameters after weight and fault.
    probabilities
        Kernel that returns class probabilities, if the method has a model of them.
    choices, notes
        Options that the kernel was given, and facts for the summary.
    copy_groups, uncertainty
        Groups of workers who copy, and uncertainty of the estimates; None if the method does not look for them.
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
        """Note that the rounds stopped at their limit, or an empty text."""
        stopped = f"stopped at its limit of {self.iterations} rounds; more may change the weights"
        return "" if self.converged else stopped

    def decide_on(self, run: Run) -> Decide:
        """Return the kernel that estimates the labels of a run: the method's own, or the rule of the label type."""
        return self.decide or partial(run.kernels.aggregate, ties=run.ties)


@dataclass(frozen=True)
class CopyGroup:
    """Workers who are more similar than chance and skill explain; ``copies`` if they are shown to copy."""

    members: tuple[int, ...]
    copies: bool
    common: int
    rare: int
    fidelity: float
    p_value: float


@dataclass(frozen=True)
class CopyGroups:
    """Copy groups of the workers, each of which counts once per task.

    ``number`` is the first worker of each worker's group, ``component`` the part of the answers they belong to, where
    parts have no task in common.
    """

    number: npt.NDArray[np.intp]
    groups: tuple[CopyGroup, ...] = ()
    component: npt.NDArray[np.intp] | None = None

    @classmethod
    def independent(cls, n_workers: int) -> CopyGroups:
        """Return groups in which every worker is independent."""
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
        """Number of parts of the answers without common tasks; 1 if it is unknown."""
        return 1 if self.component is None else len(set(self.component.tolist()))

    @property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Mask of the workers that are independent or the first of their group."""
        return np.asarray(self.number == np.arange(len(self.number)))


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Uncertainty of a fit: errors of the workers, their 95 % confidence intervals and ranks, and confidence of labels.

    Attributes
    ----------
    unit
        Name of the error in tables: ``mean_error``, ``error_rate`` or ``rmse``.
    shared
        Number of each worker's answers to tasks that others answered.
    error, low, high, shrunk
        Estimated error, its interval (NaN where the answers support none), and the error shrunk towards the mean.
    few
        Whether a worker has too few answers for an estimate.
    relative_error, relative_se, rank_low, rank_high
        Error of each worker less that of the others on the same tasks, its standard error, and the range of the
        worker's rank (1 has the fewest errors); NaN where unknown, None if the label type has no model of it.
    informativeness, informativeness_se, uninformative
        Dependence of each worker's answers on the tasks, its standard error, and mask of uninformative workers.
    variance
        Variance of each worker's numbers, for intervals of labels.
    trust
        Slope of errors on gold labels against the crowd's estimates (0 to 1); None without 20 gold labels.
    share_se
        Standard error of the logit of the share of right labels; None without 20 gold labels.
    confidence
        Facts about the confidence of labels, for the summary; None if it is only the share of the weights.
    expect
        Function from a run to the expected accuracy on it.
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
        """Return the uncertainty of workers, given the number of each, or of the first of each worker's copy group."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        taken: dict[str, Any] = {name: each[number] for name, each in columns.items() if isinstance(each, np.ndarray)}
        return replace(self, **taken)

    def best(self, otherwise: Floats) -> Floats:
        """Return the shrunken errors, or others where the label type has no model of errors."""
        return np.where(np.isnan(self.shrunk), otherwise, self.shrunk)

    def interval_around(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Return the interval, extended to an estimate of another model that lies outside of it.

        >>> few, four = np.zeros(1, bool), np.array([4.0])
        >>> errors = {"error": four, "low": np.array([3.0]), "high": np.array([5.0]), "shrunk": four}
        >>> Uncertainty(unit="mean_error", shared=np.array([9]), few=few, **errors).interval_around(np.array([2.0]))
        (array([2.]), array([5.]))
        """
        return np.minimum(self.low, estimate), np.maximum(self.high, estimate)
