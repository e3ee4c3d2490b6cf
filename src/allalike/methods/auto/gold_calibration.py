"""Gold calibration: how much the crowd's probabilities, each class and each worker count, learned from gold labels.

Agreement cannot show errors that most workers share, and gold labels can. With p the probabilities of the classes of a
task that the crowd alone gives,

    P[c] ~ exp(a log p_c + b_c + sum of w_j over the workers j who say c).

a, b and w maximise the likelihood of the gold labels (a conditional logit; McFadden: Conditional logit analysis of
qualitative choice behavior. 1973), with a >= 0, w >= 0, and a normal prior around a = 1, b = 0 and w = 0, which is the
crowd as it is. Its standard deviation is 1/2 for a and 1/4 for b. For w it is the smallest of 1/8, 1/4, 1/2 and 1 with
which each fifth of the gold labels is predicted by the others nearly as well as with the best of these, by half a
standard error: two hundred workers fit fifty gold labels by chance, and must not. If the crowd as it is does as well,
it stays so. A few gold labels hardly change anything, and hundreds make the crowd follow the accurate workers, be it a
single one.

From fifty gold labels on they calibrate the probabilities, too: P is taken to the power with which as many of the gold
labels that others predict are expected to be right as are (temperature scaling; Guo and others: On calibration of
modern neural networks. 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.engines.sample import pick_known
from allalike.engines.sums import select_workers
from allalike.methods.steps.ballots import count_votes, row_peaks, softmax
from allalike.methods.steps.odds import descend

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

MANY = 50  # gold labels, from which on probabilities are calibrated
_CROWD_SPREAD, _CLASS_SPREAD = 0.5, 0.25  # standard deviations of the prior
_WORKER_SPREADS = (0.0, 0.125, 0.25, 0.5, 1.0)  # that of w; with 0 the crowd stays as it is
_NEARLY = 0.5  # standard errors
_MOST, _MOST_HELD_OUT = 5000, 1000  # gold labels that are learned from, and that are used in cross-validation
_FOLDS, _FEW = 5, 10  # gold labels, of which fewer are not cross-validated
_LEAST = 1e-4  # no class is less probable
_POWERS, _HALVINGS = (0.1, 10.0), 50


@dataclass(frozen=True)
class Learned:
    """The coefficients a, b and w, the number of gold labels, and the power that calibrates."""

    crowd: float
    classes: Floats
    workers: Floats
    number: int
    power: float | None = None

    def apply(self, block: Block, table: Floats) -> Floats:
        """Return the probabilities of classes, given those of the crowd."""
        votes = count_votes(block, *select_workers(block, [self.workers]), k=table.shape[1])
        score = self.crowd * _logarithm(table) + self.classes + votes
        return softmax(score if self.power is None else self.power * score)[0]


def learn(run: Run, believe: Callable[[Block], Floats]) -> Learned:
    """Learn from the gold labels of a run, given the probabilities that the crowd gives the classes of a block."""
    block = pick_known(run, _MOST)
    truth = np.full(block.n_tasks, run.encoding.n_labels)
    truth[block.gold_task] = block.gold_label
    facts = _Facts(_logarithm(believe(block)), truth, block.task, block.worker, block.label, block.n_workers)
    facts = facts.only(truth < run.encoding.n_labels)  # a label that no worker gave is of no use
    if len(facts.truth) < _FEW:
        return facts.fit(_WORKER_SPREADS[1])
    some = facts.only(np.arange(len(facts.truth)) < _MOST_HELD_OUT)
    predicted = {spread: some.cross_validate(spread) for spread in _WORKER_SPREADS}
    spread = _choose({spread: some.likelihoods(score) for spread, score in predicted.items()})
    learned = facts.fit(spread)
    return learned if learned.number < MANY else replace(learned, power=some.find_power(predicted[spread]))


def _choose(likelihoods: dict[float, Floats]) -> float:
    """Return the first spread that predicts gold labels nearly as well as the best.

    >>> _choose({0.25: np.array([-1.0, -1.1]), 0.5: np.array([-1.1, -1.0]), 1.0: np.array([-9.0, -9.0])})
    0.25
    """
    best = max(likelihoods.values(), key=np.sum)
    behind = {spread: best - each for spread, each in likelihoods.items()}
    error = np.sqrt(len(best))
    return next(spread for spread, lost in behind.items() if lost.sum() <= _NEARLY * error * lost.std() + _LEAST)


def pin(block: Block, table: Floats) -> Floats:
    """Set the probability of gold labels to 1.

    >>> from dataclasses import replace
    >>> from allalike._core.blocks.block import Block
    >>> block = replace(Block.of([[0, 1]]), gold_task=np.array([1]), gold_label=np.array([0]))
    >>> pin(block, np.array([[0.6, 0.4], [0.1, 0.9]]))
    array([[0.6, 0.4],
           [1. , 0. ]])
    """
    possible = block.gold_label < table.shape[1]
    pinned = table.copy()
    pinned[block.gold_task[possible]] = np.eye(table.shape[1])[block.gold_label[possible]]
    return pinned


@dataclass(frozen=True)
class _Facts:
    """Tasks with gold: logarithms of probabilities, gold labels, and the answers, each with its task."""

    belief: Floats
    truth: Array
    task: Array
    worker: Array
    label: Array
    n_workers: int

    def only(self, kept: Array) -> _Facts:
        """Return those of some tasks."""
        rows = kept[self.task]
        task = (np.cumsum(kept) - 1)[self.task][rows]
        return _Facts(self.belief[kept], self.truth[kept], task, self.worker[rows], self.label[rows], self.n_workers)

    def score(self, learned: Learned) -> Floats:
        """Return log probabilities of the classes, up to a constant per task."""
        k = self.belief.shape[1]
        votes = sum_by(self.task * k + self.label, learned.workers[self.worker], self.belief.size)
        return learned.crowd * self.belief + learned.classes + votes.reshape(-1, k)

    def likelihoods(self, score: Floats) -> Floats:
        """Return the log likelihood of each gold label."""
        likelihoods: Floats = score[np.arange(len(score)), self.truth] - softmax(score)[1]
        return likelihoods

    def fit(self, worker_spread: float) -> Learned:
        """Maximise the likelihood of the gold labels, with such a standard deviation of w."""
        n, k = len(self.truth), self.belief.shape[1]
        if not worker_spread:
            return Learned(1.0, np.zeros(k), np.zeros(self.n_workers), n)
        answered = np.unique(self.worker)
        usual = np.concatenate([[1.0], np.zeros(k + len(answered))])
        spread = np.concatenate([[_CROWD_SPREAD], np.full(k, _CLASS_SPREAD), np.full(len(answered), worker_spread)])

        def read(numbers: Floats) -> Learned:
            workers = np.zeros(self.n_workers)
            workers[answered] = numbers[1 + k :]
            return Learned(float(numbers[0]), numbers[1 : 1 + k], workers, n)

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
        """Return the scores of each fifth of the tasks by what is learned from the others."""
        fold, score = np.arange(len(self.truth)) % _FOLDS, np.empty_like(self.belief)
        for number in range(_FOLDS):
            score[fold == number] = self.only(fold == number).score(self.only(fold != number).fit(worker_spread))
        return score

    def find_power(self, score: Floats) -> float:
        """Find the power with which as many of the predicted labels are expected to be right as are."""
        hits = float((score.argmax(axis=1) == self.truth).mean())

        def overconfidence(power: float) -> float:
            return float(row_peaks(softmax(power * score)[0]).mean()) - hits

        least, most = _POWERS
        for _ in range(_HALVINGS):
            power = (least + most) / 2
            least, most = (least, power) if overconfidence(power) >= 0 else (power, most)
        return (least + most) / 2


def _logarithm(table: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(table, _LEAST)))
