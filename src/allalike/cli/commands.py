"""Flags: what was typed, with those that settle a question, ready to be copied; and remarks, each with its flag."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import hide_in_word
from allalike._core.words import write_options
from allalike.cli.console import keep_whole, visible
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.telling.summary import Summary

__all__ = ["complete_command", "dress", "find_flags", "list_notes", "write_flag", "write_flags"]

_FLAG_OF_OPTION = {"tool": "--from"}
_FLAG_OF_CHOICE = {("use_gold", False): "--gold-only-measure"}


def complete_command(arguments: Sequence[str], settles: Mapping[str, Any]) -> str:
    """Return a command with further options, each in the place of one of the same name.

    >>> typed = ["discover", "my answers.csv", "--domain", "real"]
    >>> complete_command(typed, {"domain": "text", "columns": {"task": "q"}})
    "allalike discover 'my answers.csv' --domain text --task q"
    >>> complete_command(["explain", "out", "task", "--", "-7"], {"quiet": True})
    'allalike explain out task --quiet -- -7'
    """
    flags = find_flags(settles)
    kept: list[str] = []
    words = iter(_without_roles(arguments, settles.get("columns", {})))
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in flags:
            kept.append(word)
        elif not equals and flags[name]:
            next(words, None)  # its value
    listed = [part for flag, values in flags.items() for value in values or [""] for part in _written(flag, value)]
    end = kept.index("--") if "--" in kept else len(kept)  # after which there are no flags
    return shlex.join(map(hide_in_word, ["allalike", *kept[:end], *listed, *kept[end:]]))


def _without_roles(arguments: Sequence[str], roles: Mapping[str, Any]) -> list[str]:
    """Take roles out of ``--columns``, for they are named by flags of their own.

    >>> _without_roles(["a.csv", "--columns", "worker=x,task=y", "-q"], {"task": "z"})
    ['a.csv', '--columns', 'worker=x', '-q']
    """
    kept = list(arguments)
    for place in [place for place, word in enumerate(kept[:-1]) if roles and word == "--columns"][::-1]:
        parts = [part for part in kept[place + 1].split(",") if part.partition("=")[0].strip() not in roles]
        kept[place : place + 2] = ["--columns", ",".join(parts)] if parts else []
    return kept


def write_flag(option: str, value: Any) -> str:
    """Write an option of Python as a flag, ready to be copied.

    >>> write_flag("tool", "toloka"), write_flag("abstain", -1)
    ('--from toloka', '--abstain=-1')
    """
    return shlex.join(
        part for flag, values in find_flags({option: value}).items() for part in _written(flag, values[0])
    )


def write_flags(message: str) -> str:
    """Name the options of a message of the library as flags.

    >>> write_flags("Use domain='real(distance=absolute)', or leave per_task() out.")
    "Use --domain 'real(distance=absolute)', or leave --per-task out."
    """
    return write_options(message, write_flag)


def find_flags(settles: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values of each flag; one that stands alone has none.

    >>> find_flags({"missing": "drop", "force": True})
    {'--missing': ['drop'], '--force': []}
    """
    flags: dict[str, list[str]] = {}
    for name, value in settles.items():
        if name == "columns":
            flags.update({f"--{role}": [str(column)] for role, column in value.items()})
            continue
        if isinstance(value, bool) and (name, value) in _FLAG_OF_CHOICE:
            flags[_FLAG_OF_CHOICE[name, value]] = []
            continue
        if isinstance(value, dict):
            value = ",".join(f"{role}={column}" for role, column in value.items())
        flag = _FLAG_OF_OPTION.get(name, "--" + name.replace("_", "-"))
        flags[flag] = [] if value is True else [*map(str, value)] if isinstance(value, list | tuple) else [str(value)]
    return flags


def _written(flag: str, value: str) -> list[str]:
    return [flag] if not value else [f"{flag}={value}"] if value.startswith("-") else [flag, value]


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
