"""Crowd-Kit: tables of comparisons; its other tables have the columns of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.sheets import as_text, open_sheets, texts, with_columns, with_roles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["CrowdKit"]

_WORKERS = ("worker", "performer")
_LEFT, _RIGHT, _LABEL = "left", "right", "label"
_PAIR = "left, right"


class CrowdKit(Tool):
    r"""Comparisons of two items as Crowd-Kit has them.

    >>> CrowdKit().answers_in({"pairs.csv": "worker,left,right,label\nada,tea,ale,tea\nbob,ale,tea,ale\n"})
    [('ada', 'ale | tea', 'tea'), ('bob', 'ale | tea', 'ale')]
    """

    name = "crowd-kit"
    title = "Crowd-Kit"
    summary = "comparisons (CSV): worker, left, right, label; its other tables are plain ones"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has comparisons by workers, and no tasks of its own."""
        names = set(peek.names)
        return {_LEFT, _RIGHT, _LABEL} <= names and bool(names & set(_WORKERS)) and "task" not in names

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open comparisons: two items are a task, in whatever order they stood, if a label names the better one."""
        table = open_sheets(paths, files)
        worker = next((name for name in _WORKERS if name in table.names), None)
        if worker is None or not {_LEFT, _RIGHT, _LABEL} <= set(table.names):
            raise InputError(f"{table.where} has not all columns of comparisons: worker, left, right, label.")
        rows = list(zip(*(texts(table, name) for name in (_LEFT, _RIGHT, _LABEL)), strict=True))
        named = all(label in (left, right, "") for left, right, label in rows)
        pairs = [" | ".join(sorted([left, right]) if named else [left, right]) for left, right, _ in rows]
        return with_roles(with_columns(table, {_PAIR: lambda: as_text(pairs)}), self.name, worker, _PAIR, _LABEL)
