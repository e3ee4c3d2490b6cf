"""The command `allalike discover`."""

from __future__ import annotations

import json
from typing import Any

import click

from allalike.cli.console import bar_after_a_second, notes_for_warnings
from allalike.cli.text import guesses, report_text
from allalike.errors import OptionError

__all__ = ["discover"]


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="allalike-out",
    help="The folder for truth, workers and summary.",
    show_default=True,
)
@click.option("--domain", help="The kind of label, such as real or 'categorical(classes=4)'. Guessed if not given.")
@click.option("--distance", help="How far two labels are apart; 'allalike domains' lists what each kind has.")
@click.option("--rule", help="How a task's labels become one; 'allalike rules' lists them.")
@click.option(
    "--method",
    default="iP-TD",
    help="How workers are weighed, such as 'P-TD-AK(ridge=4)'.",
    show_default=True,
)
@click.option("--per-task", is_flag=True, help="Make every task a problem of its own, with its own weights.")
@click.option("--columns", help="Which column is which: worker=...,task=...,label=... . Recognised if not given.")
@click.option("--wide", help="The file is a matrix: one row per task ('tasks') or one row per worker ('workers').")
@click.option(
    "--repeats",
    default="first",
    help="A worker's repeated answers to a task: first, last or error.",
    show_default=True,
)
@click.option("--missing", default="error", help="Rows without a label: error or drop.", show_default=True)
@click.option("--engine", default="memory", help="Where it runs.", show_default=True)
@click.option("--gold", help="Known truths: a file with the columns task and label.")
@click.option("--seed", type=int, default=0, help="Which draw to take among tied labels.", show_default=True)
@click.option("--ties", default="random", help="Among tied labels: random (by the seed) or first.", show_default=True)
@click.option("--format", "file_format", default="csv", help="The tables: csv or parquet.", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors (and JSON, where asked for).")
def discover(
    files: tuple[str, ...],
    columns: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the truth in FILES, and how good each worker is.

    FILES are CSV, TSV, JSON, JSON lines, Parquet or PrefLib .soc files, patterns such as 'answers/*.csv', or a folder
    of masks.
    """
    from allalike.discovery import discover as run
    from allalike.engines import ENGINES
    from allalike.methods import METHODS
    from allalike.progress import report
    from allalike.readers import read_with
    from allalike.registry import check_choice, make
    from allalike.result import FORMATS

    file_format = check_choice(options["file_format"], FORMATS, "--format")
    method, engine = make(options["method"], METHODS, "method"), make(options["engine"], ENGINES, "engine")
    choices = {name: options[name] for name in ("distance", "rule") if options[name] is not None}
    reading = {name: options[name] for name in ("wide", "repeats", "missing", "domain")}
    with notes_for_warnings(quiet=quiet), bar_after_a_second(quiet=quiet):
        answers = read_with(choices, list(files), columns=_roles(columns), **reading)
        answers = answers.per_task() if options["per_task"] else answers
        known = {name: options[name] for name in ("gold", "seed", "ties")}
        result = run(answers, method=method, engine=engine, **known)
        report("saving")
        paths = result.save(options["output"], format=file_format)
    if not quiet:
        for line in guesses(result):
            click.echo(line, err=True)
    if as_json:
        click.echo(json.dumps({**result.summary, "files": list(map(str, paths))}, indent=2, ensure_ascii=False))
    elif not quiet:
        click.echo(report_text(result, paths))


def _roles(columns: str | None) -> dict[str, str]:
    """Read worker=...,task=...,label=... .

    >>> _roles("worker=who, label=what")
    {'worker': 'who', 'label': 'what'}
    """
    pairs = {}
    for part in columns.split(",") if columns else ():
        role, equals, name = part.partition("=")
        if not equals:
            raise OptionError(f"--columns is {columns!r}. Write it as worker=...,task=...,label=... .")
        pairs[role.strip()] = name.strip()
    return pairs
