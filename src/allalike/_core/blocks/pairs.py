"""Pairs of answers to the same task, for distances that are not computed from an inner product."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.lazy_imports import sparse
from allalike._core.system.memory import check_memory
from allalike._core.system.progress import pieces

_PAIRS_PER_CHUNK = 1 << 19
_FEW_WORKERS = 512  # their table of sums stays in the cache, whatever the order of filling
_SMALL_TASK = 100  # answers
_LARGE_TASK = 1000  # answers; smaller tasks take long only if there are many, and are not refused
_INSTEAD = (
    "Use fewer answers per task (a few hundred are enough), split large tasks, or choose a label type that compares no"
    " pairs, such as categorical if many answers are equal."
)
_BYTES_PER_PAIR = 28  # of an ordered pair of answers: two indices, a distance, and temporary arrays


@dataclass(frozen=True)
class AnswerHashes:
    """The hash of each answer's label, for detecting equal answers and breaking ties."""

    hashes: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PairDistances:
    """All ordered pairs of different answers to the same task, and their distances; NaN if unknown.

    >>> pairs = PairDistances.of(Block.of([[0], [1], [5]]), lambda left, right: 1.0 * abs(right - left))
    >>> pairs.left, pairs.right, pairs.distance
    (array([0, 0, 1, 1, 2, 2], dtype=int8), array([1, 2, 2, 0, 0, 1], dtype=int8), array([1., 2., 1., 1., 2., 1.]))
    """

    left: npt.NDArray[np.integer]
    right: npt.NDArray[np.integer]
    distance: Floats

    @classmethod
    def of(cls, block: Block, compare: Callable[[Array, Array], Floats]) -> PairDistances:
        """Compare every pair of answers to a task once; ``compare`` receives the rows of both answers."""
        left, right = list_pairs(block)
        distance = np.empty(len(left))
        large = int(block.sizes.max(initial=0)) > _LARGE_TASK
        for some in pieces(len(left), _PAIRS_PER_CHUNK, "comparing pairs of answers", refuse=_INSTEAD if large else ""):
            distance[some] = compare(left[some].astype(np.intp), right[some].astype(np.intp))
        return cls.mirrored(left, right, distance)

    @classmethod
    def mirrored(cls, left: Array, right: Array, distance: Floats) -> PairDistances:
        """Make ordered pairs from pairs that are listed once."""
        return cls(np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([distance, distance]))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to its peers and their weight, ignoring unknown distances."""
        return self.add_up(weights.take(block.worker))

    def add_up(self, weight: Floats) -> tuple[Floats, Floats]:
        """Add up, per answer, the weighted distances to its peers, and the weights."""
        sums = np.zeros((2, len(weight)))
        for first in range(0, len(self.left), _PAIRS_PER_CHUNK):
            some = slice(first, first + _PAIRS_PER_CHUNK)
            distance = self.distance[some]
            own = np.where(np.isnan(distance), 0.0, weight.take(self.right[some]))
            for total, values in zip(sums, (np.nan_to_num(distance) * own, own), strict=True):
                total += sum_by(self.left[some].astype(np.intp), values, len(weight))
        return sums[0], sums[1]

    def pair_sums(self, block: Block, rows: slice | None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks."""
        left, right, distance = self.left, self.right, self.distance
        if rows is not None:
            asked = (block.worker[left] >= rows.start) & (block.worker[left] < rows.stop)
            left, right, distance = left[asked], right[asked], distance[asked]
        return add_pairs(block, rows, [(left, right, distance)])


