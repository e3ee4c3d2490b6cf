"""Means of numbers: the weighted mean and the weighted median."""

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike._core.blocks.order import Order, find_order
from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike.rules.base import Decision, unknown

__all__ = ["mean", "median"]


def mean(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the weighted mean.

    Its standard error follows from the faults, read as variances of independent errors:
    sqrt(sum_i w_i^2 f_i) / sum_i w_i.

        z = sum_i w_i x_i / sum_i w_i

    It works where errors are like those of Gauss: with weights 1/f no other unbiased weighted sum is better
    (Aitken 1935). It fails where a few answers are far off, for one of them moves it as far as one likes.

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
    label = block.per_task(weight * block.label) / total
    return Decision(label, unknown(block.n_tasks), error, np.zeros(block.n_tasks, np.bool_))


def median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the weighted median: half of the weight below, half above; the middle of two where both will do.

    With equal weights it is the ordinary median.

        z with sum_i w_i [x_i < z] <= W/2 and sum_i w_i [x_i > z] <= W/2,   W = sum_i w_i

    It minimises the weighted sum of |x_i - z|. It works where up to half of the weight is far off. It fails to use
    all answers where errors are Gaussian: it then needs half as many again as the mean.

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
    running = np.cumsum(weight)
    running -= block.to_answers(running[block.starts] - weight[block.starts])
    half = block.to_answers(total / 2)
    below = block.per_task((running < half * (1 - TOLERANCE)).astype(np.float64))
    reached = block.per_task((running <= half * (1 + TOLERANCE)).astype(np.float64))
    lower = label[block.starts + below.astype(np.int64)]
    upper = label[block.starts + reached.astype(np.int64)]
    nothing = unknown(block.n_tasks)
    return Decision((lower + upper) / 2, nothing, nothing, np.zeros(block.n_tasks, np.bool_))
