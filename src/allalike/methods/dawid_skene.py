"""DS: confusion matrices by expectation and maximisation.

Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm. Applied Statistics 28, 1979.
If a task's truth is c, worker i answers l with probability pi^i_cl. From the shares of the votes as first posteriors T,

    p_c = (sum_j T_jc + a) / (m + k a),    pi^i_cl = (sum_j T_jc [x_ij = l] + b) / (sum_j T_jc + k b),
    T_jc ~ p_c prod_i pi^i_(c, x_ij),

in turn. It knows what a single number cannot: who mistakes cats for dogs but never dogs for cats. It needs many answers
of each worker for it, and finds the wrong names for the classes where most workers are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.blocks.block import Array, Block, Floats, sum_by
from allalike.blocks.ties import TOLERANCE, Ties
from allalike.errors import TooLargeError
from allalike.methods.base import Method, Weighing
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.rounds import repeat
from allalike.methods.steps.weights import normalise
from allalike.options import number, whole
from allalike.rules.base import unknown
from allalike.rules.vote import pick
from allalike.system.memory import free_memory

if TYPE_CHECKING:
    from allalike.blocks.problems import Problems
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

__all__ = ["DS"]

_LEAST = 1e-12  # what has no probability, in logarithms
_COPIES, _BLOCK_COPIES = 7, 3  # of all confusion matrices, and of the posteriors of a block, that exist at a time
_BLOCK_TASKS = 1 << 16  # in a block at most, or nearly so


@dataclass(frozen=True, kw_only=True)
class DS(Method):
    """Estimate a confusion matrix for every worker.

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
    >>> "".join(result.truth["label"]), result.workers["fault"].round(2).tolist()
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

    def weigh(self, run: Run) -> Weighing:
        """Estimate confusions, round by round."""
        k, problems, peers = run.encoding.n_labels, run.problems, Peers(run)
        _check_memory(problems.n_workers, k, int(run.sum(_tasks)["tasks"].sum()))
        placed = run.map(partial(_with_cells, k=k))

        def step(state: Floats) -> tuple[Floats, Floats]:
            sums = placed.sum(_count, _logs(state)) if state.any() else placed.sum(partial(_count_votes, k=k))
            right = np.trace(sums["confusion"], axis1=1, axis2=2) / sums["confusion"].sum(axis=(1, 2))
            return self._estimate(sums, problems), 1.0 - right

        rounds = repeat(run, step, np.zeros((problems.n_workers, k, k + 1)), max_iter=self.max_iter, tol=self.tol)
        fault = np.maximum(peers.comparable(rounds.fault), 0.0)
        return Weighing(
            disparity=peers.unweighted.mean,
            fault=fault,
            weight=normalise(run.encoding.noise.weight(fault, problems), problems),
            iterations=rounds.iterations,
            converged=rounds.converged,
            decide=partial(_decide, ties=run.ties),
            parameters=(_logs(_believing(rounds.state, peers)),),
            probabilities=_probabilities,
        )

    def _estimate(self, sums: dict[str, Floats], problems: Problems) -> Floats:
        """Return the confusion matrices, with the shares of the classes as a last column."""
        prior = np.stack([problems.total(column) for column in sums["share"].T], axis=1) + self.smoothing
        prior /= prior.sum(axis=1, keepdims=True)
        confusion = sums["confusion"] + self.smoothing
        total = confusion.sum(axis=2, keepdims=True)
        confusion = np.where(total > 0, confusion, 1.0) / np.where(total > 0, total, prior.shape[1])
        return np.concatenate([confusion, prior[:, :, None]], axis=2)


def _believing(state: Floats, peers: Peers) -> Floats:
    """Believe those whose answers nobody else's can speak against."""
    alone = peers.unweighted.weight <= 0
    state[alone, :, :-1] = np.eye(state.shape[1])
    return state


def _logs(state: Floats) -> Floats:
    """Return the logarithms of confusions and shares."""
    logs: Floats = np.log(np.maximum(state, _LEAST))
    return logs


def _posteriors(block: Block, logs: Floats) -> Floats:
    """Return how probable each class is, with a row per class and a column per task."""
    k = logs.shape[1]
    cell = _cells(block, k)
    score = np.stack([block.per_task(logs[:, true, :k].ravel().take(cell)) for true in range(k)])
    score += logs[:, :, k].T.take(_someone(block), axis=1)
    score -= score.max(axis=0)
    posterior: Floats = np.exp(score, out=score)
    posterior /= posterior.sum(axis=0)
    return posterior


@dataclass(frozen=True)
class Cells:
    """Of each answer: its place in a table of workers and labels, which every round needs."""

    cell: Array


def _with_cells(block: Block, *, k: int) -> Block:
    return block.keeping(Cells(_cells(block, k)))


def _cells(block: Block, k: int) -> Array:
    return block[Cells].cell if Cells in block else block.worker * k + block.label


def _someone(block: Block) -> Array:
    """Return, per task, one who answered it: the shares of classes are kept and counted with workers of the crowd."""
    return block.worker[block.starts]


def _count(block: Block, logs: Floats) -> dict[str, Floats]:
    """Add up, per worker, how often she probably answered a label to a class, and how often a class was asked."""
    return _expected(block, _posteriors(block, logs))


def _count_votes(block: Block, *, k: int) -> dict[str, Floats]:
    """Do the same with the shares of the votes."""
    task = block.to_answers(np.arange(block.n_tasks))
    votes = np.bincount(task * k + block.label, minlength=block.n_tasks * k)
    return _expected(block, votes.reshape(-1, k).T / block.sizes)


def _expected(block: Block, posterior: Floats) -> dict[str, Floats]:
    k, someone = len(posterior), _someone(block)
    cell = _cells(block, k)
    confusion = [sum_by(cell, block.to_answers(row), block.n_workers * k).reshape(-1, k) for row in posterior]
    share = [sum_by(someone, row, block.n_workers) for row in posterior]
    return {"confusion": np.stack(confusion, axis=1), "share": np.stack(share, axis=1)}


def _decide(block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
    """Take the most probable class."""
    posterior = _posteriors(block, logs).T
    best = posterior.max(axis=1)
    task, label = np.nonzero(posterior >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {
        "label": label[chosen].astype(np.int32),
        "confidence": best,
        "error": unknown(block.n_tasks),
        "tied": tied,
    }


def _probabilities(block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
    return {"probability": _posteriors(block, logs).T}


def _tasks(block: Block) -> dict[str, Floats]:
    return {"tasks": sum_by(_someone(block), np.ones(block.n_tasks), block.n_workers)}


def _check_memory(n_workers: int, k: int, n_tasks: int) -> None:
    """Refuse confusion matrices that do not fit in memory, with the posteriors of a block beside them."""
    needed = 8 * k * (_COPIES * n_workers * (k + 1) + _BLOCK_COPIES * min(n_tasks, _BLOCK_TASKS))
    if needed > free_memory():
        raise TooLargeError(
            f"DS needs a confusion matrix of {k:,} x {k:,} for each of {n_workers:,} workers, about"
            f" {needed / 1e9:,.1f} GB in all, and there are {free_memory() / 1e9:,.1f} GB. Use DS-1, which needs one"
            " number for each worker."
        )
