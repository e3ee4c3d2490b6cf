"""Votes: the label behind which the most weight stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, LabelGroups, Ties, sum_by
from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from allalike._core.masks import Mask


def plurality(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the label with the largest weight.

    Confidence is that label's share of the task's weight. Labels whose weights are equal up to a relative 1e-9 are
    tied, and `Ties` draws one. The block needs its `LabelGroups`.

        label = the l with the largest sum_i w_i [x_i = l]

    If workers err independently, all wrong classes are as probable and weights are log odds, it is the most probable
    class (Nitzan and Paroush 1982). It works with any number of classes. It fails where one class is so frequent that
    it wins whatever is shown; methods with a confusion for each worker decide by probabilities instead.

    >>> import allalike
    >>> rows = [("ada", 1, "cat"), ("bob", 1, "dog"), ("eve", 1, "cat")]
    >>> allalike.discover(rows, domain=allalike.Categorical(rule="plurality"), method="UA").truth["label"].tolist()
    ['cat']

    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0, 0], [0, 1], [1, 1]])
    >>> block = block.keeping(group_labels(block, np.array([5, 6], np.uint64)))
    >>> found = plurality(block, np.array([0.5, 0.2, 0.3]), np.zeros(3), Ties(first=True))
    >>> found.label, found.confidence, found.tied
    (array([0, 0], dtype=int32), array([0.7, 0.5]), array([False,  True]))
    """
    weight, total = block.answer_weights(weights)
    groups = block[LabelGroups]
    score = sum_by(groups.group, weight, len(groups))
    winner, tied = leading(block, score, ties)
    return Decision(groups.label[winner], np.minimum(score[winner] / total, 1.0), unknown(block.n_tasks), tied)


