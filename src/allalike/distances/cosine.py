"""Cosine distance of vectors: 1 minus the cosine of the angle between them.

    d(x, y) = 1 - <x, y> / (|x| |y|) = |u - v|^2 / 2,   with u = x / |x| and v = y / |y|.

So after scaling every vector to length sqrt(1/2), the cosine distance is a squared distance, and all that is linear for
squared distances is linear here. The difference of the scaled vectors is also the accurate way: 1 - cos has no digits
left for vectors that are almost parallel. The distance is from 0 (same direction) over 1 (perpendicular) to 2
(opposite); it is no metric. A zero vector has no direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats


def scaled(vectors: Array) -> Floats:
    """Scale every vector so that squared distances are cosine distances; a zero vector stays as it is.

    >>> scaled(np.array([[3.0, 4.0], [0.0, 0.0]])).round(4)
    array([[0.4243, 0.5657],
           [0.    , 0.    ]])
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = vectors / np.where(largest > 0, largest, 1.0)  # squares of small numbers would vanish
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray(vectors / np.where(length > 0, length, 1.0)[:, None] * np.sqrt(0.5), np.float64)


def distance(left: Array, right: Array) -> Floats:
    """Compare vectors pair by pair; to a vector of zeros every other is perpendicular.

    >>> distance(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [3.0, 3.0], [1.0, 0.0]]))
    array([1., 0., 1.])
    """
    difference = scaled(left) - scaled(right)
    nowhere = ~(left.any(axis=1) & right.any(axis=1))
    return np.where(nowhere, np.asarray(left != right).any(axis=1), np.einsum("ij,ij->i", difference, difference))
