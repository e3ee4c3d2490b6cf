"""Coverage: how many tasks a panel answers, and how often it is right, if it abstains where it is less sure.

Where 50 truths and more are known, these say both: confidences that were found without them are mended by a line
through their log odds, which four of five parts of the known truths tell for the fifth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats, sum_by
from allalike.engines.sample import sample_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Block
    from allalike.engines import Run, TaskTable
    from allalike.engines.memory import MemoryRun
    from allalike.methods import Weighing
    from allalike.panels.finding import Columns


# Odds: confidences that known truths mend, by a line through their log odds.
#
# A confidence p that is too sure, or too low, becomes the probability with
#
#     logit(p') = shift + slope logit(p),
#
# whose two numbers are those under which labels that are known to be right or wrong are most likely (Platt:
# Probabilistic outputs for support vector machines. 1999), with a normal prior around no change, shift 0 and slope 1,
# of variance 1: so a few truths, or labels that all are right, do not make anything certain. One shift and one slope
# cannot mend what is wrong in another way on hard tasks than on easy ones.


_CERTAIN = 1e-9  # by how much a probability differs from 0 and from 1, before its odds are taken
_STEPS = 50
_CONVERGED = 1e-10
_MAX_STEP = 2.0


class OddsLine(NamedTuple):
    """A line through log odds; without one, confidences stay what they are."""

    shift: float = 0.0
    slope: float = 1.0


def fit_line(confidence: Floats, hit: npt.NDArray[np.bool_]) -> OddsLine:
    """Return the line under which labels are most likely right and wrong as they are.

    >>> line = fit_line(np.full(1000, 0.9), np.arange(1000) < 750)
    >>> mend(np.array([0.9]), line).round(3)
    array([0.75])
    """
    logit = _logit(confidence)
    design, line, prior = np.column_stack([np.ones(len(logit)), logit]), np.array(OddsLine()), np.array(OddsLine())
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-design @ line))
        gradient = design.T @ (hit - p) - (line - prior)
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(2)
        step = np.clip(np.linalg.solve(curvature, gradient), -_MAX_STEP, _MAX_STEP)
        line = line + step
        if np.abs(step).max() < _CONVERGED:
            break
    return OddsLine(float(line[0]), max(float(line[1]), 0.0))


def mend(confidence: Floats, line: OddsLine) -> Floats:
    """Return the probabilities whose log odds lie on the line.

    >>> mend(np.array([0.5, 0.8]), OddsLine(0.0, 0.5)).round(3), mend(np.array([0.3]), OddsLine())
    (array([0.5  , 0.667]), array([0.3]))
    """
    if line == OddsLine():
        return confidence
    mended: Floats = 1 / (1 + np.exp(-(line.shift + line.slope * _logit(confidence))))
    return mended


def _logit(confidence: Floats) -> Floats:
    sure = np.clip(confidence, _CERTAIN, 1 - _CERTAIN)
    odds: Floats = np.log(sure) - np.log1p(-sure)
    return odds


LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
MIN_GOLD = 50  # known truths that tell how sure the panel is
_FOLDS = 5
BINS = 10  # of confidences, of which each is compared with how often labels are right


@dataclass(frozen=True)
class Sureness:
    """Of each task: how sure the panel is that did not know its truth, and whether it is right."""

    confidence: Floats
    wrong: Floats
    task_hash: npt.NDArray[np.uint64]

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of which tasks the truth is known."""
        return ~np.isnan(self.wrong)

    @property
    def told_by_gold(self) -> bool:
        """Whether so many truths are known that these tell how sure the panel is."""
        return int(self.known.sum()) >= MIN_GOLD

    def told_by(self, held_out: HeldOut) -> Sureness:
        """Return the same with what is known of tasks that were held out."""
        order = np.argsort(held_out.task_hash, kind="stable")
        place = order[np.minimum(np.searchsorted(held_out.task_hash, self.task_hash, sorter=order), len(order) - 1)]
        here = held_out.task_hash[place] == self.task_hash
        confidence = np.where(here, held_out.sure[place], self.confidence)
        return Sureness(confidence, np.where(here, held_out.wrong[place], self.wrong), self.task_hash)

    def fit(self) -> OddsLine:
        """Return the line that mends confidences, where enough truths are known."""
        if not self.told_by_gold:
            return OddsLine()
        return fit_line(self.confidence[self.known], self.wrong[self.known] == 0)

    def mended(self) -> Sureness:
        """Return the tasks whose truths are known, each mended by others, where these are enough; else all as it is."""
        if not self.told_by_gold:
            return self
        known = self.known
        confidence, wrong, hashes = self.confidence[known], self.wrong[known], self.task_hash[known]
        fold, result = hashes % np.uint64(_FOLDS), np.empty(len(confidence))
        for number in range(_FOLDS):
            inside = fold == number
            line = fit_line(confidence[~inside], wrong[~inside] == 0)
            result[inside] = mend(confidence[inside], line)
        return Sureness(result, wrong, hashes)

    def calibration_error(self) -> float:
        """Return how far confidences are from how often the panel is right, in ten bins; NaN if nothing is known."""
        sure, hit = self.confidence[self.known], 1 - self.wrong[self.known]
        place = np.minimum((sure * BINS).astype(np.intp), BINS - 1)
        return expected_calibration_error(*(sum_by(place, each, BINS) for each in (np.ones(len(sure)), sure, hit)))


