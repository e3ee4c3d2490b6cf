"""Standard input: answers or gold that come through a pipe, named by a minus."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allalike._core.system.claims import work_folder
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["spool_input"]

_NAME = "-"
_BLANK = b"\xef\xbb\xbf \t\r\n"


class _Spooled(type(Path())):  # type: ignore[misc]
    """A file that holds what came through a pipe, and is called so in messages."""

    def __str__(self) -> str:
        return "standard input"

    def __fspath__(self) -> str:
        return str(super().__str__())


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
    path = _spool(click.get_current_context().with_resource(work_folder()))
    if options.get("gold") == _NAME:
        options["gold"] = path
    return tuple(path if name == _NAME else name for name in files)


def _spool(folder: Path) -> Path:
    """Write all that comes into a file, whose ending says what it looks like."""
    raw = folder / "input"
    with raw.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    with raw.open("rb") as file:
        start = file.read(1 << 16).lstrip(_BLANK)
    ending = ".json" if start.startswith((b"[", b"{")) else ".csv"
    named = raw.with_suffix(ending)
    raw.rename(named)
    spooled: Path = _Spooled(os.fspath(named))
    return spooled
