"""Geometric median of vectors.

The geometric median minimises the weighted sum of distances sum_j w_j |x_j - z| instead of squared distances, so
outliers with less than half of the weight cannot move it arbitrarily far. Weiszfeld (1937) computes it by repeated
weighted means

    z' = sum_j (w_j / d_j) x_j / sum_j (w_j / d_j),   d_j = |x_j - z|,

which are undefined if z equals an answer. The standard solution (Vardi and Zhang 2000) is as follows. Let c be an
answer, eta the weight of all answers equal to it, and R = sum_{x_j != c} w_j (x_j - c) / |x_j - c| the pull of the
others. If |R| <= eta, c is the median. Otherwise the step towards the others is shortened by the factor 1 - eta / |R|.

Steps become small near answers, and if all answers are almost collinear. Every round therefore also tries the answer
closest to z, and an extrapolation from two steps (Aitken).

The median is unique unless the answers are collinear. For collinear answers it is the weighted median along the line.
If that median is an interval, its midpoint is used, as for numbers.
"""

from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import find_halves

_MAX_ROUNDS = 1000  # most tasks need ten
_ROUNDING_ERROR = 1e-12
_COORDINATES_PER_CHUNK = 1 << 19  # coordinates processed at a time; fits into the cache
_SETTLED_STEP = 1e-13  # step length at convergence, relative to the scatter of answers
_LEAST_EXPONENT = -400  # of two; squares of smaller numbers underflow


