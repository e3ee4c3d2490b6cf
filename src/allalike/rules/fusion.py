"""Fusion: estimates from groups of objects that exceed a quorum of weight.

Drawings of the same object form a group (`allalike.rules.grouping`). With weights w,

    share(group) = weight of its members / weight of all workers of the task, including those who saw nothing,

and a group is kept if its share exceeds the quorum. A group whose share equals the quorum (up to a relative error of
1e-9) is rejected. The class of an object is the one with the largest weight among its members. Its position is the
middle of its members, as defined by the domain. The results per object are its share (``confidence``), the share of its
class among the members (``class_confidence``), the weighted mean of 1 - similarity to its drawings (``spread``), and
the number of workers (``n_workers``). The confidence of a task is the mean, over all groups, of the share of weight
that agrees with the decision.

**The quorum** can be estimated from the answers. For each worker, the objects that the other workers keep at a quorum
predict this worker's objects. The estimate is the quorum with the best F1 of these predictions, weighted by w:

    T_k(q) = groups of the task whose share among all but k exceeds q
    F(q)   = sum_k w_k 2 |T_k(q) and groups of k| / sum_k w_k (|T_k(q)| + |A_k|)

Both are sums over tasks. If many workers miss objects, the quorum is below one half.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, split_by_task, unknown
from allalike.rules.grouping import GroupedObjects
from allalike.rules.mean import Drawings, draw_largest

QUORUMS = np.arange(5, 13) / 20  # 0.25 to 0.60
_MIDDLE_QUORUM = 0.5
OBJECTS = "objects"  # key of the results per object of an estimated label
NUMBERS = ("confidence", "class_confidence", "spread", "n_workers")  # these results


@dataclass(frozen=True)
class Fusing:
    """Settings of fusion."""

    quorum: float
    middle: Callable[[Drawings, Ties], tuple[Floats, Array]]
    similarity: Callable[[Floats, Floats], Floats]


def fusion(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Keep objects that exceed the quorum, each at the middle of its drawings.

    The block must contain its `GroupedObjects` and its `Fusing`.

    The rule works if objects are well separated, and three or more workers answer each task. It fails if objects are so
    close that drawings of different objects are merged. With two workers, it keeps the intersection or the union.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 0, 4, 4]]), ("bob", 1, [[0, 0, 4, 6], [8, 8, 9, 9]]), ("eve", 1, [[0, 0, 4, 8]])]
    >>> allalike.discover(rows, domain="boxes(rule=fusion)", method="UA").truth["label"][0][0]["y2"]
    6.0
    """
    grouped = block[GroupedObjects]
    weight, total = block.answer_weights(weights)
    share = np.minimum(sum_by(grouped.group, weight[grouped.answer], len(grouped)) / total[grouped.task], 1.0)
    kept = share > block[Fusing].quorum * (1 + TOLERANCE)
    kind, drawn = _vote(block, _own_weights(grouped, weight), ties)
    return put_together(block, weight, kept, kind, share, drawn, ties)


def put_together(
    block: Block, weight: Floats, kept: Array, kind: Array, share: Floats, drawn: Array, ties: Ties
) -> Decision:
    """Return a decision with the objects of the kept groups, given each group's class and share.

    A label is a tuple of objects, which are tuples of their numbers and their class. The `NUMBERS` are kept separately.
    """
    grouped, fusing = block[GroupedObjects], block[Fusing]
    place = np.cumsum(kept) - 1
    members = np.flatnonzero(kept[grouped.group])
    group, task = place[grouped.group[members]], grouped.task[kept]
    own = _own_weights(grouped, weight)[members]
    drawings = Drawings(grouped.geometry[members], own, group.astype(np.intp), block.task_hash[task])
    geometry, between = fusing.middle(drawings, ties)
    mass, kinds = drawings.add(own), kind[kept]
    agreeing = drawings.add(own * (grouped.kind[members] == kinds[group])) / mass
    apart = drawings.add(own * (1 - fusing.similarity(drawings.geometry, geometry[group]))) / mass
    order = np.lexsort((kinds, *geometry.T[::-1], task))
    agreement = np.where(kept, share, 1 - share)
    count = np.bincount(grouped.task, minlength=block.n_tasks)
    sure = sum_by(grouped.task, agreement, block.n_tasks) / np.maximum(count, 1)
    tied = np.zeros(block.n_tasks, np.bool_)
    tied[task[between | drawn[kept]]] = True
    classes = grouped.classes[kinds[order]].tolist()
    things = [(*numbers, name) for numbers, name in zip(geometry[order].tolist(), classes, strict=True)]
    count_drawn = np.bincount(group, minlength=len(task))
    numbers = (share[kept], np.minimum(agreeing, 1.0), np.clip(apart, 0.0, 1.0), count_drawn)
    about = list(zip(*(column[order].tolist() for column in numbers), strict=True))
    return Decision(
        label=split_by_task(things, task[order], block.n_tasks),
        confidence=np.where(count > 0, np.minimum(sure, 1.0), 1.0),
        error=unknown(block.n_tasks),
        tied=tied,
        more={OBJECTS: split_by_task(about, task[order], block.n_tasks)},
    )


