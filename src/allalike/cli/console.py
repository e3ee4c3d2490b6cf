"""What a person at a terminal sees: lines, small tables, notes, and a bar while a run goes on."""

from __future__ import annotations

import json
import sys
import threading
import unicodedata
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from allalike.errors import ConvergenceWarning, DataWarning
from allalike.system.progress import watching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["bar_after_a_second", "can_report", "echo", "notes_for_warnings", "rows", "visible"]

_SECONDS_WITHOUT_BAR = 1.0
_STAGES = {
    "reading": "reading answers",
    "preparing": "comparing answers",
    "round": "weighing workers",
    "deciding": "deciding tasks",
    "saving": "writing the result",
}


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


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with whatever a terminal would obey made `visible`; a line break in an id must be so already."""
    click.echo("\n".join(map(visible, text.split("\n"))), err=err)


class Bar:
    """The stage of a run on standard error, shown once it has taken a second."""

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0
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
        if self._stop.wait(_SECONDS_WITHOUT_BAR):
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[count]}"))
        with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as progress:
            shown = progress.add_task("", count="", total=None)
            while not self._stop.wait(0.1):
                limit = "at most " if self.stage == "round" else ""
                count = f"{self.done:,} of {limit}{self.total:,}" if self.total else ""
                progress.update(
                    shown,
                    description=visible(_STAGES.get(self.stage, self.stage)),
                    completed=self.done,
                    total=self.total or None,
                    count=count,
                )


@contextmanager
def bar_after_a_second(*, quiet: bool) -> Iterator[None]:
    """Show a bar on a terminal while this takes longer than a second."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    bar = Bar()
    bar.start()
    try:
        with watching(bar):
            yield
    finally:
        bar.stop()


@contextmanager
def notes_for_warnings(*, quiet: bool, force: bool = False) -> Iterator[None]:
    """Print a method's warnings as notes, and stop at answers that are hardly what was meant, unless forced to go on.

    What is to be said of the answers themselves is in the summary.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore" if force else "error", DataWarning)
        yield
    if not quiet:
        for warning in caught:
            echo(f"Note: {visible(warning.message)}", err=True)


def can_report(*, quiet: bool) -> bool:
    """Tell whether a report can be written; if not, print how to get what is missing."""
    from allalike.errors import UnsupportedError
    from allalike.report.drawing import check_packages

    try:
        check_packages()
    except UnsupportedError as error:
        if not quiet:
            echo(f"Note: there is no report.html. {error} (--no-report says that you want none.)", err=True)
        return False
    return True


def rows(table: Iterable[Sequence[Any]], *, indent: str = "  ") -> str:
    """Set a table in columns: words to the left, numbers to the right.

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
        texts = [f"{cell:.{digits}f}" if isinstance(cell, float) else visible(cell) for cell in cells]
        width = max(map(len, texts))
        columns.append([text.rjust(width) if numbers else text.ljust(width) for text in texts])
    return "\n".join(indent + "  ".join(line).rstrip() for line in zip(*columns, strict=True))
