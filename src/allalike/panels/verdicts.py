"""Verdicts of a panel on some whole tasks: what some of its judges decide, and how near that is to the truth.

Statistics of a panel compare every judge with every other on the same tasks. Judges are few, so some whole tasks in
memory suffice; they are chosen by the hashes of their ids, so that every engine has the same. Classes and all other
labels, called scores here, differ in how some judges decide a task and in the distance of their verdict to the truth.

**Worth.** A verdict on classes is worth the probability that it is right: that of the whole panel, or 1 and 0 where 50
gold labels and more are known. Labels with the same evidence are worth their mean, and a task without an answer
nothing. Distances of all other labels become a worth by what a guess would reach (a skill score; Murphy: Skill scores
based on the mean square error and their relationships to the correlation coefficient. 1988),

    worth = 1 - (distance of the verdict) / (mean distance of the truths of two different tasks).

Without gold labels it is the distance to the verdict of the whole panel, which errs, too. Of numbers under squared
distance its error is known from its confidence interval, and the error of the best weighted mean is not correlated with
its distance to any other (Hausman: Specification tests in econometrics. 1978), so that both add up:

    E (x_S - t)^2 = E (x_S - x)^2 + E (x - t)^2.

Weights are shrunk towards each other, so that the sum is rather too large than too small.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, find_answer_weights, number_within_tasks
from allalike._core.late import pd
from allalike.engines.sample import pick_tasks, sample_tasks
from allalike.methods.auto.distances.numbers import find_truth_limits
from allalike.methods.auto.distances.plain_or_weighed import has_levels
from allalike.methods.auto.voices import count_effective_voices, with_voices
from allalike.panels.panel import PanelFacts
from allalike.result.summaries import with_quorum, withhold
from allalike.result.tables import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.domains import Encoding
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.methods.insight import VoiceGroups

    Codes = npt.NDArray[np.intp]
    Marks = npt.NDArray[np.bool_]

NOBODY = -1  # in place of a label: nobody, or not this judge, gave one
NORMAL = 1.959964  # 95 % of a normal distribution
MIN_GOLD = 50  # gold labels that measure how good a panel is
CLASS, TIE, INCONCLUSIVE, UNREADABLE, SCORE = range(len(OUTCOMES))
_ROUNDING = 1e-12
_CLOSE = 1e-9
_SQUARE = 2
_SHIFTS = 5  # tasks with whose truths each is compared
_LEAST_WEIGHT = 1e-9  # of the largest, so that a judge alone is heard


def divide(upper: Floats, lower: Floats) -> Floats:
    """Divide, with NaN where the divisor is not positive."""
    known = lower > 0
    return np.where(known, upper / np.where(known, lower, 1.0), np.nan)


def ratio(upper: float, lower: float) -> float:
    """Divide one number by another, with NaN where the divisor is not positive."""
    return upper / lower if lower > 0 else math.nan


def find_ids(found: TaskTable, hashes: npt.NDArray[np.uint64]) -> Values:
    """Return the ids of the tasks with these hashes, in their order."""
    tasks = found.joined().tasks
    return tasks.take(pd.Index(tasks.hashes()).get_indexer(pd.Index(hashes)))


def sample_block(run: Run, n_answers: int) -> Block:
    """Bring about so many answers to whole tasks into memory; tasks with gold labels are preferred."""
    sample = sample_tasks(run, n_answers)
    return pick_tasks(run, np.concatenate([block.task_hash for block in sample.blocks]))


class LeftOut(NamedTuple):
    """Which verdicts change without which judge, whether the judge is right there, and how certain verdicts are."""

    turns: Marks
    right: Floats
    order: Floats
    columns: dict[str, Floats]


class Sample(ABC):
    """Some whole tasks of a panel."""

    task_hash: npt.NDArray[np.uint64]
    known: Marks  # per task: whether it has a gold label

    @property
    @abstractmethod
    def n_judges(self) -> int:
        """The number of judges."""

    @abstractmethod
    def only(self, tasks: Marks) -> Self:
        """Return some of the tasks."""

    @abstractmethod
    def worth(self, members: Sequence[int]) -> Floats:
        """Return, per task, what the verdict of some judges is worth."""

    @abstractmethod
    def agreement(self, members: Sequence[int]) -> Floats:
        """Return, per task, what the verdict of some judges is worth if the whole panel is right."""

    @property
    @abstractmethod
    def whole(self) -> Floats:
        """Per task: what the verdict of the whole panel is worth."""

    @abstractmethod
    def leave_one_out(self) -> LeftOut:
        """Find the tasks whose verdict changes without one of the judges."""

    @property
    @abstractmethod
    def ceiling(self) -> tuple[int, int]:
        """The number of gold labels, and of those that no judge reaches."""

    @abstractmethod
    def error_of(self, worth: Any) -> Any:
        """Return the error that a mean worth stands for."""

    @property
    def by_gold(self) -> bool:
        """Whether enough gold labels are known to measure what verdicts are worth."""
        return int(self.known.sum()) >= MIN_GOLD

    def judged(self) -> Self:
        """Return the tasks that measure what verdicts are worth: those with gold labels, if these are enough."""
        return self.only(self.known) if self.by_gold else self


@dataclass(frozen=True)
class ClassVerdicts(Sample):
    """Verdicts that are classes: a row per task and a column per judge or label.

    Labels are numbered within each task. Judges decide by the sum of their log odds (Nitzan and Paroush: Optimal
    decision rules in uncertain dichotomous choice situations. 1982), as they are known from the whole panel.
    """

    said: Codes
    chance: Floats
    panel: Codes
    sure: Floats
    known: Marks
    truth: Codes
    task_hash: npt.NDArray[np.uint64]
    odds: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(
        cls, run: Run, n_answers: int, believe: Callable[[Block], Floats], tasks: pd.DataFrame, odds: Floats
    ) -> Self:
        """Take some answers of a run, and the label and confidence of the panel by the hashes of tasks."""
        block = sample_block(run, n_answers)
        slot, count = number_within_tasks(block)
        task, width = block.task, int(count.max())
        said = np.full((block.n_tasks, run.problems.n_workers), NOBODY, np.intp)
        said[task, block.worker] = slot
        chance, codes = np.zeros((block.n_tasks, width)), np.full((block.n_tasks, width), NOBODY - 1, np.int64)
        chance[task, slot], codes[task, slot] = believe(block), block.label
        panel = tasks.loc[block.task_hash]
        gold = np.full(block.n_tasks, NOBODY)
        gold[block.gold_task] = block.gold_label
        known = block.gold_row >= 0
        decided, truth = (_find_slots(codes, label) for label in (panel["label"].to_numpy(), gold))
        truth = np.where(known, truth, decided)
        return cls(said, chance, decided, panel["confidence"].to_numpy(), known, truth, block.task_hash, odds)

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return int(self.said.shape[1])

    def only(self, tasks: Marks) -> Self:
        """Return some of the tasks."""
        names = ("said", "chance", "panel", "sure", "known", "truth", "task_hash")
        return replace(self, **{name: getattr(self, name)[tasks] for name in names})

    @cached_property
    def _worths(self) -> Floats:
        """Per task and label: what it is worth."""
        return self._is(self.truth) if self.by_gold else self.chance

    @property
    def whole(self) -> Floats:
        """Per task: what the verdict of the whole panel is worth."""
        return np.where(self.panel == NOBODY, 0.0, self._worths[np.arange(len(self.panel)), self.panel])

    def worth(self, members: Sequence[int]) -> Floats:
        """Return, per task, what the verdict of some judges is worth."""
        return self._decide(members, self._worths)

    def agreement(self, members: Sequence[int]) -> Floats:
        """Return, per task, whether the verdict of some judges is that of the whole panel."""
        return self._decide(members, self._is(self.panel))

    def leave_one_out(self) -> LeftOut:
        """Find the tasks on which other labels have the most evidence, or have it alone, without one of the judges."""
        votes = self._is(self.said.T[..., None]) * self.odds[:, None, None]
        score = votes.sum(axis=0)
        first = _find_leads(score)
        turns = np.stack([(_find_leads(score - vote) != first).any(axis=1) for vote in votes], axis=1)
        right = np.where(self.known[:, None], self.said == self.truth[:, None], np.nan).astype(np.float64)
        return LeftOut(turns & (self.said != NOBODY), right, self.sure, {"confidence": self.sure})

    @property
    def ceiling(self) -> tuple[int, int]:
        """The number of gold labels, and of those that no judge gave."""
        return int(self.known.sum()), int((self.known & (self.truth == NOBODY)).sum())

    def error_of(self, worth: Any) -> Any:
        """Return the share of wrong verdicts."""
        return 1 - np.asarray(worth)

    def _is(self, label: Codes) -> Floats:
        """Return, per task and label, whether it is this one."""
        label = label if label.ndim > 1 else label[:, None]
        same: Floats = (np.arange(self.chance.shape[1]) == label).astype(np.float64)
        return same

    def _decide(self, members: Sequence[int], worths: Floats) -> Floats:
        """Return the mean worth of the labels with the most evidence from some judges; 0 without an answer."""
        score = np.zeros_like(self.chance)
        for judge in members:
            rows = np.flatnonzero(self.said[:, judge] != NOBODY)
            score[rows, self.said[rows, judge]] += self.odds[judge]
        leads = _find_leads(score)
        value: Floats = (leads * worths).sum(axis=1) / np.maximum(leads.sum(axis=1), 1)
        return value


def _find_slots(codes: Array, label: Array) -> Codes:
    """Return the numbers of labels among those of their tasks, or -1 where nobody gave them."""
    same = codes == label[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), NOBODY)


def _find_leads(score: Floats) -> Marks:
    """Mark the labels with the most evidence; none where there is no answer."""
    top = score.max(axis=1, keepdims=True)
    leads: Marks = (score >= top - TOLERANCE * np.abs(score).sum(axis=1, keepdims=True)) & (top > _ROUNDING)
    return leads


@dataclass(frozen=True)
class Scores(Sample):
    """Verdicts that are near or far from each other, such as numbers, levels, vectors and rankings.

    Some of the judges decide by the rule of the labels, with the weights that they have in the whole panel.
    """

    run: Run
    weighing: Weighing
    block: Block

    @classmethod
    def of(cls, run: Run, weighing: Weighing, n_answers: int) -> Self:
        """Take about so many answers of a run."""
        return cls(run, weighing, sample_block(run, n_answers))

    @property
    def task_hash(self) -> npt.NDArray[np.uint64]:  # type: ignore[override]
        """The hashes of the ids of the tasks."""
        return self.block.task_hash

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.run.workers)

    @property
    def known(self) -> Marks:  # type: ignore[override]
        """Per task: whether it has a gold label."""
        return np.asarray(self.block.gold_row >= 0)

    @property
    def is_square(self) -> bool:
        """Whether a distance is a square, whose root has the unit of the labels."""
        return self.run.domain.power == _SQUARE

    @property
    def unit(self) -> str:
        """The name of an error."""
        return "rmse" if self.is_square else "distance"

    def only(self, tasks: Marks) -> Self:
        """Return some of the tasks."""
        return replace(self, block=pick_tasks(self.run, self.task_hash[tasks]))

    @cached_property
    def panel(self) -> dict[str, Array]:
        """What the whole panel finds for each task."""
        return self.decide(range(self.n_judges))[0]

    @cached_property
    def target(self) -> Array:
        """Per task: the gold label if enough are known, else the verdict of the whole panel."""
        return self.block.gold_label if self.by_gold else self.panel["label"]

    @cached_property
    def guess(self) -> float:
        """The mean distance between the truths of two different tasks; 1 if it is unknown."""
        shifts = range(1, min(_SHIFTS, self.block.n_tasks - 1) + 1)
        apart = [self.run.kernels.guess_distances(self.target, np.roll(self.target, k, axis=0)) for k in shifts]
        mean = float(np.nanmean(np.concatenate(apart))) if apart and not np.isnan(apart).all() else 0.0
        return mean if mean > 0 else 1.0

    @cached_property
    def variance(self) -> Floats:
        """Per task: the variance of the whole panel's number, by its confidence interval; 0 if it is unknown."""
        faults, groups = self.weighing.insight.faults, self.weighing.insight.groups
        if faults is None or faults.variance is None:
            return np.zeros(self.block.n_tasks)
        how = self.weighing.weight, faults.variance, self.panel["label"], self.panel["error"]
        limits = find_truth_limits(self.run.encoding.prepare(self.block), *how, groups=groups)
        return np.asarray(np.nan_to_num(np.square((limits["high"] - limits["low"]) / (2 * NORMAL))))

    @property
    def own(self) -> Floats:
        """Per task: the expected distance of the whole panel to the truth, where gold labels do not measure it."""
        return self.variance if self.is_square and not self.by_gold else np.zeros(self.block.n_tasks)

    @cached_property
    def whole(self) -> Floats:
        """Per task: what the verdict of the whole panel is worth."""
        return self.worth(range(self.n_judges))

    def decide(self, members: Sequence[int]) -> tuple[dict[str, Array], Codes]:
        """Return what some of the judges find, and for which tasks: those that one of them answered."""
        member = np.zeros(self.n_judges, bool)
        member[list(members)] = True
        rows = np.flatnonzero(member[self.block.worker])
        tasks, sizes = np.unique(self.block.task[rows], return_counts=True)
        block = replace(self.block.pick(tasks, rows), starts=np.cumsum(sizes) - sizes, sizes=sizes)
        decide = with_quorum(self.run, self.weighing).decide_on(self.run)
        weight, *more = self.weighing.arguments
        if len(members) < self.n_judges:
            weight = np.maximum(weight, weight.max() * _LEAST_WEIGHT)
        return decide(self.run.encoding.prepare(block), weight, *more), tasks

    def worth(self, members: Sequence[int]) -> Floats:
        """Return, per task, what the verdict of some judges is worth."""
        return self._find_worth(self._distance(members, self.target) + self.own)

    def agreement(self, members: Sequence[int]) -> Floats:
        """Return, per task, what the verdict of some judges is worth if the whole panel is right."""
        return self._find_worth(self._distance(members, self.panel["label"]))

    def _distance(self, members: Sequence[int], target: Array) -> Floats:
        found, tasks = self.decide(members)
        distance = np.full(self.block.n_tasks, np.nan)
        distance[tasks] = self.run.kernels.distance_between(found["label"], target[tasks])
        return distance

    def _find_worth(self, distance: Floats) -> Floats:
        worth: Floats = 1 - np.where(np.isnan(distance), self.guess, distance) / self.guess
        return worth

    def error_of(self, worth: Any) -> Any:
        """Return the error that a mean worth stands for, in the unit of the labels."""
        return self.unscale(np.maximum((1 - np.asarray(worth)) * self.guess, 0.0))

    def unscale(self, distance: Floats) -> Floats:
        """Return distances in the unit of the labels."""
        return np.sqrt(distance) if self.is_square else distance

    def leave_one_out(self) -> LeftOut:
        """Find the tasks whose verdict is another one, or leaves its confidence interval, without one of the judges."""
        block, kernels, whole = self.block, self.run.kernels, self.panel["label"]
        shape = (block.n_tasks, self.n_judges)
        turns, moved, right = np.zeros(shape, bool), np.zeros(shape), np.full(shape, np.nan)
        room = self._find_room()
        known, truth = block.gold_task, block.gold_label
        before = kernels.distance_between(whole[known], truth) if len(known) else np.empty(0)
        for judge in range(self.n_judges if self.n_judges > 1 else 0):
            found, tasks = self.decide([each for each in range(self.n_judges) if each != judge])
            own = np.isin(tasks, block.task[block.worker == judge])
            label, place = found["label"][own], tasks[own]
            moved[place, judge] = np.nan_to_num(kernels.distance_between(label, whole[place]))
            turns[place, judge] = moved[place, judge] > room[place]
            both, at, row = np.intersect1d(place, known, return_indices=True)
            if len(both):
                right[both, judge] = before[row] < kernels.distance_between(label[at], truth[row])
        farthest = moved.max(axis=1)
        return LeftOut(turns, right, -farthest, {"moved": self.unscale(farthest)})

    @property
    def ceiling(self) -> tuple[int, int]:
        """The number of gold labels, and of those outside of all scores, or that no judge gave."""
        block, numbers, known = self.block, self.numbers, len(self.block.gold_task)
        if not known or (numbers is None and not self.run.domain.recurring):
            return 0, 0
        if numbers is not None:
            some, truth = numbers[block.gold_task], np.asarray(block.gold_label, np.float64)
            return known, int(((truth < np.nanmin(some, axis=1)) | (truth > np.nanmax(some, axis=1))).sum())
        asked = self.only(self.known).block
        distance = self.run.kernels.distance_between(asked.label, asked.gold_label[asked.to_answers(asked.gold_row)])
        nearest = np.minimum.reduceat(np.nan_to_num(distance, nan=np.inf), asked.starts)
        return known, int((nearest > 0).sum())

    def _find_room(self) -> Floats:
        """Return, per task, how far a verdict may move without being another one; infinitely far if unknown."""
        if self.run.domain.recurring:
            return np.full(self.block.n_tasks, _ROUNDING)
        error = np.nan_to_num(self.panel["error"])
        variance = np.where(self.variance > 0, self.variance, np.square(error))
        room: Floats = np.where(self.is_square & (variance > 0), np.square(NORMAL) * variance, np.inf)
        return room

    @cached_property
    def numbers(self) -> Floats | None:
        """A row per task and a column per judge, NaN without an answer; None if labels have no scale."""
        encoding, label = self.run.encoding, self.block.label
        if label.ndim > 1 or label.dtype == object or not (encoding.numeric or has_levels(encoding)):
            return None
        return self._spread(label)

    @cached_property
    def coordinates(self) -> Floats | None:
        """The same with one more axis for the coordinates of labels, where distances are those of coordinates."""
        label, power = self.block.label, self.run.domain.power
        if self.numbers is not None:
            return self.numbers[:, :, None]
        if label.ndim != _SQUARE or not power or label.dtype != np.float64:
            return None
        apart = np.linalg.norm(label[1:] - label[:-1], axis=1) ** power
        known = self.run.kernels.distance_between(label[1:], label[:-1])
        return self._spread(label) if np.allclose(apart, known, rtol=1e-6, atol=1e-12) else None

    def _spread(self, label: Array) -> Floats:
        table = np.full((self.block.n_tasks, self.n_judges, *label.shape[1:]), np.nan)
        table[self.block.task, self.block.worker] = label
        return table


