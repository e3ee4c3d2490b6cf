"""DS, IBCC and DS-1: class probabilities of the tasks and accuracies of the workers, estimated alternately.

All three use expectation maximisation (Dempster, Laird and Rubin, 1977). The E step computes the posterior
T_jc = P[true class of j is c | answers to j] from the parameters of the workers. The M step computes the
maximum-likelihood parameters from the posteriors.

**DS** (Dawid and Skene, 1979). If the true class is c, worker i answers l with probability pi^i_cl. Starting with the
shares of the votes as posteriors T,

    p_c = (sum_j T_jc + a) / (m + k a),    pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b),
    T_jc ~ p_c prod_i pi^i_(c, x_ij).

A confusion matrix can express that a worker mistakes cats for dogs but never dogs for cats. DS works if each worker
answered at least ten tasks of each class. It fails with fewer answers, because it overfits; if workers share errors;
and if most answers are wrong, because the classes are then swapped.

**IBCC** (Kim and Ghahramani, 2012) has the same model with Dirichlet priors, and integrates over the parameters by
mean-field variational Bayes (Simpson et al., 2013). The original paper uses Gibbs sampling. With the digamma function
psi,

    nu_c = alpha + sum_j T_jc,    mu^i_cl = (a_v if c = l else b_v) + sum_j T_jc [x_ij = l],
    E log p_c = psi(nu_c) - psi(sum_c nu_c),    E log pi^i_cl = psi(mu^i_cl) - psi(sum_l mu^i_cl),
    T_jc ~ exp(E log p_c + sum_i E log pi^i_(c, x_ij)).

Because of the prior, it works with fewer answers per worker than DS. It fails in the same cases.

**DS-1** (the form studied by Gao and Zhou, 2013) has one parameter per worker, the probability p_i of a correct answer.
All wrong classes have the same probability, and all classes are equally frequent. Starting with w_i = 1,

    T_jc ~ exp(sum_i w_i [x_ij = c]),    p_i = mean of T_(j, x_ij) over their answers,
    w_i = log((k-1) p_i / (1 - p_i)).

This is the column DS in Meir et al. (2023), with weight 0 for workers who are worse than chance. It works with few
answers per worker and with any number of classes. It fails if workers confuse classes in different ways.

Posteriors are never stored. The E step recomputes the posteriors of each block from the parameters, and returns the
sums per worker that the M step needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Block, Floats, LabelGroups
from allalike._core.options import flag, number, whole
from allalike.domains import Domain, Encoding
from allalike.engines import Run
from allalike.errors import TooLargeError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import LastRound, Peers, normalise, repeat
from allalike.methods.steps.odds import OddsModel, add_odds, find_posterior
from allalike.methods.steps.vote_matrix import (
    ClassModel,
    PosteriorModel,
    add_up,
    cells_of,
    count_ballots,
    keep_cells,
    softmax,
    vote_shares,
)

_MIN_PROBABILITY = 1e-12  # replaces 0 in logarithms
_CONFUSION_COPIES, _POSTERIOR_COPIES = 7, 3  # simultaneous copies of all confusion matrices, and of posteriors
_MAX_BLOCK_TASKS = 1 << 16  # rarely exceeded


@dataclass(frozen=True, kw_only=True)
class ClassMethod(Method):
    """A method for classes."""

    needs: ClassVar[str] = "classes"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether labels are classes."""
        return labels.n_classes is not None

    def fit_errors(self, peers: Peers, rounds: LastRound, model: ClassModel, *parameters: Floats) -> Fit:
        """Return the fit whose faults are expected shares of wrong answers."""
        fault = np.maximum(peers.comparable(rounds.fault), 0.0)
        return rounds.fit(
            peers,
            fault=fault,
            weight=normalise(peers.run.encoding.noise.weight(fault)),
            decide=partial(model.decide, ties=peers.run.ties),
            parameters=parameters,
            probabilities=model.probabilities,
        )


def _fit_confusions(method: DS | IBCC, run: Run, model: Confusions) -> Fit:
    """Alternate between E steps and M steps until the parameters no longer change."""
    peers, prepared = Peers(run), run.map(partial(keep_cells, k=model.classes))
    start = np.zeros((len(run.workers), model.classes + 1, model.classes))

    def step(parameters: Floats) -> tuple[Floats, Floats]:
        logs = () if parameters is start else model.logs(parameters)
        return model.m_step(prepared.sum(model.e_step, *logs))

    rounds = repeat(run, step, start, max_iter=method.max_iter, tol=method.tol)
    rounds.state[peers.unweighted.weight <= 0, :-1] = np.eye(model.classes)  # workers without peers have accuracy 1
    return method.fit_errors(peers, rounds, model, *model.logs(rounds.state))


