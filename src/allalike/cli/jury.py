"""The command `allalike jury`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.cli.console import WIDTH, Line, fold, note, progress_and_notes, rows, shorten, show, spool_input, visible
from allalike.cli.discover import choose_label
from allalike.cli.gates import check_panel, check_panel_options, exit_if
from allalike.cli.lists import echo_json
from allalike.cli.options import (
    OFF,
    command,
    find_typed,
    format_message,
    list_notes,
    name_answers,
    name_engine,
    open_answers,
    option,
    take,
)
from allalike.cli.print_result import draw_steps, view_report
from allalike.errors import OptionError
from allalike.result.commands import complete_command
from allalike.result.messages import percent_of
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.panels.panel import Panel

_EXAMPLES = "\b\n" + "\n".join(
    (
        "allalike jury verdicts.csv",
        "allalike jury answers/*.jsonl --worker-from filename --gold gold.csv",
        "allalike jury verdicts.csv --min-confidence 0.9 --prices prices.csv",
        "allalike jury today.csv --gold gold.csv --positive pass --baseline yesterday --fail-under 0.9",
        "allalike jury pairs.csv --order shown --verdicts-name answers --sample epoch",
    )
)
_KNOWN = (
    *("seed", "ties", "min_confidence", "retain", "gold_drawn", "by", "baseline", "epsilon"),
    *("quorum", "order", "verdicts_name", "sample", "tie", "verdicts"),
)
_N_JUDGES = 8  # shown at most
_SHARES = ("error_rate", "accuracy")
_HEADS = {
    "error_rate": "error",
    "rmse": "rmse",
    "mean_error": "mean error",
    "accuracy": "known right",
    "known_rmse": "known",
    "known_distance": "known",
    "offset": "offset",
    "weight": "weight",
    "cost_per_correct": "per correct",
}


@command(epilog=_EXAMPLES)
@option("-o", "--output", group="Output", default="allalike-out", help="Output folder.", show_default=True)
@option("--prices", group="Panel", help="Prices of judges: a CSV file with worker and price.")
@option("--price", group="Panel", multiple=True, help="Price of one judge, such as gpt-4=0.002 (repeatable).")
@option(
    "--retain",
    group="Panel",
    type=float,
    default=0.99,
    help="Share of the worth that the smallest panel retains.",
    show_default=True,
)
@option("--positive", group="Panel", multiple=True, help="Positive label for the rate (default: pass, yes, ...).")
@option("--gold-drawn", group="Gold", default="random", help="Sampling of gold: random or truth.", show_default=True)
@option("--by", group="Panel", help="Column with groups of tasks, for a rate per group.")
@option("--baseline", group="Panel", help="Folder of an earlier panel, to detect changes.")
@option("--humans", group="Panel", multiple=True, help="Human judge, for the alternative annotator test (repeatable).")
@option(
    "--epsilon", group="Panel", type=float, default=0.15, help="Cost-benefit margin of this test.", show_default=True
)
@option("--quorum", group="Panel", type=float, help="Minimum effective number of answers per verdict.")
@option("--order", group="Panel", help="Column with the order of a pair.")
@option("--verdicts-name", group="Panel", help="Meaning of verdicts on pairs: answers or places.")
@option("--sample", group="Panel", help="Column that numbers repeated samples, such as epoch.")
@option("--tie", group="Panel", help="Label that means a tie (default: tie, draw, equal, ...).")
@option("--verdicts", group="Panel", help="Labels that are verdicts, such as A,B,tie.")
@option("--fail-under", group="Output", type=float, help="Exit with code 3 if the rate is below, such as 0.9.")
@option("--fail-if-drift", group="Output", is_flag=True, help="Exit with code 3 if a judge changed (--baseline).")
@take("Input", "Columns", "Gold", "Method", "Large data", files=True)
@option(
    "--min-confidence", group="Method", type=float, help="Minimum confidence, from 0 to 1; labels below stay empty."
)
@take("Format")
@option("--no-report", "report", group="Output", help="Do not write report.html.", **OFF)
@take("Tables", "Overwrite", "Output")
def jury(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Evaluate a panel of LLM judges or raters.

    FILES are as in 'allalike discover': long, wide, or one file per model. The output folder contains truth.csv,
    judges.csv, report.html, summary.json and details/. It replaces an earlier result. Exit code 3 means a failed gate.
    """
    from allalike._core.options import check_choice
    from allalike._core.system.progress import report
    from allalike._core.system.tables import FORMATS
    from allalike.panels.jury import jury as run

    files = spool_input(files, options)
    check_choice(options["file_format"], FORMATS, "--format")
    prices = _read_prices(options["prices"], options["price"])
    check_panel_options(options)
    with progress_and_notes({**options, "quiet": quiet}):
        source = choose_label(name_answers(files, options), options["label"])
        _check_output(source, options)
        answers, gold = open_answers(source, options)
        how = {name: options[name] for name in _KNOWN}
        how |= {name: options[name] or None for name in ("positive", "humans")}
        panel = run(answers, **gold, **how, prices=prices, engine=name_engine(options))
        panel = replace(panel, result=replace(panel.result, command=find_typed()))
        report("saving")
        saved = {name: options[name] for name in ("report", "overwrite", "safe_csv")}
        paths = panel.save(options["output"], format=options["file_format"], **saved)
    if not quiet:
        for line in list_notes(Summary.from_dict(panel.summary)):
            note(line)
    if as_json:
        echo_json("jury", {**panel.summary, "files": list(map(str, paths))})
    elif not quiet:
        show(draw_panel(panel, paths))
    exit_if(*check_panel(panel.panel_summary, options))


