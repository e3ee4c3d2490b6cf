"""A server of data sets on this machine that can also be slow, broken or wrong, and what to publish there."""

import hashlib
import io
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from allalike.datasets import DataSource, File
from allalike.datasets.downloads import sha256_of_tree

BIG = bytes(range(251)) * 4000  # a million bytes that look different in every chunk
ARCHIVE = "/ada/crowd/archive/c0ffee.tar.gz"


@dataclass
class Mirror:
    """What the server has, how it behaves, what it was asked for, and how long fetching waited between tries."""

    files: dict[str, bytes] = field(default_factory=dict)
    length: bool = True
    cut_after: list[int] = field(default_factory=list)  # each of the next answers breaks after so many bytes
    pause: float = 0.0
    stop_after: int = 0  # bytes of an answer, if any, after which the server waits until it may go on
    go_on: threading.Event = field(default_factory=threading.Event)
    leads_to: str = ""  # where all that is asked for is said to be
    asked: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


@contextmanager
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    """Serve what a mirror has, and let fetching look there and nowhere else."""
    state = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if state.leads_to:
                self.send_response(302)
                self.send_header("Location", state.leads_to)
                self.end_headers()
                return
            content = state.files.get(unquote(self.path))
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            if state.length:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            content = content[: state.cut_after.pop(0)] if state.cut_after else content
            for place in range(0, len(content), 50_000):
                if state.stop_after and place >= state.stop_after:
                    state.go_on.wait()
                self.wfile.write(content[place : place + 50_000])
                time.sleep(state.pause)

        def log_message(self, _format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Take no offence when a client hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=state.waits.append))
    monkeypatch.setenv("ALLALIKE_MIRROR", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ALLALIKE_DATA", raising=False)
    yield state
    state.go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


def described(files: dict[str, bytes]) -> DataSource:
    """Return the source that the catalogue would describe."""
    listed = [File(file=name, bytes=len(text), sha256=hashlib.sha256(text).hexdigest()) for name, text in files.items()]
    facts = {"domain": "text", "citation": "nobody", "licence": "none", "repo": "ada/crowd", "commit": "c0ffee"}
    return DataSource(name="little", files=tuple(listed), root="some data", **facts)  # type: ignore[arg-type]


def published(mirror: Mirror, **files: bytes) -> DataSource:
    """Publish files one by one."""
    mirror.files |= {f"/ada/crowd/c0ffee/some data/{name}": text for name, text in files.items()}
    return described(files)


def archived(mirror: Mirror, tmp_path: Path, **files: bytes) -> DataSource:
    """Publish files as an archive, among others."""
    for name, text in files.items():
        (tmp_path / name).write_bytes(text)
    sums = {"bytes": sum(map(len, files.values())), "sha256": sha256_of_tree(tmp_path, files)}
    names = tuple(File(file=name) for name in files)
    mirror.files[ARCHIVE] = packed({f"some data/{name}": text for name, text in files.items()} | {"LICENSE": b"MIT"})
    return replace(described(files), files=names, **sums)  # type: ignore[arg-type]


def packed(files: dict[str, bytes], *others: tarfile.TarInfo, level: int = 6) -> bytes:
    """Return an archive as a host of repositories makes it, and maybe with other members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=level) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"crowd-c0ffee/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        for member in others:
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    return out.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def mirror_of(source: DataSource, data: Path) -> dict[str, bytes]:
    """Return what the repository of a source has, as far as it is on this machine."""
    files = {source.path(file): (data / source.name / file.file).read_bytes() for file in source.files}
    if source.sha256:
        return {f"/{source.repo}/archive/{source.commit}.tar.gz": packed(files)}
    return {f"/{source.repo}/{source.commit}/{path}": content for path, content in files.items()}
