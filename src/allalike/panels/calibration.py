"""Confidence of verdicts on classes: open answers, calibration by gold labels, cross-validation.

**Open answers** are labels such as numbers or names. If two wrong answers are equal with probability 1/m, a judge
with error rate f answers as if there were m equally probable wrong labels. Its label then gains the log odds
w = log((1 - f) m / f), and

    P[c] ~ exp(beta score_c),    0 < beta <= 1,

for m + 1 labels: those given to the task, and others that no judge gave. m is estimated in three rounds from pairs of
answers that do not have the largest score. beta is fitted to held-out answers. The model fails if most judges give the
same wrong answer.

**Calibration** (Platt 1999) replaces a confidence p by p' with logit(p') = shift + slope logit(p). The line is fitted
by maximum likelihood to at least 50 gold labels, with a normal prior of variance 1 around shift 0 and slope 1. The
method calibrates the confidences of few classes itself (`allalike.methods.auto.gold_calibration`).

**Cross-validation** assigns gold labels to five folds by the hashes of their tasks. The panel learns from four folds,
and decides the tasks of the fifth without their gold labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import (
    Array,
    Block,
    Floats,
    find_answer_weights,
    number_within_tasks,
    subtract_own_group,
)
from allalike._core.lazy_imports import pd, special
from allalike.engines import Run, TaskTable
from allalike.engines.sample import join_blocks, sample_tasks
from allalike.methods import Auto, Fit
from allalike.methods.auto.copy_groups import with_voices
from allalike.methods.fit import CopyGroups, Decide
from allalike.methods.steps.odds import descend
from allalike.panels.summary import CalibrationError
from allalike.panels.verdicts import MIN_GOLD, Codes, Marks, Statistics, sample_block
from allalike.result.summaries import find_truths

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BINS = 10  # confidence bins
Line = tuple[float, float]  # shift and slope of log odds
_FOLDS = np.uint64(5)
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


def _decide_open(
    block: Block,
    weights: Floats,
    faults: Floats,
    error_rate: Floats,
    *more: Floats,
    own: Decide,
    model: OpenLabels,
    line: Line | None,
    groups: CopyGroups,
) -> dict[str, Array]:
    """Decide the tasks of a block by ``own``, with the probability of the label as confidence.

    If other labels of the task are more probable, the confidence is the mean over these and the decided label.
    """
    found, rate = own(block, weights, faults, *more), np.clip(error_rate, _LEAST_RATE, 1 - _LEAST_RATE)
    probability, slot = model.find_probabilities(with_voices(block, groups=groups), rate)
    chosen = block.label == block.to_answers(found["label"])
    decided = np.maximum.reduceat(np.where(chosen, probability[block.task, slot], 0.0), block.starts)
    leading = (probability > 0) & (probability >= decided[:, None] - _TIE)
    confidence = (leading * probability).sum(axis=1) / leading.sum(axis=1)
    found["confidence"] = confidence if line is None else apply_line(confidence, line)
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
        open_labels = None
        if blind.probabilities is None:
            open_labels = OpenLabels.of(sample_block(run, _OPEN_ANSWERS), rate, groups, run.encoding.n_labels)
        return cls(run, rate, groups, blind, open_labels)

    @property
    def n_wrong(self) -> float:
        """The effective number of wrong labels of a task."""
        return max(self.run.encoding.n_labels - 1.0, 1.0) if self.open_labels is None else self.open_labels.n_wrong

    @property
    def log_odds(self) -> Floats:
        """The log odds of each judge."""
        return np.asarray(np.maximum(np.log((1 - self.rate) * self.n_wrong / self.rate), _LEAST_ODDS))

    def with_confidence(self, weighing: Fit, line: Line | None = None) -> Fit:
        """Return a fit whose decisions have a probability; that of open labels is calibrated by a line."""
        if self.open_labels is None:
            return weighing
        own, model, source = weighing.decide_on(self.run), self.open_labels, "answers" if line is None else "gold"
        notes = {"temperature": model.beta, "estimated_from": source, "wrong_labels": model.n_wrong}
        decide = partial(_decide_open, own=own, model=model, line=line, groups=self.groups)
        uncertainty = weighing.uncertainty and replace(weighing.uncertainty, confidence=notes)
        parameters = (self.rate, *weighing.parameters)
        return replace(weighing, decide=decide, parameters=parameters, uncertainty=uncertainty)

    def decide_tasks(self, n_answers: int) -> tuple[TaskTable, pd.DataFrame, Line | None]:
        """Decide all tasks without gold labels; list confidences, cross-validated if there is enough gold.

        Return also the line that calibrates open labels by all gold labels.

        The table has a row per task, indexed by the hash of its id: label, ``confidence``, and whether the label is
        ``wrong`` (1, 0, or NaN without gold); also ``own`` and ``own_wrong``, before calibration by gold labels.
        """
        unaware = find_truths(self.run, self.with_confidence(self.blind), unweighted=True)
        piece = unaware.joined()
        wrong = piece.found.get("gold", np.full(len(piece.answers), np.nan))
        columns = {"label": piece.found["label"], "confidence": piece.found["confidence"], "wrong": wrong}
        own = {"own": columns["confidence"], "own_wrong": wrong}
        tasks = pd.DataFrame({**columns, **own}, index=piece.tasks.hashes())
        if self.run.n_gold < MIN_GOLD:
            return unaware, tasks, None
        held_out = decide_held_out(self.run, n_answers, lambda run: self.with_confidence(Auto().fit(run)))
        tasks.loc[held_out.index, list(held_out)] = held_out
        if self.open_labels is None:
            return unaware, tasks, None
        return unaware, *calibrate(tasks.assign(own=tasks["confidence"], own_wrong=tasks["wrong"]))

    def find_probability(self, block: Block) -> Floats:
        """Return, per answer, the probability that its label is right."""
        if self.open_labels is not None:
            probability, slot = self.open_labels.find_probabilities(with_voices(block, groups=self.groups), self.rate)
            return np.asarray(probability[block.task, slot])
        assert self.blind.probabilities is not None
        found = self.blind.probabilities(block, *self.blind.arguments)
        return np.asarray(block.to_answers(found["probability"])[np.arange(len(block.label)), block.label])


def decide_held_out(run: Run, n_answers: int, fit: Callable[[Run], Fit]) -> pd.DataFrame:
    """Decide tasks with gold labels, each by a panel that did not use its gold label."""
    sample, parts = sample_tasks(run, n_answers), []
    block = run.encoding.prepare(join_blocks(list(sample.blocks), len(run.workers)))
    fold = block.task_hash[block.gold_task] % _FOLDS
    for number in range(int(_FOLDS)):
        inside = fold == number
        others = replace(block, gold_task=block.gold_task[~inside], gold_label=block.gold_label[~inside])
        shards = [replace(sample.shards[0], blocks=[others])]
        weighing = fit(replace(sample, shards=shards, n_gold=len(others.gold_task)))
        found, task = weighing.decide_on(sample)(others, *weighing.arguments), block.gold_task[inside]
        table = {name: found[name][task] for name in ("label", "confidence")}
        wrong = (table["label"] != block.gold_label[inside]).astype(np.float64)
        parts.append(pd.DataFrame({**table, "wrong": wrong}, index=block.task_hash[task]))
    return pd.concat(parts)


# Calibration.


def apply_line(confidence: Floats, line: Line) -> Floats:
    """Return calibrated probabilities."""
    shift, slope = line
    return np.asarray(special.expit(shift + slope * special.logit(np.clip(confidence, _CERTAIN, 1 - _CERTAIN))))


def fit_line(confidence: Floats, hit: Marks) -> Line:
    """Fit the line that maximises the likelihood of right and wrong labels.

    >>> apply_line(np.array([0.9]), fit_line(np.full(1000, 0.9), np.arange(1000) < 750)).round(3)
    array([0.75])
    """
    design = np.column_stack([np.ones(len(confidence)), special.logit(np.clip(confidence, _CERTAIN, 1 - _CERTAIN))])
    prior = np.array([0.0, 1.0])

    def lose(line: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the posterior, and its gradient."""
        odds = design @ line
        loss = (np.logaddexp(0.0, odds) - hit * odds).sum() + np.square(line - prior).sum() / 2
        return float(loss), design.T @ (special.expit(odds) - hit) + line - prior

    shift, slope = descend(lose, prior, np.array([-np.inf, 0.0])).tolist()
    return shift, slope


