"""MACE: the probability that a worker knows the answer, and the distribution of the worker's guesses.

In Hovy et al. (2013), all classes are equally frequent. Worker i knows the true label of a task with probability
theta_i, and gives it. Otherwise they give label l with probability xi_il, regardless of the task (*spamming*). So

    P[x_ij = l | true class c] = theta_i [l = c] + (1 - theta_i) xi_il,
    T_jc ~ prod_i P[x_ij | c],    k_ij = T_jl theta_i / (theta_i + (1 - theta_i) xi_il),

where k_ij is the probability that the worker knew the answer l. With K_i = sum_j k_ij, and G_il the sum of 1 - k_ij
over the worker's answers l, the M step of EM is

    theta_i = (K_i + d) / (K_i + G_i + 2 d),    xi_il = (G_il + d) / (G_i + k d),    G_i = sum_l G_il,

with slight smoothing d. In variational Bayes (VB, the default), theta_i has a Beta prior and xi_i a Dirichlet prior.
Each share n / N becomes exp(psi(n) - psi(N)), where n and N include the pseudo-counts of the priors, and psi is the
digamma function.

The likelihood has several local maxima. MACE therefore runs from several starts with theta and xi near equal shares,
and keeps the start with the largest final likelihood. The first start has equal shares. The random numbers of the other
starts depend only on the ids of workers, the number of the start and the seed, so they are the same on every engine.

MACE works if some workers do not look at the tasks, with any number of classes. It fails if workers err because tasks
are hard or because they confuse classes, since it explains every error as a guess. It also fails if many workers give
the same label to all tasks, because this label is then the most likely.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, LabelGroups, sum_by
from allalike._core.options import choice, number, whole
from allalike._core.system.memory import free_memory
from allalike.engines import Run
from allalike.errors import TooLargeError
from allalike.methods.dawid_skene import ClassMethod, expected_logs
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, repeat
from allalike.methods.steps.odds import OddsModel, add_odds, find_posterior
from allalike.methods.steps.vote_matrix import draw_evenly, sum_tasks

_NOISE = 0.5  # largest difference between the shares of a random start, before normalisation
_LEAST = 1e-300  # lower bound of divisors
_SAME = 1e-6  # nats by which a later start must be better
_COPIES = 8  # simultaneous copies of the shares of all starts


@dataclass(frozen=True, kw_only=True)
class MACE(ClassMethod):
    """Multi-annotator competence estimation: the probability of knowing the answer, and the distribution of guesses.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the posteriors, and the confidence
    of a label is its posterior. Classes without answers are ignored.

    Parameters
    ----------
    form
        ``vb`` for variational Bayes with priors, ``em`` for EM with smoothing.
    starts
        Number of starts, which share each pass over the answers. A single start is not random.
    alpha, beta
        Pseudo-counts of known answers and of guesses per worker (VB).
    strategy
        Pseudo-count of each label among a worker's guesses (VB).
    smoothing
        Smoothing d in the formulas (EM). Default: 0.01 / k.
    max_iter, tol
        Maximum number of rounds, and relative change of theta and (1 - theta) xi below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "zzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=MACE())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "MACE"
    summary: ClassVar[str] = "multi-annotator competence estimation: probability of knowing the answer, and guesses"
    form: str = choice("vb", "em")
    starts: int = whole(10, least=1)
    alpha: float = number(0.5, least=0.001)
    beta: float = number(0.5, least=0.001)
    strategy: float = number(10.0, least=0.001)
    smoothing: float | None = number(None, least=0)
    max_iter: int = whole(50, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Estimate competences from every start, and keep the best start."""
        model, peers = Strategies(run.encoding.n_labels, self), Peers(run)
        model.check_memory(len(run.workers))
        given = run.sum(model.count)["given"][:, None]
        unknown = np.full(len(run.workers), np.nan)

        def step(shares: Floats) -> tuple[Floats, Floats]:
            right = run.sum(model.e_step, model.odds(shares))["right"]
            return model.m_step(shares, right, given), unknown

        start = model.start(run.workers.hashes(), run.ties.seed)
        rounds = repeat(run, step, start, max_iter=self.max_iter, tol=self.tol)
        odds = model.odds(rounds.state)
        sums = run.sum(model.e_step, odds)
        guesses = (given * np.log(np.maximum(rounds.state[:, :, 1:], _LEAST))).sum(axis=2)
        evidence = (sums["evidence"] + guesses).sum(axis=0)
        best = int(np.argmax(evidence >= evidence.max() - _SAME))
        wrong = 1.0 - sums["right"][:, best].sum(axis=1) / run.answer_counts
        return self.fit_errors(peers, replace(rounds, fault=wrong), model, odds[:, best])


@dataclass(frozen=True)
class Strategies(OddsModel):
    """For every worker and start: theta_i, followed by (1 - theta_i) xi_il for each label l."""

    options: MACE

    def check_memory(self, n_workers: int) -> None:
        """Raise TooLargeError if the shares do not fit in memory."""
        starts = self.options.starts
        needed = 8 * _COPIES * n_workers * starts * (self.classes + 1)
        if needed > free_memory():
            raise TooLargeError(
                f"MACE needs the shares of {self.classes:,} labels for {n_workers:,} workers and {starts:,} starts."
                f" This takes about {needed / 1e9:,.1f} GB, but {free_memory() / 1e9:,.1f} GB are free."
                " Use MACE(starts=1), or DS-1, which needs one number per worker."
            )

    def start(self, ids: Array, seed: int) -> Floats:
        """Return equal shares for the first start, and random shares for the others."""
        drawn = [draw_evenly(ids, (seed, start), self.classes + 2) for start in range(1, self.options.starts)]
        shares = 1.0 + _NOISE * np.stack([np.zeros((len(ids), self.classes + 2)), *drawn], axis=1)
        knows, guesses = (part / part.sum(axis=2, keepdims=True) for part in np.split(shares, [2], axis=2))
        return np.concatenate([knows[:, :, :1], knows[:, :, 1:] * guesses], axis=2)

    def odds(self, shares: Floats) -> Floats:
        """Return the log odds of an answer: log( (theta_i + (1 - theta_i) xi_il) / ((1 - theta_i) xi_il) )."""
        odds: Floats = np.log1p(shares[:, :, :1] / np.maximum(shares[:, :, 1:], _LEAST))
        return odds

    def count(self, block: Block) -> dict[str, Floats]:
        """Count the answers by worker and label."""
        return {"given": self._sum(block, np.ones(len(block.label)))}

    def e_step(self, block: Block, odds: Floats) -> dict[str, Floats]:
        """Add up the probabilities that a worker's answers are correct, and the likelihoods of tasks, by start."""
        posteriors = [
            find_posterior(block, add_odds(block, self.find_odds(block, odds[:, start])), self.classes)
            for start in range(odds.shape[1])
        ]
        right = [self._sum(block, each.share.take(block[LabelGroups].group)) for each in posteriors]
        evidence = [sum_tasks(block, each.evidence) for each in posteriors]
        return {"right": np.stack(right, axis=1), "evidence": np.stack(evidence, axis=1)}

    def m_step(self, shares: Floats, right: Floats, given: Floats) -> Floats:
        """Return the new shares from the old ones, the expected numbers of correct answers, and counts of answers."""
        own = self.options
        known = right * -np.expm1(-self.odds(shares))  # theta_i / (theta_i + (1 - theta_i) xi_il)
        guessed = given - known
        knows = np.stack([known.sum(axis=2), guessed.sum(axis=2)], axis=2)
        if own.form == "em":
            d = 0.01 / self.classes if own.smoothing is None else own.smoothing
            theta, xi = _share(knows + d), _share(guessed + d)
        else:
            theta, xi = _expect(knows + np.array([own.alpha, own.beta])), _expect(guessed + own.strategy)
        return np.concatenate([theta[:, :, :1], theta[:, :, 1:] * xi], axis=2)

    def _cells(self, block: Block) -> Array:
        return block.worker * self.classes + block.label

    def find_odds(self, block: Block, *parameters: Floats) -> Floats:
        """Return the log odds of each answer."""
        return parameters[0].ravel().take(self._cells(block))

    def _sum(self, block: Block, values: Floats) -> Floats:
        """Add up values of answers by worker and label."""
        return sum_by(self._cells(block), values, block.n_workers * self.classes).reshape(-1, self.classes)


def _share(counts: Floats) -> Floats:
    """Return each count as a share of the sum; equal shares if the sum is 0."""
    total = counts.sum(axis=2, keepdims=True)
    shares: Floats = np.where(total > 0, counts, 1.0) / np.where(total > 0, total, counts.shape[2])
    return shares


def _expect(counts: Floats) -> Floats:
    """Return exp(psi(n) - psi(N)) of counts."""
    return np.asarray(np.exp(expected_logs(counts)))
