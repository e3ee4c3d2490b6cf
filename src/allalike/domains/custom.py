"""Labels of any type, compared by a custom function or a distance matrix.

    d(a, b) = your_function(a, b),   or the number in row a and column b of your matrix

A distance must satisfy d(a, a) = 0, d(a, b) = d(b, a) and d(a, b) >= 0. The estimated label is one of the answers.

This label type works for arbitrary labels, such as molecules, melodies or answers compared by a language model. It
fails if the distance does not reflect errors, that is, if correct answers are far apart or wrong answers are close
together. The function is called for every pair of answers to a task: 100 answers need about 5,000 calls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike.domains.contract import Encoding
from allalike.domains.pairwise import Pairwise, PairwiseEncoding, Places, objects
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.vote import CHOICES

_N_CHECKED = 12  # number of labels whose pairwise distances are validated


@dataclass(frozen=True, kw_only=True)
class Custom(Pairwise):
    """Labels of any type, compared by a custom distance.

    Parameters
    ----------
    distance
        A function of two labels that is symmetric, nonnegative and zero for equal labels; or a square matrix, whose row
        numbers are the labels; or a mapping from each task to such a matrix. NaN in a matrix means that the distance is
        unknown.
    rule
        Aggregation rule: ``medoid`` or ``best worker``.
    farthest
        The distance between unrelated labels, if defined; required by ``weighting="chance"``.

    >>> import allalike
    >>> rows = [("ada", 1, "night"), ("bob", 1, "nacht"), ("eve", 1, "day")]
    >>> letters = lambda a, b: len(set(a) ^ set(b))
    >>> allalike.discover(rows, domain=Custom(distance=letters)).truth["label"].tolist()
    ['nacht']
    """

    name: ClassVar[str] = "custom"
    summary: ClassVar[str] = "anything; your function, or a distance matrix for all tasks or per task"
    rules: ClassVar[tuple[Rule, ...]] = CHOICES
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
        return General(farthest=self.farthest)

    @cached_property
    def _matrices(self) -> list[Floats]:
        if callable(self.distance):
            return []
        return list(self.distance.values()) if isinstance(self.distance, Mapping) else [self.distance]

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """The number of rows of each matrix."""
        return np.array([len(matrix) for matrix in self._matrices], np.int64)

    @cached_property
    def _entries(self) -> Floats:
        """The entries of all matrices."""
        return np.concatenate([matrix.ravel() for matrix in self._matrices])

    def learn(self, labels: Column) -> Encoding:
        return super().learn(labels) if callable(self.distance) else MatrixEncoding(domain=self)

    def _parse(self, value: Any) -> Any:
        if self._matrices and (type(value) is not int or value < 0):
            raise ValueError("a label must be the number of a row of the distance matrix, starting from 0")
        return (0, value) if self._matrices else value

    def _key(self, parsed: Any) -> object:
        return parsed[1] if self._matrices else parsed

    def _present(self, parsed: Any, common: Any) -> Any:
        return self._key(parsed)

    def _find_common(self, parsed: list[Any]) -> None:
        if callable(self.distance):
            _check(self.distance, parsed[:_N_CHECKED])

    def _pack(self, parsed: list[Any]) -> Any:
        return np.array(parsed, np.int64).reshape(-1, 2) if self._matrices else parsed

    def _compare(self, left: Any, i: Places, right: Any, j: Places) -> Floats:
        if not self._matrices:
            return np.array([_call(self.distance, left[a], right[b]) for a, b in zip(i, j, strict=True)], np.float64)
        (matrix, row), (other, column) = left[i].T, right[j].T
        first, same = np.cumsum(self._sizes**2) - self._sizes**2, matrix == other
        place = first[matrix] + row * self._sizes[matrix] + np.where(same, column, 0)
        return np.where(same, self._entries[place], np.nan)

    def describe(self) -> dict[str, Any]:
        kind = "matrix per task" if isinstance(self.distance, Mapping) else "matrix"
        named = getattr(self.distance, "__name__", "yours") if callable(self.distance) else kind
        return {**super().describe(), "distance": named}


def _call(function: Callable[[Any, Any], Any], left: Any, right: Any) -> float:
    try:
        value = float(function(left, right))
    except Exception as error:
        raise LabelError(
            f"The distance between {left!r} and {right!r} cannot be computed: {type(error).__name__}: {error}."
        ) from error
    if not 0 <= value < np.inf:
        raise LabelError(f"The distance between {left!r} and {right!r} is {value}. It must be finite and not negative.")
    return value


def _check(function: Callable[[Any, Any], Any], labels: list[Any]) -> None:
    for left, right in product(labels, labels):
        there, back = _call(function, left, right), _call(function, right, left)
        if abs(there - back) > 1e-9 * max(there, back):
            raise LabelError(f"The distance is not symmetric: {left!r} to {right!r} is {there}, the reverse is {back}.")
        if left is right and there > 1e-9:
            raise LabelError(f"The distance from {left!r} to itself is {there}. It must be 0.")


class MatrixEncoding(PairwiseEncoding):
    """Rows of matrices; a code holds the numbers of a matrix (0 until the task is known) and of a row in it."""

    domain: Custom

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        """Set the matrix numbers of the tasks."""
        given = self.domain.distance
        number = {each: place for place, each in enumerate(given)} if isinstance(given, Mapping) else None
        which = [0 if number is None else number.get(each, -1) for each in tasks.tolist()]
        if -1 in which:
            raise LabelError(f"There is no distance matrix for task {tasks[which.index(-1)]!r}. Add one to distance.")
        fitted = []
        for (_, row), own in zip(codes, task.tolist(), strict=True):
            if row >= self.domain._sizes[which[own]]:
                raise LabelError(
                    f"The label {row} of task {tasks[own]!r} is not a row of its distance matrix, which has rows 0 to"
                    f" {self.domain._sizes[which[own]] - 1}."
                )
            fitted.append((which[own], row))
        return objects(fitted)


def read_matrix(distance: Any) -> Floats:
    """Convert a square distance matrix to an array, or raise an error.

    >>> read_matrix([[0, 2], [1, 0]])
    Traceback (most recent call last):
    allalike.errors.OptionError: The distance matrix is not symmetric.
    """
    try:
        matrix = np.array(distance, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise OptionError("distance must be a function of two labels, or a square distance matrix.")
    if np.isinf(matrix).any() or (matrix < 0).any():
        raise OptionError("The distance matrix has an entry that is infinite or negative.")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0, equal_nan=True):
        raise OptionError("The distance matrix is not symmetric.")
    return matrix
