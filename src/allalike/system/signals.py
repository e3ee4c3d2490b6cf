"""Signals: what must not stop half-way is finished before the program ends."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["signals_deferred"]


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let SIGINT and SIGTERM take effect only when this is done; those that are ignored stay ignored.

    >>> try:
    ...     with signals_deferred():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done = True
    ... except KeyboardInterrupt:
    ...     print("done, and interrupted" if done else "interrupted")
    done, and interrupted
    """
    if threading.current_thread() is not threading.main_thread():  # where signals raise nothing
        yield
        return
    came: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler not in (signal.SIG_IGN, None):  # None was set from outside Python, and cannot be set again
                before[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came_number in dict.fromkeys(came):
            signal.raise_signal(came_number)
