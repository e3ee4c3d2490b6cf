"""Modes of numbers: maxima of the weighted density of a task's answers.

The density at y is sum_b w_b K((y - x_b) / h), with the kernel K(u) = exp(-u^2) / sqrt(2 pi) and the bandwidth h = MAD
+ 1e-10 std of the task's answers (MAD: median absolute deviation from the median). Answers are measured in bandwidths,
so standardising them changes nothing. If all answers are equal, the bandwidth is 0 and the mode is this answer.

Mean-shift starts at an answer and moves repeatedly to the mean of all answers, weighted by w_b K. The shift g always
leads uphill without overshooting, but converges slowly. The slope of g is 2 v - 1, where v is the variance of the
answers under the same weights. The Newton step g / (1 - 2 v) is therefore used, up to a fifth of a bandwidth.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties
from allalike._core.blocks.pairs import Centred
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import median

PEAK = float(1 / np.sqrt(2 * np.pi))  # K(0)
_MIN_BANDWIDTH = 1e-10  # of the standard deviation: the bandwidth if most answers are equal
_ROUNDING_ERROR = 1e-14  # of the numbers: smaller differences are rounding errors
_MAX_STEPS = 2000
_MAX_OVERSHOOT = 0.2  # bandwidths by which a step may exceed the shift, so that no mode is skipped
_SETTLED_STEP = 1e-8  # bandwidths
_MIN_MODE_GAP = 1e-3  # bandwidths between two modes; closer ones are the same
_PAIRS_PER_CHUNK = 1 << 16  # pairs of answers processed at a time; fits into the cache


class Measured(NamedTuple):
    """Each task's median and bandwidth, and each answer's deviation from the median in bandwidths."""

    middle: Floats
    width: Floats
    points: Floats


def measure(block: Block) -> Measured:
    """Measure answers in bandwidths; the width is 0 if all answers to a task are equal.

    >>> measured = measure(Block.of([[1.0, 7.0], [2.0, 7.0], [5.0, 7.0]]))
    >>> measured.middle, measured.width.round(6), measured.points.round(6)
    (array([2., 7.]), array([1., 0.]), array([-1.,  0.,  3.,  0.,  0.,  0.]))
    """
    middle = _median(block, block.label)
    away = block.label - block.to_answers(middle)
    deviation = np.hypot.reduceat(away - block.to_answers(block.per_task(away) / block.sizes), block.starts)
    deviation /= np.sqrt(block.sizes)
    alike = deviation <= _ROUNDING_ERROR * np.abs(middle + (block[Centred].centre if Centred in block else 0.0))
    width = np.where(alike, 0.0, _median(block, np.abs(away)) + _MIN_BANDWIDTH * deviation)
    each = block.to_answers(width)
    return Measured(middle, width, np.where(each > 0, away / np.where(each > 0, each, 1.0), 0.0))


def densities(block: Block, points: Floats, weight: Floats) -> Floats:
    """Return the density at each answer; points are in bandwidths, and weights sum to 1 per task.

    >>> block = Block.of([[0.0], [1.0]])
    >>> (densities(block, block.label, np.array([0.5, 0.5])) / PEAK).round(4)
    array([0.6839, 0.6839])
    """
    density = np.empty(len(points))
    for answers in _same_sized(block):
        density[answers.ravel()] = _Field(points[answers], weight[answers]).density()
    return density


def mode(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the highest mode of the weighted density of all answers.

    Only modes reached from an answer are considered.

    >>> block = Block.of([[1.0], [1.2], [1.4], [9.0]])
    >>> mode(block, np.ones(4), np.zeros(4), Ties()).label.round(6)
    array([1.2])
    """
    weight, total = block.answer_weights(weights)
    measured = measure(block)
    place, height = _climb(block, measured.points, weight / block.to_answers(total))
    winner, drawn = _choose(block, place, height, ties)
    nothing = unknown(block.n_tasks)
    return Decision(measured.middle + measured.width * place[winner], nothing, nothing, drawn)


def _median(block: Block, values: Floats) -> Floats:
    one, nothing = np.ones(block.n_workers), np.zeros(block.n_workers)
    return median(replace(block, label=values), one, nothing, Ties()).label


