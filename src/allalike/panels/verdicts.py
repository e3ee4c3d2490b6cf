"""Verdicts of a panel on a sample of whole tasks: decisions by any of the judges, and their distance to the truth.

Statistics of a panel compare every pair of judges on the same tasks: a sample of whole tasks in memory, selected by the
hashes of task ids. Classes and other labels, called scores here, differ in the decision rule of a sub-panel and in the
distance between its verdict and the truth.

**Worth.** The worth of a class is the probability that it is right: its probability according to the whole panel or,
with 50 gold labels, 1 or 0. The worth of a score is a skill score (Murphy 1988), relative to the distance of a guess,

    worth = 1 - (distance of the verdict) / (mean distance of the labels of two different tasks).

Without gold labels, the distance to the verdict of the whole panel is used. For numbers under squared distance, the
panel's own error is added. It is uncorrelated with the distance to other verdicts if the weights are optimal (Hausman
1978): E (x_S - t)^2 = E (x_S - x)^2 + E (x - t)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, find_answer_weights, number_within_tasks
from allalike._core.lazy_imports import pd
from allalike.domains import Encoding
from allalike.engines import Run
from allalike.engines.sample import join_blocks, pick_tasks, sample_tasks
from allalike.methods import Fit
from allalike.methods.auto.copy_groups import with_voices
from allalike.methods.auto.distances import has_coordinates
from allalike.methods.auto.gold_regression import GoldRegression, fit_gold_regression
from allalike.methods.fit import CopyGroups
from allalike.result.summaries import with_quorum, withhold
from allalike.result.tables import OUTCOMES

Codes = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]
Members = tuple[int, ...]

NO_LABEL = -1
NORMAL = 1.959964  # 97.5 % quantile of the normal distribution
CONFIDENT = 0.9  # confidence from which the verdict of a panel counts as the truth
MIN_GOLD = 50  # minimum number of gold labels to measure the accuracy of a panel
CLASS, TIE, INCONCLUSIVE, UNREADABLE, SCORE = range(len(OUTCOMES))
_ROUNDING = 1e-12
_CLOSE = 1e-9
_SQUARE = 2
_FOLDS = 5  # folds of gold labels
_SHIFTS = 5  # other tasks to compare each task with
_LEAST_WEIGHT = 1e-9  # relative to the largest, so that a single judge can decide


class Statistics(NamedTuple):
    """Part of the statistics of a panel: facts of the summary, tables, and columns of the judge table."""

    facts: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame] = MappingProxyType({})
    judges: Mapping[str, Any] = MappingProxyType({})


def divide(upper: Floats, lower: Any) -> Floats:
    """Divide, with NaN for divisors that are not positive."""
    known = lower > 0
    return np.where(known, upper / np.where(known, lower, 1.0), np.nan)


def find_mean_limits(values: Floats) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean."""
    error = NORMAL * values.std() / np.sqrt(max(len(values), 1))
    return float(values.mean() - error), float(values.mean() + error)


def sample_block(run: Run, n_answers: int) -> Block:
    """Load whole tasks with about ``n_answers`` answers; tasks with gold labels are preferred."""
    return join_blocks(list(sample_tasks(run, n_answers).blocks), len(run.workers))


def find_distances(run: Run, block: Block) -> Floats:
    """Return distances between labels by judge, judge and task (NaN if missing); the last judge is gold."""
    n, known = len(run.workers), len(block.gold_task)
    place = np.full((n + 1, block.n_tasks), NO_LABEL)
    place[block.worker, block.task] = np.arange(len(block.label))
    place[n, block.gold_task] = len(block.label) + np.arange(known)
    labels = np.concatenate([block.label, block.gold_label]) if known else block.label
    distances = np.full((n + 1, n + 1, block.n_tasks), np.nan)
    for one, other in combinations(range(n + 1), 2):
        both = np.flatnonzero((place[one] >= 0) & (place[other] >= 0))
        apart = run.kernels.distance_between(labels[place[one, both]], labels[place[other, both]])
        distances[one, other, both] = distances[other, one, both] = apart
    return distances


