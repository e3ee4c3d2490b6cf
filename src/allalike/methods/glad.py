"""GLAD: maximum a posteriori (MAP) estimates of an ability for every worker and a difficulty for every task.

In Whitehill et al. (2009), the accuracy of worker i on task j grows with the worker's ability a_i and falls with the
task's difficulty 1 / b_j, where b_j > 0. All wrong classes have the same probability:

    P[x_ij is the true class of j] = s(a_i b_j),    s(x) = 1 / (1 + exp(-x)).

All k classes are equally frequent. As in the authors' program, a_i and log b_j have normal priors with mean 1 and
variance 1. GLAD maximises the marginal likelihood of all answers, times the priors:

    sum_j log sum_c 1/k prod_i P[x_ij | truth c, a_i, b_j] - sum_i (a_i - 1)^2 / 2 - sum_j (log b_j - 1)^2 / 2.

The paper uses EM, whose M step takes joint gradient steps in a and b, and therefore stores one number per task. Here,
the same function is maximised in a different order. Given the abilities, b_j depends only on the answers to task j. It
is recomputed in every round by Newton's method from its prior mean, together with the posteriors T_jc. A round ends
with one Newton step per worker:

    a_i <- a_i + ( sum_j (T_(j, x_ij) - s_ij) b_j - (a_i - 1) ) / ( 1 + sum_j s_ij (1 - s_ij) b_j^2 ).

Every fixed point of these rounds is a fixed point of the paper's gradient ascent. GLAD works if tasks differ in
difficulty for all workers, with any number of classes. Like DS-1, it fails if workers confuse classes in different ways
or share errors: a task on which most workers make the same error looks easy.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Block, Floats, LabelGroups
from allalike._core.options import number, whole
from allalike.engines import Run
from allalike.methods.dawid_skene import ClassMethod
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, repeat
from allalike.methods.steps.odds import OddsModel, add_odds, find_posterior

_STEPS = 10  # Newton steps for log b_j
_LONGEST = 1.0  # largest step of an ability or of log b_j; far from the maximum, Newton steps may be too long
_LEAST_BEND = 0.5  # minimum curvature of a task's likelihood, which is not concave everywhere


@dataclass(frozen=True, kw_only=True)
class GLAD(ClassMethod):
    """Abilities of workers and difficulties of tasks.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the posteriors, and the confidence
    of a label is its posterior. With two classes, answers by workers with a negative ability count for the other class.

    Parameters
    ----------
    alpha, beta
        Means of the priors of an ability and of log b_j.
    max_iter, tol
        Maximum number of rounds, and relative change of the abilities below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=GLAD())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "GLAD"
    summary: ClassVar[str] = "an ability for every worker and a difficulty for every task"
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
        return self.fit_errors(peers, rounds, model, rounds.state)


@dataclass(frozen=True)
class Abilities(OddsModel):
    """Posteriors of tasks, given abilities."""

    beta: float

    def find_ease(self, block: Block, ability: Floats) -> Floats:
        """Return the log b_j that maximise the likelihood of the answers to each task times the prior.

        Let u = log b_j, and let A_c be the sum of a_i over the n_c workers who answered c. Up to a constant, the
        logarithm is log sum_c exp(A_c b_j + n_c log(k - 1)) - sum_i log(1 + exp(a_i b_j)) - (u - beta)^2 / 2.
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
        """Add up each worker's slope and curvature of the likelihood, and the probabilities of errors."""
        able, b = ability.take(block.worker), block.to_answers(np.exp(self.find_ease(block, ability)))
        right = _logistic(able * b)  # s_ij
        score = add_odds(block, self._odds(able, b))
        true = find_posterior(block, score, self.classes).share.take(block[LabelGroups].group)  # T_(j, x_ij)
        return {
            "slope": block.per_worker((true - right) * b),
            "bend": block.per_worker(right * (1.0 - right) * b**2),
            "wrong": block.per_worker(1.0 - true),
        }

    def find_odds(self, block: Block, *parameters: Floats) -> Floats:
        """Return the log odds of each answer."""
        [ability] = parameters
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
