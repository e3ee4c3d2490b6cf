"""Majority of parts: elements, points or pixels contained in answers with more than half of the weight.

Each part is a separate yes-or-no vote. The result minimises the weighted sum of symmetric differences. It need not
equal any answer, nor be connected. It is small if workers name different parts of a large set.

Between two adjacent boundaries of a task's intervals, all points are covered by the same workers. A sweep over the
boundaries adds a worker's weight at each start of their intervals and subtracts it at each end, which gives the weight
at every point. For masks, only bytes that differ are unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, split_by_task, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.masks import Mask

_BYTES_PER_CHUNK = 1 << 13


@dataclass(frozen=True)
class NamedElements:
    """The elements in the answers of a block, grouped by task and element."""

    answer: Array
    group: npt.NDArray[np.intp]
    task: Array
    element: Array
    elements: npt.NDArray[np.object_]


def name_elements(block: Block, answer: Array, code: Array, elements: Sequence[object]) -> NamedElements:
    """Number the pairs of task and element, given the answer and code of each named element."""
    task = block.task
    width = max(len(elements), 1)
    pairs, group = np.unique(task[answer] * width + code, return_inverse=True)
    group_task, group_element = np.divmod(pairs, width)
    named, group_element = np.unique(group_element, return_inverse=True)
    occurring = np.fromiter((elements[place] for place in named), object, len(named))
    return NamedElements(answer, group.astype(np.intp), group_task, group_element, occurring)


def element_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the elements named by more than half of the weight.

    Elements with exactly half of the weight, up to a relative error of 1e-9, are excluded without a random draw.
    Confidence is the mean, over all named elements, of the share of weight that agrees with the decision. It is 1 if no
    element is named. The block must contain its `NamedElements`.

        truth = the elements e with sum_i w_i [e in A_i] > sum_i w_i / 2

    The rule works if workers consider all elements. It fails if each worker names a few of many correct elements,
    because none of them reaches half of the weight.

    >>> import allalike
    >>> rows = [("ada", 1, ["cat", "dog"]), ("bob", 1, ["dog"]), ("eve", 1, ["cow"])]
    >>> allalike.discover(rows, domain=allalike.Set(rule="majority"), method="UA").truth["label"].tolist()
    [['dog']]
    """
    named = block[NamedElements]
    weight, total = block.answer_weights(weights)
    share = sum_by(named.group, weight[named.answer], len(named.task)) / total[named.task]
    inside = share > (1 + TOLERANCE) / 2
    label = split_by_task(named.elements[named.element[inside]].tolist(), named.task[inside], block.n_tasks)
    return _decide(block, label, named.task, share, np.ones(len(share)))


@dataclass(frozen=True)
class Boundaries:
    """The sorted interval boundaries of a block's tasks."""

    answer: Array
    turn: Floats
    boundary: npt.NDArray[np.intp]
    task: Array
    place: Floats
    length: Floats


def find_boundaries(block: Block, answer: Array, begin: Floats, end: Floats) -> Boundaries:
    """Number the boundaries of each task from left to right, given the intervals of each answer."""
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
    """Return the points covered by more than half of the weight.

    Points with exactly half of the weight, up to a relative error of 1e-9, are excluded without a random draw.
    Confidence is the mean, over all covered points, of the share of weight that agrees with the decision. It is 1 if no
    point is covered. The block must contain its `Boundaries`.

        truth = the points p with sum_i w_i [p in A_i] > sum_i w_i / 2

    The rule works if answers overlap substantially. It fails if workers agree on the existence of an event but not on
    its position, because no point reaches half of the weight.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4]]), ("bob", 1, [[2, 6]]), ("eve", 1, [[2, 4]])]
    >>> allalike.discover(rows, domain=allalike.Interval(rule="majority"), method="UA").truth["label"].tolist()
    [[[2, 4]]]
    """
    bounds = block[Boundaries]
    task, length = bounds.task, bounds.length
    weight, total = block.answer_weights(weights)
    share = (weight / block.to_answers(total))[bounds.answer] * bounds.turn
    jump = sum_by(bounds.boundary, share, len(task))
    running = np.cumsum(jump)
    covered = running - (running - jump)[np.searchsorted(task, task)]
    inside = (covered > (1 + TOLERANCE) / 2) & (length > 0)
    before = np.roll(inside, 1)  # nothing is inside after the last boundary
    enters, leaves = inside & ~before, ~inside & before
    pairs = list(zip(bounds.place[enters].tolist(), bounds.place[leaves].tolist(), strict=True))
    return _decide(block, split_by_task(pairs, task[enters], block.n_tasks), task, covered, length)


