"""The command `allalike agreement`."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.console import (
    WIDTH,
    bar_after_a_second,
    echo,
    notes_for_warnings,
    rows,
    shorten,
    spool_input,
    visible,
)
from allalike.cli.discover import choose_labels
from allalike.cli.gates import find_disagreement, leave_if
from allalike.cli.lists import echo_json
from allalike.cli.options import command, list_notes, name_answers, name_engine, option, take, write_flags
from allalike.errors import AllalikeError, DataWarning
from allalike.result.messages import say_counts
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from allalike.readers import Scan
    from allalike.reliability.agreement import Agreement, Agreements

_HEADS = ("kind", "answers", "workers", "tasks", "alpha", "limits", "equal")
_MAX_NAME, _MAX_ID = 26, 30  # characters
_N_LINES = 9  # of coefficients and of workers at one end, so that all fits on a screen


def draw_groups(summary: Mapping[str, Any]) -> list[str]:
    r"""Return the lines of a table with a line for each group, and what its numbers mean.

    >>> numbers = {"answers": 8, "workers": 4, "tasks": 2, "alpha": 0.5, "ci_low": 0.1, "ci_high": 0.7, "percent": 0.75}
    >>> group = {"group": {"sex": "f"}, "domain": {"name": "categorical"}, **numbers}
    >>> print("\n".join(draw_groups({"by": ["sex"], "groups": [group]})[:2]))
      sex  kind         answers  workers  tasks  alpha  limits        equal
      f    categorical        8        4      2  0.500  0.10 to 0.70   75 %
    """
    lines: list[tuple[str, ...]] = [(*summary["by"], *_HEADS)]
    for group in summary["groups"]:
        alpha, low, high, equal = (group[name] for name in ("alpha", "ci_low", "ci_high", "percent"))
        cells = [
            *(shorten(name or "(none)", _MAX_NAME) for name in group["group"].values()),
            group["domain"]["name"],
            *(f"{group[name]:,}" for name in ("answers", "workers", "tasks")),
            "-" if alpha is None else f"{alpha:.3f}",
            "" if low is None else f"{low:.2f} to {high:.2f}",
            "" if equal is None else f"{100 * equal:.0f} %",
        ]
        lines.append(tuple(cells))
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    right = [False] * len(summary["by"]) + [name not in ("kind", "limits") for name in _HEADS]
    shown = [
        tuple(
            cell.rjust(width) if to_right else cell for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        for line in lines
    ]
    prose = (
        "Alpha is 1 if nobody disagrees, and 0 if answers to the same task are no closer than answers to any task of"
        " the group. One task alone has no alpha, and fewer than 20 have no limits (95 %). Equal: the share of equal"
        " pairs of answers to a task."
    )
    return [*rows(shown).splitlines(), "", *wrap(prose, WIDTH)]


def _list(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from allalike.reliability.coefficients import COEFFICIENTS

        echo(rows([(name, *about) for name, about in COEFFICIENTS.items()], indent=""))
        context.exit()


@command()
@option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List the coefficients.")
@take("Input", "Columns", files=True)
@option("--by", multiple=True, group="Columns", help="Column with groups of tasks or workers (repeatable).")
@option(
    "--fail-under",
    type=float,
    group="Output",
    help="Exit with code 3 if alpha is unknown or below a value such as 0.667.",
)
@take("Output", "Large data")
def agreement(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Measure inter-annotator agreement in FILES.

    Krippendorff's alpha with its 95 % confidence interval for any label type; for classes also percent agreement,
    Fleiss' and Cohen's kappa and Gwet's AC1; for levels ordinal alpha, weighted kappas and AC2; and the effect of each
    worker on alpha. --list describes them. --by and several --label columns give a table of groups. FILES are as in
    'allalike discover'.
    """
    files = spool_input(files, options)
    with notes_for_warnings(quiet=quiet, force=options["force"]), bar_after_a_second(quiet=quiet):
        found, failed = _measure(choose_labels(name_answers(files, options), options["label"]), options)
        groups = list(found.values()) if isinstance(found, Mapping) else [found]
        told = [{**each.run.notes, **each.summary()} for each in groups]
        summary = found.summary() if isinstance(found, Mapping) else told[0]
    if not quiet:
        for line in dict.fromkeys(line for each in told for line in list_notes(Summary.from_dict(each))):
            if len(told) == 1 or not line.startswith("Detected: the labels"):  # which the table says
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
    """Measure it for all answers, or for each column of labels and each group of rows; return also failures."""
    from allalike.agree import agreement as run
    from allalike.agree import name_groups
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
    lines = [*wrap(prose, WIDTH), "", rows(_list_coefficients(summary)), ""]
    if summary["alpha"] is None:
        reason = (
            "all answers are the same" if summary["expected"] == 0 else "answers to different tasks cannot be compared"
        )
        return [*lines, f"Alpha is not known: {reason if summary['paired_tasks'] else 'no task has two answers'}."]
    error = f", give or take {summary['expected_error']:.2g}" if summary["expected_error"] else ""
    prose = (
        f"The distance of two answers to the same task is {summary['observed']:.4g}, and to any tasks"
        f" {summary['expected']:.4g} (known from {summary['expected_from']}{error}). Alpha is 1 if nobody disagrees,"
        " and 0 if answers to the same task are no closer than any."
    )
    lines += wrap(prose, WIDTH)
    if effects := _list_effects(found, max(2, _N_LINES - len(summary["coefficients"]))):
        lines += ["", "Who raises alpha, and who lowers it:", rows(effects)]
    return lines


def _list_coefficients(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    from allalike.reliability.coefficients import name_alpha

    def describe_interval(low: float | None, high: float | None) -> str:
        return "" if low is None else f"{low:.3f} to {high:.3f} (95 %, for other tasks)"

    pairs = summary["cohen_pairs"]
    notes = {
        name_alpha(summary["domain"]["name"], summary["domain"]["distance"]): describe_interval(
            summary["ci_low"], summary["ci_high"]
        ),
        "ordinal alpha": describe_interval(*summary["ordinal_limits"]),
        "percent agreement": "equal pairs of answers to a task",
        "Cohen's kappa": "" if pairs is None else f"mean over {count(pairs, 'pair')} of workers",
    }
    values = {name: "-" if value is None else f"{value:.3f}" for name, value in summary["coefficients"].items()}
    if (equal := summary["coefficients"].get("percent agreement")) is not None:
        values["percent agreement"] = f"{100 * equal:.1f} %"
    width = max(map(len, values.values()))
    return [(name, value.rjust(width), notes.get(name, "")) for name, value in values.items()]


def _list_effects(found: Agreement, shown: int) -> list[tuple[object, ...]]:
    """List the workers with the largest effects, up and down."""
    import numpy as np

    without = found.found.without
    effect = found.alpha - without
    known = np.flatnonzero(~np.isnan(effect))
    order = known[np.argsort(-effect[known], kind="stable")]
    lines: list[tuple[object, ...]] = []
    for number in [*order[:shown], *order[max(shown, len(order) - shown) :]]:
        moved = effect[number] if abs(effect[number]) >= 5e-5 else 0.0  # without the sign of a zero
        cells = (f"{found.run.answer_counts[number]:,}", f"{without[number]:.4f}", f"{moved:+.4f}")
        widths = map(len, ("answers", "alpha without", "effect"))
        name = shorten(found.run.workers[int(number)], _MAX_ID)
        lines.append((name, *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))))
    if len(order) > 2 * shown:
        lines.insert(shown, ("...", "", "", ""))
    return [("worker", "answers", "alpha without", "effect"), *lines] if lines else []
