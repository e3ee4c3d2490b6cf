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
        "allalike jury today.csv --gold gold.csv --good pass --since yesterday --fail-under 0.9",
        "allalike jury pairs.csv --order shown --sample epoch --quorum 2",
    )
)
_ASKED = ("quorum", "order", "about", "sample", "tie", "verdicts")
_KNOWN = ("seed", "ties", "min_confidence", "keep", "max_error", "gold_drawn", "by", "since", "epsilon", *_ASKED)
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
_LEVELS = (0.0, 0.8, 0.9, 0.95)  # that are shown


@command(epilog=_EXAMPLES)
@option("-o", "--output", group="Output", default="allalike-out", help="Output folder.", show_default=True)
@option("--prices", group="Panel", help="Prices of judges: a CSV file with worker and price.")
@option("--price", group="Panel", multiple=True, help="The price of one judge, such as --price gpt-4=0.002.")
@option(
    "--keep", group="Panel", type=float, default=0.99, help="Share that the smallest panel keeps.", show_default=True
)
@option("--max-error", group="Panel", type=float, help="Find the smallest panel that errs no more, such as 0.1.")
@option(
    "--good",
    group="Panel",
    multiple=True,
    help="Positive label: finds the share of tasks with it. With gold, yes, pass, true, 1, correct or good of two.",
)
@option("--gold-drawn", group="Gold", default="random", help="Sampling of gold: random or truth.", show_default=True)
@option("--by", group="Panel", help="A column of FILES that says in which group a task is, for a rate of each.")
@option("--since", group="Panel", help="Folder of an earlier panel to compare with.")
@option("--humans", group="Panel", multiple=True, help="Human judge; tests whether models may replace humans.")
@option("--epsilon", group="Panel", type=float, default=0.15, help="Margin of this test.", show_default=True)
@option("--quorum", group="Panel", type=float, help="How many independent voices a verdict needs.")
@option("--order", group="Panel", help="The column that says in which of two orders a pair was shown.")
@option("--about", group="Panel", help="Meaning of verdicts in two orders: answers or places (default: inferred).")
@option("--sample", group="Panel", help="The column that tells a judge's samples on one task apart, such as epoch.")
@option("--tie", group="Panel", help="The label that means a tie. Recognised if it is called so.")
@option("--verdicts", group="Panel", help="The labels that are verdicts, such as A,B,tie; all others are unreadable.")
@take_gate_options
@take("Input", "Columns", "Gold", "Method", "Large data", files=True)
@option(
    "--min-confidence",
    group="Method",
    type=float,
    help="How sure a verdict must be, from 0 to 1; the panel abstains from less sure ones.",
)
@option("--format", "file_format", group="Output", default="csv", help="The tables: csv or parquet.", show_default=True)
@option("--report", group="Output", is_flag=True, help="Write report.html, too.")
@take("Tables", "Overwrite", "Output")
def jury(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Let the judges or models in FILES decide as a panel, and say who of them is needed.

    FILES are as in 'allalike discover': long, wide, or a file for each model. Beside the files of 'discover' there are
    judges, pairs (who is wrong with whom), sizes (what smaller panels are worth), pivotal (tasks that one decides)
    and coverage (what abstaining costs); with --good rates and ask (whose truths to find out next), with --since drift.
    A gate that fails gives exit code 3.
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
        known |= {name: options[name] or None for name in ("good", "humans")}
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
    """Return the prices of a file, and those that are given one by one, which go before."""
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
    """Refuse an output that must not be, before hours of work."""
    from allalike.result.targets import PANEL_TABLES, REPORT, result_names, result_output
    from allalike.sources import inputs_of

    inputs = inputs_of(source, options["gold"], None if options["prices"] is None else Path(options["prices"]))
    output = result_output(options["output"], inputs=inputs, overwrite=options["overwrite"])
    kind = options["file_format"]
    names = [*result_names(kind), *(f"{name}.{kind}" for name in PANEL_TABLES), *([REPORT] if wants_page else [])]
    output.check(names)


def _propose_rate(panel: Panel) -> list[str]:
    """Name the command that finds the corrected rate of a label, for verdicts of two classes without one."""
    from allalike.panels.jury import find_positive

    encoding, typed = panel.run.encoding, panel.result.command
    if "rate" in panel.summary["panel"] or not encoding.nominal or encoding.n_labels != 2 or "--order" in typed:
        return []
    positive = find_positive(encoding)
    good = encoding.vocabulary[0] if positive is None else positive
    known = {} if panel.run.n_gold else {"gold": "gold.csv"}
    command = complete_command(typed, {**known, "good": good})
    return [
        "",
        f"The share of tasks that are {visible(good)}, corrected for the panel's errors:",
        f"  {visible(command)}",
    ]


def draw_panel(panel: Panel, paths: Sequence[Path], further: Sequence[str] = ()) -> list[str]:
    """Say what the panel decided, who is needed, who is wrong with whom, and what cannot be known.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> draw_panel(allalike.jury(rows), [])[0]
    '6 verdicts of 3 judges on 2 tasks (categorical).'
    """
    lines = [line for remark in panel.messages for line in fold(dress(remark), "  ")]
    lines += ["", *_judge_lines(panel)]
    if "coverage" in panel.summary["panel"]:
        lines += ["", *_level_lines(panel)]
    lines += further
    return [*lines, "", *fold("Written: " + ", ".join(map(keep_whole, paths)), "  ")] if paths else lines


def _judge_lines(panel: Panel) -> list[str]:
    error = panel.judges.columns[2]
    table = panel.judges.sort_values(error, kind="stable")
    names = {error: "error" if error == "error_rate" else error, **_HEADS}
    if "price" in table:
        del names["weight"]  # for which there is no room
    shown = [name for name in names if name in table and table[name].notna().any()]
    widths = {name: max(len(names[name]), _WIDTH) for name in shown}
    ids = WIDTH - sum(width + _GAP for width in widths.values()) - len("together needed") - 4 * _GAP
    heads = [names[name].rjust(width) for name, width in widths.items()]
    lines: list[tuple[object, ...]] = [("judge", *heads, "together", "needed")]
    for row in table.head(_N_JUDGES).to_dict("records"):
        numbers = [f"{row[name]:.3g}".rjust(width) for name, width in widths.items()]
        needed = "yes" if row["in_smallest"] else ""
        lines.append((shorten(row["worker"], ids), *numbers, row["wrong_together"], needed))
    more = len(table) - _N_JUDGES
    return [*rows(lines).splitlines(), *([f"... and {more:,} more (see the table of judges)"] if more > 0 else [])]


def _level_lines(panel: Panel) -> list[str]:
    lines: list[tuple[object, ...]] = [("as sure as", "tasks", "expected right", "known right")]
    for row in panel.summary["panel"]["coverage"]:
        if row["level"] in _LEVELS:
            shares = [row["share"], row["expected"], row["accuracy"]]
            cells = ["-" if share is None else f"{100 * share:.1f} %" for share in shares]
            lines.append((f"{row['level']:g}", *cells))
    return [visible(line) for line in rows(lines).splitlines()]
