"""Progress: whoever watches is told how far a run has come, and how long all of it takes."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

from allalike._core.limits import MAX_HOURS
from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STAGES", "pieces", "report", "tell_time", "watching"]

STAGES = {
    "reading": "reading answers",
    "preparing": "comparing answers",
    "round": "weighing workers",
    "deciding": "deciding tasks",
    "saving": "writing the result",
}

_watcher: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("watcher", default=None)
_FIRST = 1 << 10  # of what is done at once, if nobody knows how long it takes
_SHORT_SECONDS = 0.2  # of a piece, after which the next is larger
_SECONDS_UNTOLD, _SECONDS_UNSURE = (
    1.0,
    5.0,
)  # after which it is told how long it takes, and refused if it takes too long


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


def pieces(
    total: int, most: int, what: str, *, refuse: str = "", clock: Callable[[], float] = monotonic
) -> Iterator[slice]:
    """Yield ranges of things that are worked on, up to so many at once, small ones first.

    Whoever watches is told how far it is, and how long all of it takes. What would take longer than `MAX_HOURS` is
    refused after a few seconds, if it is said what to do instead.

    Parameters
    ----------
    total, most
        How many things there are in all, and in one range.
    what
        What is done with them, as in *comparing answers*.
    refuse
        What to do instead of work that takes hours; nothing if it is to be done nevertheless.
    clock
        Tells the time in seconds.

    >>> [(some.start, some.stop) for some in pieces(5000, 2000, "counting")]
    [(0, 1024), (1024, 3024), (3024, 5000)]
    >>> seconds = iter(range(0, 10_000, 100))
    >>> list(pieces(100_000, 2000, "counting", refuse="Count fewer.", clock=lambda: next(seconds)))
    Traceback (most recent call last):
    allalike.errors.TooLargeError: This takes about 3 hours (counting), and 1 may be. Count fewer.
    """
    begun = last = clock()
    done, size = 0, min(_FIRST, most)
    while done < total:
        yield slice(done, min(done + size, total))
        done = min(done + size, total)
        now = clock()
        expected = (now - begun) / done * total
        if now - begun > _SECONDS_UNSURE and expected > 3600 * MAX_HOURS and refuse:
            raise TooLargeError(f"This takes {tell_time(expected)} ({what}), and {MAX_HOURS} may be. {refuse}")
        if now - begun > _SECONDS_UNTOLD:
            report(f"{what}, {tell_time(expected)}", done, total)
        if now - last < _SHORT_SECONDS:
            size = min(2 * size, most)
        last = now


def tell_time(seconds: float) -> str:
    """Say about how long something takes.

    >>> tell_time(40), tell_time(90), tell_time(5000), tell_time(9000)
    ('about 40 seconds', 'about 90 seconds', 'about 83 minutes', 'about 2 hours')
    """
    if seconds < 120:
        return f"about {seconds:.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 7200 else f"about {seconds / 3600:,.0f} hours"
