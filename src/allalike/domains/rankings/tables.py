"""Tables of pairs of items: how many tasks have theirs in memory at a time, and how many items are too many.

A rule that compares each two of q items needs tables of q x q numbers for each task: those of many small tasks are
made some tasks at a time, and those of one task must fit in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.system.memory import check_memory
from allalike._core.system.progress import report
from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS_PER_TABLE = 1 << 22  # of some tasks' pairs of items
_MOST_TABLES = 8  # of the same size, at a time
_WORTH_REPORTING = 100  # items; with fewer it is done before anyone can read it


def few_tasks(n_tasks: int, n_items: int) -> Iterator[slice]:
    """Yield ranges of tasks whose tables of pairs of items stay small.

    >>> list(few_tasks(3, 2000))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(_NUMBERS_PER_TABLE // max(n_items * n_items, 1), 1)
    return (slice(first, min(first + step, n_tasks)) for first in range(0, n_tasks, step))


def check_tables(n_items: int) -> None:
    """Refuse to compare each two of so many items that the tables do not fit in memory.

    >>> check_tables(10)
    >>> check_tables(10_000_000)
    Traceback (most recent call last):
    allalike.errors.TooLargeError: Comparing each two of 10,000,000 items would need about 6,400,000.0 GB of memory, and
    there are ... GB. Without ties and gaps, the rule 'borda' compares no pairs.
    """
    check_memory(
        8 * _MOST_TABLES * n_items * n_items,
        f"Comparing each two of {n_items:,} items",
        "Without ties and gaps, the rule 'borda' compares no pairs.",
    )


def check_time(n_items: int, *, most: int, rule: str) -> None:
    """Refuse to look for an order of so many items that it would take many minutes.

    >>> check_time(2000, most=1000, rule="kemeny")
    Traceback (most recent call last):
    allalike.errors.TooLargeError: A task has 2,000 items, and the rule 'kemeny' takes at most 1,000, for its time grows
    much faster than their number. Take schulze, copeland, borda or bradley terry, which take seconds.
    """
    if n_items > most:
        raise TooLargeError(
            f"A task has {n_items:,} items, and the rule {rule!r} takes at most {most:,}, for its time grows much"
            " faster than their number. Take schulze, copeland, borda or bradley terry, which take seconds."
        )


def report_search(rule: str, n_items: int, done: int, total: int) -> None:
    """Tell whoever watches how far a rule has come that looks for an order of many items.

    >>> from allalike._core.system.progress import watching
    >>> with watching(lambda *event: print(event)):
    ...     report_search("kemeny", 500, 20, 0)
    ('kemeny, moves of 500 items', 20, 0)
    """
    if n_items > _WORTH_REPORTING:
        report(f"{rule}, {'pairs' if total else 'moves'} of {n_items:,} items", done, total)
