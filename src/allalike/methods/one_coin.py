"""DS-1: Dawid-Skene with one number per worker, the probability that she is right.

A wrong answer is any other class, each as probable, and all classes are as frequent (the model of Dawid and Skene,
1979, in the form that Gao and Zhou, 2013, studied). From w_i = 1,

    T_jc ~ exp(sum_i w_i [x_ij = c]),    p_i = mean of T_(j, x_ij) over her answers,
    w_i = log((k-1) p_i / (1 - p_i)),

in turn. It is the column DS of Meir et al. 2023, where a worker worse than chance counts nothing. It works with few
answers per worker and with any number of classes; it fails where workers confuse classes in different ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.blocks.block import LabelGroups
from allalike._core.options import flag, number, whole
from allalike.methods.base import Method
from allalike.methods.dawid_skene import AnswerModel, maximise_likelihood
from allalike.methods.steps.odds import add_odds, find_posterior, list_probabilities, take_by_odds

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class DS1(Method):
    """Dawid-Skene with one coin: the probability that a worker is right, and of each class for each task.

    The fault is the probability of an error; `Result.probabilities` has the posteriors, and the confidence is that of
    the label.

    Parameters
    ----------
    positive
        Whether a worker worse than chance counts nothing; otherwise she counts against what she says.
    clip
        Smallest distance of the probability of being right from 0 and 1, which bounds the weights.
    max_iter, tol
        When the rounds end: at the limit, or when the weights change by less, relative to their norm.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS1())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
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

    def fit(self, run: Run) -> Fit:
        """Estimate probabilities, round by round."""
        model = OneCoins(classes=max(run.encoding.n_classes or 0, 2), clip=self.clip, positive=self.positive)
        return maximise_likelihood(run, model, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True)
class OneCoins(AnswerModel):
    """One number for every worker: her vote, the log odds w_i above."""

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
        score = add_odds(block, logs.take(block.worker))  # sum_i w_i [x_ij = c]
        right = find_posterior(block, score, self.classes).share.take(block[LabelGroups].group)
        return {"right": block.per_worker(right), "answers": block.per_worker(np.ones(len(right)))}

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the log odds, and how probably a worker errs."""
        right = np.clip(sums["right"] / sums["answers"], self.clip, 1 - self.clip)  # p_i = mean of T_(j, x_ij)
        log_odds = np.log((self.classes - 1) * right / (1 - right))  # w_i = log((k-1) p_i / (1 - p_i))
        return (np.maximum(log_odds, 0.0) if self.positive else log_odds), 1.0 - right

    def decide(self, block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class of those that were named; where nobody counts, all who answered count the same.

        If everyone who named a class counts against it, take the first that nobody named.
        """
        return take_by_odds(block, logs.take(block.worker), self.classes, ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class that somebody named somewhere."""
        return list_probabilities(block, logs.take(block.worker), self.classes)
