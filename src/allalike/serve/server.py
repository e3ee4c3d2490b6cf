"""Server of one page on this computer, for one user.

It uses the standard library: one user and a handful of requests need no web framework. It listens to this computer
only, and refuses

- requests without the token in the address, which is random for each start;
- other host names of this computer, which other sites could use to send requests in its name;
- requests from other origins, and methods other than GET and POST;
- bodies that are too large, before they are read, and bodies without a length.

No path is made from a request: it can only name entries of a table. Every connection answers one request within a time
limit, in a thread that does not keep the program from ending, and their number is limited.
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
import tempfile
import zipfile
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Thread, Timer
from typing import IO, Any
from urllib.parse import parse_qs, unquote

from allalike._core.system.json_text import parse_json
from allalike.errors import AllalikeError, OptionError
from allalike.report.page import make_template, read_asset
from allalike.result.saving import REPORT
from allalike.serve.session import RefusalError, Session

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A report may come from a folder of somebody else: it has no origin, so that it cannot ask this server for anything.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HOST, _RATE = "127.0.0.1", 10_000  # bytes per second that a client at least sends and takes
_MAX_ORDER, _MAX_DRAINED = 1 << 20, 1 << 24  # bytes of options, and of a refused body, so that the client sees why
_FULL = b'HTTP/1.0 503 Service Unavailable\r\n\r\n{"error": "Too many ask at once. Try again in a minute."}'
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LENGTH = re.compile("[0-9]{1,18}")
_JSON, _HTML = "application/json", "text/html; charset=utf-8"


class Server(ThreadingMixIn, TCPServer):
    """A server of one session, until it is closed; ``seconds`` limit the head of a request, and slow clients.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, Server(Session(Path(folder), limit=10**6)) as server:
    ...     server.address[:17]
    'http://127.0.0.1:'
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    allow_reuse_address = os.name != "nt"  # where it would let others listen, too

    def __init__(self, session: Session, port: int = 0, *, connections: int = 64, seconds: float = 30) -> None:
        self.session, self.token, self.seconds = session, secrets.token_urlsafe(24), seconds
        self._free = BoundedSemaphore(connections)
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            raise OptionError(
                f"Port {port} cannot be listened to: {error.strerror}. Name another (--port), or 0 for any."
            ) from None
        self.server_port = self.server_address[1]
        self.hosts = [f"{name}:{self.server_port}" for name in (_HOST, "localhost")]
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def address(self) -> str:
        """The address of the page, with the token that opens it."""
        return f"http://{_HOST}:{self.server_port}/{self.token}/"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening, and remove temporary data."""
        self.shutdown()
        self.server_close()
        self.session.clear()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse a connection if there are too many."""
        if self._free.acquire(blocking=False):
            return True
        with suppress(OSError):
            request.settimeout(0)  # a refused client is not waited for
            request.sendall(_FULL)
        return False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that went away is not an error."""


class _Handler(BaseHTTPRequestHandler):
    """Answer one request."""

    server: Server
    server_version, sys_version = "allalike", ""
    _n_unread = 0
    _timer: Timer | None = None

    def setup(self) -> None:
        """Limit the time of silence, and that of the head of the request."""
        self.request.settimeout(self.server.seconds)
        super().setup()
        self._allow(0)

    def finish(self) -> None:
        """End the time limit."""
        assert self._timer is not None
        self._timer.cancel()
        super().finish()

    def _allow(self, size: int) -> None:
        """Start the time limit anew: a slow client never times out alone, so its connection is shut down."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(self.server.seconds + size / _RATE, self._shut_down)
        self._timer.daemon = True
        self._timer.start()

    def _shut_down(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Check the request, answer it, and answer any error."""
        with suppress(ConnectionError, TimeoutError):  # the client has gone
            try:
                self._n_unread = self._read_length()
                place = self._check_place()
                self._allow(self._n_unread)
                (self._post if self.command == "POST" else self._get)(place)
            except RefusalError as refused:
                self._send_error(refused.status, str(refused))
            except AllalikeError as error:
                self._send_error(HTTPStatus.BAD_REQUEST, str(error))
            except FileNotFoundError:
                self._send_error(HTTPStatus.NOT_FOUND, "This file was removed.")
            except (ConnectionError, TimeoutError):
                raise
            except OSError as error:
                self._send_error(HTTPStatus.INSUFFICIENT_STORAGE, f"The file cannot be stored: {error.strerror}.")
            except Exception as error:
                self._send_error(
                    HTTPStatus.INTERNAL_SERVER_ERROR, f"Unexpected error: {type(error).__name__}: {error}."
                )
            self._allow(0)
            left = min(self._n_unread, _MAX_DRAINED)  # a connection that is closed before that loses the answer
            while left > 0 and (part := self.rfile.read1(min(left, 1 << 16))):
                left -= len(part)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = do_TRACE = do_CONNECT = do_GET  # noqa: N815

    def _read_length(self) -> int:
        """Return the length of the body; a body without a length is refused."""
        given = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or (self.command == "POST" and not given):
            raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "The Content-Length is missing.")
        if len(given) > 1 or not all(map(_LENGTH.fullmatch, given)):
            raise RefusalError(HTTPStatus.BAD_REQUEST, "The Content-Length is not a number.")
        return int(given[0]) if given else 0

    def _check_place(self) -> str:
        """Return the requested place, after checking host, origin, token and method."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise RefusalError(HTTPStatus.FORBIDDEN, "This is not the name of this server.")
        if not set(self.headers.get_all("Origin", [])) <= {f"http://{host}" for host in self.server.hosts}:
            raise RefusalError(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")
        token, _, place = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusalError(HTTPStatus.NOT_FOUND, "Not found. Use the whole address that was printed.")
        if self.command not in ("GET", "POST"):
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and POST are allowed.")
        return place

    def _get(self, place: str) -> None:
        saved, name = self.server.session.saved, unquote(place.removeprefix("files/"))
        if place == "":
            self._send(_HTML, render_page(self.server.session.limit).encode(), policy=PAGE_POLICY)
        elif place == "style.css":
            style = read_asset("style.css") + read_asset("page.css", "allalike.serve")
            self._send("text/css; charset=utf-8", style.encode())
        elif place == "script.js":
            self._send("text/javascript; charset=utf-8", read_asset("page.js", "allalike.serve").encode())
        elif place == "state":
            self._send_state()
        elif place == "report" and REPORT in saved:
            self._send(_HTML, saved[REPORT].read_bytes(), policy=REPORT_POLICY)
        elif place == "all.zip" and saved:
            with tempfile.TemporaryFile(dir=self.server.session.folder) as packed:
                with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                    for inside, path in saved.items():
                        archive.write(path, inside)
                packed.seek(0)
                self._send("application/zip", packed, name="allalike.zip")
        elif name in saved and "/" not in name:  # files in subfolders, whose names others chose, are in the archive
            with saved[name].open("rb") as file:
                self._send("application/octet-stream", file, name=name)
        else:
            raise RefusalError(HTTPStatus.NOT_FOUND, "Not found.")

    def _post(self, place: str) -> None:
        session = self.server.session
        if place in ("answers", "gold"):
            query = parse_qs(self.path.partition("?")[2])
            session.upload(place, query.get("name", [""])[0], self.rfile, self._n_unread, more="more" in query)
            self._n_unread = 0
        elif place == "run":
            order = self._read_order()
            session.run(order.get("options", {}), order.get("suggestion"))
        elif place in ("cancel", "clear"):
            getattr(session, place)()
        else:
            raise RefusalError(HTTPStatus.NOT_FOUND, "Not found.")
        self._send_state()

    def _read_order(self) -> dict[str, Any]:
        if self._n_unread > _MAX_ORDER:
            raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The options are too long.")
        size, self._n_unread = self._n_unread, 0
        with suppress(ValueError):
            if isinstance(order := parse_json(self.rfile.read(size)), dict):
                return order
        raise RefusalError(HTTPStatus.BAD_REQUEST, "The request is not a JSON object.")

    def _send_state(self) -> None:
        self._send(_JSON, json.dumps(self.server.session.describe()).encode())

    def _send_error(self, status: HTTPStatus, what: str) -> None:
        self._send(_JSON, json.dumps({"error": what}).encode(), status=status)

    def _send(
        self, kind: str, body: bytes | IO[bytes], *, status: int = HTTPStatus.OK, policy: str = "", name: str = ""
    ) -> None:
        """Send a text, or a file to be saved under a name."""
        size = len(body) if isinstance(body, bytes) else os.fstat(body.fileno()).st_size
        self._allow(size)
        self.send_response(status)
        headers = {**_SAFE, "Content-Type": kind, "Content-Length": str(size)}
        headers |= {"Content-Security-Policy": policy} if policy else {}
        headers |= {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command != "HEAD":
            shutil.copyfileobj(io.BytesIO(body) if isinstance(body, bytes) else body, self.wfile)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Keep no log: it would contain the token."""


def render_page(limit: int) -> str:
    """Return the page, with all methods and label types.

    >>> '<option value="P-TD"' in render_page(1000)
    True
    """
    from allalike import __version__
    from allalike.domains import DOMAINS
    from allalike.methods import METHODS

    lists = {
        name: {each: str(getattr(kind, "summary", "")) for each, kind in registry.items() if each != "custom"}
        for name, registry in (("methods", METHODS), ("domains", DOMAINS))
    }
    return make_template(read_asset("page.html", "allalike.serve")).render(version=__version__, limit=limit, **lists)
