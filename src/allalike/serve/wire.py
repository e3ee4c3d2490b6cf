"""Wire: what goes over a connection, as long as there is time for it.

A client that sends a byte now and then never lets a socket time out. So what it sends and takes has a limit of time as
a whole: the head of a request a fixed one, for anybody can send that; what comes after it, from whoever knows the
token, one that grows with its size.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from _typeshed import ReadableBuffer, WriteableBuffer

__all__ = ["ConnectionLimits", "Wire"]


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """How much a server takes.

    Parameters
    ----------
    connections
        How many there may be at once.
    head_seconds
        How long the head of a request may take, and how long nothing may be said later on.
    grace_seconds, least_rate
        How long a body may take, or an answer: so many seconds, and one for each so many bytes.

    >>> ConnectionLimits().allow(200_000_000) / 3600 < 6
    True
    """

    connections: int = 64
    head_seconds: float = 30
    grace_seconds: float = 60
    least_rate: float = 10_000

    def allow(self, size: int) -> float:
        """Return how many seconds so many bytes may take."""
        return self.grace_seconds + size / self.least_rate


class Wire(io.RawIOBase):
    """A connection that is read from and written to until the time is over.

    >>> import socket
    >>> one, other = socket.socketpair()
    >>> with one, other:
    ...     wire = Wire(one, silence=30)
    ...     wire.allow(0)
    ...     wire.write(b"too late")
    Traceback (most recent call last):
    TimeoutError: The time for this is over.
    """

    def __init__(self, connection: socket.socket, *, silence: float) -> None:
        self._connection, self._silence = connection, silence
        self.allow(silence)

    def allow(self, seconds: float) -> None:
        """Begin to count the time anew."""
        self._end = monotonic() + seconds

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what comes next."""
        self._wait()
        return self._connection.recv_into(buffer)

    def write(self, data: ReadableBuffer) -> int:
        """Write all of it."""
        left = memoryview(data)
        while left:
            self._wait()
            left = left[self._connection.send(left) :]
        return len(memoryview(data))

    def _wait(self) -> None:
        """Have the connection wait for no longer than there is time."""
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("The time for this is over.")
        self._connection.settimeout(min(left, self._silence))