def leading(block: Block, score: Floats, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return, per task, its group of labels with the largest score, and whether it was drawn among equals."""
    groups = block[LabelGroups]
    best = np.maximum.reduceat(score, groups.first)
    leaders = np.flatnonzero(score >= (best - TOLERANCE * np.abs(best))[groups.task])
    chosen, tied = pick(block, groups.task[leaders], groups.label[leaders], ties)
    return leaders[chosen], tied


def pick(block: Block, task: Array, label: Array, ties: Ties) -> tuple[npt.NDArray[np.int64], Array]:
    """Return, per task, the place of the candidate that `Ties` draws, and whether there was more than one.

    The candidates are pairs of task and label, in the order of tasks; every task has one at least.
    """
    count = np.bincount(task, minlength=block.n_tasks)
    tied = count > 1
    chosen = np.cumsum(count) - count
    if tied.any():
        among = np.flatnonzero(tied[task])
        rank = ties.priority(block.task_hash[task[among]], block[LabelGroups].label_hash[label[among]], label[among])
        order = among[np.lexsort((rank, task[among]))]
        ahead = np.concatenate([[True], task[order][1:] != task[order][:-1]])
        chosen[tied] = order[ahead]
    return chosen, tied


# Majority of masks: a pixel belongs to the object if more than half of the weight says so.
#
# Pixels are decided one by one, so the mask that is found need not be one that anybody drew, nor in one piece. Where
# all masks agree there is nothing to add up; only the bytes in which they differ are unpacked.


_BYTES_PER_CHUNK = 1 << 13


@dataclass(frozen=True)
class AnswerMasks:
    """The mask of each answer."""

    masks: npt.NDArray[np.object_]


def pixel_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Turn on the pixels that are on in more than half of the task's weight; exactly half is off.

    Confidence is the share of the weight that agrees with what was found, averaged over all pixels that are on in
    a mask with any weight; it is 1 if there are none. The block needs its `AnswerMasks`.

        on = the pixels p with sum_i w_i [p in mask i] > sum_i w_i / 2

    It works where masks overlap much. It fails for thin things, of which less than half of the masks meet in any
    pixel: the truth is then broken or empty.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 1, 1]]), ("bob", 1, [[0, 1, 1]]), ("eve", 1, [[1, 1, 0]])]
    >>> allalike.discover(rows, domain=allalike.Bitmap(rule="majority"), method="UA").truth["label"][0].astype(int)
    array([[0, 1, 1]])

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.masks import Mask
    >>> masks = np.array([Mask.of(np.array([row], np.bool_)) for row in ([1, 1, 0], [1, 0, 0], [1, 1, 1])])
    >>> block = Block.of([[0], [1], [2]]).keeping(AnswerMasks(masks))
    >>> found = pixel_majority(block, np.array([0.5, 0.3, 0.2]), np.zeros(3), Ties())
    >>> found.label[0].pixels().astype(int), found.confidence.round(3)
    (array([[1, 1, 0]]), array([0.833]))
    """
    weight, _ = block.answer_weights(weights)
    masks = block[AnswerMasks].masks
    label, confidence = np.empty(block.n_tasks, object), np.empty(block.n_tasks)
    for task, (start, size) in enumerate(zip(block.starts, block.sizes, strict=True)):
        answers = slice(start, start + size)
        label[task], confidence[task] = _majority(list(masks[answers]), weight[answers])
    return Decision(label, confidence, unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


def _majority(masks: list[Mask], weight: Floats) -> tuple[Mask, float]:
    """Decide the pixels of one task; return the mask, and how much of the weight agrees with it."""
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


# Choices: one of the answers that were given, for labels that cannot be averaged.


def medoid(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the answer that is closest to all answers, weighted; among equals that of the larger weight.

    The block needs its `PairDistances` and its `AnswerHashes`.

        label = the x_i with the least sum_j w_j d(x_i, x_j)

    It works for every label that has a distance, and never invents anything. It fails where no answer is good by
    itself: the parts that each worker got right are not put together.

    >>> import allalike
    >>> rows = [("ada", 1, "night"), ("bob", 1, "nights"), ("eve", 1, "knight")]
    >>> domain = allalike.Text(distance="edit", rule="medoid")
    >>> allalike.discover(rows, domain=domain, method="UA").truth["label"].tolist()
    ['night']

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0], [1], [5]])
    >>> pairs = PairDistances.of(block, lambda i, j: 1.0 * abs(block.label[i] - block.label[j]))
    >>> block = block.keeping(pairs, AnswerHashes(np.array([7, 8, 9], np.uint64)))
    >>> medoid(block, np.ones(3), np.zeros(3), Ties()).label
    array([1])
    """
    weight, _ = block.answer_weights(weights)
    cost, _ = block[PairDistances].add_up(weight)
    least = np.minimum.reduceat(cost, block.starts)
    close = cost <= block.to_answers(least) * (1 + TOLERANCE)
    return _choose(block, weights, np.where(close, weight, -1.0), ties)


def best_worker(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the answer of the task's worker with the largest weight.

        label = the x_i with the largest w_i

    It works where one worker is much better than all others. It fails where several are nearly as good, for it
    hears one of them only.

    >>> import allalike
    >>> said = {"ada": ["a b c", "d e"], "bob": ["a b", "d e"], "eve": ["z", "y"]}
    >>> rows = [(worker, task, text) for worker, texts in said.items() for task, text in enumerate(texts)]
    >>> domain = allalike.Text(distance="tokens", rule="best worker")
    >>> allalike.discover(rows, domain=domain, method="P-TD").truth["label"].tolist()[1]
    'd e'

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0], [1], [2]]).keeping(AnswerHashes(np.array([5, 6, 7], np.uint64)))
    >>> best_worker(block, np.array([0.2, 0.5, 0.3]), np.zeros(3), Ties()).label
    array([1])
    """
    return _choose(block, weights, block.answer_weights(weights)[0], ties)


def _choose(block: Block, weights: Floats, score: Floats, ties: Ties) -> Decision:
    """Take each task's answer with the largest score; its confidence is the weight of those who gave the same."""
    weight, total = block.answer_weights(weights)
    task = block.task
    best = np.maximum.reduceat(score, block.starts)
    leads = score >= best[task] - TOLERANCE * np.abs(best[task])
    hashes = block[AnswerHashes].hashes
    priority = ties.priority(block.task_hash[task], hashes, np.arange(len(task)))
    winner = np.lexsort((priority, ~leads, task))[block.starts]
    same = hashes == hashes[winner][task]
    drawn = block.per_task((leads & ~same).astype(np.float64)) > 0
    confidence = np.minimum(block.per_task(weight * same) / total, 1.0)
    return Decision(block.label[winner], confidence, unknown(block.n_tasks), drawn)
