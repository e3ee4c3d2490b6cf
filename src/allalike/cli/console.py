"""What a person at a terminal sees: lines, small tables, notes, and a bar while a run goes on."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
import threading
import time
import unicodedata
import warnings
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from allalike._core.system.addresses import hide_in_word
from allalike._core.system.files import work_folder
from allalike._core.system.progress import STAGES, progress_callback
from allalike._credentials import HIDDEN, find_secrets, hide_secrets
from allalike.errors import (
    AliasWarning,
    ConvergenceWarning,
    DataNote,
    DataWarning,
    OptionError,
    OutputError,
    ReportWarning,
)
from allalike.readers.formats.places import spool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, MutableMapping, Sequence

WIDTH = 80
_MAX_ID = 24  # characters of an id that stands in a column; longer ones have a line of their own
_GLUE = "\0"  # a space that is not to be broken at; no visible text has it
_FLAG = re.compile(r"\(--.*?\)")
_SECONDS_WITHOUT_BAR, _SECONDS_WITHOUT_LINE = 1.0, 30.0
_LONG_SECONDS = 90.0  # after which a run says what would be faster
_typed: dict[str, str] = {}  # words of the command with secrets, and without them
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format, half characters, line breaks


def visible(text: object) -> str:
    r"""Write as an escape what a terminal would obey, or not show: control and format characters, and line breaks.

    The escapes are those of JSON, so that JSON stays what it is.

    >>> visible("ada\x1b[2J"), visible("ann\u202ebob\n")
    ('ada\\u001b[2J', 'ann\\u202ebob\\n')
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(json.dumps(c)[1:-1] if unicodedata.category(c) in _UNSEEN_CATEGORIES else c for c in shown)


class UnheardError(OutputError):
    """Standard output that cannot be written, as on a full device."""


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with whatever a terminal would obey made `visible`; a line break in an id must be so already."""
    _print("\n".join(map(visible, text.split("\n"))), err=err)


def hide_typed(words: Sequence[str]) -> None:
    """Print no secret of an address in these words of the command: on standard error not even a part of one."""
    values = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word in words]
    _typed.clear()
    _typed.update({value: hidden for value in values if (hidden := hide_in_word(value)) != value})


def _hide(text: str, *, err: bool = True) -> str:
    for word, hidden in _typed.items():
        for spelling in (word, visible(word), str(Path(word))):
            text = text.replace(spelling, hidden)
    if not err:  # what goes to standard output is data, which stays as it is
        return text
    for secret in sorted((each for word in _typed for each in find_secrets(word)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_secrets(text)


def _print(text: str, *, err: bool = False, color: bool | None = None) -> None:
    text = _hide(text, err=err)
    try:
        click.echo(text, err=err, color=color)
    except OSError as error:
        if error.errno == errno.EPIPE and not err:  # whoever read has seen enough; click knows
            raise
        _replace("stderr" if err else "stdout")  # what is left to print would fail again at the end
        if not err:
            raise UnheardError(f"Standard output cannot be written: {error.strerror or error}.") from error


def ask(question: str) -> bool:
    """Ask whoever sits at a terminal, on standard error; what is no yes is a no."""
    echo(f"{question} [y/N]", err=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def replace_closed_streams() -> None:
    """Put nothing in the place of standard streams that are closed, so that no file gets their numbers."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            _replace(name)


def _replace(name: str) -> None:
    setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def keep_whole(name: object) -> str:
    r"""Write a name so that it is `visible`, and never broken by `fold`.

    >>> keep_whole("ada b")
    'ada\x00b'
    """
    return visible(name).replace(" ", _GLUE)


def fold(text: str, indent: str = "") -> list[str]:
    """Break a text into lines of at most 80 characters, at spaces only, and not inside names that are `keep_whole`.

    >>> [len(line) for line in fold("x" * 78 + " and " + keep_whole("y " * 45))]
    [78, 3, 90]
    """
    lines = wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines]


def shorten(text: object, most: int) -> str:
    """Write a label so that it is `visible`, or its beginning, with dots that every terminal has.

    >>> shorten("a long story", 8), shorten("short", 8)
    ('a lon...', 'short')
    """
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def note(text: str) -> None:
    """Print a sentence on standard error; on a terminal in lines of 80 characters, with flags to be copied whole."""
    text = _hide(text)  # before an address is broken at a blank
    seen = fold(_FLAG.sub(lambda flag: keep_whole(flag[0]), text), "  ") if sys.stderr.isatty() else [text]
    echo("\n".join(seen), err=True)


class Line(NamedTuple):
    """A line of text, and what in it people should see first: flags at its end, or all of it.

    >>> Line("ada", flags="few answers").bold
    False
    """

    text: str
    flags: str = ""
    bold: bool = False


def show(lines: Iterable[Line]) -> None:
    """Print lines, made `visible`; on a terminal some are bold and flags are red, unless NO_COLOR is set."""
    coloured = _has_colours()
    said = [_paint(line) if coloured else visible(line.text + line.flags) for line in lines]
    _print("\n".join(said), color=coloured)


