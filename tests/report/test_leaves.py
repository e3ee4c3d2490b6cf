"""The order of workers is that of a tree, and of its orders the one whose neighbours are closest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import ClusterNode, leaves_list, linkage, to_tree
from scipy.spatial.distance import squareform

from allalike.report.people import order_leaves


def distances(n: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    places = np.random.default_rng(seed).normal(size=(n, 3))
    return np.asarray(np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1)))


def length(apart: np.ndarray[tuple[int, int], np.dtype[np.float64]], order: list[int]) -> float:
    return float(sum(apart[one, other] for one, other in itertools.pairwise(order)))


def orders(tree: ClusterNode) -> list[list[int]]:
    """List all orders of the leaves of a tree."""
    if tree.left is None or tree.right is None:
        return [[tree.id]]
    both = list(itertools.product(orders(tree.left), orders(tree.right)))
    return [*(one + other for one, other in both), *(other + one for one, other in both)]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_orders_of_the_tree_is_found(seed: int) -> None:
    apart = distances(8, seed)
    order = order_leaves(apart, best=True).tolist()
    possible = orders(to_tree(linkage(squareform(apart), "average")))
    assert order in possible
    assert length(apart, order) == pytest.approx(min(length(apart, each) for each in possible))


def test_no_library_finds_a_better_one() -> None:
    apart = distances(60, 0)
    theirs = leaves_list(linkage(squareform(apart), "average", optimal_ordering=True)).tolist()
    assert length(apart, order_leaves(apart, best=True).tolist()) <= length(apart, theirs) + 1e-9


@pytest.mark.parametrize("best", [True, False])
def test_whom_the_tree_joins_stands_together(best: bool) -> None:
    apart = distances(60, 1)
    place = np.argsort(order_leaves(apart, best=best))
    groups = [[number] for number in range(60)]
    for one, other in linkage(squareform(apart), "average")[:, :2].astype(int):
        groups.append(groups[one] + groups[other])
        assert np.ptp(place[groups[-1]]) == len(groups[-1]) - 1
