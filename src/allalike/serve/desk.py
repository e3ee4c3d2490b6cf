"""Desk: what lies before the person: her files, how they were read, the work under way, and what came of it.

All that is temporary is in one folder that nobody else may open. Uploads and results go when another file comes, and
the folder goes when the program ends. Names of files are shown, and never used as paths: only letters, digits and what
says how to read them are kept, for a file may be called like its worker.
"""

from __future__ import annotations

import json
import os
import re
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

from allalike.errors import InputError
from allalike.readers.formats.compression import ENDINGS as PACKINGS
from allalike.readers.formats.endings import ENDINGS
from allalike.result.inputs.saved_files import SUMMARY, check_complete, check_own_file, read_summary
from allalike.result.targets import REPORT, list_saved, result_names
from allalike.serve.work import Choices
from allalike.telling.schemas import describe_form, find_misfit
from allalike.telling.summary import Summary
from allalike.telling.truths import list_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from io import BufferedIOBase

    Stream = IO[bytes] | BufferedIOBase


# Jobs: work under way in another process, that can be watched and cancelled.


_WORK = "from allalike.serve.work import main; main()"
_ENDED = "The work was ended from outside, perhaps for want of memory. Nothing was written."
_FOLDER_VARIABLES = ("TMPDIR", "TEMP", "TMP")


class Job:
    """Work under way.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     job = Job({"do": "preview", "files": ["nowhere.csv"], "gold": None, "choices": {}}, Path(folder))
    ...     job.cancel()
    ...     job.progress["stage"]
    'starting'
    """

    def __init__(
        self, order: Mapping[str, Any], folder: Path, on_end: Callable[[Job, dict[str, Any]], None] | None = None
    ) -> None:
        self.order = order
        self.progress: dict[str, Any] = {"stage": "starting", "round": False, "done": 0, "total": 0}
        self._on_end, self._cancelled = on_end, False
        environment = {**os.environ, **dict.fromkeys(_FOLDER_VARIABLES, str(folder))}
        command = [sys.executable, "-P", "-c", _WORK]
        errors = None if os.environ.get("ALLALIKE_DEBUG") else subprocess.DEVNULL
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # nosec B603 # this Python, no shell
            command, env=environment, stdin=pipe, stdout=pipe, stderr=errors
        )
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the process, whatever it does, and wait until it has ended."""
        self._cancelled = True
        self._process.kill()
        self._process.wait()

    def _watch(self) -> None:
        outcome: dict[str, Any] = {"error": {"what": _ENDED, "lines": [], "proposals": []}}
        given, said = self._process.stdin, self._process.stdout
        assert given is not None
        assert said is not None
        with said, suppress(OSError), given:  # which cannot even be closed if it was cancelled at once
            given.write(json.dumps(self.order).encode() + b"\n")
            given.flush()
            for line in said:
                with suppress(ValueError):  # a line that was cut off
                    message = json.loads(line)
                    self.progress = message.get("progress", self.progress)
                    outcome = message.get("outcome", outcome)
                    if "outcome" in message:
                        break
        self._process.kill()
        self._process.wait()
        if not self._cancelled and self._on_end is not None:
            self._on_end(self, outcome)


# Results: the files of a folder that may be shown and saved, and nothing else that is on the disk.


@dataclass(frozen=True)
class Found:
    """A result: the files that its summary lists, by their names, and the page to look at.

    >>> Found().describe()
    {'files': [], 'page': False, 'facts': [], 'notes': []}
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    page: Path | None = None
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, *, notes: tuple[str, ...] = ()) -> Found:
        """Find the files of a result; a link that leads out of the folder is none of them."""
        root = folder.resolve()
        listed = {name: folder / name for name in list_saved(folder)}
        order = [name.partition(".")[0] for name in result_names("csv")]
        names = sorted(listed, key=lambda name: (_place(name, order), name))
        files = {name: listed[name] for name in names if _is_inside(listed[name], root)}
        return cls(files, files.get(REPORT), _list_facts(folder), notes)

    def describe(self) -> dict[str, Any]:
        """Return what a page shows of it; files in folders of their own are in the archive only."""
        shown = {name: path for name, path in self.files.items() if "/" not in name and name != REPORT}
        listed = [{"name": name, "size": path.stat().st_size} for name, path in shown.items() if path.is_file()]
        return {"files": listed, "page": self.page is not None, "facts": [*self.facts], "notes": [*self.notes]}

    def pack(self, folder: Path) -> IO[bytes]:
        """Put all files into an archive, which is a file in the folder that goes when it is closed."""
        packed = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in {**self.files, **({REPORT: self.page} if self.page else {})}.items():
                archive.write(path, name)
        packed.seek(0)
        return packed


def _place(name: str, order: list[str]) -> int:
    """Return where a file stands among those of a result.

    >>> _place("workers.parquet", ["truth", "workers"]), _place("coco/x.json", ["truth", "workers"])
    (1, 2)
    """
    stem = name.partition(".")[0]
    return order.index(stem) if stem in order else len(order)


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(root)


