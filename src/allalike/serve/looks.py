"""Looks: how files were read, before anything is done with them.

What is shown is what `discover` would work on: the same reader, the same guesses, the same doubts. Where it asks a
question, its first rows are shown beside it, so that a person can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.errors import AllalikeError, InputError
from allalike.report.brevity import cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.engines import Run
    from allalike.readers import Scan
    from allalike.readers.formats.tables import Table
    from allalike.serve.choices import Choices

__all__ = ["count", "describe_error", "look_at"]

_ROWS, _COLUMNS, _NAMES, _CELL = 6, 40, 2000, 80
_SAID_OTHERWISE = ("columns", "domain", "engine", "missing")


def look_at(files: Sequence[str], gold: str | None, choices: Choices) -> dict[str, Any]:
    r"""Read files as they are chosen to be read; say what was found, guessed and doubted, or what is to be answered.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from allalike.serve.choices import Choices
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("annotator,task,label\nada,1,x\nbob,1,x\n", encoding="utf-8")
    ...     found = look_at([str(path)], None, Choices())
    >>> found["facts"], found["picked"]["worker"], found["rows"][0]
    (['2 answers', '2 workers', '1 task', 'categorical labels'], 'annotator', ['ada', '1', 'x'])
    """
    found: dict[str, Any] = {}
    try:
        source = choices.name(list(files))
        table = source.table()
        found |= _show(table)
        if source.wide is None and "wide" not in table.guessed:
            found["picked"] = source.pick(table)[0]
        found |= _read(source, choices.name_gold(gold), choices)
    except AllalikeError as error:
        found["question"] = describe_error(error)
    return found


def describe_error(error: AllalikeError) -> dict[str, Any]:
    """Return what an error says, what was seen, and which choices would settle it.

    >>> describe_error(InputError("Numbers or classes?", domain="real"))
    {'what': 'Numbers or classes?', 'lines': [], 'settles': {'domain': 'real'}}
    """
    if not isinstance(error, InputError):
        return {"what": str(error), "lines": [], "settles": {}}
    return {"what": str(error.args[0]), "lines": list(error.lines), "settles": error.settles}


def count(number: int, things: str) -> str:
    """Write how many things there are.

    >>> count(1, "tasks"), count(2000, "tasks")
    ('1 task', '2,000 tasks')
    """
    return f"{number:,} {things if number != 1 else things.removesuffix('s')}"


def _show(table: Table) -> dict[str, Any]:
    """Return the names of columns, and the first rows of some of them."""
    names = table.names[:_COLUMNS]
    sample = {name: _cells(data) for name, data in table.sample(_ROWS, names).items()}
    rows = [[sample[name][row] for name in names] for row in range(min(map(len, sample.values()), default=0))]
    return {"columns": table.names[:_NAMES], "rows": rows, "left_out": len(table.names) - len(names)}


def _cells(data: Any) -> list[str]:
    values = data.to_pylist() if hasattr(data, "to_pylist") else list(data)
    return [cut("" if value is None else str(value), _CELL) for value in values[:_ROWS]]


def _read(source: Scan, gold: str | None, choices: Choices) -> dict[str, Any]:
    """Read all answers, and wonder about them."""
    from allalike._core.blocks.ties import Ties
    from allalike.api.discover import open_run
    from allalike.api.doubts.doubts import find_doubts
    from allalike.api.inputs.opening import open_source
    from allalike.api.results.summaries import describe_answers
    from allalike.methods import METHODS

    answers, known = open_source(source, gold, choices.gold_columns or None)
    _, run = open_run(answers, known, engine=None, ties=Ties())
    doubts = find_doubts(run, known)
    counts = {name: number for name, number in describe_answers(run).items() if isinstance(number, int)}
    return {
        "facts": [
            *(count(counts[name], name) for name in ("answers", "workers", "tasks")),
            f"{run.domain.name} labels",
            *([count(run.n_gold, "known truths")] if run.n_gold else []),
        ],
        "domain": run.domain.name,
        "rule": str(run.domain.rule),
        "rules": [rule.name for rule in run.domain.rules],
        "methods": [name for name, method in METHODS.items() if method().serves(run.encoding)],
        "notes": _list_notes(run),
        "doubts": [doubt.what for doubt in doubts if not doubt.severe],
        "stops": [doubt.what for doubt in doubts if doubt.severe],
    }


def _list_notes(run: Run) -> list[str]:
    """Say what was recognised and what was left out, in sentences."""
    notes, guessed = run.notes, run.notes.get("guessed", {})
    lines = []
    if columns := guessed.get("columns"):
        lines.append(f"Recognised: {', '.join(f'{name!r} is the {role}' for role, name in columns.items())}.")
    lines += [_recognised(option, value) for option, value in guessed.items() if option not in _SAID_OTHERWISE]
    if "domain" in guessed:
        lines.append(f"Recognised: the labels are {guessed['domain']}.")
    counted = {
        "missing_dropped": "rows without a label are left out",
        "abstained_dropped": "rows that mean 'no answer' are left out",
        "repeats_set_aside": "repeated answers of a worker to a task are set aside",
    }
    lines += [f"{notes[name]:,} {what}." for name, what in counted.items() if notes.get(name)]
    if unparsed := notes.get("unparsed"):
        lines.append(f"{unparsed['labels']:,} labels in which no answer was found are left out.")
    return [*lines, *notes.get("remarks", ())]


def _recognised(option: str, value: Any) -> str:
    from allalike.readers.tools import TOOLS

    titles: Mapping[str, str] = {
        "tool": f"an export of {TOOLS[value].title}" if option == "tool" and value in TOOLS else "",
        "wide": f"a matrix, one row per {str(value).removesuffix('s')}",
    }
    return f"Recognised: {titles.get(option) or f'{option} {value}'}."
