"""The command `python -m paper`: the tables and figures of the paper, beside what it prints."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import echo, progress_and_notes, rows
from allalike.cli.options import take

if TYPE_CHECKING:
    from paper.reproduction import Reproduction

__all__ = ["reproduce"]


def _list(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Say which tables and figures there are, and stop."""
    if asked:
        from paper.reproduction import ITEMS

        echo(rows(ITEMS.items(), indent=""))
        context.exit()


@click.command
@click.argument("names", metavar="[TABLE|FIGURE]...", nargs=-1)
@click.option("--repetitions", type=int, default=1000, help="How often experiments are repeated.", show_default=True)
@click.option("--jobs", type=int, help="How many processes. By default one for each core.")
@click.option("-o", "--output", default="reproduction", help="The folder for all files.", show_default=True)
@click.option("--as-labelled", is_flag=True, help="Take labels and captions of the paper as they are, slips and all.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List what there is.")
@take("Output")
def reproduce(
    names: tuple[str, ...],
    repetitions: int,
    jobs: int | None,
    output: str,
    as_labelled: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make the tables and figures of the paper again.

    Each number stands beside the one that the paper prints. Without names, everything is made that the data here
    allow; 'python -m paper --list' lists the names. What was computed is kept, so that an interrupted run goes on
    where it stopped.
    """
    from paper.reproduction import reproduce as run

    try:
        with progress_and_notes({"quiet": quiet}):
            made = run(names, folder=output, repetitions=repetitions, jobs=jobs, as_labelled=as_labelled)
    except KeyboardInterrupt:
        echo(f"allalike: Interrupted. {_how_to_go_on(output)}", err=True)
        sys.exit(1)
    if as_json:
        echo(json.dumps(_record(made), indent=2, ensure_ascii=False))
    elif not quiet:
        echo(_text(made))


def _how_to_go_on(output: str) -> str:
    return f"What was computed is in {shlex.quote(output)}; the same command goes on from there."


def _record(made: Reproduction) -> dict[str, Any]:
    files = list(map(str, made.files))
    return {"page": str(made.page), "tables": made.counts, "missing": made.missing, "files": files}


def _text(made: Reproduction) -> str:
    lines = []
    if made.counts:
        heads = list(next(iter(made.counts.values())))
        table = [("", *heads), *((name, *count.values()) for name, count in made.counts.items())]
        lines += ["Numbers that are so many points from the paper's:", "", rows(table), ""]
    if made.missing:
        lines.append(f"No data here for {', '.join(made.missing)}; 'allalike datasets show NAME' says how to get them.")
    lines.append(f"Written: {made.page}, and {len(made.files) - 1} more files beside it.")
    return "\n".join(lines)
