"""Unreadable verdicts: rows in which a judge was asked, but which have no label, or none that can be understood.

Such a row is no verdict: it counts for no class, and it does not leave the panel in silence either. Empty cells of a
matrix say that a judge was not asked, and are not among them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.judges.finding import ratio
from allalike.errors import AllalikeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from allalike._core.columns.column import Column
    from allalike._core.columns.values import Values
    from allalike.answers.cleaning import Cleaning
    from allalike.api.judges.finding import Columns

    Batches = Callable[[], Iterable[Mapping[str, Column]]]

__all__ = ["Unread", "Unreadable", "find_unread", "look_for_unread"]

_MAX_NAMED = 20


@dataclass(frozen=True)
class Unread:
    """How many rows of each judge cannot be read, of how many, and the tasks on which no row can be."""

    rows: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    tasks: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """The verdicts that could not be read, as a panel tells of them.

    Parameters
    ----------
    judges
        The ids of the judges of the panel.
    total
        How many verdicts could not be read.
    unread
        Whose they are, if that is known.
    """

    judges: Values
    total: int
    unread: Unread | None

    def describe(self) -> dict[str, Any]:
        """Count them by judge, the most first; a judge of whom nothing could be read is named, too."""
        known = self.unread or Unread()
        named = [
            {"judge": judge, "unreadable": n, "asked": known.asked[judge], "share": ratio(n, known.asked[judge])}
            for judge, n in Counter(known.rows).most_common(_MAX_NAMED)
        ]
        told = {"verdicts": self.total, "judges": len(known.rows), "tasks": len(known.tasks), "named": named}
        return {"unreadable": told}

    def tables(self) -> dict[str, Columns]:
        """Return no table: those of judges and truths have it."""
        return {}

    def judge_columns(self) -> Columns:
        """Return how many verdicts of each judge could not be read, if that is known."""
        if self.unread is None:
            return {}
        rows = self.unread.rows
        return {"unreadable": np.array([rows.get(str(judge), 0) for judge in self.judges.tolist()], np.int64)}


def look_for_unread(source: Any) -> Unread | None:
    """Look at answers once more, to see whose verdicts could not be read; None if they cannot be looked at again."""
    if not hasattr(source, "stream"):
        return None
    try:
        stream = source.stream()
        return find_unread(stream.batches, stream.cleaning, blank_counts=source.wide is None)
    except AllalikeError:  # such as what only Spark can read
        return None


def find_unread(batches: Batches, cleaning: Cleaning, *, blank_counts: bool) -> Unread:
    """Count the rows that cannot be read, by judge, and name the tasks on which none can be.

    Parameters
    ----------
    batches
        Starts anew on every call, and yields the columns worker, task and label of some rows at a time.
    cleaning
        What is done with labels.
    blank_counts
        Whether a row without a label is a verdict that cannot be read.

    >>> import allalike
    >>> rows = {"worker": ["ada", "bob", "ada"], "task": [1, 1, 2], "label": ["x", None, None]}
    >>> stream = allalike.scan(rows).stream()
    >>> find_unread(stream.batches, stream.cleaning, blank_counts=True)
    Unread(rows={'bob': 1, 'ada': 1}, asked={'ada': 2, 'bob': 1}, tasks=(2,))
    """
    rows: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    tasks: dict[Any, None] = {}
    for batch in batches():
        gone, there = _find_gone(batch, cleaning, blank_counts=blank_counts)
        workers = _values(batch["worker"])
        asked.update(str(worker) for worker, is_there in zip(workers, there, strict=True) if is_there)
        rows.update(str(workers[row]) for row in np.flatnonzero(gone))
        tasks |= dict.fromkeys(_values(batch["task"].keep(gone)) if gone.any() else ())
    for batch in batches() if tasks else ():
        gone, there = _find_gone(batch, cleaning, blank_counts=blank_counts)
        for task in _values(batch["task"].keep(there & ~gone)):
            tasks.pop(task, None)
    return Unread(dict(rows), dict(asked), tuple(tasks))


def _find_gone(
    batch: Mapping[str, Column], cleaning: Cleaning, *, blank_counts: bool
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark the rows that cannot be read, and those that count."""
    blank, unparsed = cleaning.find_unreadable(batch["label"])
    return (blank | unparsed, np.ones(len(blank), np.bool_)) if blank_counts else (unparsed, ~blank)


def _values(column: Column) -> list[Any]:
    return column.data if isinstance(column.data, list) else column.data.to_pylist()
