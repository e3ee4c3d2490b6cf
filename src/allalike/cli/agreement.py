"""The command `allalike agreement`."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.console import bar_after_a_second, echo, notes_for_warnings, rows, spool_input, visible
from allalike.cli.discover import choose_labels
from allalike.cli.gates import find_disagreement, leave_if
from allalike.cli.lists import echo_json
from allalike.cli.options import (
    list_notes,
    name_answers,
    name_engine,
    take_engine_options,
    take_print_options,
    take_read_options,
    write_flags,
)
from allalike.errors import AllalikeError, DataWarning
from allalike.telling.summary import Summary
from allalike.telling.truths import say_counts

if TYPE_CHECKING:
    from allalike.readers import Scan
    from allalike.reliability.agreement import Agreement, Agreements


# Groups on the screen: how much workers agree in each, a line for each group.


_GROUPS_WIDTH, _MAX_NAME = 80, 26
_HEADS = ("kind", "answers", "workers", "tasks", "alpha", "limits", "equal")
_RIGHT = ("answers", "workers", "tasks", "alpha", "equal")


def draw_groups(summary: Mapping[str, Any]) -> list[str]:
    r"""Return the lines of a table with a line for each group, and what its numbers mean.

    >>> numbers = {"answers": 8, "workers": 4, "tasks": 2, "alpha": 0.5, "low": 0.1, "high": 0.7, "percent": 0.75}
    >>> group = {"group": {"sex": "f"}, "domain": {"name": "categorical"}, **numbers}
    >>> print("\n".join(draw_groups({"by": ["sex"], "groups": [group]})[:2]))
      sex  kind         answers  workers  tasks  alpha  limits        equal
      f    categorical        8        4      2  0.500  0.10 to 0.70   75 %
    """
    table = [(*summary["by"], *_HEADS), *(_line(group) for group in summary["groups"])]
    names = len(summary["by"])
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    right = [place >= names and _HEADS[place - names] in _RIGHT for place in range(len(widths))]
    shown = [
        tuple(
            cell.rjust(width) if to_right else cell for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        for line in table
    ]
    prose = (
        "Alpha is 1 if nobody disagrees, and 0 if answers to the same task are no closer than answers to any task of"
        " the group. One task alone has no alpha, and fewer than 20 have no limits (95 %). Equal: the share of equal"
        " pairs of answers to a task."
    )
    return [*rows(shown).splitlines(), "", *wrap(prose, _GROUPS_WIDTH)]


def _line(group: Mapping[str, Any]) -> tuple[str, ...]:
    limits = "" if group["low"] is None else f"{group['low']:.2f} to {group['high']:.2f}"
    return (
        *(_groups_shortened(value) for value in group["group"].values()),
        group["domain"]["name"],
        *(f"{group[name]:,}" for name in ("answers", "workers", "tasks")),
        "-" if group["alpha"] is None else f"{group['alpha']:.3f}",
        limits,
        "" if group["percent"] is None else f"{100 * group['percent']:.0f} %",
    )


def _groups_shortened(name: str) -> str:
    shown = visible(name) or "(none)"
    return shown if len(shown) <= _MAX_NAME else f"{shown[: _MAX_NAME - 3]}..."


_WIDTH = 80
_N_LINES = 9  # of coefficients and of workers at one end, so that all fits on a screen
_MAX_ID = 30  # characters of an id, so that a line fits


def _list(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from allalike.telling.remark import COEFFICIENTS

        echo(rows([(name, *about) for name, about in COEFFICIENTS.items()], indent=""))
        context.exit()


@click.command(no_args_is_help=True)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List the coefficients, and leave."
)
@click.option(
    "--by", multiple=True, help="A column to measure each value of alone: blocks of tasks, groups of workers."
)
@click.option("--fail-under", type=float, help="Exit with code 3 if alpha is below, as 0.667, or not known.")
@take_read_options
@take_engine_options
@take_print_options
def agreement(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Measure how much the workers of FILES agree.

    Krippendorff's alpha with its limits of 95 %, for any kind of label; for classes also percent agreement, the kappas
    of Fleiss and Cohen, and Gwet's AC1; for levels ordinal alpha, weighted kappas and AC2; and who raises or lowers
    alpha. --list says what each is. With --by, with several columns of labels
    (--label 'q*') and for surveys a table has a line for each group. FILES are as in 'allalike discover'.
    """
    files = spool_input(files, options)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        found, failed = _measure(choose_labels(name_answers(files, options), options["label"]), options)
        groups = list(found.values()) if isinstance(found, Mapping) else [found]
        told = [{**each.run.notes, **each.summary()} for each in groups]
        summary = found.summary() if isinstance(found, Mapping) else told[0]
    if not quiet:
        for line in _list_notes(told):
            echo(line, err=True)
    if as_json:
        echo_json("agreement", summary)
    elif not quiet:
        echo("\n".join(draw_groups(summary) if isinstance(found, Mapping) else _text(found, summary)))
    for name, reason in failed.items():
        echo(f"allalike: {visible(repr(name))} has no agreement. {visible(write_flags(reason))}", err=True)
    if failed:
        click.get_current_context().exit(2)
    leave_if(find_disagreement(summary, options["fail_under"]))


