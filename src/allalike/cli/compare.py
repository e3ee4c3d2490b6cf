"""The command `allalike compare`."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.cli.console import echo, progress_and_notes, rows, spool_input, visible
from allalike.cli.discover import choose_label
from allalike.cli.lists import echo_json
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
def compare(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Run all methods on FILES and rank them.

    With --gold they are ranked by their error, otherwise by their agreement with each other. FILES are as in 'allalike
    discover'. UA, the unweighted answer, is always included.
    """
    from allalike.compare import compare as run
    from allalike.result.targets import table_output
    from allalike.sources import inputs_of

    files, output, overwrite = spool_input(files, options), options["output"], options["overwrite"]
    with progress_and_notes({**options, "quiet": quiet}):
        answers, gold = open_answers(choose_label(name_answers(files, options), options["label"]), options)
        if output is not None:
            inputs = inputs_of(answers, options["gold"])
            table_output(output, inputs=inputs, overwrite=overwrite).check([Path(output).name])  # before hours of work
        how = {**gold, **{name: options[name] for name in ("seed", "ties", "methods")}}
        found = run(answers, engine=name_engine(options), **how)
        path = None if output is None else found.save(output, overwrite=overwrite, safe_csv=options["safe_csv"])
    if not quiet:
        for line in _list_notes(found):
            echo(line, err=True)
    if as_json:
        agreement = {} if found.ranked_by == "error" else {"agreement": _list_matrices(found)}
        written = {} if path is None else {"file": str(path)}
        echo_json("compare", {**found.summary, "methods": found.rows, **agreement, **written})
    elif not quiet:
        echo("\n".join([*_draw(found), *([] if path is None else ["", f"Written: {visible(path)}"])]))


def _list_notes(found: Comparison) -> list[str]:
    stopped = [row["method"] for row in found.rows if row["converged"] is False]
    failed = [row for row in found.rows if row["converged"] is None]
    return [
        *list_notes(found.facts),
        *([f"Note: stopped at the limit of rounds, before convergence: {', '.join(stopped)}."] if stopped else []),
        *(f"Note: {row['method']} failed: {visible(write_flags(row['note']))}" for row in failed),
    ]


def _list_matrices(found: Comparison) -> dict[str, Any]:
    """Return how much each pair of methods agrees."""
    return {measure: found.agreement[measure].T.to_dict() for measure in ("same", "distance")}


def _draw(found: Comparison) -> list[str]:
    facts = found.facts
    lines = [f"{say_counts(*facts.counts)} ({facts.domain.name} labels, distance {facts.domain.distance})."]
    columns = {name: [row[name] for row in found.rows] for name in found.rows[0]}
    table: dict[str, Iterable[str]] = {"method": columns["method"]}
    if found.ranked_by == "error":
        tasks = count(len(next(iter(found.distances.values()))), "task")
        oracle = " OA knows the gold." if "oracle" in columns["verdict"] else ""
        head = [f"Error against the gold of {tasks}; change and RI against UA, negative is better.{oracle}"]
        table |= {"error": _decimals(columns["error"]), "change %": _signed(columns["change"])}
        table |= {"RI %": _signed(columns["RI"]), "verdict": columns["verdict"]}
        tail = [
            "",
            "worse: the error is larger than that of the best, by a paired t-test at 95 %.",
            f"tie: no difference on {tasks} with gold; with more there may be one.",
        ]
    else:
        head = [
            "No gold is given (--gold FILE): this is how much each method agrees with the others, on average.",
            "Methods that agree may make the same errors.",
        ]
        table |= {"same label": _shares(columns["same"]), "distance": _decimals(columns["distance"])}
        tail = _draw_matrix(found)
    table["seconds"] = [f"{value:.3f}" for value in columns["seconds"]]
    lines += [*head, "", rows([tuple(table), *zip(*table.values(), strict=True)]), *tail]
    return [*lines, *(["", f"Not for such labels: {', '.join(facts.not_served)}."] if facts.not_served else [])]


def _draw_matrix(found: Comparison) -> list[str]:
    """Show how much each pair of methods agrees, if there is room."""
    matrix = found.agreement[found.ranked_by]
    if not 2 < len(matrix) <= _MAX_MATRIX_METHODS:
        return []
    same = found.ranked_by == "same"
    title = "Share of tasks with the same label:" if same else "Mean distance between labels:"
    cells = (_shares if same else _decimals)(matrix.to_numpy().ravel().tolist())
    lines = [cells[place : place + len(matrix)] for place in range(0, len(cells), len(matrix))]
    names = matrix.index.tolist()
    text = rows([("", *names), *((name, *line) for name, line in zip(names, lines, strict=True))])
    fits = max(map(len, text.splitlines())) <= shutil.get_terminal_size().columns
    return ["", title, "", text] if fits else []


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _signed(values: Iterable[float | None]) -> list[str]:
    """Format percentages with their sign; zero has none.

    >>> _signed([12.34, -5.0, -1e-9, 0.0, None])
    ['+12.3', '-5.0', '0.0', '0.0', '']
    """
    return ["" if value is None else f"{value:+.1f}" if abs(value) >= 0.05 else "0.0" for value in values]


def _shares(values: Iterable[float | None]) -> list[str]:
    return [f"{100 * value:.1f} %" if value is not None and _is_known(value) else "" for value in values]


def _decimals(values: Iterable[float | None]) -> list[str]:
    """Format numbers with as many decimals as give the largest one four digits.

    >>> _decimals([0.25, None, 12.5])
    ['0.25', '', '12.50']
    """
    listed = list(values)
    largest = max((value for value in listed if value is not None and _is_known(value)), default=0.0)
    digits = max(0, 3 - math.floor(math.log10(largest))) if largest else 0
    form = f".{digits}f" if digits <= _MAX_DECIMALS else ".3e"
    return [f"{value:{form}}" if value is not None and _is_known(value) else "" for value in listed]
