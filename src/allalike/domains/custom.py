"""Labels of any type, compared by a custom function or a distance matrix.

    d(a, b) = your_function(a, b),   or the number in row a and column b of your matrix

A distance must satisfy d(a, a) = 0, d(a, b) = d(b, a) and d(a, b) >= 0. The estimated label is one of the answers.

This label type works for arbitrary labels, such as molecules, melodies or answers compared by a language model. It
fails if the distance does not reflect errors, that is, if correct answers are far apart or wrong answers are close
together. The function is called for every pair of answers to a task: 100 answers need about 5,000 calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Floats
from allalike.domains.pairwise import Pairwise, Places
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
        numbers are the labels. NaN in a matrix means that the distance is unknown.
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
    summary: ClassVar[str] = "anything; your function, or a distance matrix"
    rules: ClassVar[tuple[Rule, ...]] = CHOICES
    distances: ClassVar[tuple[str, ...]] = ("yours",)
    farthest: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.distance):
            object.__setattr__(self, "distance", read_matrix(self.distance))
        super().__post_init__()

    @property
    def noise(self) -> General:
        return General(farthest=self.farthest)

    def _parse(self, value: Any) -> Any:
        if callable(self.distance):
            return value
        if type(value) is not int or not 0 <= value < len(self.distance):
            raise ValueError(
                f"a label must be the number of a row of the distance matrix, from 0 to {len(self.distance) - 1}"
            )
        return value

    def _find_common(self, parsed: list[Any]) -> None:
        if callable(self.distance):
            _check(self.distance, parsed[:_N_CHECKED])

    def _pack(self, parsed: list[Any]) -> Any:
        return parsed if callable(self.distance) else np.array(parsed, np.int64)

    def _compare(self, left: Any, i: Places, right: Any, j: Places) -> Floats:
        if callable(self.distance):
            return np.array([_call(self.distance, left[a], right[b]) for a, b in zip(i, j, strict=True)], np.float64)
        found: Floats = self.distance[left[i], right[j]]
        return found

    def describe(self) -> dict[str, Any]:
        named = getattr(self.distance, "__name__", "yours") if callable(self.distance) else "matrix"
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
