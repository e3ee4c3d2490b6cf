"""The command `allalike discover`."""

from __future__ import annotations

import json
from typing import Any

import click

from allalike.cli.console import bar_after_a_second, echo, notes_for_warnings
from allalike.cli.options import (
    name_answers,
    name_engine,
    take_print_options,
    take_read_options,
    take_solve_options,
    take_write_options,
)
from allalike.cli.standard_input import spool_input
from allalike.cli.text import guesses, report_text

__all__ = ["discover"]


@click.command(no_args_is_help=True)
@click.option(
    "-o",
    "--output",
    default="allalike-out",
    help="The folder for truth, workers and summary.",
    show_default=True,
)
@click.option(
    "--method",
    default="auto",
    help="How truths are found, such as 'P-TD-AK(ridge=4)'.",
    show_default=True,
)
@click.option("--history", help="What is known of workers: the workers.csv of an earlier result.")
@click.option("--plain", is_flag=True, help="Let copies and workers without signal speak like everybody.")
@take_read_options
@take_solve_options
@click.option("--min-confidence", type=float, help="How sure a truth must be, from 0 to 1; less sure ones stay empty.")
@click.option("--format", "file_format", default="csv", help="The tables: csv or parquet.", show_default=True)
@click.option("--to", multiple=True, help="Write it for another tool, too: label-studio, coco or crowd-kit.")
@take_write_options
@take_print_options
def discover(
    files: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the truth in FILES, and how good each worker is.

    FILES are text with columns, JSON, JSON lines, Parquet, Arrow, Excel or PrefLib .soc files, packed or not, patterns
    such as 'answers/*.csv', a folder of masks or of Parquet files, or - for standard input.

    The result is there whole or not at all. It takes the place of an earlier result in the same folder; other files in
    it stay, and of the same name only --overwrite replaces them.
    """
    from allalike.api.discover import discover as run
    from allalike.api.targets import find_writers, inputs_of, result_names, result_output, written_names
    from allalike.methods import METHODS
    from allalike.options import check_choice
    from allalike.registry import make
    from allalike.system.progress import report
    from allalike.system.tables import FORMATS

    files = spool_input(files, options)
    file_format = check_choice(options["file_format"], FORMATS, "--format")
    method, engine = make(options["method"], METHODS, "method"), name_engine(options)
    with notes_for_warnings(quiet=quiet), bar_after_a_second(quiet=quiet):
        known = {name: options[name] for name in ("gold", "history", "plain", "seed", "ties", "min_confidence")}
        answers = name_answers(files, options)
        output = result_output(
            options["output"],
            inputs=inputs_of(answers, options["gold"], options["history"]),
            overwrite=options["overwrite"],
        )
        further = written_names(find_writers(options["to"]).values())
        output.check([*result_names(file_format), *further])  # before hours of work
        result = run(answers, method=method, engine=engine, **known)
        report("saving")
        paths = result.save(options["output"], format=file_format, to=options["to"], overwrite=options["overwrite"])
    if not quiet:
        for line in guesses(result.summary):
            echo(line, err=True)
    if as_json:
        echo(json.dumps({**result.summary, "files": list(map(str, paths))}, indent=2, ensure_ascii=False))
    elif not quiet:
        echo(report_text(result, paths))