@dataclass(frozen=True, kw_only=True)
class DS(ClassMethod):
    """Dawid-Skene: one confusion matrix per worker.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the posteriors, and the confidence
    of a label is its posterior. Classes without answers are ignored.

    Parameters
    ----------
    smoothing
        Pseudo-counts a and b in the formulas. 0 is the original method.
    max_iter, tol
        Maximum number of rounds, and relative change of confusion matrices and class shares below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS"
    summary: ClassVar[str] = "Dawid-Skene: one confusion matrix per worker, by expectation maximisation"
    smoothing: float = number(0.01, least=0)
    max_iter: int = whole(100, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Estimate confusion matrices, round by round."""
        check_memory(self.name, run, run.encoding.n_labels)
        return _fit_confusions(self, run, Confusions(run.encoding.n_labels, self.smoothing))


@dataclass(frozen=True)
class Confusions(PosteriorModel):
    """One confusion matrix per worker, with one row per label, and the class shares as its last row."""

    classes: int
    smoothing: float

    def e_step(self, block: Block, *logs: Floats) -> dict[str, Floats]:
        """Count answers and tasks, weighted by posteriors or shares of the votes."""
        k = self.classes
        posterior = self.find_posterior(block, *logs) if logs else vote_shares(block, np.ones(block.n_workers), k=k)
        return count_ballots(block, posterior, k=k, into={})

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return confusion matrices with class shares as last rows, and error rates."""
        counts = sums["counts"]
        right = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
        tables, shares = self._expect(counts, sums["shares"].sum(axis=0))
        return np.concatenate([tables, np.broadcast_to(shares, (len(tables), 1, self.classes))], axis=1), 1.0 - right

    def _expect(self, counts: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return confusion matrices and class shares, from counts by worker, label and class."""
        # p_c = (sum_j T_jc + a) / (m + k a)
        prior = shares + self.smoothing
        # pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b), and 1/k without tasks of class c
        confusion = counts + self.smoothing
        total = confusion.sum(axis=1, keepdims=True)
        confusion += total <= 0
        confusion /= np.where(total > 0, total, self.classes)
        return confusion, prior / prior.sum()

    def logs(self, parameters: Floats) -> tuple[Floats, ...]:
        """Return the logarithms of confusion matrices and class shares."""
        logs = np.log(np.maximum(parameters, _MIN_PROBABILITY))
        return np.ascontiguousarray(logs[:, :-1]), logs[:, -1]

    def find_posterior(self, block: Block, *logs: Floats) -> Floats:
        """Return T_jc ~ p_c prod_i pi^i_(c, x_ij)."""
        tables, shares = logs
        return softmax(add_up(cells_of(block, self.classes), tables) + shares[:1])[0]


