"""Task groups: the tasks that have the same value in a column of the answers, such as a topic or a language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from allalike.answers import Answers
from allalike.api.inputs.opening import open_source
from allalike.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike.domains import Domain
    from allalike.engines import TaskTable
    from allalike.readers import ReadOptions, Scan

__all__ = ["GroupColumn", "GroupedTasks", "read_groups"]


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
    for part in source.beside(by):
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
