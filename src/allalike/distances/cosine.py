"""Cosine distance between vectors: 1 minus the cosine of the angle between them.

    d(x, y) = 1 - <x, y> / (|x| |y|) = |u - v|^2 / 2,   with u = x / |x| and v = y / |y|.

After scaling every vector to length sqrt(1/2), the cosine distance is a squared distance, with the same linear-time
sums. The difference of scaled vectors is also more accurate: 1 - cos loses all digits for almost parallel vectors. The
distance ranges from 0 (same direction) through 1 (orthogonal) to 2 (opposite). It is not a metric. Zero vectors have no
direction.
"""

import numpy as np

from allalike._core.blocks.block import Array, Floats


def scaled(vectors: Array) -> Floats:
    """Scale vectors so that squared distances become cosine distances; zero vectors remain unchanged.

    >>> scaled(np.array([[3.0, 4.0], [0.0, 0.0]])).round(4)
    array([[0.4243, 0.5657],
           [0.    , 0.    ]])
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = vectors / np.where(largest > 0, largest, 1.0)  # prevents underflow of squares
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray(vectors / np.where(length > 0, length, 1.0)[:, None] * np.sqrt(0.5), np.float64)


def distance(left: Array, right: Array) -> Floats:
    """Compute distances between pairs of vectors; a zero vector is orthogonal to every other vector.

    >>> distance(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [3.0, 3.0], [1.0, 0.0]]))
    array([1., 0., 1.])
    """
    difference = scaled(left) - scaled(right)
    nowhere = ~(left.any(axis=1) & right.any(axis=1))
    return np.where(nowhere, np.asarray(left != right).any(axis=1), np.einsum("ij,ij->i", difference, difference))
