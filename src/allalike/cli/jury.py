"""The command `allalike jury`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.cli.console import (
    WIDTH,
    Line,
    bar_after_a_second,
    fold,
    keep_whole,
    note,
    notes_for_warnings,
    rows,
    shorten,
    show,
    spool_input,
    visible,
)
from allalike.cli.discover import choose_label
from allalike.cli.gates import check_gates, find_failures, leave_if, take_gate_options
from allalike.cli.lists import echo_json
from allalike.cli.options import (
    command,
    dress,
    find_typed,
    list_notes,
    name_answers,
    name_engine,
    open_answers,
    option,
    take,
)
from allalike.errors import OptionError
from allalike.result.commands import complete_command
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
_N_JUDGES = 8  # that are shown
_WIDTH, _GAP = 7, 2  # characters of a number, and between columns
_HEADS = {
    "accuracy": "known right",
    "known_rmse": "known",
    "known_distance": "known",
    "offset": "offset",
    "weight": "weight",
    "cost_per_correct": "per correct",
}
_MARKS = ("shared errors", "smallest panel")
_LEVELS = (0.0, 0.8, 0.9, 0.95)  # that are shown


@command(epilog=_EXAMPLES)
@option("-o", "--output", group="Output", default="allalike-out", help="Output folder.", show_default=True)
@option("--prices", group="Panel", help="Prices of judges: a CSV file with worker and price.")
@option("--price", group="Panel", multiple=True, help="Price of one judge, such as gpt-4=0.002 (repeatable).")
@option(
    "--retain",
    group="Panel",
    type=float,
    default=0.99,
    help="Worth that the smallest panel retains.",
    show_default=True,
)
@option(
    "--positive", group="Panel", multiple=True, help="Positive label whose rate to estimate (default: pass, yes, ...)."
)
@option("--gold-drawn", group="Gold", default="random", help="Sampling of gold: random or truth.", show_default=True)
@option("--by", group="Panel", help="Column with the group of a task, for a rate per group.")
@option("--baseline", group="Panel", help="Folder of an earlier panel to compare with.")
@option("--humans", group="Panel", multiple=True, help="Human judge, to test whether models may replace them.")
@option("--epsilon", group="Panel", type=float, default=0.15, help="Margin of this test.", show_default=True)
@option("--quorum", group="Panel", type=float, help="Effective number of answers that a verdict needs.")
@option("--order", group="Panel", help="Column with the order in which a pair was shown.")
@option("--verdicts-name", group="Panel", help="Meaning of verdicts in two orders: answers or places.")
@option("--sample", group="Panel", help="Column that numbers repeated samples of a judge, such as epoch.")
@option("--tie", group="Panel", help="Label that means a tie (default: tie, draw, equal, ...).")
@option("--verdicts", group="Panel", help="Labels that are verdicts, such as A,B,tie; others are unreadable.")
@take_gate_options
@take("Input", "Columns", "Gold", "Method", "Large data", files=True)
@option("--min-confidence", group="Method", type=float, help="Confidence below which the panel abstains, 0 to 1.")
@option(
    "--format",
    "file_format",
    group="Output",
    default="csv",
    help="Format of tables: csv or parquet.",
    show_default=True,
)
@option("--report", group="Output", is_flag=True, help="Also write report.html.")
@take("Tables", "Overwrite", "Output")
def jury(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Let the judges or models in FILES decide as a panel, and find those it needs.

    FILES are as in 'allalike discover': long, wide, or a file for each model. The output contains truth.csv, judges.csv
    and summary.json; further tables contain pairs with correlated errors, smaller panels, coverage by confidence, and
    with --positive rates and tasks to label next, with --baseline drift. A gate that fails gives exit code 3.
    """
    from allalike._core.options import check_choice
    from allalike._core.system.progress import report
    from allalike._core.system.tables import FORMATS
    from allalike.panels.jury import jury as run

    files = spool_input(files, options)
    check_choice(options["file_format"], FORMATS, "--format")
    prices = _name_prices(options["prices"], options["price"])
    check_gates(options)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        source = choose_label(name_answers(files, options), options["label"])
        _check_output(source, options, wants_page=options["report"])
        answers, gold = open_answers(source, options)
        known = {name: options[name] for name in _KNOWN}
        known |= {name: options[name] or None for name in ("positive", "humans")}
        panel = run(answers, **gold, **known, prices=prices, engine=name_engine(options))
        panel = replace(panel, result=replace(panel.result, command=find_typed()))
        report("saving")
        how = {"format": options["file_format"], "report": options["report"]}
        how |= {name: options[name] for name in ("overwrite", "safe_csv")}
        paths = panel.save(options["output"], **how)
    if not quiet:
        for line in list_notes(Summary.from_dict(panel.summary)):
            note(line)
    if as_json:
        echo_json("jury", {**panel.summary, "files": list(map(str, paths))})
    elif not quiet:
        show([Line(line) for line in draw_panel(panel, paths, _propose_rate(panel))])
    leave_if(find_failures(panel.summary["panel"], options))


