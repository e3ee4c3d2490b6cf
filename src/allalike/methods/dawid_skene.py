"""DS, IBCC and DS-1: class probabilities of the tasks and accuracies of the workers, estimated in turn.

All three alternate between an E step, which finds the posterior T_jc = P[truth of j is c | answers to j] of each class
c of task j from the parameters of the workers, and an M step, which finds the maximum-likelihood parameters given the
posteriors (Dempster, Laird and Rubin, 1977).

**DS** (Dawid and Skene, 1979). If a task's truth is c, worker i answers l with probability pi^i_cl. From the shares of
the votes as first posteriors T,

    p_c = (sum_j T_jc + a) / (m + k a),    pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b),
    T_jc ~ p_c prod_i pi^i_(c, x_ij).

A confusion matrix shows what a single number cannot: a worker may mistake cats for dogs but never dogs for cats. It
works where each worker answered many tasks of each class, ten and more. It fails with fewer, where it overfits; where
workers err together; and where most are wrong, because the classes are then swapped.

**IBCC** (Kim and Ghahramani, 2012) has the same model with Dirichlet priors, and integrates over the parameters by
variational Bayes (mean field, as in Simpson et al., 2013; the paper itself draws samples). With the digamma function
psi,

    nu_c = alpha + sum_j T_jc,    mu^i_cl = (a_v if c = l else b_v) + sum_j T_jc [x_ij = l],
    E log p_c = psi(nu_c) - psi(sum_c nu_c),    E log pi^i_cl = psi(mu^i_cl) - psi(sum_l mu^i_cl),
    T_jc ~ exp(E log p_c + sum_i E log pi^i_(c, x_ij)).

It is steadier than DS where workers gave few answers, because of the prior. It fails as DS does.

**DS-1** has one number per worker, the probability p_i of being right: a wrong answer is any other class, each as
probable, and all classes are as frequent (in the form that Gao and Zhou, 2013, studied). From w_i = 1,

    T_jc ~ exp(sum_i w_i [x_ij = c]),    p_i = mean of T_(j, x_ij) over their answers,
    w_i = log((k-1) p_i / (1 - p_i)).

It is the column DS of Meir et al. 2023, where a worker worse than chance has weight 0. It works with few answers per
worker and with any number of classes; it fails where workers confuse classes in different ways.

Posteriors are never kept. The E step runs where a block is, recomputes the posteriors of its tasks from the parameters,
and returns sums per worker, which are all that the M step needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import LabelGroups
from allalike._core.options import flag, number, whole
from allalike.errors import TooLargeError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise, repeat
from allalike.methods.steps.ballots import (
    add_up,
    cells_of,
    count_ballots,
    keep_cells,
    softmax,
    take_most_probable,
    vote_shares,
)
from allalike.methods.steps.odds import add_odds, find_posterior, list_probabilities, take_by_odds

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

_MIN_PROBABILITY = 1e-12  # what a logarithm makes of 0
_CONFUSION_COPIES, _POSTERIOR_COPIES = 7, 3  # of all confusion matrices, and of a block's posteriors, at a time
_MAX_BLOCK_TASKS = 1 << 16  # nearly always


@dataclass(frozen=True, kw_only=True)
class ClassMethod(Method):
    """A method for classes."""

    needs: ClassVar[str] = "classes"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes."""
        return labels.n_classes is not None

    def fit_errors(self, peers: Peers, wrong: Floats, **estimation: Any) -> Fit:
        """Return the fit in which the fault of each worker is the expected share of wrong answers."""
        fault = np.maximum(peers.comparable(wrong), 0.0)
        weight = normalise(peers.run.encoding.noise.weight(fault))
        return Fit(disparity=peers.unweighted.mean, fault=fault, weight=weight, **estimation)


