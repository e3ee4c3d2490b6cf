"""Toloka: the assignments of a pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from allalike.errors import InputError
from allalike.readers.tools.base import Tool
from allalike.readers.tools.questions import pick_questions
from allalike.readers.tools.sheets import BLANKS, find_name, leave_out, open_sheets, sample
from allalike.readers.tools.units import join_units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.files import Files
    from allalike.readers.tables import Table
    from allalike.readers.tools.peek import Peek

__all__ = ["Toloka"]

_WORKER, _TASK, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"
_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_LEFT_OUT = {"rejected", "skipped", "expired", "active", "blocked"}


class Toloka(Tool):
    """The assignments of a pool of Toloka.

    >>> Toloka.title
    'Toloka'
    """

    name = "toloka"
    title = "Toloka"
    summary = "assignments of a pool (TSV): ASSIGNMENT:worker_id, INPUT:*, OUTPUT:*"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has outputs of workers."""
        return _WORKER in peek.names and any(name.startswith(_OUTPUT) for name in peek.names)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open assignments: every output is a question."""
        table = open_sheets(paths, files)
        worker = find_name(table.names, _WORKER)
        if worker is None:
            raise InputError(f"{table.where} has no column {_WORKER}, as the assignments of {self.title} have.")
        inputs = [name for name in table.names if name.startswith(_INPUT)]
        task = find_name(table.names, _TASK) or (inputs[0] if inputs else None)
        if task is None:
            raise InputError(f"{table.where} has no column {_TASK}, nor any that begins with {_INPUT}.")
        table = leave_out(table, find_name(table.names, _STATUS), _LEFT_OUT, "are not accepted (ASSIGNMENT:status)")
        table = join_units(table, worker, task, inputs)
        label, remark = pick_questions(table, [name for name in table.names if name.startswith(_OUTPUT)], files.tag)
        return replace(
            table,
            roles={"worker": worker, "task": task, "label": label},
            guessed={"tool": self.name, "missing": "drop"},
            remarks=(*table.remarks, *filter(None, [remark, _known_truths(table)])),
        )


def _known_truths(table: Table) -> str:
    golden = [name for name in table.names if name.startswith(_GOLDEN)]
    filled = [name for name, cells in sample(table, golden).items() if any((c or "") not in BLANKS for c in cells)]
    return f"Known truths are in the column {', '.join(filled)}, which can be given as gold." if filled else ""