def geometric_median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the vector with the smallest weighted sum of distances to the answers.

    The rule works if some answers are far off. It fails to be efficient for Gaussian errors, and need not be unique on
    a line.

    >>> import allalike
    >>> rows = [("ada", 1, [0.0, 0.0]), ("bob", 1, [0.0, 0.0]), ("eve", 1, [90.0, 90.0])]
    >>> found = allalike.discover(rows, domain=allalike.Vector(rule="geometric median"), method="UA").truth
    >>> found["label"].tolist()
    [[0.0, 0.0]]

    >>> from dataclasses import replace
    >>> block = replace(Block.of([[0], [1], [2], [3]]), label=np.array([[0.0, 0], [4, 0], [0, 4], [4, 4]]))
    >>> geometric_median(block, np.ones(4), np.zeros(4), Ties()).label
    array([[2., 2.]])
    >>> geometric_median(block, np.array([3.0, 1, 1, 1]), np.zeros(4), Ties()).label
    array([[0., 0.]])
    >>> geometric_median(block, np.array([1.0, 0, 0, 1]), np.zeros(4), Ties()).label
    array([[2., 2.]])
    """
    weight, total = block.answer_weights(weights)
    weight = weight / block.to_answers(total)
    ends = np.append(block.starts, len(weight))
    label = block.per_task(weight[:, None] * block.label)
    for tasks in np.array_split(
        np.arange(block.n_tasks), 1 + min(block.label.size // _COORDINATES_PER_CHUNK, block.n_tasks - 1)
    ):
        here = slice(ends[tasks[0]], ends[tasks[-1] + 1])
        label[tasks] = _medians(block.label[here], weight[here], block.sizes[tasks], label[tasks])
    nothing = unknown(block.n_tasks)
    return Decision(label, nothing, nothing, np.zeros(block.n_tasks, np.bool_))


def _medians(points: Floats, weight: Floats, sizes: Array, label: Floats) -> Floats:
    """Return the medians of tasks, starting from initial labels; converged tasks are skipped."""
    task, starts = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes) - sizes
    exponent = np.frexp(np.maximum.reduceat(np.abs(points).max(axis=1), starts))[1]
    small = np.where(exponent < _LEAST_EXPONENT, exponent, 0)[:, None]
    if small.any():
        scaled = _medians(np.ldexp(points, -small[task]), weight, sizes, np.ldexp(label, -small))
        return np.asarray(np.ldexp(scaled, small))
    scatter = np.maximum.reduceat(_length(points - label[task]), starts)
    straight, middle = _find_on_lines(points, weight, task, starts)
    label = np.where(straight[:, None], middle, label)
    going = (scatter > 0) & ~straight
    for _ in range(_MAX_ROUNDS):
        if not going.any():
            break
        here, left = going[task], sizes[going]
        field = _Field(points[here], weight[here], np.repeat(np.arange(len(left)), left), np.cumsum(left) - left)
        label[going], settled = _round(field, label[going], _SETTLED_STEP * scatter[going])
        going[going] = ~settled
    return label


def _find_on_lines(points: Floats, weight: Floats, task: Array, starts: Array) -> tuple[Array, Floats]:
    """Return which tasks have collinear answers, and the midpoints of their medians."""
    heard = weight > 0
    away = points - points[np.maximum.reduceat(np.where(heard, np.arange(len(task)), 0), starts)][task]
    length = np.where(heard, _length(away), 0.0)
    farthest = np.lexsort((-length, task))[starts]
    size = length[farthest]
    direction = away[farthest] / np.where(size > 0, size, 1.0)[:, None]
    along = np.einsum("ij,ij->i", away, direction[task])
    aside = np.where(heard, _length(away - along[:, None] * direction[task]), 0.0)
    straight = np.maximum.reduceat(aside, starts) <= TOLERANCE * size
    order, total = np.lexsort((along, task)), np.add.reduceat(weight, starts)
    lower, upper = find_halves(weight[order], total, starts, lambda each: each[task])
    return straight, np.asarray(points[order[lower]] / 2 + points[order[upper]] / 2)


class _Forces(NamedTuple):
    """Forces on a label per task: R and eta, the sum of w/d, the cost that the median minimises, and the unrest.

    Unrest is |R| - eta if positive, otherwise 0: the pull beyond the force that keeps the label in its place.
    """

    pull: Floats
    own: Floats
    slope: Floats
    cost: Floats
    unrest: Floats


class _Field(NamedTuple):
    """Answers with weights, which attract a label."""

    points: Floats
    weight: Floats
    task: Array
    starts: Array

    def forces(self, label: Floats) -> _Forces:
        """Return the forces on a label of each task."""
        away = self.points - label[self.task]
        length = _length(away)
        here = length == 0
        inverse = np.where(here, 0.0, self.weight) / np.where(here, 1.0, length)
        away *= inverse[:, None]
        pull = np.add.reduceat(away, self.starts, axis=0)
        each = np.stack([np.where(here, self.weight, 0.0), inverse, self.weight * length])
        own, slope, cost = np.add.reduceat(each, self.starts, axis=1)
        return _Forces(pull, own, slope, cost, np.maximum(_length(pull) - own * (1 + _ROUNDING_ERROR), 0.0))

    def nearest(self, label: Floats) -> Floats:
        """Return the answer that is closest to a label of each task."""
        length = _length(self.points - label[self.task])
        return np.asarray(self.points[np.lexsort((length, self.task))[self.starts]])


def _round(field: _Field, label: Floats, shortest: Floats) -> tuple[Floats, Array]:
    """Return the tasks' next labels, and whether each has converged."""
    first = _step(field.forces(label))
    second = _step(field.forces(label + first))
    label = label + first + second
    square = np.square(_length(first))
    ratio = np.einsum("ij,ij->i", first, second) / np.where(square > 0, square, 1.0)
    ahead = label + second * (ratio / np.maximum(1 - ratio, _ROUNDING_ERROR))[:, None]
    old, new = field.forces(label), field.forces(ahead)
    better = (new.unrest < old.unrest) & (new.cost <= old.cost * (1 + 1e-14))
    label = np.where(better[:, None], ahead, label)
    answer = field.nearest(label)
    found = field.forces(answer).unrest <= 0
    return np.where(found[:, None], answer, label), found | (_length(second) <= shortest)


def _step(forces: _Forces) -> Floats:
    """Return Weiszfeld's step, shortened at answers as by Vardi and Zhang."""
    force = _length(forces.pull)
    kept = np.maximum(0.0, 1 - forces.own / np.where(force > 0, force, 1.0))
    return np.asarray(forces.pull * (kept / np.where(forces.slope > 0, forces.slope, 1.0))[:, None])


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
