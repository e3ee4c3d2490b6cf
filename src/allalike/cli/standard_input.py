"""Standard input: answers or gold that come through a pipe, named by a minus."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from allalike._core.system.files import work_folder
from allalike.errors import OptionError
from allalike.readers.formats.spooled import spool

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["spool_input"]

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
