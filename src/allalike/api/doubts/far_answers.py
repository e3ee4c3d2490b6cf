"""Far answers: the few that carry most of the squared distance, where distances of numbers are squared.

A square of a hundredfold error counts ten thousand times. So a few answers that are no measurements at all, such as
-999 for "no reading", may decide which worker looks bad, and a worker is bad for one answer in a hundred. Of errors
like those of Gauss, half of the sum of squares is carried by the largest 12 %, and with the heavy tails of Laplace by
the largest 7 %. A warning is due where

    the largest 1 % of the deviations |x - median of the task|, or one of 50 to 100, carry half of all squares or more,

not counting a worker who gave more than a quarter of her answers like that: she simply is a bad one, which is what
weights are for. Then squares are the wrong distance for these answers.

They are looked for in the tasks with three answers or more, since the middle of two says nothing about either, and in
some 200,000 answers of those tasks that the hashes of their ids choose. It fails where so many are far that half of the
squares need more of them, which is a crowd of two kinds.

**Codes** are found otherwise, for they may be as many as they like: a number that is given three times or more, and is
farther from all others than these are from each other, such as 9999.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.order import find_order
from allalike.engines.sample import sample_tasks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["Code", "FarAnswers", "find_codes", "find_far_answers"]

_SAMPLE_ANSWERS = 200_000
_MIN_ANSWERS = 3  # to a task, for its middle to say anything
_FEW = 0.01  # of all answers, which are so many at least:
_MIN_TOLD = 50
_MOST = 0.5  # of the sum of squares
_MIN_CODES = 3  # times that a number is given which means something else
_BAD_SHARE = 0.25  # of a worker's answers that are far: she is bad, and they are no accidents


class FarAnswers(NamedTuple):
    """How many answers of how many are far, which share of the squares they carry, and the farthest with its worker."""

    number: int
    answers: int
    share: float
    worker: Any
    label: float


class Code(NamedTuple):
    """A number that may mean something else, how often it was given, and between which numbers all others are."""

    number: float
    times: int
    low: float
    high: float


def find_codes(run: Run) -> list[Code]:
    """Find numbers that are given again and again, far below or above all others.

    >>> import allalike
    >>> rows = [(worker, task, 20.0 + task) for worker in "abc" for task in range(5)]
    >>> rows += [(worker, 9, -999.0) for worker in "abc"]
    >>> find_codes(allalike.Memory().load(allalike.read(rows, domain="real")))
    [Code(number=-999.0, times=3, low=20.0, high=24.0)]
    """
    blocks = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks
    numbers, times = np.unique(np.concatenate([block.label for block in blocks]), return_counts=True)
    first, last = 0, len(numbers) - 1
    outside: list[int] = []
    while last - first >= _MIN_CODES:
        below, above = numbers[first + 1] - numbers[first], numbers[last] - numbers[last - 1]
        place, gap = (first, below) if below >= above else (last, above)
        first, last = first + (place == first), last - (place == last)
        if times[place] < _MIN_CODES or gap <= numbers[last] - numbers[first]:
            break
        outside.append(place)
        low, high = float(numbers[first]), float(numbers[last])
    return [Code(float(numbers[place]), int(times[place]), low, high) for place in outside]


def find_far_answers(run: Run) -> FarAnswers | None:
    """Find the few answers that carry most of the squared distance, if there are such.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(worker, task, float(rng.normal())) for worker in "abcd" for task in range(20)]
    >>> find_far_answers(allalike.Memory().load(allalike.read(rows, domain="real"))) is None
    True
    >>> rows[7] = ("a", 7, -999.0)
    >>> find_far_answers(allalike.Memory().load(allalike.read(rows, domain="real")))
    FarAnswers(number=1, answers=80, share=0.999..., worker='a', label=-999.0)
    """
    if len(run.problems.sizes) > 1:
        return None
    parts = [_deviate(block) for block in sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks if block.n_tasks]
    if not parts:
        return None
    worker, label, away = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(away) < _MIN_TOLD or not away.any():
        return None
    square = np.square(away / away.max())
    order = np.lexsort((worker, label, -square))
    far = np.zeros(len(away), np.bool_)
    far[order[: max(int(_FEW * len(away)), 1)]] = True
    given, strange = (sum_by(worker, each.astype(np.float64), len(run.workers)) for each in (np.ones(len(far)), far))
    far &= (strange <= _BAD_SHARE * given)[worker]
    share = float(square[far].sum() / square.sum())
    if share <= _MOST:
        return None
    first = order[far[order]][0]
    return FarAnswers(int(far.sum()), len(far), share, run.workers[int(worker[first])], float(label[first]))


def _deviate(block: Block) -> tuple[Array, Floats, Floats]:
    """Return the workers, the labels and the deviations from the middle of their task, of answers that have one."""
    told = block.to_answers(block.sizes >= _MIN_ANSWERS)
    away = np.abs(block.label - block.to_answers(find_order(block).middle(block)))
    return block.worker[told], block.label[told], away[told]
