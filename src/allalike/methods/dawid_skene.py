"""DS: confusion matrices by expectation and maximisation.

Dawid and Skene (1979). If a task's truth is c, worker i answers l with probability pi^i_cl. From the shares of the
votes as first posteriors T,

    p_c = (sum_j T_jc + a) / (m + k a),    pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b),
    T_jc ~ p_c prod_i pi^i_(c, x_ij),

in turn. It knows what a single number cannot: who mistakes cats for dogs but never dogs for cats. It works where each
worker answered many tasks of each class, ten and more. It fails with fewer, where it believes what chance did; where
workers err together; and where most are wrong, for then it finds the wrong names for the classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike._core.options import number, whole
from allalike.errors import TooLargeError
from allalike.methods.base import Method
from allalike.methods.proximity import Peers, normalise, repeat
from allalike.rules.base import unknown
from allalike.rules.vote import pick

if TYPE_CHECKING:
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods.fit import Fit

_MIN_PROBABILITY = 1e-12  # what a logarithm makes of 0
_CONFUSION_COPIES, _POSTERIOR_COPIES = 7, 3  # of all confusion matrices, and of a block's posteriors, at a time
_MAX_BLOCK_TASKS = 1 << 16  # nearly always


# EM: how probable each class of a task is and how well each worker answers, in turn.
#
# Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm. JRSS B 39, 1977. The truths
# are what is missing. The **E step** finds, for the parameters theta of the workers, the posterior of each class c of
# task j,
#
#     T_jc = P[truth of j is c | answers to j, theta],
#
# and the **M step** the parameters that are most likely if T_jc were the share of task j that belongs to class c.
#
# Posteriors are never kept. The E step runs where a block is: it finds the posteriors of the block's tasks again from
# the parameters, and returns sums per worker, such as how often she probably was right. The M step sees nothing else.
#
# A likelihood is a product over all answers to a task, and with some hundreds of them it is below the smallest number
# there is. So kernels are given logarithms, add them up, and subtract the largest of a task before they exponentiate:
# the posterior of the best class is then never lost, however many answers there are.


class AnswerModel(ABC):
    """A model of how workers answer, whose parameters have one row per worker."""

    @abstractmethod
    def start(self, n_workers: int) -> Floats:
        """Return what the parameters of the first M step are compared with."""

    @abstractmethod
    def first_e_step(self, block: Block) -> dict[str, Floats]:
        """Add up what the M step needs, per worker, from votes: no parameters are known yet."""

    @abstractmethod
    def e_step(self, block: Block, logs: Floats) -> dict[str, Floats]:
        """Add up what the M step needs, per worker, from the posteriors of the block's tasks."""

    @abstractmethod
    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the parameters that are most likely given the sums of all tasks, and each worker's fault."""

    @abstractmethod
    def decide(self, block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class of each task."""

    @abstractmethod
    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""

    def prepare(self, run: Run) -> Run:
        """Return a run over blocks that know what every round needs."""
        return run

    def logs(self, parameters: Floats) -> Floats:
        """Return the parameters as kernels need them; here they are logarithms already."""
        return parameters

    def believe(self, parameters: Floats, alone: Array) -> Floats:
        """Return the parameters with which tasks are decided; ``alone`` tells who has no peers."""
        return parameters


def maximise_likelihood(run: Run, model: AnswerModel, *, max_iter: int, tol: float) -> Fit:
    """Alternate between E steps and M steps until the parameters no longer change."""
    peers, prepared = Peers(run), model.prepare(run)
    start = model.start(len(run.workers))

    def step(parameters: Floats) -> tuple[Floats, Floats]:
        first = parameters is start
        sums = prepared.sum(model.first_e_step) if first else prepared.sum(model.e_step, model.logs(parameters))
        return model.m_step(sums)

    rounds = repeat(run, step, start, max_iter=max_iter, tol=tol)
    fault = np.maximum(peers.comparable(rounds.fault), 0.0)
    return rounds.fit(
        peers,
        fault=fault,
        weight=normalise(run.encoding.noise.weight(fault)),
        decide=partial(model.decide, ties=run.ties),
        parameters=(model.logs(model.believe(rounds.state, peers.unweighted.weight <= 0)),),
        probabilities=model.probabilities,
    )


@dataclass(frozen=True, kw_only=True)
class DS(Method):
    """Dawid-Skene: a confusion matrix for every worker.

    The fault is the expected share of wrong answers; `Result.probabilities` has the posteriors, and the confidence is
    that of the label. The classes are those that somebody answered, however many there may be beside them.

    Parameters
    ----------
    smoothing
        The a and b above: how many answers of each kind are imagined beside the real ones. 0 is the original.
    max_iter, tol
        When the rounds end: at the limit, or when confusions and class shares change by less, relative to their norm.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=DS())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.0, 0.0, 0.2, 0.8])
    """

    name: ClassVar[str] = "DS"
    summary: ClassVar[str] = "Dawid-Skene: a confusion matrix for every worker, by expectation and maximisation"
    needs: ClassVar[str] = "classes"
    smoothing: float = number(0.01, least=0)
    max_iter: int = whole(100, least=1)
    tol: float = number(1e-5, least=0)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes."""
        return labels.n_classes is not None

    def fit(self, run: Run) -> Fit:
        """Estimate confusions, round by round."""
        model = Confusions(classes=run.encoding.n_labels, smoothing=self.smoothing)
        check_memory(self.name, run, model.classes)
        return maximise_likelihood(run, model, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True)