class _Verdicts:
    """Verdicts of all judges on a sample of tasks.

    Classes and scores differ in the decision rule, and in the worth of a decision.
    """

    known: Any  # marks of tasks with a gold label
    n_judges: Any
    only: Any
    measure: Any

    @property
    def by_gold(self) -> bool:
        """Whether there are enough gold labels to measure the accuracy of verdicts."""
        return int(self.known.sum()) >= MIN_GOLD

    def judged(self) -> Any:
        """Return the tasks on which verdicts are evaluated: those with gold labels if there are enough."""
        return self.only(self.known) if self.by_gold else self

    @cached_property
    def _worth(self) -> dict[Members, Floats]:
        return {}

    def worth(self, members: Members) -> Floats:
        """Return the worth of the verdict of these judges per task."""
        if members not in self._worth:
            self._worth[members] = self.measure(members)
        return self._worth[members]

    @property
    def whole(self) -> Floats:
        """Worth of the whole panel's verdict per task."""
        return self.worth(tuple(range(self.n_judges)))


@dataclass(frozen=True)
class ClassVerdicts(_Verdicts):
    """Verdicts that are classes: a row per task and a column per judge or label.

    Labels are numbered within each task. Judges decide by the sum of their log odds in the whole panel (Nitzan and
    Paroush: Optimal decision rules in uncertain dichotomous choice situations. 1982).
    """

    labels: Codes
    probability: Floats
    chosen: Codes  # by the panel
    confidence: Floats
    known: Marks
    truth: Codes
    task_hash: npt.NDArray[np.uint64]
    log_odds: Floats = field(default_factory=lambda: np.empty(0))

    unit = "error_rate"  # name of an error

    @classmethod
    def of(
        cls,
        run: Run,
        n_answers: int,
        find_probability: Callable[[Block], Floats],
        tasks: pd.DataFrame,
        log_odds: Floats,
    ) -> Self:
        """Sample a run; ``tasks`` contains the label and confidence of the panel, indexed by task hash."""
        block = sample_block(run, n_answers)
        slot, count = number_within_tasks(block)
        shape, panel, gold = (block.n_tasks, int(count.max())), tasks.loc[block.task_hash], np.full(block.n_tasks, -1)
        labels = np.full((block.n_tasks, len(run.workers)), NO_LABEL, np.intp)
        labels[block.task, block.worker] = slot
        probability, codes = np.zeros(shape), np.full(shape, NO_LABEL - 1, np.int64)
        probability[block.task, slot], codes[block.task, slot] = find_probability(block), block.label
        gold[block.gold_task] = block.gold_label
        same = [codes == label[:, None] for label in (panel["label"].to_numpy(), gold)]
        chosen, truth = (np.where(each.any(axis=1), each.argmax(axis=1), NO_LABEL) for each in same)
        known = block.gold_row >= 0
        truth, confidence = np.where(known, truth, chosen), panel["confidence"].to_numpy()
        return cls(labels, probability, chosen, confidence, known, truth, block.task_hash, log_odds)

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return int(self.labels.shape[1])

    def only(self, tasks: Marks) -> Self:
        """Return some of the tasks."""
        names = ("labels", "probability", "chosen", "confidence", "known", "truth", "task_hash")
        return replace(self, **{name: getattr(self, name)[tasks] for name in names})

    @property
    def is_judged(self) -> Marks:
        """Marks of tasks whose label counts as the truth: a gold label, or a confident verdict of the panel."""
        return np.asarray(self.known | (self.confidence >= CONFIDENT))

    @property
    def wrong(self) -> Marks:
        """Marks of wrong verdicts by task and judge."""
        return np.asarray((self.labels != NO_LABEL) & (self.labels != self.truth[:, None]))

    @cached_property
    def evidence(self) -> Floats:
        """Log odds by judge, task and label; 0 for labels that the judge did not give."""
        given = self.labels.T[:, :, None] == np.arange(self.probability.shape[1])
        return np.asarray(given * self.log_odds[:, None, None])

    def decide(self, members: Members) -> Floats:
        """Return equal shares of the labels with the most evidence per task, or zeros if there is no answer."""
        if len(members) == self.n_judges:
            return self._one_hot(self.chosen)
        score = self.evidence[list(members)].sum(axis=0)
        top = score.max(axis=1, keepdims=True)
        leading = (score >= top - TOLERANCE * score.sum(axis=1, keepdims=True)) & (top > _ROUNDING)
        return np.asarray(leading / np.maximum(leading.sum(axis=1, keepdims=True), 1))

    def measure(self, members: Members) -> Floats:
        """Return the mean worth of the decided labels per task: 1 or 0 with enough gold, else their probability."""
        worth = self._one_hot(self.truth) if self.by_gold else self.probability
        return np.asarray((self.decide(members) * worth).sum(axis=1))

    def error_of(self, worth: Any) -> Any:
        """Return the error rate for a mean worth."""
        return 1 - np.asarray(worth)

    @property
    def ceiling(self) -> tuple[int, int]:
        """Number of gold labels, and of gold labels that no judge gave."""
        return int(self.known.sum()), int((self.known & (self.truth == NO_LABEL)).sum())

    def _one_hot(self, label: Codes) -> Floats:
        return np.asarray(np.arange(self.probability.shape[1]) == label[:, None], np.float64)


