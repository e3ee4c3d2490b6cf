"""Patience: how long a download may take in all.

A server that sends a byte a second never lets a connection time out, be it in the headers or in the file. So a download
runs beside, and is given up when its mean rate since the beginning is below ten thousand bytes a second, after a minute
in which it may be slow. A file whose size is bounded then takes a bounded time.
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_patiently"]

_GRACE_SECONDS = 60.0
_LEAST_RATE = 10_000  # bytes a second
_LOOK_SECONDS = 1.0  # between two looks


def run_patiently(download: Callable[[], object], count_bytes: Callable[[], int]) -> bool:
    """Run a download to its end and return True, or give it up because it is too slow and return False.

    What it raises is raised here. One that was given up goes on until it next asks the caller whether it may.

    >>> run_patiently(lambda: None, lambda: 0)
    True
    """
    failed: list[BaseException] = []
    done, given_up = threading.Event(), threading.Event()
    context = contextvars.copy_context()  # in which somebody may watch

    def run() -> None:
        try:
            context.run(download)
        except BaseException as error:
            if not given_up.is_set():
                failed.append(error)
        finally:
            done.set()

    begin = time.monotonic()
    threading.Thread(target=run, daemon=True).start()  # which does not keep the program from ending
    while not done.wait(_LOOK_SECONDS):
        if time.monotonic() - begin > _GRACE_SECONDS + count_bytes() / _LEAST_RATE:
            given_up.set()
            return False
    if failed:
        raise failed.pop()  # so that nothing here keeps what it holds, such as the connection
    return True
