"""Expected gain of an answer: the uncertainty of each label, and by how much an answer would lower it.

Let q_z be the probabilities of a task's classes. A worker with error rate e names the true class with probability
r = 1 - e, and any other one with w = e / (k - 1). Planned answers may turn out in several ways s; J_sz is the joint
probability of s and of the true class z. The task will be decided rightly with probability

    sum_s max_z J_sz.

One answer alone often cannot change a decision, though three may. So answers are chosen by how much they raise

    sum_s sum_z J_sz^2 / sum_z J_sz,

the probability of a class that is drawn by the probabilities after the answers: every informative answer raises it. Of
many classes the three likeliest are distinguished, and ways that lead to nearly the same probabilities are merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values
from allalike.errors import UnsupportedError
from allalike.methods.auto.next_labels import expect_gains
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Floats
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Fit

_TOLD_APART = 3  # classes
_MANY_WAYS = 64  # in which planned answers may turn out; of more, those that are nearly the same are merged
_STEP = 1 / 64  # between probabilities that are not told apart then
_TINY = 1e-12


class TaskUncertainty:
    """The probability that each task will be decided wrongly (``errors``), with the answers that are planned.

    >>> uncertainty = TaskUncertainty(np.array([[0.6, 0.4], [0.9, 0.1]]), 2)
    >>> uncertainty.errors, uncertainty.bound(0.2).round(3), round(uncertainty.gain(0, 0.2), 3)
    (array([0.4, 0.1]), array([0.168, 0.03 ]), 0.2)
    >>> uncertainty.add_answer(0, 0.2)
    >>> uncertainty.errors.round(3), round(uncertainty.gain(0, 0.2), 3)
    (array([0.2, 0.1]), 0.044)
    """

    def __init__(self, likeliest: Floats, k: int) -> None:
        self.likeliest, self.k, self.errors = likeliest, k, 1 - likeliest[:, 0]
        self._planned: dict[int, Floats] = {}

    def bound(self, rate: float) -> Floats:
        """Return how much surer a first answer makes each task."""
        return _compute_gains(self.likeliest[:, None], np.full(len(self.likeliest), rate), self.k)

    def value(self, task: int, rates: Floats) -> Floats:
        """Return how much surer one more answer makes a task."""
        return _compute_gains(self._ways(task)[None], rates, self.k)

    def gain(self, task: int, rate: float) -> float:
        """Return the gain of an answer, where it takes one, three or five of them to turn a decision."""
        ways = self._ways(task)
        whole, right = ways.sum(axis=1), _find_probabilities(rate, self.k)
        odds = np.log(right[0] / np.maximum(right[1], _TINY))
        return float(whole @ expect_gains(ways / whole[:, None], np.full(len(ways), odds), self.k))

    def add_answer(self, task: int, rate: float) -> None:
        """Plan an answer: every way becomes one for each label that it may give."""
        right, wrong = _find_probabilities(rate, self.k)
        before, told = self._ways(task), self.likeliest.shape[1]
        named = [before * np.where(np.arange(told) == label, right, wrong) for label in range(told)]
        others = [before * wrong * (self.k - told)] if self.k > told else []
        after = _merge_similar(np.concatenate([*named, *others]))
        self._planned[task] = after
        self.errors[task] = 1 - after.max(axis=1).sum()

    def _ways(self, task: int) -> Floats:
        return self._planned.get(task, self.likeliest[task : task + 1])


def keep_likeliest(table: Floats) -> Floats:
    """Return the probabilities of the likeliest classes, the largest first.

    >>> keep_likeliest(np.array([[0.1, 0.5, 0.1, 0.3]]))
    array([[0.5, 0.3, 0.1]])
    """
    return np.sort(table, axis=1)[:, : -_TOLD_APART - 1 : -1]


def _find_probabilities(rate: Floats | float, k: int) -> tuple[Floats, Floats]:
    """Return how probably a worker names the true class, and a certain other one; at least as good as a guess."""
    wrong = np.minimum(rate, 1 - 1 / k) / (k - 1)
    return np.asarray(1 - (k - 1) * wrong), np.asarray(wrong)


def _compute_gains(ways: Floats, rates: Floats, k: int) -> Floats:
    """Return how much surer an answer makes a task, for each table of ways and rate."""
    right, wrong = (each[:, None, None] for each in _find_probabilities(rates, k))
    whole, squares = ways.sum(axis=2, keepdims=True), np.square(ways).sum(axis=2, keepdims=True)
    named = (np.square(right * ways) + wrong**2 * (squares - ways**2)) / (wrong * whole + (right - wrong) * ways)
    others = (k - ways.shape[2]) * wrong * squares / whole
    return np.asarray(named.sum(axis=(1, 2)) + (others - squares / whole).sum(axis=(1, 2)))


def _merge_similar(ways: Floats) -> Floats:
    """Count ways that lead to nearly the same probabilities as one, where there are many."""
    ways = ways[ways.sum(axis=1) > _TINY]
    if len(ways) <= _MANY_WAYS:
        return ways
    alike = np.rint(ways / ways.sum(axis=1, keepdims=True) / _STEP)
    kinds, place = np.unique(alike, axis=0, return_inverse=True)
    joined = np.zeros((len(kinds), ways.shape[1]))
    np.add.at(joined, place.ravel(), ways)
    return joined


@dataclass(frozen=True)
class CrowdUncertainty:
    """Uncertainty of the labels, and error rates of the workers."""

    tasks: Values
    state: Floats
    rates: Floats
    k: int
    truths: int = 0

    def of_tasks(self, rows: Any = slice(None)) -> TaskUncertainty:
        """Return the uncertainty of some of the tasks."""
        return TaskUncertainty(self.state[rows], self.k)

    def describe_error(self, error: float) -> dict[str, float]:
        """Return an expected error, a mean over tasks, with its 95 % interval."""
        n = max(len(self.tasks), 1)
        variance = error * (1 - error) * (1 / n + (1 / self.truths if self.truths else 0.0))
        spread = NORMAL_QUANTILE * math.sqrt(max(variance, 0.0))
        return {"expected": error, "ci_low": max(error - spread, 0.0), "ci_high": min(error + spread, 1.0)}


def estimate_uncertainty(
    run: Run, weighing: Fit, found: TaskTable, posteriors: Callable[[], TaskTable] | None
) -> CrowdUncertainty:
    """Estimate the uncertainty of labels that are not gold, for label types with probabilities.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")])
    >>> sure = estimate_uncertainty(result.run, result.weighing, result.found, result.posteriors)
    >>> sure.tasks.tolist(), sure.state.shape
    ([1, 2], (2, 2))
    """
    faults, rates = weighing.uncertainty, weighing.error_rate
    told = None if faults is None else faults.confidence
    if run.worker_task is not None:
        raise UnsupportedError(
            "With per_task(), workers have no error rates beyond one task, so answers cannot be planned."
        )
    if posteriors is not None and rates is not None:
        tables = (piece.found["probability"] for piece in posteriors().pieces())
        tasks, state = _collect(found, lambda _: keep_likeliest(next(tables)))
    elif faults is not None and told is not None and run.encoding.nominal:
        tasks, state = _collect(
            found, lambda piece: np.column_stack([piece.found["confidence"], piece.found["second"]])
        )
        rates = faults.best(weighing.fault)
    else:
        raise UnsupportedError(
            "Planning needs labels with an error rate, such as classes, found by the method auto. These labels are"
            f" {run.domain.name}. `result.next_tasks()` lists the least certain tasks."
        )
    truths = run.n_gold if told is not None and told.get("estimated_from") == "gold" else 0
    return CrowdUncertainty(tasks, state, rates, run.encoding.n_labels, truths)


def _collect(found: TaskTable, tell: Callable[[Piece], Floats]) -> tuple[Values, Floats]:
    """Return the tasks without gold labels, and their state."""
    tasks, states = [], []
    for piece in found.pieces():
        state = tell(piece)
        unknown = np.isnan(piece.found.get("gold", np.full(len(state), np.nan)))
        rows = np.flatnonzero(unknown & np.isfinite(state.reshape(len(state), -1)).all(axis=1))
        tasks.append(piece.tasks.take(rows))
        states.append(state[rows])
    return Values.join(tasks), np.concatenate(states)
