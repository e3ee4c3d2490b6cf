"""Session of the served page: uploaded files, a run of the program on them, and its result.

All temporary data are in one folder that only the user can open. Uploads and results are removed when another file is
uploaded, and the folder when the program ends. Names of uploads are displayed but never used as paths.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path, PurePath
from threading import RLock, Thread
from typing import IO, TYPE_CHECKING, Any

import msgspec

from allalike.errors import AllalikeError, InputError, OptionError
from allalike.result.commands import complete_words
from allalike.result.messages import list_facts
from allalike.result.saved import SUMMARY, check_complete, check_own_file, read_summary
from allalike.result.saving import REPORT, list_saved
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedIOBase

    Stream = IO[bytes] | BufferedIOBase

_OUTPUT, _GOLD = "allalike-out", "_gold"  # names that no upload can have
_DISCOVER = "from allalike.cli import main; main()"
_WITH_PARENT = (  # ends the process when its parent closes its standard input, also if the parent crashes
    "import os, sys, threading;threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start();"
)
_FIELDS = ("domain", "method", "worker", "task", "label")  # options of `allalike discover` that the page sets
_CHUNK, _MAX_NAME, _MAX_NOTES = 1 << 16, 60, 50
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)([.]|$)", re.IGNORECASE)  # reserved by Windows


class RefusalError(Exception):
    """Refused request, with its HTTP status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def write_words(options: Any) -> list[str]:
    """Return the options of the page as command-line arguments.

    >>> write_words({"domain": "real", "worker": ""})
    ['--domain=real']
    >>> write_words({"gold": "/etc/passwd"})
    Traceback (most recent call last):
    allalike.errors.OptionError: This page sets domain, method, worker, task, label. Run 'allalike discover' for others.
    """
    known = isinstance(options, dict) and set(options) <= set(_FIELDS)
    if not known or not all(isinstance(value, str) for value in options.values()):
        raise OptionError(f"This page sets {', '.join(_FIELDS)}. Run 'allalike discover' for others.")
    if "*" in options.get("label", ""):
        raise OptionError("This page reads one label column. Run 'allalike discover' for several.")
    return [f"--{name}={value}" for name, value in options.items() if value]


def choose_name(name: str, taken: Sequence[str]) -> str:
    """Return an unused file name for an upload, with letters, digits, dots, underscores and hyphens.

    >>> [choose_name(name, ["b.csv"]) for name in ("../my answers.csv.gz", "x/nul", "b.CSV", "..")]
    ['my_answers.csv.gz', 'file-nul', '2-b.CSV', 'file-']
    """
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", _last_part(name))[-_MAX_NAME:].lstrip("._-")
    plain = plain if plain and not _RESERVED.match(plain) else f"file-{plain}"
    number, chosen = 2, plain
    while chosen.lower() in map(str.lower, taken):
        chosen, number = f"{number}-{plain}", number + 1
    return chosen


def _last_part(name: str) -> str:
    return PurePath(name.replace("\\", "/")).name


