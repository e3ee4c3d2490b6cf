"""Labels of the user's own, compared by a function or by a matrix of distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike.domains.compared import Compared
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.choice import best_worker, medoid

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike.blocks import Array, Floats
    from allalike.columns import Column
    from allalike.values import Values

__all__ = ["Custom"]

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

    def __post_init__(self) -> None:
        self._choose("rule", tuple(rule.name for rule in self.rules))
        if isinstance(self.distance, Mapping):
            object.__setattr__(self, "distance", {task: _matrix(matrix) for task, matrix in self.distance.items()})
        elif not callable(self.distance):
            object.__setattr__(self, "distance", _matrix(self.distance))

    @property
    def model(self) -> General:
        """Expect nothing in particular."""
        return General(farthest=self.farthest)

    def resolve(self, labels: Column) -> Self:
        """Parse the labels, and check the distance on some of them."""
        resolved = super().resolve(labels)
        if callable(self.distance):
            _check(self.distance, resolved.parsed[:_CHECKED])
            return resolved
        matrices = list(self.distance.values()) if isinstance(self.distance, Mapping) else [self.distance]
        return self._with([row for matrix in matrices for row in range(len(matrix))])

    def parse(self, value: Any) -> Any:
        """Take any label; one that is a row of a matrix is a number."""
        if not callable(self.distance) and (type(value) is not int or value < 0):
            raise ValueError("a label is the number of a row in the matrix of distances, from 0")
        return value

    def encode(self, labels: Column) -> Array:
        """Return the place of each label; where there are matrices, it is the number of the row until `settle`."""
        codes, parsed = labels.parsed(self.parse)
        return codes if callable(self.distance) else np.array(parsed, np.int64)[codes]

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Take truths like labels."""
        return super().take_gold(labels) if callable(self.distance) else (self, self.encode(labels))

    def settle(self, labels: Array, task: Array, tasks: Values) -> Array:
        """Find the rows of labels in the matrices of their tasks, which are stored one behind the other."""
        if callable(self.distance):
            return labels
        first, size = self._rows(tasks)
        outside = np.flatnonzero(labels >= size[task])
        if len(outside):
            place = outside[0]
            raise LabelError(
                f"The label {labels[place]} of task {tasks[int(task[place])]!r} is no row of its matrix of distances,"
                f" which has rows 0 to {size[task[place]] - 1}."
            )
        return np.asarray(labels + first[task])

    def _rows(self, tasks: Values) -> tuple[Array, Array]:
        """Return the first row and the number of rows of each task's matrix."""
        if not isinstance(self.distance, Mapping):
            return np.zeros(len(tasks), np.int64), np.full(len(tasks), len(self.distance))
        ids = tasks.tolist()
        missing = next((task for task in ids if task not in self.distance), None)
        if missing is not None:
            raise LabelError(f"There is no matrix of distances for task {missing!r}.")
        sizes = np.array([len(matrix) for matrix in self.distance.values()])
        place = {task: number for number, task in enumerate(self.distance)}
        order = [place[task] for task in ids]
        return (np.cumsum(sizes) - sizes)[order], sizes[order]

    def pack(self, parsed: list[Any]) -> list[Any]:
        """Keep the labels as they are."""
        return parsed

    def compare(self, left: Any, i: npt.NDArray[np.intp], right: Any, j: npt.NDArray[np.intp]) -> Floats:
        """Call the function, or look into the matrix."""
        if callable(self.distance):
            pairs = zip(i, j, strict=True)
            return np.array([_call(self.distance, left[a], right[b]) for a, b in pairs], np.float64)
        if not isinstance(self.distance, Mapping):
            return np.asarray(self.distance[i, j], np.float64)
        sizes = np.array([len(matrix) for matrix in self.distance.values()])
        first, corner = np.cumsum(sizes) - sizes, np.cumsum(sizes**2) - sizes**2
        which = np.searchsorted(first, i, side="right") - 1
        entries = np.concatenate([matrix.ravel() for matrix in self.distance.values()])
        return np.asarray(entries[corner[which] + (i - first[which]) * sizes[which] + j - first[which]], np.float64)

    def describe(self) -> dict[str, Any]:
        """Say in a summary whose distance it is."""
        given = getattr(self.distance, "__name__", "yours") if callable(self.distance) else "matrix"
        return {**super().describe(), "distance": "matrix per task" if isinstance(self.distance, Mapping) else given}


def _matrix(distance: Any) -> Floats:
    """Read a square matrix of distances."""
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
