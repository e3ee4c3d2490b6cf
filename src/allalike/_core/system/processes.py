"""Apply functions in several processes (loky's, which need no guard in the user's script)."""

from __future__ import annotations

import math
import os
import time
import weakref
from concurrent.futures import as_completed
from contextlib import contextmanager
from itertools import starmap
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from allalike.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from concurrent.futures import Future

    Job = tuple[Any, ...]
    NumberedResults = Generator[tuple[int, Any], None, None]


class Processes:
    """A pool of processes, started when they are needed; a pool of one is this process.

    >>> with Processes(2) as processes:
    ...     list(processes.map(divmod, [(7, 2), (9, 3)]))
    [(3, 1), (3, 0)]
    """

    def __init__(self, number: int, *, remedy: str = "Use fewer of them.") -> None:
        self.number, self._remedy = number, remedy
        self._executors: list[Any] = []  # none or one, which ends with this object
        self._starting = Lock()
        weakref.finalize(self, _end_all, self._executors, os.getpid())

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, function: Callable[..., Any], jobs: Sequence[Job], *, most: float = math.inf) -> Iterator[Any]:
        """Yield what the function returns for each job, in the order of jobs; several threads may ask for that.

        If there are more than ``most`` processes, all is done in this one.
        """
        if self.number > most or self.number == 1 or len(jobs) <= 1:
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
        if self.number == 1 or len(jobs) <= 1:
            yield from enumerate(starmap(function, jobs))
            return
        with self._submitted(function, jobs) as futures:
            numbers = {future: number for number, future in enumerate(futures)}
            for future in as_completed(futures):
                yield numbers[future], future.result()

    def close(self) -> None:
        """End all processes; those that are needed later are started anew."""
        with self._starting:
            _end_all(self._executors, os.getpid())

    @contextmanager
    def _submitted(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[list[Future[Any]]]:
        """Submit the jobs, and end the processes if the caller stops early."""
        from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

        with self._starting:
            if not self._executors:
                self._executors.append(ProcessPoolExecutor(self.number, initializer=_end_with, initargs=(os.getpid(),)))
            executor = self._executors[0]
        try:
            yield [executor.submit(function, *job) for job in jobs]
        except TerminatedWorkerError as error:
            self.close()
            raise TooLargeError(
                f"Another process was ended from outside, most likely for want of memory. {self._remedy}"
            ) from error
        except BaseException:
            self.close()
            raise


def _end_all(executors: list[Any], owner: int) -> None:
    while executors and os.getpid() == owner:  # and not a child that was forked
        executors.pop().shutdown(wait=True, kill_workers=True)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, in the middle of a job too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
