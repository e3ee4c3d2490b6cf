"""Labels of the user's own, compared by a function or by a matrix of distances.

    d(a, b) = your_function(a, b),   or the number in row a and column b of your matrix

All that is asked of a distance: d(a, a) = 0, d(a, b) = d(b, a), never negative. A truth is one of the answers.

It works for anything, such as molecules, tunes or answers that a model compared. It fails where the distance does not
say what a mistake is: where right answers are far from each other, or wrong ones near. And each pair of answers to a
task is one call of the function, so that a hundred answers are five thousand calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.domains.matrices import MatrixEncoding, read_matrix
from allalike.domains.pairwise import Pairwise, PairwiseEncoding, objects
from allalike.errors import LabelError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.choice import best_worker, medoid

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.column import Column
    from allalike.domains.pairwise import Places

__all__ = ["Custom"]

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
