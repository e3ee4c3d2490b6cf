"""Commands: what was typed, with the options that settle a question, ready to be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["complete_command"]

_FLAG_OF_OPTION = {"tool": "--from", "columns": "--columns"}


def complete_command(arguments: Sequence[str], settles: Mapping[str, Any]) -> str:
    """Return a command with further options, each in the place of one of the same name.

    >>> typed = ["discover", "my answers.csv", "--domain", "real"]
    >>> complete_command(typed, {"domain": "text", "columns": {"task": "q"}})
    "allalike discover 'my answers.csv' --domain text --task q"
    """
    flags = _flags(settles)
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in flags:
            kept.append(word)
        elif not equals and flags[name]:
            next(words, None)  # its value
    listed = [part for flag, values in flags.items() for value in values or [""] for part in _written(flag, value)]
    return shlex.join(["allalike", *kept, *listed])


def _flags(settles: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values of each flag; one that stands alone has none."""
    flags: dict[str, list[str]] = {}
    for name, value in settles.items():
        if isinstance(value, dict):
            flags.update({f"--{role}": [str(column)] for role, column in value.items()})
            continue
        flag = _FLAG_OF_OPTION.get(name, "--" + name.replace("_", "-"))
        flags[flag] = [] if value is True else [*map(str, value)] if isinstance(value, list | tuple) else [str(value)]
    return flags


def _written(flag: str, value: str) -> list[str]:
    return [flag] if not value else [f"{flag}={value}"] if value.startswith("-") else [flag, value]
