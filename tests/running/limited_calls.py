"""Functions that a process with limits is to call; whatever it imports for them takes it longer than they do."""

from __future__ import annotations

import os
import threading
import time
import weakref
from array import array
from typing import Any, NamedTuple, NoReturn

KEPT: list[weakref.ref[Any]] = []


class Outcome(NamedTuple):
    """What the league asks of those who play."""

    error: float
    seconds: float


def play() -> Any:
    return Outcome(3.0, 2.0)


def for_ever() -> NoReturn:
    while True:
        try:
            while True:
                pass
        except BaseException:  # as in a finaliser
            pass


def asleep() -> NoReturn:
    threading.Event().wait()
    raise AssertionError


def wrongly() -> NoReturn:
    raise ValueError("bad labels")


def fatally() -> NoReturn:
    os._exit(3)


def fail_with_much() -> None:
    much = array("d", [1.0] * 3)
    KEPT.append(weakref.ref(much))
    raise MemoryError("too much")


def count_kept() -> int:
    return sum(reference() is not None for reference in KEPT)


def use_the_processor(seconds: float) -> None:
    while time.process_time() < seconds:
        pass
