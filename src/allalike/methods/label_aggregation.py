"""LA: label aggregation in one or two passes, task by task, as in a stream.

In Yang et al. (2022), a worker's accuracy has a Beta distribution, and each task updates its mode a_i. The first pass
(LA-1) computes for one task after another

    label_j = the label with the largest sum of a_i over the workers who gave it,
    a_i = (alpha - 1 + correct answers so far) / (alpha + beta - 2 + answers so far).

The second pass (LA-2) decides all tasks again by weighted votes. The weight is k a_i - 1 for k classes, with the final
accuracies of the first pass. LA works on streams and on very large datasets, because it reads each answer only once or
twice. It fails if the first tasks are misleading. LA-1 decides the first tasks before it can distinguish workers.

The order of tasks matters. The paper shuffles tasks; here they are sorted by the hashes of their ids. Results therefore
depend on ids, but not on the order of rows, blocks or the engine. A sequential pass is not a sum over tasks, because
each decision depends on the previous one. Hence the first 200,000 answers are loaded into memory and processed task by
task, exactly as in the paper. The rest **differs from the paper**: it is processed in stretches, each as long as all
answers before it. The tasks of a stretch are decided with the accuracies at its beginning, so each stretch is one sum.
LA-1 keeps its decisions on the first tasks.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties, sum_by
from allalike._core.options import check_number, number, option
from allalike.engines import Run
from allalike.engines.sample import sample_tasks
from allalike.methods.dawid_skene import ClassMethod
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise
from allalike.rules.base import unknown
from allalike.rules.vote import leading

_WALKED_ANSWERS = 200_000  # processed task by task
_HASHES = 2.0**64


@dataclass(frozen=True, kw_only=True)
class LA(ClassMethod):
    """Label aggregation in one or two passes: every task updates the accuracies.

    The fault is 1 - a_i, and the weight is proportional to k a_i - 1.

    Parameters
    ----------
    passes
        With 1, each task is decided with the accuracies so far. With 2, all tasks are decided again at the end.
    alpha, beta
        Parameters of the Beta prior of accuracies; both must be above 1.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=LA())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.14, 0.14, 0.29, 0.71])
    """

    name: ClassVar[str] = "LA"
    summary: ClassVar[str] = "label aggregation in one or two passes: every task updates the accuracies, as in a stream"
    passes: int = option(2, partial(check_number, least=1, below=3, whole=True))
    alpha: float = number(2.0, least=1.001)
    beta: float = number(2.0, least=1.001)

    def fit(self, run: Run) -> Fit:
        """Process the first tasks one by one, and the others in stretches."""
        n = len(run.workers)
        ends = [min(_WALKED_ANSWERS / run.answer_counts.sum(), 1.0)]
        right, given = (np.full(n, of) for of in (self.alpha - 1, self.alpha + self.beta - 2))
        first = sample_tasks(run, _WALKED_ANSWERS).map(run.encoding.prepare)
        walk = _walk(first.blocks, right, given, ends[0], run.ties)
        right, given = walk.right, walk.given
        accuracies = [right / given]
        while ends[-1] < 1:
            ends.append(min(2 * ends[-1], 1.0))
            sums = run.sum(partial(_judge, begin=ends[-2], end=ends[-1], ties=run.ties), accuracies[-1])
            right, given = right + sums["right"], given + sums["given"]
            accuracies.append(right / given)
        peers, k, accuracy = Peers(run), max(run.encoding.n_classes or 0, 2), right / given
        fault = np.maximum(peers.comparable(1.0 - accuracy), 0.0)
        once = self.passes == 1
        return Fit(
            disparity=peers.unweighted.mean,
            fault=fault,
            weight=normalise(k * (1.0 - fault) - 1),
            decide=partial(_decide_once, walk=walk, ends=np.array(ends), ties=run.ties)
            if once
            else partial(_decide_again, ties=run.ties),
            parameters=(np.stack(accuracies, axis=1),) if once else (k * accuracy - 1,),
        )


@dataclass(frozen=True)
class _Walk:
    """Accuracies so far, and decisions on the tasks processed one by one."""

    right: Floats
    given: Floats
    key: npt.NDArray[np.uint64]
    label: Array
    confidence: Floats
    tied: npt.NDArray[np.bool_]

    @property
    def decisions(self) -> dict[str, Array]:
        """Decisions, by column of the table of tasks."""
        return {"label": self.label, "confidence": self.confidence, "tied": self.tied}


def _walk(blocks: list[Block], right: Floats, given: Floats, end: float, ties: Ties) -> _Walk:
    """Decide tasks one by one, up to the end of the stretch, given as a share of all hashes."""
    everyone = np.arange(len(right))
    hits, total = right.tolist(), given.tolist()
    keys, decisions = [np.empty(0, np.uint64)], []
    for block in blocks:
        worker = everyone[block.workers][block.worker]
        inside = block.task_hash / _HASHES < end  # a sample also has all tasks with gold labels
        keys.append(block.task_hash[inside])
        workers, labels, starts = worker.tolist(), block.label.tolist(), block.starts.tolist()
        for task in np.flatnonzero(inside).tolist():
            answers = range(starts[task], starts[task] + int(block.sizes[task]))
            votes: dict[int, float] = {}
            for i in answers:
                votes[labels[i]] = votes.get(labels[i], 0.0) + hits[workers[i]] / total[workers[i]]
            best = max(votes.values())
            among = [label for label, vote in votes.items() if vote >= best * (1 - TOLERANCE)]
            truth = among[0] if len(among) == 1 else _draw(block, task, np.array(among), ties)
            decisions.append((truth, votes[truth] / sum(votes.values()), len(among) > 1))
            for i in answers:
                total[workers[i]] += 1
                hits[workers[i]] += labels[i] == truth
    key = np.concatenate(keys)
    order = np.argsort(key)
    label, confidence, tied = (np.array([each[part] for each in decisions])[order] for part in range(3))
    return _Walk(np.array(hits), np.array(total), key[order], label.astype(np.int32), confidence, tied.astype(np.bool_))


def _draw(block: Block, task: int, labels: Array, ties: Ties) -> int:
    priority = ties.priority(block.task_hash[task : task + 1], block[LabelGroups].label_hash[labels], labels)
    return int(labels[np.argmin(priority)])


def _vote(block: Block, votes: Floats, ties: Ties) -> dict[str, Array]:
    """Return the label with the largest sum of votes; ``votes`` contains one value per answer."""
    groups = block[LabelGroups]
    score = sum_by(groups.group, votes, len(groups))
    named = np.bincount(groups.group, minlength=len(groups)) > 0
    winner, tied = leading(block, np.where(named, score, -np.inf), ties)
    total = np.add.reduceat(np.maximum(score, 0.0), groups.first)
    share = np.maximum(score[winner], 0.0) / np.where(total > 0, total, 1.0)
    return {"label": groups.label[winner], "confidence": share, "error": unknown(block.n_tasks), "tied": tied}


def _judge(block: Block, accuracy: Floats, *, begin: float, end: float, ties: Ties) -> dict[str, Floats]:
    """Count correct answers and all answers to the tasks of a stretch."""
    place = block.task_hash / _HASHES
    inside = block.to_answers((begin <= place) & (place < end))
    truth = block.to_answers(_vote(block, accuracy.take(block.worker), ties)["label"])
    return {"right": block.per_worker(inside * (block.label == truth)), "given": block.per_worker(inside * 1.0)}


def _decide_once(
    block: Block,
    weights: Floats,
    faults: Floats,
    accuracies: Floats,
    *,
    walk: _Walk,
    ends: Floats,
    ties: Ties,
) -> dict[str, Array]:
    """Return stored decisions on the first tasks, and decide other tasks with the accuracies before their stretch."""
    stretch = (ends <= (block.task_hash / _HASHES)[:, None]).sum(axis=1)
    before = block.to_answers(np.maximum(stretch - 1, 0))
    decisions = _vote(block, accuracies[block.worker, before], ties)
    place = np.searchsorted(walk.key, block.task_hash)
    known = np.searchsorted(walk.key, block.task_hash, "right") > place
    for name, stored in walk.decisions.items():
        decisions[name][known] = stored[place[known]]
    return decisions


def _decide_again(block: Block, weights: Floats, faults: Floats, votes: Floats, *, ties: Ties) -> dict[str, Array]:
    """Decide with the final accuracies."""
    return _vote(block, votes.take(block.worker), ties)
