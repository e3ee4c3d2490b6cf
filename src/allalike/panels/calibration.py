"""Confidence of verdicts on classes: open answers, calibration by gold labels, cross-validation.

**Open answers** are labels such as numbers or names. If two wrong answers are equal with probability 1/m, a judge
with error rate f answers as if there were m equally probable wrong labels. Its label then gains the log odds
w = log((1 - f) m / f), and

    P[c] ~ exp(beta score_c),    0 < beta <= 1,

for m + 1 labels: those given to the task, and others that no judge gave. m is estimated in three rounds from pairs of
answers that do not have the largest score. beta is fitted to held-out answers. The model fails if most judges give the
same wrong answer.

**Calibration** (Platt 1999) replaces a confidence p by p' with logit(p') = shift + slope logit(p). The line is fitted
by maximum likelihood to at least 50 gold labels, with a normal prior of variance 1 around shift 0 and slope 1.

**Cross-validation** assigns gold labels to five folds by the hashes of their tasks. The panel learns from four folds,
and decides the tasks of the fifth without their gold labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import (
    Array,
    Block,
    Floats,
    find_answer_weights,
    number_within_tasks,
    subtract_own_group,
)
from allalike._core.lazy_imports import pd
from allalike.engines import Run, TaskTable
from allalike.engines.sample import sample_tasks
from allalike.methods import Auto, Fit
from allalike.methods.auto.copy_groups import count_effective_voices, find_error_correlation, with_voices
from allalike.methods.fit import CopyGroups
from allalike.panels.summary import CalibrationError
from allalike.panels.verdicts import MIN_GOLD, Codes, Marks, Statistics, sample_block
from allalike.result.summaries import find_truths

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BINS = 10  # confidence bins
_FOLDS = np.uint64(5)
_STEPS, _CONVERGED, _MAX_STEP = 50, 1e-10, 2.0  # of Newton's method
_OPEN_ANSWERS = 50_000  # sample size for open labels
_LEAST_RATE, _LEAST_ODDS = 0.01, 0.01  # an answer by the worst judge is better than none
_ROUNDS, _FIRST_WRONG_LABELS = 3, 10.0
_PRIOR_PAIRS = 2.0  # of wrong answers, one pair of them equal
_MAX_EXPONENT = 700.0
_SAME, _TIE, _CERTAIN = 1e-6, 1e-9, 1e-9  # log likelihoods, probabilities, distance from certainty
_TEMPERATURES = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, *np.arange(3, 11) / 10])


# Open answers. Tables have a row per task and a column per distinct label of the task; other columns are empty.


class OpenLabels(NamedTuple):
    """Model of open answers: the number of equally probable wrong labels, and the temperature."""

    n_wrong: float
    beta: float

    @classmethod
    def of(cls, block: Block, rate: Floats, groups: CopyGroups, n_labels: int) -> OpenLabels:
        """Estimate the model from a sample."""
        block, most = with_voices(block, groups=groups), max(n_labels - 1.0, 1.0)
        n_wrong = min(_FIRST_WRONG_LABELS, most)
        for _ in range(_ROUNDS):
            score, slot = _score_labels(block, rate, n_wrong)
            answers = np.zeros_like(score)
            np.add.at(answers, (block.task, slot), find_answer_weights(block).weight)
            answers[np.arange(len(score)), score.argmax(axis=1)] = 0.0  # of equal scores, one is right
            pairs, same = (
                float((each * np.maximum(each - 1, 0.0)).sum() / 2) for each in (answers.sum(axis=1), answers)
            )
            n_wrong = float(np.clip((pairs + _PRIOR_PAIRS) / (same + 1), 1.0, most))
        likelihood = _find_held_out_likelihood(block, rate, n_wrong)
        best = np.flatnonzero(likelihood >= likelihood.max() - _SAME)[-1]
        return cls(n_wrong, float(_TEMPERATURES[best]))

    def find_probabilities(self, block: Block, error_rate: Floats) -> tuple[Floats, Codes]:
        """Return the probability of each label per task, and the column of the label per answer.

        >>> OpenLabels(4.0, 1.0).find_probabilities(Block.of([[7], [7], [5]]), np.full(3, 0.2))[0].round(3)
        array([[0.058, 0.931]])
        """
        score, slot = _score_labels(block, error_rate, self.n_wrong)
        top, count = score.max(axis=1, keepdims=True), np.isfinite(score).sum(axis=1, keepdims=True)
        share = np.exp(self.beta * (score - top))
        not_given = np.maximum(self.n_wrong + 1 - count, 0.0) * np.exp(-self.beta * top)
        return np.asarray(share / (share.sum(axis=1, keepdims=True) + not_given)), slot


def _find_odds(block: Block, error_rate: Floats, n_wrong: float) -> Floats:
    odds = np.maximum(np.log((1 - error_rate) * n_wrong / error_rate), 0.0)
    return np.asarray(find_answer_weights(block).weight * odds.take(block.worker))


def _score_labels(block: Block, error_rate: Floats, n_wrong: float) -> tuple[Floats, Codes]:
    """Return the score of each label per task (-inf in empty columns), and the column of each answer's label."""
    slot, count = number_within_tasks(block)
    score = np.where(np.arange(int(count.max(initial=1))) < count[:, None], 0.0, -np.inf)
    np.add.at(score, (block.task, slot), _find_odds(block, error_rate, n_wrong))
    return score, slot