class AnswerModel(ABC):
    """A model of the workers' answers, whose parameters have one row per worker."""

    @abstractmethod
    def start(self, n_workers: int) -> Floats:
        """Return the parameters with which those of the first M step are compared."""

    @abstractmethod
    def e_step(self, block: Block, *logs: Floats) -> dict[str, Floats]:
        """Add up the sufficient statistics of the M step from the posteriors of tasks, or at first from votes."""

    @abstractmethod
    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the maximum-likelihood parameters given the sums of all tasks, and the error rate of each worker."""

    @abstractmethod
    def decide(self, block: Block, weights: Floats, faults: Floats, *logs: Floats, ties: Ties) -> dict[str, Array]:
        """Take the most probable class of each task."""

    @abstractmethod
    def probabilities(self, block: Block, weights: Floats, faults: Floats, *logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""

    def prepare(self, run: Run) -> Run:
        """Return a run over blocks with the data that every round needs."""
        return run

    def logs(self, parameters: Floats) -> tuple[Floats, ...]:
        """Return the parameters as kernels need them; here they are logarithms already."""
        return (parameters,)

    def believe(self, parameters: Floats, alone: Array) -> Floats:
        """Return the parameters with which tasks are decided; ``alone`` marks workers without peers."""
        return parameters


def maximise_likelihood(method: DS | DS1 | IBCC, run: Run, model: AnswerModel) -> Fit:
    """Alternate between E steps and M steps until the parameters no longer change."""
    peers, prepared = Peers(run), model.prepare(run)
    start = model.start(len(run.workers))

    def step(parameters: Floats) -> tuple[Floats, Floats]:
        logs = () if parameters is start else model.logs(parameters)
        return model.m_step(prepared.sum(model.e_step, *logs))

    rounds = repeat(run, step, start, max_iter=method.max_iter, tol=method.tol)
    return method.fit_errors(
        peers,
        rounds.fault,
        iterations=rounds.iterations,
        converged=rounds.converged,
        decide=partial(model.decide, ties=run.ties),
        parameters=model.logs(model.believe(rounds.state, peers.unweighted.weight <= 0)),
        probabilities=model.probabilities,
    )


@dataclass(frozen=True, kw_only=True)
class DS(ClassMethod):
    """Dawid-Skene: a confusion matrix for every worker.

    Error rates are expected shares of wrong answers; `Result.probabilities` has the posteriors, and the confidence is
    that of the label. Classes that nobody answered are left out.

    Parameters
    ----------
    smoothing
        The a and b above: pseudo-counts of answers of each kind. 0 is the original.
    max_iter, tol
        Maximum number of rounds, and relative change of confusions and class shares at which they end.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS"
    summary: ClassVar[str] = "Dawid-Skene: a confusion matrix for every worker, by expectation and maximisation"
    smoothing: float = number(0.01, least=0)
    max_iter: int = whole(100, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Estimate confusions, round by round."""
        check_memory(self.name, run, run.encoding.n_labels)
        return maximise_likelihood(self, run, Confusions(run.encoding.n_labels, self.smoothing))


@dataclass(frozen=True)
class Confusions(AnswerModel):
    """A confusion matrix for every worker, with one row per label, and the shares of the classes below it."""

    classes: int
    smoothing: float

    def start(self, n_workers: int) -> Floats:
        """Return infinity, so that the first round never counts as converged."""
        return np.zeros((n_workers, self.classes + 1, self.classes))

    def prepare(self, run: Run) -> Run:
        """Find the cell of each answer once."""
        return run.map(partial(keep_cells, k=self.classes))

    def e_step(self, block: Block, *logs: Floats) -> dict[str, Floats]:
        """Count answers and tasks by posteriors, or by the shares of the votes."""
        k = self.classes
        posterior = self._find_posterior(block, *logs) if logs else vote_shares(block, np.ones(block.n_workers), k=k)
        return count_ballots(block, posterior, k=k, into={})

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return confusion matrices with the shares of the classes below, and error rates."""
        counts = sums["counts"]
        right = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
        tables, shares = self._expect(counts, sums["shares"].sum(axis=0))
        return np.concatenate([tables, np.broadcast_to(shares, (len(tables), 1, self.classes))], axis=1), 1.0 - right

    def _expect(self, counts: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return confusion matrices and the shares of the classes, from counts by worker, label and class."""
        # p_c = (sum_j T_jc + a) / (m + k a)
        prior = shares + self.smoothing
        # pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b), and 1/k without such a task
        confusion = counts + self.smoothing
        total = confusion.sum(axis=1, keepdims=True)
        confusion += total <= 0
        confusion /= np.where(total > 0, total, self.classes)
        return confusion, prior / prior.sum()

    def logs(self, parameters: Floats) -> tuple[Floats, ...]:
        """Return the logarithms of confusions and shares."""
        logs = np.log(np.maximum(parameters, _MIN_PROBABILITY))
        return np.ascontiguousarray(logs[:, :-1]), logs[:, -1]

    def believe(self, parameters: Floats, alone: Array) -> Floats:
        """Set workers without peers to perfect accuracy."""
        parameters[alone, :-1] = np.eye(self.classes)
        return parameters

    def decide(self, block: Block, weights: Floats, faults: Floats, *logs: Floats, ties: Ties) -> dict[str, Array]:
        """Take the most probable class."""
        return take_most_probable(block, self._find_posterior(block, *logs), ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, *logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""
        return {"probability": self._find_posterior(block, *logs)}

    def _find_posterior(self, block: Block, tables: Floats, shares: Floats) -> Floats:
        """Return T_jc ~ p_c prod_i pi^i_(c, x_ij)."""
        return softmax(add_up(cells_of(block, self.classes), tables) + shares[:1])[0]


@dataclass(frozen=True, kw_only=True)
class IBCC(ClassMethod):
    """Bayesian classifier combination: Dawid-Skene with priors, integrated over the parameters.

    Error rates are expected shares of wrong answers; `Result.probabilities` has the posteriors, and the confidence is
    that of the label. As with DS, a worker without shared tasks is believed in the end.

    Parameters
    ----------
    alpha
        Pseudo-count of tasks per class.
    a_v, b_v
        Pseudo-counts of a worker's answers per class: correct ones, and of each wrong label.
    max_iter, tol
        When the rounds end: at the limit, or when confusions and class shares change by less, relative to their norm.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
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
        """Find the posteriors of confusions, round by round."""
        k = run.encoding.n_labels
        check_memory(self.name, run, k)
        model = BayesianConfusions(classes=k, smoothing=self.b_v, right=self.a_v, alpha=self.alpha)
        return maximise_likelihood(self, run, model)


@dataclass(frozen=True)
class BayesianConfusions(Confusions):
    """Confusion matrices and class shares as exp(E log ...) of their Dirichlet posteriors; they do not sum to 1."""

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

    Error rates are probabilities of an error; `Result.probabilities` has the posteriors, and the confidence is that of
    the label.

    Parameters
    ----------
    positive
        Whether a worker worse than chance has weight 0; otherwise the weight is negative.
    clip
        Smallest distance of the probability of being right from 0 and 1, which bounds the weights.
    max_iter, tol
        Maximum number of rounds, and relative change of the weights at which they end.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS1())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS-1"
    summary: ClassVar[str] = "Dawid-Skene with one coin: the probability that a worker is right (the paper's DS)"
    positive: bool = flag(True)
    clip: float = number(0.001, least=1e-12, below=0.5)
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Estimate probabilities, round by round."""
        model = OneCoins(classes=max(run.encoding.n_classes or 0, 2), clip=self.clip, positive=self.positive)
        return maximise_likelihood(self, run, model)


@dataclass(frozen=True)
class OneCoins(AnswerModel):
    """One number per worker: the log odds w_i above."""

    classes: int
    clip: float
    positive: bool

    def start(self, n_workers: int) -> Floats:
        """Return equal votes."""
        return np.ones(n_workers)

    def e_step(self, block: Block, *logs: Floats) -> dict[str, Floats]:
        """Add up the probabilities that a worker's answers are right, and count the answers."""
        votes = logs[0] if logs else self.start(block.n_workers)
        score = add_odds(block, votes.take(block.worker))  # sum_i w_i [x_ij = c]
        right = find_posterior(block, score, self.classes).share.take(block[LabelGroups].group)
        return {"right": block.per_worker(right), "answers": block.per_worker(np.ones(len(right)))}

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the log odds and the error rate of each worker."""
        right = np.clip(sums["right"] / sums["answers"], self.clip, 1 - self.clip)  # p_i = mean of T_(j, x_ij)
        log_odds = np.log((self.classes - 1) * right / (1 - right))  # w_i = log((k-1) p_i / (1 - p_i))
        return (np.maximum(log_odds, 0.0) if self.positive else log_odds), 1.0 - right

    def decide(self, block: Block, weights: Floats, faults: Floats, *logs: Floats, ties: Ties) -> dict[str, Array]:
        """Take the most probable of the named classes; if all weights are 0, answers count equally.

        If everyone who named a class counts against it, take the first that nobody named.
        """
        return take_by_odds(block, logs[0].take(block.worker), self.classes, ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, *logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class that somebody named somewhere."""
        return list_probabilities(block, logs[0].take(block.worker), self.classes)


def expected_logs(counts: Floats) -> Floats:
    """Return E log p_l = psi(n_l) - psi(sum_l n_l) for p ~ Dirichlet(n), over the last axis.

    >>> expected_logs(np.array([1.0, 1.0]))
    array([-1., -1.])
    """
    from scipy.special import digamma

    logs: Floats = digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))
    return logs


def check_memory(name: str, run: Run, k: int, *, times: int = 1) -> None:
    """Refuse confusion matrices that do not fit in memory beside a block's posteriors."""
    n_workers, n_tasks = len(run.workers), run.n_tasks
    posteriors = _POSTERIOR_COPIES * min(n_tasks, _MAX_BLOCK_TASKS)
    needed = 8 * k * (_CONFUSION_COPIES * n_workers * (k + 1) * times + posteriors)
    free = run.free_memory
    if needed > free:
        matrices = "a confusion matrix" if times == 1 else f"{times:,} confusion matrices"
        raise TooLargeError(
            f"{name} needs {matrices} of {k:,} x {k:,} for each of {n_workers:,} workers, about"
            f" {needed / 1e9:,.1f} GB in all, and there are {free / 1e9:,.1f} GB. Use DS-1, which needs one"
            " number for each worker."
        )