next(option for option in jury.params if option.name == "missing").default = "drop"  # counted as unreadable


def _read_prices(path: str | None, single: Sequence[str]) -> dict[str, float] | None:
    """Return the prices of judges from a file and from --price, which takes precedence."""
    from allalike.result.plan import read_prices

    if path is None and not single:
        return None
    pairs = {judge: price for judge, _, price in (each.rpartition("=") for each in single)}
    if "" in pairs:
        raise OptionError(f"--price {pairs['']!r} has no judge. Write it as --price judge=0.002 .")
    return {**({} if path is None else read_prices(path)), **read_prices(pairs)}


def _check_output(source: Any, options: dict[str, Any]) -> None:
    """Raise an error, before a long run, if the output folder must not be written to."""
    from allalike.result.saving import REPORT, result_names, result_output
    from allalike.sources import inputs_of

    inputs = inputs_of(source, options["gold"], None if options["prices"] is None else Path(options["prices"]))
    output = result_output(options["output"], inputs=inputs, overwrite=options["overwrite"])
    output.check([*result_names(options["file_format"]), *([REPORT] if options["report"] else [])])


def draw_panel(panel: Panel, paths: Sequence[Path]) -> list[Line]:
    """Return the lines of the screen: messages, judges, next steps, and the output folder.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> draw_panel(allalike.jury(rows), [])[0].text
    '6 verdicts by 3 judges on 2 tasks (categorical).'
    """
    lines = [line for remark in panel.messages for line in fold(format_message(remark), "  ")]
    lines += ["", *_draw_judges(panel)]
    return [*map(Line, lines), *draw_steps([*_propose_rate(panel), *view_report(paths)], paths)]


def _draw_judges(panel: Panel) -> list[str]:
    error = panel.judges.columns[2]
    table = panel.judges.sort_values(error, kind="stable")
    hidden = "weight" if "price" in table else ""  # to save space
    names = [name for name in _HEADS if name in table and name != hidden and table[name].notna().any()]
    shown = table.head(_N_JUDGES).to_dict("records")
    cells: list[tuple[object, ...]] = [(*(_HEADS[name] for name in names), "shared errors", "smallest panel")]
    for row in shown:
        numbers = (percent_of(row[name]) if name in _SHARES else f"{row[name]:.2g}" for name in names)
        cells.append((*numbers, row["shared_error_group"], "yes" if row["in_smallest_panel"] else ""))
    most = WIDTH - max(map(len, rows([("", *line) for line in cells]).splitlines()))
    judges = ["judge", *(shorten(row["worker"], most) for row in shown)]
    lines = [(judge, *line) for judge, line in zip(judges, cells, strict=True)]
    more = len(table) - _N_JUDGES
    return [*rows(lines).splitlines(), *([f"... and {more:,} more (see judges.csv)"] if more > 0 else [])]


def _propose_rate(panel: Panel) -> list[tuple[str, str]]:
    """Return the command that estimates the rate of a label, for two classes."""
    from allalike.panels.jury import find_positive

    encoding, typed = panel.run.encoding, panel.result.command
    proposed = typed and "--order" not in typed and encoding.nominal and encoding.n_labels == 2
    if panel.panel_summary.rate is not None or not proposed:
        return []
    positive = find_positive(encoding) or encoding.vocabulary[0]
    gold = {} if panel.run.n_gold else {"gold": "gold.csv"}
    return [(complete_command(typed, {**gold, "positive": positive}), f"estimate the share of {visible(positive)}")]