def _find_held_out_likelihood(block: Block, error_rate: Floats, n_wrong: float) -> Floats:
    """Return, per temperature, the log likelihood of the answers, each given the others of its task."""
    slot, count = number_within_tasks(block)
    odds, width = _find_odds(block, error_rate, n_wrong), int(count.max())
    rows = odds[:, None] * np.eye(width)[slot]
    others = subtract_own_group(block, block.per_task(rows), rows)
    own = others[np.arange(len(slot)), slot]
    ahead = np.where(np.arange(width) < block.to_answers(count)[:, None], others - own[:, None], -np.inf)
    not_given = np.maximum(n_wrong + 1 - block.to_answers(count), 0.0)
    rate, weight, sums = error_rate.take(block.worker), find_answer_weights(block).weight, []
    for beta in _TEMPERATURES:
        given = np.exp(np.minimum(beta * ahead, _MAX_EXPONENT)).sum(axis=1)
        q = 1 / (given + not_given * np.exp(np.minimum(-beta * own, _MAX_EXPONENT)))
        sums.append(float(weight @ np.log(q * (1 - rate) + (1 - q) * rate / n_wrong)))
    return np.array(sums)


@dataclass(eq=False)
class OpenDecision:
    """Decisions by ``own``, with the probability of the label as confidence.

    If other labels of the task are more probable, the confidence is the mean over these and the decided label.
    """

    own: Callable[..., dict[str, Array]]
    model: OpenLabels
    line: OddsLine
    correlation: float | None
    groups: CopyGroups

    def __call__(
        self, block: Block, weights: Floats, faults: Floats, error_rate: Floats, *more: Floats
    ) -> dict[str, Array]:
        """Decide the tasks of a block."""
        found, counted = self.own(block, weights, faults, *more), with_voices(block, groups=self.groups)
        rate = np.clip(error_rate, _LEAST_RATE, 1 - _LEAST_RATE)
        probability, slot = self.model.find_probabilities(counted, rate)
        chosen = block.label == block.to_answers(found["label"])
        decided = np.maximum.reduceat(np.where(chosen, probability[block.task, slot], 0.0), block.starts)
        leading = (probability > 0) & (probability >= decided[:, None] - _TIE)
        found["confidence"] = self.line.calibrate((leading * probability).sum(axis=1) / leading.sum(axis=1))
        if self.correlation is not None:
            found["voices"] = count_effective_voices(counted, self.correlation)
        return found


# Confidence of a panel: by the method for few classes, and by the model of open labels for many.