def _decide(block: Block, label: Array, task: Array, share: Floats, size: Floats) -> Decision:
    """Return labels with their mean agreement as confidence, given the share and size of each part."""
    agreement = np.clip(np.maximum(share, 1 - share), 0.0, 1.0)
    whole = sum_by(task, size, block.n_tasks)
    mean = sum_by(task, agreement * size, block.n_tasks) / np.where(whole > 0, whole, 1.0)
    confidence = np.where(whole > 0, np.minimum(mean, 1.0), 1.0)
    return Decision(label, confidence, unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


@dataclass(frozen=True)
class AnswerMasks:
    """The mask of each answer."""

    masks: npt.NDArray[np.object_]


def pixel_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the pixels that are on in more than half of the task's weight; exactly half is off.

    Confidence is the mean, over all pixels that are on in a mask with positive weight, of the share of weight that
    agrees with the decision. It is 1 if there are no such pixels. The block must contain its `AnswerMasks`.

        on = the pixels p with sum_i w_i [p in mask i] > sum_i w_i / 2

    The rule works if masks overlap substantially. It fails for thin structures, because each pixel may be covered by
    fewer than half of the masks: the estimate is then broken or empty.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 1, 1]]), ("bob", 1, [[0, 1, 1]]), ("eve", 1, [[1, 1, 0]])]
    >>> allalike.discover(rows, domain=allalike.Bitmap(rule="majority"), method="UA").truth["label"][0].astype(int)
    array([[0, 1, 1]])
    """
    weight, _ = block.answer_weights(weights)
    masks = block[AnswerMasks].masks
    label, confidence = np.empty(block.n_tasks, object), np.empty(block.n_tasks)
    for task, (start, size) in enumerate(zip(block.starts, block.sizes, strict=True)):
        answers = slice(start, start + size)
        label[task], confidence[task] = _decide_pixels(list(masks[answers]), weight[answers])
    return Decision(label, confidence, unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


def _decide_pixels(masks: list[Mask], weight: Floats) -> tuple[Mask, float]:
    """Estimate the mask of one task, and the share of weight that agrees with it."""
    from allalike._core.masks import Mask, lay_over

    heard = np.flatnonzero(weight > 0)
    stack, (top, bottom, begin, end) = lay_over([masks[i] for i in heard])
    layers, share = stack.reshape(len(heard), -1), weight[heard] / weight[heard].sum()
    every, some = np.bitwise_and.reduce(layers, axis=0), np.bitwise_or.reduce(layers, axis=0)
    found, agreement = every.copy(), float(np.bitwise_count(every).sum())
    disputed = np.flatnonzero(every != some)
    for start in range(0, len(disputed), _BYTES_PER_CHUNK):
        place = disputed[start : start + _BYTES_PER_CHUNK]
        on = np.zeros(8 * len(place))
        for layer, part in zip(layers, share, strict=True):
            on += part * np.unpackbits(layer[place])
        major = on > 0.5 * (1 + TOLERANCE)
        found[place] = np.packbits(major)
        counts = np.unpackbits(every[place] ^ some[place]).view(np.bool_)
        agreement += float(np.where(major, on, 1 - on)[counts].sum())
    area = int(np.bitwise_count(some).sum())
    confidence = min(agreement / area, 1.0) if area else 1.0
    drawn = Mask.of(np.unpackbits(found.reshape(bottom - top, end - begin), axis=1).view(np.bool_))
    return drawn.placed(masks[0].height, masks[0].width, top, 8 * begin, masks[0].grid), confidence