next(option for option in jury.params if option.name == "missing").default = "drop"  # and counted as unreadable


def _name_prices(path: str | None, single: Sequence[str]) -> dict[str, float] | None:
    """Return the prices of a file, and those of single judges, which take precedence."""
    from allalike.result.prices import read_prices

    if path is None and not single:
        return None
    pairs = [each.rpartition("=") for each in single]
    for each, (judge, _, _) in zip(single, pairs, strict=True):
        if not judge:
            raise OptionError(f"--price is {each!r}. Write it as --price judge=0.002 .")
    own = read_prices({judge: price for judge, _, price in pairs})
    return {**({} if path is None else read_prices(path)), **own}


def _check_output(source: Any, options: dict[str, Any], *, wants_page: bool) -> None:
    """Refuse an output folder that must not be written, before hours of work."""
    from allalike.result.targets import REPORT, result_names, result_output
    from allalike.sources import inputs_of

    inputs = inputs_of(source, options["gold"], None if options["prices"] is None else Path(options["prices"]))
    output = result_output(options["output"], inputs=inputs, overwrite=options["overwrite"])
    output.check([*result_names(options["file_format"]), *([REPORT] if wants_page else [])])


def _propose_rate(panel: Panel) -> list[str]:
    """Name the command that estimates the rate of a label, for verdicts of two classes without one."""
    from allalike.panels.jury import find_positive

    encoding, typed = panel.run.encoding, panel.result.command
    if panel.panel_summary.rate is not None or not encoding.nominal or encoding.n_labels != 2 or "--order" in typed:
        return []
    positive = find_positive(encoding) or encoding.vocabulary[0]
    known = {} if panel.run.n_gold else {"gold": "gold.csv"}
    command = complete_command(typed, {**known, "positive": positive})
    return ["", f"Share of tasks that are {visible(positive)}, corrected for errors:", f"  {visible(command)}"]


def draw_panel(panel: Panel, paths: Sequence[Path], further: Sequence[str] = ()) -> list[str]:
    """Return the lines of the screen: messages, judges, coverage, a further command, and the files.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> draw_panel(allalike.jury(rows), [])[0]
    '6 verdicts by 3 judges on 2 tasks (categorical).'
    """
    lines = [line for remark in panel.messages for line in fold(dress(remark), "  ")]
    lines += ["", *_judge_lines(panel), *_level_lines(panel), *further]
    return [*lines, "", *fold("Written: " + ", ".join(map(keep_whole, paths)), "  ")] if paths else lines


def _judge_lines(panel: Panel) -> list[str]:
    error = panel.judges.columns[2]
    table = panel.judges.sort_values(error, kind="stable")
    names = {error: "error" if error == "error_rate" else error, **_HEADS}
    if "price" in table:
        del names["weight"]  # for which there is no room
    shown = [name for name in names if name in table and table[name].notna().any()]
    widths = {name: max(len(names[name]), _WIDTH) for name in shown}
    ids = WIDTH - sum(width + _GAP for width in widths.values()) - len(" ".join(_MARKS)) - 4 * _GAP
    heads = [names[name].rjust(width) for name, width in widths.items()]
    lines: list[tuple[object, ...]] = [("judge", *heads, *_MARKS)]
    for row in table.head(_N_JUDGES).to_dict("records"):
        numbers = [f"{row[name]:.3g}".rjust(width) for name, width in widths.items()]
        marks = row["shared_error_group"], "yes" if row["in_smallest_panel"] else ""
        lines.append((shorten(row["worker"], ids), *numbers, *marks))
    more = len(table) - _N_JUDGES
    return [*rows(lines).splitlines(), *([f"... and {more:,} more (see the table of judges)"] if more > 0 else [])]


def _level_lines(panel: Panel) -> list[str]:
    levels = [each for each in panel.panel_summary.coverage or () if each.level in _LEVELS]
    lines: list[tuple[object, ...]] = [("confidence", "tasks", "expected right", "known right")]
    for each in levels:
        shares = each.share, each.expected, each.accuracy
        cells = ["-" if share is None else f"{100 * share:.1f} %" for share in shares]
        lines.append((f"from {each.level:g}", *cells))
    return ["", *(visible(line) for line in rows(lines).splitlines())] if levels else []
