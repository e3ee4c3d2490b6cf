"""Labels of the user's own, compared by a function or by a matrix of distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from allalike.columns.hashes import hash_objects
from allalike.columns.values import Values
from allalike.domains.compared import Compared, objects
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.choice import best_worker, medoid

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike.blocks.block import Array, Block, Floats
    from allalike.columns.column import Column

__all__ = ["Custom", "Matrices"]

_NO_DISTANCE = "distance must be a function of two labels, or a square matrix of distances."
_CHECKED = 12  # labels whose distances to each other are checked


@dataclass(frozen=True, kw_only=True)
class Custom(Compared):
    """Compare labels of any kind by a distance of your own.

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

    def __new__(cls, *, distance: Any = len, **_: Any) -> Self:
        """Make a domain of a function, or one of matrices, whose labels are no more than numbers of rows."""
        made: Self = object.__new__(cls if callable(distance) else cast("type[Self]", _OfMatrices))
        return made

    def __post_init__(self) -> None:
        self._choose("rule", tuple(rule.name for rule in self.rules))
        if self.distance == "":
            raise OptionError(_NO_DISTANCE)

    @property
    def model(self) -> General:
        """Expect nothing in particular."""
        return General(farthest=self.farthest)

    def resolve(self, labels: Column) -> Self:
        """Check the distance on some labels."""
        _check(self.distance, labels.parsed(self.parse)[1][:_CHECKED])
        return self

    def parse(self, value: Any) -> Any:
        """Take any label."""
        return value

    def pack(self, parsed: list[Any]) -> list[Any]:
        """Keep the labels as they are."""
        return parsed

    def unpack(self, store: list[Any], places: Array) -> npt.NDArray[np.object_]:
        """Return the labels as they are."""
        return objects([store[place] for place in places])

    def compare(self, left: Any, i: npt.NDArray[np.intp], right: Any, j: npt.NDArray[np.intp]) -> Floats:
        """Call the function."""
        return np.array([_call(self.distance, left[a], right[b]) for a, b in zip(i, j, strict=True)], np.float64)

    def describe(self) -> dict[str, Any]:
        """Say in a summary whose distance it is."""
        return {**super().describe(), "distance": getattr(self.distance, "__name__", "yours")}


