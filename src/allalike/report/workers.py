"""Workers of a page: selection, table columns, map and distance matrix.

All workers are shown up to a limit. Above it, flagged workers and those with the most answers are shown. Distances
between workers are means over the sampled answers (square roots for squared distances). Pairs without a common task are
assigned the mean of both workers' distances to others.

The map is classical scaling (Torgerson, Psychometrika 17, 1952): with the matrix D of distances, the two largest
eigenvalues of ``B = -1/2 J D^2 J`` with ``J = I - 11'/n`` give the coordinates ``sqrt(l) v``. The first axis points
toward larger disparities. The matrix is sorted by optimal leaf ordering of the average-linkage tree (Bar-Joseph,
Gifford and Jaakkola, Bioinformatics 17, 2001). M(i, j) is the smallest sum of distances between neighbours in a group
with first leaf i and last leaf j. With i and j in different parts of the group,

    M(i, j) = min over k, l of M(i, k) + D(k, l) + M(l, j),

for the last leaf k of the first part and the first leaf l of the second.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.text_format import cut
from allalike.report.report_data import brief

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.report.report_data import Material

    Numbers = npt.NDArray[np.intp]

_MAX_NAME = 120
_MIN_WORKERS = 6  # for charts that compare workers
_MAX_FLAGGED = 0.4  # share of flagged workers among those shown
_MAX_PAIRS, _MAX_COSTLY_PAIRS = 4_000_000, 200_000


class People:
    """Workers of a page; the alias of a worker is W and the position, starting at 1.

    >>> import allalike
    >>> from allalike.report.report_data import Material
    >>> people = People(Material(allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])), np.array([2]))
    >>> people.refer(np.array([0, 2])), people.names
    ([1, 0], ['eve', 'ada'])
    """

    def __init__(self, material: Material, shown: Numbers) -> None:
        self.names: list[str] = []
        self.weights: list[float | int | None] = []
        self._run, self._weight = material.run, material.fit.weight
        self._places = np.full(len(self._weight), -1)
        self.refer(shown)

    def refer(self, workers: Array) -> list[int]:
        """Return the positions of workers in ``names``; new workers are added."""
        for number in dict.fromkeys(workers[self._places[workers] < 0].tolist()):
            self._places[number] = len(self.names)
            name, task = str(self._run.workers[number]), self._run.worker_task
            self.names.append(cut(name if task is None else f"{name} ({task[number]})", _MAX_NAME))
            self.weights.append(brief(self._weight[number]))
        places: list[int] = self._places[workers].tolist()
        return places


def choose_workers(material: Material, most: int) -> Numbers:
    """Return the numbers of the workers to show, sorted by weight and error; workers with few answers come last."""
    fit, answers, flags = material.fit, material.run.answer_counts, material.flags
    few = np.array(["few answers" in words for words in flags])
    flagged = np.array([len(words) for words in flags]) > few
    chosen = np.argsort(-answers, kind="stable")
    if len(chosen) > most:
        remarkable = chosen[flagged[chosen]][: int(_MAX_FLAGGED * most)]
        chosen = np.concatenate([remarkable, chosen[~np.isin(chosen, remarkable)][: most - len(remarkable)]])
    chosen = np.sort(chosen)
    fault = np.nan_to_num(fit.fault[chosen], nan=np.inf)
    return np.asarray(chosen[np.lexsort((fault, -fit.weight[chosen], few[chosen]))], np.intp)


def list_workers(material: Material, shown: Numbers) -> dict[str, Any]:
    """Return the columns of the table of workers."""
    wanted = {"answers": "answers", "value": material.unit, "disparity": "disparity", "weight": "weight"}
    wanted |= {name: name for name in ("relative_error", "informativeness")}
    if (interval := find_interval(material)) is not None:
        wanted |= dict(zip(("low", "high") if interval[0] == "ci_low" else interval, interval, strict=True))
    columns: dict[str, Any] = {
        key: [brief(value) for value in material.numbers(name)[shown]]
        for key, name in wanted.items()
        if name in material.workers
    }
    if material.effects is not None and np.isfinite(material.effects[shown]).any():
        columns["effect"] = [brief(value, 3) for value in material.effects[shown]]
    groups = material.workers["copy_group"].tolist() if "copy_group" in material.workers else [""] * len(material.flags)
    columns |= {"group": [groups[worker] for worker in shown], "flags": [material.flags[worker] for worker in shown]}
    return {"total": len(material.flags), **columns}


def find_interval(material: Material) -> tuple[str, str] | None:
    """Return the columns of the workers' intervals: of the error, or of the rank without gold labels, or None."""
    for names in (("ci_low", "ci_high"), ("rank_low", "rank_high")):
        if np.isfinite(material.numbers(names[0]) + material.numbers(names[1])).any():
            return names
    return None