def has_scale(encoding: Encoding) -> bool:
    """Return whether each label is a number, or a level among others in an order."""
    return encoding.numeric or (encoding.n_classes is not None and not encoding.nominal)


# Outcomes: a class or score, a tie, inconclusive, and unreadable. A panel is inconclusive about a task if its
# confidence is lower than was asked for, if fewer independent voices were heard than the quorum, or if every judge is
# undecided.
# Voices are the effective ones where gold labels show how errors correlate; otherwise copies have one voice together,
# and every other judge one of its own. Scores are never a tie.


def conclude(
    block: Block,
    found: dict[str, Array],
    *,
    groups: VoiceGroups,
    quorum: float | None,
    tie: int = NOBODY,
    usual: int = CLASS,
    correlation: float | None = None,
) -> dict[str, Array]:
    """Add the outcome of each task of a block, and withhold verdicts below the quorum."""
    few = np.zeros(block.n_tasks, np.bool_)
    if quorum is not None:
        voices = found.get("voices")
        if voices is None:
            heard = with_voices(block, groups=groups)
            voices = block.per_task(find_answer_weights(heard).weight)
            voices = voices if correlation is None else count_effective_voices(heard, correlation)
        few = (voices < quorum - _CLOSE) & ~found.get("known", few)
        found = withhold(found, few | found.get("abstained", few))
    verdict = np.full(block.n_tasks, usual) if tie == NOBODY else np.where(found["label"] == tie, TIE, usual)
    return {**found, "few": few, "verdict": np.where(found.get("abstained", few), INCONCLUSIVE, verdict)}


def count_outcomes(found: TaskTable, quorum: float | None, tie: Any, silent: tuple[Sequence[Any], ...]) -> PanelFacts:
    """Count the tasks of each outcome; tasks of undecided judges, unreadable ones and judges without a voice beside."""
    undecided, unreadable, voiceless = silent
    counts = np.bincount(found.joined().found["verdict"], minlength=len(OUTCOMES))
    counts[INCONCLUSIVE] += len(undecided)
    counts[UNREADABLE] += len(unreadable)
    names = ("classes", "ties", "inconclusive", "unreadable", "scores")
    notes = {**dict(zip(names, counts.tolist(), strict=True)), "undecided": len(undecided)}
    notes |= {"voiceless": list(voiceless)} if voiceless else {}
    notes |= {} if tie is None else {"tie": tie}
    notes |= {} if quorum is None else {"quorum": quorum, "below_quorum": int(found.total("few"))}
    return PanelFacts({"outcomes": notes})
