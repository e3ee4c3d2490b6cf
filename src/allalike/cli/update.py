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
@option("--gold", help="Further gold labels: a file with task and label.")
@option("--force", is_flag=True, help="Continue despite data warnings.")
@take("Output", "Large data")
def update(out: str, files: tuple[str, ...], force: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Add the answers in FILES to the result in OUT, and list changes.

    OUT is an output folder of 'allalike discover'. FILES are read like the first answers: same columns, options and
    label type. The new result replaces the old one atomically.

    Changes are changed labels, workers who became significantly better or worse, and new copy groups. changes.csv
    contains all of them.
    """
    from allalike.result.messages import remark_changes, say_counts
    from allalike.update import update as run

    if not files:
        example = shlex.join(["allalike", "update", out, "more.csv"])
        raise OptionError(f"No answers to add to {out}. Name their files, for example: {example}")
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
        echo(f"{out} now has {say_counts(*told.counts)}.")
