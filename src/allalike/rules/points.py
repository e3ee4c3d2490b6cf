"""Point majority: all points that more than half of the weight covers, as a union of intervals.

Between two neighbouring boundaries of a task's intervals all points are covered by the same workers. So a sweep over
the boundaries, adding a worker's weight where one of her intervals starts and taking it away where it ends, knows the
weight at every point. The result minimises the weighted sum of lengths of symmetric differences; its boundaries are
boundaries that somebody gave. It may be broken into pieces where workers agree on an object but not on where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, unknown


@dataclass(frozen=True)
class Boundaries:
    """Where the intervals of a block's answers start and end, task after task, from left to right."""

    answer: Array
    turn: Floats
    boundary: npt.NDArray[np.intp]
    task: Array
    place: Floats
    length: Floats


def find_boundaries(block: Block, answer: Array, begin: Floats, end: Floats) -> Boundaries:
    """Number the boundaries of each task from left to right, given the intervals of each answer.

    >>> found = find_boundaries(Block.of([[0], [1]]), np.array([0, 1]), np.array([0.0, 2.0]), np.array([2.0, 5.0]))
    >>> found.boundary, found.turn, found.place, found.length
    (array([0, 1, 1, 2]), array([ 1.,  1., -1., -1.]), array([0., 2., 5.]), array([2., 3., 0.]))
    """
    task = block.task
    turn_answer, place = np.concatenate([answer, answer]), np.concatenate([begin, end])
    turn = np.repeat([1.0, -1.0], len(answer))
    values, rank = np.unique(place, return_inverse=True)
    width = max(len(values), 1)
    points, boundary = np.unique(task[turn_answer] * width + rank, return_inverse=True)
    boundary_task, boundary_rank = np.divmod(points, width)
    boundary_place = values[boundary_rank]
    covered = np.cumsum(np.bincount(boundary, turn, len(points)).astype(np.int64)) > 0
    length = np.where(covered, np.diff(boundary_place, append=boundary_place[-1:]), 0.0)
    return Boundaries(turn_answer, turn, boundary.astype(np.intp), boundary_task, boundary_place, length)


def point_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the points that more than half of the weight covers.

    Points with exactly half of the weight, up to a relative 1e-9, are out; nothing is drawn. Confidence is the share
    of the weight that agrees with the decision on a point, averaged over the points that anyone covered; where nobody
    covered any, it is 1. The block needs its `Boundaries`.

        truth = the points p with sum_i w_i [p in A_i] > sum_i w_i / 2

    It works where answers overlap much. It fails where they agree that something is there and not where: nothing is
    then covered by half of the weight.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4]]), ("bob", 1, [[2, 6]]), ("eve", 1, [[2, 4]])]
    >>> allalike.discover(rows, domain=allalike.Interval(rule="majority"), method="UA").truth["label"].tolist()
    [[[2, 4]]]

    >>> block = Block.of([[0], [1], [2]])  # 0 to 4, 2 to 6, 2 to 4
    >>> found = find_boundaries(block, np.arange(3), np.array([0.0, 2.0, 2.0]), np.array([4.0, 6.0, 4.0]))
    >>> found = point_majority(block.keeping(found), np.array([0.2, 0.5, 0.3]), np.zeros(3), Ties())
    >>> found.label, found.confidence.round(4)
    (array([((2.0, 4.0),)], dtype=object), array([0.7667]))
    """
    bounds = block[Boundaries]
    task, length = bounds.task, bounds.length
    weight, total = block.answer_weights(weights)
    share = (weight / block.to_answers(total))[bounds.answer] * bounds.turn
    covered = _running(sum_by(bounds.boundary, share, len(task)), task)
    inside = (covered > (1 + TOLERANCE) / 2) & (length > 0)
    agreement = np.clip(np.maximum(covered, 1 - covered), 0.0, 1.0)
    whole = sum_by(task, length, block.n_tasks)
    mean = sum_by(task, agreement * length, block.n_tasks) / np.where(whole > 0, whole, 1.0)
    confidence = np.where(whole > 0, np.minimum(mean, 1.0), 1.0)
    return Decision(_unions(block, inside), confidence, unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


def _running(jump: Floats, task: Array) -> Floats:
    """Add up the jumps from left to right, beginning anew with each task."""
    running = np.cumsum(jump)
    before = running - jump
    return running - before[np.searchsorted(task, task)]


def _unions(block: Block, inside: Array) -> Array:
    """Return each task's points that are in, as maximal intervals in their order."""
    place, before = block[Boundaries].place, np.roll(inside, 1)  # to the right of the last, nothing is in
    enters, leaves = inside & ~before, ~inside & before
    pairs = list(zip(place[enters].tolist(), place[leaves].tolist(), strict=True))
    ends = np.cumsum(np.bincount(block[Boundaries].task[enters], minlength=block.n_tasks)).tolist()
    labels = np.empty(block.n_tasks, object)
    for task, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        labels[task] = tuple(pairs[begin:end])
    return labels