@dataclass(frozen=True)
class Coverage:
    """For each level: the share of tasks that are as sure, and how often they are expected to be right, and are."""

    level: Floats
    share: Floats
    expected: Floats
    accuracy: Floats

    @classmethod
    def of(cls, tasks: Sureness, levels: tuple[float, ...] = LEVELS) -> Coverage:
        """Count the tasks that are at least so sure; what is not known is NaN.

        >>> found = Coverage.of(Sureness(np.array([0.6, 0.9]), np.array([1.0, 0.0]), np.arange(2)), (0.0, 0.8, 0.95))
        >>> found.share, found.expected, found.accuracy
        (array([1. , 0.5, 0. ]), array([0.75, 0.9 ,  nan]), array([0.5, 1. , nan]))
        """
        kept = [tasks.confidence >= level for level in levels]
        known = tasks.known
        return cls(
            np.array(levels),
            np.array([each.mean() for each in kept]),
            np.array([_mean(tasks.confidence[each]) for each in kept]),
            np.array([1 - _mean(tasks.wrong[each & known]) for each in kept]),
        )

    def columns(self) -> dict[str, Array]:
        """Return the columns of the table."""
        return {"level": self.level, "share": self.share, "expected": self.expected, "accuracy": self.accuracy}


@dataclass(frozen=True)
class SureLevels:
    """How sure the panel is of each task when it does not know truths, as a panel tells of it."""

    tasks: Sureness
    known_right: Floats

    def describe(self) -> dict[str, Any]:
        """Tell how far probabilities are from how often they are right, and what abstaining costs at each level."""
        mended = self.tasks.mended()
        columns = Coverage.of(mended).columns()
        rows = np.column_stack(list(columns.values())).tolist()
        return {
            "calibration_error": {"own": self.tasks.calibration_error(), "mended": mended.calibration_error()},
            "coverage": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    def tables(self) -> dict[str, Columns]:
        """Return a row for each level."""
        return {"coverage": Coverage.of(self.tasks.mended()).columns()}

    def judge_columns(self) -> Columns:
        """Return how often each judge is right where truths are known."""
        return {"accuracy": self.known_right}


def gather_sureness(found: TaskTable, held_out: HeldOut | None = None) -> Sureness:
    """Take what is known of each task from what the panel found, without truths, or where it can be with others.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> gather_sureness(result.found).known
    array([False])
    """
    pieces = list(found.pieces())
    wrong = [piece.found.get("gold", np.full(len(piece.answers), np.nan)) for piece in pieces]
    found_out = Sureness(
        np.concatenate([piece.found["confidence"] for piece in pieces]),
        np.concatenate(wrong),
        np.concatenate([piece.tasks.hashes() for piece in pieces]),
    )
    return found_out if held_out is None else found_out.told_by(held_out)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def expected_calibration_error(count: Floats, confidence: Floats, hits: Floats) -> float:
    """Return how far confidences are from how often labels are right, from sums over the labels in each bin.

    >>> expected_calibration_error(np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]))
    0.1
    """
    total = float(count.sum())
    return float(np.abs(confidence - hits).sum() / total) if total else float("nan")


# Held out: what a panel that knows some truths says of tasks whose truths it does not know.
#
# How often a panel is right on truths that it has learned from says little, and how often it is right without them
# says too little. So the known truths are cut into five parts, by the hashes of their tasks: the panel learns from
# four of them, and decides the tasks of the fifth as if nobody knew it (cross-validation). Judges are few, and their
# verdicts on some whole tasks tell enough.


FOLDS = 5


def fold_of(task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the part that each task is in."""
    return task_hash % np.uint64(FOLDS)


@dataclass(frozen=True)
class HeldOut:
    """Tasks whose truths are known, as a panel decides them that knows those of other tasks."""

    task_hash: npt.NDArray[np.uint64]
    label: Array
    sure: Floats
    wrong: Floats


def decide_held_out(run: Run, n_answers: int, weigh: Callable[[Run], Weighing]) -> HeldOut:
    """Let a panel decide tasks whose truths are known, each as if this one were not.

    >>> import allalike
    >>> said = {"ada": "xxyyxyxyxy", "bob": "xxyyxyxyxx", "eve": "xxyyxyxxxy"}
    >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
    >>> gold = dict(enumerate("xxyyxyxyxx"))
    >>> run = allalike.discover(rows, gold=gold).run
    >>> decide_held_out(run, 100, allalike.Auto().weigh).wrong.mean()
    np.float64(0.1)
    """
    sample = sample_tasks(run, n_answers)
    ready = [run.encoding.prepare(block) for block in sample.blocks]
    sample = replace(sample, shards=[replace(sample.shards[0], blocks=ready)])
    parts = [_decide(sample, fold, weigh) for fold in range(FOLDS)]
    return HeldOut(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _decide(run: MemoryRun, fold: int, weigh: Callable[[Run], Weighing]) -> tuple[Array, Array, Floats, Floats]:
    """Return hashes, labels, sureness and errors of the tasks of one part."""
    blocks = [_forget(block, fold) for block in run.blocks]
    shard = replace(run.shards[0], blocks=blocks)
    weighing = weigh(replace(run, shards=[shard], n_gold=sum(len(block.gold_task) for block in blocks)))
    decide = weighing.decide_on(run)
    parts = [_compare(block, decide(block, *weighing.arguments), fold) for block in run.blocks]
    hashes, label, sure, wrong = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hashes, label, sure, wrong


def _compare(block: Block, found: dict[str, Array], fold: int) -> tuple[Array, Array, Floats, Floats]:
    """Return the same of one block."""
    mine = fold_of(block.task_hash[block.gold_task]) == fold
    task, gold = block.gold_task[mine], block.gold_label[mine]
    label = found["label"][task]
    return block.task_hash[task], label, found["confidence"][task], (label != gold).astype(np.float64)


def _forget(block: Block, fold: int) -> Block:
    """Return a block that does not know the truths of one part."""
    kept = fold_of(block.task_hash[block.gold_task]) != fold
    return replace(block, gold_task=block.gold_task[kept], gold_label=block.gold_label[kept])
