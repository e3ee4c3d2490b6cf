"""Processes: apply functions in several processes, without the traps of starting them.

A child of `multiprocessing` imports the user's script again, which without a guard starts all over in each child. The
children here are interpreters of their own that import this package only and take their work from a pipe. When the
pipe is closed they end, in the middle of a job too, so that none outlives its parent, however that ended. What cannot
be sent to them, such as a function that the user wrote at a prompt, is done in this process.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import weakref
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from itertools import starmap
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from allalike._core.system.serialization import pack, unpack
from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    Job = tuple[Any, ...]
    NumberedResults = Generator[tuple[int, Any], None, None]

__all__ = ["Processes"]

_SERVE = "from allalike._core.system.processes import serve; serve()"
_END_SECONDS = 5.0  # to wait for one whose pipe is closed
_UNKNOWN = "unknown"  # a function or a class that a child cannot import


class Processes:
    """A pool of processes, started when they are needed; a pool of one is this process.

    Parameters
    ----------
    number
        How many processes there are.
    remedy
        What a user can do if one of them is ended for want of memory.

    >>> with Processes(2) as processes:
    ...     list(processes.map(divmod, [(7, 2), (9, 3)]))
    [(3, 1), (3, 0)]
    """

    def __init__(self, number: int, *, remedy: str = "Use fewer of them.") -> None:
        self._children: list[_Child] = []
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        self.number, self._remedy = number, remedy
        self._starting = Lock()
        weakref.finalize(self, _end_all, self._children, os.getpid())

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, function: Callable[..., Any], jobs: Sequence[Job], *, most: float = math.inf) -> Iterator[Any]:
        """Yield what the function returns for each job, in the order of jobs; several threads may ask for that.

        If there are more than ``most`` processes, all is done in this one.
        """
        if self.number > most or self._is_local(function, jobs):
            yield from starmap(function, jobs)
            return
        with self._submitted(function, jobs) as futures:
            for number, future in enumerate(futures):
                yield future.result()
                futures[number] = None  # type: ignore[call-overload]  # what it returned may be large

    def map_unordered(self, function: Callable[..., Any], jobs: Sequence[Job]) -> NumberedResults:
        """Yield the number of each job and what the function returns for it, as soon as it is known.

        >>> with Processes(2) as processes:
        ...     sorted(processes.map_unordered(divmod, [(7, 2), (9, 3)]))
        [(0, (3, 1)), (1, (3, 0))]
        """
        if self._is_local(function, jobs):
            yield from enumerate(starmap(function, jobs))
            return
        with self._submitted(function, jobs) as futures:
            numbers = {future: number for number, future in enumerate(futures)}
            for future in as_completed(futures):
                yield numbers[future], future.result()

    def close(self) -> None:
        """End all children; those that are needed later are started anew."""
        with self._starting:
            self._idle = SimpleQueue()
            _end_all(self._children, os.getpid())

    def _is_local(self, function: Callable[..., Any], jobs: Sequence[Job]) -> bool:
        return self.number == 1 or len(jobs) <= 1 or not _pickles(function)

    @contextmanager
    def _submitted(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[list[Future[Any]]]:
        """Have the jobs done as long as somebody waits for them; each child has a thread that waits for it."""
        with self._starting:
            while len(self._children) < min(self.number, len(jobs)):
                self._children.append(_Child(self._remedy))
                self._idle.put(self._children[-1])
            idle, number = self._idle, len(self._children)

        def work(job: Job) -> Any:
            child = idle.get()
            try:
                return child.apply(function, job)
            finally:
                idle.put(child)

        with ThreadPoolExecutor(number) as threads:
            try:
                yield [threads.submit(work, job) for job in jobs]
            except BaseException:
                self.close()
                threads.shutdown(wait=False, cancel_futures=True)
                raise


class _Child:
    """Another process, to which a function is sent once for many jobs."""

    def __init__(self, remedy: str) -> None:
        self._function: Callable[..., Any] | None = None
        self._remedy = remedy
        self._process = subprocess.Popen(  # nosec B603 # this Python, no shell
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {_SERVE}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def apply(self, function: Callable[..., Any], job: Job) -> Any:
        """Return what the function returns there, or raise what it raises."""
        pipe, back = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert back is not None
        try:
            _send(pipe, None if function is self._function else function)
            self._function = function
            _send(pipe, job)
            outcome, value = unpack(_receive(back))
        except (EOFError, BrokenPipeError, ValueError) as error:
            raise TooLargeError(
                f"Another process was ended from outside{self._find_signal()}, most likely for want of memory."
                f" {self._remedy}"
            ) from error
        if outcome == "unknown":
            return function(*job)
        if outcome == "error":
            raise value
        return value

    def _find_signal(self) -> str:
        """Name what ended the process, such as SIGKILL, with which systems end those that take too much memory."""
        with suppress(subprocess.TimeoutExpired, ValueError):
            return f" ({signal.Signals(-self._process.wait(_END_SECONDS)).name})"
        return ""

    def end(self) -> None:
        """Kill the process, whatever it does."""
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
    """Do the work that comes through standard input until that is closed: a function, unless it is the last, and a job.

    A thread of its own reads it, and so learns at once that nobody waits any more for what is under way.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to say what an interrupt ends
    back = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed here must not get among what is sent back
    inbox: SimpleQueue[bytearray] = SimpleQueue()
    Thread(target=_fill, args=(inbox,), daemon=True).start()
    function: Any = _UNKNOWN
    with suppress(BrokenPipeError):
        while True:
            sent, job = _load(inbox.get()), _load(inbox.get())
            function = function if sent is None else sent
            _send(back, _apply(function, job))
    os._exit(0)  # for the thread still reads


def _fill(inbox: SimpleQueue[bytearray]) -> None:
    with suppress(EOFError):
        while True:
            inbox.put(_receive(sys.stdin.buffer))
    os._exit(0)


def _load(data: bytearray) -> Any:
    """Return what was sent, if it can be imported here."""
    try:
        return unpack(data)
    except (AttributeError, ImportError):
        return _UNKNOWN


def _apply(function: Any, job: Any) -> tuple[str, Any]:
    if function is _UNKNOWN or job is _UNKNOWN:
        return "unknown", None
    try:
        return "value", function(*job)
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


def _receive(pipe: IO[bytes]) -> bytearray:
    size = pipe.read(8)
    if len(size) < 8:
        raise EOFError
    data = bytearray(int.from_bytes(size, "little"))
    if pipe.readinto(data) < len(data):  # type: ignore[attr-defined]
        raise EOFError
    return data
