"""Progress reports: the stage of a run and its completed part, for a callback and the logger ``allalike``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from allalike._core.limits import MAX_HOURS
from allalike.errors import TooLargeError

STAGES = {
    "reading": "reading answers",
    "preparing": "comparing answers",
    "fields": "weighing workers in each field",
    "signal": "detecting uninformative workers",
    "pairs": "comparing workers",
    "agreement": "measuring agreement",
    "choosing": "choosing a model",
    "weighing": "weighing workers",
    "round": "weighing workers",
    "deciding": "deciding tasks",
    "saving": "writing the result",
}

_log = logging.getLogger("allalike")
_watcher: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("watcher", default=None)
_FIRST = 1 << 10  # length of the first range
_SHORT_SECONDS = 0.2  # duration of a range below which the next is longer
_SECONDS_SILENT, _SECONDS_UNSURE = 1.0, 5.0  # before progress is reported, and before a step is refused


def report(stage: str, done: int = 0, total: int = 0) -> None:
    """Report a stage of the run and, if known, its completed part."""
    if watcher := _watcher.get():
        watcher(stage, done, total)
    level = logging.DEBUG if done else logging.INFO
    if _log.isEnabledFor(level):
        _log.log(level, "%s%s", STAGES.get(stage, stage), f" ({done:,} of {total:,})" if total else "")


@contextmanager
def progress_callback(watcher: Callable[[str, int, int], None]) -> Iterator[None]:
    """Report the progress of `discover`, `jury`, `compare` and all other calls within this context to a function.

    The logger ``allalike`` always gets these reports: `logging.basicConfig(level="INFO")` shows each stage.

    Parameters
    ----------
    watcher
        Function that is called with the stage, and its completed and total amounts of work (both 0 if unknown).

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "y")]
    >>> stages = []
    >>> with allalike.progress_callback(lambda stage, done, total: stages.append(stage)):
    ...     result = allalike.discover(rows, method="P-TD")
    >>> stages
    ['reading', 'preparing', 'deciding']
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def pieces(
    total: int, most: int, what: str, *, refuse: str = "", clock: Callable[[], float] = monotonic
) -> Iterator[slice]:
    """Yield ranges of a long computation, up to a length of ``most``, and report the progress.

    If ``refuse`` names an alternative, an error is raised after a few seconds if more than `MAX_HOURS` are expected.

    >>> [(some.start, some.stop) for some in pieces(5000, 2000, "counting")]
    [(0, 1024), (1024, 3024), (3024, 5000)]
    >>> seconds = iter(range(0, 10_000, 100))
    >>> list(pieces(100_000, 2000, "counting", refuse="Count fewer.", clock=lambda: next(seconds)))
    Traceback (most recent call last):
    allalike.errors.TooLargeError: This takes about 3 hours (counting). The limit is 1. Count fewer.
    """
    begun = last = clock()
    done, size = 0, min(_FIRST, most)
    while done < total:
        yield slice(done, min(done + size, total))
        done = min(done + size, total)
        now = clock()
        expected = (now - begun) / done * total
        if now - begun > _SECONDS_UNSURE and expected > 3600 * MAX_HOURS and refuse:
            hours = f"about {expected / 3600:,.0f} hours"
            raise TooLargeError(f"This takes {hours} ({what}). The limit is {MAX_HOURS}. {refuse}")
        if now - begun > _SECONDS_SILENT:
            report(what, done, total)
        if now - last < _SHORT_SECONDS:
            size = min(2 * size, most)
        last = now
