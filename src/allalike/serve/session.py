"""The session of a served page: uploaded files, a run of the program on them, and its result.

All temporary data lies in one folder that only the user can open. Uploads and results are removed when another file
comes, and the folder when the program ends. Names of uploads are shown, and never used as paths.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from pathlib import Path, PurePath
from threading import RLock, Thread
from typing import IO, TYPE_CHECKING, Any

import msgspec

from allalike.errors import AllalikeError, InputError, OptionError
from allalike.readers.column_names import COLUMN
from allalike.readers.formats.compression import ENDINGS as PACKINGS
from allalike.readers.formats.endings import ENDINGS
from allalike.readers.gold import is_written
from allalike.result.commands import complete_words
from allalike.result.messages import list_facts
from allalike.result.saved import SUMMARY, check_complete, check_own_file, read_summary
from allalike.result.summary import Summary
from allalike.result.targets import REPORT, list_saved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import BufferedIOBase

    Stream = IO[bytes] | BufferedIOBase

_OUTPUT, _GOLD = "allalike-out", "_gold"  # names beside uploads, which no upload has
_WITH_PARENT = (  # a process that ends when its parent closes its standard input, in whatever way the parent ends
    "import os, sys, threading;threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start();"
)
_DISCOVER = "from allalike.cli import main; main()"
_OPTIONS = (  # of `allalike discover` that take a value and open no file
    *("--domain", "--distance", "--rule", "--fields", "--worker", "--task", "--label", "--columns", "--worker-from"),
    *("--tool", "--question", "--table", "--wide", "--duplicates", "--include", "--exclude", "--missing"),
    *("--na-values", "--abstain-label", "--encoding", "--decimal", "--method", "--min-confidence", "--seed", "--ties"),
    *("--gold", "--gold-columns", "--gold-map"),
)
_SWITCHES = frozenset(("--per-task", "--force", "--no-use-gold", "--no-screening"))
_CHUNK, _MAX_STEM, _MAX_OPTIONS, _MAX_NOTES = 1 << 16, 60, 10_000, 50
_ENDINGS = frozenset((*ENDINGS, *PACKINGS, ".txt", ".text", ".dat", ".data"))
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # names that Windows keeps for itself


class RefusalError(Exception):
    """A request that is refused, with the status of HTTP."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def parse_options(text: Any) -> list[str]:
    """Return the options of `allalike discover` that a page asks for, as words; those that open files are refused.

    >>> parse_options("--domain real --exclude 'a b'")
    ['--domain', 'real', '--exclude', 'a b']
    >>> parse_options("--label-map /etc/passwd")
    Traceback (most recent call last):
    allalike.errors.OptionError: --label-map cannot be used on this page. Run 'allalike discover' instead.
    """
    if not isinstance(text, str) or len(text) > _MAX_OPTIONS:
        raise OptionError("The options must be a text, as on the command line.")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(f"The options cannot be read: {error}. Put texts with blanks in quotes.") from None
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if not flag.startswith("--"):
            raise OptionError(f"{word!r} is not an option. Write options as on the command line: --domain real")
        if flag in _SWITCHES:
            continue
        value = value if equals else next(rest, "")
        opens_gold = flag == "--gold" and not value.startswith((COLUMN, "export"))
        if flag not in _OPTIONS or opens_gold or (flag == "--gold-map" and not is_written(value)):
            raise OptionError(f"{flag} cannot be used on this page. Run 'allalike discover' instead.")
    if sum(word.partition("=")[0] == "--label" for word in words) > 1:
        raise OptionError("--label can name one column on this page. Run 'allalike discover' for several.")
    return words


class Job:
    """A run of the program: its progress, its notes, and what it printed at its end."""

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
        """Wait for the end; return the exit code."""
        with self.process:  # which closes its pipes
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
        """Return the error that the program printed as JSON; a process that was killed prints none."""
        try:
            error: dict[str, Any] = json.loads(self.output)
        except ValueError:
            last = self.notes[-1:] or ["The process was ended from outside, perhaps because memory ran out."]
            return {"message": last[0], "lines": [], "suggestions": []}
        return {**error, "suggestions": [each for each in error["suggestions"] if not each["files"]]}