def _own_weights(grouped: GroupedObjects, weight: Floats) -> Floats:
    """Return the weight of each object within its group; if all are 0, all objects weigh the same."""
    own = weight[grouped.answer]
    weightless = sum_by(grouped.group, own, len(grouped)) <= 0
    return np.where(weightless[grouped.group], 1.0, own)


def _vote(block: Block, own: Floats, ties: Ties) -> tuple[Array, Array]:
    """Return the class with the largest weight in each group, and whether it was chosen at random among equals."""
    grouped = block[GroupedObjects]
    width = max(len(grouped.classes), 1)
    cells, place = np.unique(grouped.group * width + grouped.kind, return_inverse=True)
    group, kind = np.divmod(cells, width)
    score = sum_by(place, own, len(cells))
    task_hash = block.task_hash[grouped.task[group]]
    chosen, drawn = draw_largest(group, score, task_hash, grouped.class_hash[kind], ties)
    return kind[chosen], drawn


def count_guesses(block: Block, weights: Floats) -> dict[str, Floats]:
    """Sum w 2 |T and own groups| and w (|T| + |A|) per worker for each of `QUORUMS`.

    The block must contain its `GroupedObjects`.
    """
    grouped = block[GroupedObjects]
    weight = weights.take(block.worker)
    others = block.to_answers(block.per_task(weight)) - weight
    heard = (weight > 0) & (others > TOLERANCE * weight)
    seen = sum_by(grouped.group, weight[grouped.answer], len(grouped))
    size = np.bincount(grouped.answer, minlength=len(weight))
    count = np.bincount(grouped.task, minlength=block.n_tasks)
    counts, first = block.to_answers(count), block.to_answers(np.cumsum(count) - count)
    answer = np.repeat(np.arange(len(counts)), counts)  # all pairs of an answer and a group of its task
    group = np.arange(len(answer)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    without, own = seen[grouped.group] - weight[grouped.answer], seen[grouped.group]
    hits, total = np.zeros((2, len(weight), len(QUORUMS)))
    for column, quorum in enumerate(QUORUMS):
        least = quorum * (1 + TOLERANCE) * others
        kept = sum_by(answer, (seen[group] > least[answer]) * 1.0, len(weight))
        agreed = sum_by(grouped.answer, (without > least[grouped.answer]) * 1.0, len(weight))
        joined = sum_by(grouped.answer, (own > least[grouped.answer]) * 1.0, len(weight))
        hits[:, column] = np.where(heard, 2 * weight * agreed, 0.0)
        total[:, column] = np.where(heard, weight * (kept - joined + agreed + size), 0.0)
    per_worker = {}
    for name, each in (("hits", hits), ("total", total)):
        columns = [sum_by(block.worker, column, block.n_workers) for column in each.T]
        per_worker[name] = np.stack(columns, axis=1)
    return per_worker


def count_faults(block: Block, weights: Floats, *, quorum: float) -> dict[str, Floats]:
    """For each worker, sum the support of kept groups in their tasks and of those they missed; count objects."""
    grouped = block[GroupedObjects]
    weight, total = block.answer_weights(weights)
    share = sum_by(grouped.group, weight[grouped.answer], len(grouped)) / total[grouped.task]
    kept = share > quorum * (1 + TOLERANCE)
    worth = np.where(kept, np.minimum(share, 1.0), 0.0)
    asked = block.to_answers(sum_by(grouped.task, worth, block.n_tasks))
    seen = sum_by(grouped.answer, worth[grouped.group], len(weight))
    invented = sum_by(grouped.answer, np.where(kept, 0.0, 1.0)[grouped.group], len(weight))
    drawn = np.bincount(grouped.answer, minlength=len(weight)).astype(np.float64)
    missed = np.where(asked - seen > TOLERANCE * asked, asked - seen, 0.0)
    columns = {"kept": asked, "missed": missed, "invented": invented, "objects": drawn}
    return {name: block.per_worker(values) for name, values in columns.items()}


def choose_quorum(hits: Floats, total: Floats) -> tuple[float, Floats]:
    """Return the best of `QUORUMS` and the F1 of each, given sums over all workers.

    Ties up to a relative error of 1e-9 are resolved in favour of the quorum closest to 1/2, then of the larger one.

    >>> choose_quorum(np.array([0.7, 0.7, 0.7, 0.7, 0.7, 0.6, 0.6, 0.6]), np.ones(8))[0]
    0.45
    >>> choose_quorum(np.zeros(8), np.zeros(8))[0]
    0.5
    """
    curve = np.where(total > 0, hits / np.where(total > 0, total, 1.0), 0.0)
    if not (total > 0).any():
        return _MIDDLE_QUORUM, curve
    best = np.flatnonzero(curve >= curve.max() * (1 - TOLERANCE))
    away = np.abs(QUORUMS[best] - _MIDDLE_QUORUM).round(6)
    return float(QUORUMS[best[np.lexsort((-QUORUMS[best], away))[0]]]), curve
