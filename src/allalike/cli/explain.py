"""The command `allalike explain`."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import bar_after_a_second, echo, notes_for_warnings, rows, visible
from allalike.cli.lists import echo_json
from allalike.cli.options import command, name_engine, take

if TYPE_CHECKING:
    import pandas as pd

    from allalike.result.explanations import TaskExplanation, WorkerExplanation

_WIDTH = 80
_N_ANSWERS = 20  # rows of a table
_CELL_WIDTHS = (40, 30, 20, 16, 12, 8)  # characters of an id or label, of which the first is taken that fits
_TITLES = {"effective_answers": "effective", "copy_group": "group", "if_left_out": "left out", "if_changed": "changed"}


@command(context_settings={"ignore_unknown_options": True})  # an id may be -7
@click.argument("out")
@click.argument("kind", metavar="task|worker", type=click.Choice(["task", "worker"]))
@click.argument("name", metavar="ID", type=click.UNPROCESSED)
@take("Output", "Large data")
def explain(out: str, kind: str, name: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Explain the label of a task, or the quality of a worker.

    OUT is an output folder of 'allalike discover'. For a task: all answers with their weights, the margin, and the
    answers whose change would change the label. For a worker: the most and least similar workers, flags, the largest
    disagreements, and the effect of removing the worker.
    """
    from allalike.update import load

    with notes_for_warnings(quiet=quiet, force=True), bar_after_a_second(quiet=quiet):
        found = load(out, engine=name_engine(options)).explain(**{kind: name})
    if as_json:
        echo_json("explain", found.summary())
    elif not quiet:
        echo("\n".join(_text(found)))


def _text(found: TaskExplanation | WorkerExplanation) -> list[str]:
    lines = [line for sentence in found.sentences() for line in wrap(visible(sentence), _WIDTH)]
    for title, table in _tables(found):
        if len(table):
            lines += ["", *wrap(title, _WIDTH), _fitted(table.head(_N_ANSWERS))]
            lines += [f"  ... and {len(table) - _N_ANSWERS:,} more"] if len(table) > _N_ANSWERS else []
    return lines


def _tables(found: TaskExplanation | WorkerExplanation) -> list[tuple[str, pd.DataFrame]]:
    from allalike.result.explanations import TaskExplanation

    if not isinstance(found, TaskExplanation):
        return [("Largest disagreements:", found.disagreements.drop(columns=["distance"]))]
    answers = found.answers
    alone = "effective_answers" not in answers or (answers["effective_answers"] == 1).all()
    moves = "moves" in answers
    hidden = {"effective_answers", "copy_group"} if alone else set()
    title = "Answers, and how far the label moves without each:"
    if not moves:
        hidden |= {"distance"}
        title = "Answers, and whether leaving out or changing each would change the label:"
    return [(title, answers.drop(columns=[name for name in answers.columns if name in hidden]))]


def _fitted(table: pd.DataFrame) -> str:
    """Return a table that fits, with ids and labels as long as can be."""
    texts = (rows(_cells(table, width)) for width in _CELL_WIDTHS)
    return next((text for text in texts if max(map(len, text.split("\n"))) <= _WIDTH), rows(_cells(table, 6)))


def _cells(table: pd.DataFrame, longest: int) -> list[list[str]]:
    """Return a table as texts, with numbers to the right."""
    columns = []
    for name in table.columns:
        texts = [_cell(value, longest) for value in table[name].tolist()]
        title = _TITLES.get(name, name)
        width = max(len(title), *map(len, texts))
        numeric = table[name].dtype.kind in "fi"
        columns.append([text.rjust(width) if numeric else text for text in (title, *texts)])
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Any, longest: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "-"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    text = visible(value if isinstance(value, str) else " ".join(str(value).split()))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
