"""Processes: apply functions in several processes, without the traps of starting them.

A child of `multiprocessing` imports the user's script again, which without a guard starts all over in each child. The
children here are interpreters of their own that import this package only and wait for work on a pipe; they end when
the pipe is closed, so that none outlives its parent. What cannot be sent to them, such as a function that the user
wrote at a prompt, is done in this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from allalike.engines.serialization import pack, unpack
from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Processes"]

_START = "from allalike.engines.disk.processes import serve; serve()"
_UNKNOWN = "unknown"  # a function or a class that is not there


class Processes:
    """Apply a function to many jobs, in so many processes; one is this one.

    >>> with Processes(2) as processes:
    ...     list(processes.map(divmod, [(7, 2), (9, 3)]))
    [(3, 1), (3, 0)]
    """

    def __init__(self, number: int) -> None:
        self._children: list[_Child] = []
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        self._number = number
        self._starting = Lock()
        weakref.finalize(self, _end_all, self._children, os.getpid())

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield what the function returns for each job, in the order of jobs; several threads may ask for that."""
        if self._number == 1 or len(jobs) <= 1 or not _pickles(function):
            yield from (function(*job) for job in jobs)
            return
        with self._starting:
            while len(self._children) < min(self._number, len(jobs)):
                self._children.append(_Child())
                self._idle.put(self._children[-1])
            idle, number = self._idle, len(self._children)

        def work(job: tuple[Any, ...]) -> Any:
            child = idle.get()
            try:
                return child.apply(function, job)
            finally:
                idle.put(child)

        with ThreadPoolExecutor(number) as threads:
            waiting = [threads.submit(work, job) for job in jobs]
            try:
                for place, future in enumerate(waiting):
                    yield future.result()
                    waiting[place] = None  # type: ignore[call-overload]  # what it returned may be large
            except BaseException:
                self.close()
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def close(self) -> None:
        """End all children."""
        with self._starting:
            self._idle = SimpleQueue()
            _end_all(self._children, os.getpid())


class _Child:
    """Be another process, to which a function is sent once for many jobs."""

    def __init__(self) -> None:
        self._knows: Callable[..., Any] | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {_START}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def apply(self, function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
        pipe, back = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert back is not None
        try:
            _send(pipe, None if function is self._knows else function)
            self._knows = function
            _send(pipe, job)
            kind, found = _receive(back)
        except (EOFError, BrokenPipeError, ValueError) as error:
            raise TooLargeError(
                "A process of the disk engine was ended from outside, most likely for want of memory. Allow it less"
                " with memory= (--memory)."
            ) from error
        if kind == "unknown":
            return function(*job)
        if kind == "error":
            raise found
        return found

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was to be sent has nobody to go to
                pipe.close()
        self._process.wait()


def _end_all(children: list[_Child], owner: int) -> None:
    while children and os.getpid() == owner:  # and not a child that was forked
        children.pop().end()


def serve() -> None:
    """Do the work that comes through standard input until it ends: a function, unless it is the last one, and a job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work, back = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed here must not get among what is sent back
    known: Any = _UNKNOWN
    with suppress(EOFError, BrokenPipeError):
        while True:
            function, job = _known(_frame(work)), _known(_frame(work))
            known = known if function is None else function
            _send(back, _answer(known, job))


def _known(data: bytearray) -> Any:
    """Return what was sent, if it can be known here."""
    try:
        return unpack(data)
    except (AttributeError, ImportError):
        return _UNKNOWN


def _answer(function: Any, job: Any) -> tuple[str, Any]:
    if function is _UNKNOWN or job is _UNKNOWN:
        return "unknown", None
    try:
        return "found", function(*job)
    except Exception as error:
        return "error", error


def _pickles(function: Callable[..., Any]) -> bool:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True


def _send(pipe: IO[bytes], thing: Any) -> None:
    data = pack(thing)
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    return unpack(_frame(pipe))


def _frame(pipe: IO[bytes]) -> bytearray:
    size = pipe.read(8)
    if len(size) < 8:
        raise EOFError
    data = bytearray(int.from_bytes(size, "little"))
    if pipe.readinto(data) < len(data):  # type: ignore[attr-defined]
        raise EOFError
    return data
