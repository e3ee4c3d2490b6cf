"""Terminal output: lines, tables, notes and progress."""

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
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

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
)
from allalike.readers.formats.remote_files import spool

WIDTH = 80
_GLUE = "\0"  # non-breaking space; not in visible text
_FLAG = re.compile(r"\(--.*?\)")
_NUMBER = re.compile(r"[-+<]?[\d,.]+(e[-+]?\d+)?( %)?|-?")
_SECONDS_WITHOUT_BAR, _SECONDS_WITHOUT_LINE = 1.0, 30.0
_typed: dict[str, str] = {}  # words of the command with secrets, and their redacted form
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format, half characters, line breaks


def visible(text: object) -> str:
    r"""Escape characters that a terminal interprets or hides: control and format characters, and line breaks.

    Escapes are JSON escapes, so that JSON remains valid.

    >>> visible("ada\x1b[2J"), visible("ann\u202ebob\n")
    ('ada\\u001b[2J', 'ann\\u202ebob\\n')
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(json.dumps(c)[1:-1] if unicodedata.category(c) in _UNSEEN_CATEGORIES else c for c in shown)


class BrokenOutputError(OutputError):
    """Standard output that cannot be written, as on a full device."""


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, made `visible`; line breaks in ids must be escaped before."""
    _print("\n".join(map(visible, text.split("\n"))), err=err)


def hide_typed(words: Sequence[str]) -> None:
    """Redact the secrets of addresses in these words of the command; on standard error also parts of them."""
    values = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word in words]
    _typed.clear()
    _typed.update({value: hidden for value in values if (hidden := hide_in_word(value)) != value})


