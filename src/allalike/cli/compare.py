"""The command `allalike compare`."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.cli.console import bar_after_a_second, echo, notes_for_warnings, rows, spool_input, visible
from allalike.cli.discover import choose_label
from allalike.cli.lists import echo_json, plain
from allalike.cli.options import command, list_notes, name_answers, name_engine, open_answers, option, take, write_flags
from allalike.result.messages import say_counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike.compare import Comparison

_MAX_MATRIX_METHODS = 12
_MAX_DECIMALS = 7


@command()
@take("Input", "Columns", "Gold", files=True)
@option("--methods", group="Method", help="Methods, such as 'P-TD,iP-TD(max_iter=3)' (default: all that can serve).")
@take("Method")
@option("-o", "--output", group="Output", help="CSV file for the table.")
@take("Tables", "Overwrite", "Output", "Large data")
def compare(
    files: tuple[str, ...],
    methods: str | None,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run all methods on FILES and rank them.

    With --gold they are ranked by their error, otherwise by their agreement with each other. FILES are as in 'allalike
    discover'. UA, the unweighted answer, is always included.
    """
    from allalike.compare import compare as run
    from allalike.result.targets import table_output
    from allalike.sources import inputs_of

    files = spool_input(files, options)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        answers, gold = open_answers(choose_label(name_answers(files, options), options["label"]), options)
        if output is not None:
            inputs = inputs_of(answers, options["gold"])
            table_output(output, inputs=inputs, overwrite=overwrite).check([Path(output).name])  # before hours of work
        known = {**gold, "seed": options["seed"], "ties": options["ties"]}
        found = run(answers, methods=methods, engine=name_engine(options), **known)
        table = found.rows
        path = None if output is None else found.save(output, overwrite=overwrite, safe_csv=options["safe_csv"])
    if not quiet:
        for line in list_notes(found.facts):
            echo(line, err=True)
        if stopped := [row["method"] for row in table if row["converged"] is False]:
            echo(
                f"Note: stopped at the limit of rounds, and more may change the weights: {', '.join(stopped)}.",
                err=True,
            )
        for row in table:
            if row["converged"] is None:
                echo(f"Note: {row['method']} failed: {visible(write_flags(row['note']))}", err=True)
    if as_json:
        agreement = {} if found.ranked_by == "error" else {"agreement": _list_matrices(found)}
        written = {} if path is None else {"file": str(path)}
        echo_json("compare", {**found.summary, "methods": table, **agreement, **written})
    elif not quiet:
        echo("\n".join([*_text(found), *([] if path is None else ["", f"Written: {visible(path)}"])]))


def _list_matrices(found: Comparison) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return how much each pair of methods agrees."""
    names = list(found.agreement.index)
    matrices = {measure: found.agreement[measure].to_numpy().tolist() for measure in ("same", "distance")}
    return {
        measure: {name: dict(zip(names, plain(row), strict=True)) for name, row in zip(names, matrix, strict=True)}
        for measure, matrix in matrices.items()
    }


def _text(found: Comparison) -> list[str]:
    facts = found.facts
    lines = [f"{say_counts(*facts.counts)} ({facts.domain.name} labels, distance {facts.domain.distance})."]
    columns = {name: [row[name] for row in found.rows] for name in found.rows[0]}
    shown = [["method", *columns["method"]]]
    if found.ranked_by == "error":
        tasks = count(len(next(iter(found.distances.values()))), "task")
        oracle = " OA knows the gold." if "oracle" in columns["verdict"] else ""
        head = [f"Error against the gold of {tasks}; change and RI against UA, negative is better.{oracle}"]
        shown += [_right("error", _decimals(columns["error"])), _right("change %", _signed(columns["change"]))]
        shown += [_right("RI %", _signed(columns["RI"])), ["verdict", *columns["verdict"]]]
        do = "does" if tasks.startswith("1 ") else "do"
        tail = [
            "",
            "worse: the error is larger than that of the best, by a paired t-test at 95 %.",
            f"tie: {tasks} with gold {do} not show a difference; with more there may be one.",
        ]
    else:
        head = [
            "No gold is given (--gold FILE): this is how much each method agrees with the others, on average.",
            "Methods that agree may be wrong together.",
        ]
        shown += [_right("same label", _shares(columns["same"])), _right("distance", _decimals(columns["distance"]))]
        tail = _matrix(found)
    shown.append(_right("seconds", [f"{value:.3f}" for value in columns["seconds"]]))
    lines += [*head, "", rows(zip(*shown, strict=True)), *tail]
    return [*lines, *(["", f"Not for such labels: {', '.join(facts.not_served)}."] if facts.not_served else [])]


def _matrix(found: Comparison) -> list[str]:
    """Show how much each pair of methods agrees, if there is room."""
    matrix = _list_matrices(found)[found.ranked_by]
    if not 2 < len(matrix) <= _MAX_MATRIX_METHODS:
        return []
    same = found.ranked_by == "same"
    title = "Share of tasks with the same label:" if same else "Mean distance between truths:"
    cells = (_shares if same else _decimals)([value for row in matrix.values() for value in row.values()])
    columns = [_right(name, cells[place :: len(matrix)]) for place, name in enumerate(matrix)]
    text = rows(zip(["", *matrix], *columns, strict=True))
    fits = max(map(len, text.splitlines())) <= shutil.get_terminal_size().columns
    return ["", title, "", text] if fits else []


def _right(title: str, cells: Iterable[str]) -> list[str]:
    column = [title, *cells]
    width = max(map(len, column))
    return [cell.rjust(width) for cell in column]


def _signed(values: Iterable[float | None]) -> list[str]:
    """Format percentages with their sign; zero has none.

    >>> _signed([12.34, -5.0, -1e-9, 0.0, None])
    ['+12.3', '-5.0', '0.0', '0.0', '']
    """
    return ["" if value is None else f"{value:+.1f}" if abs(value) >= 0.05 else "0.0" for value in values]


def _shares(values: Iterable[float | None]) -> list[str]:
    return ["" if value is None else f"{100 * value:.1f} %" for value in values]


def _decimals(values: Iterable[float | None]) -> list[str]:
    """Format numbers with as many decimals as give the largest one four digits.

    >>> _decimals([0.25, None, 12.5])
    ['0.25', '', '12.50']
    """
    listed = list(values)
    largest = max((value for value in listed if value is not None), default=0.0)
    digits = max(0, 3 - math.floor(math.log10(largest))) if largest else 0
    form = f".{digits}f" if digits <= _MAX_DECIMALS else ".3e"
    return ["" if value is None else f"{value:{form}}" for value in listed]