def all_overlap(material: Material) -> bool:
    """Return whether workers have intervals of the error or ranges of the rank, and no two of them are disjoint."""
    interval = find_interval(material)
    if interval is None:
        return False
    low, high = map(material.numbers, interval)
    known = np.isfinite(low) & np.isfinite(high)
    return bool(low[known].max() < high[known].min())


def may_differ(material: Material) -> bool:
    """Return whether charts can show differences: at least six workers, and not all intervals overlap."""
    return len(material.run.workers) >= _MIN_WORKERS and not all_overlap(material)


# Distances, map and matrix.


def compare_workers(material: Material, block: Block, shown: Numbers) -> dict[str, Any]:
    """Return the coordinates of workers on a map, and their ordered matrix, or nothing without common tasks."""
    if not may_differ(material) or material.run.worker_task is not None:  # differences would be due to chance
        return {}
    distances = measure_distances(material, block, shown)
    met = float(np.isfinite(distances[np.triu_indices(len(shown), 1)]).mean())
    if not met:
        return {}
    filled = fill_unknown(distances)
    places = place_workers(filled, material.fit.disparity[shown])
    return {"places": places, "met": met, "matrix": pack_matrix(distances, order_leaves(filled))}


def measure_distances(material: Material, block: Block, shown: Numbers) -> Floats:
    """Return the mean distance of each pair of workers on sampled tasks; NaN for pairs without a common task."""
    encoding = material.run.encoding
    most = _MAX_PAIRS if encoding.n_classes or encoding.numeric else _MAX_COSTLY_PAIRS
    first = max(int(np.searchsorted(np.cumsum(block.sizes.astype(np.float64) ** 2), most)), 1)
    place = np.full(block.n_workers, -1, np.intp)
    place[shown] = np.arange(len(shown))
    rows = np.flatnonzero((place[block.worker] >= 0) & (block.task < first))
    tasks, sizes = np.unique(block.task[rows], return_counts=True)
    matrix = np.full((len(shown), len(shown)), np.nan)
    if len(tasks):
        starts, worker = np.cumsum(sizes) - sizes, place[block.worker[rows]]
        part = replace(block.pick(tasks, rows), starts=starts, sizes=sizes, worker=worker, n_workers=len(shown))
        sums = encoding.kernels.pair_sums(encoding.prepare(part), slice(0, len(shown)))
        distance, common = (s if isinstance(s, np.ndarray) else s.toarray() for s in (sums["distance"], sums["common"]))
        np.divide(distance, common, out=matrix, where=common > 0)
    np.fill_diagonal(matrix, 0.0)
    return np.sqrt(matrix) if material.run.domain.distance == "squared" else matrix


def fill_unknown(distances: Floats) -> Floats:
    """Replace unknown distances by the mean of both workers' mean distances to others.

    >>> nan = np.nan
    >>> fill_unknown(np.array([[0.0, 0.2, nan], [0.2, 0.0, 0.4], [nan, 0.4, 0.0]]))
    array([[0. , 0.2, 0.3],
           [0.2, 0. , 0.4],
           [0.3, 0.4, 0. ]])
    """
    apart = np.where(np.eye(len(distances), dtype=np.bool_), np.nan, distances)
    known = np.isfinite(apart)
    total, count = np.where(known, apart, 0.0).sum(axis=1), known.sum(axis=1)
    mean = np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(count.sum(), 1))
    filled = np.where(known, apart, (mean[:, None] + mean[None, :]) / 2)
    filled = (filled + filled.T) / 2
    np.fill_diagonal(filled, 0.0)
    return np.asarray(filled)


