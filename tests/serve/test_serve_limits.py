"""The page that is served to those who dawdle: nobody holds it for ever, and only so many hold it at once."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from allalike.serve.server import Server
from allalike.serve.session import Session

LIMIT = 10_000
LONG = 10_000.0  # seconds that no test has
SHORT = 0.2


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serve(opened: ExitStack, folder: Path, *, connections: int = 1, seconds: float = SHORT) -> Server:
    return opened.enter_context(Server(Session(folder, limit=LIMIT), connections=connections, seconds=seconds))


def connect(opened: ExitStack, server: Server, text: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
    opened.enter_context(connection)
    connection.sendall(text.replace("\n", "\r\n").encode())
    return connection


def head(server: Server, order: str, size: int = 0) -> str:
    length = f"Content-Length: {size}\n" if order.startswith("POST") else ""
    method, _, place = order.partition(" ")
    return f"{method} /{server.token}/{place} HTTP/1.0\nHost: 127.0.0.1:{server.server_port}\n{length}\n"


def dribble(connection: socket.socket, byte: bytes) -> bytes:
    """Send a byte now and then, until the other side has had enough; return what it said."""
    said = b""
    connection.settimeout(0.01)
    with suppress(ConnectionError):
        while True:
            connection.sendall(byte)
            with suppress(TimeoutError):
                part = connection.recv(1 << 16)
                said += part
                if not part:
                    break
    return said


def hear(connection: socket.socket) -> bytes:
    with suppress(ConnectionError):
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))
    return b""


def wait_for_room(opened: ExitStack, server: Server, request: str = "") -> None:
    """Ask until the server has room to answer; a test has a limit of time, so this has none."""
    while b" 200 " not in hear(connect(opened, server, request or head(server, "GET state"))):
        time.sleep(0.01)


@pytest.mark.parametrize("start", ["", "GET / HTTP/1.0\nX-Slow: "])
def test_a_head_that_comes_byte_by_byte_is_not_waited_for(opened: ExitStack, tmp_path: Path, start: str) -> None:
    server = serve(opened, tmp_path)
    assert dribble(connect(opened, server, start), b"x") == b""
    wait_for_room(opened, server)


def test_a_body_that_comes_byte_by_byte_is_not_waited_for_and_leaves_nothing(opened: ExitStack, tmp_path: Path) -> None:
    server = serve(opened, tmp_path)
    dribble(connect(opened, server, head(server, "POST answers?name=a.csv", LIMIT)), b"x")
    wait_for_room(opened, server)
    assert not list(tmp_path.rglob("*.csv"))
    wait_for_room(opened, server, head(server, "POST answers?name=a.csv", 3) + "abc")


def test_a_client_that_says_nothing_more_is_not_waited_for(opened: ExitStack, tmp_path: Path) -> None:
    server = serve(opened, tmp_path)
    connect(opened, server, head(server, "POST answers?name=a.csv", LIMIT) + "abc")
    wait_for_room(opened, server)


def test_a_client_that_takes_no_answer_is_not_waited_for(opened: ExitStack, tmp_path: Path) -> None:
    server = serve(opened, tmp_path / "session")
    (tmp_path / "session").mkdir()
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / "truth.csv").open("wb") as file:
        file.truncate(1 << 28)  # more than any system keeps for a client
    (tmp_path / "out" / "report.html").touch()
    (tmp_path / "out" / "summary.json").write_text(
        '{"files": ["truth.csv", "report.html", "summary.json"], "versions": {"allalike": "1"}}'
    )
    server.session.show(tmp_path / "out")
    slow = connect(opened, server, head(server, "GET files/truth.csv"))
    wait_for_room(opened, server)
    assert len(hear(slow)) < 1 << 28


def test_a_refused_body_is_not_waited_for(opened: ExitStack, tmp_path: Path) -> None:
    server = serve(opened, tmp_path)
    assert b" 413 " in dribble(connect(opened, server, head(server, "POST answers?name=a.csv", LIMIT + 1)), b"x")
    wait_for_room(opened, server)


def test_only_so_many_ask_at_once_and_the_next_is_told_so(opened: ExitStack, tmp_path: Path) -> None:
    server = serve(opened, tmp_path, connections=2, seconds=LONG)
    first, _ = connect(opened, server), connect(opened, server)
    for _ in range(3):
        assert hear(connect(opened, server)).startswith(b"HTTP/1.0 503 ")
    first.close()
    wait_for_room(opened, server)
