"""IBP: messages between workers and tasks, for two classes.

Karger et al. (2011). With answers A_ij of +1 or -1, a task sends each of its workers a message about the other answers,
and a worker sends each task a message about their agreement on the other tasks:

    alpha_ij = sum over i' != i of A_i'j beta_i'j,    beta_ij = sum over j' != j of A_ij' alpha_ij',

from beta = 1. The answer is the sign of sum_i A_ij beta_ij. It is power iteration in disguise. It works where many
tasks are given to workers at random, a few to each. It fails with complete answers of few workers, where it is worse
than the majority vote, because the leading direction may have the wrong sign.

Messages need not be stored: beta_ij = R_i - A_ij alpha_ij, where R_i is a sum over the worker's answers. So a block
recomputes its messages from the R_i of all rounds so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.blocks.block import TOLERANCE, LabelGroups, Ties
from allalike._core.options import whole
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise
from allalike.noise import peak
from allalike.rules.base import Decision, unknown
from allalike.rules.vote import pick

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run


@dataclass(frozen=True, kw_only=True)
class IBP(Method):
    """Iterative belief propagation: messages between workers and tasks.

    Error rates are shares of answers that differ from the estimated labels; the weight is the mean message of a worker,
    or 0 if it is negative. Labels are estimated from all messages.

    Parameters
    ----------
    n_iter
        Number of rounds.

    >>> import allalike
    >>> said = {
    ...     "ada": "xxyyxyxyyx", "bob": "xxyyxyxyyx", "cy": "xxyyxyxyxx",
    ...     "eve": "xyyyxyxxyx", "kim": "xxyxxyyyyx", "sam": "yxyxxyxyxy",
    ... }
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=IBP())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyxyxyyx', [0.0, 0.0, 0.1, 0.2, 0.2, 0.4])
    """

    name: ClassVar[str] = "IBP"
    summary: ClassVar[str] = "iterative belief propagation: messages between workers and tasks"
    needs: ClassVar[str] = "two classes"
    n_iter: int = whole(15, least=1)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for two classes."""
        return labels.n_classes in (1, 2)

    def fit(self, run: Run) -> Fit:
        """Pass messages, round by round."""
        peers = Peers(run)
        told = np.empty((len(run.workers), 0, 2))  # of each round: the sums R_i, and what messages are divided by
        for _ in run.rounds(self.n_iter):
            sums = run.sum(_told, told)
            size = np.full(len(told), peak(np.abs(sums["told"])) or 1.0)
            told = np.concatenate([told, np.stack([sums["told"], size], axis=1)[:, None]], axis=1)
        sums = run.sum(partial(_misses, ties=run.ties), told)
        message = told[:, -1, 0] * (1 - 1 / sums["answers"])
        return Fit(
            disparity=peers.unweighted.mean,
            fault=peers.comparable(sums["misses"] / sums["answers"]),
            weight=normalise(peers.comparable(message)),
            iterations=self.n_iter,
            decide=partial(_decide, ties=run.ties),
            parameters=(told,),
        )


def _messages(block: Block, told: Floats) -> tuple[Floats, Floats]:
    """Return the answers as signs, and the last message of each worker to each of their tasks."""
    sign = 2.0 * block.label - 1.0
    beta = np.ones(len(sign))
    for number in range(told.shape[1]):
        alpha = _heard(block, sign, beta)
        sums, size = told[:, number, 0].take(block.worker), told[:, number, 1].take(block.worker)
        beta = (sums - sign * alpha) / size
    return sign, beta


def _heard(block: Block, sign: Floats, beta: Floats) -> Floats:
    """Return the message of each task to each of its workers: the sum of the others' messages."""
    said = sign * beta
    heard: Floats = block.to_answers(block.per_task(said)) - said
    return heard


def _told(block: Block, told: Floats) -> dict[str, Floats]:
    """Add up, per worker, the agreement of answers and received messages."""
    sign, beta = _messages(block, told)
    return {"told": block.per_worker(sign * _heard(block, sign, beta))}


def _decide(block: Block, weights: Floats, faults: Floats, told: Floats, *, ties: Ties) -> dict[str, Array]:
    """Take the sign of the sum of messages."""
    found = by_sign(block, _messages(block, told)[1], ties)
    return {"label": found.label, "confidence": found.confidence, "error": found.error, "tied": found.tied}


def _misses(block: Block, told: Floats, *, ties: Ties) -> dict[str, Floats]:
    """Count, per worker, the answers that differ from the estimated labels, and all answers."""
    found = by_sign(block, _messages(block, told)[1], ties)
    missed = (block.label != block.to_answers(found.label)).astype(np.float64)
    return {"misses": block.per_worker(missed), "answers": block.per_worker(np.ones(len(missed)))}


def by_sign(block: Block, weight: Floats, ties: Ties) -> Decision:
    """Take class 1 if the weighted signs of a task's answers add up to more than 0, and class 0 if to less.

    Each answer has a weight, and a negative one counts for the other class. The confidence is the share of the weight
    that supports the label. If all weights of a task are 0, its answers count equally. The block needs its
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
