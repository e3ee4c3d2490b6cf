"""Places of files: whose each is, and which document, where annotators have files of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["place_files", "place_in_folders"]

_ENDING = re.compile(r"(\.[a-z][a-z0-9]{1,9})?(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


def place_files(paths: Sequence[Path], *, by_name: bool = False) -> dict[Path, tuple[str, str]]:
    """Return worker and document of each file: the worker is its name if all names differ, and else its folder.

    >>> from pathlib import Path
    >>> list(place_files([Path("ada.json"), Path("bob.json")]).values())
    [('ada', ''), ('bob', '')]
    >>> list(place_files([Path("ada/1.json"), Path("ada/2.json"), Path("bob/1.json")]).values())
    [('ada', '1'), ('ada', '2'), ('bob', '1')]
    >>> list(place_files([Path("1/ada.json"), Path("1/bob.json"), Path("2/ada.json")], by_name=True).values())
    [('ada', '1'), ('bob', '1'), ('ada', '2')]
    """
    names = {_name(path) for path in paths}
    if len(paths) == 1 or len(names) == len(paths) or (by_name and len(names) > 1):
        shared = _shared(paths)
        folders = ["/".join(_folder(path)[shared:]) if len(names) < len(paths) else "" for path in paths]
        return {path: (_name(path), folder) for path, folder in zip(paths, folders, strict=True)}
    return place_in_folders(paths)


def place_in_folders(paths: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """Return worker and document of each file: the worker is the first folder that is not everybody's.

    >>> from pathlib import Path
    >>> list(place_in_folders([Path("ada/new/1.ann"), Path("bob/new/1.ann")]).values())
    [('ada', 'new/1'), ('bob', 'new/1')]
    """
    shared = _shared(paths)
    places = {}
    for path in paths:
        folder = _folder(path)
        owner = folder[shared] if len(folder) > shared else folder[-1]
        places[path] = owner, "/".join([*folder[shared + 1 :], _name(path)])
    return places


def _folder(path: Path) -> tuple[str, ...]:
    return path.absolute().parent.parts


def _shared(paths: Sequence[Path]) -> int:
    """Count the folders, from the root, that all files have in common."""
    levels = zip(*map(_folder, paths), strict=False)
    return next(
        (depth for depth, level in enumerate(levels) if len(set(level)) > 1), min(map(len, map(_folder, paths)))
    )


def _name(path: Path) -> str:
    return _ENDING.sub("", path.name) or path.name
