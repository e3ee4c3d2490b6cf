"""Calibration: how often verdicts on classes are right, by the confidence of the panel and by gold labels.

A confidence p that is too high, or too low, becomes the probability with

    logit(p') = shift + slope logit(p),

whose two numbers are those under which labels that are known to be right or wrong are most likely (Platt: Probabilistic
outputs for support vector machines. 1999), with a normal prior around no change, shift 0 and slope 1, of variance 1: so
a few gold labels, or labels that all are right, do not make anything certain. One shift and one slope cannot mend what
is wrong in another way on hard tasks than on easy ones. It takes 50 gold labels.

**Cross-validation.** Accuracy on gold labels that the panel has learned from says little, and accuracy without them
says too little. So gold labels are cut into five folds, by the hashes of their tasks: the panel learns from four of
them, and decides the tasks of the fifth as if they had none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.late import pd
from allalike.engines.sample import sample_tasks
from allalike.methods import Auto
from allalike.methods.auto.voices import find_error_correlation, with_voices
from allalike.methods.insight import VoiceGroups
from allalike.panels.open_labels import NO_CHANGE, OddsLine, OpenChance, decide_openly, find_chances, find_open_chance
from allalike.panels.panel import PanelFacts, list_columns
from allalike.panels.verdicts import MIN_GOLD
from allalike.result.summaries import find_truths

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run, TaskTable
    from allalike.engines.memory import MemoryRun
    from allalike.methods import Weighing

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BINS = 10  # of confidences, each of which is compared with how often labels are right
_FOLDS = np.uint64(5)
_STEPS = 50
_CONVERGED = 1e-10
_MAX_STEP = 2.0
_OPEN_ANSWERS = 50_000  # that measure confidences of open labels
_LEAST_RATE, _LEAST_ODDS = 0.01, 0.01  # an answer of the worst judge is better than none


@dataclass(frozen=True)
class ConfidenceModel:
    """How probable labels are: by the method where classes are few, and as open labels where they are many."""

    run: Run
    rate: Floats
    groups: VoiceGroups
    blind: Weighing
    chance: OpenChance | None

    @classmethod
    def of(cls, run: Run, weighing: Weighing) -> ConfidenceModel:
        """Estimate the model from what is known of the judges without gold labels."""
        insight = weighing.insight
        blind = Auto().weigh_blindly(run, weighing) if run.n_gold else weighing
        assert insight.faults is not None
        groups = insight.groups or VoiceGroups.everyone(run.problems.n_workers)
        rate = insight.faults.best(blind.fault) if blind.skill.error_rate is None else blind.skill.error_rate
        rate = np.clip(np.nan_to_num(rate, nan=0.5), _LEAST_RATE, 1 - _LEAST_RATE)
        chance = None
        if blind.decision.probabilities is None:
            chance = find_open_chance(sample_tasks(run, _OPEN_ANSWERS), rate, groups, run.encoding.n_labels)
        return cls(run, rate, groups, blind, chance)

    @property
    def n_wrong(self) -> float:
        """How many wrong labels a task has, or seems to have."""
        return max(self.run.encoding.n_labels - 1.0, 1.0) if self.chance is None else self.chance.n_wrong

    @property
    def odds(self) -> Floats:
        """The log odds of each judge."""
        odds: Floats = np.maximum(np.log((1 - self.rate) * self.n_wrong / self.rate), _LEAST_ODDS)
        return odds

    def with_confidence(self, weighing: Weighing, line: OddsLine = NO_CHANGE) -> Weighing:
        """Return a weighing whose decisions have a probability, calibrated by a line."""
        if self.chance is None:
            return weighing
        calibrated = line != NO_CHANGE
        correlation = find_error_correlation(self.run) if calibrated else None
        decide = partial(
            decide_openly,
            own=weighing.decide_on(self.run),
            chance=self.chance,
            line=line,
            correlation=correlation,
            groups=self.groups,
        )
        notes: dict[str, Any] = {
            "temperature": self.chance.beta,
            "told_by": "gold" if calibrated else "answers",
            "wrong_labels": self.chance.n_wrong,
        }
        notes |= {} if correlation is None else {"error_correlation": correlation}
        parameters = (self.rate, *weighing.decision.parameters)
        return replace(
            weighing,
            decision=replace(weighing.decision, decide=decide, parameters=parameters),
            insight=replace(weighing.insight, confidence=notes),
        )

    def fit(self, run: Run) -> Weighing:
        """Weigh judges by some answers and the gold labels known there, for decisions with a probability."""
        return self.with_confidence(Auto().weigh(run))

    def decide_tasks(self, n_answers: int) -> tuple[TaskTable, pd.DataFrame]:
        """Decide all tasks without gold labels, and list confidences, by cross-validation where these are enough."""
        unaware = find_truths(self.run, self.with_confidence(self.blind), unweighted=True)
        enough = self.run.n_gold >= MIN_GOLD
        return unaware, list_confidences(unaware, decide_held_out(self.run, n_answers, self.fit) if enough else None)

    def believe(self, block: Block) -> Floats:
        """Return, per answer, the probability that its label is right."""
        if self.chance is not None:
            return find_chances(with_voices(block, groups=self.groups), self.rate, chance=self.chance)
        assert self.blind.decision.probabilities is not None
        found = self.blind.decision.probabilities(block, *self.blind.arguments)
        table = block.to_answers(found["probability"])
        chances: Floats = table[np.arange(len(table)), block.label]
        return chances


# The confidences of tasks are a frame with a row per task, by the hash of its id: the label, the confidence that the
# panel has without this gold label, and whether the label is wrong, NaN without a gold label.


def list_confidences(found: TaskTable, held_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the confidences of all tasks; those that were held out replace those without gold labels."""
    piece = found.joined()
    wrong = piece.found.get("gold", np.full(len(piece.answers), np.nan))
    columns = {"label": piece.found["label"], "confidence": piece.found["confidence"], "wrong": wrong}
    tasks = pd.DataFrame(columns, index=piece.tasks.hashes())
    if held_out is not None:
        tasks.loc[held_out.index] = held_out
    return tasks


