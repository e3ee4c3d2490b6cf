"""Figure Eight, also called CrowdFlower and Appen: the full report of a job."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.formats.tables import Table
from allalike.readers.tools.annotations import make_columns
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.questions import as_sets, pick_questions
from allalike.readers.tools.sheets import as_text, leave_out, open_sheets, sample, texts, with_columns, with_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

__all__ = ["FigureEight", "holds_judgments", "open_judgments"]

_TASK, _WORKER = "_unit_id", "_worker_id"
_AGGREGATED = {"_trusted_judgments", "_unit_state", "_last_judgment_at"}
_GOLD, _NO_ANSWERS = "_gold", ("_gold", "_gold_reason", ":confidence", ":variance")


_ABOUT = {"_unit_id": "unit_id", "_worker_id": "worker_id", "_tainted": "tainted"}


class FigureEight(Tool):
    r"""The full report of a job of Figure Eight.

    >>> rows = ["_unit_id,_worker_id,_tainted,colour", "1,ada,false,red", "1,bob,false,blue", "1,eve,true,red"]
    >>> FigureEight().answers_in({"full.csv": "\n".join(rows)})
    [('ada', '1', 'red'), ('bob', '1', 'blue')]
    """

    name = "figure-eight"
    title = "Figure Eight / Appen"
    summary = "full report of a job (CSV: _unit_id, _worker_id; or JSON: results.judgments)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has units, and workers or what was found of their answers."""
        names = set(peek.names)
        table = _TASK in names and bool(names & {_WORKER, *_AGGREGATED})
        return table or (bool(peek.records) and holds_judgments(peek.records[0]))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open reports: what differs within a unit is a question."""
        if all(Peek(path).records for path in paths):
            table, questions = open_judgments(paths, files)
        else:
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


def holds_judgments(unit: Any) -> bool:
    """Tell whether an object is a unit with judgments of workers.

    >>> holds_judgments({"id": 1, "results": {"judgments": [{"worker_id": 7, "data": {"colour": "red"}}]}})
    True
    """
    results = unit.get("results") if isinstance(unit, dict) else None
    judgments = results.get("judgments") if isinstance(results, dict) else None
    return isinstance(judgments, list) and all(isinstance(one, dict) and "worker_id" in one for one in judgments)


def open_judgments(paths: Sequence[Path], files: Files) -> tuple[Table, list[str]]:
    r"""Open units as the table that the full report is; return also its questions.

    >>> import tempfile, pathlib
    >>> from allalike.readers.formats.files import Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "job.json")
    ...     _ = path.write_text('{"id": 1, "results": {"judgments": [{"worker_id": 7, "data": {"colour": "red"}}]}}\n')
    ...     table, questions = open_judgments([path], Files())
    >>> table.load(["_worker_id", *questions])["colour"].to_pylist()
    ['red']
    """
    judgments = [one for path in paths for one in _read(path, files)]
    names = list(dict.fromkeys(name for one in judgments for name in one["data"]))
    if not names:
        raise InputError(f"{paths[0]} has no judgments.")
    about = {name: [_text(one.get(key)) for one in judgments] for name, key in _ABOUT.items()}

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return {name: as_text(about[name]) for name in asked}

    where = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    table = Table(list(about), load, where, text=True)
    answers = [{str(name): _answer(value) for name, value in one["data"].items()} for one in judgments]
    return with_columns(table, make_columns(names, answers)), names


def _read(path: Path, files: Files) -> list[dict[str, Any]]:
    text = guard(path, "JSON lines", lambda: read_text(path, files.encoding))
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            unit = parse_json(line)
        except ValueError as error:
            raise InputError(f"{path}: line {number} cannot be read as JSON: {error}.") from None
        if not holds_judgments(unit):
            raise InputError(f"{path}: line {number} is no unit with judgments of workers.")
        for one in unit["results"]["judgments"]:
            data = one.get("data")
            found.append({"unit_id": unit.get("id"), **one, "data": data if isinstance(data, dict) else {}})
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _answer(value: Any) -> Any:
    """Return a choice as text, and several as a list of them."""
    return [_text(item) for item in value] if isinstance(value, list) else _text(value) or None
