"""People: the workers that a page shows, in the order of their weights, each with an alias.

All of them are shown up to a number. Where there are more, those are shown whom somebody should look at, and then those
who gave most answers. Workers who occur only as answers to a task come behind them, when they are first named.

How far they are apart is shown as a map and as a matrix in which those who agree stand together. The distances are
those of the answers at hand, of so many tasks that their pairs can be compared at once; roots where distances are
squares, so that they are lengths. Of the matrix, what lies above the diagonal is kept, one byte a pair: 0 to 254 up to
the largest distance, and 255 where two workers have no task in common.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.words import cut
from allalike.report.material import brief

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding
    from allalike.engines import Run
    from allalike.report.material import Material


# Leaves: an order in which neighbours are close.
#
# Those who are closest are joined, pair by pair, by average linkage; two groups are as far apart as their members are
# on average. The two parts of each group can change sides, so a tree with n leaves stands for 2^(n-1) orders. Of
# these, the one whose neighbours are closest is found from below (Bar-Joseph, Gifford and Jaakkola: Bioinformatics
# 17, 2001). Let M(i, j) be the least sum of the distances of neighbours in a group whose first is i and whose last is
# j. Where i is in one part and j is in the other,
#
#     M(i, j) = min over k, l of M(i, k) + D(k, l) + M(l, j),
#
# with k the last of the first part and l the first of the second.


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


def compare_pairs(block: Block, encoding: Encoding, workers: npt.NDArray[np.intp]) -> Floats:
    """Return how far each two of some workers are apart on average; NaN where they have no task in common.

    >>> import allalike
    >>> from allalike.engines.sample import pick_tasks
    >>> run = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]).run
    >>> compare_pairs(pick_tasks(run, np.empty(0, np.uint64), share=1.0), run.encoding, np.array([0, 1]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    place = np.full(block.n_workers, -1, np.intp)
    place[workers] = np.arange(len(workers))
    rows = np.flatnonzero(place[block.worker] >= 0)
    task = block.task[rows]
    tasks, sizes = np.unique(task, return_counts=True)
    matrix = np.full((len(workers), len(workers)), np.nan)
    if len(tasks):
        some = block.pick(tasks, rows)
        starts, worker = np.cumsum(sizes) - sizes, place[block.worker[rows]]
        part = replace(some, starts=starts, sizes=sizes, worker=worker, n_workers=len(workers))
        sums = encoding.kernels.pair_sums(encoding.prepare(part), slice(0, len(workers)))
        distance, common = (s if isinstance(s, np.ndarray) else s.toarray() for s in (sums["distance"], sums["common"]))
        np.divide(distance, common, out=matrix, where=common > 0)
    np.fill_diagonal(matrix, 0.0)
    return matrix


# Places of workers: a map on which those who answer alike are close, and an order in which they are neighbours.
#
# **Map.** With the matrix D of the mean distances of workers on their common tasks, classical scaling (Torgerson:
# Psychometrika 17, 1952) takes the two largest eigenvalues of
#
#     B = -1/2 J D^2 J,    J = I - 11'/n,
#
# and puts worker i at (sqrt(l_1) v_1i, sqrt(l_2) v_2i). A worker with independent errors is far from everybody, so
# the good ones are in a crowd and the bad ones around it; copies lie on each other. The first axis is turned so that
# larger disparities lie to the right, and the second so that its longest arm points up.
#
# **Order.** Workers are joined pair by pair, the closest first, and the leaves of that tree are neighbours who agree
# (`leaves`).
#
# Two workers without a common task are taken to be as far apart as each is from the workers met, on average. Where most
# pairs never met, neither picture says much, and where all distances are the same, all directions are alike.


_MAX_BEST_ORDER = 200  # leaves that are put in the best of all orders, which takes time with their cube


def fill_unknown(distances: Floats) -> Floats:
    """Return symmetric distances in which pairs who never met are as far apart as each is from others, on average.

    >>> nan = np.nan
    >>> fill_unknown(np.array([[0.0, 0.2, nan], [0.2, 0.0, 0.4], [nan, 0.4, 0.0]]))
    array([[0. , 0.2, 0.3],
           [0.2, 0. , 0.4],
           [0.3, 0.4, 0. ]])
    """
    apart = np.where(np.eye(len(distances), dtype=np.bool_), np.nan, distances)
    known = np.isfinite(apart)
    total, count = np.where(known, apart, 0.0).sum(axis=1), known.sum(axis=1)
    overall = float(total.sum() / count.sum()) if count.sum() else 0.0
    mean = np.where(count > 0, total / np.maximum(count, 1), overall)
    filled = np.where(known, apart, (mean[:, None] + mean[None, :]) / 2)
    filled = (filled + filled.T) / 2
    np.fill_diagonal(filled, 0.0)
    return np.asarray(filled)


def place_workers(distances: Floats, disparity: Floats) -> Floats:
    """Return two coordinates of each worker, from distances of all pairs.

    >>> line = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> place_workers(line, np.array([0.1, 0.1, 0.5]))[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    n = len(distances)
    squares = distances**2
    rows = squares.mean(axis=1, keepdims=True) if n else squares
    centred = -0.5 * (squares - rows - rows.T + squares.mean()) if n else squares
    values, vectors = np.linalg.eigh(centred)
    places = np.zeros((n, 2))
    for axis, number in enumerate(np.argsort(-values, kind="stable")[:2]):
        places[:, axis] = np.sqrt(max(values[number], 0.0)) * vectors[:, number]
    return places * _signs(places, np.nan_to_num(disparity))


def _signs(places: Floats, disparity: Floats) -> Floats:
    if not len(places):
        return np.ones(2)
    spread = disparity - disparity.mean()
    arms = [float(places[:, 0] @ spread), float(places[np.argmax(np.abs(places[:, 1]).round(9)), 1])]
    return np.where(np.array(arms) < 0, -1.0, 1.0)


def order_workers(distances: Floats) -> npt.NDArray[np.intp]:
    """Return the numbers of workers in an order in which neighbours agree, from distances of all pairs.

    >>> apart = 1.0 - np.eye(4)
    >>> apart[0, 3] = apart[3, 0] = 0.1
    >>> order = order_workers(apart).tolist()
    >>> abs(order.index(0) - order.index(3))
    1
    """
    if len(distances) < 3:
        return np.arange(len(distances))
    return order_leaves(distances, best=len(distances) <= _MAX_BEST_ORDER)


_MAX_NAME = 120
_MIN_WORKERS = 6  # for pictures that compare them
_MAX_LOOKED_AT = 0.4  # share of those shown that may be there for their flags
_MAX_PAIRS, _MAX_COSTLY_PAIRS = 4_000_000, 200_000


class People:
    """The workers of a page: an alias is W and the place, from 1 on.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> people = People(result._material(), np.array([2]))
    >>> people.refer(np.array([0, 2])), people.names
    ([1, 0], ['eve', 'ada'])
    """

    def __init__(self, material: Material, shown: npt.NDArray[np.intp]) -> None:
        self.names: list[str] = []
        self.weights: list[float | int | None] = []
        self._run, self._weight = material.run, material.weighing.weight
        self._places = np.full(len(self._weight), -1)
        self.refer(shown)

    def refer(self, workers: Array) -> list[int]:
        """Return the places of workers among those named, where new ones are added."""
        for number in dict.fromkeys(workers[self._places[workers] < 0].tolist()):
            self._add(number)
        places: list[int] = self._places[workers].tolist()
        return places

    def _add(self, number: int) -> None:
        self._places[number] = len(self.names)
        name, task = str(self._run.workers[number]), self._run.worker_task
        self.names.append(cut(name if task is None else f"{name} ({task[number]})", _MAX_NAME))
        self.weights.append(brief(self._weight[number]))


def read_unit(material: Material) -> str:
    """Name the column of the table of workers that contains the error: error_rate, rmse or mean_error."""
    faults = material.weighing.uncertainty
    if faults is not None:
        return faults.unit
    return "mean_error" if material.weighing.error_rate is None else "error_rate"


def name_sureness(material: Material) -> str:
    """Name how sure a truth is: a confidence, or where auto knows no probability the support by weights."""
    known = material.weighing.uncertainty
    return "support" if known is not None and known.confidence is None else "confidence"


def may_differ(material: Material) -> bool:
    """Return whether pictures may show differences: between six workers or more, whose intervals do not all overlap.

    >>> import allalike
    >>> may_differ(allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])._material())
    False
    """
    return len(material.run.workers) >= _MIN_WORKERS and not all_overlap(material)


def all_overlap(material: Material) -> bool:
    """Return whether workers have intervals of the error or ranges of the rank, and no two of them are disjoint."""
    interval = find_interval(material)
    if interval is None:
        return False
    low, high = (np.asarray(material.workers[name], np.float64) for name in interval)
    known = np.isfinite(low) & np.isfinite(high)
    return bool(low[known].max() < high[known].min())


def find_interval(material: Material) -> tuple[str, str] | None:
    """Return the columns of the workers' intervals: of the error, without gold labels of the rank, or None."""
    for names in (("ci_low", "ci_high"), ("rank_low", "rank_high")):
        if all(name in material.workers for name in names):
            low, high = (np.asarray(material.workers[name], np.float64) for name in names)
            if (np.isfinite(low) & np.isfinite(high)).any():
                return names
    return None


