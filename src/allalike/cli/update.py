"""The command `allalike update`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from allalike.cli.console import bar_after_a_second, echo, note, notes_for_warnings, spool_input
from allalike.cli.lists import echo_json
from allalike.cli.options import command, dress, name_engine, option, take
from allalike.errors import OptionError
from allalike.result.messages import remark_doubts
from allalike.result.summary import Summary


@command()
@click.argument("out")
@click.argument("files", nargs=-1)
@option("--gold", help="Further truths that are known: a file with task and label.")
@option("--force", is_flag=True, help="Go on with answers that are hardly what was meant.")
@take("Output", "Large data")
def update(out: str, files: tuple[str, ...], force: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Add the answers in FILES to the result in OUT, and say what changed.

    OUT is the folder that 'allalike discover' wrote its result into. FILES are read as the first answers were: the same
    columns, options and kind of label. The new result takes the place of the old one, which stays until it is whole.

    It says which truths turned, which workers got better or worse beyond chance, and which copies are new; changes.csv
    has all of them, and the report a line for each time that answers came.
    """
    from allalike.result.messages import remark_changes
    from allalike.update import update as run

    if not files:
        example = shlex.join(["allalike", "update", out, "more.csv"])
        raise OptionError(f"No answers are given to add to {out}. Name their files, for example with: {example}")
    files = spool_input(files, options)
    with notes_for_warnings(quiet=quiet, force=force), bar_after_a_second(quiet=quiet):
        result = run(out, list(files), gold=options["gold"], engine=name_engine(options))
    told = Summary.from_dict(result.summary)
    if not quiet:
        for remark in remark_doubts(told):
            note(f"Note: {dress(remark)}")
    if as_json:
        echo_json("update", result.summary)
    elif not quiet:
        echo("\n".join(dress(remark) for remark in remark_changes(told)))
        echo(f"Now there are {told.answers:,} answers of {told.workers:,} workers to {told.tasks:,} tasks in {out}.")
