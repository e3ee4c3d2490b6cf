"""Finding: one thing that is known of a panel beside its verdicts.

Each is found by a module of its own, and says what it has to say in three places: in the summary, in tables, and as
columns of the table of judges. A panel only puts them together, and the sentences are those of `telling.judges`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import numpy as np

from allalike._core.columns.values import text_column
from allalike.answers import Answers
from allalike.engines.ranges import number_parts
from allalike.errors import InputError, OptionError
from allalike.result.inputs.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.domains import Domain
    from allalike.engines import TaskTable
    from allalike.readers import ReadOptions, Scan

Columns = Mapping[str, "Values | Array"]


class Finding(Protocol):
    """What a panel is told about itself."""

    def describe(self) -> Mapping[str, Any]:
        """Return what stands in the summary, as what JSON can hold; unknown numbers are NaN."""

    def tables(self) -> Mapping[str, Columns]:
        """Return the tables that are saved, by name, each as its columns."""

    def judge_columns(self) -> Columns:
        """Return columns with a row for each judge."""


def divide(upper: Floats, lower: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    known = lower > 0
    return np.where(known, upper / np.where(known, lower, 1.0), np.nan)


def ratio(upper: float, lower: float) -> float:
    """Divide one number by another, with NaN where there is nothing to divide by."""
    return upper / lower if lower > 0 else math.nan


# Judge groups: those whom pairs connect that are wrong together.


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


# Task groups: the tasks that have the same value in a column of the answers, such as a topic or a language.


@dataclass(frozen=True)
class GroupedTasks:
    """In which group each task is: the column that says so, the groups, and the number of each task's."""

    by: str
    names: Sequence[str]
    number: npt.NDArray[np.intp]


@dataclass(frozen=True)
class GroupColumn:
    """The value of a column for each task, which is named by its text."""

    by: str
    value: Mapping[str, str]

    def group(self, found: TaskTable) -> GroupedTasks:
        """Number the groups of tasks, in the order of task ids."""
        values = [self.value.get(str(task), "") for piece in found.pieces() for task in piece.tasks.tolist()]
        names, number = np.unique(np.array(values), return_inverse=True)
        return GroupedTasks(self.by, names.tolist(), number)


def read_groups(
    answers: Any, by: str, *, domain: str | Domain | None = None, **how: Unpack[ReadOptions]
) -> tuple[Scan, GroupColumn]:
    """Return the answers, named, and what a column of them says of each task.

    >>> rows = {"worker": ["ada", "bob"], "task": [1, 1], "label": ["x", "y"], "topic": ["art", "art"]}
    >>> read_groups(rows, "topic")[1].value
    {'1': 'art'}
    """
    source, _ = open_source(answers, None, domain=domain, **how)
    if isinstance(source, Answers):
        raise OptionError(
            f"The answers have been read already, without the column {by!r}. Give what they were read from."
        )
    value: dict[str, str] = {}
    for part in source.beside(by, by=True):
        (task, ids), (group, names) = part["task"].factors, part["label"].factors
        for place, number in np.unique(np.stack([task, group]), axis=1).T.tolist():
            id_, name = str(ids.tolist()[place]), str(names.tolist()[number])
            if value.setdefault(id_, name) != name:
                raise InputError(
                    f"The task {id_!r} is in two groups of {by!r}, {value[id_]!r} and {name!r}. Rates by group need a"
                    " column that says the same in all rows of a task."
                )
    if source.wide is not None:  # where it is no judge
        source = replace(source, files=replace(source.files, skip=(*source.files.skip, by)))
    return source, GroupColumn(by, value)
