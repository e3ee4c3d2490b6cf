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
from threading import Event
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import allalike
from allalike.serve.desk import Desk, Job
from allalike.serve.server import Server
from allalike.serve.work import perform
from crowds import samples
from running.program import call

ROWS = b"worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\neve,2,x\n"
LIMIT = 10_000
ENDLESS = """
import json, sys, time
from pathlib import Path
order = json.loads(sys.stdin.readline())
if order["do"] == "run":
    Path(order["folder"]).with_name("half.written").touch()
print(json.dumps({"progress": {"stage": "weighing workers", "round": True, "done": 3, "total": 15}}), flush=True)
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
    with Server(Desk(tmp_path_factory.mktemp("desk"), limit=LIMIT)) as started:
        yield started


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.desk.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have another program do what is ordered."""
    return lambda code: monkeypatch.setattr("allalike.serve.desk._WORK", code)


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
    while not fits(state := server.desk.describe()):
        time.sleep(0.01)
    return state


def kept(server: Server) -> list[str]:
    return sorted(path.relative_to(server.desk.folder).as_posix() for path in server.desk.folder.rglob("*.*"))


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
    with Server(server.desk) as other:
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
    server.desk.show(tmp_path / "out")
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
    assert (reply.status, reply.data["error"]) == (413, "Files may have 0 MB in all (--max-size).")
    assert ask(server, "answers?name=a.csv", b"x" * (LIMIT - 1)).status == 200
    assert ask(server, "answers?name=b.csv&more=1", b"xx").status == 413
    assert ask(server, "gold?name=b.csv", b"xx").status == 413
    assert kept(server) == ["files/a.csv"]
    assert ask(server, "preview", b"[" * (1 << 20) + b" ").status == 413


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
    assert (server.desk.folder / "files" / "a.csv").read_bytes() == b"abc"


def test_choices_that_are_none_are_refused(server: Server) -> None:
    assert ask(server, "answers?name=a.csv", ROWS).status == 200
    fields = (b'"label_map": "x"', b'"columns": "x"', b'"columns": {"gold": "x"}', b'"wide": 3')
    for wrong in (b"", b"{", b"[]", *(b"{%b}" % each for each in fields)):
        assert ask(server, "run", wrong).status == 400
    assert server.desk.describe()["doing"] is None
    assert ask(server, "unknown", b"").status == 404


def test_names_of_files_are_shown_and_nothing_of_them_that_makes_a_path_is_used(server: Server) -> None:
    ask(server, "answers?name=..%2F..%2F%3Cb%3E.CSV", ROWS)
    ask(server, "answers?name=C%3A%5Cx%5Cmore.jsonl.gz&more=1", b"{}")
    reply = ask(server, "gold?name=gold.exe", b"task,label\n")
    assert [file["name"] for file in reply.data["files"]] == ["<b>.CSV", "more.jsonl.gz"]
    assert reply.data["gold"] == "gold.exe"
    ask(server, "answers?name=more.jsonl.gz&more=1", b"{}")
    assert kept(server) == ["files/b.csv", "files/more-2.jsonl.gz", "files/more.jsonl.gz"]
    assert (server.desk.folder / "files" / "_gold").exists()


def test_uploads_are_removed_when_another_comes_and_at_the_end(server: Server) -> None:
    ask(server, "answers?name=a.csv", ROWS)
    ask(server, "gold?name=g.csv", ROWS)
    assert ask(server, "no-gold", b"").data["gold"] is None
    assert kept(server) == ["files/a.csv"]
    ask(server, "answers?name=a.json", b"[]")
    assert kept(server) == ["files/a.json"]
    with Server(server.desk):
        pass
    assert not list(server.desk.folder.iterdir())


def test_a_second_run_is_refused_and_cancel_ends_the_first(server: Server, work: Callable[[str], None]) -> None:
    work(ENDLESS)
    assert ask(server, "run", b"{}").data["error"] == "There is no file yet. Drop one, or choose one."
    ask(server, "answers?name=a.csv", ROWS)
    assert ask(server, "run", b"{}").data["doing"] == "run"
    for place, body in (("run", b"{}"), ("preview", b"{}"), ("answers?name=b.csv", ROWS), ("gold?name=b.csv", ROWS)):
        assert ask(server, place, body).status == 409
    state = wait(server, lambda state: state["progress"]["total"])
    assert state["progress"] == {"stage": "weighing workers", "round": True, "done": 3, "total": 15}
    assert kept(server) == ["files/a.csv", "result/half.written"]
    job = server.desk._job
    assert job is not None
    assert ask(server, "cancel", b"").data["doing"] is None
    assert job._process.returncode == -signal.SIGKILL
    assert kept(server) == ["files/a.csv"]
    assert ask(server, "run", b"{}").data["doing"] == "run"


