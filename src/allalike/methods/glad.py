"""GLAD: an ability for every worker and a difficulty for every task, by expectation and maximisation.

Whitehill et al. (2009). Worker i is right about task j with a probability that grows with their ability a_i and falls
with the task's difficulty 1 / b_j, where b_j > 0; a wrong answer is any other of k classes, each as probable:

    P[x_ij is the truth of j] = s(a_i b_j),    s(x) = 1 / (1 + exp(-x)).

All classes are as frequent, and a_i and log b_j have normal priors with mean 1 and variance 1, as in the program of the
authors. The marginal likelihood of all answers, times the priors, is maximised:

    sum_j log sum_c 1/k prod_i P[x_ij | truth c, a_i, b_j] - sum_i (a_i - 1)^2 / 2 - sum_j (log b_j - 1)^2 / 2.

The paper climbs it by EM, whose M step takes gradient steps in all a and b at once, and so keeps a number of each task
between rounds. Here the same function is maximised in another order. Given the abilities, b_j depends on the answers to
task j alone. So it is recomputed in every round by Newton's method from the mean of its prior, together with the
posteriors T_jc; the sums belong to workers. One Newton step for each of them,

    a_i <- a_i + ( sum_j (T_(j, x_ij) - s_ij) b_j - (a_i - 1) ) / ( 1 + sum_j s_ij (1 - s_ij) b_j^2 ),

ends a round. A fixed point of these rounds is one of the paper's gradient ascent, too. It works where tasks differ in
how hard they are for everybody, and with any number of classes. It fails as DS-1 does, where workers have different
confusions or err together: a task on which most make the same error is taken for an easy one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.blocks.block import LabelGroups
from allalike._core.options import number, whole
from allalike.methods.dawid_skene import ClassMethod
from allalike.methods.proximity import Peers, repeat
from allalike.methods.steps.odds import add_odds, find_posterior, list_probabilities, take_by_odds

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.engines import Run
    from allalike.methods.fit import Fit

_STEPS = 10  # of log b_j, after which it is known to many digits
_LONGEST = 1.0  # largest step of an ability or of log b_j: far from the maximum, Newton's may be much too long
_LEAST_BEND = 0.5  # of the likelihood of a task, which is not concave everywhere


@dataclass(frozen=True, kw_only=True)
class GLAD(ClassMethod):
    """Abilities of workers and difficulties of tasks.

    Error rates are expected shares of wrong answers; `Result.probabilities` has the posteriors, and the confidence is
    that of the label. With two classes, a worker whose ability is below 0 counts for the other class.

    Parameters
    ----------
    alpha, beta
        Means of the priors of an ability and of log b_j.
    max_iter, tol
        Maximum number of rounds, and relative change of the abilities at which they end.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=GLAD())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "GLAD"
    summary: ClassVar[str] = (
        "an ability for every worker and a difficulty for every task, by expectation and maximisation"
    )
    alpha: float = number(1.0)
    beta: float = number(1.0)
    max_iter: int = whole(500, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Maximise the posterior, round by round."""
        model, peers = Abilities(classes=max(run.encoding.n_classes or 0, 2), beta=self.beta), Peers(run)

        def step(ability: Floats) -> tuple[Floats, Floats]:
            sums = run.sum(model.measure, ability)
            uphill = (sums["slope"] - (ability - self.alpha)) / (1.0 + sums["bend"])
            return ability + np.clip(uphill, -_LONGEST, _LONGEST), sums["wrong"] / run.answer_counts

        start = np.full(len(run.workers), self.alpha)
        rounds = repeat(run, step, start, max_iter=self.max_iter, tol=self.tol)
        return self.fit_errors(
            peers,
            rounds.fault,
            iterations=rounds.iterations,
            converged=rounds.converged,
            decide=partial(model.decide, ties=run.ties),
            parameters=(rounds.state,),
            probabilities=model.probabilities,
        )


@dataclass(frozen=True)
class Abilities:
    """The posteriors of a block's tasks given abilities."""

    classes: int
    beta: float

    def find_ease(self, block: Block, ability: Floats) -> Floats:
        """Return log b_j, where the likelihood of a task's answers and the prior are largest together.

        With u = log b_j, and A_c the sum of a_i over the n_c who say c, their logarithm is, but for a constant,
        log sum_c exp(A_c b_j + n_c log(k - 1)) - sum_i log(1 + exp(a_i b_j)) - (u - beta)^2 / 2.
        """
        groups, able = block[LabelGroups], ability.take(block.worker)
        together, guessed = (add_odds(block, odds) for odds in (able, np.full(len(able), np.log(self.classes - 1))))
        ease = np.full(block.n_tasks, self.beta)
        for _ in range(_STEPS):
            b = np.exp(ease)
            share = find_posterior(block, together * b[groups.task] + guessed, self.classes).share
            mean, square = (np.add.reduceat(share * power, groups.first) for power in (together, together**2))
            right = _logistic(able * block.to_answers(b))
            slope = b * (mean - block.per_task(able * right))
            bend = 1.0 - slope - b**2 * (square - mean**2 - block.per_task(able**2 * right * (1.0 - right)))
            uphill = (slope - (ease - self.beta)) / np.maximum(bend, _LEAST_BEND)
            ease = ease + np.clip(uphill, -_LONGEST, _LONGEST)
        return ease

    def measure(self, block: Block, ability: Floats) -> dict[str, Floats]:
        """Add up, per worker, slope and curvature of the likelihood, and the probabilities of errors."""
        able, b = ability.take(block.worker), block.to_answers(np.exp(self.find_ease(block, ability)))
        right = _logistic(able * b)  # s_ij
        score = add_odds(block, self._odds(able, b))
        true = find_posterior(block, score, self.classes).share.take(block[LabelGroups].group)  # T_(j, x_ij)
        return {
            "slope": block.per_worker((true - right) * b),
            "bend": block.per_worker(right * (1.0 - right) * b**2),
            "wrong": block.per_worker(1.0 - true),
        }

    def decide(self, block: Block, weights: Floats, faults: Floats, ability: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class."""
        return take_by_odds(block, self.find_odds(block, ability), self.classes, ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, ability: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class that somebody named somewhere."""
        return list_probabilities(block, self.find_odds(block, ability), self.classes)

    def find_odds(self, block: Block, ability: Floats) -> Floats:
        """Return the odds of each answer."""
        b = np.exp(self.find_ease(block, ability))
        return self._odds(ability.take(block.worker), block.to_answers(b))

    def _odds(self, able: Floats, b: Floats) -> Floats:
        """Return log s_ij - log((1 - s_ij) / (k - 1))."""
        odds: Floats = able * b + np.log(self.classes - 1)
        return odds


def _logistic(x: Floats) -> Floats:
    from scipy.special import expit

    probability: Floats = expit(x)
    return probability
