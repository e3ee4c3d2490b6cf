"""Fusion: the objects that enough of the weight has seen, each in the middle of its drawings.

Objects of different answers that are the same thing form a group (`allalike.rules.grouping`). With weights w,

    share(group) = weight of its members / weight of all who answered the task, also of those who saw nothing,

and a group is kept if its share exceeds the quorum; with exactly the quorum, up to a relative 1e-9, it is out, and
nothing is drawn. The class of what is kept is that with the largest weight among the members, and where it is, is the
middle of the members, as its domain defines it. Of each object it is told how sure it is (``confidence``, its share),
how sure its class is (``class_confidence``, the weight of that class among the members), how far its drawings are from
it (``spread``, the weighted mean of 1 - similarity), and how many saw it (``n_workers``). The confidence of a task is
the mean over all its groups of the share that agrees with the decision on it.

**The quorum** can be chosen by the answers alone. What the others of a worker's task keep at a quorum is a guess of
what they have seen; the quorum at which these guesses have the best F1, weighted by w, is taken:

    T_k(q) = groups of the task whose share among all but k exceeds q
    F(q)   = sum_k w_k 2 |T_k(q) and groups of k| / sum_k w_k (|T_k(q)| + |A_k|)

Both are sums over tasks. Where many workers overlook things, it is below one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, split_by_task, unknown
from allalike.rules.grouping import GroupedObjects
from allalike.rules.mean import Drawings, draw_largest

if TYPE_CHECKING:
    from collections.abc import Callable

QUORUMS = np.arange(5, 13) / 20  # 0.25 to 0.60
_MIDDLE_QUORUM = 0.5
OBJECTS = "objects"  # the name of what was found about each object of an estimated label
NUMBERS = ("confidence", "class_confidence", "spread", "n_workers")  # what is told of each


@dataclass(frozen=True)
class Fusing:
    """How the objects of a block are fused."""

    quorum: float
    middle: Callable[[Drawings, Ties], tuple[Floats, Array]]
    similarity: Callable[[Floats, Floats], Floats]


def fusion(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Keep what more than the quorum has seen, each in the middle of its drawings.

    The block needs its `GroupedObjects` and its `Fusing`.

    It works where things stand apart and three or more workers look. It fails where things are so close that
    drawings of two are taken for one, and of two workers it keeps either what both saw or what anyone saw.

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
    """Make objects of the groups that are kept, given each group's class, and the share of those who saw it.

    A label is a tuple of objects: tuples of their numbers and their class. Beside it are the `NUMBERS` of each.
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
    """Return the weight of each object among those of its group; where all are 0, they count the same."""
    own = weight[grouped.answer]
    weightless = sum_by(grouped.group, own, len(grouped)) <= 0
    return np.where(weightless[grouped.group], 1.0, own)


def _vote(block: Block, own: Floats, ties: Ties) -> tuple[Array, Array]:
    """Return each group's class with the largest weight, and whether it was drawn among equals."""
    grouped = block[GroupedObjects]
    width = max(len(grouped.classes), 1)
    cells, place = np.unique(grouped.group * width + grouped.kind, return_inverse=True)
    group, kind = np.divmod(cells, width)
    score = sum_by(place, own, len(cells))
    task_hash = block.task_hash[grouped.task[group]]
    chosen, drawn = draw_largest(group, score, task_hash, grouped.class_hash[kind], ties)
    return kind[chosen], drawn


def count_guesses(block: Block, weights: Floats) -> dict[str, Floats]:
    """Sum, per worker and for each of `QUORUMS`, w 2 |T and groups of theirs| and w (|T| + |A|).

    The block needs its `GroupedObjects`.
    """
    grouped = block[GroupedObjects]
    weight = weights.take(block.worker)
    others = block.to_answers(block.per_task(weight)) - weight
    heard = (weight > 0) & (others > TOLERANCE * weight)
    seen = sum_by(grouped.group, weight[grouped.answer], len(grouped))
    size = np.bincount(grouped.answer, minlength=len(weight))
    count = np.bincount(grouped.task, minlength=block.n_tasks)
    answer, group = _meetings(block, count)
    without, own = seen[grouped.group] - weight[grouped.answer], seen[grouped.group]
    hits, total = np.zeros((2, len(weight), len(QUORUMS)))
    for column, quorum in enumerate(QUORUMS):
        least = quorum * (1 + TOLERANCE) * others
        kept = sum_by(answer, (seen[group] > least[answer]) * 1.0, len(weight))
        agreed = sum_by(grouped.answer, (without > least[grouped.answer]) * 1.0, len(weight))
        with_her = sum_by(grouped.answer, (own > least[grouped.answer]) * 1.0, len(weight))
        hits[:, column] = np.where(heard, 2 * weight * agreed, 0.0)
        total[:, column] = np.where(heard, weight * (kept - with_her + agreed + size), 0.0)
    per_worker = {}
    for name, each in (("hits", hits), ("total", total)):
        columns = [sum_by(block.worker, column, block.n_workers) for column in each.T]
        per_worker[name] = np.stack(columns, axis=1)
    return per_worker


def _meetings(block: Block, count: Array) -> tuple[Array, Array]:
    """Return all pairs of an answer and a group of its task; groups are numbered task after task."""
    counts, first = block.to_answers(count), block.to_answers(np.cumsum(count) - count)
    answer = np.repeat(np.arange(len(counts)), counts)
    return answer, np.arange(len(answer)) + np.repeat(first - (np.cumsum(counts) - counts), counts)


def choose_quorum(hits: Floats, total: Floats) -> tuple[float, Floats]:
    """Return the best of `QUORUMS` and the F1 of each, from sums over all workers.

    Of those that are equal up to a relative 1e-9, the nearest to one half is taken, and then the larger.

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
