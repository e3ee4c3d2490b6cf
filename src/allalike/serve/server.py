"""Server: the page and what it asks for, on this computer and for one person.

It is the standard library's: one person, a handful of requests, and no package that the rest does not need. What it
lacks for a place on a network is not needed here, because it listens to this computer only, and refuses

- whoever does not know the token in the address, which is drawn anew each time;
- a name of this computer that it is not called by, with which another site could make a browser ask in its name;
- requests that begin at another site; methods other than GET and POST;
- bodies that are too large, before they are read, and those that do not say how large they are.

No path is ever made from a request: what can be asked for are the entries of a table. Every connection answers one
request and has a limit of time as a whole, in a thread that does not keep the program from ending; and there are only
so many at once.
"""

from __future__ import annotations

import hmac
import io
import json
import os
import re
import secrets
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

from allalike._core.system.json_text import parse_json
from allalike.errors import AllalikeError, OptionError
from allalike.report.page import make_template, read_asset
from allalike.serve.desk import BusyError, CutOffError, Desk, TooMuchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from _typeshed import ReadableBuffer, WriteableBuffer


# Wire: what goes over a connection, as long as there is time for it.
#
# A client that sends a byte now and then never lets a socket time out. So what it sends and takes has a limit of time
# as a whole: the head of a request a fixed one, for anybody can send that; what comes after it, from whoever knows
# the token, one that grows with its size.


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """How much a server takes.

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


# Page: the one that a person drops her answers on, with its style and its script.


PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# A report may come from a folder of somebody else: it has no origin, so that it cannot ask this server for anything.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_LAYOUTS = {"tasks": "a matrix: one row per task", "workers": "a matrix: one row per worker"}
_read = partial(read_asset, package="allalike.serve")


def render_page(limit: int) -> str:
    """Return the page, with all methods and kinds of label that can be chosen.

    >>> '<option value="P-TD"' in render_page(1000)
    True
    """
    from allalike import __version__
    from allalike.domains import DOMAINS
    from allalike.methods import METHODS
    from allalike.readers.tools import TOOLS

    return make_template(_read("page.html")).render(
        version=__version__,
        limit=limit,
        layouts=_LAYOUTS,
        tools={name: tool.title for name, tool in TOOLS.items()},
        methods=_summaries(METHODS),
        domains={name: summary for name, summary in _summaries(DOMAINS).items() if name != "custom"},
    )


def _summaries(registry: Mapping[str, type]) -> dict[str, str]:
    return {name: str(getattr(kind, "summary", "")) for name, kind in registry.items()}


def render_style() -> str:
    """Return the style that it shares with reports, and its own.

    >>> render_style()[:5]
    ':root'
    """
    return read_asset("style.css") + _read("page.css")


def render_script() -> str:
    """Return its script.

    >>> render_script()[:12]
    '"use strict"'
    """
    return _read("page.js")


_HOST = "127.0.0.1"
_MAX_CHOICES = 1 << 20  # bytes of what is chosen on a page
_MAX_DRAINED = 1 << 24  # bytes of a refused body that are read, so that whoever sent them sees the answer
_DRAIN_SECONDS = 5
_FULL = b'HTTP/1.0 503 Service Unavailable\r\n\r\n{"error": "Too many ask at once. Try again in a minute."}'
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LENGTH = re.compile("[0-9]{1,18}")
_JSON, _HTML = "application/json", "text/html; charset=utf-8"


class Server(ThreadingHTTPServer):
    """A server of one desk, from when it is made until it is closed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from allalike.serve.desk import Desk
    >>> with tempfile.TemporaryDirectory() as folder, Server(Desk(Path(folder), limit=10**6)) as server:
    ...     server.address[:17]
    'http://127.0.0.1:'
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name != "nt"  # where it would let others listen, too

    def __init__(self, desk: Desk, port: int = 0, limits: ConnectionLimits | None = None) -> None:
        self.desk, self.token, self.limits = desk, secrets.token_urlsafe(24), limits or ConnectionLimits()
        self._free = BoundedSemaphore(self.limits.connections)
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            raise OptionError(
                f"Port {port} cannot be listened to: {error.strerror}. Name another (--port), or 0 for any."
            ) from None
        self.hosts = {f"{name}:{self.server_port}" for name in (_HOST, "localhost")}
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def address(self) -> str:
        """Where the page is, with the token that opens it."""
        return f"http://{_HOST}:{self.server_port}/{self.token}/"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more, and remove all that is temporary."""
        self.shutdown()
        self.server_close()
        self.desk.clear()

    def server_bind(self) -> None:
        """Bind without a look at what the network calls this computer, which may take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(self.allow_reuse_address))
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or refuse it if there are too many."""
        if not self._free.acquire(blocking=False):
            with suppress(OSError):
                request.settimeout(0)  # nobody waits for whoever is refused
                request.sendall(_FULL)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system has no thread left
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no error, and a program that serves prints nothing."""


