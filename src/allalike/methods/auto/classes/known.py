"""Known truths: how much the crowd's own beliefs, each class and each worker count, where some truths are known.

Agreement cannot see errors that most workers share, and truths can. So where some are known, what the crowd believes
without them is one voice among others. With p the probabilities of the classes of a task that the crowd alone gives,
and v the voice of each worker j on it,

    P[c] ~ exp(a log p_c + b_c + sum of w_j v_j over those who say c).

a, b and w are those under which the known truths are most likely (a conditional logit; McFadden: Conditional logit
analysis of qualitative choice behavior. 1973), with a >= 0, w >= 0, and a normal prior around a = 1, b = 0 and w = 0,
which is the crowd as it is. Its standard deviation is 1/2 for a and 1/4 for b. For w it is the smallest of 1/8, 1/4,
1/2 and 1 with which each fifth of the truths is foreseen by the others nearly as well as with the best of these, by
half a standard error: two hundred workers fit fifty truths by chance, and must not. If the crowd as it is does as well,
it stays so. A few truths hardly change anything, hundreds make the crowd follow those who are right, be it a single
one, and copies share a voice as before. One number a worker tells whom to follow, and not on which classes: what the
crowd knows of that is in p.

From fifty truths on they tell how sure the result is, too: P is taken to the power with which of truths that are
foreseen as many are expected to be right as are (a temperature; Guo and others: On calibration of modern neural
networks. 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import find_answer_weights, sum_by
from allalike.engines.sample import pick_known
from allalike.engines.sums import select_workers
from allalike.methods.auto.voices import with_voices
from allalike.methods.steps.ballots import count_votes, row_peaks, softmax
from allalike.methods.steps.odds import descend

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

MANY = 50  # known truths, which tell how sure truths are
_OF_CROWD, _OF_CLASSES = 0.5, 0.25  # the standard deviations of the prior
_OF_WORKERS = (0.0, 0.125, 0.25, 0.5, 1.0)  # that of what is added for workers; with 0 the crowd stays as it is
_NEARLY = 0.5  # standard errors
_MOST, _MOST_FORESEEN = 5000, 1000  # known truths that are learned from, and that foresee each other
_FOLDS, _FEW = 5, 10  # known truths, of which fewer do not foresee each other
_LEAST = 1e-4  # no class is less probable
_POWERS, _HALVINGS = (0.1, 10.0), 50


@dataclass(frozen=True)
class Learned:
    """What known truths tell of a crowd."""

    crowd: float
    classes: Floats
    workers: Floats
    number: int
    power: float | None = None

    def tell(self, block: Block, table: Floats) -> Floats:
        """Return how probable classes are, given how probable the crowd finds them; the block has its voices."""
        votes = count_votes(block, *select_workers(block, [self.workers]), k=table.shape[1])
        score = self.crowd * _logarithm(table) + self.classes + votes
        return softmax(score if self.power is None else self.power * score)[0]


def learn(run: Run, believe: Callable[[Block], Floats], groups: VoiceGroups) -> Learned:
    """Learn from the known truths of a run."""
    block = run.encoding.prepare(pick_known(run, _MOST))
    table = believe(block)
    facts = _Facts.of(with_voices(block, groups=groups), table)
    if len(facts.truth) < _FEW:
        return facts.fit(_OF_WORKERS[1])
    some = facts.only(np.arange(len(facts.truth)) < _MOST_FORESEEN)
    foreseen = {spread: some.foresee(spread) for spread in _OF_WORKERS}
    spread = _choose({spread: some.likelihoods(score) for spread, score in foreseen.items()})
    known = facts.fit(spread)
    return known if known.number < MANY else replace(known, power=some.find_power(foreseen[spread]))


def _choose(likelihoods: dict[float, Floats]) -> float:
    """Return the first spread that foresees truths nearly as well as the best.

    >>> _choose({0.25: np.array([-1.0, -1.1]), 0.5: np.array([-1.1, -1.0]), 1.0: np.array([-9.0, -9.0])})
    0.25
    """
    best = max(likelihoods.values(), key=np.sum)
    behind = {spread: best - each for spread, each in likelihoods.items()}
    error = np.sqrt(len(best))
    return next(spread for spread, lost in behind.items() if lost.sum() <= _NEARLY * error * lost.std() + _LEAST)


def pin(block: Block, table: Floats) -> Floats:
    """Leave a task whose truth is known no other class.

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
    """Tasks whose truths are known: logarithms of beliefs, truths, and the answers, each with its task and voice."""

    belief: Floats
    truth: Array
    task: Array
    worker: Array
    label: Array
    voice: Floats
    n_workers: int

    @classmethod
    def of(cls, block: Block, table: Floats) -> _Facts:
        """Take them from a block, all of whose truths are known; one that nobody could have answered tells nothing."""
        truth = np.full(block.n_tasks, table.shape[1])
        truth[block.gold_task] = block.gold_label
        voice = find_answer_weights(block).weight
        every = cls(_logarithm(table), truth, block.task, block.worker, block.label, voice, block.n_workers)
        return every.only(truth < table.shape[1])

    def only(self, kept: Array) -> _Facts:
        """Return those of some tasks."""
        of_these = kept[self.task]
        place = np.cumsum(kept) - 1
        return _Facts(
            self.belief[kept],
            self.truth[kept],
            place[self.task][of_these],
            self.worker[of_these],
            self.label[of_these],
            self.voice[of_these],
            self.n_workers,
        )

    def score(self, known: Learned) -> Floats:
        """Return the logarithms of how probable classes are, up to a number for each task."""
        k = self.belief.shape[1]
        votes = sum_by(self.task * k + self.label, self.voice * known.workers[self.worker], self.belief.size)
        return known.crowd * self.belief + known.classes + votes.reshape(-1, k)

    def likelihoods(self, score: Floats) -> Floats:
        """Return how likely each truth is, as a logarithm."""
        likelihoods: Floats = score[np.arange(len(score)), self.truth] - softmax(score)[1]
        return likelihoods

    def fit(self, of_workers: float) -> Learned:
        """Find what makes the truths most likely, with such a spread of what is added for workers."""
        n, k = len(self.truth), self.belief.shape[1]
        if not of_workers:
            return Learned(1.0, np.zeros(k), np.zeros(self.n_workers), n)
        spoke = np.unique(self.worker)
        usual = np.concatenate([[1.0], np.zeros(k + len(spoke))])
        spread = np.concatenate([[_OF_CROWD], np.full(k, _OF_CLASSES), np.full(len(spoke), of_workers)])

        def read(numbers: Floats) -> Learned:
            workers = np.zeros(self.n_workers)
            workers[spoke] = numbers[1 + k :]
            return Learned(float(numbers[0]), numbers[1 : 1 + k], workers, n)

        def lose(numbers: Floats) -> tuple[float, Floats]:
            score = self.score(read(numbers))
            share, _ = softmax(score)
            missing = np.eye(k)[self.truth] - share
            by_worker = sum_by(self.worker, self.voice * missing[self.task, self.label], self.n_workers)
            slope = np.concatenate([[(missing * self.belief).sum()], missing.sum(axis=0), by_worker[spoke]])
            away = (numbers - usual) / spread**2
            return float(away @ (numbers - usual)) / 2 - float(self.likelihoods(score).sum()), away - slope

        least = np.concatenate([[0.0], np.full(k, -np.inf), np.zeros(len(spoke))])
        return read(descend(lose, usual, least))

    def foresee(self, of_workers: float) -> Floats:
        """Return the scores of each fifth of the tasks by what is learned from the others."""
        fold, score = np.arange(len(self.truth)) % _FOLDS, np.empty_like(self.belief)
        for number in range(_FOLDS):
            score[fold == number] = self.only(fold == number).score(self.only(fold != number).fit(of_workers))
        return score

    def find_power(self, score: Floats) -> float:
        """Find the power with which as many truths are expected to be right as are, each foreseen by others."""
        hits = float((score.argmax(axis=1) == self.truth).mean())

        def too_sure(power: float) -> float:
            return float(row_peaks(softmax(power * score)[0]).mean()) - hits

        least, most = _POWERS
        for _ in range(_HALVINGS):
            power = (least + most) / 2
            least, most = (least, power) if too_sure(power) >= 0 else (power, most)
        return (least + most) / 2


def _logarithm(table: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(table, _LEAST)))
