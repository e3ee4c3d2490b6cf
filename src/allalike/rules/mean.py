"""Weighted means and medians of numbers, directions and positions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Order, Ties, find_order, sum_by
from allalike._core.blocks.pairs import Centred
from allalike._core.columns.hashes import mix
from allalike.rules.base import Decision, unknown

_NO_DIRECTION = 1e-9  # of the radius: shorter means have no direction


def mean(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the weighted mean of numbers or vectors.

    Its standard error follows from the faults, interpreted as variances of independent errors and summed over
    coordinates: sqrt(sum_i w_i^2 f_i) / sum_i w_i.

        z = sum_i w_i x_i / sum_i w_i

    The rule works for Gaussian errors: with weights 1/f no other unbiased weighted sum has a smaller variance (Aitken
    1935). It fails if there are outliers, because a single one can move the mean arbitrarily far.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 22.0)]
    >>> allalike.discover(rows, domain=allalike.Real(rule="mean"), method="UA").truth["label"].tolist()
    [21.0]

    >>> found = mean(Block.of([[1.0], [4.0]]), np.array([2.0, 1.0]), np.array([1.0, 5.0]), Ties())
    >>> found.label, found.error
    (array([2.]), array([1.]))
    """
    weight, total = block.answer_weights(weights)
    variance = np.maximum(faults, 0.0)[block.worker]
    error = np.sqrt(block.per_task(np.square(weight) * variance)) / total
    return Decision(
        weighted_mean(block, weight, total), unknown(block.n_tasks), error, np.zeros(block.n_tasks, np.bool_)
    )


def weighted_mean(block: Block, weight: Floats, total: Floats) -> Floats:
    """Return each task's weighted mean label, given the weight of each answer and the total per task."""
    vectors = block.label.ndim > 1
    sums = block.per_task((weight[:, None] if vectors else weight) * block.label)
    return np.asarray(sums / (total[:, None] if vectors else total))


