"""Checks of the files of a saved result, before any of them is opened.

A result folder may come from a stranger. Its files must be regular files in the folder itself, and nothing in them is
used as a path or an address.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from allalike._core.system.files import is_link
from allalike._core.system.json_text import parse_json
from allalike._core.system.output import UNFINISHED
from allalike.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

STATE = "state"
SUMMARY = "summary.json"


def check_own_file(path: Path) -> None:
    """Refuse a link, a pipe, a device or a folder in the place of a file of a saved result.

    >>> from pathlib import Path
    >>> check_own_file(Path("nowhere/summary.json"))  # opening it raises the error
    """
    if is_link(path):
        raise InputError(
            f"{path} is a link, and a saved result must be made of its own files, so that it leads to no others. Name a"
            f" copy of it that is made with: {shlex.join(['cp', '-rL', str(_find_result(path)), 'copy'])}"
        )
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path} is not a regular file, as all files of a saved result are. Save the result again from its answers,"
            f" for example with: {propose_save(_find_result(path))}"
        )


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the summary of a saved result; a missing one is an `OSError`, a wrong one a `ValueError` or `TypeError`."""
    check_own_file(folder / SUMMARY)
    summary = parse_json((folder / SUMMARY).read_text(encoding="utf-8"))
    if not isinstance(summary, dict):
        raise TypeError("it is not a JSON object")
    return summary


def check_complete(folder: Path) -> None:
    """Refuse a result that was saved in part only, because the process was killed, or of which files are missing.

    The summary is saved last. The files that it lists are compared by their names, and none is looked for elsewhere.

    >>> from pathlib import Path
    >>> check_complete(Path("nowhere"))
    """
    if os.path.lexists(folder / UNFINISHED):
        raise InputError(
            f"The result in {folder} is incomplete: a process was interrupted while saving it. Save it again from its"
            f" answers, for example with: {propose_save(folder)}"
        )
    if os.path.lexists(folder / SUMMARY):
        check_own_file(folder / SUMMARY)
        try:
            files = read_summary(folder).get("files", [])
        except (OSError, ValueError, TypeError):
            raise InputError(
                f"{folder / SUMMARY} is not the summary of a result. Save it again from its answers, for example with:"
                f" {propose_save(folder)}"
            ) from None
        there = {f"{STATE}/{path.name}" for path in (folder / STATE).glob("*")}
        kept = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
        if missing := [name for name in kept if name.startswith(f"{STATE}/") and name not in there]:
            raise refuse_incomplete(folder, missing[0])
    elif os.path.lexists(folder / STATE):
        raise refuse_incomplete(folder, SUMMARY)


def refuse_incomplete(folder: Path, missing: str) -> InputError:
    """Return the error about a file of a result that is missing."""
    return InputError(
        f"The result in {folder} is incomplete: {missing} is missing. Save it again from its answers, for example with:"
        f" {propose_save(folder)}"
    )


def _find_result(path: Path) -> Path:
    """Return the folder of the result that a file belongs to."""
    return path.parent.parent if path.parent.name == STATE else path.parent


def propose_save(folder: Path) -> str:
    """Return a command that saves a result again, whose answers only the user knows.

    >>> from pathlib import Path
    >>> propose_save(Path("out"))
    'allalike discover answers.csv -o out'
    """
    return shlex.join(["allalike", "discover", "answers.csv", "-o", str(folder)])