def _paint(line: Line) -> str:
    text, flags = visible(line.text), visible(line.flags)
    return (click.style(text, bold=True) if line.bold else text) + (click.style(flags, fg="red") if flags else "")


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Bar:
    """The stage of a run on standard error, shown once it has taken a second.

    ``faster`` is what to say of a run that takes minutes.
    """

    def __init__(self, faster: str = "") -> None:
        self.stage, self.done, self.total = "", 0, 0
        self._faster = faster
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note of where the run is."""
        self.stage, self.done, self.total = stage, done, total

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def stop(self) -> None:
        """Take the bar away."""
        self._stop.set()
        self._thread.join()

    def _show(self) -> None:
        begun = time.monotonic()
        if self._stop.wait(_SECONDS_WITHOUT_BAR):
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(20), TextColumn("{task.fields[count]}"))
        with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as progress:
            shown = progress.add_task("", count="", total=None)
            while not self._stop.wait(0.1):
                if hint := self._hint(time.monotonic() - begun):
                    progress.console.print(hint, markup=False, highlight=False)
                progress.update(
                    shown,
                    description=self._what,
                    completed=self.done,
                    total=self.total or None,
                    count=self._count,
                )

    @property
    def _what(self) -> str:
        return visible(STAGES.get(self.stage, self.stage))

    @property
    def _count(self) -> str:
        """What is done, of how much, as far as it is known."""
        limit = "at most " if self.stage == "round" else ""
        return f"{self.done:,} of {limit}{self.total:,}" if self.total else ""

    def _hint(self, seconds: float) -> str:
        """Say what would be faster, once, if the run has taken long."""
        if seconds < _LONG_SECONDS:
            return ""
        faster, self._faster = self._faster, ""
        return faster


class ProgressLines(Bar):
    """The stage of a run where no bar can be shown: a line every half a minute, lest it seem to hang."""

    def _show(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(_SECONDS_WITHOUT_LINE):
            seconds = time.monotonic() - begun
            if hint := self._hint(seconds):
                note(hint)
            if self.stage:
                count = self._count
                echo(f"Still {self._what}{count and f': {count}'} ({seconds:,.0f} s).", err=True)


class JsonLines(Bar):
    """The stage of a run as lines of JSON, for a program that runs this one (`ALLALIKE_PROGRESS=json`)."""

    def _show(self) -> None:
        printed = None
        while not self._stop.wait(0.1):
            if self.stage and printed != (now := (self.stage, self.done, self.total)):
                printed = now
                progress = {"stage": self._what, "count": self._count, "done": self.done, "total": self.total}
                echo(json.dumps({"progress": progress}), err=True)


@contextmanager
def bar_after_a_second(*, quiet: bool, faster: str = "") -> Iterator[None]:
    """Show a bar on a terminal while this takes longer than a second, and elsewhere a line now and then.

    ``faster`` is what to say of a run that takes minutes.
    """
    if quiet:
        yield
        return
    kind = JsonLines if os.environ.get("ALLALIKE_PROGRESS") == "json" else Bar if sys.stderr.isatty() else ProgressLines
    bar = kind(faster)
    bar.start()
    try:
        with progress_callback(bar):
            yield
    finally:
        bar.stop()


@contextmanager
def notes_for_warnings(*, quiet: bool, force: bool = False) -> Iterator[None]:
    """Print a method's warnings as notes, and stop at answers that are hardly what was meant, unless forced to go on.

    What is to be said of the answers and of names is in the summary.
    """
    with warnings.catch_warnings(record=True) as caught:
        for kind in (ConvergenceWarning, ReportWarning):
            warnings.simplefilter("always", kind)
        warnings.simplefilter("ignore" if force else "error", DataWarning)
        for said in (DataNote, AliasWarning):
            warnings.simplefilter("ignore", said)
        yield
    if not quiet:
        for warning in caught:
            echo(f"Note: {visible(warning.message)}", err=True)


def rows(table: Iterable[Sequence[Any]], *, indent: str = "  ") -> str:
    """Set a table in columns: words to the left, numbers to the right, and a dash where a number is not known.

    >>> print(rows([("worker", "fault"), ("ada", 0.25), ("bob", 0.5)]))
      worker  fault
      ada      0.25
      bob      0.50
    """
    listed = [list(row) for row in table]
    columns = []
    for cells in zip(*listed, strict=True):
        numbers = isinstance(cells[-1], int | float)
        digits = max((len(f"{cell:.4g}".partition(".")[2]) for cell in cells if isinstance(cell, float)), default=0)
        texts = [_number(cell, digits) if isinstance(cell, float) else visible(cell) for cell in cells]
        width = max(map(len, texts))
        columns.append([text.rjust(width) if numbers else text.ljust(width) for text in texts])
    return "\n".join(indent + "  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def tall_rows(table: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Set a table in columns, where a long id has a line of its own above the rest of its row; return lines by rows.

    >>> tall_rows([("ada", "yes"), ("a name that is much too long", "no")])
    [['  ada  yes'], ['  a name that is much too long', '       no']]
    """
    names = [visible(row[0]) for row in table]
    texts = rows([(name if len(name) <= _MAX_ID else "", *row[1:]) for name, row in zip(names, table, strict=True)])
    return [
        [*([f"  {name}"] if len(name) > _MAX_ID else []), text]
        for name, text in zip(names, texts.split("\n"), strict=True)
    ]


# Standard input: answers or gold that come through a pipe, named by a minus.


_NAME = "-"


def spool_input(files: tuple[str, ...], options: MutableMapping[str, Any]) -> tuple[Any, ...]:
    """Put standard input into a file, and that in the place of the minus among files, or for the gold.

    >>> spool_input(("a.csv",), {"gold": None})
    ('a.csv',)
    """
    named = [*files, options.get("gold")]
    if _NAME not in named:
        return files
    if named.count(_NAME) > 1:
        raise OptionError("Standard input (-) is named twice. It can be read once; give the other as a file.")
    if sys.stdin is None:
        raise OptionError("Standard input (-) is closed. Send answers: allalike discover - < answers.csv")
    if sys.stdin.isatty():
        raise OptionError(
            "Standard input (-) is a terminal, which has no answers. Send them: allalike discover - < answers.csv"
        )
    path = spool(sys.stdin.buffer, click.get_current_context().with_resource(work_folder()), "standard input")
    if options.get("gold") == _NAME:
        options["gold"] = path
    return tuple(path if name == _NAME else name for name in files)
