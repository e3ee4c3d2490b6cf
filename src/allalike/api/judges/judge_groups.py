"""Judge groups: those whom pairs connect that are wrong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.values import text_column
from allalike.engines.ranges import number_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.columns.values import Values

__all__ = ["connect_judges", "number_groups"]


def connect_judges(n_judges: int, left: npt.NDArray[np.intp], right: npt.NDArray[np.intp]) -> list[list[int]]:
    """Return the groups that pairs connect, the largest first.

    >>> connect_judges(5, np.array([0, 2]), np.array([1, 4]))
    [[0, 1], [2, 4]]
    """
    part = number_parts(n_judges, left, right)
    groups = [np.flatnonzero(part == number).tolist() for number in range(part.max(initial=-1) + 1)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def number_groups(n_judges: int, groups: Sequence[Sequence[int]]) -> Values:
    """Return the number of each judge's group, and nothing for the others.

    >>> number_groups(3, [[0, 2]]).tolist()
    ['1', '', '1']
    """
    numbers = [""] * n_judges
    for number, group in enumerate(groups, 1):
        for judge in group:
            numbers[judge] = str(number)
    return text_column(numbers)