def add_pairs(block: Block, rows: slice | None, pairs: Iterable[tuple[Array, Array, Floats]]) -> dict[str, Any]:
    """Add up and count, per pair of workers, the distances of pairs of answers that are not NaN.

    The matrices, dense or sparse, have a row for each worker in ``rows`` (by default all) and a column for each worker
    of the block.
    """
    rows = rows or slice(0, block.n_workers)
    shape = rows.stop - rows.start, block.n_workers
    total, common = MatrixSum(shape), MatrixSum(shape)
    for left, right, distance in pairs:
        known = np.flatnonzero(~np.isnan(distance))
        if len(known) < len(distance):
            left, right, distance = left[known], right[known], distance[known]
        place = block.worker[left] - rows.start, block.worker[right]
        total.add_entries(*place, distance)
        common.add_entries(*place, np.ones(len(distance)))
    return {"distance": total.result(), "common": common.result()}


def pair_chunks(
    block: Block, rows: slice | None = None, *, once: bool = False
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield all ordered pairs of different answers to the same task, in chunks; if ``once``, each pair once.

    The first answer of a pair is by a worker in ``rows``, by default any worker of the block. The answers to a task are
    in the order of workers. If ``once``, the first answer is by the worker with the smaller number.

    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]))
    >>> left, right
    (array([0, 0, 1, 1, 2, 2]), array([1, 2, 0, 2, 0, 1]))
    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]), slice(1, 2))
    >>> left, right
    (array([1, 1]), array([0, 2]))
    >>> [(left, right)] = pair_chunks(Block.of([[0], [1], [2]]), once=True)
    >>> left, right
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    whole = rows is None or (rows.start == 0 and block.n_workers <= min(rows.stop, _FEW_WORKERS))
    if whole and are_alike(block):
        for left, right in pair_alike(block, once=once):
            yield left.ravel(), right.ravel()
        return
    mine = np.arange(len(block.worker))
    partners, first = block.to_answers(block.sizes - 1), block.to_answers(block.starts)
    if once:
        partners, first = partners + first - mine, mine + 1
    if rows is not None:
        mine = np.flatnonzero((block.worker >= rows.start) & (block.worker < rows.stop))
        mine = mine[np.argsort(block.worker[mine], kind="stable")]  # so that a row of sums stays in the cache
        partners, first = partners[mine], first[mine]
    before = np.cumsum(partners) - partners
    bounds = np.searchsorted(before, np.arange(0, max(partners.sum(), 1), _PAIRS_PER_CHUNK), side="left")
    for begin, end in itertools.pairwise(np.unique([*bounds, len(mine)])):
        counts = partners[begin:end]
        left = np.repeat(mine[begin:end], counts)
        right = np.arange(len(left)) + np.repeat(first[begin:end] + before[begin] - before[begin:end], counts)
        if not once:
            right += right >= left
        yield left, right


def are_alike(block: Block) -> bool:
    """Return whether all tasks have the same small number of answers."""
    return 1 < block.same_size <= _SMALL_TASK


