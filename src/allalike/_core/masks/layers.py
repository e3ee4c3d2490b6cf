"""Layers: the values of a label map, each of which is a mask of its own.

A label map gives each pixel the number of a class: 1 where there is liver, 2 where there is kidney, 0 elsewhere. It
answers several questions at once, and may be right in some of them; so each value of a map becomes a task. The map of
task ``ct7`` with the values 1 and 2 is the tasks ``ct7/1`` and ``ct7/2``. A class that was not drawn is an empty mask,
which is an answer too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt


@dataclass(frozen=True)
class Layer:
    """A label map, and the value whose pixels are the mask.

    >>> Layer([[0, 1, 2]], 2).value
    2
    """

    label: Any
    value: float


def split_maps(columns: Mapping[str, Column], values: Sequence[float]) -> dict[str, Column]:
    """Make an answer for each value of each label map; tasks are called after the value, too.

    >>> task, label = Column.of_objects("task", ["ct7"]), Column("label", [[[0, 1, 2]]])
    >>> split = split_maps({"task": task, "label": label}, [1, 2])
    >>> split["task"].data.to_pylist(), split["label"].data[1]
    (['ct7/1', 'ct7/2'], Layer(label=[[0, 1, 2]], value=2))
    """
    rows = np.repeat(np.arange(len(columns["label"])), len(values))
    value = list(values) * len(columns["label"])
    split = {role: _take(column, rows) for role, column in columns.items()}
    tasks = [None if t is None else f"{t}/{v:g}" for t, v in zip(_listed(split["task"]), value, strict=True)]
    maps = [None if m is None else Layer(m, v) for m, v in zip(_listed(split["label"]), value, strict=True)]
    named = split["task"].replaced(Column.of_objects("task", tasks).data, np.arange(len(rows)))
    return {**split, "task": named, "label": split["label"].replaced(maps, np.arange(len(rows)))}


def _take(column: Column, rows: npt.NDArray[np.int64]) -> Column:
    data = column.data
    taken = [data[row] for row in rows] if isinstance(data, list) else data.take(arrow_of(rows))
    return column.replaced(taken, rows)


def _listed(column: Column) -> list[Any]:
    listed: list[Any] = column.data if isinstance(column.data, list) else column.data.to_pylist()
    return listed
