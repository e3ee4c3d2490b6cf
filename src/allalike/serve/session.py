"""The session of a served page: uploaded files, a run of the program on them, and its result.

All temporary data lies in one folder that only the user can open. Uploads and results are removed when another file
comes, and the folder when the program ends. File names are shown and never used as paths: only letters, digits and the
endings that say how a file is read are kept.
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
from itertools import count
from pathlib import Path, PurePath
from threading import RLock, Thread
from typing import IO, TYPE_CHECKING, Any

import msgspec

from allalike.errors import InputError, OptionError
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
_WRITE_REPORT = "import allalike; allalike.load(sys.argv[1]).report(sys.argv[2])"
_OPTIONS = frozenset(  # of `allalike discover` that take a value and open no file
    f"--{name}"
    for name in (
        *("domain", "distance", "rule", "fields", "worker", "task", "label", "columns", "tool", "question", "table"),
        *(
            "worker-from",
            "wide",
            "duplicates",
            "include",
            "exclude",
            "missing",
            "na-values",
            "abstain-label",
            "encoding",
        ),
        *("decimal", "method", "gold", "gold-columns", "gold-map", "seed", "ties", "min-confidence"),
    )
)
_SWITCHES = frozenset(("--per-task", "--force", "--no-use-gold", "--no-screening"))
_CHUNK, _MAX_STEM, _MAX_OPTIONS, _MAX_NOTES = 1 << 16, 60, 10_000, 50
_OTHER_ENDINGS = (".txt", ".text", ".dat", ".data")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # names that Windows keeps for itself


class BusyError(Exception):
    """A request that cannot be served while a run is under way."""


class TooMuchError(Exception):
    """A file larger than allowed."""


class CutOffError(Exception):
    """A file that did not arrive whole."""


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
        opens_file = (flag == "--gold" and not value.startswith((COLUMN, "export"))) or (
            flag == "--gold-map" and not is_written(value)
        )
        if flag not in _OPTIONS or opens_file:
            raise OptionError(f"{flag} cannot be used on this page. Run 'allalike discover' instead.")
    if sum(word.partition("=")[0] == "--label" for word in words) > 1:
        raise OptionError("--label can name one column on this page. Run 'allalike discover' for several.")
    return words


class Job:
    """A process under way: its progress, its notes, and what it printed at its end."""

    def __init__(self, code: str, words: Sequence[str], folder: Path, work: Path) -> None:
        self.progress: dict[str, Any] = {"stage": "starting", "done": 0, "total": 0}
        self.notes: list[str] = []
        self.output = b""
        environment = {**os.environ, "ALLALIKE_PROGRESS": "json", **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))}
        pipe, command = subprocess.PIPE, [sys.executable, "-P", "-c", _WITH_PARENT + code, *words]
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

    def cancel(self) -> None:
        """End the process, and wait until it has ended."""
        self.process.kill()
        self.process.wait()

    def _read_progress(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.decode(errors="replace").strip()
            with suppress(ValueError):
                self.progress = json.loads(text)["progress"]
                continue
            if text and len(self.notes) < _MAX_NOTES:
                self.notes.append(text)


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
    def of(cls, folder: Path, notes: Sequence[str] = ()) -> ServedResult:
        """List the files of a result; a link that leads out of the folder is none of them."""
        root, order = folder.resolve(), ["truth", "workers"]
        listed = {name: folder / name for name in list_saved(folder)}
        own = {name: path for name, path in listed.items() if path.is_file() and path.resolve().is_relative_to(root)}
        rank = {name: order.index(stem) if (stem := name.partition(".")[0]) in order else len(order) for name in own}
        files = {name: own[name] for name in sorted(own, key=lambda name: (rank[name], name))}
        return cls(files, files.get(REPORT), _list_facts(folder), notes)

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


def _list_facts(folder: Path) -> list[str]:
    """Return the counts of a saved result as short texts; none if its summary is not one of ours."""
    with suppress(OSError, ValueError, TypeError, InputError, msgspec.ValidationError):
        summary = read_summary(folder)
        return list_facts(Summary.from_dict(summary))
    return []


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
        check_complete(folder)
        check_own_file(folder / SUMMARY)
        if not (folder / SUMMARY).is_file():
            raise InputError(
                f"There is no {SUMMARY} in {folder}. Name a folder that 'allalike discover' wrote a result into, or"
                " a file of answers."
            )
        with self._lock:
            self._result, self._shown_folder = ServedResult.of(folder), folder.resolve().name
            if self._result.page is None:
                page = self._make("work") / REPORT
                self._start(_WRITE_REPORT, [str(folder.resolve()), str(page)], page=page)

    def take(self, path: Path) -> None:
        """Use a file of answers where it is."""
        if not path.is_file():
            raise InputError(f"There is no file {path}. Name a file of answers, or a folder with a result.")
        with self._lock:
            self._files = [_Upload(path.absolute(), path.name, path.stat().st_size)]

    def upload(self, role: str, name: str, stream: Stream, size: int, *, more: bool = False) -> None:
        """Store an uploaded file: gold labels, or answers, alone or beside those uploaded before."""
        with self._lock:
            if self._uploading or self._job is not None:
                raise BusyError("A run is under way. Wait for its end, or cancel it.")
            alone = role == "answers" and not more
            kept = [] if alone else [*self._files, *([self._gold] if self._gold else [])]
            if sum(file.size for file in kept) + size > self.limit:
                raise TooMuchError(f"Files may have {self.limit / 1e6:,.0f} MB in all (--max-size).")
            self._uploading = True
            if alone:
                self.clear()
            elif role == "gold":
                self.remove_gold()
            path = self._choose_path(role, name)
        try:
            _write(path, stream, size)
            stored = _Upload(path, PurePath(name.replace("\\", "/")).name or path.name, path.stat().st_size)
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

    def _choose_path(self, role: str, name: str) -> Path:
        """Return where an upload goes; its name may be that of its worker, so it is kept as far as possible."""
        folder, ending = self._make("files"), keep_ending(name)
        if role == "gold":
            return folder / f"{_GOLD}{ending}"
        stem, taken = keep_stem(name) or "answers", {_OUTPUT, *(file.path.name for file in self._files)}
        names = (f"{stem}{f'-{number}' if number > 1 else ''}{ending}" for number in count(1))
        return folder / next(each for each in names if each not in taken)

    def remove_gold(self) -> None:
        """Remove the gold labels that were uploaded."""
        with self._lock:
            if self._gold is not None:
                self._gold.path.unlink(missing_ok=True)
                self._gold, self._version = None, self._version + 1

    def run(self, options: Any = "", suggestion: Any = None) -> None:
        """Run `allalike discover` with these options, or with a suggestion of the last error (its number)."""
        with self._lock:
            if self._uploading or self._job is not None:
                raise BusyError("A run is under way. Wait for its end, or cancel it.")
            if not self._files:
                raise InputError("There is no file yet. Drop one, or choose one.")
            if suggestion is None:
                words = parse_options(options)
            else:
                suggested = self._error["suggestions"] if self._error else []
                if not isinstance(suggestion, int) or not 0 <= suggestion < len(suggested):
                    raise OptionError("There is no such suggestion any more.")
                words = complete_words(self._words, suggested[suggestion]["options"])
            self._words, self._error, self._result = words, None, None
            folder = self._make("files")
            self._remove(f"files/{_OUTPUT}")
            names = [path.name if path.parent == folder else str(path) for path in (each.path for each in self._files)]
            gold = ["--gold", self._gold.path.name] if self._gold else []
            self._start(_DISCOVER, ["discover", *names, *gold, *words, "-o", _OUTPUT, "--json"])

    def _start(self, code: str, words: list[str], *, page: Path | None = None) -> None:
        self._version += 1
        self._job = job = Job(code, words, self._make("files"), self._make("work"))
        Thread(target=self._finish, args=(job, page), daemon=True).start()

    def _finish(self, job: Job, page: Path | None) -> None:
        """Wait for a job, and take over its outcome unless it was cancelled."""
        code = job.wait()
        with self._lock:
            if self._job is not job:
                return
            self._job, self._version = None, self._version + 1
            if page is not None and self._result is not None:
                self._result = ServedResult(self._result.files, page if page.is_file() else None, self._result.facts)
            elif code == 0:
                self._result = ServedResult.of(self.folder / "files" / _OUTPUT, job.notes)
            else:
                self._error = _parse_error(job)

    def cancel(self) -> None:
        """End the run under way, and remove what it left."""
        with self._lock:
            job, self._job = self._job, None
            if job is not None:
                self._version += 1
                job.cancel()
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


def _parse_error(job: Job) -> dict[str, Any]:
    """Return the error that the program printed as JSON; a process that was killed prints none."""
    try:
        error: dict[str, Any] = json.loads(job.output)
    except ValueError:
        last = job.notes[-1:] or ["The process was ended from outside, perhaps because memory ran out."]
        return {"message": last[0], "lines": [], "suggestions": []}
    usable = [each for each in error["suggestions"] if not each["files"]]
    return {**error, "suggestions": usable}


def keep_ending(name: str) -> str:
    """Return the endings of a name that say how the file is to be read.

    >>> keep_ending("../../x.csv"), keep_ending("Answers.CSV.gz"), keep_ending("notes.exe"), keep_ending("x.gz/../y")
    ('.csv', '.csv.gz', '', '')
    """
    known, kept = (*ENDINGS, *PACKINGS, *_OTHER_ENDINGS), ""
    with suppress(ValueError):
        for ending in reversed(PurePath(name.replace("\\", "/")).suffixes[-2:]):
            if ending.lower() not in known:
                break
            kept = ending.lower() + kept
    return kept


def keep_stem(name: str) -> str:
    r"""Return the letters, digits, - and _ of a name, or nothing if Windows keeps the name for itself.

    >>> keep_stem("../../my answers.csv.gz"), keep_stem("ada.csv"), keep_stem("C:\\nul"), keep_stem("?.csv")
    ('my_answers', 'ada', '', '')
    """
    stem = PurePath(name.replace("\\", "/").replace("\0", "")).name.partition(".")[0]
    kept = re.sub(r"[^A-Za-z0-9-]+", "_", stem)[:_MAX_STEM].strip("_-")
    return "" if _RESERVED.fullmatch(kept) else kept


def _write(path: Path, stream: Stream, size: int) -> None:
    """Write exactly this many bytes of a stream, or fail if there are fewer."""
    left = size
    with path.open("wb") as file:
        while left:
            part = stream.read(min(left, _CHUNK))
            if not part:
                raise CutOffError("The file did not arrive whole. Try again.")
            file.write(part)
            left -= len(part)
