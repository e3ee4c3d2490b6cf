"""The command `allalike compare`."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.console import bar_after_a_second, echo, notes_for_warnings, rows, spool_input, visible
from allalike.cli.discover import choose_label
from allalike.cli.lists import echo_json
from allalike.cli.options import (
    list_notes,
    name_answers,
    name_engine,
    open_answers,
    take_print_options,
    take_read_options,
    take_solve_options,
    take_table_options,
    take_write_options,
    write_flags,
)
from allalike.telling.summary import Summary
from allalike.telling.truths import say_counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike.result.comparison import Comparison

_MAX_MATRIX_METHODS = 12
_MAX_DECIMALS = 7


@click.command(no_args_is_help=True)
@click.option("--methods", help="Which to compare, such as 'P-TD,iP-TD(max_iter=3)'. By default all that can serve.")
@click.option("-o", "--output", help="A CSV file for the table.")
@take_read_options
@take_solve_options
@take_table_options
@take_write_options
@take_print_options
def compare(
    files: tuple[str, ...],
    methods: str | None,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run every method on FILES, and rank them.

    With --gold they are ranked by their error, and without by how much they agree with each other. FILES are as in
    'allalike discover'. UA, the unweighted answer, always is among them.
    """
    from allalike.api.compare import compare as run
    from allalike.result.inputs.opening import inputs_of
    from allalike.result.targets import table_output

    files = spool_input(files, options)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        answers, gold = open_answers(choose_label(name_answers(files, options), options["label"]), options)
        known = {**gold, "seed": options["seed"], "ties": options["ties"]}
        if output is not None:
            inputs = inputs_of(answers, options["gold"])
            table_output(output, inputs=inputs, overwrite=overwrite).check([Path(output).name])  # before hours of work
        found = run(answers, methods=methods, engine=name_engine(options), **known)
        _ = found.rows
        written = (
            {}
            if output is None
            else {"file": str(found.save(output, overwrite=overwrite, safe_csv=options["safe_csv"]))}
        )
    if not quiet:
        for line in _notes(found):
            echo(line, err=True)
    if as_json:
        echo_json("compare", {**_record(found), **written})
    elif not quiet:
        echo("\n".join([*_text(found), *(["", f"Written: {visible(written['file'])}"] if written else [])]))


def _record(found: Comparison) -> dict[str, Any]:
    agreement = {} if found.ranked_by == "error" else {"agreement": _matrices(found)}
    return {**found.summary, "methods": found.rows, **agreement}