@dataclass(frozen=True)
class ConfidenceModel:
    """Error rates of the judges without gold labels, and a model of open labels for many classes."""

    run: Run
    rate: Floats
    groups: CopyGroups
    blind: Fit
    open_labels: OpenLabels | None

    @classmethod
    def of(cls, run: Run, weighing: Fit) -> ConfidenceModel:
        """Estimate the model without gold labels."""
        blind, errors = Auto().fit_without_gold(run) if run.n_gold else weighing, weighing.uncertainty
        assert errors is not None
        groups = weighing.copy_groups or CopyGroups.independent(len(run.workers))
        rate = errors.best(blind.fault) if blind.error_rate is None else blind.error_rate
        rate = np.clip(np.nan_to_num(rate, nan=0.5), _LEAST_RATE, 1 - _LEAST_RATE)
        if blind.probabilities is not None:
            return cls(run, rate, groups, blind, None)
        sample = sample_block(run, _OPEN_ANSWERS)
        return cls(run, rate, groups, blind, OpenLabels.of(sample, rate, groups, run.encoding.n_labels))

    @property
    def n_wrong(self) -> float:
        """The effective number of wrong labels of a task."""
        return max(self.run.encoding.n_labels - 1.0, 1.0) if self.open_labels is None else self.open_labels.n_wrong

    @property
    def log_odds(self) -> Floats:
        """The log odds of each judge."""
        return np.asarray(np.maximum(np.log((1 - self.rate) * self.n_wrong / self.rate), _LEAST_ODDS))

    def with_confidence(self, weighing: Fit, line: OddsLine | None = None) -> Fit:
        """Return a fit whose decisions have a probability, calibrated by a line."""
        if self.open_labels is None:
            return weighing
        calibrated = line is not None and line != NO_CHANGE
        correlation = find_error_correlation(self.run) if calibrated else None
        decide = OpenDecision(
            weighing.decide_on(self.run), self.open_labels, line or NO_CHANGE, correlation, self.groups
        )
        notes: dict[str, Any] = {
            "temperature": self.open_labels.beta,
            "estimated_from": "gold" if calibrated else "answers",
            "wrong_labels": self.open_labels.n_wrong,
        }
        notes |= {} if correlation is None else {"error_correlation": correlation}
        uncertainty = weighing.uncertainty and replace(weighing.uncertainty, confidence=notes)
        parameters = (self.rate, *weighing.parameters)
        return replace(weighing, decide=decide, parameters=parameters, uncertainty=uncertainty)

    def decide_tasks(self, n_answers: int) -> tuple[TaskTable, pd.DataFrame]:
        """Decide all tasks without gold labels; list confidences, cross-validated if there is enough gold."""
        unaware = find_truths(self.run, self.with_confidence(self.blind), unweighted=True)
        tasks = list_confidences(unaware)
        if self.run.n_gold >= MIN_GOLD:
            held_out = decide_held_out(self.run, n_answers, lambda run: self.with_confidence(Auto().fit(run)))
            tasks.loc[held_out.index] = held_out
        return unaware, tasks

    def find_probability(self, block: Block) -> Floats:
        """Return, per answer, the probability that its label is right."""
        if self.open_labels is not None:
            probability, slot = self.open_labels.find_probabilities(with_voices(block, groups=self.groups), self.rate)
            return np.asarray(probability[block.task, slot])
        assert self.blind.probabilities is not None
        found = self.blind.probabilities(block, *self.blind.arguments)
        return np.asarray(block.to_answers(found["probability"])[np.arange(len(block.label)), block.label])


def list_confidences(found: TaskTable) -> pd.DataFrame:
    """Return label, confidence and error (1, 0, or NaN without gold) of each task, indexed by the hash of its id."""
    piece = found.joined()
    wrong = piece.found.get("gold", np.full(len(piece.answers), np.nan))
    columns = {"label": piece.found["label"], "confidence": piece.found["confidence"], "wrong": wrong}
    return pd.DataFrame(columns, index=piece.tasks.hashes())