@dataclass(frozen=True, kw_only=True)
class IBCC(ClassMethod):
    """Bayesian classifier combination: Dawid-Skene with Dirichlet priors, integrated over the parameters.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the posteriors, and the confidence
    of a label is its posterior. As in DS, workers without common tasks have accuracy 1 in the final labels.

    Parameters
    ----------
    alpha
        Pseudo-count of tasks per class.
    a_v, b_v
        Pseudo-counts of a worker's answers per class: correct answers, and each wrong label.
    max_iter, tol
        Maximum number of rounds, and relative change of confusion matrices and class shares below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=IBCC())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.01, 0.01, 0.2, 0.8])
    """

    name: ClassVar[str] = "IBCC"
    summary: ClassVar[str] = "Bayesian classifier combination: Dawid-Skene with priors, by variational Bayes"
    alpha: float = number(1.0, least=0.001)
    a_v: float = number(4.0, least=0.001)
    b_v: float = number(1.0, least=0.001)
    max_iter: int = whole(500, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Compute the posteriors of confusion matrices, round by round."""
        k = run.encoding.n_labels
        check_memory(self.name, run, k)
        model = BayesianConfusions(classes=k, smoothing=self.b_v, right=self.a_v, alpha=self.alpha)
        return _fit_confusions(self, run, model)


@dataclass(frozen=True)
class BayesianConfusions(Confusions):
    """Confusion matrices and class shares as exp(E log p) of their Dirichlet posteriors, which do not sum to 1."""

    right: float
    alpha: float

    def _expect(self, counts: Floats, shares: Floats) -> tuple[Floats, Floats]:
        # nu_c = alpha + sum_j T_jc,    mu^i_cl = (a_v if c = l else b_v) + sum_j T_jc [x_ij = l]
        answers = counts + self.smoothing + (self.right - self.smoothing) * np.eye(self.classes)
        tables = np.moveaxis(expected_logs(np.moveaxis(answers, 1, 2)), 2, 1)
        return np.exp(tables), np.exp(expected_logs(shares + self.alpha))


@dataclass(frozen=True, kw_only=True)
class DS1(ClassMethod):
    """One-coin Dawid-Skene: one accuracy per worker, and class probabilities of the tasks.

    Error rates are probabilities of an error. `Result.probabilities` contains the posteriors, and the confidence of a
    label is its posterior.

    Parameters
    ----------
    positive
        Whether workers worse than chance get weight 0 instead of a negative weight.
    clip
        Minimum distance of an accuracy from 0 and 1, which bounds the weights.
    max_iter, tol
        Maximum number of rounds, and relative change of the weights below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS1())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS-1"
    summary: ClassVar[str] = "one-coin Dawid-Skene: one accuracy per worker (the paper's DS)"
    positive: bool = flag(True)
    clip: float = number(0.001, least=1e-12, below=0.5)
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Estimate accuracies, round by round."""
        model = OneCoins(classes=max(run.encoding.n_classes or 0, 2), clip=self.clip, positive=self.positive)
        peers = Peers(run)

        def step(votes: Floats) -> tuple[Floats, Floats]:
            return model.m_step(run.sum(model.e_step, votes))

        rounds = repeat(run, step, np.ones(len(run.workers)), max_iter=self.max_iter, tol=self.tol)
        return self.fit_errors(peers, rounds, model, rounds.state)


@dataclass(frozen=True)
class OneCoins(OddsModel):
    """One parameter per worker: the log odds w_i."""

    clip: float
    positive: bool

    def find_odds(self, block: Block, *parameters: Floats) -> Floats:
        """Return the log odds of each answer."""
        return parameters[0].take(block.worker)

    def e_step(self, block: Block, votes: Floats) -> dict[str, Floats]:
        """Add up the probabilities that a worker's answers are correct, and count the answers."""
        score = add_odds(block, self.find_odds(block, votes))  # sum_i w_i [x_ij = c]
        right = find_posterior(block, score, self.classes).share.take(block[LabelGroups].group)
        return {"right": block.per_worker(right), "answers": block.per_worker(np.ones(len(right)))}

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the log odds and the error rate of each worker."""
        right = np.clip(sums["right"] / sums["answers"], self.clip, 1 - self.clip)  # p_i = mean of T_(j, x_ij)
        log_odds = np.log((self.classes - 1) * right / (1 - right))  # w_i = log((k-1) p_i / (1 - p_i))
        return (np.maximum(log_odds, 0.0) if self.positive else log_odds), 1.0 - right


def expected_logs(counts: Floats) -> Floats:
    """Return E log p_l = psi(n_l) - psi(sum_l n_l) for p ~ Dirichlet(n), over the last axis.

    >>> expected_logs(np.array([1.0, 1.0]))
    array([-1., -1.])
    """
    from scipy.special import digamma

    logs: Floats = digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))
    return logs


def check_memory(name: str, run: Run, k: int, *, times: int = 1) -> None:
    """Raise TooLargeError if confusion matrices and a block's posteriors do not fit in memory."""
    n_workers, n_tasks = len(run.workers), run.n_tasks
    posteriors = _POSTERIOR_COPIES * min(n_tasks, _MAX_BLOCK_TASKS)
    needed = 8 * k * (_CONFUSION_COPIES * n_workers * (k + 1) * times + posteriors)
    free = run.free_memory
    if needed > free:
        matrices = "a confusion matrix" if times == 1 else f"{times:,} confusion matrices"
        raise TooLargeError(
            f"{name} needs {matrices} of {k:,} x {k:,} for each of {n_workers:,} workers. This takes about"
            f" {needed / 1e9:,.1f} GB, but {free / 1e9:,.1f} GB are free. Use DS-1, which needs one number per"
            " worker."
        )