@dataclass(frozen=True)
class ServedResult:
    """The files of a saved result, by name, and its report.

    >>> ServedResult().describe()
    {'files': [], 'page': False, 'facts': [], 'notes': []}
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    page: Path | None = None
    facts: Sequence[str] = ()
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, folder: Path, notes: Sequence[str] = (), *, page: Path | None = None) -> ServedResult:
        """List the files of a result; a link that leads out of the folder is none of them."""
        root, listed = folder.resolve(), {name: folder / name for name in list_saved(folder)}
        own = {name: path for name, path in listed.items() if path.is_file() and path.resolve().is_relative_to(root)}
        order = sorted(own, key=lambda name: (not name.startswith("truth."), not name.startswith("workers."), name))
        files, facts = {name: own[name] for name in order}, []
        with suppress(OSError, ValueError, TypeError, InputError, msgspec.ValidationError):
            facts = list_facts(Summary.from_dict(read_summary(folder)))
        return cls(files, files.get(REPORT, page), facts, notes)

    def describe(self) -> dict[str, Any]:
        """Return what a page shows of it; files in subfolders are in the archive only."""
        shown = [path for name, path in self.files.items() if "/" not in name and name != REPORT and path.is_file()]
        listed = [{"name": path.name, "size": path.stat().st_size} for path in shown]
        return {"files": listed, "page": self.page is not None, "facts": [*self.facts], "notes": [*self.notes]}

    def pack(self, folder: Path) -> IO[bytes]:
        """Return an archive of all files, which is removed when it is closed."""
        packed = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in {**self.files, **({REPORT: self.page} if self.page else {})}.items():
                archive.write(path, name)
        packed.seek(0)
        return packed


@dataclass(frozen=True)
class _Upload:
    path: Path
    name: str  # as the user calls it
    size: int


class Session:
    """Uploads, the run under way, and its result; several threads may use it.

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
        self._files: list[_Upload] = []
        self._gold: _Upload | None = None
        self._words: list[str] = []
        self._error: dict[str, Any] | None = None
        self._result: ServedResult | None = None
        self._shown_folder = ""
        self._version += 1

    @property
    def result(self) -> ServedResult:
        """The result, which may be empty."""
        with self._lock:
            return self._result or ServedResult()

    def describe(self) -> dict[str, Any]:
        """Return everything that the page shows."""
        with self._lock:
            return {
                "version": self._version,
                "files": [{"name": file.name, "size": file.size} for file in self._files],
                "gold": self._gold and self._gold.name,
                "folder": self._shown_folder,
                "options": shlex.join(self._words),
                "progress": self._job and self._job.progress,
                "error": self._error,
                "result": self._result and self._result.describe(),
            }

    def show(self, folder: Path) -> None:
        """Show a saved result; if it has no report, write one."""
        from allalike.update import load

        check_complete(folder)
        check_own_file(folder / SUMMARY)
        if not (folder / SUMMARY).is_file():
            raise InputError(
                f"There is no {SUMMARY} in {folder}. Name a folder that 'allalike discover' wrote a result into, or"
                " a file of answers."
            )
        result = ServedResult.of(folder)
        if result.page is None:
            with suppress(AllalikeError):
                result = ServedResult.of(folder, page=load(folder).report(self._make("work") / REPORT))
        with self._lock:
            self._result, self._shown_folder = result, folder.resolve().name

    def take(self, path: Path) -> None:
        """Use a file of answers where it is."""
        if not path.is_file():
            raise InputError(f"There is no file {path}. Name a file of answers, or a folder with a result.")
        with self._lock:
            self._files = [_Upload(path.absolute(), path.name, path.stat().st_size)]

    def upload(self, role: str, name: str, stream: Stream, size: int, *, more: bool = False) -> None:
        """Store an uploaded file: gold labels, or answers, alone or beside those uploaded before."""
        with self._lock:
            self._check_idle()
            alone = role == "answers" and not more
            kept = [] if alone else [*self._files, *([self._gold] if self._gold else [])]
            if sum(file.size for file in kept) + size > self.limit:
                message = f"Files may have {self.limit / 1e6:,.0f} MB in all (--max-size)."
                raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
            self._uploading = True
            if alone:
                self.clear()
            elif role == "gold":
                self.remove_gold()
            taken = [_OUTPUT, *(file.path.name for file in self._files)]
            path = self._make("files") / choose_name(name, taken, "" if role == "answers" else _GOLD)
        try:
            _write(path, stream, size)
            stored = _Upload(path, PurePath(name.replace("\\", "/")).name or path.name, size)
            with self._lock:
                if role == "answers":
                    self._files.append(stored)
                else:
                    self._gold = stored
                self._error, self._version = None, self._version + 1
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            self._uploading = False

    def _check_idle(self) -> None:
        if self._uploading or self._job is not None:
            raise RefusalError(HTTPStatus.CONFLICT, "A run is under way. Wait for its end, or cancel it.")

    def remove_gold(self) -> None:
        """Remove the gold labels that were uploaded."""
        with self._lock:
            if self._gold is not None:
                self._gold.path.unlink(missing_ok=True)
                self._gold, self._version = None, self._version + 1

    def run(self, options: Any = "", suggestion: Any = None) -> None:
        """Run `allalike discover` with these options, or with a suggestion of the last error (its number)."""
        with self._lock:
            self._check_idle()
            if not self._files:
                raise InputError("There is no file yet. Drop one, or choose one.")
            if suggestion is None:
                words = parse_options(options)
            else:
                suggested = self._error["suggestions"] if self._error else []
                if not isinstance(suggestion, int) or not 0 <= suggestion < len(suggested):
                    raise OptionError("There is no such suggestion any more.")
                words = complete_words(self._words, suggested[suggestion]["options"])
            self._words, self._error, self._result, self._version = words, None, None, self._version + 1
            folder = self._make("files")
            self._remove(f"files/{_OUTPUT}")
            names = [path.name if path.parent == folder else str(path) for path in (each.path for each in self._files)]
            gold = ["--gold", self._gold.path.name] if self._gold else []
            self._job = Job(["discover", *names, *gold, *words, "-o", _OUTPUT, "--json"], folder, self._make("work"))
            Thread(target=self._finish, args=(self._job,), daemon=True).start()

    def _finish(self, job: Job) -> None:
        """Wait for a job, and take over its outcome unless it was cancelled."""
        code = job.wait()
        with self._lock:
            if self._job is not job:
                return
            self._job, self._version = None, self._version + 1
            if code == 0:
                self._result = ServedResult.of(self.folder / "files" / _OUTPUT, job.notes)
            else:
                self._error = job.read_error()

    def cancel(self) -> None:
        """End the run under way, and remove what it left."""
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
        """Remove a folder; a killed process may have left others that write a moment longer."""
        for _ in range(20):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if not (self.folder / name).exists():
                return
            time.sleep(0.05)