def direction(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the direction of the weighted mean of the points on the circle; its length is the confidence.

    If the mean has no direction, one of the answers is chosen at random. Labels of the block are centred points. The
    rule works for errors that are symmetric on the circle. It fails if answers point in opposite directions.

        (C, S) = sum_i w_i (cos a_i, sin a_i) / sum_i w_i,   truth = atan2(S, C),   confidence = sqrt(C^2 + S^2)

    >>> import allalike
    >>> rows = [("ada", 1, 350), ("bob", 1, 10)]
    >>> allalike.discover(rows, domain=allalike.Circular(period=360), method="UA").truth["label"].tolist()
    [0.0]
    """
    weight, total = block.answer_weights(weights)
    label, length, lost = project(block, weighted_mean(block, weight, total), 0.5, ties)
    return Decision(label, np.minimum(length, 1.0), unknown(block.n_tasks), lost)


def project(block: Block, middle: Floats, radius: float, ties: Ties) -> tuple[Floats, Floats, Array]:
    """Return the points of a circle or sphere in the direction of centred means, the lengths of these, and draws.

    Lengths are relative to the radius. If a mean has no direction, one of the answers is drawn.
    """
    centre = block[Centred].centre
    point = middle + centre
    length = np.linalg.norm(point, axis=1) / radius
    lost = length < _NO_DIRECTION
    label = point / np.where(lost, 1.0, length)[:, None] - centre
    if lost.any():
        points = block[Centred].answers(block, np.arange(len(block.label)))
        order = np.argsort(np.argsort(angles_of(points)))
        priority = ties.priority(block.to_answers(block.task_hash), hash_rows(points), order)
        drawn = np.lexsort((priority, block.task))[block.starts]
        label = np.where(lost[:, None], block.label[drawn], label)
    return label, length, lost


def angles_of(points: Floats) -> Floats:
    """Return the angles of points in the plane of the first two axes, from 0 to 2 pi."""
    return np.asarray(np.arctan2(points[:, 1], points[:, 0]) % (2 * np.pi))


def median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the weighted median, which has at most half of the weight on either side, or the midpoint of two medians.

    With equal weights it is the ordinary median.

        z with sum_i w_i [x_i < z] <= W/2 and sum_i w_i [x_i > z] <= W/2,   W = sum_i w_i

    It minimises the weighted sum of |x_i - z|. The rule works if less than half of the weight is far off. It fails to
    be efficient for Gaussian errors: it then needs about one and a half times as many answers as the mean.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 400.0)]
    >>> allalike.discover(rows, domain=allalike.Real(rule="median"), method="UA").truth["label"].tolist()
    [21.0]

    >>> median(Block.of([[1.0, 1.0], [2.0, 2.0], [9.0, 9.0]]), np.array([0.2, 0.2, 0.6]), np.zeros(3), Ties()).label
    array([9., 9.])
    >>> median(Block.of([[1.0], [2.0]]), np.ones(2), np.zeros(2), Ties()).label
    array([1.5])
    """
    weight, total = block.answer_weights(weights)
    order = (block[Order] if Order in block else find_order(block)).rows
    label, weight = block.label[order], weight[order]
    lower, upper = find_halves(weight, total, block.starts, block.to_answers)
    nothing = unknown(block.n_tasks)
    return Decision((label[lower] + label[upper]) / 2, nothing, nothing, np.zeros(block.n_tasks, np.bool_))


def find_halves(
    weight: Floats, total: Floats, starts: Array, to_answers: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Return the indices of the lowest and highest weighted median of each segment of sorted numbers."""
    running = np.cumsum(weight)
    running -= to_answers(running[starts] - weight[starts])
    half = to_answers(total / 2)
    below = np.add.reduceat(running < half * (1 - TOLERANCE), starts, dtype=np.int64)
    reached = np.add.reduceat(running <= half * (1 + TOLERANCE), starts, dtype=np.int64)
    return starts + below, starts + reached


class Drawings(NamedTuple):
    """The members of groups whose middles are computed."""

    geometry: Floats
    weight: Floats
    group: npt.NDArray[np.intp]
    task_hash: npt.NDArray[np.uint64]

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.task_hash)

    def add(self, values: Floats) -> Floats:
        """Sum one number per member over each group."""
        return sum_by(self.group, values, self.n_groups)


def average(drawings: Drawings, values: Floats) -> Floats:
    """Return the weighted mean of each group's numbers, which is exact if all are equal.

    >>> group, hashes = np.array([0, 0, 1]), np.zeros(2, np.uint64)
    >>> drawings = Drawings(np.empty((3, 0)), np.array([1.0, 3.0, 2.0]), group, hashes)
    >>> average(drawings, np.array([0.0, 4.0, 0.1]))
    array([3. , 0.1])
    """
    least = np.full(drawings.n_groups, np.inf)
    np.minimum.at(least, drawings.group, values)
    beyond = drawings.add(drawings.weight * (values - least[drawings.group]))
    return np.asarray(least + beyond / drawings.add(drawings.weight))


def take_most_frequent(drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
    """Return the row of numbers with the largest weight in each group, and whether it was chosen at random.

    >>> group, hashes = np.array([0, 0, 0]), np.zeros(1, np.uint64)
    >>> drawings = Drawings(np.array([[0.0, 4.0], [0.0, 5.0], [0.0, 5.0]]), np.array([0.6, 0.5, 0.5]), group, hashes)
    >>> take_most_frequent(drawings, Ties())
    (array([[0., 5.]]), array([False]))
    """
    order = np.lexsort((*drawings.geometry.T[::-1], drawings.group))
    geometry, group = drawings.geometry[order], drawings.group[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (group[1:] != group[:-1]) | (geometry[1:] != geometry[:-1]).any(axis=1)
    geometry, group = geometry[new], group[new]
    score = sum_by(np.cumsum(new) - 1, drawings.weight[order], len(group))
    largest, drawn = draw_largest(group, score, drawings.task_hash[group], hash_rows(geometry), ties)
    return geometry[largest], drawn


def hash_rows(numbers: Floats) -> npt.NDArray[np.uint64]:
    """Hash each row of numbers, independently of the machine and the process."""
    hashes = np.zeros(len(numbers), np.uint64)
    for bits in np.ascontiguousarray(numbers.T).view(np.uint64):
        hashes = mix(hashes + np.uint64(1) ^ bits)
    return hashes


def draw_largest(
    group: Array,
    score: Floats,
    task_hash: npt.NDArray[np.uint64],
    label_hash: npt.NDArray[np.uint64],
    ties: Ties,
    order: Array | None = None,
) -> tuple[Array, Array]:
    """Return the index of the largest score of each group, and whether it was chosen at random among equals.

    Scores are sorted by group. Ties are broken by hashes; ``order`` is the order of the first one.
    """
    first = np.flatnonzero(np.diff(group, prepend=-1))
    number = np.cumsum(np.diff(group, prepend=-1) != 0) - 1
    best = np.maximum.reduceat(score, first) if len(first) else score
    leads = np.flatnonzero(score >= best[number] * (1 - TOLERANCE))
    rank = ties.priority(task_hash[leads], label_hash[leads], leads if order is None else order[leads])
    ranked = np.lexsort((rank, number[leads]))
    taken = ranked[np.flatnonzero(np.diff(number[leads][ranked], prepend=-1))]
    return leads[taken], np.bincount(number[leads], minlength=len(first)) > 1