class Job:
    """Run of the program: its progress, notes and final output."""

    def __init__(self, words: Sequence[str], folder: Path, work: Path) -> None:
        self.progress: dict[str, Any] = {"stage": "starting", "done": 0, "total": 0}
        self.notes: list[str] = []
        self.output = b""
        environment = {**os.environ, "ALLALIKE_PROGRESS": "json", **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))}
        pipe, command = subprocess.PIPE, [sys.executable, "-P", "-c", _WITH_PARENT + _DISCOVER, *words]
        self.process = subprocess.Popen(  # nosec B603 # this Python, no shell
            command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._reader = Thread(target=self._read_progress, daemon=True)
        self._reader.start()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        with self.process:  # closes the pipes
            assert self.process.stdout is not None
            self.output = self.process.stdout.read()
            self._reader.join()
            return self.process.wait()

    def _read_progress(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.decode(errors="replace").strip()
            with suppress(ValueError):
                self.progress = json.loads(text)["progress"]
                continue
            if text and len(self.notes) < _MAX_NOTES:
                self.notes.append(text)

    def read_error(self) -> dict[str, Any]:
        """Return the error that the program printed as JSON, or its last line if it was killed."""
        try:
            error: dict[str, Any] = json.loads(self.output)
        except ValueError:
            last = self.notes[-1:] or ["The process was killed, perhaps because memory ran out."]
            return {"message": last[0], "lines": [], "suggestions": []}
        return {**error, "suggestions": [each for each in error["suggestions"] if not each["files"]]}


class Session:
    """Uploads, the current run and its result; thread-safe.

    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = Session(Path(folder), limit=100)
    ...     session.upload("answers", "../my answers.csv", io.BytesIO(b"a,b"), 3)
    ...     session.describe()["files"], [path.name for path in Path(folder).rglob("*.csv")]
    ([{'name': 'my answers.csv', 'size': 3}], ['my_answers.csv'])
    """

    def __init__(self, folder: Path, *, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._lock = RLock()
        self._job: Job | None = None
        self._uploading = False
        self._version = 0
        self._reset()

    def _reset(self) -> None:
        self._uploads: dict[Path, str] = {}  # with their original names
        self._gold: dict[Path, str] = {}
        self._words: list[str] = []
        self._error: dict[str, Any] | None = None
        self._result: dict[str, Any] | None = None
        self._shown_folder = ""
        self.saved: dict[str, Path] = {}  # the files of the result
        self._version += 1

    def describe(self) -> dict[str, Any]:
        """Return the state that the page shows."""
        with self._lock:
            return {
                "version": self._version,
                "files": [{"name": name, "size": path.stat().st_size} for path, name in self._uploads.items()],
                "gold": "".join(self._gold.values()),
                "folder": self._shown_folder,
                "progress": self._job and self._job.progress,
                "error": self._error,
                "result": self._result and {**self._result, "page": REPORT in self.saved},
            }

    def show(self, folder: Path) -> None:
        """Show a saved result, and write its report if there is none."""
        from allalike.update import load

        check_complete(folder)
        check_own_file(folder / SUMMARY)
        if not (folder / SUMMARY).is_file():
            raise InputError(f"There is no {SUMMARY} in {folder}. Name a folder with a result, or a file of answers.")
        with self._lock:
            self._list_result(folder, [])
            self._shown_folder = folder.resolve().name
        if REPORT not in self.saved:
            with suppress(AllalikeError):
                self.saved[REPORT] = load(folder).report(self._make("work") / REPORT)

    def _list_result(self, folder: Path, notes: Sequence[str]) -> None:
        """List the files of a result, without links that lead out of the folder."""
        root, listed = folder.resolve(), sorted(list_saved(folder), key=lambda name: not name.startswith("truth."))
        own = {name: folder / name for name in listed if (folder / name).resolve().is_relative_to(root)}
        self.saved, facts = {name: path for name, path in own.items() if path.is_file()}, []
        with suppress(OSError, ValueError, TypeError, InputError, msgspec.ValidationError):
            facts = list_facts(Summary.from_dict(read_summary(folder)))
        shown = [{"name": name, "size": path.stat().st_size} for name, path in self.saved.items() if "/" not in name]
        self._result = {"files": [each for each in shown if each["name"] != REPORT], "facts": facts, "notes": notes}

    def take(self, path: Path) -> None:
        """Use a local file of answers without a copy."""
        if not path.is_file():
            raise InputError(f"There is no file {path}. Name a file of answers, or a folder with a result.")
        with self._lock:
            self._uploads = {path.absolute(): path.name}

    def upload(self, role: str, name: str, stream: Stream, size: int, *, more: bool = False) -> None:
        """Store an uploaded file of gold labels or answers; ``more`` keeps the answers uploaded before."""
        with self._lock:
            self._check_idle()
            alone = role == "answers" and not more
            kept = [] if alone else [*self._uploads, *self._gold]
            if sum(path.stat().st_size for path in kept) + size > self.limit:
                message = f"The files exceed {self.limit / 1e6:,.0f} MB in total. Increase the limit with --max-size."
                raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
            self._uploading = True
            if alone:
                self.clear()
            for path in self._gold if role == "gold" else ():
                path.unlink(missing_ok=True)
            chosen = choose_name(name, [_OUTPUT, *(path.name for path in self._uploads)])
            path = self._make("files") / (chosen if role == "answers" else _GOLD + PurePath(chosen).suffix)
        try:
            _write(path, stream, size)
            with self._lock:
                if role == "answers":
                    self._uploads[path] = _last_part(name)
                else:
                    self._gold = {path: _last_part(name)}
                self._error, self._version = None, self._version + 1
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            self._uploading = False

    def _check_idle(self) -> None:
        if self._uploading or self._job is not None:
            raise RefusalError(HTTPStatus.CONFLICT, "A run is in progress. Wait for its end, or cancel it.")

    def run(self, options: Any, suggestion: Any = None) -> None:
        """Run `allalike discover` with these options, or with the suggestion at this index in the last error."""
        with self._lock:
            self._check_idle()
            if not self._uploads:
                raise InputError("There are no answers. Drop or choose a file.")
            if suggestion is None:
                words = write_words(options)
            else:
                suggested = self._error["suggestions"] if self._error else []
                if not isinstance(suggestion, int) or not 0 <= suggestion < len(suggested):
                    raise OptionError("This suggestion is no longer available. Run again.")
                words = complete_words(self._words, suggested[suggestion]["options"])
            self._words, self._error, self._result, self._version = words, None, None, self._version + 1
            self._remove(f"files/{_OUTPUT}")
            folder, gold = self._make("files"), [each for path in self._gold for each in ("--gold", path.name)]
            names = [path.name if path.parent == folder else str(path) for path in self._uploads]
            self._job = Job(["discover", *names, *gold, *words, "-o", _OUTPUT, "--json"], folder, self._make("work"))
            Thread(target=self._finish, args=(self._job,), daemon=True).start()

    def _finish(self, job: Job) -> None:
        """Wait for a job and store its outcome unless it was cancelled."""
        code = job.wait()
        with self._lock:
            if self._job is not job:
                return
            self._job, self._version = None, self._version + 1
            if code == 0:
                self._list_result(self.folder / "files" / _OUTPUT, job.notes)
            else:
                self._error = job.read_error()

    def cancel(self) -> None:
        """End the current run, and remove its files."""
        with self._lock:
            job, self._job = self._job, None
            if job is not None:
                self._version += 1
                job.process.kill()
                job.process.wait()
            for name in ("work", f"files/{_OUTPUT}"):
                self._remove(name)

    def clear(self) -> None:
        """Remove all uploads and results."""
        with self._lock:
            self.cancel()
            self._reset()
            self._remove("files")

    def _make(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _remove(self, name: str) -> None:
        """Remove a folder, with retries because child processes of a killed process may still write into it."""
        for _ in range(20):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if not (self.folder / name).exists():
                return
            time.sleep(0.05)


def _write(path: Path, stream: Stream, size: int) -> None:
    """Write ``size`` bytes of a stream; raise an error if there are fewer."""
    with path.open("wb") as file:
        while size and (part := stream.read(min(size, _CHUNK))):
            file.write(part)
            size -= len(part)
    if size:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "The upload is incomplete. Try again.")
