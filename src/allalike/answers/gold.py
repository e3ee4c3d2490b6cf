"""Gold: truths that are known beforehand, matched with the tasks of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.column import Column
from allalike.columns.values import is_string, numpy_of
from allalike.errors import GoldError, InputError, LabelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.blocks.block import Array
    from allalike.columns.values import Values
    from allalike.domains import Encoding

__all__ = ["Gold", "Truths", "find_places"]


@dataclass(frozen=True)
class Truths:
    """Known truths as codes, in the order of their tasks' ids."""

    tasks: Values
    label: Array


@dataclass(frozen=True)
class Gold:
    """Known truths as they came: a column of tasks, none of which comes twice, and one of labels.

    >>> from allalike.columns.column import Column
    >>> gold = Gold(Column.of_objects("task", ["t2", "t3"]), Column.of_objects("label", ["x", "y"]))
    >>> gold.count(1, "t1")
    {'tasks': 1, 'without_answers': 1}
    """

    task: Column
    label: Column

    def __post_init__(self) -> None:
        for column in (self.task, self.label):
            missing = column.missing()
            if missing.any():
                raise GoldError(f"The gold has no {column.name} in row {column.row(int(np.argmax(missing)))}.")
        if not len(self.task):
            raise GoldError("The gold is empty.")
        codes, ids = self.task.factors
        if np.bincount(codes).max() > 1:
            twice = ids[int(np.argmax(np.bincount(codes)))]
            raise GoldError(f"The gold has two truths for task {twice!r}. Keep one of them.")

    def encode(self, encoding: Encoding) -> tuple[Encoding, Truths]:
        """Turn the truths into codes; return also the encoding that knows them, for nobody need have answered them."""
        codes, ids = self.task.factors
        try:
            encoding, label = encoding.encode_gold(self.label)
        except LabelError as error:
            raise GoldError(f"The gold does not fit. {error}") from error
        return encoding, Truths(ids, label[np.argsort(codes)])

    def joined(self, more: Gold) -> Gold:
        """Return these truths and more; where both have a task, the truth that came later.

        >>> from allalike.columns.column import Column
        >>> one, two = (Gold(Column.of_objects("task", [1, task]), Column.of_objects("label", ["x", label]))
        ...             for task, label in ((2, "y"), (3, "z")))
        >>> one.joined(two).label.data.to_pylist()
        ['x', 'y', 'z']
        """
        tasks, labels = (_listed(*pair) for pair in ((self.task, more.task), (self.label, more.label)))
        truths = dict(zip(tasks, labels, strict=True))
        return Gold(Column.of_objects("task", list(truths)), _column(list(truths.values())))

    def count(self, known: int, first_task: Any) -> dict[str, int]:
        """Say how many truths are those of tasks that were answered, which at least one must be."""
        _, ids = self.task.factors
        if not known:
            raise GoldError(
                f"None of the {len(ids)} tasks with gold was answered. The first is {ids[0]!r}; the first task of the"
                f" answers is {first_task!r}."
            )
        return {"tasks": known, "without_answers": len(ids) - known}


def _listed(*columns: Column) -> list[Any]:
    """Return the values of all columns, one behind the other; if some are texts, so are numbers."""
    values = [
        parsed[code] for codes, parsed in (column.parsed(lambda value: value) for column in columns) for code in codes
    ]
    kinds = set(map(type, values))
    return list(map(str, values)) if str in kinds and kinds <= {str, int, float, bool} else values


def _column(labels: list[Any]) -> Column:
    try:
        return Column.of_objects("label", labels)
    except InputError:  # lists, and texts that are lists
        return Column("label", labels)


def find_places(wanted: Values, tasks: Values) -> npt.NDArray[np.int64]:
    """Return where each wanted id stands among the tasks, or -1; ids of another type match by their text.

    >>> from allalike.columns.values import Values
    >>> find_places(Values(["8", "9"]), Values([7, 8]))
    array([ 1, -1])
    """
    if not len(wanted):
        return np.empty(0, np.int64)
    if not isinstance(wanted.data, list) and not isinstance(tasks.data, list):
        found = _arrow_places(wanted.data, tasks.data)
        if found is not None:
            return found
    key = (lambda value: value) if type(wanted[0]) is type(tasks[0]) else str
    place = {key(task): number for number, task in enumerate(tasks.tolist())}
    return np.array([place.get(key(value), -1) for value in wanted.tolist()])


def _arrow_places(wanted: Any, tasks: Any) -> npt.NDArray[np.int64] | None:
    """Look ids up without making objects of them: those of the same type, and whole numbers and their texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = [wanted.type, tasks.type]
    if all(pa.types.is_integer(kind) for kind in kinds):
        common = pa.int64()
    elif all(pa.types.is_integer(kind) or (is_string(kind) and "binary" not in str(kind)) for kind in kinds):
        common = pa.large_string()
    else:
        return None
    try:
        found = pc.index_in(wanted.cast(common), value_set=tasks.cast(common))
    except pa.ArrowInvalid:  # whole numbers beyond 63 bits
        return None
    return numpy_of(found.fill_null(pa.scalar(-1, pa.int32()))).astype(np.int64)
