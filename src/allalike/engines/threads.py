"""Threads: work on one part after the other, as many at a time as there are cores, with the results in order.

Compiled passes and large parts of numpy run beside each other. Parts are cut by the data alone, and what comes of them
is added in their order, so that the numbers are the same, to the last bit, for any number of threads.
"""

from __future__ import annotations

import contextvars
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["count_threads", "in_threads"]

Part = TypeVar("Part")
Found = TypeVar("Found")

_SWITCH = "ALLALIKE_THREADS"


def count_threads(asked: int | None = None) -> int:
    """Return how many threads may work: as many as were asked for, by the environment if not otherwise, or all cores.

    >>> count_threads(3)
    3
    """
    told = os.environ.get(_SWITCH)
    if asked is None and told:
        if not told.isdecimal() or not int(told):
            raise OptionError(f"{_SWITCH} is {told!r}. It must be a whole number, at least 1.")
        return int(told)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return asked or cores


def in_threads(work: Callable[[Part], Found], parts: Sequence[Part], n_threads: int) -> Iterator[Found]:
    """Yield what becomes of each part, in order; no more of them are under way than there are threads.

    >>> list(in_threads(len, ["a", "bcd", ""], 2))
    [1, 3, 0]
    """
    if n_threads < 2 or len(parts) < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(parts)))
    waiting: deque[Future[Found]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(contextvars.copy_context().run, work, part))
            if len(waiting) >= n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
