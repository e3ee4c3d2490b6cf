"""Commands for messages, reports and pages, ready to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from allalike._core.system.addresses import hide_in_word

LEFT_OUT = [""]  # the values of a flag to omit


def complete_command(arguments: Sequence[str], options: Mapping[str, Any], files: Sequence[str] = ()) -> str:
    """Return a command with further options, which replace options of the same name, and with other files.

    All proposed commands are made here. Secrets in addresses are hidden.

    >>> typed = ["discover", "my answers.csv", "--domain", "real"]
    >>> complete_command(typed, {"domain": "text", "columns": {"task": "q"}})
    "allalike discover 'my answers.csv' --domain text --task q"
    >>> complete_command(["explain", "out", "task", "--", "-7"], {"quiet": True})
    'allalike explain out task --quiet -- -7'
    >>> complete_command(["discover", "a.csv", "--task", "q"], {"columns": {"task": None}})
    'allalike discover a.csv'
    >>> complete_command(["jury", "a.csv", "-o", "out"], {"worker_from": "filename"}, ["a.csv", "b.csv"])
    'allalike jury a.csv b.csv -o out --worker-from filename'
    """
    return shlex.join(map(hide_in_word, ["allalike", *complete_words(arguments, options, files)]))


def complete_words(arguments: Sequence[str], options: Mapping[str, Any], files: Sequence[str] = ()) -> list[str]:
    """Return the arguments of a command with further options, without the name of the program."""
    flags = find_flags(options)
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in flags:
            kept += files if files and word == files[0] else [word]
        elif not equals and flags[name]:
            next(words, None)  # its value
    shown = {flag: values or [""] for flag, values in flags.items() if values != LEFT_OUT}
    listed = [part for flag, values in shown.items() for value in values for part in _written(flag, value)]
    end = kept.index("--") if "--" in kept else len(kept)  # after which there are no flags
    return [*kept[:end], *listed, *kept[end:]]


def write_flag(option: str, value: Any) -> str:
    """Format a Python option as a command-line flag.

    >>> write_flag("tool", "toloka"), write_flag("abstain_label", -1)
    ('--tool toloka', '--abstain-label=-1')
    """
    return shlex.join(
        part
        for flag, values in find_flags({option: value}).items()
        for part in _written(flag, values[0] if values else "")
    )


def find_flags(options: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values of each flag: no value for a switch, and an empty value for a flag to omit."""
    flags: dict[str, list[str]] = {}
    for name, value in options.items():
        if name == "columns":
            flags.update({f"--{role}": [str(column or "")] for role, column in value.items()})
            continue
        if isinstance(value, dict):
            value = ",".join(f"{role}={column}" for role, column in value.items())
        flag = ("--no-" if value is False else "--") + name.replace("_", "-")
        listed = [*map(str, value or ())] or LEFT_OUT if isinstance(value, list | tuple | None) else [str(value)]
        flags[flag] = [] if isinstance(value, bool) else listed
    return flags


_DESCRIBED: Mapping[tuple[str, Any], str] = {
    ("wide", "tasks"): "each row is a task",
    ("wide", "workers"): "each row is a worker",
    ("missing", "drop"): "exclude rows without a label",
    ("worker_from", "filename"): "each file is a worker",
    ("duplicates", "first"): "keep the first of repeated answers",
    ("duplicates", "last"): "keep the last of repeated answers",
    ("duplicates", "set"): "combine repeated answers into a set",
    ("force", True): "continue anyway",
    ("use_gold", False): "use gold labels to measure the error only",
    ("gold_map", "same"): "gold labels are correct as they are",
    ("decimal", ","): "numbers have a decimal comma",
}
_NAMED = {
    "domain": "read labels as {}",
    "include": "read {} only",
    "exclude": "exclude {}",
    "question": "read the question {}",
    "na_values": "{} means a missing label",
    "abstain_label": "{} means no answer",
    "tool": "read it as an export of {}",
    "encoding": "the encoding is {}",
    "gold": "gold labels are in {}",
    "gold_map": "map gold labels: {}",
}


def describe_options(options: Mapping[str, Any]) -> str:
    """Describe options in words, for the label of a button.

    >>> describe_options({"wide": "tasks", "exclude": ["premise", "hypothesis"]})
    'Each row is a task; exclude premise, hypothesis'
    >>> describe_options({"columns": {"worker": "who"}, "domain": "real"})
    'The worker is in column who; read labels as real'
    """
    parts = []
    for name, value in options.items():
        if name in ("columns", "gold_columns") and isinstance(value, dict):
            parts += [f"the {role} is in column {column}" for role, column in value.items() if column]
            continue
        listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        plain = not isinstance(value, list | tuple | dict)
        form = _DESCRIBED.get((name, value)) if plain else None
        parts.append(form or _NAMED.get(name, f"{name.replace('_', ' ')}: {{}}").format(listed))
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _written(flag: str, value: str) -> list[str]:
    return [flag] if not value else [f"{flag}={value}"] if value.startswith("-") else [flag, value]