class Matrices(NamedTuple):
    """Hold some of many matrices, whose rows are numbered through all: first rows, sizes, and all entries.

    >>> matrices = Matrices(np.array([0, 2]), np.array([2, 1]), np.array([0.0, 0.5, 0.5, 0.0, 0.0]))
    >>> matrices.entries_at(np.array([0, 2]), np.array([1, 2]))
    array([0.5, 0. ])
    """

    first: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    entries: Floats

    def entries_at(self, i: Array, j: Array) -> Floats:
        """Return the entry in row i[k] and column j[k] of their matrix, for all k."""
        which = _holder(self.first, i)
        corner = np.cumsum(self.sizes**2) - self.sizes**2
        row, column = i - self.first[which], j - self.first[which]
        return self.entries[corner[which] + row * self.sizes[which] + column]


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfMatrices(Custom):
    """Compare labels by matrices, which all shards know; a block has those of its tasks.

    A label is a row. Encoded, it is the row's number among the rows of all matrices, which is the same in all shards.
    """

    sizes: npt.NDArray[np.int64] = field(init=False, compare=False)
    first: npt.NDArray[np.int64] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self._choose("rule", tuple(rule.name for rule in self.rules))
        given = self.distance
        distance = {k: _matrix(v) for k, v in given.items()} if isinstance(given, Mapping) else _matrix(given)
        object.__setattr__(self, "distance", distance)
        object.__setattr__(self, "sizes", np.array([len(matrix) for matrix in self._matrices], np.int64))
        object.__setattr__(self, "first", np.cumsum(self.sizes) - self.sizes)

    def __repr__(self) -> str:
        return super().__repr__().replace("_OfMatrices", "Custom", 1)

    @property
    def _matrices(self) -> list[Floats]:
        return list(self.distance.values()) if isinstance(self.distance, Mapping) else [self.distance]

    def resolve(self, labels: Column) -> Self:
        """Return the domain as it is: matrices were checked when they were given."""
        return self

    def hold(self, labels: Column) -> Self:
        """Have a matrix for all tasks at hand, so that blocks share it."""
        return self if isinstance(self.distance, Mapping) else self._knowing(store=self._cut(self.first))

    def narrow(self, labels: Array) -> tuple[Self, Array]:
        """Return the domain as it is."""
        return self, labels

    def loosen(self, labels: Array) -> Array:
        """Return the rows, which mean the same everywhere."""
        return labels

    def parse(self, value: Any) -> int:
        """Take the number of a row."""
        if type(value) is not int or value < 0:
            raise ValueError("a label is the number of a row in the matrix of distances, from 0")
        return value

    def encode(self, labels: Column) -> Array:
        """Return the number of each label's row in its own matrix, until `settle`."""
        codes, parsed = labels.parsed(self.parse)
        return np.array(parsed, np.int64)[codes]

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Take truths like labels."""
        return self, self.encode(labels)

    def settle(self, labels: Array, task: Array, tasks: Values) -> Array:
        """Find the rows of labels in the matrices of their tasks."""
        which = self._which(tasks)
        first, size = self.first[which], self.sizes[which]
        outside = np.flatnonzero(labels >= size[task])
        if len(outside):
            place = outside[0]
            raise LabelError(
                f"The label {labels[place]} of task {tasks[int(task[place])]!r} is no row of its matrix of distances,"
                f" which has rows 0 to {size[task[place]] - 1}."
            )
        return np.asarray(labels + first[task])

    def _which(self, tasks: Values) -> Array:
        """Return the number of each task's matrix."""
        if not isinstance(self.distance, Mapping):
            return np.zeros(len(tasks), np.intp)
        ids, place = tasks.tolist(), {task: number for number, task in enumerate(self.distance)}
        missing = next((task for task in ids if task not in place), None)
        if missing is not None:
            raise LabelError(f"There is no matrix of distances for task {missing!r}.")
        return np.array([place[task] for task in ids], np.intp)

    def decode(self, codes: Array) -> Values:
        """Return the number of each row in its own matrix."""
        return Values(self._row(codes).tolist())

    def _row(self, places: Array) -> Array:
        return np.asarray(places - self.first[_holder(self.first, places)])

    def compare(self, left: Any, i: npt.NDArray[np.intp], right: Any, j: npt.NDArray[np.intp]) -> Floats:
        """Look into the matrices."""
        found: Floats = left.entries_at(i, j)
        return found

    def apart(self, left: Array, right: Array) -> Floats:
        """Look into the matrices."""
        return self._cut(left).entries_at(left, right)

    def restore(self, block: Block, label: Array) -> Array:
        """Return the rows, which mean the same everywhere."""
        return label

    def _stored(self, block: Block) -> Matrices:
        return self._cut(block.label) if self.store is None else self.store

    def _cut(self, places: Array) -> Matrices:
        """Return the matrices to which some rows belong."""
        which, matrices = np.unique(_holder(self.first, places)), self._matrices
        parts = [matrices[number].ravel() for number in which] or [np.empty(0)]
        return Matrices(self.first[which], self.sizes[which], parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _answer_hash(self, block: Block) -> npt.NDArray[np.uint64]:
        row = self._row(block.label)
        return hash_objects(range(int(row.max()) + 1))[row]

    def describe(self) -> dict[str, Any]:
        """Say in a summary how many matrices there are."""
        return {**super().describe(), "distance": "matrix per task" if isinstance(self.distance, Mapping) else "matrix"}


def _holder(first: Array, rows: Array) -> Array:
    return np.searchsorted(first, rows, side="right") - 1


def _matrix(distance: Any) -> Floats:
    """Read a square matrix of distances."""
    try:
        matrix = np.array(distance, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise OptionError(_NO_DISTANCE)
    if np.isinf(matrix).any() or (matrix < 0).any():
        raise OptionError("The matrix of distances has an entry that is infinite or negative.")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0, equal_nan=True):
        raise OptionError("The matrix of distances is not symmetric.")
    return matrix


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
    """Refuse a function that is no distance, by what it says of a few labels."""
    for left, right in product(labels, labels):
        there, back = _call(function, left, right), _call(function, right, left)
        if abs(there - back) > 1e-9 * max(there, back):
            raise LabelError(f"The distance is not symmetric: {left!r} to {right!r} is {there}, but back it is {back}.")
        if left is right and there > 1e-9:
            raise LabelError(f"The distance of {left!r} to itself is {there}, not 0.")
