"""Servers on this machine, for tests: PostgreSQL, a store that speaks S3, and a web server that can be hostile."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest

PASSWORD = "open/sesame"  # with a slash, as nobody should write it
_WAIT_SECONDS = 30


def skip_or_fail(reason: str) -> None:
    """Skip where a server is missing, or fail if ALLALIKE_SERVERS is required."""
    if os.environ.get("ALLALIKE_SERVERS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def find_postgres() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian keeps away from the others."""
    found = [Path(path).parent for path in (shutil.which("initdb"),) if path]
    return next(iter([*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin"))[::-1]]), None)


@contextmanager
def run_postgres() -> Iterator[str]:
    """Run PostgreSQL in a folder of its own, and give the address of a database that asks for a password."""
    programs = find_postgres()
    if programs is None:
        skip_or_fail("no PostgreSQL here: apt-get install postgresql")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    as_user = ["runuser", "-u", "postgres", "--"] if root else []  # for it does not run as root
    folder, port = Path(tempfile.mkdtemp(prefix="pg-")), free_port()
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    if root:
        for path in (folder, secret):
            shutil.chown(path, "postgres")
    data, settings = folder / "data", f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run([*as_user, f"{programs}/{program}", "-D", str(data), *arguments], capture_output=True)
        assert done.returncode == 0, done

    try:
        run("initdb", "-U", "ada", "-A", "password", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://ada:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def run_store() -> Iterator[str]:
    """Run a store that speaks S3, which has a bucket called bucket, and give its address."""
    beside = Path(sys.prefix, "servers", "Scripts" if sys.platform == "win32" else "bin")
    program = shutil.which("moto_server", path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if program is None:
        skip_or_fail("no S3 server here: make .venv/servers")
    port = free_port()
    command = [str(program), "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        urlopen(Request(f"http://127.0.0.1:{port}/bucket", method="PUT")).close()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@dataclass
class Web:
    """What a web server has, where it leads to, and how much of nothing it sends where it is asked for it."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    endless: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)


@contextmanager
def run_web() -> Iterator[Web]:
    """Run a web server in this process."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            web.asked.append(self.path)
            path = unquote(self.path.partition("?")[0])
            if path in web.leads:
                self.send_response(302)
                self.send_header("Location", web.leads[path])
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif path in web.endless:
                self.send_response(200)
                self.end_headers()
                self._send(b"x" * (1 << 16), times=1 << 20)
            elif path in web.files:
                self.send_response(200)
                self.send_header("Content-Length", str(len(web.files[path])))
                self.end_headers()
                self._send(web.files[path])
            else:
                self.send_error(404)

        def _send(self, data: bytes, times: int = 1) -> None:
            with suppress(OSError):  # whoever asked has gone
                for _ in range(times if self.command == "GET" else 0):
                    self.wfile.write(data)

        def log_message(self, _format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web = Web(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def wait_for(port: int) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end, f"nobody listens at {port}"
            time.sleep(0.05)
        else:
            return
