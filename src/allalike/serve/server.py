"""Local web server for one page and one user; it uses the standard library only.

It accepts connections from this computer only, and refuses

- requests without the random token in the address;
- requests with other host names for this computer, as a protection against DNS rebinding;
- requests from other origins, and methods other than GET and POST;
- bodies that are too large, before they are read, and bodies without a length.

No path is built from a request, because a request can only name entries of a table. Every connection answers one
request within a time limit in a daemon thread. The number of connections is limited.
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
# A report may come from an untrusted folder: it has no origin, so it cannot send requests to this server.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HOST, _RATE = "127.0.0.1", 10_000  # minimum transfer rate of a client in bytes per second
_MAX_ORDER, _MAX_DRAINED = (
    1 << 20,
    1 << 24,
)  # bytes of options; bytes of a refused body, so that the client gets the error
_FULL = b'HTTP/1.0 503 Service Unavailable\r\n\r\n{"error": "Too many connections. Try again in a minute."}'
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
    """Server of one session; ``seconds`` is the time limit for request headers and slow clients.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, Server(Session(Path(folder), limit=10**6)) as server:
    ...     server.address[:17]
    'http://127.0.0.1:'
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    allow_reuse_address = os.name != "nt"  # on Windows, other programs could listen to the same port

    def __init__(self, session: Session, port: int = 0, *, connections: int = 64, seconds: float = 30) -> None:
        self.session, self.token, self.seconds = session, secrets.token_urlsafe(24), seconds
        self._free = BoundedSemaphore(connections)
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            raise OptionError(
                f"Port {port} is not available: {error.strerror}. Choose another with --port, or 0 for any free port."
            ) from None
        self.server_port = self.server_address[1]
        self.hosts = [f"{name}:{self.server_port}" for name in (_HOST, "localhost")]
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def address(self) -> str:
        """The address of the page with its token."""
        return f"http://{_HOST}:{self.server_port}/{self.token}/"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and remove temporary data."""
        self.shutdown()
        self.server_close()
        self.session.clear()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether to accept a connection; refuse it if there are too many."""
        if self._free.acquire(blocking=False):
            return True
        with suppress(OSError):
            request.settimeout(0)  # do not wait for a refused client
            request.sendall(_FULL)
        return False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection and release its slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing, because a disconnected client is not an error."""


class _Handler(BaseHTTPRequestHandler):
    """Handler for one request."""

    server: Server
    server_version, sys_version = "allalike", ""
    _n_unread = 0
    _timer: Timer | None = None

    def setup(self) -> None:
        """Start the time limits for inactivity and for the request headers."""
        self.request.settimeout(self.server.seconds)
        super().setup()
        self._allow(0)

    def finish(self) -> None:
        """End the time limit."""
        assert self._timer is not None
        self._timer.cancel()
        super().finish()

    def _allow(self, size: int) -> None:
        """Restart the time limit; a slow client, which never times out by itself, is disconnected at its end."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(self.server.seconds + size / _RATE, self._shut_down)
        self._timer.daemon = True
        self._timer.start()

    def _shut_down(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Check and answer the request, or send an error."""
        with suppress(ConnectionError, TimeoutError):  # the client disconnected
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
            left = min(self._n_unread, _MAX_DRAINED)  # closing the connection earlier would lose the answer
            while left > 0 and (part := self.rfile.read1(min(left, 1 << 16))):
                left -= len(part)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = do_TRACE = do_CONNECT = do_GET  # noqa: N815

    def _read_length(self) -> int:
        """Return the length of the body; raise an error if it is missing."""
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or (self.command == "POST" and not lengths):
            raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "The Content-Length is missing.")
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise RefusalError(HTTPStatus.BAD_REQUEST, "The Content-Length is not a number.")
        return int(lengths[0]) if lengths else 0

    def _check_place(self) -> str:
        """Check host, origin, token and method, and return the requested entry."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise RefusalError(HTTPStatus.FORBIDDEN, "Unknown host name. Use the address that was printed.")
        if not set(self.headers.get_all("Origin", [])) <= {f"http://{host}" for host in self.server.hosts}:
            raise RefusalError(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")
        token, _, place = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusalError(HTTPStatus.NOT_FOUND, "Not found. Use the complete address that was printed.")
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
        elif name in saved and "/" not in name:  # files in subfolders have untrusted names and are in the archive only
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
        """Send a text, or a file to save under a name."""
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
        """Write no log, because it would contain the token."""


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
