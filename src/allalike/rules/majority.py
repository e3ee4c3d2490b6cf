"""Majority of masks: a pixel belongs to the object if more than half of the weight says so.

Pixels are decided one by one, so the mask that is found need not be one that anybody drew, nor in one piece. Where
all masks agree there is nothing to add up; only the bytes in which they differ are unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike._core.masks.packed import Mask, lay_over
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats

__all__ = ["AnswerMasks", "pixel_majority"]

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
