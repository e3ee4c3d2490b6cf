"""Outside: files that a saved result names and that do not lie in its folder, which are not opened without leave.

A summary says which files its answers came from, so that they can be read again. It may come from somebody else, who
could write there whatever she likes. So a result of one's own is signed when it is saved, and known again; of any other
only what lies in its folder is opened, unless the person at the program says that the rest may be, too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.proof import is_signed, sign
from allalike.errors import InputError
from allalike.readers import is_within
from allalike.readers.sources import list_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROOF", "find_outside", "list_named", "refuse_outside", "sign_recipe"]

PROOF = "proof"
_FURTHER = {"label_map": "meanings of labels", "gold": "known truths", "history": "histories of workers"}
_MAX_LISTED = 10


def sign_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe with the proof that this user's own program wrote it, where there can be one.

    >>> signed = sign_recipe({"inputs": ["/data/a.csv"], "read": {}})
    >>> find_outside(Path("out"), signed), find_outside(Path("out"), {**signed, "inputs": ["/etc/passwd"]})
    ([], ['/etc/passwd'])
    """
    proof = sign(_message(recipe))
    return {**recipe, **({PROOF: proof} if proof else {})}


def find_outside(folder: Path, summary: Mapping[str, Any]) -> list[str]:
    """List what a saved result names that lies outside of its folder, unless this user's own program named it.

    Nothing outside is looked at for that: to ask whether a file is there may be to call another computer.

    >>> find_outside(Path("out"), {"inputs": ["/data/a.csv", str(Path("out/b.csv").absolute())], "read": {}})
    ['/data/a.csv']
    """
    if is_signed(_message(summary), summary.get(PROOF, "")):
        return []
    return [name for name in list_named(summary) if _can_be_opened(name) and not _is_inside(name, folder)]


def list_named(summary: Mapping[str, Any]) -> dict[str, str]:
    """List the files and folders that a saved result is found from, with what is in them.

    >>> list_named({"inputs": ["/data/a.csv"], "read": {"gold": "column:truth", "history": "/data/workers.csv"}})
    {'/data/a.csv': 'answers', '/data/workers.csv': 'histories of workers'}
    """
    given = {"answers": summary["inputs"], **{what: summary["read"].get(name) for name, what in _FURTHER.items()}}
    listed = [(name, what) for what, names in given.items() for name in (names if isinstance(names, list) else [names])]
    return {name: what for name, what in listed if isinstance(name, str) and not is_within(name)}


def refuse_outside(folder: Path, names: Sequence[str]) -> InputError:
    """Return the error that says what would be opened, and how to have it opened.

    >>> print(refuse_outside(Path("out"), ["/etc/passwd"]))
    The result in out is to be found again from files outside of that folder, and nothing proves that you saved it here
    yourself. It may be a stranger's, who could name any file. Have these opened only if they are what you expect:
      /etc/passwd
    Say it with open_inputs=True.
    """
    more = [f"  ... and {len(names) - _MAX_LISTED:,} more"] if len(names) > _MAX_LISTED else []
    return InputError(
        f"The result in {folder} is to be found again from files outside of that folder, and nothing proves that you"
        " saved it here yourself. It may be a stranger's, who could name any file. Have these opened only if they are"
        " what you expect:",
        lines=[*(f"  {name}" for name in names[:_MAX_LISTED]), *more],
        open_inputs=True,
    )


def _message(recipe: Mapping[str, Any]) -> bytes:
    return b"allalike recipe " + json.dumps([recipe["inputs"], recipe["read"]], sort_keys=True).encode()


def _can_be_opened(name: str) -> bool:
    """Tell whether this names a file, and not what was there for the time being, such as standard input."""
    return "://" in name or Path(name).is_absolute()


def _is_inside(name: str, folder: Path) -> bool:
    """Tell whether a path stays in a folder, by its letters and then by where links lead, those inside it included."""
    root, written = folder.resolve(), Path(os.path.normpath(name))
    by_letters = any(written.is_relative_to(place) for place in (root, Path(os.path.abspath(folder))))  # noqa: PTH100
    if not by_letters or "\0" in name:
        return False
    return all(path.resolve().is_relative_to(root) for path in list_inputs([Path(name)]))
