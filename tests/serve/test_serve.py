"""The served page: who may ask, what is taken and refused, the work behind it, and what stays."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import allalike
from allalike.serve.server import Server
from allalike.serve.session import Session, write_words
from crowds import samples
from running.program import call

ROWS = b"worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\neve,2,x\n"
LIMIT = 10_000
ENDLESS = """
import json, sys, time
from pathlib import Path
Path("allalike-out").mkdir()
Path("allalike-out/half.written").touch()
print(json.dumps({"progress": {"stage": "weighing workers", "done": 3, "total": 15}}), file=sys.stderr, flush=True)
time.sleep(600)
"""


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(Session(tmp_path_factory.mktemp("session"), limit=LIMIT)) as started:
        yield started


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.session.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Run another program instead of `allalike discover`."""
    return lambda code: monkeypatch.setattr("allalike.serve.session._DISCOVER", code)


def ask(
    server: Server, place: str = "", body: bytes | None = None, *, method: str = "", path: str = "", **headers: str
) -> Reply:
    """Ask the server as a browser does."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(
        method or ("GET" if body is None else "POST"), path or f"/{server.token}/{place}", body, headers=headers
    )
    reply = connection.getresponse()
    found = Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    connection.close()
    return found


def say(server: Server, text: str, *, end: bool = True) -> bytes:
    """Send bytes as they are, and return all that comes back."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode())
        if end:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def wait(server: Server, fits: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Ask for the state until it fits; a test has a limit of time, so this has none."""
    while not fits(state := server.session.describe()):
        time.sleep(0.01)
    return state


def kept(server: Server) -> list[str]:
    return sorted(path.relative_to(server.session.folder).as_posix() for path in server.session.folder.rglob("*.*"))


@pytest.mark.parametrize("path", ["/", "/state", "/wrong/", "/wrong/state", "//state", "/%2e%2e/", "//[x"])
def test_nobody_sees_anything_without_the_token(server: Server, path: str) -> None:
    reply = ask(server, path=path)
    assert reply.status == 404
    assert server.token.encode() not in reply.body
    assert ask(server, path=f"/{server.token[:-1]}/").status == 404
    assert b" 404 " in say(server, f"GET /\u00e9/ HTTP/1.0\nHost: localhost:{server.server_port}\n\n")


def test_the_page_its_style_and_its_script_are_there_and_every_answer_keeps_others_out(server: Server) -> None:
    for place, kind in (("", "text/html"), ("style.css", "text/css"), ("script.js", "text/javascript")):
        reply = ask(server, place)
        assert (reply.status, reply.headers["content-type"].partition(";")[0]) == (200, kind)
    for reply in (ask(server), ask(server, "state"), ask(server, "nothing"), ask(server, path="/x/")):
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert "'unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
    assert b"onclick" not in ask(server).body
    assert b"<script>" not in ask(server).body


def test_it_listens_to_this_computer_only(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_the_token_is_drawn_anew_each_time_and_cannot_be_guessed(server: Server) -> None:
    with Server(server.session) as other:
        assert other.token != server.token
    assert len(server.token) == 32  # 24 random bytes


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "evil.example:{port}", "127.0.0.1:1", "localhost.:{port}"]
)
def test_another_name_of_this_computer_is_refused(server: Server, host: str) -> None:
    assert ask(server, Host=host.format(port=server.server_port)).status == 403
    assert ask(server, Host=f"localhost:{server.server_port}").status == 200
    assert b" 403 " in say(server, f"GET /{server.token}/ HTTP/1.0\n\n")
    own = f"Host: 127.0.0.1:{server.server_port}\n"
    assert b" 403 " in say(server, f"GET /{server.token}/ HTTP/1.0\n{own}{own}\n")


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_requests_that_begin_at_another_site_are_refused(server: Server, origin: str) -> None:
    other = origin.format(port=server.server_port)
    assert ask(server, Origin=other).status == 403
    assert ask(server, "answers?name=a.csv", ROWS, Origin=other).status == 403
    assert not kept(server)
    assert ask(server, "clear", b"", Origin=f"http://127.0.0.1:{server.server_port}").status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert ask(server, method=method).status == 405


def test_no_file_of_the_disk_is_served_but_those_of_the_result(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("secret")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "truth.csv").write_text("task,label")
    (tmp_path / "out" / "notes.txt").write_text("secret")
    (tmp_path / "out" / "workers.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "out" / "labels").mkdir()
    (tmp_path / "out" / "labels" / "a\r\nb.png").touch()
    names = ["truth.csv", "workers.csv", "notes.txt", "labels/../../secret.csv", "labels/a\r\nb.png", "summary.json"]
    summary = {"files": names, "versions": {"allalike": "1"}}
    (tmp_path / "out" / "summary.json").write_text(json.dumps(summary))
    server.session.show(tmp_path / "out")
    assert ask(server, "files/truth.csv").body == b"task,label"
    hidden = "workers.csv notes.txt ../secret.csv %2e%2e%2fsecret.csv labels/a%0d%0ab.png labels/../../secret.csv"
    for place in (*hidden.split(), "/etc/passwd"):
        assert ask(server, f"files/{place}").status == 404
    assert ask(server, path=f"/{server.token}/../../etc/passwd").status == 404
    with zipfile.ZipFile(io.BytesIO(ask(server, "all.zip").body)) as archive:
        assert sorted(archive.namelist()) == ["labels/a\r\nb.png", "summary.json", "truth.csv"]


def test_too_much_is_refused_before_it_is_read(server: Server) -> None:
    head = f"Host: 127.0.0.1:{server.server_port}\nContent-Length: {LIMIT + 1}\n\n"
    assert b" 413 " in say(server, f"POST /{server.token}/answers HTTP/1.1\n{head}")
    reply = ask(server, "answers?name=a.csv", b"x" * (LIMIT + 1))
    assert (reply.status, reply.data["error"]) == (
        413,
        "The files exceed 0 MB in total. Increase the limit with --max-size.",
    )
    assert ask(server, "answers?name=a.csv", b"x" * (LIMIT - 1)).status == 200
    assert ask(server, "answers?name=b.csv&more=1", b"xx").status == 413
    assert ask(server, "gold?name=b.csv", b"xx").status == 413
    assert kept(server) == ["files/a.csv"]
    assert ask(server, "run", b"[" * (1 << 20) + b" ").status == 413


def test_a_body_must_say_how_long_it_is_and_no_more_than_that_is_taken(server: Server) -> None:
    start = f"POST /{server.token}/answers?name=a.csv HTTP/1.1\nHost: 127.0.0.1:{server.server_port}\n"
    assert b" 411 " in say(server, f"{start}Transfer-Encoding: chunked\n\n3\nabc\n0\n\n")
    assert b" 411 " in say(server, f"{start}\n")
    for wrong in ("-1", "x", "9" * 5000, "3\nContent-Length: 4"):
        assert b" 400 " in say(server, f"{start}Content-Length: {wrong}\n\nabc")
    assert not kept(server)
    assert b" 400 " in say(server, f"{start}Content-Length: 50\n\nabc")
    assert not kept(server)
    assert b" 200 " in say(server, f"{start}Content-Length: 3\n\nabcdef", end=False)
    assert (server.session.folder / "files" / "a.csv").read_bytes() == b"abc"


def test_requests_that_are_no_orders_are_refused(server: Server) -> None:
    assert ask(server, "answers?name=a.csv", ROWS).status == 200
    for wrong in (b"", b"{", b"[]", b'{"options": 3}', b'{"options": {"gold": "a.csv"}}', b'{"suggestion": 0}'):
        assert ask(server, "run", wrong).status == 400
    assert server.session.describe()["progress"] is None
    assert ask(server, "unknown", b"").status == 404


@pytest.mark.parametrize(
    "options", ["--gold /etc/passwd", {"gold": "/etc/passwd"}, {"output": "/tmp/x"}, {"domain": 3}, {"label": "a*"}, []]
)
def test_only_options_of_the_page_are_set(options: Any) -> None:
    with pytest.raises(allalike.errors.OptionError):
        write_words(options)


def test_names_of_files_are_shown_and_nothing_of_them_that_makes_a_path_is_used(server: Server) -> None:
    ask(server, "answers?name=..%2F..%2F%3Cb%3E.CSV", ROWS)
    ask(server, "answers?name=C%3A%5Cx%5Cmore.jsonl.gz&more=1", b"{}")
    reply = ask(server, "gold?name=gold.exe", b"task,label\n")
    assert [file["name"] for file in reply.data["files"]] == ["<b>.CSV", "more.jsonl.gz"]
    assert reply.data["gold"] == "gold.exe"
    ask(server, "answers?name=more.jsonl.gz&more=1", b"{}")
    assert kept(server) == ["files/2-more.jsonl.gz", "files/_gold.exe", "files/b_.CSV", "files/more.jsonl.gz"]


def test_uploads_are_removed_when_another_comes_and_at_the_end(server: Server) -> None:
    ask(server, "answers?name=a.csv", ROWS)
    ask(server, "gold?name=g.csv", ROWS)
    assert ask(server, "gold?name=h.json", ROWS).data["gold"] == "h.json"
    assert kept(server) == ["files/_gold.json", "files/a.csv"]
    ask(server, "answers?name=a.json", b"[]")
    assert kept(server) == ["files/a.json"]
    with Server(server.session):
        pass
    assert not list(server.session.folder.iterdir())


def test_a_second_run_is_refused_and_cancel_ends_the_first(server: Server, work: Callable[[str], None]) -> None:
    work(ENDLESS)
    assert ask(server, "run", b"{}").data["error"] == "There are no answers. Drop or choose a file."
    ask(server, "answers?name=a.csv", ROWS)
    assert ask(server, "run", b"{}").data["progress"]
    for place, body in (("run", b"{}"), ("answers?name=b.csv", ROWS), ("gold?name=b.csv", ROWS)):
        assert ask(server, place, body).status == 409
    state = wait(server, lambda state: state["progress"]["total"])
    assert state["progress"] == {"stage": "weighing workers", "done": 3, "total": 15}
    assert kept(server) == ["files/a.csv", "files/allalike-out/half.written"]
    job = server.session._job
    assert job is not None
    assert ask(server, "cancel", b"").data["progress"] is None
    assert job.process.returncode == -signal.SIGKILL
    assert kept(server) == ["files/a.csv"]
    assert ask(server, "run", b"{}").data["progress"]


def test_a_folder_shows_its_report_which_may_ask_for_nothing(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y"), ("bob", 2, "y")]).save(
        folder, report=True
    )
    server.session.show(folder)
    state = ask(server, "state").data
    assert state["result"]["facts"][:2] == ["5 answers", "3 workers"]
    assert [file["name"] for file in state["result"]["files"]][:2] == ["truth.csv", "workers.csv"]
    reply = ask(server, "report?1")
    assert reply.body == (folder / "report.html").read_bytes()
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
    assert "connect-src" not in policy
    reply = ask(server, "files/truth.csv")
    assert reply.headers["content-disposition"] == 'attachment; filename="truth.csv"'
    ask(server, "clear", b"")
    assert (folder / "report.html").exists()


def test_a_run_ends_with_its_server(tmp_path: Path) -> None:
    code = (
        "import io, os, sys; from pathlib import Path; import allalike.serve.session as session;"
        f"session._DISCOVER = {ENDLESS!r}; page = session.Session(Path(sys.argv[1]), limit=10_000);"
        "page.upload('answers', 'a.csv', io.BytesIO(b'a,b'), 3); page.run({});"
        "print(page._job.process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True, check=True)
    while Path(f"/proc/{int(done.stdout)}/cmdline").exists():  # a test has a limit of time, so this has none
        time.sleep(0.01)


def run(server: Server, content: str, options: Any = None, **more: Any) -> dict[str, Any]:
    """Run the program on a page's file; return the state at the end."""
    if content:
        assert ask(server, "answers?name=a.csv", content.encode()).status == 200
    reply = ask(server, "run", json.dumps({"options": options or {}, **more}).encode())
    assert reply.status == 200, reply.body
    return wait(server, lambda state: state["progress"] is None)


@pytest.mark.parametrize(
    ("content", "options", "title"),
    [
        ("ada,1,[1]\nbob,1,[2]\n", {"domain": "set"}, "Read labels as set"),
        ("ada,1,x\nbob,1,x\n" * 9 + "cy,1,\n", {"missing": "drop"}, "Exclude rows without a label"),
        ("ada,1,x\nada,2,y\nada,3,y\n", {"force": True}, "Continue anyway"),
    ],
)
def test_an_error_has_suggestions_and_the_chosen_one_is_run(
    server: Server, content: str, options: dict[str, Any], title: str
) -> None:
    error = run(server, f"worker,task,label\n{content}")["error"]
    listed = [each["options"] for each in error["suggestions"]]
    assert options in listed
    index = listed.index(options)
    assert error["suggestions"][index]["title"] == title
    assert "files/" not in error["message"]
    assert ask(server, "run", json.dumps({"suggestion": 99}).encode()).status == 400
    again = run(server, "", suggestion=index)
    assert again["error"] is None or options not in [each["options"] for each in again["error"]["suggestions"]]


def test_a_run_is_that_of_the_program(server: Server, tmp_path: Path) -> None:
    rows = samples.crowd("categorical", seed=1, n=5, m=20)
    content = "who,task,label\n" + "".join(f"{w},{t},{label}\n" for w, t, label in rows)
    (tmp_path / "a.csv").write_text(content)
    options = {"method": "iP-TD(max_iter=1)", "domain": "categorical", "worker": "who", "task": ""}
    result = run(server, content, options)["result"]
    assert any("stopped at its limit of 1 rounds" in note for note in result["notes"])
    assert result["facts"][:2] == ["100 answers", "5 workers"]
    call("discover", "a.csv", *write_words(options), "-o", "own", folder=tmp_path)
    for name in ("truth.csv", "workers.csv"):
        assert ask(server, f"files/{name}").body == (tmp_path / "own" / name).read_bytes()
    assert b"<html" in ask(server, "report").body
    assert json.loads(ask(server, "files/summary.json").body)["files"]


def test_a_saved_result_without_a_report_gets_one(server: Server, tmp_path: Path) -> None:
    allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]).save(tmp_path / "out")
    server.session.show(tmp_path / "out")
    assert server.session.describe()["result"]["page"]
    assert ask(server, "report").body.startswith(b"<!doctype html>")
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_the_program_ends_when_it_is_told_to_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "answers.csv").write_bytes(ROWS)
    (tmp_path / "temporary").mkdir()
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"import allalike.serve.session as session; session._DISCOVER = {ENDLESS!r};"
        "from allalike.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "serve", "answers.csv", "--no-browser"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = program.stdout.readline().split()[-1]
            assert address.startswith("http://127.0.0.1:")
            (folder,) = (tmp_path / "temporary").iterdir()
            assert folder.stat().st_mode & 0o777 == 0o700
            program.send_signal(how)
            assert program.wait(30) == 0
        finally:
            program.kill()
    assert not list((tmp_path / "temporary").iterdir())
    assert (tmp_path / "answers.csv").read_bytes() == ROWS