def decide_held_out(run: Run, n_answers: int, fit: Callable[[Run], Fit]) -> pd.DataFrame:
    """Decide tasks with gold labels, each by a panel that did not use its gold label."""
    sample, parts = sample_tasks(run, n_answers), []
    blocks = [run.encoding.prepare(block) for block in sample.blocks]
    for number in range(int(_FOLDS)):
        held_out = [block.task_hash[block.gold_task] % _FOLDS == number for block in blocks]
        others = [
            replace(block, gold_task=block.gold_task[~inside], gold_label=block.gold_label[~inside])
            for block, inside in zip(blocks, held_out, strict=True)
        ]
        n_gold = sum(len(block.gold_task) for block in others)
        weighing = fit(replace(sample, shards=[replace(sample.shards[0], blocks=others)], n_gold=n_gold))
        decide = weighing.decide_on(sample)
        for block, other, inside in zip(blocks, others, held_out, strict=True):
            found, task = decide(other, *weighing.arguments), block.gold_task[inside]
            table = {name: found[name][task] for name in ("label", "confidence")}
            wrong = (table["label"] != block.gold_label[inside]).astype(np.float64)
            parts.append(pd.DataFrame({**table, "wrong": wrong}, index=block.task_hash[task]))
    return pd.concat(parts)


# Calibration.


class OddsLine(NamedTuple):
    """Linear calibration of log odds."""

    shift: float = 0.0
    slope: float = 1.0

    def calibrate(self, confidence: Floats) -> Floats:
        """Return calibrated probabilities."""
        if self == NO_CHANGE:
            return confidence
        return np.asarray(1 / (1 + np.exp(-(self.shift + self.slope * _logit(confidence)))))


NO_CHANGE = OddsLine()


def _logit(confidence: Floats) -> Floats:
    inside = np.clip(confidence, _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def fit_line(confidence: Floats, hit: Marks) -> OddsLine:
    """Fit the line that maximises the likelihood of right and wrong labels.

    >>> fit_line(np.full(1000, 0.9), np.arange(1000) < 750).calibrate(np.array([0.9])).round(3)
    array([0.75])
    """
    prior = line = np.array(NO_CHANGE)
    design = np.column_stack([np.ones(len(confidence)), _logit(confidence)])
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
    """Fit the line to all gold labels; return `NO_CHANGE` if there are fewer than 50."""
    known = tasks[tasks["wrong"].notna()]
    few = len(known) < MIN_GOLD
    return NO_CHANGE if few else fit_line(known["confidence"].to_numpy(), known["wrong"].to_numpy() == 0)


def calibrate(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return tasks with gold labels, each fold calibrated by the others; all tasks unchanged below 50 gold labels."""
    known = tasks[tasks["wrong"].notna()]
    if len(known) < MIN_GOLD:
        return tasks
    own, hit = known["confidence"].to_numpy(), known["wrong"].to_numpy() == 0
    fold, calibrated = known.index.to_numpy() % _FOLDS, own.copy()
    for number in range(int(_FOLDS)):
        inside = fold == number
        calibrated[inside] = fit_line(own[~inside], hit[~inside]).calibrate(own[inside])
    return known.assign(confidence=calibrated)


def find_calibration_error(confidence: Floats, hit: Floats) -> float:
    """Return the expected calibration error, the mean difference between confidence and accuracy in ten bins.

    >>> round(find_calibration_error(np.repeat([0.4, 0.9], [10, 30]), np.repeat([1, 0, 1], [6, 10, 24])), 3)
    0.125
    """
    place = np.clip((confidence * BINS).astype(np.intp), 0, BINS - 1)
    return float(np.abs(np.bincount(place, confidence - hit)).sum() / len(place)) if len(place) else float("nan")


def describe_confidence(tasks: pd.DataFrame, accuracy: Floats) -> Statistics:
    """Return calibration errors, and coverage and accuracy per confidence level."""
    calibrated, rows = calibrate(tasks), []
    for level in LEVELS:
        kept = calibrated[calibrated["confidence"] >= level]
        rows.append((level, len(kept) / len(calibrated), kept["confidence"].mean(), 1 - kept["wrong"].mean()))
    coverage = pd.DataFrame(rows, columns=["level", "share", "expected", "accuracy"])
    known = (each[each["wrong"].notna()] for each in (tasks, calibrated))
    own, after = (find_calibration_error(each["confidence"].to_numpy(), 1 - each["wrong"].to_numpy()) for each in known)
    facts = {"calibration_error": CalibrationError(own=own, calibrated=after), "coverage": coverage.to_dict("records")}
    return Statistics(facts, {"coverage": coverage}, {"accuracy": accuracy})
