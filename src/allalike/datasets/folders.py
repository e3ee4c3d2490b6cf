"""Where the files of a source lie on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from allalike.errors import DataError

if TYPE_CHECKING:
    from allalike.datasets.catalog import Source

__all__ = ["cache_folder", "find_folder", "folders", "how_to_get", "lacks", "require_folder"]


def cache_folder() -> Path:
    """Return the folder in which fetched sources are kept.

    >>> cache_folder().name
    'allalike'
    """
    usual = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    base = os.environ.get("XDG_CACHE_HOME") or usual.get(sys.platform, "~/.cache")
    return Path(base).expanduser() / "allalike"


def folders(source: Source) -> list[Path]:
    """Return where to look for a source, in order: the folders that ALLALIKE_DATA names, and the cache."""
    chosen = os.environ.get("ALLALIKE_DATA", "").split(os.pathsep)  # as PATH names its folders
    roots = [Path(folder).expanduser() for folder in chosen if folder]
    return [root / source.name for root in [*roots, cache_folder()]]


def lacks(source: Source, folder: Path) -> list[str]:
    """Say which files of a source are not in a folder, or have another size than they should.

    >>> from allalike.datasets.catalog import SOURCES
    >>> lacks(SOURCES["snow_rte"], Path("nowhere"))
    ['rte.standardized.tsv is not there']
    """
    found = []
    for file in source.files:
        path = folder / file.file
        if not path.is_file():
            found.append(f"{file.file} is not there")
        elif file.sha256 and path.stat().st_size != file.bytes:
            found.append(f"{file.file} has {path.stat().st_size:,} bytes instead of {file.bytes:,}")
    if source.bytes and not found:
        size = sum((folder / file.file).stat().st_size for file in source.files)
        found += [f"its files have {size:,} bytes instead of {source.bytes:,}"] if size != source.bytes else []
    return found


def find_folder(source: Source) -> Path | None:
    """Return the first folder that has all files of a source, if there is one."""
    return next((folder for folder in folders(source) if not lacks(source, folder)), None)


def require_folder(source: Source) -> Path:
    """Return the first folder that has all files of a source, or say how to get them."""
    folder = find_folder(source)
    if folder is not None:
        return folder
    looked = "; ".join(f"{folder}: {_lack(source, folder)}" for folder in folders(source))
    raise DataError(f"The data of {source.name!r} are not here. {how_to_get(source)} Looked in {looked}.")


def how_to_get(source: Source) -> str:
    """Say how to get the files of a source."""
    if source.public:
        return f"'allalike datasets fetch {source.name}' fetches them."
    return f"{source.note} They belong in {folders(source)[0]}."


def _lack(source: Source, folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder"
    first, *others = lacks(source, folder)
    return f"{first} (and {len(others)} more)" if others else first
