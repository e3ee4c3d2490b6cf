"""Process pools, and serialization of objects for other processes and for the disk."""

from __future__ import annotations

import io
import itertools
import math
import os
import pickle
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from itertools import starmap
from queue import Empty
from threading import Lock, Thread
from typing import Any

import numpy as np

from allalike.errors import TooLargeError

Job = tuple[Any, ...]

_ALIGNMENT = 64  # bytes; arrays begin at multiples of this, so that they can be used without a copy
_MIN_OUT_OF_BAND = 1 << 12  # bytes; smaller arrays stay in the pickle
_NARROW_TYPES = [np.iinfo(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)]


def pack(thing: Any) -> bytes:
    """Serialize an object with pickle; integers in arrays take only the bytes that the largest one needs."""
    out_of_band: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= _MIN_OUT_OF_BAND:
            out_of_band.append(raw)
        return raw.nbytes < _MIN_OUT_OF_BAND

    body = io.BytesIO()
    _Packer(body, protocol=5, buffer_callback=is_small).dump(thing)
    parts = [body.getbuffer(), *out_of_band]
    sizes = np.array([len(parts), *map(len, parts)], "<i8")
    filled: list[bytes | memoryview] = []
    for part in (memoryview(sizes.tobytes()), *parts):
        filled += part, bytes(-len(part) % _ALIGNMENT)
    return b"".join(filled)


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """Deserialize a packed object; integer arrays get their original type.

    Arrays are writable. From a `bytearray`, large arrays are not copied.
    """
    view = memoryview(data)
    count = int(np.frombuffer(view, "<i8", 1)[0])
    sizes = np.frombuffer(view, "<i8", count + 1).tolist()
    sizes[0] = 8 * len(sizes)
    starts = itertools.accumulate((size + -size % _ALIGNMENT for size in sizes), initial=0)
    _, body, *out_of_band = (view[start : start + size] for start, size in zip(starts, sizes, strict=False))
    buffers = map(bytearray, out_of_band) if view.readonly else out_of_band
    return pickle.loads(body, buffers=buffers)  # nosec B301 # what this program packed, on its disk or in its processes


class _Packer(pickle.Pickler):
    """A pickler that narrows integer arrays, which are widened again when they are unpickled."""

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.dtype.kind in "iu" and thing.dtype.itemsize > 1 and thing.size:
            low, high = thing.min(), thing.max()
            narrow = next((kind for kind in _NARROW_TYPES if kind.min <= low and high <= kind.max), None)
            if narrow is not None and narrow.dtype.itemsize < thing.dtype.itemsize:
                return np.ndarray.astype, (thing.astype(narrow.dtype), thing.dtype)
        return NotImplemented


class Processes:
    """A pool of loky processes, which start at first use; a pool of size one is this process.

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

    def map(
        self, function: Callable[..., Any], jobs: Sequence[Job], *, most: float = math.inf
    ) -> Generator[Any, None, None]:
        """Yield the function's result for each job, in order; several threads may call this.

        If the pool has more than ``most`` processes, the jobs run in this process.
        """
        if self.number > most or self.number == 1 or len(jobs) <= 1:
            yield from starmap(function, jobs)
            return
        from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

        with self._starting:
            if not self._executors:
                self._executors.append(ProcessPoolExecutor(self.number, initializer=_end_with, initargs=(os.getpid(),)))
            executor = self._executors[0]
        try:
            futures = deque(executor.submit(function, *job) for job in jobs)
            while futures:
                yield futures.popleft().result()  # not kept, because it may be large
        except BaseException as error:  # also if the caller stops early
            self.close()
            if not isinstance(error, TerminatedWorkerError):
                raise
            raise TooLargeError(f"A process was killed, probably because memory ran out. {self._remedy}") from error

    def close(self) -> None:
        """End all processes; they are started again when needed."""
        with self._starting:
            _end_all(self._executors, os.getpid())


def _end_all(executors: list[Any], owner: int) -> None:
    while executors and os.getpid() == owner:  # and not a child that was forked
        executor = executors.pop()
        with suppress(Empty):
            while True:  # loky drops waiting jobs, and fails if their numbers are still in its queue
                executor._work_ids.get_nowait()
        executor.shutdown(wait=True, kill_workers=True)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, even during a job."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
