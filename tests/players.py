"""Functions that a process with limits is to call; whatever it imports for them takes it longer than they do."""

from __future__ import annotations

import os
import threading
import time
import weakref
from array import array
from typing import Any, NamedTuple

KEPT: list[weakref.ref[Any]] = []


class Outcome(NamedTuple):
    error: float
    seconds: float


def play() -> Outcome:
    return Outcome(3.0, 2.0)


def for_ever() -> Outcome:
    while True:
        try:
            while True:
                pass
        except BaseException:  # as in a finaliser
            pass


def asleep() -> Outcome:
    threading.Event().wait()
    raise AssertionError


def wrongly() -> Outcome:
    raise ValueError("bad labels")


def fatally() -> Outcome:
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