def choose_workers(material: Material, flags: list[list[str]], most: int) -> npt.NDArray[np.intp]:
    """Return the numbers of the workers that are shown, those with most weight first; who is hardly known comes last.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x"), ("eve", 2, "x")])
    >>> choose_workers(result._material(), [["few"], [], []], 2)
    array([0, 2])
    """
    weighing, answers = material.weighing, material.run.answer_counts
    chosen = np.arange(len(answers))
    if len(chosen) > most:
        flagged = np.array([bool(words) and words != ["few answers"] for words in flags])
        active = np.argsort(-answers, kind="stable")
        remarkable = active[flagged[active]][: int(_MAX_LOOKED_AT * most)]
        rest = active[~np.isin(active, remarkable)][: most - len(remarkable)]
        chosen = np.sort(np.concatenate([remarkable, rest]))
    fault = np.nan_to_num(weighing.fault[chosen], nan=np.inf)
    few = np.array(["few answers" in flags[number] for number in chosen])
    return np.asarray(chosen[np.lexsort((fault, -weighing.weight[chosen], few))], np.intp)


def compare_workers(material: Material, block: Block, shown: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return the places of workers on a map, and their matrix in the order of a tree; nothing if no two of them met."""
    distances = measure_distances(material.run, block, shown)
    met = float(np.isfinite(distances[np.triu_indices(len(shown), 1)]).mean())
    if not met:
        return {}
    filled = fill_unknown(distances)
    return {
        "places": place_workers(filled, material.weighing.disparity[shown]),
        "met": met,
        "matrix": pack_matrix(distances, order_workers(filled)),
    }


def measure_distances(run: Run, block: Block, shown: npt.NDArray[np.intp]) -> Floats:
    """Return how far each two workers are apart on the tasks at hand, as a length; NaN where they never met.

    >>> import allalike
    >>> from allalike.engines.sample import pick_tasks
    >>> run = allalike.discover([("ada", 1, 2.0), ("bob", 1, 5.0), ("eve", 2, 5.0), ("bob", 2, 5.0)], domain="real").run
    >>> measure_distances(run, pick_tasks(run, np.empty(0, np.uint64), share=1.0), np.arange(3))
    array([[ 0.,  3., nan],
           [ 3.,  0.,  0.],
           [nan,  0.,  0.]])
    """
    cheap = run.encoding.n_classes or run.encoding.numeric
    pairs = np.cumsum(block.sizes.astype(np.float64) ** 2)
    first = max(int(np.searchsorted(pairs, _MAX_PAIRS if cheap else _MAX_COSTLY_PAIRS)), 1)
    tasks = np.arange(min(first, block.n_tasks))
    rows = np.arange(int(block.sizes[tasks].sum()))
    distances = compare_pairs(block.pick(tasks, rows), run.encoding, shown)
    return np.sqrt(distances) if run.domain.distance == "squared" else distances


def pack_matrix(distances: Floats, order: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return a matrix in an order, one byte a pair.

    >>> packed = pack_matrix(np.array([[0.0, 0.5, np.nan], [0.5, 0.0, 1.0], [np.nan, 1.0, 0.0]]), np.array([2, 1, 0]))
    >>> packed["order"], packed["largest"], list(base64.b64decode(packed["bytes"]))
    ([2, 1, 0], 1, [254, 255, 127])
    """
    above = distances[np.ix_(order, order)][np.triu_indices(len(order), 1)]
    known = np.isfinite(above)
    largest = float(above[known].max(initial=0.0))
    scaled = np.where(known, above, 0.0) * (254 / largest if largest > 0 else 0.0)
    packed = np.where(known, scaled.round(), 255).astype(np.uint8)
    return {
        "order": order.tolist(),
        "largest": brief(largest),
        "bytes": base64.b64encode(packed.tobytes()).decode(),
    }
