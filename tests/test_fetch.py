"""Fetching, against a real server on this machine that can also be slow, broken or wrong."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

import allalike.datasets
from allalike.datasets import SOURCES, File, Source
from allalike.datasets.fetching import fetch_source
from allalike.errors import DataError
from allalike.system.progress import watching

BIG = bytes(range(251)) * 4000  # a million bytes that look different in every chunk


@dataclass
class Mirror:
    """What the server has, how it behaves, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    length: bool = True
    cut_after: list[int] = field(default_factory=list)  # each of the next answers breaks after so many bytes
    pause: float = 0.0
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def wanted(self) -> list[str | None]:
        return [wanted for _, wanted in self.asked]


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    state = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            content = state.files.get(unquote(self.path))
            if content is None:
                self.send_error(404)
                return
            begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and state.ranges else 0
            if begin >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            if state.length:
                self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            cut = state.cut_after.pop(0) if state.cut_after else len(content)
            for place in range(begin, min(len(content), begin + cut), 50_000):
                self.wfile.write(content[place : min(place + 50_000, begin + cut)])
                time.sleep(state.pause)

        def log_message(self, _format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Take no offence when a client hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("ALLALIKE_MIRROR", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ALLALIKE_DATA", raising=False)
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def published(mirror: Mirror, **contents: bytes) -> Source:
    """Publish files, and return the source that the catalogue would describe."""
    files = [
        File(file=name, bytes=len(text), sha256=hashlib.sha256(text).hexdigest()) for name, text in contents.items()
    ]
    mirror.files |= {f"/ada/crowd/c0ffee/some data/{name}": text for name, text in contents.items()}
    facts = {"domain": "text", "citation": "nobody", "licence": "none", "repo": "ada/crowd", "commit": "c0ffee"}
    return Source(name="little", files=tuple(files), root="some data", **facts)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_arrives_as_it_is(mirror: Mirror, tmp_path: Path) -> None:
    source = published(mirror, answers=BIG, truth=b"task,label\n1,x\n")
    folder = fetch_source(source)
    assert folder == tmp_path / "cache" / "allalike" / "little"
    assert contents(folder) == {"answers": BIG, "truth": b"task,label\n1,x\n"}
    assert sorted(path for path, _ in mirror.asked) == [
        f"/ada/crowd/c0ffee/some%20data/{name}" for name in ("answers", "truth")
    ]


def test_what_is_here_and_right_is_not_fetched_again(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    fetch_source(source)
    fetch_source(source)
    assert len(mirror.asked) == 1


def test_a_file_that_was_changed_is_fetched_again(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG, truth=b"x")
    folder = fetch_source(source)
    (folder / "answers").write_bytes(BIG[::-1])
    fetch_source(source)
    assert contents(folder) == {"answers": BIG, "truth": b"x"}
    assert len(mirror.asked) == 3


@pytest.mark.parametrize("length", [True, False])
def test_a_connection_that_breaks_is_taken_up_where_it_broke(mirror: Mirror, length: bool) -> None:
    mirror.length = length
    mirror.cut_after = [300_000, 200_000]
    folder = fetch_source(published(mirror, answers=BIG))
    assert contents(folder) == {"answers": BIG}
    assert mirror.wanted == [None, "bytes=300000-", "bytes=500000-"]


def test_a_server_without_ranges_sends_all_again(mirror: Mirror) -> None:
    mirror.ranges = False
    mirror.cut_after = [300_000]
    folder = fetch_source(published(mirror, answers=BIG))
    assert contents(folder) == {"answers": BIG}
    assert mirror.wanted == [None, "bytes=300000-"]


def test_a_run_that_gets_no_further_stops_and_the_next_goes_on(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    mirror.cut_after = [300_000, 0]
    with pytest.raises(DataError, match=r"300,000 of 1,004,000 bytes are here; fetching again goes on from there"):
        fetch_source(source)
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little"
    assert contents(folder) == {"answers.part": BIG[:300_000]}
    fetch_source(source)
    assert contents(folder) == {"answers": BIG}
    assert mirror.wanted[-1] == "bytes=300000-"


def test_a_process_that_is_killed_leaves_no_half_file_and_the_next_goes_on(mirror: Mirror, data: Path) -> None:
    source = SOURCES["predict_mandal2020"]
    mirror.files = mirror_of(source, data)
    mirror.pause = 0.02
    code = "import allalike.datasets; allalike.datasets.fetch('predict_mandal2020')"
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / source.name
    part = folder / "answers-oct13.csv.part"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not part.exists() or part.stat().st_size < 500_000:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not (folder / "answers-oct13.csv").exists()
    mirror.asked.clear()
    mirror.pause = 0
    assert allalike.datasets.fetch(source.name) == folder
    right = {file.file: (data / source.name / file.file).read_bytes() for file in source.files}
    assert contents(folder) == right
    began = dict(mirror.asked)[f"/{source.repo}/{source.commit}/{source.root}/answers-oct13.csv"]
    assert began is not None
    assert int(began.removeprefix("bytes=").removesuffix("-")) >= 500_000


def test_another_file_of_the_same_size_is_refused_and_removed(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    mirror.files = dict.fromkeys(mirror.files, BIG[::-1])
    with pytest.raises(DataError, match="is not the file that the catalogue describes .* Nothing of it was kept"):
        fetch_source(source)
    assert contents(Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little") == {}


@pytest.mark.parametrize("size", [10, len(BIG) + 70_000])
@pytest.mark.parametrize("length", [True, False])
def test_a_file_of_another_size_is_refused(mirror: Mirror, size: int, length: bool) -> None:
    source = published(mirror, answers=BIG)
    mirror.length = length
    mirror.files = dict.fromkeys(mirror.files, (BIG * 2)[:size])
    with pytest.raises(DataError, match="answers"):
        fetch_source(source)
    assert "answers" not in contents(Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little")


def test_a_pointer_of_git_lfs_is_called_one(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1004000\n"
    mirror.files = dict.fromkeys(mirror.files, pointer)
    with pytest.raises(DataError, match=r"70 bytes instead of 1,004,000\. It is a pointer of Git LFS"):
        fetch_source(source)


def test_a_part_of_something_longer_is_thrown_away(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG, truth=b"abc")
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little"
    folder.mkdir(parents=True)
    (folder / "answers.part").write_bytes(BIG + b"more")
    (folder / "truth.part").write_bytes(b"abc")  # whole: only the last step was missing
    fetch_source(source)
    assert contents(folder) == {"answers": BIG, "truth": b"abc"}
    assert mirror.wanted == [None]


def test_a_server_that_has_no_more_than_the_part_has_another_file(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    mirror.files = dict.fromkeys(mirror.files, b"short")
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little"
    folder.mkdir(parents=True)
    (folder / "answers.part").write_bytes(BIG[:1000])
    with pytest.raises(DataError, match="at most 1,000 bytes instead of 1,004,000"):
        fetch_source(source)
    assert mirror.wanted == ["bytes=1000-"]
    assert contents(folder) == {}


def test_one_file_that_is_not_there_stops_the_others(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG, truth=b"abc")
    del mirror.files["/ada/crowd/c0ffee/some data/truth"]
    mirror.pause = 0.05
    with pytest.raises(DataError, match=r"truth cannot be fetched: HTTP Error 404"):
        fetch_source(source)
    assert "answers" not in contents(Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little")


@pytest.mark.parametrize("host", ["http://127.0.0.1:9", "nonsense", "http://no such host"])
def test_a_host_that_is_not_there_is_one_message(mirror: Mirror, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("ALLALIKE_MIRROR", host)
    with pytest.raises(DataError, match="cannot be fetched"):
        fetch_source(published(mirror, answers=BIG))


def test_a_cache_that_cannot_be_written_is_one_message(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    with pytest.raises(DataError, match="cannot be written"):
        fetch_source(published(mirror, answers=BIG))


def test_whoever_watches_sees_the_bytes_come(mirror: Mirror) -> None:
    seen: list[tuple[str, int, int]] = []
    mirror.pause = 0.02
    with watching(lambda *event: seen.append(event)):
        fetch_source(published(mirror, answers=BIG))
    assert {(stage, total) for stage, _, total in seen} == {("fetching little, bytes", len(BIG))}
    done = [done for _, done, _ in seen]
    assert done == sorted(done)
    assert done[-1] == len(BIG)
    assert len(set(done)) > 2


def test_two_runs_at_once_do_not_spoil_the_file(mirror: Mirror) -> None:
    source = published(mirror, answers=BIG)
    mirror.pause = 0.01
    runs = [threading.Thread(target=fetch_source, args=(source,)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert contents(Path(os.environ["XDG_CACHE_HOME"]) / "allalike" / "little") == {"answers": BIG}
    assert len(mirror.asked) == 1


def test_what_the_users_folder_has_is_checked_and_not_fetched(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = published(mirror, answers=BIG)
    monkeypatch.setenv("ALLALIKE_DATA", str(tmp_path / "mine"))
    (tmp_path / "mine" / "little").mkdir(parents=True)
    (tmp_path / "mine" / "little" / "answers").write_bytes(BIG)
    assert fetch_source(source) == tmp_path / "mine" / "little"
    (tmp_path / "mine" / "little" / "answers").write_bytes(BIG[::-1])
    with pytest.raises(DataError, match="ALLALIKE_DATA names the folder; remove the file, and it is fetched"):
        fetch_source(source)
    (tmp_path / "mine" / "little" / "answers").unlink()
    assert mirror.asked == []
    assert fetch_source(source) == tmp_path / "cache" / "allalike" / "little"
    assert contents(tmp_path / "mine") == {}


def mirror_of(source: Source, data: Path) -> dict[str, bytes]:
    """Return what the repository of a source has, as far as it is on this machine."""
    base = f"/{source.repo}/{source.commit}/"
    return {base + source.path(file): (data / source.name / file.file).read_bytes() for file in source.files}


@pytest.mark.parametrize("name", ["quiz_it", "dots_puzz_preflib", "crowdwsa2019", "llmbar_llm_judges"])
def test_real_sources_arrive_where_they_are_looked_for(mirror: Mirror, data: Path, name: str) -> None:
    source = SOURCES[name]
    mirror.files = mirror_of(source, data)
    folder = allalike.datasets.fetch(name)
    assert folder == allalike.datasets.path(name)
    here = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert here == {file.file for file in source.files}
    assert all((folder / file).read_bytes() == (data / name / file).read_bytes() for file in here)
