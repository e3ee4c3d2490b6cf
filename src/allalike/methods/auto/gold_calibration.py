"""Gold calibration: weights of the crowd's probabilities, of classes and of workers, fitted to gold labels.

Gold labels reveal errors that most workers share, whereas agreement does not. Let p be the class probabilities of a
task without gold:

    P[c] ~ exp(a log p_c + b_c + sum of w_j over the workers j who answer c).

a, b and w maximise the likelihood of the gold labels (a conditional logit; McFadden: Conditional logit analysis of
qualitative choice behavior. 1973), with a >= 0, w >= 0, and a normal prior. Its mean is a = 1, b = 0 and w = 0, which
leaves p unchanged. Its standard deviation is 1/2 for a and 1/4 for b. For w it is chosen by five-fold cross-validation:
the smallest of 1/8, 1/4, 1/2 and 1 whose score is within half a standard error of the best. This prevents overfitting,
because two hundred weights can fit fifty gold labels by chance. If the score of the unchanged p is within that range, p
is kept. A few gold labels change little. With hundreds, labels follow the accurate workers, even if there is only one.

With at least twenty gold labels, confidences are calibrated as well. With z the logit of a confidence, and m its mean
over tasks with gold, the map

    logit of the calibrated confidence = z + shift + slope (z - m)

maximises the likelihood of right and wrong held-out labels, with a normal prior of mean 0 and standard deviation 1 for
the shift and 0.4 for the slope (Platt: Probabilistic outputs for support vector machines. 1999). Without gold labels,
the logit of the share of right labels is estimated as that of the mean confidence minus 0.16; the standard deviation of
this difference was 0.87 in past crowds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.columns.hashes import mix
from allalike.engines import Run
from allalike.engines.sample import pick_known
from allalike.engines.sums import select_workers
from allalike.methods.auto.uncertainty import MIN_GOLD, NORMAL_QUANTILE
from allalike.methods.steps.odds import descend
from allalike.methods.steps.vote_matrix import count_votes, row_peaks, row_sums, softmax

_CROWD_SPREAD, _CLASS_SPREAD = 0.5, 0.25  # standard deviations of the prior
_WORKER_SPREADS = (0.0, 0.125, 0.25, 0.5, 1.0)  # of w; with 0, p is unchanged
_NEARLY = 0.5  # standard errors
_MOST, _MOST_HELD_OUT = 5000, 1000  # gold labels for the fit, and for cross-validation
_FOLDS, _FEW = 5, 10  # folds, and minimum number of gold labels for cross-validation
_LEAST = 1e-4  # minimum probability of a class
_SHIFT_SD, _SLOPE_SD = 1.0, 0.4  # priors of the calibration of confidences
_LEAST_LOGIT = 0.02  # minimum distance of a confidence from 0 and 1 in calibration
_PAST_SHIFT, _PAST_SD = -0.16, 0.87  # of logit(share right) minus logit(mean confidence), in past crowds
_NEWTON_STEPS = 30
_HIGH, _LEAD = 0.01, 1e-6  # minimum distance of a confidence without gold from 1, and between the two largest
_LOWER = 0.2  # logits subtracted from a confidence without gold


@dataclass(frozen=True)
class GoldFit:
    """The coefficients a, b and w, the number of gold labels, and the calibration of confidences."""

    crowd: float
    classes: Floats
    workers: Floats
    number: int
    confidence: ConfidenceMap | None = None

    def apply(self, block: Block, table: Floats) -> Floats:
        """Return class probabilities, given those without gold."""
        votes = count_votes(block, *select_workers(block, [self.workers]), k=table.shape[1])
        belief = softmax(self.crowd * _logarithm(table) + self.classes + votes)[0]
        if self.confidence is None:
            return belief
        return set_confidence(belief, belief.argmax(axis=1), self.confidence.apply(row_peaks(belief)))


def learn(run: Run, believe: Callable[[Block], Floats]) -> GoldFit:
    """Fit the coefficients to the gold labels of a run; ``believe`` returns class probabilities without gold."""
    block = pick_known(run, _MOST)
    truth = np.full(block.n_tasks, run.encoding.n_labels)
    truth[block.gold_task] = block.gold_label
    answers = mix(run.workers.hashes()[block.worker] ^ mix(block.label.astype(np.uint64)))
    content: npt.NDArray[np.uint64] = np.add.reduceat(answers, block.starts) + truth.astype(np.uint64)
    order = np.argsort(mix(content), kind="stable")
    place = np.argsort(order)  # folds depend on the answers, not on task ids
    belief = _logarithm(believe(block))[order]
    facts = _Facts(belief, truth[order], place[block.task], block.worker, block.label, block.n_workers)
    facts = facts.only(facts.truth < run.encoding.n_labels)  # gold labels that no worker gave cannot be used
    if len(facts.truth) < _FEW:
        return facts.fit(_WORKER_SPREADS[1])
    some = facts.only(np.arange(len(facts.truth)) < _MOST_HELD_OUT)
    predicted = {spread: some.cross_validate(spread) for spread in _WORKER_SPREADS}
    spread = _choose({spread: some.likelihoods(score) for spread, score in predicted.items()})
    learned = facts.fit(spread)
    if learned.number < MIN_GOLD:
        return learned
    belief = softmax(predicted[spread])[0]
    right = belief.argmax(axis=1) == some.truth
    return replace(learned, confidence=ConfidenceMap.fit(row_peaks(belief), right))


def _choose(likelihoods: dict[float, Floats]) -> float:
    """Return the smallest spread that predicts gold labels nearly as well as the best one."""
    best = max(likelihoods.values(), key=np.sum)
    behind = {spread: best - each for spread, each in likelihoods.items()}
    error = np.sqrt(len(best))
    return next(spread for spread, lost in behind.items() if lost.sum() <= _NEARLY * error * lost.std() + _LEAST)


@dataclass(frozen=True)
class _Facts:
    """Tasks with gold: log probabilities, gold labels, and answers with their task."""

    belief: Floats
    truth: Array
    task: Array
    worker: Array
    label: Array
    n_workers: int

    def only(self, kept: Array) -> _Facts:
        """Return the selected tasks."""
        rows = kept[self.task]
        task = (np.cumsum(kept) - 1)[self.task][rows]
        return _Facts(self.belief[kept], self.truth[kept], task, self.worker[rows], self.label[rows], self.n_workers)

    def score(self, learned: GoldFit) -> Floats:
        """Return log probabilities of the classes, up to a constant per task."""
        k = self.belief.shape[1]
        votes = sum_by(self.task * k + self.label, learned.workers[self.worker], self.belief.size)
        return learned.crowd * self.belief + learned.classes + votes.reshape(-1, k)

    def likelihoods(self, score: Floats) -> Floats:
        """Return the log likelihood of each gold label."""
        likelihoods: Floats = score[np.arange(len(score)), self.truth] - softmax(score)[1]
        return likelihoods

    def fit(self, worker_spread: float) -> GoldFit:
        """Maximise the likelihood of the gold labels, given the prior standard deviation of w."""
        n, k = len(self.truth), self.belief.shape[1]
        if not worker_spread:
            return GoldFit(1.0, np.zeros(k), np.zeros(self.n_workers), n)
        answered = np.unique(self.worker)
        usual = np.concatenate([[1.0], np.zeros(k + len(answered))])
        spread = np.concatenate([[_CROWD_SPREAD], np.full(k, _CLASS_SPREAD), np.full(len(answered), worker_spread)])

        def read(numbers: Floats) -> GoldFit:
            workers = np.zeros(self.n_workers)
            workers[answered] = numbers[1 + k :]
            return GoldFit(float(numbers[0]), numbers[1 : 1 + k], workers, n)

        def lose(numbers: Floats) -> tuple[float, Floats]:
            score = self.score(read(numbers))
            share, _ = softmax(score)
            missing = np.eye(k)[self.truth] - share
            by_worker = sum_by(self.worker, missing[self.task, self.label], self.n_workers)
            slope = np.concatenate([[(missing * self.belief).sum()], missing.sum(axis=0), by_worker[answered]])
            away = (numbers - usual) / spread**2
            return float(away @ (numbers - usual)) / 2 - float(self.likelihoods(score).sum()), away - slope

        least = np.concatenate([[0.0], np.full(k, -np.inf), np.zeros(len(answered))])
        return read(descend(lose, usual, least))

    def cross_validate(self, worker_spread: float) -> Floats:
        """Return the scores of each fold by a fit to the other folds."""
        fold, score = np.arange(len(self.truth)) % _FOLDS, np.empty_like(self.belief)
        for number in range(_FOLDS):
            score[fold == number] = self.only(fold == number).score(self.only(fold != number).fit(worker_spread))
        return score


def _logarithm(table: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(table, _LEAST)))


# Confidence of labels.


class ConfidenceMap(NamedTuple):
    """Shift and slope of the logits of confidences around a centre, and their covariance."""

    shift: float
    slope: float
    centre: float
    covariance: Floats

    @classmethod
    def fit(cls, confidence: Floats, right: Array) -> ConfidenceMap:
        """Fit the map to confidences of tasks with gold and whether their labels are right, by Newton's method."""
        logit = _logit(confidence, _LEAST_LOGIT)
        centre = float(logit.mean())
        columns = np.stack([np.ones(len(logit)), logit - centre], axis=1)
        estimate, prior = np.zeros(2), 1 / np.square([_SHIFT_SD, _SLOPE_SD])
        for _ in range(_NEWTON_STEPS):
            chance = _expit(logit + columns @ estimate)
            hessian = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(prior)
            step = np.linalg.solve(hessian, columns.T @ (chance - right) + prior * estimate)
            estimate = estimate - np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-6:
                break
        return cls(float(estimate[0]), float(estimate[1]), centre, np.asarray(np.linalg.inv(hessian), np.float64))

    def apply(self, confidence: Floats) -> Floats:
        """Return calibrated confidences."""
        logit = _logit(confidence, _LEAST_LOGIT)
        return _expit(logit + self.shift + self.slope * (logit - self.centre))

    def share_error(self, calibrated: Floats) -> float:
        """Return the standard error of the logit of the mean of calibrated confidences."""
        logit = _logit(calibrated, 1e-9)
        before = (logit - self.shift + self.slope * self.centre) / max(1 + self.slope, 0.05)
        spread, mean = calibrated * (1 - calibrated), float(calibrated.mean())
        gradient = np.array([spread.mean(), (spread * (before - self.centre)).mean()])
        return float(np.sqrt(gradient @ self.covariance @ gradient)) / max(mean * (1 - mean), 1e-3)