def calibrate(tasks: pd.DataFrame) -> tuple[pd.DataFrame, Line]:
    """Return tasks whose confidences are calibrated by gold labels in the other folds, and the line of all folds."""
    known = tasks[tasks["wrong"].notna()]
    own, hit = known["own"].to_numpy(), known["wrong"].to_numpy() == 0
    fold, calibrated = known.index.to_numpy() % _FOLDS, own.copy()
    for number in range(int(_FOLDS)):
        inside = fold == number
        calibrated[inside] = apply_line(own[inside], fit_line(own[~inside], hit[~inside]))
    confidence = tasks["confidence"].where(tasks["wrong"].isna(), pd.Series(calibrated, known.index))
    return tasks.assign(confidence=confidence), fit_line(own, hit)


def find_calibration_error(confidence: Floats, hit: Floats) -> float:
    """Return the expected calibration error, the mean difference between confidence and accuracy in ten bins.

    >>> round(find_calibration_error(np.repeat([0.4, 0.9], [10, 30]), np.repeat([1, 0, 1], [6, 10, 24])), 3)
    0.125
    """
    place = np.clip((confidence * BINS).astype(np.intp), 0, BINS - 1)
    return float(np.abs(np.bincount(place, confidence - hit)).sum() / len(place)) if len(place) else float("nan")


def describe_confidence(tasks: pd.DataFrame) -> Statistics:
    """Return calibration errors, and coverage and accuracy per confidence level, with 50 gold labels on their tasks."""
    known, rows = tasks[tasks["wrong"].notna()], []
    measured = tasks if len(known) < MIN_GOLD else known
    for level in LEVELS:
        kept = measured[measured["confidence"] >= level]
        rows.append((level, len(kept) / len(measured), kept["confidence"].mean(), 1 - kept["wrong"].mean()))
    coverage = pd.DataFrame(rows, columns=["level", "share", "expected", "accuracy"])
    own, calibrated = (
        find_calibration_error(known[name].to_numpy(), 1 - known[wrong].to_numpy())
        for name, wrong in (("own", "own_wrong"), ("confidence", "wrong"))
    )
    error = CalibrationError(own=own, calibrated=calibrated)
    facts = {"calibration_error": error, "coverage": coverage.to_dict("records")}
    return Statistics(facts, {"coverage": coverage})
