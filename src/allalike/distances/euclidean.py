"""Squared Euclidean distance between numbers or vectors (NSED in the paper, after averaging over tasks).

With a task's weight W, its weighted mean z and V = sum_j w_j |x_j - z|^2, the weighted squared distance of x_i to all
answers is W |x_i - z|^2 + V, which takes linear time and is never negative. Labels are centred per task first, because
differences of numbers near 1e8 lose digits.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike.errors import LabelError

_LEAST_SQUARE = 1e-290  # smaller squares lose digits
_TRACE = np.finfo(np.float64).tiny  # replaces the square of a nonzero difference if it underflows


def square_lengths(vectors: Floats) -> Floats:
    """Sum the squares of each vector's numbers, or square numbers.

    If all squares underflow, those of nonzero vectors become a tiny value for `check_digits`.

    >>> square_lengths(np.array([[3.0, 4.0], [0.0, 0.0]])), square_lengths(np.array([1e-200, 0.0])) > 0
    (array([25.,  0.]), array([ True, False]))
    """
    square = np.square(vectors) if vectors.ndim == 1 else np.einsum("ij,ij->i", vectors, vectors)
    square = np.asarray(square, np.float64)
    if square.max(initial=0.0) < _LEAST_SQUARE:
        there = vectors != 0 if vectors.ndim == 1 else vectors.any(axis=1)
        square = np.where(there, np.maximum(square, _TRACE), 0.0)
    return square


def lengths(vectors: Floats) -> Floats:
    """Compute the lengths of vectors, or absolute values of numbers; small vectors are scaled to prevent underflow.

    >>> lengths(np.array([[3.0, 4.0], [3e-200, 4e-200], [0.0, 0.0]]))
    array([5.e+000, 5.e-200, 0.e+000])
    """
    if vectors.ndim == 1:
        return np.abs(vectors)
    square = np.asarray(np.einsum("ij,ij->i", vectors, vectors), np.float64)
    length = np.sqrt(square)
    small = np.flatnonzero(square < _LEAST_SQUARE)
    if len(small):
        exponent = np.frexp(np.abs(vectors[small]).max(axis=1))[1]
        scaled = np.ldexp(vectors[small], -exponent[:, None])
        length[small] = np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponent)
    return length


def check_digits(distance: Floats) -> None:
    """Raise an error if the largest squared distance of a problem has lost its digits.

    >>> check_digits(np.array([1e-300]))
    Traceback (most recent call last):
    allalike.errors.LabelError: All answers to the same task differ by less than 1e-145, and the squares of these
    differences underflow. Rescale the labels, for example from km to mm.
    """
    if ((distance > 0) & (distance < _LEAST_SQUARE)).any():
        raise LabelError(
            "All answers to the same task differ by less than 1e-145, and the squares of these differences underflow."
            " Rescale the labels, for example from km to mm."
        )


def centre(block: Block, values: Floats | None = None) -> Floats:
    """Return a number or vector near each task's mean: the first answer plus the mean difference to it.

    For identical answers, the result is exact.

    >>> centre(Block.of([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]]))
    array([3. , 0.1])
    >>> centre(Block.of([[0], [1]]), np.array([[1.0, 0.1], [3.0, 0.1]]))
    array([[2. , 0.1]])
    """
    values = block.label if values is None else values
    first = values[block.starts]
    sizes = block.sizes if values.ndim == 1 else block.sizes[:, None]
    middle: Floats = first + block.per_task(values - block.to_answers(first)) / sizes
    return middle


@dataclass(frozen=True)
class CentredVectors:
    """The vectors of a block for comparisons, relative to their task's centre."""

    vectors: Floats

    @classmethod
    def of(cls, block: Block, vectors: Floats) -> Self:
        """Subtract the task's centre from each vector."""
        return cls(vectors - block.to_answers(centre(block, vectors)))


def peer_distances(block: Block, weights: Floats, values: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the weighted distance of each answer to its peers, and the total weight of these peers.

    The values are numbers or vectors, which should be centred; by default the labels.

    >>> peer_distances(Block.of([[1.0], [2.0], [4.0]]), np.ones(3))
    (array([10.,  5., 13.]), array([2., 2., 2.]))
    """
    values = block.label if values is None else values
    own = weights.take(block.worker)
    total = block.per_task(own)
    divisor = np.where(total > 0, total, 1.0)
    if values.ndim == 1:
        mean = block.per_task(own * values) / divisor
    else:
        mean = block.per_task(own[:, None] * values) / divisor[:, None]
    square = square_lengths(values - block.to_answers(mean))
    around = block.per_task(own * square)
    all_weight = block.to_answers(total)
    square *= all_weight
    square += block.to_answers(around)
    return square, all_weight - own