def _measure(sources: list[Scan], options: dict[str, Any]) -> tuple[Agreement | Agreements, dict[str, str]]:
    """Measure it for all answers, or for each column of labels and each group of rows; say also which columns fail."""
    from allalike.api.agree import agreement as run
    from allalike.api.agree import name_groups
    from allalike.reliability.agreement import Agreements

    engine = name_engine(options)
    by = name_groups(sources[0], options["by"]) if not options["per_task"] else []
    if len(sources) == 1 and not by:
        return run(sources[0].read().per_task() if options["per_task"] else sources[0], engine=engine), {}
    found: dict[tuple[str, ...], Agreement] = {}
    failed: dict[str, str] = {}
    for source in sources:
        label = [source.columns["label"]] if len(sources) > 1 else []
        try:
            parts = source.split(by) if by else {(): source}
            found |= {(*label, *values): run(part, engine=engine) for values, part in parts.items()}
        except (AllalikeError, DataWarning) as error:
            if not label:
                raise
            failed[label[0]] = str(error.args[0])
    return Agreements((*(["label"] if len(sources) > 1 else []), *by), found), failed


def _list_notes(summaries: list[dict[str, Any]]) -> list[str]:
    """List what there is to say of all groups, each sentence once; a table says of which kind labels are."""
    lines = dict.fromkeys(line for each in summaries for line in list_notes(Summary.from_dict(each)))
    return [line for line in lines if len(summaries) == 1 or not line.startswith("Recognised: the labels")]


def _text(found: Agreement, summary: dict[str, Any]) -> list[str]:
    facts = Summary.from_dict(summary)
    prose = f"{say_counts(*facts.counts)} ({facts.domain.name}, {visible(facts.domain.distance)})."
    if summary["paired_tasks"] < summary["tasks"]:
        prose += (
            f" {summary['paired_answers']:,} are to the {summary['paired_tasks']:,} tasks with several answers, and"
            " only these count for alpha."
        )
    if "sampled_tasks" in summary:
        prose += f" All numbers below are from all answers to a sample of {summary['sampled_tasks']:,} tasks."
    lines = [*wrap(prose, _WIDTH), "", rows(_coefficients(summary)), ""]
    if summary["alpha"] is None:
        return [*lines, f"Alpha is not known: {_reason(summary)}."]
    error = f", give or take {summary['expected_error']:.2g}" if summary["expected_error"] else ""
    prose = (
        f"The distance of two answers to the same task is {summary['observed']:.4g}, and to any tasks"
        f" {summary['expected']:.4g} (known from {summary['expected_from']}{error}). Alpha is 1 if nobody disagrees,"
        " and 0 if answers to the same task are no closer than any."
    )
    lines += wrap(prose, _WIDTH)
    if effects := _effects(found, max(2, _N_LINES - len(summary["coefficients"]))):
        lines += ["", "Who raises alpha, and who lowers it:", rows(effects)]
    return lines


def _reason(summary: dict[str, Any]) -> str:
    if not summary["paired_tasks"]:
        return "no task has two answers"
    return "all answers are the same" if summary["expected"] == 0 else "answers to different tasks cannot be compared"


def _coefficients(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    from allalike.telling.remark import name_alpha

    domain = summary["domain"]
    main, pairs = name_alpha(domain["name"], domain["distance"]), summary["cohen_pairs"]
    notes = {
        main: _limits(summary["low"], summary["high"]),
        "ordinal alpha": _limits(*summary["ordinal_limits"]),
        "percent agreement": "equal pairs of answers to a task",
        "Cohen's kappa": "" if pairs is None else f"mean over {count(pairs, 'pair')} of workers",
    }
    values = {name: _number(value) for name, value in summary["coefficients"].items()}
    if (equal := summary["coefficients"].get("percent agreement")) is not None:
        values["percent agreement"] = f"{100 * equal:.1f} %"
    width = max(map(len, values.values()))
    return [(name, value.rjust(width), notes.get(name, "")) for name, value in values.items()]


def _limits(low: float | None, high: float | None) -> str:
    return "" if low is None else f"{low:.3f} to {high:.3f} (95 %, for other tasks)"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _effects(found: Agreement, shown: int) -> list[tuple[object, ...]]:
    """List the workers with the largest effects, up and down."""
    import numpy as np

    without = found.found.without
    effect = found.alpha - without
    known = np.flatnonzero(~np.isnan(effect))
    order = known[np.argsort(-effect[known], kind="stable")]
    picked = [*order[:shown], *order[max(shown, len(order) - shown) :]]
    lines: list[tuple[object, ...]] = [
        (
            _shortened(str(found.run.workers[int(number)])),
            f"{found.run.answer_counts[number]:,}".rjust(len("answers")),
            f"{without[number]:.4f}".rjust(len("alpha without")),
            f"{_rounded(effect[number]):+.4f}".rjust(len("effect")),
        )
        for number in picked
    ]
    if len(order) > 2 * shown:
        lines.insert(shown, ("...", "", "", ""))
    return [("worker", "answers", "alpha without", "effect"), *lines] if lines else []


def _rounded(value: float) -> float:
    """Return a number without the sign of a zero."""
    return value if abs(value) >= 5e-5 else 0.0


def _shortened(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _MAX_ID else f"{shown[: _MAX_ID - 3]}..."