def place_workers(distances: Floats, disparity: Floats) -> Floats:
    """Return two coordinates per worker by classical scaling of all distances.

    >>> line = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> place_workers(line, np.array([0.1, 0.1, 0.5]))[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    squares = distances**2
    rows = squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-0.5 * (squares - rows - rows.T + squares.mean()))
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    known = np.nan_to_num(disparity)
    arms = [places[:, 0] @ (known - known.mean()), places[np.argmax(np.abs(places[:, 1]).round(9)), 1]]
    return np.asarray(places * np.where(np.array(arms) < 0, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class _Tree:
    """Group: its leaves, those of the first part first, and M of each pair of leaves."""

    leaves: Numbers
    least: Floats
    parts: tuple[_Tree, _Tree] | None = None


def order_leaves(distances: Floats) -> Numbers:
    """Return the optimal leaf ordering of the average-linkage tree.

    >>> apart = np.abs(np.subtract.outer([0.0, 5.0, 2.0, 9.0], [0.0, 5.0, 2.0, 9.0]))
    >>> order_leaves(apart)
    array([0, 2, 1, 3])
    """
    trees = {leaf: _Tree(np.array([leaf]), np.zeros((1, 1))) for leaf in range(len(distances))}
    for one, other in _join_closest(distances):
        trees[one] = _join(trees[one], trees.pop(other), distances)
    (tree,) = trees.values()
    first, last = divmod(int(np.argmin(tree.least)), len(tree.leaves))
    return np.array(_list_leaves(tree, first, last, distances), np.intp)


def _join_closest(distances: Floats) -> list[tuple[int, int]]:
    """Return the joined pairs of groups, each named by one leaf; the first leaf then names the joined group.

    The distance to a joined group is never below the smaller distance to its parts, so few nearest neighbours change.
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


def _join(one: _Tree, other: _Tree, distances: Floats) -> _Tree:
    """Join two groups."""
    leaves, n = np.concatenate([one.leaves, other.leaves]), len(one.leaves)
    across = _least_sums(_least_sums(one.least, distances[np.ix_(one.leaves, other.leaves)]), other.least)
    least = np.full((len(leaves), len(leaves)), np.inf)
    least[:n, n:], least[n:, :n] = across, across.T
    return _Tree(leaves, least, (one, other))


def _least_sums(left: Floats, right: Floats) -> Floats:
    """Return the min-plus product of two matrices: the minimum of left(i, k) + right(k, j) over k."""
    sums = np.full((len(left), right.shape[1]), np.inf)
    for k, row in enumerate(right):
        np.minimum(sums, left[:, k, None] + row, out=sums)
    return sums


def _list_leaves(tree: _Tree, first: int, last: int, distances: Floats) -> list[int]:
    """List the leaves of a group from its first to its last leaf, which are given by their positions."""
    if tree.parts is None:
        return [int(tree.leaves[0])]
    one, other = tree.parts
    n = len(one.leaves)
    if first >= n:
        return _list_leaves(tree, last, first, distances)[::-1]
    sums = one.least[first][:, None] + distances[np.ix_(one.leaves, other.leaves)] + other.least[:, last - n]
    k, m = divmod(int(np.argmin(sums)), len(other.leaves))
    return _list_leaves(one, first, k, distances) + _list_leaves(other, m, last - n, distances)


def pack_matrix(distances: Floats, order: Numbers) -> dict[str, Any]:
    """Return a matrix in an order: one byte per pair above the diagonal, 255 for pairs without a common task.

    >>> packed = pack_matrix(np.array([[0.0, 0.5, np.nan], [0.5, 0.0, 1.0], [np.nan, 1.0, 0.0]]), np.array([2, 1, 0]))
    >>> packed["order"], packed["largest"], list(base64.b64decode(packed["bytes"]))
    ([2, 1, 0], 1, [254, 255, 127])
    """
    above = distances[np.ix_(order, order)][np.triu_indices(len(order), 1)]
    known = np.isfinite(above)
    largest = float(above[known].max(initial=0.0))
    scaled = np.where(known, above, 0.0) * (254 / largest if largest > 0 else 0.0)
    packed = np.where(known, scaled.round(), 255).astype(np.uint8)
    encoded = base64.b64encode(packed.tobytes()).decode()
    return {"order": order.tolist(), "largest": brief(largest), "bytes": encoded}
