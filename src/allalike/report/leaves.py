"""Leaves: an order in which neighbours are close.

Those who are closest are joined, pair by pair, by average linkage; two groups are as far apart as their members are on
average. The two parts of each group can change sides, so a tree with n leaves stands for 2^(n-1) orders. Of these, the
one whose neighbours are closest is found from below (Bar-Joseph, Gifford and Jaakkola: Bioinformatics 17, 2001). Let
M(i, j) be the least sum of the distances of neighbours in a group whose first is i and whose last is j. Where i is in
one part and j is in the other,

    M(i, j) = min over k, l of M(i, k) + D(k, l) + M(l, j),

with k the last of the first part and l the first of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["order_leaves"]


@dataclass(frozen=True, eq=False)
class _Tree:
    """A group: its leaves, of its one part and then of its other, and M of each two of them."""

    leaves: npt.NDArray[np.intp]
    least: Floats
    parts: tuple[_Tree, _Tree] | None = None


def order_leaves(distances: Floats, *, best: bool) -> npt.NDArray[np.intp]:
    """Return the leaves of the tree of distances of all pairs: in the best of its orders, or in any, which is faster.

    >>> apart = np.abs(np.subtract.outer([0.0, 5.0, 2.0, 9.0], [0.0, 5.0, 2.0, 9.0]))
    >>> order_leaves(apart, best=True)
    array([0, 2, 1, 3])
    """
    trees = {leaf: _Tree(np.array([leaf]), np.zeros((1, 1))) for leaf in range(len(distances))}
    for one, other in _join_closest(distances):
        trees[one] = _join(trees[one], trees.pop(other), distances if best else None)
    (tree,) = trees.values()
    if not best:
        return tree.leaves
    first, last = divmod(int(np.argmin(tree.least)), len(tree.leaves))
    return np.array(_list_leaves(tree, first, last, distances), np.intp)


def _join_closest(distances: Floats) -> list[tuple[int, int]]:
    """List the pairs of groups that are joined, by one leaf of each, of which the first then stands for both.

    No group is closer to a mean than it was to the closer of the two, so few have a new neighbour.
    """
    n, joined = len(distances), []
    apart, size = np.array(distances, np.float64), np.ones(n)
    np.fill_diagonal(apart, np.inf)
    near = apart.argmin(axis=1)
    for _ in range(n - 1):
        one = int(np.argmin(apart[np.arange(n), near]))
        other = int(near[one])
        mean = (size[one] * apart[one] + size[other] * apart[other]) / (size[one] + size[other])
        apart[one] = apart[:, one] = mean
        apart[one, one] = apart[other] = apart[:, other] = np.inf
        size[one] += size[other]
        again = (near == one) | (near == other)
        near[again] = apart[again].argmin(axis=1)
        joined.append((one, other))
    return joined


def _join(one: _Tree, other: _Tree, distances: Floats | None) -> _Tree:
    """Make a group of two; without distances, no order of it is better than another."""
    leaves = np.concatenate([one.leaves, other.leaves])
    if distances is None:
        return _Tree(leaves, one.least)
    between = distances[np.ix_(one.leaves, other.leaves)]
    across = _least_sums(_least_sums(one.least, between), other.least)
    least, n = np.full((len(leaves), len(leaves)), np.inf), len(one.leaves)
    least[:n, n:], least[n:, :n] = across, across.T
    return _Tree(leaves, least, (one, other))


def _least_sums(left: Floats, right: Floats) -> Floats:
    """Return the least left(i, k) + right(k, j) over k, as a product of matrices adds up left(i, k) right(k, j).

    >>> _least_sums(np.array([[1.0, 5.0]]), np.array([[3.0, 9.0], [0.0, 1.0]]))
    array([[4., 6.]])
    """
    found = np.full((len(left), right.shape[1]), np.inf)
    for k, row in enumerate(right):
        np.minimum(found, left[:, k, None] + row, out=found)
    return found


def _list_leaves(tree: _Tree, first: int, last: int, distances: Floats) -> list[int]:
    """List the leaves of a group from its first to its last, which are given by their places in it."""
    if tree.parts is None:
        return [int(tree.leaves[0])]
    one, other = tree.parts
    n = len(one.leaves)
    if first >= n:
        return _list_leaves(tree, last, first, distances)[::-1]
    sums = one.least[first][:, None] + distances[np.ix_(one.leaves, other.leaves)] + other.least[:, last - n]
    k, m = divmod(int(np.argmin(sums)), len(other.leaves))
    return _list_leaves(one, first, k, distances) + _list_leaves(other, m, last - n, distances)