def pair_alike(block: Block, *, once: bool) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield the pairs of tasks with equal numbers of answers, in chunks with a row for each task."""
    size = block.same_size
    one, other = np.nonzero(np.tri(size, k=-1).T if once else ~np.eye(size, dtype=np.bool_))
    step = max(1, _PAIRS_PER_CHUNK // len(one))
    for begin in range(0, block.n_tasks, step):
        starts = block.starts[begin : begin + step, None]
        yield starts + one, starts + other


def list_pairs(block: Block) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """List every pair of answers to the same task once, in order, the earlier answer first."""
    check_pairs(block)
    small = np.min_scalar_type(-len(block.worker) - 1)
    kept = [tuple(side.astype(small) for side in pair) for pair in pair_chunks(block, once=True)]
    left, right = (np.concatenate(part) for part in zip(*kept, strict=True))
    return left, right


def check_pairs(block: Block) -> None:
    """Raise an error if the distances between all answers to a task do not fit in memory."""
    pairs, most = float((block.sizes * (block.sizes - 1.0)).sum()), int(block.sizes.max(initial=0))
    check_memory(_BYTES_PER_PAIR * pairs, f"Comparing all pairs among up to {most:,} answers per task", _INSTEAD)


def count_partners(block: Block) -> dict[str, Floats]:
    """Count, per worker, the answers by others to their tasks: an upper bound on the number of workers met."""
    return {"partners": block.per_worker(block.to_answers(block.sizes - 1.0))}


def count_later(block: Block) -> dict[str, Floats]:
    """Count, per worker, the answers by later workers to their tasks: an upper bound on those met."""
    ends = block.to_answers(block.starts + block.sizes)
    return {"partners": block.per_worker(ends - np.arange(len(ends)) - 1.0)}


# Numbers relative to their task's centre, and their original values.
#
# A number that is small compared with its task's centre loses digits when the centre is subtracted. They do not matter
# in sums of squares, but they do if the answer that shifted the centre is corrected later. So the number is kept.


_SMALL_RATIO = 1e3  # with a smaller ratio of centre to number, the number keeps at least twelve digits


@dataclass(frozen=True)
class Centred:
    """The centre of each task, and the labels of the answers that lose digits when it is subtracted.

    >>> from allalike._core.blocks.block import Block
    >>> block = Centred.subtract(Block.of([[1e-3, 1.0], [1e10, 2.0]]), np.array([5e9, 1.5]))
    >>> block.label[2:], block[Centred].lost, block[Centred].lost_label
    (array([-0.5,  0.5]), array([0, 1]), array([1.e-03, 1.e+10]))
    >>> block[Centred].answers(block, np.array([0, 3]))
    array([1.e-03, 2.e+00])
    """

    centre: Floats
    lost: npt.NDArray[np.int64]
    lost_label: Floats

    @staticmethod
    def subtract(block: Block, centre: Floats) -> Block:
        """Return the block with numbers relative to their task's centre."""
        smallest = np.minimum.reduceat(np.abs(block.label), block.starts)
        small = np.asarray(smallest * _SMALL_RATIO < np.abs(centre))
        lost = np.flatnonzero(block.to_answers(small if small.ndim == 1 else np.asarray(small.any(axis=1))))
        return replace(
            block, label=block.label - block.to_answers(centre), gold_label=block.gold_label - centre[block.gold_task]
        ).keeping(Centred(centre, lost, block.label[lost]))

    def answers(self, block: Block, rows: Array) -> Floats:
        """Return the original labels of these answers."""
        if np.array_equal(rows, np.arange(len(block.label))):
            every: Floats = block.label + block.to_answers(self.centre)
            every[self.lost] = self.lost_label
            return every
        task = np.searchsorted(block.starts, rows, side="right") - 1
        label: Floats = block.label[rows] + self.centre[task]
        place = np.searchsorted(self.lost, rows)
        place[place == len(self.lost)] = 0
        again = np.flatnonzero(self.lost[place] == rows) if len(self.lost) else self.lost
        label[again] = self.lost_label[place[again]]
        return label


# Sums of matrices with a row and a column per worker, sparse or dense.


Places = npt.NDArray[np.intp]
_MAX_DENSE_ENTRIES = 1 << 20  # entries of a matrix that is always dense
_DENSE_SHARE = 1 / 8  # filled share above which a sparse matrix is as large as an array, and much slower
_MAX_WAITING_ENTRIES = 1 << 19  # numbers that are collected before they are added up