def _hide(text: str, *, err: bool = True) -> str:
    for word, hidden in _typed.items():
        for spelling in (word, visible(word), str(Path(word))):
            text = text.replace(spelling, hidden)
    if not err:  # standard output is data and stays unchanged
        return text
    for secret in sorted((each for word in _typed for each in find_secrets(word)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_secrets(text)


def _print(text: str, *, err: bool = False, color: bool | None = None) -> None:
    text = _hide(text, err=err)
    try:
        click.echo(text, err=err, color=color)
    except OSError as error:
        if error.errno == errno.EPIPE and not err:  # the reader closed the pipe; click handles it
            raise
        _replace("stderr" if err else "stdout")  # further output would fail again at exit
        if not err:
            raise BrokenOutputError(f"Standard output cannot be written: {error.strerror or error}.") from error


def replace_closed_streams() -> None:
    """Replace closed standard streams, so that no file gets their descriptors."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            _replace(name)


def _replace(name: str) -> None:
    setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def keep_whole(name: object) -> str:
    r"""Make a name `visible`, and protect it from line breaks by `fold`.

    >>> keep_whole("ada b")
    'ada\x00b'
    """
    return visible(name).replace(" ", _GLUE)


def fold(text: str, indent: str = "") -> list[str]:
    """Wrap a text to lines of at most 80 characters, at spaces outside names that are `keep_whole`.

    >>> [len(line) for line in fold("x" * 78 + " and " + keep_whole("y " * 45))]
    [78, 3, 90]
    """
    lines = wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines]


def shorten(text: object, most: int) -> str:
    """Return a `visible` label, truncated to a maximum length.

    >>> shorten("a long story", 8), shorten("short", 8)
    ('a lon...', 'short')
    """
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def note(text: str) -> None:
    """Print a sentence on standard error; on a terminal, it is wrapped at 80 characters, but never inside flags."""
    text = _hide(text)  # before wrapping, which could split an address
    seen = fold(_FLAG.sub(lambda flag: keep_whole(flag[0]), text), "  ") if sys.stderr.isatty() else [text]
    echo("\n".join(seen), err=True)


class Line(NamedTuple):
    """A line of text, with flags at its end (red on a terminal) or bold.

    >>> Line("ada", flags="few answers").bold
    False
    """

    text: str
    flags: str = ""
    bold: bool = False


def show(lines: Iterable[Line]) -> None:
    """Print lines, made `visible`, with colours on a terminal unless NO_COLOR is set."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    texts = []
    for line in lines:
        text, flags = visible(line.text), visible(line.flags)
        text = click.style(text, bold=True) if coloured and line.bold else text
        texts.append(text + (click.style(flags, fg="red") if coloured and flags else flags))
    _print("\n".join(texts), color=coloured)


def rows(table: Iterable[Sequence[Any]], *, indent: str = "  ") -> str:
    """Format a table: first column and words left-aligned, numbers right-aligned with equal decimals.

    >>> print(rows([("worker", "error"), ("ada", 0.25), ("bob", 0.5)]))
      worker  error
      ada      0.25
      bob      0.50
    """
    columns = []
    for place, (head, *cells) in enumerate(zip(*table, strict=True)):
        digits = max((len(f"{cell:.4g}".partition(".")[2]) for cell in cells if isinstance(cell, float)), default=0)
        texts = [visible(head), *(_write_cell(cell, digits) for cell in cells)]
        width = max(map(len, texts))
        numeric = place and all(map(_NUMBER.fullmatch, texts[1:])) and any(texts[1:])
        columns.append([text.rjust(width) if numeric else text.ljust(width) for text in texts])
    return "\n".join(indent + "  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _write_cell(cell: Any, digits: int) -> str:
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:.{digits}f}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return "" if cell is None else visible(cell)


# Progress.


class Bar:
    """Progress of a run on standard error: one line that changes on a terminal, otherwise a line every 30 seconds.

    With `ALLALIKE_PROGRESS=json`, for programs that run this one, each step is a line of JSON.
    """

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Record the progress of the run."""
        self.stage, self.done, self.total = stage, done, total

    def _print(self) -> None:
        as_json, terminal = os.environ.get("ALLALIKE_PROGRESS") == "json", sys.stderr.isatty()
        interval = 0.1 if as_json or terminal else _SECONDS_WITHOUT_LINE
        begun, last = time.monotonic(), ""
        while not self._stop.wait(interval):
            limit, seconds = "at most " if self.stage == "round" else "", time.monotonic() - begun
            stage, done, total = visible(STAGES.get(self.stage, self.stage)), self.done, self.total
            count = f"{done:,} of {limit}{total:,}" if total else ""
            text = f"{stage}{count and f': {count}'} ({seconds:,.0f} s)"
            if as_json:
                text = json.dumps({"progress": {"stage": stage, "count": count, "done": done, "total": total}})
            if not stage or text == last or (terminal and not as_json and seconds < _SECONDS_WITHOUT_BAR):
                continue
            last = text
            if terminal and not as_json:
                click.echo(f"\r\x1b[K{text}", err=True, nl=False)
            else:
                echo(text if as_json else f"Still {text}.", err=True)
        if terminal and not as_json and last:
            click.echo("\r\x1b[K", err=True, nl=False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show progress while the context is active."""
        self._thread.start()
        try:
            with progress_callback(self):
                yield
        finally:
            self._stop.set()
            self._thread.join()


@contextmanager
def progress_and_notes(options: Mapping[str, Any], *, force: bool = False) -> Iterator[None]:
    """Show the progress of a run, and print its warnings as notes, unless the option quiet is set.

    Data warnings are errors, unless the option force is set. Notes on the data are in the summary.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore" if force or options.get("force") else "error", DataWarning)
        for listed in (DataNote, AliasWarning):
            warnings.simplefilter("ignore", listed)
        if options.get("quiet"):
            yield
            return
        with Bar().shown():
            yield
    for warning in caught:
        echo(f"Note: {visible(warning.message)}", err=True)


def spool_input(files: tuple[str, ...], options: MutableMapping[str, Any]) -> tuple[Any, ...]:
    """Save standard input to a file, which replaces ``-`` among the files or as the gold labels.

    >>> spool_input(("a.csv",), {"gold": None})
    ('a.csv',)
    """
    named = [*files, options.get("gold")]
    if "-" not in named:
        return files
    if named.count("-") > 1:
        raise OptionError(
            "Standard input (-) is named twice, but can be read only once. Pass a file instead of one of them."
        )
    if sys.stdin is None or sys.stdin.isatty():
        state = "closed" if sys.stdin is None else "a terminal"
        raise OptionError(f"Standard input (-) is {state}. Redirect a file: allalike discover - < answers.csv")
    path = spool(sys.stdin.buffer, click.get_current_context().with_resource(work_folder()), "standard input")
    if options.get("gold") == "-":
        options["gold"] = path
    return tuple(path if name == "-" else name for name in files)
