"""Figure Eight, also called CrowdFlower and Appen: the full report of a job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.questions import as_sets, pick_questions
from allalike.readers.tools.sheets import leave_out, open_sheets, sample, texts, with_columns, with_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

_TASK, _WORKER = "_unit_id", "_worker_id"
_AGGREGATED = {"_trusted_judgments", "_unit_state", "_last_judgment_at"}
_GOLD, _NO_ANSWERS = "_gold", ("_gold", "_gold_reason", ":confidence", ":variance")


class FigureEight(Tool):
    r"""The full report of a job of Figure Eight.

    >>> rows = ["_unit_id,_worker_id,_tainted,colour", "1,ada,false,red", "1,bob,false,blue", "1,eve,true,red"]
    >>> FigureEight().answers_in({"full.csv": "\n".join(rows)})
    [('ada', '1', 'red'), ('bob', '1', 'blue')]
    """

    name = "figure-eight"
    title = "Figure Eight / Appen"
    summary = "full report of a job (CSV: _unit_id, _worker_id)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has units, and workers or what was found of their answers."""
        names = set(peek.names)
        return _TASK in names and bool(names & {_WORKER, *_AGGREGATED})

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open reports: what differs within a unit is a question."""
        table = open_sheets(paths, files)
        _check(table, self.title)
        questions = _find_questions(table)
        table = leave_out(table, "_tainted" if "_tainted" in table.names else None, {"true"}, "are tainted")
        table = _with_sets(table, questions)
        label, remark = pick_questions(table, questions, tag=files.tag)
        truths = {name: f"{name}{_GOLD}" for name in questions}
        return with_roles(table, self.name, _WORKER, _TASK, label, [remark], truths)


def _check(table: Table, title: str) -> None:
    missing = next((name for name in (_TASK, _WORKER) if name not in table.names), None)
    if missing:
        raise InputError(
            f"{table.where} has no column {missing}. An aggregated report of {title} does not say who answered what:"
            " download the full report of the job."
        )


def _find_questions(table: Table) -> list[str]:
    """Return the columns that differ within a unit; what a unit shows to workers does not."""
    names = [n for n in table.names if not n.startswith(("_", "orig_")) and not n.endswith(_NO_ANSWERS)]
    seen = sample(table, [_TASK, *names])
    units = seen.pop(_TASK)
    return [name for name in names if _differs(units, seen[name])] or names


def _differs(units: list[Any], cells: list[Any]) -> bool:
    first: dict[Any, Any] = {}
    return any(first.setdefault(unit, cell) != cell for unit, cell in zip(units, cells, strict=True))


def _with_sets(table: Table, questions: list[str]) -> Table:
    columns: dict[str, Callable[[], Any]] = {}
    for name in questions:
        cells = table.load([name])[name]
        if isinstance(cells, list):
            continue
        if (joined := as_sets(cells.to_pylist())) is not None:
            columns[name] = partial(list, joined)
        if (gold := f"{name}{_GOLD}") in table.names:
            known = texts(table, gold)
            both = None if joined is None else as_sets([*cells.to_pylist(), *known])
            one = [
                cell if "\n" not in cell.strip() else None for cell in known
            ]  # any of several is right: no one truth
            columns[gold] = partial(list, one if both is None else both[len(known) :])
    return with_columns(table, columns) if columns else table