def choose_name(name: str, taken: Sequence[str], stem: str = "") -> str:
    """Return the name of a file for an upload: letters, digits, - and _, and the endings that say how it is read.

    >>> [choose_name(name, ["b.csv"]) for name in ("../my answers.csv.gz", "x/nul", "b.CSV", "x.exe")]
    ['my_answers.csv.gz', 'answers', 'b-2.csv', 'x']
    """
    own, *endings = PurePath(name.replace("\\", "/").replace("\0", "")).name.split(".")
    kept = ""
    for ending in reversed(endings[-2:]):
        if f".{ending.lower()}" not in _ENDINGS:
            break
        kept = f".{ending.lower()}{kept}"
    own = re.sub(r"[^A-Za-z0-9-]+", "_", own)[:_MAX_STEM].strip("_-")
    stem = stem or ("answers" if not own or _RESERVED.fullmatch(own) else own)  # which may be the name of a worker
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{kept}" for number in count(1))
    return next(each for each in names if each not in taken)


def _write(path: Path, stream: Stream, size: int) -> None:
    """Write exactly this many bytes of a stream, or fail if there are fewer."""
    left = size
    with path.open("wb") as file:
        while left:
            part = stream.read(min(left, _CHUNK))
            if not part:
                raise RefusalError(HTTPStatus.BAD_REQUEST, "The file did not arrive whole. Try again.")
            file.write(part)
            left -= len(part)
