"""DS-1: Dawid-Skene with one number per worker, the probability that she is right.

A wrong answer is any other class, each as probable, and all classes are as frequent (the model that Gao and Zhou
studied: Minimax Optimal Convergence Rates for Estimating Ground Truth from Crowdsourced Labels, 2013). From w_i = 1,

    T_jc ~ exp(sum_i w_i [x_ij = c]),    p_i = mean of T_(j, x_ij) over her answers,
    w_i = log((k-1) p_i / (1 - p_i)),

in turn. It is the column DS of Meir et al. 2023, where a worker worse than chance counts nothing. It works with few
answers per worker and with any number of classes; it fails where workers confuse classes in different ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.blocks.block import Array, Block, Floats, sum_by
from allalike.blocks.groups import Groups
from allalike.methods.base import Method, Weighing
from allalike.methods.steps.em import AnswerModel, maximise_likelihood
from allalike.options import flag, number, whole
from allalike.rules.base import unknown
from allalike.rules.vote import leading

if TYPE_CHECKING:
    from allalike.blocks.problems import Problems
    from allalike.blocks.ties import Ties
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

__all__ = ["DS1", "OneCoins"]


@dataclass(frozen=True, kw_only=True)
class DS1(Method):
    """Dawid-Skene with one coin: how probably every worker is right, and how probable every class of a task.

    The fault is the probability of an error; `Result.probabilities` has the posteriors, and the confidence is that of
    the label.

    Parameters
    ----------
    positive
        Whether a worker worse than chance counts nothing; otherwise she counts against what she says.
    clip
        How close to 0 or 1 the probability of being right may come; what is closer would weigh too much.
    max_iter, tol
        When the rounds end: at the limit, or when the weights change by less, relative to their norm.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS1())
    >>> "".join(result.truth["label"]), result.workers["fault"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS-1"
    summary: ClassVar[str] = "Dawid-Skene with one coin: the probability that a worker is right (the paper's DS)"
    needs: ClassVar[str] = "classes"
    positive: bool = flag(True)
    clip: float = number(0.001, least=1e-12, below=0.5)
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes."""
        return labels.n_classes is not None

    def weigh(self, run: Run) -> Weighing:
        """Estimate probabilities, round by round."""
        model = OneCoins(classes=max(run.encoding.n_classes or 0, 2), clip=self.clip, positive=self.positive)
        return maximise_likelihood(run, model, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True)
class OneCoins(AnswerModel):
    """One number for every worker: her vote, the log odds w_i above.

    A class that nobody named for a task has a score of 0 there, so that only those that were named have to be kept.

    Parameters
    ----------
    classes
        How many classes there are, the k above.
    clip, positive
        As in `DS1`.
    """

    classes: int
    clip: float
    positive: bool

    def start(self, n_workers: int) -> Floats:
        """Return equal votes."""
        return np.ones(n_workers)

    def first_e_step(self, block: Block) -> dict[str, Floats]:
        """Count with equal votes."""
        return self.e_step(block, self.start(block.n_workers))

    def e_step(self, block: Block, logs: Floats) -> dict[str, Floats]:
        """Add up how probably a worker's answers are right, and count them."""
        _, posterior, _ = self._posterior(block, logs)
        right = posterior.take(block[Groups].group)
        return {"right": block.per_worker(right), "answers": block.per_worker(np.ones(len(right)))}

    def m_step(self, sums: dict[str, Floats], problems: Problems) -> tuple[Floats, Floats]:
        """Return the log odds, and how probably a worker errs."""
        right = np.clip(sums["right"] / sums["answers"], self.clip, 1 - self.clip)  # p_i = mean of T_(j, x_ij)
        log_odds = np.log((self.classes - 1) * right / (1 - right))  # w_i = log((k-1) p_i / (1 - p_i))
        return (np.maximum(log_odds, 0.0) if self.positive else log_odds), 1.0 - right

    def decide(self, block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class of those that were named; where nobody counts, all who answered count the same.

        If everyone who named a class counts against it, take the first that nobody named.
        """
        score, posterior, rest = self._posterior(block, logs)
        groups, n_labels = block[Groups], len(block[Groups].label_hash)
        named = np.bincount(groups.group, minlength=len(score))  # groups may be empty, as the block has it
        nobody = block.per_task(np.abs(logs.take(block.worker))) <= 0
        winner, tied = leading(block, np.where(named > 0, np.where(nobody[groups.task], named, score), -np.inf), ties)
        count, other = _unnamed(block.n_tasks, groups.task[named > 0], groups.label[named > 0])
        refuted = (score[winner] < 0) & (count < n_labels)
        return {
            "label": np.where(refuted, other, groups.label[winner]).astype(np.int32),
            "confidence": np.where(refuted, rest, posterior[winner]),
            "error": unknown(block.n_tasks),
            "tied": np.where(refuted, count < n_labels - 1, tied),
        }

    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class that somebody named somewhere."""
        _, posterior, rest = self._posterior(block, logs)
        table = np.repeat(rest[:, None], len(block[Groups].label_hash), axis=1)
        table[block[Groups].task, block[Groups].label] = posterior
        return {"probability": table}

    def _posterior(self, block: Block, logs: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the score of each group of equal labels, its T_jc ~ exp(score), and that of a class nobody named."""
        groups = block[Groups]
        score = sum_by(groups.group, logs.take(block.worker), len(groups.task))  # sum_i w_i [x_ij = c]
        unnamed = self.classes - groups.count
        best = np.maximum.reduceat(score, groups.first)
        best = np.where(unnamed > 0, np.maximum(best, 0.0), best)
        odds = np.exp(score - best[groups.task])
        rest = np.exp(-best)
        total = np.add.reduceat(odds, groups.first) + unnamed * rest
        return score, odds / total[groups.task], rest / total


def _unnamed(n_tasks: int, task: Array, label: Array) -> tuple[Array, Array]:
    """Return, per task, how many labels were named, and the smallest that was not; the named ones are sorted.

    >>> _unnamed(2, np.array([0, 0, 1]), np.array([0, 2, 5]))
    (array([2, 1]), array([1, 0]))
    """
    count = np.bincount(task, minlength=n_tasks)
    first = np.cumsum(count) - count
    place = np.arange(len(task)) - first[task]
    return count, np.minimum.reduceat(np.where(label > place, place, count[task]), first)
