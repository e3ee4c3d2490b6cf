"""CrowdTruth: answers from Mechanical Turk, collected by the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.sheets import open_sheets, with_roles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["CrowdTruth"]

_WORKERS = ("!amt_worker_ids", "amt_worker_ids")
_TASK, _LABEL, _GOLD = "orig_id", "response", "gold"


class CrowdTruth(Tool):
    r"""A table of answers of CrowdTruth.

    >>> CrowdTruth().answers_in({"rte.csv": "!amt_worker_ids,orig_id,response,gold\nA1,25,0,1\nA2,25,1,1\n"})
    [('A1', '25', '0'), ('A2', '25', '1')]
    """

    name = "crowdtruth"
    title = "CrowdTruth"
    summary = "answers from Mechanical Turk (CSV, TSV): !amt_worker_ids, orig_id, response, gold"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has the columns of all its tables."""
        return {_TASK, _LABEL} <= set(peek.names) and any(name in peek.names for name in _WORKERS)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open tables in which all columns are known."""
        table = open_sheets(paths, files)
        worker = next((name for name in _WORKERS if name in table.names), None)
        if worker is None or not {_TASK, _LABEL} <= set(table.names):
            raise InputError(f"{table.where} has not all columns of {self.title}: {_WORKERS[0]}, {_TASK}, {_LABEL}.")
        return with_roles(table, self.name, worker, _TASK, _LABEL, truths={_LABEL: _GOLD})