class Confusions(AnswerModel):
    """A confusion matrix for every worker: of each, one row per true class, and the shares of the classes beside it."""

    classes: int
    smoothing: float

    def start(self, n_workers: int) -> Floats:
        """Return nothing, from which every estimate is far away."""
        return np.zeros((n_workers, self.classes, self.classes + 1))

    def prepare(self, run: Run) -> Run:
        """Find the cell of each answer once."""
        return run.map(partial(_with_cells, k=self.classes))

    def first_e_step(self, block: Block) -> dict[str, Floats]:
        """Count with the shares of the votes as posteriors."""
        return count_answers(block, find_shares(block, self.classes))

    def e_step(self, block: Block, logs: Floats) -> dict[str, Floats]:
        """Count with the posteriors under these confusions."""
        return count_answers(block, find_posterior(block, logs))

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the confusion matrices with the shares of the classes as a last column, and who errs how often."""
        # p_c = (sum_j T_jc + a) / (m + k a)
        prior = sums["share"].sum(axis=0) + self.smoothing
        prior = np.broadcast_to(prior / prior.sum(), sums["share"].shape)
        # pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b), and 1/k where she met no such task
        confusion = sums["confusion"] + self.smoothing
        total = confusion.sum(axis=2, keepdims=True)
        confusion = np.where(total > 0, confusion, 1.0) / np.where(total > 0, total, self.classes)
        right = np.trace(sums["confusion"], axis1=1, axis2=2) / sums["confusion"].sum(axis=(1, 2))
        return np.concatenate([confusion, prior[:, :, None]], axis=2), 1.0 - right

    def logs(self, parameters: Floats) -> Floats:
        """Return the logarithms of confusions and shares."""
        logs: Floats = np.log(np.maximum(parameters, _MIN_PROBABILITY))
        return logs

    def believe(self, parameters: Floats, alone: Array) -> Floats:
        """Believe those whose answers nobody else's can speak against."""
        parameters[alone, :, :-1] = np.eye(self.classes)
        return parameters

    def decide(self, block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class."""
        posterior = find_posterior(block, logs).T
        best = posterior.max(axis=1)
        task, label = np.nonzero(posterior >= best[:, None] * (1 - TOLERANCE))
        chosen, tied = pick(block, task, label, ties)
        return {
            "label": label[chosen].astype(np.int32),
            "confidence": best,
            "error": unknown(block.n_tasks),
            "tied": tied,
        }

    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""
        return {"probability": find_posterior(block, logs).T}


def find_shares(block: Block, k: int) -> Floats:
    """Return the share of each task's votes that each class has, with a row per class and a column per task.

    >>> find_shares(Block.of([[0, 1], [1, 1]]), 2)
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    task = block.task
    votes = np.bincount(task * k + block.label, minlength=block.n_tasks * k)
    return np.asarray(votes.reshape(-1, k).T / block.sizes)


def find_posterior(block: Block, logs: Floats) -> Floats:
    """Return T_jc ~ p_c prod_i pi^i_(c, x_ij), with a row per class and a column per task."""
    k = logs.shape[1]
    cell = _cells(block, k)
    score = np.stack([block.per_task(logs[:, true, :k].ravel().take(cell)) for true in range(k)])
    score += logs[:1, :, k].T
    score -= score.max(axis=0)
    posterior: Floats = np.exp(score, out=score)
    posterior /= posterior.sum(axis=0)
    return posterior


def count_answers(block: Block, posterior: Floats) -> dict[str, Floats]:
    """Add up, per worker, how often she probably answered l to class c, and how often a class was asked."""
    k, first = len(posterior), block.first_worker
    cell = _cells(block, k)
    confusion = [sum_by(cell, block.to_answers(row), block.n_workers * k).reshape(-1, k) for row in posterior]
    share = [sum_by(first, row, block.n_workers) for row in posterior]
    return {"confusion": np.stack(confusion, axis=1), "share": np.stack(share, axis=1)}


@dataclass(frozen=True)
class AnswerCells:
    """Of each answer: its place in a table of workers and labels, which every round needs."""

    cell: Array


def _with_cells(block: Block, *, k: int) -> Block:
    return block.keeping(AnswerCells(_cells(block, k)))


def _cells(block: Block, k: int) -> Array:
    return block[AnswerCells].cell if AnswerCells in block else block.worker * k + block.label


def check_memory(name: str, run: Run, k: int, *, times: int = 1) -> None:
    """Refuse confusion matrices, so many for each worker, that do not fit in memory beside a block's posteriors."""
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
