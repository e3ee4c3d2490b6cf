"""Signals: what must not stop half-way is finished before the program ends."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@contextmanager
def ending_asked() -> Iterator[threading.Event]:
    """Give an event that is set when the program is asked to end, which then is for whoever waits for it to do.

    SIGINT, SIGTERM and SIGHUP ask for it; those that are ignored stay ignored.

    >>> with ending_asked() as asked:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     asked.wait()
    True
    """
    asked = threading.Event()
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers} if main else {}
    heard = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in heard:
        signal.signal(number, lambda *_: asked.set())
    try:
        yield asked
    finally:
        for number in heard:
            signal.signal(number, before[number])