class MatrixSum:
    """A sum of matrices: an array if it is small or at least an eighth of it is filled, else sparse.

    Numbers are collected until they are as many as those in the sum, so that each number is copied only as often as the
    sum doubles.

    >>> total = MatrixSum((2, 3))
    >>> total.add_entries(np.array([0, 0]), np.array([2, 2]), np.array([1.0, 4.0]))
    >>> total.add(np.array([[1.0, 2.0]]), np.array([1]), np.array([0, 2]))
    >>> total.result()
    array([[0., 0., 5.],
           [1., 0., 2.]])
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._enough = _DENSE_SHARE * shape[0] * shape[1]
        self._loose: list[tuple[Places, Places, Array]] = []
        self._sum: Any = np.zeros(shape) if shape[0] * shape[1] <= _MAX_DENSE_ENTRIES else None  # dense, sparse or none

    def add_entries(self, row: Places, column: Places, values: Array) -> None:
        """Add numbers, several of which may have the same row and column."""
        self._loose.append((row, column, values))
        n_loose = sum(len(values) for _, _, values in self._loose)
        if isinstance(self._sum, np.ndarray) or n_loose > self._enough:
            self._fill()
        elif n_loose > max(_MAX_WAITING_ENTRIES, 0 if self._sum is None else self._sum.nnz):
            self._merge()

    def add(self, matrix: Any, row: Places, column: Places) -> None:
        """Add a matrix, dense or sparse, whose rows and columns have these indices in the sum."""
        full = isinstance(matrix, np.ndarray) and np.count_nonzero(matrix) > self._enough
        if isinstance(matrix, np.ndarray) and (full or isinstance(self._sum, np.ndarray)):
            whole = matrix.shape == self.shape
            self._fill()[... if whole else np.ix_(row, column)] += matrix
        else:
            left, right, values = list_entries(matrix)
            self.add_entries(row[left], column[right], values)

    def result(self) -> Any:
        """Return the sum as an array or as a sparse matrix, which may have several numbers for the same entry."""
        if isinstance(self._sum, np.ndarray):
            return self._fill()
        return self._take_loose() if self._sum is None else self._merge()

    def _take_loose(self) -> Any:
        empty = np.empty(0, np.intp)
        loose, self._loose = self._loose or [(empty, empty, np.empty(0))], []
        row, column, values = loose[0] if len(loose) == 1 else map(np.concatenate, zip(*loose, strict=True))
        return sparse.coo_array((values, (row, column)), shape=self.shape)

    def _merge(self) -> Any:
        """Return the sum, including the collected numbers; it becomes an array if enough of it is filled."""
        part = self._take_loose().tocsr()
        self._sum = part if self._sum is None else self._sum + part
        return self._fill() if self._sum.nnz > self._enough else self._sum

    def _fill(self) -> Floats:
        """Return the sum as an array, including the collected numbers."""
        if not isinstance(self._sum, np.ndarray):
            self._sum = np.zeros(self.shape) if self._sum is None else self._sum.toarray()
        loose, self._loose = self._loose, []
        for row, column, values in loose:
            np.add.at(self._sum.reshape(-1), row.astype(np.int64) * self.shape[1] + column, values)
        found: Floats = self._sum
        return found


def stack_rows(parts: Sequence[Any]) -> Any:
    """Concatenate ranges of rows, dense or sparse.

    The matrix is an array if it is small or at least an eighth of it is filled, else sparse by rows (CSR). This depends
    only on its numbers.
    """
    sums = [part if isinstance(part, np.ndarray) else part.tocsr() for part in parts]
    filled = sum(np.count_nonzero(part if isinstance(part, np.ndarray) else part.data) for part in sums)
    size = sum(part.shape[0] * part.shape[1] for part in sums)
    if size <= _MAX_DENSE_ENTRIES or filled > _DENSE_SHARE * size:
        arrays = [part if isinstance(part, np.ndarray) else part.toarray() for part in sums]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    matrix = sparse.vstack([sparse.csr_array(part) for part in sums], format="csr")
    matrix.eliminate_zeros()
    return matrix


def list_entries(matrix: Any) -> tuple[Places, Places, Array]:
    """Return the row, column and value of the nonzero entries of an array, or of the entries of a sparse matrix."""
    if isinstance(matrix, np.ndarray):
        row, column = np.nonzero(matrix)
        return row, column, matrix[row, column]
    listed = matrix.tocoo()
    return listed.row.astype(np.intp), listed.col.astype(np.intp), listed.data
