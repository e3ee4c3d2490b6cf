"""The command `allalike compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.text_format import count
from allalike.cli.console import echo, progress_and_notes, rows, spool_input, visible
from allalike.cli.discover import choose_label
from allalike.cli.lists import echo_json
from allalike.cli.options import command, list_notes, name_answers, name_engine, open_answers, option, take, write_flags
from allalike.result.messages import format_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.compare import Comparison


@command()
@take("Input", "Columns", "Gold", files=True)
@option("--methods", group="Method", help="Methods, such as 'P-TD,iP-TD(max_iter=3)' (default: all).")
@take("Method")
@option("-o", "--output", group="Output", help="CSV file for the table.")
@take("Tables", "Overwrite", "Output", "Large data")
def compare(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Run all methods on FILES and rank them.

    With --gold, methods are ranked by their error, otherwise by their agreement with each other. FILES are as in
    'allalike discover'. UA, the unweighted answer, is always included.
    """
    from allalike.compare import compare as run
    from allalike.result.saving import table_output
    from allalike.sources import inputs_of

    files, output, overwrite = spool_input(files, options), options["output"], options["overwrite"]
    with progress_and_notes({**options, "quiet": quiet}):
        answers, gold = open_answers(choose_label(name_answers(files, options), options["label"]), options)
        if output is not None:
            inputs = inputs_of(answers, options["gold"])
            table_output(output, inputs=inputs, overwrite=overwrite).check([Path(output).name])  # before a long run
        how = {**gold, **{name: options[name] for name in ("seed", "ties", "methods")}}
        found = run(answers, engine=name_engine(options), **how)
        path = None if output is None else found.save(output, overwrite=overwrite, safe_csv=options["safe_csv"])
    if not quiet:
        for line in _list_notes(found):
            echo(line, err=True)
    if as_json:
        pairs = {measure: found.agreement[measure].T.to_dict() for measure in ("same", "distance")}
        agreement = {} if found.ranked_by == "error" else {"agreement": pairs}
        written = {} if path is None else {"file": str(path)}
        echo_json("compare", {**found.summary, "methods": found.rows, **agreement, **written})
    elif not quiet:
        echo("\n".join([*_draw(found), *([] if path is None else ["", f"Written: {visible(path)}"])]))


def _list_notes(found: Comparison) -> list[str]:
    stopped = [row["method"] for row in found.rows if row["converged"] is False]
    failed = [row for row in found.rows if row["converged"] is None]
    return [
        *list_notes(found.facts),
        *([f"Note: not converged within the maximum number of rounds: {', '.join(stopped)}."] if stopped else []),
        *(f"Note: {row['method']} failed: {visible(write_flags(row['note']))}" for row in failed),
    ]


def _draw(found: Comparison) -> list[str]:
    facts = found.facts
    title = f"{format_counts(*facts.counts)} ({facts.domain.name} labels, distance {facts.domain.distance})."
    table: list[Sequence[object]] = []
    if found.ranked_by == "error":
        tasks = count(len(next(iter(found.distances.values()))), "task")
        oracle = " OA uses the gold labels." if any(row["verdict"] == "oracle" for row in found.rows) else ""
        head = [f"Error on {tasks} with gold labels.{oracle}", "change and RI: relative to UA, negative is better."]
        table.append(("method", "error", "change %", "RI %", "verdict", "seconds"))
        table += [
            (row["method"], row["error"], _signed(row["change"]), _signed(row["RI"]), row["verdict"])
            for row in found.rows
        ]
        tail = [
            "",
            "worse: significantly larger error than the best method (paired t-test, 5 % level).",
            f"tie: no significant difference on {tasks} with gold labels.",
        ]
    else:
        head = [
            "No gold labels (--gold FILE): mean agreement of each method with the others.",
            "Methods that agree may make the same errors.",
        ]
        table.append(("method", "same label", "distance", "seconds"))
        table += [(row["method"], _share(row["same"]), row["distance"]) for row in found.rows]
        tail = []
    timed = [table[0], *((*cells, f"{row['seconds']:.3f}") for cells, row in zip(table[1:], found.rows, strict=True))]
    not_served = ["", f"Not for {facts.domain.name} labels: {', '.join(facts.not_served)}."] if facts.not_served else []
    return [title, *head, "", rows(timed), *tail, *not_served]


def _share(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{100 * value:.1f} %"


def _signed(value: float | None) -> str:
    """Format a percentage with its sign; zero has none.

    >>> [_signed(value) for value in (12.34, -5.0, -1e-9, None)]
    ['+12.3', '-5.0', '0.0', '']
    """
    return "" if value is None else f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"
