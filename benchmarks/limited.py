"""Call functions in another process with a limit of CPU time."""

from __future__ import annotations

import math
import resource
import signal
import time
import warnings
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

_PATIENCE = 20  # wall time to wait, as a multiple of the limit of CPU time


class Limited:
    """A process that calls functions one after the other; it is started on demand, and restarted after a timeout.

    The operating system ends it if a function exceeds its CPU time.
    """

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        """Return what a function returns, or raise what it raises; `TimeoutError` if it takes more CPU seconds."""
        if self._process is None:
            self._start()
        self._pipe.send((function, arguments, seconds))
        if not self._pipe.poll(_PATIENCE * seconds):
            self._end()
            raise TimeoutError(f"not done after {_PATIENCE * seconds:.0f} s")
        try:
            error, found = self._pipe.recv()
        except (EOFError, ConnectionError):
            raise self._why_it_ended(seconds) from None
        if error is not None:
            raise error
        return found

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _why_it_ended(self, seconds: float) -> Exception:
        self._process.join()
        code = self._process.exitcode
        self._end()
        if code == -signal.SIGXCPU:
            return TimeoutError(f"not done after {seconds:.0f} s")
        return RuntimeError(f"its process ended with code {code}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self._pipe.close()


def _serve(pipe: Connection) -> None:
    """Call functions received through a pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    while True:
        try:
            function, arguments, seconds = pipe.recv()
        except EOFError:
            return
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))
        answer: tuple[Exception | None, Any]
        try:
            answer = None, function(*arguments)
        except Exception as error:
            answer = error, None
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        pipe.send(answer)
        del answer  # release the memory that the error refers to
