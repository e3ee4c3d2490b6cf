"""IBP: iterative belief propagation between workers and tasks, for two classes.

In Karger et al. (2011), answers A_ij are +1 or -1. Each task sends a message to each of its workers about the other
answers. Each worker sends a message to each task about the agreement on the worker's other tasks:

    alpha_ij = sum over i' != i of A_i'j beta_i'j,    beta_ij = sum over j' != j of A_ij' alpha_ij'.

The first messages are beta = 1. The label is the sign of sum_i A_ij beta_ij. The algorithm resembles power iteration.
It works if many tasks are randomly assigned, a few to each worker. It fails if a few workers answer all tasks: it is
then worse than the majority vote, because the leading eigenvector may have the wrong sign.

Messages are not stored, because beta_ij = R_i - A_ij alpha_ij, where R_i is a sum over the worker's answers. Each block
recomputes its messages from the R_i of all previous rounds.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties
from allalike._core.options import whole
from allalike.domains import Domain, Encoding
from allalike.engines import Run
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise
from allalike.noise import peak
from allalike.rules.base import Decision, unknown
from allalike.rules.vote import pick


@dataclass(frozen=True, kw_only=True)
class IBP(Method):
    """Iterative belief propagation: messages between workers and tasks.

    Error rates are shares of answers that differ from the estimated labels. The weight is the worker's mean message, or
    0 if it is negative. Labels are estimated from all messages.

    Parameters
    ----------
    n_iter
        Number of rounds.

    >>> import allalike
    >>> answers = {
    ...     "ada": "xxyyxyxyyx", "bob": "xxyyxyxyyx", "cy": "xxyyxyxyxx",
    ...     "eve": "xyyyxyxxyx", "kim": "xxyxxyyyyx", "sam": "yxyxxyxyxy",
    ... }
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=IBP())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyxyxyyx', [0.0, 0.0, 0.1, 0.2, 0.2, 0.4])
    """

    name: ClassVar[str] = "IBP"
    summary: ClassVar[str] = "iterative belief propagation: messages between workers and tasks"
    needs: ClassVar[str] = "two classes"
    n_iter: int = whole(15, least=1)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether there are at most two classes."""
        return labels.n_classes in (1, 2)

    def fit(self, run: Run) -> Fit:
        """Pass messages, round by round."""
        peers = Peers(run)
        history = np.empty((len(run.workers), 0, 2))  # R_i and the divisor of messages, for each round
        for _ in run.rounds(self.n_iter):
            sums = run.sum(_sum_messages, history)
            size = np.full(len(history), peak(np.abs(sums["messages"])) or 1.0)
            history = np.concatenate([history, np.stack([sums["messages"], size], axis=1)[:, None]], axis=1)
        sums = run.sum(partial(_misses, ties=run.ties), history)
        message = history[:, -1, 0] * (1 - 1 / sums["answers"])
        return Fit(
            disparity=peers.unweighted.mean,
            fault=peers.comparable(sums["misses"] / sums["answers"]),
            weight=normalise(peers.comparable(message)),
            iterations=self.n_iter,
            decide=partial(_decide, ties=run.ties),
            parameters=(history,),
        )


def _worker_messages(block: Block, history: Floats) -> tuple[Floats, Floats]:
    """Return answers as signs, and the last message from each worker to each task."""
    sign = 2.0 * block.label - 1.0
    beta = np.ones(len(sign))
    for number in range(history.shape[1]):
        alpha = _task_messages(block, sign, beta)
        sums, size = history[:, number, 0].take(block.worker), history[:, number, 1].take(block.worker)
        beta = (sums - sign * alpha) / size
    return sign, beta


def _task_messages(block: Block, sign: Floats, beta: Floats) -> Floats:
    """Return the message from each task to each worker: the sum of the other workers' messages."""
    own = sign * beta
    alpha: Floats = block.to_answers(block.per_task(own)) - own
    return alpha


def _sum_messages(block: Block, history: Floats) -> dict[str, Floats]:
    """Add up each worker's products of answers and received messages."""
    sign, beta = _worker_messages(block, history)
    return {"messages": block.per_worker(sign * _task_messages(block, sign, beta))}


def _decide(block: Block, weights: Floats, faults: Floats, history: Floats, *, ties: Ties) -> dict[str, Array]:
    """Return the sign of the sum of messages."""
    decision = by_sign(block, _worker_messages(block, history)[1], ties)
    return {
        "label": decision.label,
        "confidence": decision.confidence,
        "error": decision.error,
        "tied": decision.tied,
    }


def _misses(block: Block, history: Floats, *, ties: Ties) -> dict[str, Floats]:
    """Count each worker's answers that differ from the estimated labels, and all answers."""
    decision = by_sign(block, _worker_messages(block, history)[1], ties)
    missed = (block.label != block.to_answers(decision.label)).astype(np.float64)
    return {"misses": block.per_worker(missed), "answers": block.per_worker(np.ones(len(missed)))}


def by_sign(block: Block, weight: Floats, ties: Ties) -> Decision:
    """Return class 1 if the weighted signs of a task's answers have a positive sum, and class 0 if it is negative.

    Each answer has a weight; a negative weight counts for the other class. The confidence is the share of the weight
    that supports the label. If all weights of a task are 0, its answers count equally. The block must contain its
    `LabelGroups`.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0, 1], [1, 1], [1, 0]])
    >>> block = block.keeping(group_labels(block, np.array([5, 6], np.uint64)))
    >>> found = by_sign(block, np.array([0.5, 0.2, 0.1, -0.5, 0.2, 0.1]), Ties())
    >>> found.label, found.confidence.round(3), found.tied
    (array([0, 0], dtype=int32), array([0.625, 0.75 ]), array([False, False]))
    """
    size = block.per_task(np.abs(weight))
    nobody = size <= 0
    if nobody.any():
        weight = np.where(block.to_answers(nobody), 1.0, weight)
        size = np.where(nobody, block.sizes, size)
    margin = block.per_task((2.0 * block.label - 1.0) * weight) / size
    even = np.abs(margin) <= TOLERANCE
    possible = np.stack([(margin < 0) | even, (margin > 0) | even], axis=1)
    if len(block[LabelGroups].label_hash) < 2:
        possible = np.tile([True, False], (block.n_tasks, 1))
    task, label = np.nonzero(possible)
    chosen, tied = pick(block, task, label, ties)
    return Decision(label[chosen].astype(np.int32), (1 + np.abs(margin)) / 2, unknown(block.n_tasks), tied)
