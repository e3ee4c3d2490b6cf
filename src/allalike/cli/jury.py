"""The command `allalike jury`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.commands import dress, list_notes
from allalike.cli.console import (
    WIDTH,
    Line,
    bar_after_a_second,
    can_report,
    echo,
    fold,
    keep_whole,
    note,
    notes_for_warnings,
    rows,
    shorten,
    show,
    visible,
)
from allalike.cli.label_columns import choose_label
from allalike.cli.options import (
    name_answers,
    name_engine,
    open_answers,
    take_print_options,
    take_read_options,
    take_solve_options,
    take_table_options,
    take_write_options,
)
from allalike.cli.standard_input import spool_input
from allalike.errors import OptionError
from allalike.telling.remark import name_some, percent
from allalike.telling.summary import Summary
from allalike.telling.truths import remark_reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.api.judges.panel import Panel

__all__ = ["jury"]

_EXAMPLES = "\b\n" + "\n".join(
    (
        "allalike jury verdicts.csv",
        "allalike jury answers/*.jsonl --worker-from filename --gold gold.csv",
        "allalike jury verdicts.csv --abstain-below 0.9 --prices prices.csv",
    )
)
_N_JUDGES = 8  # that are shown
_N_GROUPS, _N_NAMES = 3, 4  # of those who are wrong together
_WIDTH, _GAP = 7, 2  # characters of a number, and between columns
_LEVELS = (0.0, 0.8, 0.9, 0.95)  # that are shown


@click.command(no_args_is_help=True, epilog=_EXAMPLES)
@click.option("-o", "--output", default="allalike-out", help="The folder for tables and summary.", show_default=True)
@click.option("--prices", help="What an answer of each judge costs: a CSV file with the columns worker and price.")
@click.option("--price", multiple=True, help="The price of one judge, such as --price gpt-4=0.002.")
@click.option("--keep", type=float, default=0.99, help="How much the smallest panel must keep.", show_default=True)
@take_read_options
@take_solve_options
@click.option(
    "--min-confidence",
    "--abstain-below",
    "min_confidence",
    type=float,
    help="How sure a verdict must be, from 0 to 1; the panel abstains from less sure ones.",
)
@click.option("--format", "file_format", default="csv", help="The tables: csv or parquet.", show_default=True)
@click.option("--report", is_flag=True, help="Write report.html, too.")
@take_table_options
@take_write_options
@take_print_options
def jury(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Let the judges or models in FILES decide as a panel, and say who of them is needed.

    FILES are as in 'allalike discover': long, wide, or a file for each model. Beside the files of 'discover' there are
    judges, pairs (who is wrong with whom), sizes (what smaller panels are worth) and coverage (what abstaining costs).
    """
    from allalike._core.options import check_choice
    from allalike._core.system.progress import report
    from allalike._core.system.tables import FORMATS
    from allalike.api.jury import jury as run

    files = spool_input(files, options)
    check_choice(options["file_format"], FORMATS, "--format")
    prices = _name_prices(options["prices"], options["price"])
    wants_page = options["report"] and can_report(quiet=quiet)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        source = choose_label(name_answers(files, options), options["label"])
        _check_output(source, options, wants_page=wants_page)
        answers, gold = open_answers(source, options)
        known = {name: options[name] for name in ("seed", "ties", "min_confidence", "keep")}
        panel = run(answers, **gold, **known, prices=prices, engine=name_engine(options))
        report("saving")
        how = {"format": options["file_format"], "report": wants_page}
        how |= {name: options[name] for name in ("overwrite", "safe_csv")}
        paths = panel.save(options["output"], **how)
    if not quiet:
        for line in list_notes(Summary.from_dict(panel.summary)):
            note(line)
    if as_json:
        found = {**panel.summary, "files": list(map(str, paths))}
        echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
    elif not quiet:
        show([Line(line) for line in draw_panel(panel, paths)])


def _name_prices(path: str | None, single: Sequence[str]) -> dict[str, float] | None:
    """Return the prices of a file, and those that are given one by one, which go before."""
    from allalike.api.judges.prices import read_prices

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
    from allalike.api.inputs.opening import inputs_of
    from allalike.api.results.targets import PANEL_TABLES, REPORT, result_names, result_output

    kind = options["file_format"]
    inputs = inputs_of(source, options["gold"], None if options["prices"] is None else Path(options["prices"]))
    names = [*result_names(kind), *(f"{name}.{kind}" for name in PANEL_TABLES), *([REPORT] if wants_page else [])]
    result_output(options["output"], inputs=inputs, overwrite=options["overwrite"]).check(names)


def draw_panel(panel: Panel, paths: Sequence[Path]) -> list[str]:
    """Say what the panel decided, who is needed, who is wrong with whom, and what cannot be known.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> draw_panel(allalike.jury(rows), [])[0]
    '6 verdicts of 3 judges on 2 tasks (categorical).'
    """
    sentences = [
        *_say_what(panel),
        *_say_pairs(panel),
        *_say_smallest(panel),
        *_say_costs(panel),
        _say_limits(panel),
    ]
    lines = [line for text in sentences for line in fold(text, "  ")]
    lines += ["", *_judge_lines(panel), "", *_level_lines(panel)]
    return [*lines, "", *fold("Written: " + ", ".join(map(keep_whole, paths)), "  ")] if paths else lines