def test_work_is_cancelled_before_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = Event()
    slow = SimpleNamespace(dumps=lambda order: str(cancelled.wait()), loads=json.loads)
    monkeypatch.setattr("allalike.serve.desk.json", slow)
    job = Job({"do": "preview"}, tmp_path)
    job.cancel()
    cancelled.set()
    job._thread.join()  # an error in it would fail this test


def test_a_folder_shows_its_report_which_may_ask_for_nothing(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y"), ("bob", 2, "y")]).save(
        folder, report=True
    )
    server.desk.show(folder)
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


def test_work_ends_with_whoever_ordered_it() -> None:
    code = (
        "import time, allalike.serve.work as work; work._ORDERS['preview'] = lambda order: (work.report('reading'),"
        " time.sleep(600)); work.main()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write('{"do": "preview"}\n')
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["progress"]["stage"] == "reading answers"
            child.stdin.close()
            assert child.wait(30) == 0
        finally:
            child.kill()


def ordered(do: str, *files: Path, choices: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return perform({"do": do, "files": [str(file) for file in files], "gold": None, "choices": choices or {}, **more})


def test_a_look_shows_what_was_read_guessed_and_doubted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("annotator;item;vote\nada;1;x\nbob;1;x\neve;1;y\nada;2;y\nbob;2;y\n")
    found = ordered("preview", path)
    assert found["picked"] == {"worker": "annotator", "task": "item", "label": "vote"}
    assert found["facts"][:3] == ["5 answers", "3 workers", "2 tasks"]
    assert (found["columns"], found["rows"][2]) == (["annotator", "item", "vote"], ["eve", "1", "y"])
    assert (found["rules"], "GTM" in found["methods"]) == (["plurality"], False)
    other = ordered("preview", path, choices={"columns": {"worker": "item", "task": "annotator"}})
    assert other["facts"][1:3] == ["2 workers", "3 tasks"]


@pytest.mark.parametrize(
    ("content", "settles"),
    [
        ("", {}),
        ("a,1,[1]\nb,1,[2]\n", {"domain": "set"}),
        ("a,1,x\nb,1,\n", {}),
        ("a,1,x\nb,1,x\n" * 9 + "c,1,\n", {"missing": "drop"}),
    ],
)
def test_a_bad_file_gives_the_message_of_the_library(tmp_path: Path, content: str, settles: dict[str, Any]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"worker,task,label\n{content}" if content else "", encoding="utf-8")
    question = ordered("preview", path)["question"]
    with pytest.raises(allalike.AllalikeError) as caught:
        allalike.read(path)
    assert question["what"].split()[:4] == str(caught.value).split()[:4]
    assert [each["settles"] for each in question["proposals"]][:1] == ([settles] if settles else [])
    assert ordered("run", path, folder=str(tmp_path / "out"))["error"]["what"] == question["what"]
    assert not (tmp_path / "out").exists()


def test_doubts_stop_a_run_unless_the_person_knows(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("worker,task,label\nada,1,x\nada,2,y\nada,3,y\n")
    assert ordered("preview", path)["stops"][0].startswith("All 3 answers are by one worker")
    stopped = ordered("run", path, folder=str(out))["error"]
    assert [each["settles"] for each in stopped["proposals"]] == [{"force": True}]
    done = ordered("run", path, choices={"force": True, "method": "UA"}, folder=str(out))
    assert done["notes"][0].startswith("All 3 answers are by one worker"), "what was overridden stays visible"
    assert (out / "truth.csv").exists()


def test_a_run_is_that_of_the_program(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    rows = samples.crowd("categorical", seed=1, n=5, m=20)
    path.write_text("worker,task,label,known\n" + "".join(f"{w},{t},{label},{rows[0][2]}\n" for w, t, label in rows))
    choices = {"method": "iP-TD(max_iter=1)", "domain": "categorical", "gold": "known"}
    done = ordered("run", path, choices=choices, folder=str(out))
    assert "stopped at its limit of 1 rounds" in done["notes"][0]
    call("discover", "a.csv", "--method", "iP-TD(max_iter=1)", "--gold", "column:known", "-o", "own", folder=tmp_path)
    for name in ("truth.csv", "workers.csv"):
        assert (out / name).read_bytes() == (tmp_path / "own" / name).read_bytes()
    assert (out / "report.html").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_the_program_ends_when_it_is_told_to_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "answers.csv").write_bytes(ROWS)
    (tmp_path / "temporary").mkdir()
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"import allalike.serve.desk as jobs; jobs._WORK = {ENDLESS!r};"
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
