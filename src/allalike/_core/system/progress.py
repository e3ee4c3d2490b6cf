"""Tell whoever watches how far a run has come."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STAGES", "report", "watching"]

STAGES = {
    "reading": "reading answers",
    "preparing": "comparing answers",
    "round": "weighing workers",
    "deciding": "deciding tasks",
    "saving": "writing the result",
}

_watcher: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("watcher", default=None)


def report(stage: str, done: int = 0, total: int = 0) -> None:
    """Report a stage of the run, and how much of it is done where that is known.

    >>> with watching(lambda *event: print(event)):
    ...     report("rounds", 2, 15)
    ('rounds', 2, 15)
    >>> report("nobody watches")
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(stage, done, total)


@contextmanager
def watching(watcher: Callable[[str, int, int], None]) -> Iterator[None]:
    """Call the watcher at every report within this context."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