def decide_held_out(run: Run, n_answers: int, fit: Callable[[Run], Weighing]) -> pd.DataFrame:
    """Decide tasks with gold labels, each by a panel that does not know its gold label."""
    sample = sample_tasks(run, n_answers)
    ready = [run.encoding.prepare(block) for block in sample.blocks]
    sample = replace(sample, shards=[replace(sample.shards[0], blocks=ready)])
    return pd.concat([_decide_fold(sample, fold, fit) for fold in range(int(_FOLDS))])


def _decide_fold(run: MemoryRun, fold: int, fit: Callable[[Run], Weighing]) -> pd.DataFrame:
    blocks = []
    for block in run.blocks:
        kept = block.task_hash[block.gold_task] % _FOLDS != fold
        blocks.append(replace(block, gold_task=block.gold_task[kept], gold_label=block.gold_label[kept]))
    n_gold = sum(len(block.gold_task) for block in blocks)
    weighing = fit(replace(run, shards=[replace(run.shards[0], blocks=blocks)], n_gold=n_gold))
    decide, parts = weighing.decide_on(run), []
    for block in run.blocks:
        found = decide(block, *weighing.arguments)
        inside = block.task_hash[block.gold_task] % _FOLDS == fold
        task, gold = block.gold_task[inside], block.gold_label[inside]
        label = found["label"][task]
        columns = {"label": label, "confidence": found["confidence"][task], "wrong": (label != gold).astype(np.float64)}
        parts.append(pd.DataFrame(columns, index=block.task_hash[task]))
    return pd.concat(parts)


def fit_line(confidence: Floats, hit: npt.NDArray[np.bool_]) -> OddsLine:
    """Fit the line under which labels are most likely right and wrong as they are.

    >>> line = fit_line(np.full(1000, 0.9), np.arange(1000) < 750)
    >>> line.mend(np.array([0.9])).round(3)
    array([0.75])
    """
    prior = line = np.array(NO_CHANGE)
    design = np.column_stack([np.ones(len(confidence)), OddsLine.logit(confidence)])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-design @ line))
        gradient = design.T @ (hit - p) - (line - prior)
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(2)
        step = np.clip(np.linalg.solve(curvature, gradient), -_MAX_STEP, _MAX_STEP)
        line = line + step
        if np.abs(step).max() < _CONVERGED:
            break
    return OddsLine(float(line[0]), max(float(line[1]), 0.0))


def fit_gold(tasks: pd.DataFrame) -> OddsLine:
    """Fit the line to all gold labels; no change if they are few."""
    known = tasks[tasks["wrong"].notna()]
    if len(known) < MIN_GOLD:
        return NO_CHANGE
    return fit_line(known["confidence"].to_numpy(), known["wrong"].to_numpy() == 0)


def calibrate(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return tasks with gold labels, each fold calibrated by the others; all tasks as they are if these are few."""
    known = tasks[tasks["wrong"].notna()]
    if len(known) < MIN_GOLD:
        return tasks
    confidence, hit = known["confidence"].to_numpy(), known["wrong"].to_numpy() == 0
    fold, mended = known.index.to_numpy() % _FOLDS, np.empty(len(known))
    for number in range(int(_FOLDS)):
        inside = fold == number
        mended[inside] = fit_line(confidence[~inside], hit[~inside]).mend(confidence[inside])
    return known.assign(confidence=mended)


def find_calibration_error(tasks: pd.DataFrame) -> float:
    """Return the expected calibration error on gold labels, in ten bins; NaN without gold labels."""
    known = tasks[tasks["wrong"].notna()]
    confidence = known["confidence"].to_numpy()
    place = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    columns = np.ones(len(known)), confidence, 1 - known["wrong"].to_numpy()
    return expected_calibration_error(*(sum_by(place, each, BINS) for each in columns))


def expected_calibration_error(count: Floats, confidence: Floats, hits: Floats) -> float:
    """Return how far confidences are from how often labels are right, from sums over the labels in each bin.

    >>> expected_calibration_error(np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]))
    0.1
    """
    total = float(count.sum())
    return float(np.abs(confidence - hits).sum() / total) if total else float("nan")


def describe_confidence(tasks: pd.DataFrame, known_right: Floats) -> PanelFacts:
    """Return calibration errors, and for each level of confidence the share of tasks that reach it and are right."""
    mended = calibrate(tasks)
    rows = []
    for level in LEVELS:
        kept = mended[mended["confidence"] >= level]
        share = len(kept) / len(mended)
        rows.append((level, share, kept["confidence"].mean(), 1 - kept["wrong"].mean()))
    coverage = pd.DataFrame(rows, columns=["level", "share", "expected", "accuracy"])
    errors = {"own": find_calibration_error(tasks), "mended": find_calibration_error(mended)}
    notes = {"calibration_error": errors, "coverage": coverage.to_dict("records")}
    return PanelFacts(notes, {"coverage": list_columns(coverage)}, {"accuracy": known_right})
