"""Files beside a file that have the same form, such as those of other language models."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from allalike.readers.tools.base import Peek

__all__ = ["find_siblings", "find_single"]

_MOST_FILES = 20
_MOST_BYTES = 1 << 26  # of all of them


def find_single(source: Any) -> Path | None:
    """Return the file that answers come from, if it is a single one on this machine.

    >>> find_single(__file__) == find_single([__file__]) == Path(__file__), find_single("-"), find_single([])
    (True, None, None)
    """
    listed = source if isinstance(source, list | tuple) else [source]
    if len(listed) != 1 or not isinstance(listed[0], str | os.PathLike):
        return None
    path = Path(listed[0])
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def find_siblings(path: Path, *, folders: bool = False) -> list[Path]:
    r"""Return other files with the same form: those in the same folder, or of the same name in folders beside it.

    In ``folders`` beside it numbers in names, such as dates, may differ.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "b.csv", "c.csv"):
    ...         _ = Path(folder, name).write_text("id,said\n" if name < "c" else "id,gold\n")
    ...     [each.name for each in find_siblings(Path(folder, "a.csv"))]
    ['b.csv']
    """
    form = _find_form(path)
    named = re.sub(r"\d+", "*", re.sub(r"[\[\]?*]", "?", path.name))
    beside = path.absolute().parent.parent.glob(f"*/{named}") if folders else path.parent.glob(f"*{path.suffix}")
    try:
        files = [each for each in sorted(beside)[: _MOST_FILES + 1] if each.is_file() and not each.samefile(path)]
        size = sum(each.stat().st_size for each in files)
    except OSError:
        return []
    alike = [each for each in files if form and _find_form(each) == form] if size <= _MOST_BYTES else []
    return [Path(os.path.relpath(each)) if folders and not path.is_absolute() else each for each in alike]


def _find_form(path: Path) -> tuple[str, ...]:
    """Return the names of columns or of the fields of a record."""
    peek = Peek(path)
    return tuple(peek.names) or tuple(sorted(peek.records[0] if peek.records else ()))