def _list_facts(folder: Path) -> tuple[str, ...]:
    """Say in a few words what the result is of."""
    try:
        summary = read_summary(folder)
    except (OSError, ValueError, TypeError, InputError):
        return ()
    if find_misfit(summary, describe_form(Summary)) is not None:
        return ()
    return tuple(list_facts(Summary.from_dict(summary)))


_CHUNK = 1 << 16
_OTHER_ENDINGS = (".txt", ".text", ".dat", ".data")
_ANSWERS, _GOLD = "answers", "gold"
_MAX_STEM = 60
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)
_BUSY = "A run is under way. Wait for its end, or cancel it."


class BusyError(Exception):
    """What cannot be done while something else is under way."""


class TooMuchError(Exception):
    """A file that is larger than what is allowed."""


class CutOffError(Exception):
    """A file that did not come whole."""


@dataclass(frozen=True)
class _File:
    """A file, how the person calls it, and how large it is."""

    path: Path
    name: str
    size: int


class Desk:
    """What lies before the person; several threads may ask for it.

    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     desk = Desk(Path(folder), limit=100)
    ...     desk.receive("answers", "../my answers.csv", io.BytesIO(b"a,b"), 3)
    ...     [file["name"] for file in desk.describe()["files"]], [path.name for path in Path(folder).rglob("*.csv")]
    (['my answers.csv'], ['my_answers.csv'])
    """

    def __init__(self, folder: Path, *, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._lock = RLock()
        self._job: Job | None = None
        self._receiving = False
        self._version = 0
        self._files: list[_File] = []
        self._gold: _File | None = None
        self._forget()

    def _forget(self) -> None:
        """Forget what was found."""
        self._reading: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._choices: Mapping[str, Any] = {}
        self._found: Found | None = None
        self._folder_shown = ""
        self._version += 1

    @property
    def found(self) -> Found:
        """What was found, which may be nothing yet."""
        with self._lock:
            return self._found or Found()

    def describe(self) -> dict[str, Any]:
        """Return all that a page shows."""
        with self._lock:
            return {
                "version": self._version,
                "files": [{"name": file.name, "size": file.size} for file in self._files],
                "folder": self._folder_shown,
                "gold": self._gold and self._gold.name,
                "doing": self._job and self._job.order["do"],
                "progress": self._job and self._job.progress,
                "reading": self._reading,
                "choices": self._choices,
                "error": self._error,
                "result": self._found and self._found.describe(),
            }

    def show(self, folder: Path) -> None:
        """Show a result that is there; write its page if it has none."""
        check_complete(folder)
        check_own_file(folder / SUMMARY)
        if not (folder / SUMMARY).is_file():
            raise InputError(
                f"There is no {SUMMARY} in {folder}. Name a folder that 'allalike discover' wrote a result into, or"
                " a file of answers."
            )
        with self._lock:
            self._found, self._folder_shown = Found.of(folder), folder.resolve().name
            if self._found.page is None:
                page = self._make("work") / "report.html"
                self._start({"do": "revisit", "folder": str(folder), "page": str(page)})

    def take(self, path: Path) -> None:
        """Look at a file where it is."""
        if not path.is_file():
            raise InputError(f"There is no file {path}. Name a file of answers, or a folder with a result.")
        with self._lock:
            self._files = [_File(path, path.name, path.stat().st_size)]
            self.preview({})

    def receive(self, role: str, name: str, stream: Stream, size: int, *, more: bool = False) -> None:
        """Take a file that is handed in: known truths, or answers, alone or with those that were handed in before."""
        with self._lock:
            if self._receiving or (self._job is not None and self._job.order["do"] == "run"):
                raise BusyError(_BUSY)
            alone = role == _ANSWERS and not more
            if (0 if alone else sum(file.size for file in self._all())) + size > self.limit:
                raise TooMuchError(f"Files may have {self.limit / 1e6:,.0f} MB in all (--max-size).")
            self._receiving = True
            self._stop()
            if alone:
                self.clear()
            elif role == _GOLD:
                self.drop_gold()
            path = self._find_place(role, name)
        try:
            _write(path, stream, size)
            with self._lock:
                known = PurePath(name.replace("\\", "/")).name or path.name
                taken = _File(path, known, path.stat().st_size)  # unless it was removed meanwhile
                if role == _ANSWERS:
                    self._files.append(taken)
                else:
                    self._gold = taken
                self._version += 1
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            self._receiving = False

    def _find_place(self, role: str, name: str) -> Path:
        """Return where a file goes whose name may be that of its worker."""
        folder, ending = self._make("files"), keep_ending(name)
        if role == _GOLD:
            return folder / f"_{role}{ending}"  # which no file of answers is called
        stem, taken = keep_stem(name) or role, {file.path for file in self._files}
        places = (folder / f"{stem}{f'-{number}' if number > 1 else ''}{ending}" for number in count(1))
        return next(place for place in places if place not in taken)

    def drop_gold(self) -> None:
        """Remove the known truths that were handed in."""
        with self._lock:
            if self._gold is not None:
                self._gold.path.unlink(missing_ok=True)
                self._gold = None
                self._version += 1

    def _all(self) -> list[_File]:
        return [*self._files, *([self._gold] if self._gold else [])]

    def preview(self, given: Any) -> None:
        """Show how the files are read with what is chosen, in place of a preview that is under way."""
        self._work("preview", given)

    def run(self, given: Any) -> None:
        """Find the truths in the files with what is chosen."""
        self._work("run", given)

    def _work(self, do: str, given: Any) -> None:
        Choices.of(given)
        with self._lock:
            if self._receiving or (self._job is not None and self._job.order["do"] != "preview"):
                raise BusyError(_BUSY)
            if not self._files:
                raise InputError("There is no file yet. Drop one, or choose one.")
            self._stop()
            self._remove("result")
            self._error, self._found, self._choices = None, None, given
            files = [str(file.path) for file in self._files]
            gold = str(self._gold.path) if self._gold else None
            folder = str(self._make("result") / "tables")  # beside which it is written before it is put in place
            self._start({"do": do, "files": files, "gold": gold, "choices": given, "folder": folder})

    def cancel(self) -> None:
        """End the work under way."""
        with self._lock:
            self._stop()
            self._remove("result")

    def clear(self) -> None:
        """Remove all files and all that was found in them."""
        with self._lock:
            self._stop()
            self._files, self._gold = [], None
            self._forget()
            for name in ("files", "result", "work"):
                self._remove(name)

    def _start(self, order: dict[str, Any]) -> None:
        self._version += 1
        self._job = Job(order, self._make("work"), self._end)

    def _stop(self) -> None:
        """Cancel the work under way, and remove what it left."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
            self._remove("work")
            self._version += 1

    def _end(self, job: Job, outcome: dict[str, Any]) -> None:
        """Take what came of a job, unless it is not waited for any more."""
        with self._lock:
            if self._job is not job:
                return
            self._job = None
            self._version += 1
            outcome = self._rename(outcome)
            self._error = outcome.get("error")
            if job.order["do"] == "preview":
                self._reading = None if self._error else outcome
            elif self._error is None and job.order["do"] == "run":
                self._found = Found.of(Path(job.order["folder"]), notes=tuple(outcome["notes"]))
            elif self._error is None and self._found is not None:
                self._found = Found(self._found.files, Path(job.order["page"]), self._found.facts)

    def _rename(self, said: Any) -> Any:
        """Call files as the person does, wherever they are named."""
        if isinstance(said, dict):
            return {self._rename(name): self._rename(value) for name, value in said.items()}
        if isinstance(said, list):
            return [self._rename(each) for each in said]
        if isinstance(said, str):
            for file in self._all():
                said = said.replace(str(file.path), file.name)
        return said

    def _make(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _remove(self, name: str) -> None:
        """Remove a folder; a process that was killed may have left others that write a moment longer."""
        for _ in range(20):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if not (self.folder / name).exists():
                return
            time.sleep(0.05)


def keep_ending(name: str) -> str:
    """Return of a name what says how the file is to be read, and nothing else.

    >>> keep_ending("../../x.csv"), keep_ending("Answers.CSV.gz"), keep_ending("notes.exe"), keep_ending("x.gz/../y")
    ('.csv', '.csv.gz', '', '')
    """
    known = (*ENDINGS, *PACKINGS, *_OTHER_ENDINGS)
    kept = ""
    with suppress(ValueError):
        for ending in reversed(PurePath(name.replace("\\", "/")).suffixes[-2:]):
            if ending.lower() not in known:
                break
            kept = ending.lower() + kept
    return kept


def keep_stem(name: str) -> str:
    r"""Return of a name what cannot be part of a path: letters, digits, - and _; nothing of names that Windows keeps.

    >>> keep_stem("../../my answers.csv.gz"), keep_stem("ada.csv"), keep_stem("C:\\nul"), keep_stem("?.csv")
    ('my_answers', 'ada', '', '')
    """
    stem = PurePath(name.replace("\\", "/").replace("\0", "")).name.partition(".")[0]
    kept = re.sub(r"[^A-Za-z0-9-]+", "_", stem)[:_MAX_STEM].strip("_-")
    return "" if _RESERVED.fullmatch(kept) else kept


def _write(path: Path, stream: Stream, size: int) -> None:
    """Write so many bytes of a stream, or fail if there are fewer."""
    left = size
    with path.open("wb") as file:
        while left:
            part = stream.read(min(left, _CHUNK))
            if not part:
                raise CutOffError("The file did not come whole. Try again.")
            file.write(part)
            left -= len(part)