class MemberDecision(NamedTuple):
    """Labels of some tasks, and their expected squared distance to the truth."""

    label: Array
    tasks: Array
    error: Any = 0.0


@dataclass(frozen=True)
class ScoreVerdicts(_Verdicts):
    """Verdicts with a distance, such as numbers, levels, vectors and rankings.

    A sub-panel decides by the rule of the label type, with the weights from the whole panel.
    """

    run: Run
    weighing: Fit
    block: Block

    @property
    def task_hash(self) -> npt.NDArray[np.uint64]:
        """Hashes of task ids."""
        return self.block.task_hash

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.run.workers)

    @property
    def known(self) -> Marks:
        """Marks of tasks with a gold label."""
        return np.asarray(self.block.gold_row >= 0)

    def only(self, tasks: Marks) -> Self:
        """Return some of the tasks."""
        return replace(self, block=pick_tasks(self.run, self.task_hash[tasks]))

    @property
    def unit(self) -> str:
        """Name of the error measure."""
        return "rmse" if self.run.domain.power == _SQUARE else "distance"

    @cached_property
    def target(self) -> tuple[Array, Any]:
        """Gold labels if there are enough, else the verdicts of the whole panel; with their expected squared error.

        The error of the panel is the squared standard error of a number, if it is known.
        """
        if self.by_gold:
            return self.block.gold_label, 0.0
        found = self.decide(tuple(range(self.n_judges)))
        has_error = self.weighing.uncertainty is not None and self.run.encoding.numeric and self.unit == "rmse"
        return found.label, found.error if has_error else 0.0

    @cached_property
    def corrections(self) -> list[GoldRegression]:
        """Corrections of numbers by gold labels, one per held-out fold, without gains per judge."""
        tasks, corrections = self.block.gold_task, []
        if not self.by_gold or not self.run.encoding.numeric:
            return []
        label = self.decide_uncorrected(tuple(range(self.n_judges))).label[tasks]
        gold, fold = np.asarray(self.block.gold_label, np.float64), self.task_hash[tasks] % np.uint64(_FOLDS)
        for number in range(_FOLDS):
            known = ~np.isnan(label) & (fold != number)
            corrections.append(fit_gold_regression(label[known], gold[known], np.zeros((int(known.sum()), 1))))
        return corrections

    @cached_property
    def guess(self) -> float:
        """Mean distance between the labels of two different tasks; 1 if it is unknown."""
        label, shifts = self.target[0], range(1, min(_SHIFTS, self.block.n_tasks - 1) + 1)
        apart = [self.run.kernels.guess_distances(label, np.roll(label, k, axis=0)) for k in shifts]
        mean = float(np.nanmean(np.concatenate(apart))) if apart and not np.isnan(apart).all() else 0.0
        return mean if mean > 0 else 1.0

    def decide(self, members: Members) -> MemberDecision:
        """Return the verdicts of these judges, corrected by gold labels, on their tasks."""
        found = self.decide_uncorrected(members)
        label, fold = found.label, self.task_hash[found.tasks] % np.uint64(_FOLDS)
        for number, correction in enumerate(self.corrections):
            label = np.where(fold == number, correction.bend(label), label)
        return found._replace(label=label)

    def decide_uncorrected(self, members: Members) -> MemberDecision:
        """Return the verdicts of these judges on their tasks."""
        rows = np.flatnonzero(np.isin(self.block.worker, members))
        tasks, sizes = np.unique(self.block.task[rows], return_counts=True)
        block = replace(self.block.pick(tasks, rows), starts=np.cumsum(sizes) - sizes, sizes=sizes)
        decide = with_quorum(self.run, self.weighing).decide_on(self.run)
        weight, *more = self.weighing.arguments
        if len(members) < self.n_judges:
            weight = np.maximum(weight, weight.max() * _LEAST_WEIGHT)
        found = decide(self.run.encoding.prepare(block), weight, *more)
        error = np.nan_to_num(np.square(found["error"])) if "error" in found else 0.0
        return MemberDecision(found["label"], tasks, error)

    def measure(self, members: Members) -> Floats:
        """Return the worth per task by the distance to the target; a task without an answer counts as a guess."""
        found, (target, error) = self.decide(members), self.target
        distance, error = np.full(self.block.n_tasks, self.guess), np.broadcast_to(error, self.block.n_tasks)
        apart = self.run.kernels.distance_between(found.label, target[found.tasks]) + error[found.tasks]
        distance[found.tasks] = np.where(np.isnan(apart), self.guess, apart)
        return np.asarray(1 - distance / self.guess)

    def error_of(self, worth: Any) -> Any:
        """Return the error for a mean worth, in the unit of the labels."""
        return self.unscale(np.maximum((1 - np.asarray(worth)) * self.guess, 0.0))

    def unscale(self, distance: Floats) -> Floats:
        """Return distances in the unit of the labels."""
        return np.sqrt(distance) if self.unit == "rmse" else distance

    @property
    def ceiling(self) -> tuple[int, int]:
        """Number of gold labels, and of gold labels outside the range of scores, or that no judge gave."""
        tasks, numbers = self.block.gold_task, self.numbers
        if not len(tasks) or (numbers is None and not self.run.domain.recurring):
            return 0, 0
        if numbers is None:
            nearest = np.nanmin(find_distances(self.run, self.block)[-1, :-1][:, tasks], axis=0)
            return len(tasks), int((nearest > 0).sum())
        some, truth = numbers[tasks], np.asarray(self.block.gold_label, np.float64)
        return len(tasks), int(((truth < np.nanmin(some, axis=1)) | (truth > np.nanmax(some, axis=1))).sum())

    @cached_property
    def numbers(self) -> Floats | None:
        """Table with a row per task and a column per judge, NaN if missing; None if labels have no scale."""
        encoding, label = self.run.encoding, self.block.label
        if label.ndim > 1 or label.dtype == object or not (encoding.numeric or has_coordinates(encoding)):
            return None
        return self._pivot(label)

    @cached_property
    def coordinates(self) -> Floats | None:
        """Array of task, judge and coordinate; None if distances are not distances between coordinates."""
        label, power = self.block.label, self.run.domain.power
        if self.numbers is not None:
            return self.numbers[:, :, None]
        if label.ndim != _SQUARE or not power or label.dtype != np.float64:
            return None
        apart = np.linalg.norm(label[1:] - label[:-1], axis=1) ** power
        known = self.run.kernels.distance_between(label[1:], label[:-1])
        return self._pivot(label) if np.allclose(apart, known, rtol=1e-6, atol=1e-12) else None

    def _pivot(self, label: Array) -> Floats:
        table = np.full((self.block.n_tasks, self.n_judges, *label.shape[1:]), np.nan)
        table[self.block.task, self.block.worker] = label
        return table


