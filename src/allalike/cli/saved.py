"""The commands on a saved result: `allalike explain`, `allalike plan` and `allalike update`."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import (
    WIDTH,
    echo,
    fold,
    keep_whole,
    note,
    progress_and_notes,
    rows,
    shorten,
    spool_input,
    visible,
)
from allalike.cli.lists import echo_json
from allalike.cli.options import command, format_message, name_engine, option, take
from allalike.errors import OptionError
from allalike.result.messages import describe_changes, describe_warnings, format_counts
from allalike.result.summary import Summary

if TYPE_CHECKING:
    import pandas as pd

    from allalike.result.explain import TaskExplanation, WorkerExplanation
    from allalike.result.plan import AnswerPlan

_EXAMPLES = "\b\n" + "\n".join(
    (
        "allalike plan allalike-out --budget 20 --price 0.05",
        "allalike plan allalike-out --budget 20 --prices prices.csv --batch 50 -o plan.csv",
        "allalike plan allalike-out --budget 20 --min-gain 0.1",
    )
)
_N_ANSWERS, _N_PLANNED = 20, 10  # rows of a table
_CELL_WIDTHS = (40, 30, 20, 16, 12, 8, 6)  # maximum lengths of an id or label; the first that fits is used
_TITLES = {"effective_answers": "effective", "copy_group": "group", "if_left_out": "left out", "if_changed": "changed"}


def _draw_table(table: pd.DataFrame, most: int) -> list[str]:
    """Return the first rows of a table, with ids and labels shortened to the width."""
    heads = tuple(_TITLES.get(str(name), str(name)) for name in table.columns)
    cells = table.head(most).itertuples(index=False, name=None)
    shown = [[_write(value) for value in row] for row in cells]
    lines: list[str] = []
    for width in _CELL_WIDTHS:
        lines = rows([heads, *([shorten(text, width) for text in row] for row in shown)]).split("\n")
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def _write(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return {True: "yes", False: "-"}[value] if isinstance(value, bool) else " ".join(visible(value).split())


@command(context_settings={"ignore_unknown_options": True})  # an id may be -7
@click.argument("out")
@click.argument("kind", metavar="task|worker", type=click.Choice(["task", "worker"]))
@click.argument("name", metavar="ID", type=click.UNPROCESSED)
@take("Output", "Large data")
def explain(out: str, kind: str, name: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Explain the label of a task, or the quality of a worker.

    OUT is an output folder of 'allalike discover'. For a task, the output lists all answers with their weights, the
    margin, and the answers whose change would change the label. For a worker, it lists the most and least similar
    workers, flags, the largest disagreements, and the effect of removing the worker.
    """
    from allalike.update import load

    with progress_and_notes({"quiet": quiet}, force=True):
        found = load(out, engine=name_engine(options)).explain(**{kind: name})
    if as_json:
        echo_json("explain", found.summary())
    elif not quiet:
        echo("\n".join(_draw_explanation(found)))


def _draw_explanation(found: TaskExplanation | WorkerExplanation) -> list[str]:
    from allalike.result.explain import TaskExplanation

    lines = [line for sentence in found.sentences() for line in wrap(visible(sentence), WIDTH)]
    if isinstance(found, TaskExplanation):
        table, title = found.answers, "Answers, and the shift of the label without each:"
        if "effective_answers" not in table or (table["effective_answers"] == 1).all():
            table = table.drop(columns=["effective_answers", "copy_group"], errors="ignore")
        if "moves" not in table:
            table, title = table.drop(columns=["distance"], errors="ignore"), "Answers, and their effect on the label:"
    else:
        table, title = found.disagreements.drop(columns=["distance"]), "Largest disagreements:"
    more = len(table) - _N_ANSWERS
    lines += ["", title, *_draw_table(table, _N_ANSWERS)] if len(table) else []
    return [*lines, *([f"  ... and {more:,} more"] if more > 0 else [])]