def _same_sized(block: Block) -> Iterator[Array]:
    """Yield the indices of the answers to tasks with equal numbers of answers, one row per task."""
    for size in np.unique(block.sizes):
        yield block.starts[block.sizes == size][:, None] + np.arange(size)


class _Field(NamedTuple):
    """The answers to some tasks with their weights, one row per task. Indices refer to the flattened rows."""

    points: Floats
    weight: Floats

    def density(self) -> Floats:
        """Return the density at every answer."""
        points = self.points.ravel()
        parts = [self.around(which, points[which])[1].sum(axis=1) for which in self.pieces(np.arange(len(points)))]
        density: Floats = PEAK * np.concatenate(parts)
        return density

    def climb(self) -> tuple[Floats, Floats]:
        """Climb from every answer to a mode of the density; return modes and densities."""
        place, height = self.points.flatten(), np.empty(self.points.size)
        going = np.arange(len(place))
        for number in range(_MAX_STEPS):
            longest = _MAX_OVERSHOOT / (1 + number / 20)  # decreases, so that no answer oscillates forever
            parts = [self.step(which, place[which], longest) for which in self.pieces(going)]
            step, height[going] = np.concatenate(parts, axis=1)
            place[going] += step
            going = going[np.abs(step) > _SETTLED_STEP + np.spacing(np.abs(place[going]))]
            if not len(going):
                break
        return place, height

    def step(self, which: Array, place: Floats, longest: float) -> Floats:
        """Return the next step of these answers from their current positions, and the density there."""
        away, share = self.around(which, place)
        total = share.sum(axis=1)
        mass = np.where(total > 0, total, 1.0)
        shift = np.einsum("ij,ij->i", share, away) / mass
        away *= away
        fall = 1 - 2 * (np.einsum("ij,ij->i", share, away) / mass - np.square(shift))
        near = np.abs(shift) < longest * fall
        towards = np.sign(shift) * np.maximum(np.abs(shift), longest)
        return np.stack([np.where(near, shift / np.where(near, fall, 1.0), towards), PEAK * total])

    def around(self, which: Array, place: Floats) -> tuple[Floats, Floats]:
        """Return the differences between the task's answers and each of these points, and their weights there."""
        task = which // self.points.shape[1]
        away = self.points[task]
        away -= place[:, None]
        share = np.square(away)
        np.negative(share, out=share)
        np.exp(share, out=share)
        share *= self.weight[task]
        return away, share

    def pieces(self, which: Array) -> list[Array]:
        """Split a list of answers into pieces that fit into the cache."""
        return np.array_split(which, 1 + len(which) * self.points.shape[1] // _PAIRS_PER_CHUNK)


def _climb(block: Block, points: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the mode reached from each answer, and the density there."""
    place, height = np.empty(len(points)), np.empty(len(points))
    for answers in _same_sized(block):
        place[answers.ravel()], height[answers.ravel()] = _Field(points[answers], weight[answers]).climb()
    return place, height


def _choose(block: Block, place: Floats, height: Floats, ties: Ties) -> tuple[Array, Array]:
    """Return an answer per task that leads to the highest mode, and whether it was chosen at random among equals."""
    task = block.task
    number = _number(block, task, place)
    leads = height >= block.to_answers(np.maximum.reduceat(height, block.starts)) * (1 - TOLERANCE)
    priority = ties.priority(block.task_hash[task], number.astype(np.uint64), number)
    winner = np.lexsort((priority, ~leads, task))[block.starts]
    others = leads & (number != block.to_answers(number[winner]))
    return winner, block.per_task(others.astype(np.float64)) > 0


def _number(block: Block, task: Array, place: Floats) -> Array:
    """Number the modes of each task in ascending order, which is robust to rounding."""
    order = np.lexsort((place, task))
    new = np.diff(place[order], prepend=0.0) > _MIN_MODE_GAP
    new[block.starts] = False
    number = np.empty(len(task), np.int64)
    number[order] = np.cumsum(new)
    return number - block.to_answers(number[order[block.starts]])
