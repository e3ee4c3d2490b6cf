"""Labels of the user's own, compared by a function or by a matrix of distances.

    d(a, b) = your_function(a, b),   or the number in row a and column b of your matrix

All that is asked of a distance: d(a, a) = 0, d(a, b) = d(b, a), never negative. A truth is one of the answers.

It works for anything, such as molecules, tunes or answers that a model compared. It fails where the distance does not
say what a mistake is: where right answers are far from each other, or wrong ones near. And each pair of answers to a
task is one call of the function, so that a hundred answers are five thousand calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike.domains.contract import Kernels
from allalike.domains.pairwise import Pairwise, PairwiseEncoding, PairwiseKernels, Stored, objects
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.vote import best_worker, medoid

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.column import Column
    from allalike.domains.contract import Measure
    from allalike.domains.pairwise import Places

_N_CHECKED = 12  # labels whose distances to each other are checked


@dataclass(frozen=True, kw_only=True)
class Custom(Pairwise):
    """Labels of any kind, compared by a distance of your own.

    Parameters
    ----------
    distance
        A function of two labels that is symmetric, zero for equal labels, and never negative; or a square matrix,
        and then a label is the number of its row; or a mapping from tasks to such matrices, one for each. NaN in a
        matrix means that the distance is unknown.
    rule
        How a task's labels become one: ``medoid`` or ``best worker``.
    farthest
        The distance of labels that have nothing in common, if there is one; ``weighting="chance"`` needs it.

    >>> import allalike
    >>> rows = [("ada", 1, "night"), ("bob", 1, "nacht"), ("eve", 1, "day")]
    >>> letters = lambda a, b: len(set(a) ^ set(b))
    >>> allalike.discover(rows, domain=Custom(distance=letters)).truth["label"].tolist()
    ['nacht']
    """

    name: ClassVar[str] = "custom"
    summary: ClassVar[str] = "anything; your function, or a matrix of distances, for all tasks or for each"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("medoid", medoid), Rule("best worker", best_worker))
    distances: ClassVar[tuple[str, ...]] = ("yours",)
    farthest: float | None = None

    def __post_init__(self) -> None:
        distance = self.distance
        if isinstance(distance, Mapping):
            distance = {task: read_matrix(matrix) for task, matrix in distance.items()}
        elif not callable(distance):
            distance = read_matrix(distance)
        object.__setattr__(self, "distance", distance)
        super().__post_init__()

    @property
    def noise(self) -> General:
        """Nothing in particular."""
        return General(farthest=self.farthest)

    def learn(self, labels: Column) -> PairwiseEncoding:
        """Take labels as they are and check the distance on some, or take them for rows of matrices."""
        return super().learn(labels) if callable(self.distance) else MatrixEncoding.of(self)

    def parse(self, value: Any) -> Any:
        """Take any label."""
        return value

    def find_common(self, parsed: list[Any]) -> None:
        """Refuse a function that is no distance, by what it says of a few labels."""
        _check(self.distance, parsed[:_N_CHECKED])

    def pack(self, parsed: list[Any]) -> list[Any]:
        """Keep the labels as they are."""
        return parsed

    def unpack(self, store: list[Any], places: Array) -> npt.NDArray[np.object_]:
        """Return the labels as they are."""
        return objects([store[place] for place in places])

    def compare(self, left: list[Any], i: Places, right: list[Any], j: Places) -> Floats:
        """Call the function."""
        return np.array([_call(self.distance, left[a], right[b]) for a, b in zip(i, j, strict=True)], np.float64)

    def describe(self) -> dict[str, Any]:
        """Return whose distance it is."""
        kind = "matrix per task" if isinstance(self.distance, Mapping) else "matrix"
        named = getattr(self.distance, "__name__", "yours") if callable(self.distance) else kind
        return {**super().describe(), "distance": named}


def _call(function: Callable[[Any, Any], Any], left: Any, right: Any) -> float:
    try:
        value = float(function(left, right))
    except Exception as error:
        raise LabelError(
            f"The distance of {left!r} and {right!r} cannot be computed: {type(error).__name__}: {error}."
        ) from error
    if not 0 <= value < np.inf:
        raise LabelError(f"The distance of {left!r} and {right!r} is {value}. It must be finite, and not negative.")
    return value


def _check(function: Callable[[Any, Any], Any], labels: list[Any]) -> None:
    for left, right in product(labels, labels):
        there, back = _call(function, left, right), _call(function, right, left)
        if abs(there - back) > 1e-9 * max(there, back):
            raise LabelError(f"The distance is not symmetric: {left!r} to {right!r} is {there}, but back it is {back}.")
        if left is right and there > 1e-9:
            raise LabelError(f"The distance of {left!r} to itself is {there}, not 0.")


class Matrices(NamedTuple):
    """Some of many matrices, whose rows are numbered through all: first rows, sizes, and all entries.

    >>> matrices = Matrices(np.array([0, 2]), np.array([2, 1]), np.array([0.0, 0.5, 0.5, 0.0, 0.0]))
    >>> matrices.entries_at(np.array([0, 2]), np.array([1, 2]))
    array([0.5, 0. ])
    """

    first: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    entries: Floats

    def which(self, rows: Array) -> Array:
        """Return the place of the matrix to which each row belongs."""
        return np.searchsorted(self.first, rows, side="right") - 1

    def within(self, rows: Array) -> Array:
        """Return the number of each row in its own matrix."""
        return np.asarray(rows - self.first[self.which(rows)])

    def cut(self, rows: Array) -> Matrices:
        """Return the matrices to which some rows belong."""
        which = np.unique(self.which(rows))
        if len(which) == len(self.first):
            return self
        corner = np.cumsum(self.sizes**2) - self.sizes**2
        parts = [self.entries[corner[k] : corner[k] + self.sizes[k] ** 2] for k in which]
        return Matrices(self.first[which], self.sizes[which], np.concatenate([np.empty(0), *parts]))

    def entries_at(self, i: Array, j: Array) -> Floats:
        """Return the entry in row i[k] and column j[k] of their matrix, for all k."""
        which = self.which(i)
        corner = np.cumsum(self.sizes**2) - self.sizes**2
        row, column = i - self.first[which], j - self.first[which]
        return self.entries[corner[which] + row * self.sizes[which] + column]


@dataclass(frozen=True, kw_only=True)
class MatrixEncoding(PairwiseEncoding):
    """All matrices; a code is the number of a label's row among the rows of all of them."""

    matrices: Matrices

    @classmethod
    def of(cls, domain: Pairwise) -> Self:
        """Number the rows of all matrices."""
        given = domain.distance
        matrices = list(given.values()) if isinstance(given, Mapping) else [given]
        sizes = np.array([len(matrix) for matrix in matrices], np.int64)
        entries = matrices[0].ravel() if len(matrices) == 1 else np.concatenate([m.ravel() for m in matrices])
        return cls(domain=domain, matrices=Matrices(np.cumsum(sizes) - sizes, sizes, entries))

    @property
    def kernels(self) -> MatrixKernels:
        """Entries of matrices."""
        return MatrixKernels(domain=self.domain, matrices=self.matrices)

    def merge(self, others: Sequence[Self]) -> Self:
        """Return the same matrices."""
        return self

    def encode(self, labels: Column) -> Array:
        """Return the number of each label's row in its own matrix, until its task is known."""
        codes, parsed = labels.parsed(_row)
        return np.array(parsed, np.int64)[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Take truths like labels."""
        return self, self.encode(labels)

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        """Find the rows of labels in the matrices of their tasks."""
        which = self._matrix_of(tasks)
        first, size = self.matrices.first[which], self.matrices.sizes[which]
        outside = np.flatnonzero(codes >= size[task])
        if len(outside):
            place = outside[0]
            raise LabelError(
                f"The label {codes[place]} of task {tasks[int(task[place])]!r} is no row of its matrix of distances,"
                f" which has rows 0 to {size[task[place]] - 1}."
            )
        return np.asarray(codes + first[task])

    def _matrix_of(self, tasks: Values) -> Array:
        """Return the number of each task's matrix."""
        given = self.domain.distance
        if not isinstance(given, Mapping):
            return np.zeros(len(tasks), np.intp)
        ids, place = tasks.tolist(), {task: number for number, task in enumerate(given)}
        missing = next((task for task in ids if task not in place), None)
        if missing is not None:
            raise LabelError(f"There is no matrix of distances for task {missing!r}.")
        return np.array([place[task] for task in ids], np.intp)

    def decode(self, codes: Array) -> Values:
        """Return the number of each row in its own matrix."""
        return Values(self.matrices.within(codes).tolist())

    def store(self, block: Block) -> Block:
        """Leave the numbers of rows as they are."""
        return block

    def prepare(self, block: Block) -> Block:
        """Keep the matrices of the block's tasks, and look up the distances of its answers."""
        store, row = self.matrices.cut(block.label), self.matrices.within(block.label)
        pairs = PairDistances.of(block, lambda i, j: store.entries_at(block.label[i], block.label[j]))
        label_hash = hash_objects(range(int(row.max()) + 1))
        return block.keeping(Stored(store, label_hash), AnswerHashes(label_hash[row]), pairs)


@dataclass(frozen=True, kw_only=True)
class MatrixKernels(PairwiseKernels):
    """Sums of entries of matrices."""

    matrices: Matrices

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Look into the matrices."""
        return self.matrices.entries_at(left, right)

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Look into the matrices, where both labels belong to the same."""
        same = self.matrices.which(left) == self.matrices.which(right)
        return np.where(same, self.matrices.entries_at(left, np.where(same, right, left)), np.nan)

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        """Look into the matrices, which hold all."""
        return Kernels.compare_among(self, codes)

    def _distance_to(self, block: Block, answer: Array, truth: Array, place: Array) -> Floats:
        store: Matrices = block[Stored].store
        return store.entries_at(block.label[answer], truth[place])

    def restore(self, block: Block, label: Array) -> Array:
        """Return the rows, which mean the same everywhere."""
        return label


def read_matrix(distance: Any) -> Floats:
    """Return a square matrix of distances as an array, or refuse it.

    >>> read_matrix([[0, 2], [1, 0]])
    Traceback (most recent call last):
    allalike.errors.OptionError: The matrix of distances is not symmetric.
    """
    try:
        matrix = np.array(distance, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise OptionError("distance must be a function of two labels, or a square matrix of distances.")
    if np.isinf(matrix).any() or (matrix < 0).any():
        raise OptionError("The matrix of distances has an entry that is infinite or negative.")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0, equal_nan=True):
        raise OptionError("The matrix of distances is not symmetric.")
    return matrix


def _row(value: Any) -> int:
    """Take the number of a row."""
    if type(value) is not int or value < 0:
        raise ValueError("a label is the number of a row in the matrix of distances, from 0")
    return value
