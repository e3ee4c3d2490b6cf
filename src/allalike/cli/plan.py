"""The command `allalike plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import Line, bar_after_a_second, fold, keep_whole, notes_for_warnings, rows, shorten, show
from allalike.cli.lists import echo_json
from allalike.cli.options import command, name_engine, option, take

if TYPE_CHECKING:
    from allalike.result.plan import AnswerPlan

_EXAMPLES = "\b\n" + "\n".join(
    (
        "allalike plan allalike-out --budget 200 --price 0.05",
        "allalike plan allalike-out --budget 200 --prices prices.csv --batch 50 -o plan.csv",
        "allalike plan allalike-out --budget 200 --min-gain 0.1",
    )
)
_N_SHOWN = 10  # answers
_MAX_ID = 30  # characters of an id


@command("plan", epilog=_EXAMPLES)
@click.argument("out")
@option("--budget", type=float, default=10.0, help="Budget, in the unit of the prices.", show_default=True)
@option("--price", type=float, help="Price of an answer, such as 0.05 (default: 1).")
@option(
    "--prices",
    help="Prices of workers: a CSV file with worker and price. Others are not asked, unless --price is given; 'anyone'"
    " is a new worker.",
)
@option("--batch", type=int, help="Number of answers to ask for now (default: the budget).")
@option("--max-per-worker", type=int, help="Maximum number of answers per worker (default: twice an equal share).")
@option(
    "--min-gain",
    type=float,
    default=0.0,
    help="Errors that a unit of money must save; answers below are not planned.",
    show_default=True,
)
@option("-o", "--output", group="Output", help="CSV file for the plan: task, worker, price, gain.")
@take("Large data")
@take("Tables", "Overwrite", "Output")
def plan_answers(
    out: str,
    budget: float,
    output: str | None,
    as_json: bool,
    quiet: bool,
    overwrite: bool,
    safe_csv: bool,
    **options: Any,
) -> None:
    """Plan the next answers: which worker for which task, and the expected gain.

    OUT is an output folder of 'allalike discover'. Answers are chosen by the uncertainty of the task, and by the error
    rate and price of the worker. No worker, and no copy group, answers a task twice. The expected error, before and
    after, is estimated from the crowd.
    """
    from allalike.result.targets import names_input, table_output
    from allalike.update import load

    if output is not None:  # before hours of work
        inputs = (Path(output),) if names_input(out, output) else ()
        table_output(output, inputs=inputs, overwrite=overwrite).check([Path(output).name])
    with notes_for_warnings(quiet=quiet, force=True), bar_after_a_second(quiet=quiet):
        result = load(out, engine=name_engine(options))
        how = {name: options[name] for name in ("price", "prices", "batch", "max_per_worker", "min_gain")}
        plan = result.plan(budget, **how)
        path = None if output is None else plan.save(output, overwrite=overwrite, safe_csv=safe_csv)
    if as_json:
        echo_json("plan", {**plan.summary, "answers": plan.table.to_dict("records"), "file": str(path or "")})
    elif not quiet:
        show([Line(line) for line in _text(plan, path, priced=options["prices"] is not None)])


def _text(plan: AnswerPlan, path: Path | None, *, priced: bool) -> list[str]:
    sentences = repr(plan).splitlines()
    if plan.summary["price"] is None and not priced:
        sentences.append("Each answer counts as 1 of the budget; --price 0.05 makes the budget money.")
    lines = [line for sentence in sentences for line in fold(sentence, "  ")]
    more = len(plan.table) - _N_SHOWN
    if len(plan.table):
        shown = plan.table.head(_N_SHOWN).map(
            lambda cell: f"{cell:.4g}" if isinstance(cell, float) else shorten(cell, _MAX_ID)
        )
        lines += ["", *rows([tuple(shown), *shown.itertuples(index=False, name=None)]).splitlines()]
    if more > 0:
        lines.append(f"... and {more:,} more{'' if path else ' (-o plan.csv writes all)'}")
    return [*lines, "", *fold(f"Written: {keep_whole(path)}", "  ")] if path else lines