Verdicts = ClassVerdicts | ScoreVerdicts


def has_scale(encoding: Encoding) -> bool:
    """Return whether labels are numbers or levels."""
    return encoding.numeric or (encoding.n_classes is not None and not encoding.nominal)


# Outcomes: class, score, tie, inconclusive or unreadable. A panel is inconclusive on a task if its confidence is below
# the minimum, if the effective number of answers is below the quorum, or if every judge is undecided. The effective
# number of classes uses the error correlation on gold labels, if the method estimates it; otherwise, each copy group
# counts once. Scores are never a tie.


def conclude(
    block: Block,
    found: dict[str, Array],
    *,
    groups: CopyGroups,
    quorum: float | None,
    tie: int = NO_LABEL,
    usual: int = CLASS,
) -> dict[str, Array]:
    """Add the outcome per task of a block, and withhold verdicts below the quorum."""
    few = np.zeros(block.n_tasks, np.bool_)
    if quorum is not None:
        effective = found.get("voices")
        if effective is None:
            effective = block.per_task(find_answer_weights(with_voices(block, groups=groups)).weight)
        few = (effective < quorum - _CLOSE) & ~found.get("known", few)
        found = withhold(found, few | found.get("abstained", few))
    verdict = np.full(block.n_tasks, usual) if tie == NO_LABEL else np.where(found["label"] == tie, TIE, usual)
    return {**found, "few": few, "verdict": np.where(found.get("abstained", few), INCONCLUSIVE, verdict)}