def estimate_share_right(confidence: float, error: float | None = None) -> dict[str, float]:
    """Estimate the share of right labels and its 95 % interval from the mean confidence.

    ``error`` is the standard error of its logit, if gold labels calibrate confidences.

    >>> {name: round(share, 2) for name, share in estimate_share_right(0.8).items()}
    {'share_right': 0.77, 'share_right_low': 0.38, 'share_right_high': 0.95}
    """
    mean = np.array(confidence)
    middle = _logit(mean, 0.005) + _PAST_SHIFT if error is None else _logit(mean, 1e-3)
    half = NORMAL_QUANTILE * (_PAST_SD if error is None else error)
    parts = {"share_right": middle, "share_right_low": middle - half, "share_right_high": middle + half}
    return {name: float(_expit(part)) for name, part in parts.items()}


def lower_confidence(probability: Floats, share: Floats) -> Floats:
    """Return confidences without gold, from the probabilities and vote shares of labels.

    >>> lower_confidence(np.array([1.0, 0.8]), np.array([1.0, 0.6])).round(3)
    array([0.988, 0.656])
    """
    return _expit(_logit((probability + share) / 2, _HIGH) - _LOWER)


def set_confidence(table: Floats, label: Array, confidence: Floats) -> Floats:
    """Set the probabilities of labels and rescale the others; the largest in each row remains the largest."""
    rows = np.arange(len(table))
    rest = table.copy()
    rest[rows, label] = 0.0
    leads = table[rows, label] >= row_peaks(rest)
    rest[row_sums(rest) <= 0] = 1.0
    rest[rows, label] = 0.0
    rest /= row_sums(rest)[:, None]
    second = row_peaks(rest)
    confidence = np.where(leads, np.maximum(confidence, second / (1 + second) * (1 + _LEAD)), confidence)
    rest *= (1 - confidence)[:, None]
    rest[rows, label] = confidence
    return rest


def _logit(share: Floats, least: float) -> Floats:
    share = np.clip(share, least, 1 - least)
    return np.asarray(np.log(share / (1 - share)))


def _expit(logit: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logit)))
