"""Messages of the library as the command line prints them, with flags in place of options of Python."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from allalike._core.words import write_options
from allalike.cli.console import keep_whole, visible
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.commands import write_flag
from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from allalike.telling.summary import Summary

__all__ = ["dress", "list_notes", "write_flags"]


def write_flags(message: str) -> str:
    """Name the options of a message of the library as flags.

    >>> write_flags("Use domain='real(distance=absolute)', or leave per_task() out.")
    "Use --domain 'real(distance=absolute)', or leave --per-task out."
    """
    return write_options(message, write_flag)


def list_notes(summary: Summary) -> list[str]:
    """Say what was guessed or set aside, with the flag that overrides it."""
    notes = [*map(Remark, summary.remarks), *remark_doubts(summary)]
    return [*map(dress, remark_answers(summary)), *(f"Note: {dress(each)}" for each in notes)]


def dress(remark: Remark) -> str:
    r"""Write a remark with its flag.

    >>> dress(Remark("Recognised: 'who' is the worker.", "columns", {"worker": "who", "task": "a b"}))
    "Recognised: 'who' is the worker (--columns 'worker=who,task=a b')."
    >>> dress(Remark("Copies: ada b, bob (plain=True counts each).", names=["ada b", "bob"]))
    'Copies: ada\x00b, bob (--plain counts each).'
    """
    said = visible(write_flags(remark.sentence))
    for name in (*remark.names, *remark.words):
        said = said.replace(visible(name), keep_whole(name))
    return f"{said.removesuffix('.')} ({visible(_flag(remark))})." if remark.option else said


def _flag(remark: Remark) -> str:
    if isinstance(remark.value, dict):
        return f"--{remark.option} {shlex.quote(','.join(f'{role}={name}' for role, name in remark.value.items()))}"
    return write_flag(remark.option, remark.value)