def _say_what(panel: Panel) -> list[str]:
    summary = Summary.from_dict(panel.summary)
    gold, sure = summary.gold, summary.confidence
    assert sure is not None
    worth = f", worth about {sure.voices_per_task:.2g} voices" if sure.voices_per_task else ""
    lines = [
        f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
        f" ({summary.domain.name}).",
        f"Panel: {sure.answers_per_task:.3g} verdicts per task{worth}; {summary.changed:,} answers differ from a plain"
        " vote's.",
        *map(dress, remark_reading(summary)),
    ]
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        error = panel.summary["panel"]["calibration_error"]
        mended = "" if error["mended"] == error["own"] else f", mended by known truths {error['mended']:.3f}"
        lines.append(
            f"It is right on {percent(1 - gold.error)} of {count(gold.tasks, 'task')} with known truths, a plain vote"
            f" on {percent(1 - gold.unweighted_error)}; its probabilities are {error['own']:.3f} off{mended}."
        )
    else:
        lines.append(f"It should be right {percent(sure.mean)} of the time.")
    if summary.abstained is not None:
        lines.append(
            f"It abstains from {summary.abstained:,} tasks that are less sure than {summary.min_confidence:g}."
        )
    return lines


def _say_pairs(panel: Panel) -> list[str]:
    found = panel.summary["panel"]["pairs"]
    if not found["looked_at"]:
        return [f"Wrong together: not looked for with {count(len(panel.judges), 'judge')}."]
    where = f"on {found['tasks']:,} tasks whose truth is known or sure"
    if not found["found"]:
        return [f"Wrong together: no pair of {found['looked_at']:,} more than others, {where}."]
    first = found["named"][0]
    lines = [
        f"Wrong together: {found['found']:,} of {found['looked_at']:,} pairs, {where}. First"
        f" {keep_whole(first['judge'])} and {keep_whole(first['other'])}: {first['together']:,} wrong answers in"
        f" common, {first['expected']:.3g} expected ({first['low']:.2g} to {first['high']:.2g} times as many)."
    ]
    groups = found["groups"]
    more = [f"- and {count(len(groups) - _N_GROUPS, 'more group')}"] if len(groups) > _N_GROUPS else []
    return [*lines, *(f"- {_name_some(group)}" for group in groups[:_N_GROUPS]), *more]


def _name_some(judges: Sequence[object]) -> str:
    return name_some(list(map(keep_whole, judges)), len(judges), _N_NAMES)


def _say_smallest(panel: Panel) -> list[str]:
    found = panel.summary["panel"]["smallest"]
    everybody = len(panel.judges)
    right = "are right" if panel.by_gold else "should be right"
    lost = _say_lost(*found["lost"])
    who = _name_some(found["members"])
    if found["size"] == everybody:
        return [f"Smallest panel that keeps {100 * found['keep']:g} %: all of them."]
    return [
        f"Smallest panel that keeps {100 * found['keep']:g} %: {found['size']:,} of {everybody:,}: {who}. On tasks that"
        f" did not choose them, such panels {right} {percent(found['accuracy'])} of the time, {lost} than all, and"
        f" agree with all on {percent(found['agreement'])} of the tasks."
    ]


def _say_lost(low: float, high: float) -> str:
    """Write between which limits something is less, or more.

    >>> _say_lost(0.01, 0.025), _say_lost(-0.03, -0.002), _say_lost(-0.01, 0.02)
    ('1.0 to 2.5 points less', '0.2 to 3.0 points more', 'between 1.0 points more and 2.0 less')
    """
    more, less = f"{100 * abs(low):.1f}", f"{100 * abs(high):.1f}"
    if high < 0:
        return f"{less} to {more} points more"
    return f"{more} to {less} points less" if low >= 0 else f"between {more} points more and {less} less"


def _say_costs(panel: Panel) -> list[str]:
    cost = panel.summary["panel"].get("cost")
    if cost is None:
        return []
    prices = [
        f"{name} {cost[key]:,.6g}, {'unknown' if each is None else f'{each:.4g}'} per correct verdict"
        for name, key in (("all judges", "panel"), ("the smallest panel", "smallest"))
        if key == "panel" or len(panel.smallest) < len(panel.judges)
        for each in (cost[f"{key}_per_correct"],)
    ]
    return [f"Cost: {'; '.join(prices)}."]


def _say_limits(panel: Panel) -> str:
    if panel.by_gold:
        return "What is known here is known of tasks like those with known truths."
    return (
        "Without known truths (--gold, 50 or more) nobody can tell errors that all judges share from truth: a panel of"
        " one family agrees with itself, and looks sure."
    )


def _judge_lines(panel: Panel) -> list[str]:
    table = panel.judges.sort_values("error_rate", kind="stable")
    names = {"error_rate": "error", "accuracy": "known right", "weight": "weight", "cost_per_correct": "per correct"}
    if panel.prices is not None:
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