class _RefusalError(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus, what: str) -> None:
        super().__init__(what)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """What answers one request."""

    server: Server
    server_version, sys_version = "allalike", ""
    _n_unread = 0
    _policy = "default-src 'none'; frame-ancestors 'none'"

    def setup(self) -> None:
        """Read and write with a limit of time."""
        self.connection = self.request
        self._wire = Wire(self.connection, silence=self.server.limits.head_seconds)
        self.rfile, self.wfile = io.BufferedReader(self._wire), self._wire  # type: ignore[assignment]

    def do_GET(self) -> None:
        """Show something."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take something."""
        self._answer(self._post)

    def _refuse_method(self) -> None:
        def refuse(place: str) -> None:
            raise _RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "There is GET and POST here, and nothing else.")

        self._answer(refuse)

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = do_TRACE = do_CONNECT = _refuse_method  # noqa: N815

    def _answer(self, act: Callable[[str], None]) -> None:
        """Check who asks, act, and answer whatever goes wrong."""
        with suppress(ConnectionError, TimeoutError):  # nobody is there any more to be answered
            try:
                self._n_unread = self._length()
                place = self._place()
                self._wire.allow(self.server.limits.allow(self._n_unread))
                act(place)
            except _RefusalError as refused:
                self._say(refused.status, str(refused))
            except BusyError as error:
                self._say(HTTPStatus.CONFLICT, str(error))
            except TooMuchError as error:
                self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
            except (CutOffError, AllalikeError) as error:
                self._say(HTTPStatus.BAD_REQUEST, str(error))
            except FileNotFoundError:
                self._say(HTTPStatus.NOT_FOUND, "This is not there any more.")
            except OSError as error:
                if isinstance(error, ConnectionError | TimeoutError):
                    raise
                self._say(HTTPStatus.INSUFFICIENT_STORAGE, f"The file cannot be kept: {error.strerror}.")
            except Exception as error:
                what = f"Something unexpected happened: {type(error).__name__}: {error}."
                self._say(HTTPStatus.INTERNAL_SERVER_ERROR, what)
            self._drain()

    def _length(self) -> int:
        """Return how long the body is; one that does not say so is refused, and the connection is closed after it."""
        given = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or (self.command == "POST" and not given):
            raise _RefusalError(HTTPStatus.LENGTH_REQUIRED, "Say how long the body is (Content-Length).")
        if len(given) > 1 or not all(map(_LENGTH.fullmatch, given)):
            raise _RefusalError(HTTPStatus.BAD_REQUEST, "The Content-Length is not a number.")
        return int(given[0]) if given else 0

    def _place(self) -> str:
        """Return what is asked for, once it is known that it may be."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise _RefusalError(HTTPStatus.FORBIDDEN, "This is not the name of this server.")
        origins = {f"http://{host}" for host in self.server.hosts}
        if not set(self.headers.get_all("Origin", [])) <= origins:
            raise _RefusalError(HTTPStatus.FORBIDDEN, "Other sites may not ask here.")
        token, _, place = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusalError(HTTPStatus.NOT_FOUND, "There is nothing here. Use the whole address that was printed.")
        return place

    def _get(self, place: str) -> None:
        desk = self.server.desk
        if place == "":
            self._send(_HTML, render_page(desk.limit).encode(), policy=PAGE_POLICY)
        elif place == "style.css":
            self._send("text/css; charset=utf-8", render_style().encode())
        elif place == "script.js":
            self._send("text/javascript; charset=utf-8", render_script().encode())
        elif place == "state":
            self._send(_JSON, json.dumps(desk.describe()).encode())
        elif place == "report" and desk.found.page is not None:
            self._send(_HTML, desk.found.page.read_bytes(), policy=REPORT_POLICY)
        elif place == "all.zip" and desk.found.files:
            with desk.found.pack(desk.folder) as packed:
                self._send_file("application/zip", packed, "allalike.zip")
        else:
            self._send_own(unquote(place.removeprefix("files/")), desk.found.files)

    def _send_own(self, name: str, files: Mapping[str, Path]) -> None:
        """Send a file of the result; those in folders of their own, whose names others chose, are in the archive."""
        path = files.get(name)
        if path is None or "/" in name:
            raise _RefusalError(HTTPStatus.NOT_FOUND, "There is no such thing here.")
        with path.open("rb") as file:
            self._send_file("application/octet-stream", file, path.name)

    def _post(self, place: str) -> None:
        desk = self.server.desk
        if place in ("answers", "gold"):
            asked = parse_qs(self.path.partition("?")[2])
            desk.receive(place, asked.get("name", [""])[0], self.rfile, self._n_unread, more="more" in asked)
            self._n_unread = 0
        elif place in ("preview", "run"):
            getattr(desk, place)(self._read_choices())
        elif place == "cancel":
            desk.cancel()
        elif place == "clear":
            desk.clear()
        elif place == "no-gold":
            desk.drop_gold()
        else:
            raise _RefusalError(HTTPStatus.NOT_FOUND, "There is no such thing here.")
        self._send(_JSON, json.dumps(desk.describe()).encode())

    def _read_choices(self) -> Any:
        if self._n_unread > _MAX_CHOICES:
            raise TooMuchError("These are too many choices.")
        size, self._n_unread = self._n_unread, 0
        try:
            return parse_json(self.rfile.read(size))
        except ValueError:
            raise _RefusalError(HTTPStatus.BAD_REQUEST, "The choices of the page are no JSON.") from None

    def _say(self, status: HTTPStatus, what: str) -> None:
        self._send(_JSON, json.dumps({"error": what}).encode(), status=status)

    def _send(self, kind: str, body: bytes, *, status: HTTPStatus = HTTPStatus.OK, policy: str = "") -> None:
        self._policy = policy or self._policy
        self._wire.allow(self.server.limits.allow(len(body)))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_file(self, kind: str, file: IO[bytes], name: str) -> None:
        size = os.fstat(file.fileno()).st_size
        self._wire.allow(self.server.limits.allow(size))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Disposition", f'attachment; filename="{name}"')
        self.end_headers()
        shutil.copyfileobj(file, self.wfile)

    def end_headers(self) -> None:
        """Add to every answer what keeps others out."""
        for name, value in {"Content-Security-Policy": self._policy, **_SAFE}.items():
            self.send_header(name, value)
        super().end_headers()

    def _drain(self) -> None:
        """Read some of a body that was refused: a connection that is closed before that loses the answer."""
        self._wire.allow(_DRAIN_SECONDS)
        left = min(self._n_unread, _MAX_DRAINED)
        while left > 0 and (part := self.rfile.read1(min(left, 1 << 16))):
            left -= len(part)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Keep no log: it would have the token in it."""
