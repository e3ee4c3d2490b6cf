"""Preview: how files were read, before anything is done with them.

What is shown is what `discover` would work on: the same reader, the same guesses, the same doubts. Where it asks a
question, its first rows are shown beside it, so that a person can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count, write_options
from allalike.errors import AllalikeError, InputError
from allalike.report.brevity import cut
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.summary import Summary
from allalike.telling.truths import list_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers import Scan
    from allalike.readers.formats.tables import Table
    from allalike.serve.choices import Choices

__all__ = ["describe_error", "preview"]

_ROWS, _COLUMNS, _NAMES, _CELL = 6, 40, 2000, 80


def preview(files: Sequence[str], gold: str | None, choices: Choices) -> dict[str, Any]:
    r"""Read files as they are chosen to be read; say what was found, guessed and doubted, or what is to be answered.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from allalike.serve.choices import Choices
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("annotator,task,label\nada,1,x\nbob,1,x\n", encoding="utf-8")
    ...     found = preview([str(path)], None, Choices())
    >>> found["facts"], found["picked"]["worker"], found["rows"][0]
    (['2 answers', '2 workers', '1 task', 'categorical labels of 1 class'], 'annotator', ['ada', '1', 'x'])
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
        return {"what": _name_options(str(error)), "lines": [], "settles": {}}
    return {"what": _name_options(str(error.args[0])), "lines": list(error.lines), "settles": error.settles}


def _name_options(sentence: str) -> str:
    """Name the options of a sentence of the library as the page does."""
    return write_options(sentence, lambda name, value: f"{name} = {value}" if value else name)


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
    described = {**describe_answers(run), "domain": run.encoding.describe(), **run.notes}
    summary = Summary.from_dict({**described, "warnings": [doubt.what for doubt in doubts if not doubt.severe]})
    return {
        "facts": [*list_facts(summary), *([count(run.n_gold, "known truth")] if run.n_gold else [])],
        "domain": run.domain.name,
        "rule": str(run.domain.rule),
        "rules": [rule.name for rule in run.domain.rules],
        "methods": [name for name, method in METHODS.items() if method().serves(run.encoding)],
        "notes": [*(_name_options(remark.sentence) for remark in remark_answers(summary)), *summary.remarks],
        "doubts": [_name_options(remark.sentence) for remark in remark_doubts(summary)],
        "stops": [_name_options(doubt.what) for doubt in doubts if doubt.severe],
    }
