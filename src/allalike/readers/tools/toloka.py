"""Toloka: the assignments of a pool."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pc
from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.questions import pick_questions
from allalike.readers.tools.sheets import (
    as_text,
    find_name,
    join_units,
    keep_rows,
    leave_out,
    open_sheets,
    tell_apart,
    texts,
    with_columns,
    with_roles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Toloka"]

_WORKER, _TASK, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"
_VERDICT = "ACCEPT:verdict"
_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_LEFT_OUT = {"rejected", "skipped", "expired", "active", "blocked"}


class Toloka(Tool):
    r"""The assignments of a pool of Toloka.

    >>> rows = ["INPUT:url\tOUTPUT:animal\tASSIGNMENT:worker_id", "a.jpg\tcat\tada", "a.jpg\tdog\tbob"]
    >>> Toloka().answers_in({"pool.tsv": "\n".join(rows)})
    [('ada', 'a.jpg', 'cat'), ('bob', 'a.jpg', 'dog')]
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
        table = _fill_in(table, worker)
        table = leave_out(table, find_name(table.names, _VERDICT), {"-"}, f"are not accepted ({_VERDICT})")
        table, task = _find_task(table, inputs)
        table = leave_out(table, find_name(table.names, _STATUS), _LEFT_OUT, "are not accepted (ASSIGNMENT:status)")
        if task == _TASK:
            table = join_units(table, worker, task, inputs)
        questions = [name for name in table.names if name.startswith(_OUTPUT)]
        label, remark = pick_questions(table, questions, tag=files.tag, inputs=inputs)
        truths = {name: name.replace(_OUTPUT, _GOLDEN, 1) for name in questions}
        return with_roles(table, self.name, worker, task, label, [remark], truths)


def _find_task(table: Table, inputs: list[str]) -> tuple[Table, str]:
    """Return the column that names tasks; exports without their ids have their inputs."""
    if _TASK in table.names:
        return table, _TASK
    if not inputs:
        raise InputError(f"{table.where} has no column {_TASK}, nor any that begins with {_INPUT}.")
    task, cells = tell_apart({name: texts(table, name) for name in inputs})
    return (table if task in table.names else with_columns(table, {task: lambda: as_text(cells)})), task


def _fill_in(table: Table, worker: str) -> Table:
    """Give every row of an assignment what only its last one has; rows between assignments are empty."""
    if not pc.any(pc.equal(table.load([worker])[worker], "")).as_py():
        return table
    said = [name for name in table.names if name.startswith((_INPUT, _OUTPUT))]
    filled = [any(cells) for cells in zip(*(texts(table, name) for name in said), strict=True)]
    table = keep_rows(table, np.array(filled, dtype=np.bool_))
    columns: dict[str, Callable[[], Any]] = {
        name: partial(_from_below, table, name) for name in table.names if name in (worker, _STATUS)
    }
    bare = sum(not person.strip() for person in texts(table, worker))
    remark = f"{bare:,} rows have no {worker}; they are of the same assignment as the next that has one."
    return replace(with_columns(table, columns), remarks=(*table.remarks, *([remark] if bare else [])))


def _from_below(table: Table, name: str) -> Any:
    cells, below = texts(table, name), ""
    for row in range(len(cells) - 1, -1, -1):
        below = cells[row] = cells[row] or below
    return as_text(cells)
