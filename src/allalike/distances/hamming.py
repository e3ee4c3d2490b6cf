"""Hamming distance: 1 if two labels differ, 0 if they are equal.

A worker's distance to the peers in a task can be computed without pairs. If the answers to the task have weight W and
the answers with the same label have weight C, the distance is W - C, so sums take linear time.
"""

from typing import Any

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, LabelGroups, sum_by
from allalike._core.lazy_imports import sparse

_PAIR, _ENTRY, _PRODUCT = 30.0, 10.0, 0.1  # approximate nanoseconds per pair of answers, entry and product step


def distance(left: Array, right: Array) -> Floats:
    """Compute distances between pairs of labels.

    >>> distance(np.array([0, 1]), np.array([0, 2]))
    array([0., 1.])
    """
    return np.asarray(left != right, np.float64)


def peer_distances(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted distance of each answer to its peers, and the total weight of these peers.

    The block must contain its `LabelGroups`.

    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0, 1], [0, 1], [1, 1]])
    >>> peer_distances(block.keeping(group_labels(block, np.arange(2, dtype=np.uint64))), np.ones(3))
    (array([1., 1., 2., 0., 0., 0.]), array([2., 2., 2., 2., 2., 2.]))
    """
    groups = block[LabelGroups]
    own = weights.take(block.worker)
    same = sum_by(groups.group, own, len(groups))
    total = np.add.reduceat(same, groups.first)
    others = np.repeat(total, groups.count) - same
    return others.take(groups.group), block.to_answers(total) - own


def is_crowded(block: Block) -> bool:
    """Return whether tasks have so many answers that matrix products are faster than pairs."""
    columns = block.n_tasks + len(block[LabelGroups])
    pairs = np.square(block.sizes, dtype=np.float64).sum()
    return bool(_PAIR * pairs > (_ENTRY + _PRODUCT * columns) * block.n_workers**2)


def pair_sums(block: Block, rows: slice | None = None) -> dict[str, Any]:
    """Sum the distances and count the common tasks per pair of workers, as sparse matrices unless crowded.

    Products of indicator matrices count common tasks (worker by task) and equal answers (worker by task and label). In
    a crowded block these counts are exact in single precision.

    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> pair_sums(block.keeping(group_labels(block, np.arange(2, dtype=np.uint64))), slice(0, 2))["distance"]
    array([[0., 1., 2.],
           [1., 0., 1.]], dtype=float32)
    """
    rows, group = rows or slice(0, block.n_workers), block[LabelGroups].group
    multiply = _products if is_crowded(block) else _sparse_products
    common = multiply(block, rows, block.task)
    return {"distance": common - multiply(block, rows, group), "common": common}


def _products(block: Block, rows: slice, column: Array) -> Array:
    marks = np.zeros((block.n_workers, int(column.max(initial=-1)) + 1), np.float32)
    marks[block.worker, column] = 1.0
    products = marks[rows] @ marks.T
    own = np.arange(len(products))
    products[own, rows.start + own] = 0.0
    return products


def _sparse_products(block: Block, rows: slice, column: Array) -> Any:
    place = column.astype(np.int32), block.worker.astype(np.int32)
    marks = sparse.csr_array((np.ones(len(column)), place), shape=(int(column.max(initial=-1)) + 1, block.n_workers))
    products = marks.T.tocsr()[rows] @ marks
    own = products.indices == rows.start + np.repeat(np.arange(products.shape[0]), np.diff(products.indptr))
    products.data[own] = 0.0
    products.sort_indices()
    return products