def _matrices(found: Comparison) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return how much each method agrees with each, with None for what is not known."""
    names = list(found.agreement.index)
    matrices: dict[str, Any] = {}
    for measure in ("same", "distance"):
        values = found.agreement[measure].to_numpy().tolist()
        known = [[None if math.isnan(value) else value for value in row] for row in values]
        matrices[measure] = {name: dict(zip(names, row, strict=True)) for name, row in zip(names, known, strict=True)}
    return matrices


def _notes(found: Comparison) -> list[str]:
    """Say what was guessed or set aside, and what did not go well."""
    lines = list_notes(Summary.from_dict(found.summary))
    stopped = [row["method"] for row in found.rows if row["converged"] is False]
    if stopped:
        lines.append(f"Note: stopped at the limit of rounds, and more may change the weights: {', '.join(stopped)}.")
    failed = {row["method"]: visible(write_flags(row["note"])) for row in found.rows if row["converged"] is None}
    return [*lines, *(f"Note: {method} failed: {reason}" for method, reason in failed.items())]


def _text(found: Comparison) -> list[str]:
    summary = Summary.from_dict(found.summary)
    lines = [
        f"{say_counts(*summary.counts)} ({summary.domain.name} labels, distance {summary.domain.distance}).",
        *(_by_error(found) if found.ranked_by == "error" else _by_agreement(found)),
    ]
    if summary.not_served:
        lines += ["", f"Not for such labels: {', '.join(summary.not_served)}."]
    return lines


def _by_error(found: Comparison) -> list[str]:
    columns = [
        _left("method", _cells(found, "method")),
        _right("error", _decimals(_cells(found, "error"))),
        _right("change %", _signed(_cells(found, "change"))),
        _right("RI %", _signed(_cells(found, "RI"))),
        _left("verdict", _cells(found, "verdict")),
        _right("seconds", [f"{value:.3f}" for value in _cells(found, "seconds")]),
    ]
    number = len(next(iter(found.distances.values())))
    tasks = count(number, "task")
    oracle = " OA knows the gold." if "oracle" in _cells(found, "verdict") else ""
    return [
        f"Error against the gold of {tasks}; change and RI against UA, negative is better.{oracle}",
        "",
        rows(zip(*columns, strict=True)),
        "",
        "worse: the error is larger than that of the best, by a paired t-test at 95 %.",
        f"tie: {tasks} with gold do{'es' if number == 1 else ''} not show a difference; with more there may be one.",
    ]


def _by_agreement(found: Comparison) -> list[str]:
    columns = [
        _left("method", _cells(found, "method")),
        _right("same label", _shares(_cells(found, "same"))),
        _right("distance", _decimals(_cells(found, "distance"))),
        _right("seconds", [f"{value:.3f}" for value in _cells(found, "seconds")]),
    ]
    return [
        "No gold is given (--gold FILE): this is how much each method agrees with the others, on average.",
        "Methods that agree may be wrong together.",
        "",
        rows(zip(*columns, strict=True)),
        *_matrix(found),
    ]


def _matrix(found: Comparison) -> list[str]:
    """Show how much each method agrees with each, if there is room."""
    matrix = _matrices(found)[found.ranked_by]
    if not 2 < len(matrix) <= _MAX_MATRIX_METHODS:
        return []
    title, write = _MEASURES[found.ranked_by]
    cells = write([value for row in matrix.values() for value in row.values()])
    columns = [_right(name, cells[place :: len(matrix)]) for place, name in enumerate(matrix)]
    text = rows(zip(_left("", matrix), *columns, strict=True))
    fits = max(map(len, text.splitlines())) <= shutil.get_terminal_size().columns
    return ["", title, "", text] if fits else []


def _cells(found: Comparison, column: str) -> list[Any]:
    return [row[column] for row in found.rows]


def _left(title: str, cells: Iterable[str]) -> list[str]:
    return [title, *cells]


def _right(title: str, cells: Iterable[str]) -> list[str]:
    column = [title, *cells]
    width = max(map(len, column))
    return [cell.rjust(width) for cell in column]


def _signed(values: Iterable[float | None]) -> list[str]:
    """Write percentages with their sign, which nothing has not.

    >>> _signed([12.34, -5.0, -1e-9, 0.0, None])
    ['+12.3', '-5.0', '0.0', '0.0', '']
    """
    return ["" if value is None else f"{value:+.1f}" if abs(value) >= 0.05 else "0.0" for value in values]


def _shares(values: Iterable[float | None]) -> list[str]:
    return ["" if value is None else f"{100 * value:.1f} %" for value in values]


def _decimals(values: Iterable[float | None]) -> list[str]:
    """Write numbers with as many decimals as give the largest one four digits.

    >>> _decimals([0.25, None, 12.5])
    ['0.25', '', '12.50']
    """
    listed = list(values)
    largest = max((value for value in listed if value is not None), default=0.0)
    digits = max(0, 3 - math.floor(math.log10(largest))) if largest else 0
    form = f".{digits}f" if digits <= _MAX_DECIMALS else ".3e"
    return ["" if value is None else f"{value:{form}}" for value in listed]


_MEASURES = {
    "same": ("Share of tasks with the same label:", _shares),
    "distance": ("Mean distance between truths:", _decimals),
}