@command("plan", epilog=_EXAMPLES)
@click.argument("out")
@option("--budget", type=float, default=10.0, help="Budget, in the unit of the prices.", show_default=True)
@option("--price", type=float, help="Price of an answer, such as 0.05 (default: 1).")
@option("--prices", help="CSV file with worker and price ('anyone': a new worker).")
@option("--batch", type=int, help="Number of answers in this batch (default: the budget).")
@option("--max-per-worker", type=int, help="Maximum number of answers per worker (default: twice an equal share).")
@option("--min-gain", type=float, default=0.0, help="Minimum gain in errors per unit of money.", show_default=True)
@option("-o", "--output", group="Output", help="CSV file for the plan: task, worker, price, gain.")
@take("Large data")
@take("Tables", "Overwrite", "Output")
def plan_answers(out: str, output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Plan the next answers: which worker for which task, and the expected gain.

    OUT is an output folder of 'allalike discover'. Answers are chosen according to the uncertainty of the task and the
    error rate and price of the worker. Each worker or copy group answers a task at most once. The expected error before
    and after these answers is estimated from the crowd.
    """
    from allalike.result.saving import names_input, table_output
    from allalike.update import load

    if output is not None:  # before a long run
        inputs = (Path(output),) if names_input(out, output) else ()
        table_output(output, inputs=inputs, overwrite=options["overwrite"]).check([Path(output).name])
    with progress_and_notes({"quiet": quiet}, force=True):
        result = load(out, engine=name_engine(options))
        how = {name: options[name] for name in ("price", "prices", "batch", "max_per_worker", "min_gain")}
        plan = result.plan(options["budget"], **how)
        saved = {name: options[name] for name in ("overwrite", "safe_csv")}
        path = None if output is None else plan.save(output, **saved)
    if as_json:
        echo_json("plan", {**plan.summary, "answers": plan.table.to_dict("records"), "file": str(path or "")})
    elif not quiet:
        echo("\n".join(_draw_plan(plan, path, priced=options["prices"] is not None)))


def _draw_plan(plan: AnswerPlan, path: Path | None, *, priced: bool) -> list[str]:
    sentences = repr(plan).splitlines()
    if plan.facts.price is None and not priced:
        sentences.append("Each answer costs 1. To set a price per answer, use --price 0.05.")
    if (plan.table["worker"] == "anyone").any():
        sentences.append("'anyone' is a worker who is not in the result yet.")
    lines = [line for sentence in sentences for line in fold(sentence, "  ")]
    lines += ["", *_draw_table(plan.table, _N_PLANNED)] if len(plan.table) else []
    more = len(plan.table) - _N_PLANNED
    lines += [f"... and {more:,} more{'' if path else ' (-o plan.csv writes all)'}"] if more > 0 else []
    return [*lines, "", *fold(f"Written: {keep_whole(path)}", "  ")] if path else lines


@command()
@click.argument("out")
@click.argument("files", nargs=-1)
@option("--gold", help="Further gold labels: a file with task and label.")
@option("--force", is_flag=True, help="Continue despite data warnings.")
@take("Output", "Large data")
def update(out: str, files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Add the answers in FILES to the result in OUT, and list changes.

    OUT is an output folder of 'allalike discover'. FILES are read like the first answers: same columns, options and
    label type. The new result replaces the old one atomically.

    The list contains changed labels, workers who became significantly better or worse, and new copy groups.
    changes.csv has the complete list.
    """
    from allalike.update import update as run

    if not files:
        example = shlex.join(["allalike", "update", out, "more.csv"])
        raise OptionError(f"No files with answers to add to {out}. Name them, for example: {example}")
    files = spool_input(files, options)
    with progress_and_notes({**options, "quiet": quiet}):
        result = run(out, list(files), gold=options["gold"], engine=name_engine(options))
    summary = Summary.from_dict(result.summary)
    if not quiet:
        for remark in describe_warnings(summary):
            note(f"Note: {format_message(remark)}")
    if as_json:
        echo_json("update", result.summary)
    elif not quiet:
        echo("\n".join(map(format_message, describe_changes(summary))))
        echo(f"{out} now has {format_counts(*summary.counts)}.")
