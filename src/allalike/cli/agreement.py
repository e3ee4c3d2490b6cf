"""The command `allalike agreement`."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from allalike._core.text_format import count
from allalike.cli.console import WIDTH, echo, progress_and_notes, rows, shorten, spool_input, visible
from allalike.cli.discover import choose_labels
from allalike.cli.gates import check_alpha, exit_if
from allalike.cli.lists import echo_json
from allalike.cli.options import command, list_notes, name_answers, name_engine, option, take
from allalike.result.messages import format_counts
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from allalike.readers import Scan
    from allalike.reliability.agreement import Agreement, Agreements

_HEADS = ("kind", "answers", "workers", "tasks", "alpha", "95 % interval", "equal")
_MAX_NAME, _MAX_ID = 26, 30  # characters
_N_LINES = 9  # coefficients and workers at either end, to fit on a screen


@command()
@take("Input", "Columns", files=True)
@option("--by", multiple=True, group="Columns", help="Column with groups of tasks or workers (repeatable).")
@option(
    "--fail-under", type=float, group="Output", help="Exit with code 3 if alpha is unknown or below, such as 0.667."
)
@take("Output", "Large data")
def agreement(files: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Measure inter-annotator agreement in FILES.

    Krippendorff's alpha, its 95 % confidence interval and the effect of each worker on it are computed for any label
    type. Classes also have percent agreement, Fleiss' and Cohen's kappa and Gwet's AC1. Levels have ordinal alpha,
    weighted kappas and AC2. See 'allalike list coefficients'. --by and several --label columns give a table of groups.
    FILES are as in 'allalike discover'.
    """
    files = spool_input(files, options)
    with progress_and_notes({**options, "quiet": quiet}):
        found = _measure(choose_labels(name_answers(files, options), options["label"]), options)
        groups = list(found.values()) if isinstance(found, Mapping) else [found]
        summaries = [{**each.run.notes, **each.summary()} for each in groups]
        summary = found.summary() if isinstance(found, Mapping) else summaries[0]
    if not quiet:
        for line in dict.fromkeys(line for each in summaries for line in list_notes(Summary.from_dict(each))):
            if len(summaries) == 1 or not line.startswith("Detected: the labels"):  # in the table
                echo(line, err=True)
    if as_json:
        echo_json("agreement", summary)
    elif not quiet:
        echo("\n".join(draw_groups(summary) if isinstance(found, Mapping) else _draw_agreement(summary)))
    exit_if(*check_alpha(summary, options["fail_under"]))


def _measure(sources: list[Scan], options: dict[str, Any]) -> Agreement | Agreements:
    """Measure agreement for all answers, or per label column and group of rows."""
    from allalike.agree import agreement as run
    from allalike.agree import name_groups
    from allalike.reliability.agreement import Agreements

    engine = name_engine(options)
    by = name_groups(sources[0], options["by"]) if not options["per_task"] else []
    if len(sources) == 1 and not by:
        return run(sources[0].read().per_task() if options["per_task"] else sources[0], engine=engine)
    several = len(sources) > 1
    found = {
        (*([source.columns["label"]] if several else []), *values): run(part, engine=engine)
        for source in sources
        for values, part in (source.split(by) if by else {(): source}).items()
    }
    return Agreements((*(["label"] if several else []), *by), found)


def draw_groups(summary: Mapping[str, Any]) -> list[str]:
    r"""Return the lines of a table with a line per group, and an explanation.

    >>> numbers = {"answers": 8, "workers": 4, "tasks": 2, "alpha": 0.5, "ci_low": 0.1, "ci_high": 0.7, "percent": 0.75}
    >>> group = {"group": {"sex": "f"}, "domain": {"name": "categorical"}, **numbers}
    >>> print("\n".join(draw_groups({"by": ["sex"], "groups": [group]})[:2]))
      sex  kind         answers  workers  tasks  alpha  95 % interval  equal
      f    categorical        8        4      2  0.500  0.10 to 0.70    75 %
    """
    lines: list[tuple[Any, ...]] = [(*summary["by"], *_HEADS)]
    for group in summary["groups"]:
        alpha, low, high, equal = (group[name] for name in ("alpha", "ci_low", "ci_high", "percent"))
        names = [shorten(name or "(none)", _MAX_NAME) for name in group["group"].values()]
        interval = "" if low is None else f"{low:.2f} to {high:.2f}"
        numbers = ("-" if alpha is None else f"{alpha:.3f}", interval, "" if equal is None else f"{100 * equal:.0f} %")
        lines.append((*names, group["domain"]["name"], group["answers"], group["workers"], group["tasks"], *numbers))
    prose = (
        "Alpha is 1 for perfect agreement, and 0 if answers to the same task are as far apart as answers to any two"
        " tasks of the group. It needs two tasks, and its interval needs 20. Equal is the share of equal pairs of"
        " answers to a task."
    )
    return [*rows(lines).splitlines(), "", *wrap(prose, WIDTH)]


def _draw_agreement(summary: dict[str, Any]) -> list[str]:
    facts = Summary.from_dict(summary)
    prose = f"{format_counts(*facts.counts)} ({facts.domain.name}, {visible(facts.domain.distance)})."
    if summary["paired_tasks"] < summary["tasks"]:
        prose += (
            f" Alpha uses {summary['paired_answers']:,} of them, on {summary['paired_tasks']:,} tasks with several"
            " answers."
        )
    if "sampled_tasks" in summary:
        prose += f" The numbers below are from a sample of {summary['sampled_tasks']:,} tasks."
    lines = [*wrap(prose, WIDTH), "", rows(_list_values(summary)), ""]
    if summary["alpha"] is None:
        reason = (
            "all answers are the same" if summary["expected"] == 0 else "answers to different tasks cannot be compared"
        )
        return [*lines, f"Alpha is unknown: {reason if summary['paired_tasks'] else 'no task has two answers'}."]
    error = f", standard error {summary['expected_error']:.2g}" if summary["expected_error"] else ""
    prose = (
        f"The mean distance between answers to the same task is {summary['observed']:.4g}, and between any answers"
        f" {summary['expected']:.4g} (from {summary['expected_from']}{error}). Alpha is 1 for perfect agreement, and 0"
        " if the two distances are equal."
    )
    lines += wrap(prose, WIDTH)
    if effects := _list_effects(summary, max(2, _N_LINES - len(summary["coefficients"]))):
        lines += ["", "Effects of workers on alpha, the largest and the smallest:", rows(effects)]
    return lines


def _list_values(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    """List the coefficients with their values and intervals."""
    from allalike.reliability.coefficients import name_alpha

    def describe_interval(low: float | None, high: float | None) -> str:
        return "" if low is None else f"{low:.3f} to {high:.3f} (95 %, for other tasks)"

    pairs, alpha = summary["cohen_pairs"], name_alpha(summary["domain"]["name"], summary["domain"]["distance"])
    notes = {
        alpha: describe_interval(summary["ci_low"], summary["ci_high"]),
        "ordinal alpha": describe_interval(*summary["ordinal_limits"]),
        "percent agreement": "equal pairs of answers to a task",
        "Cohen's kappa": "" if pairs is None else f"mean over {count(pairs, 'pair')} of workers",
    }
    values = {name: "-" if value is None else f"{value:.3f}" for name, value in summary["coefficients"].items()}
    if (equal := summary["coefficients"].get("percent agreement")) is not None:
        values["percent agreement"] = f"{100 * equal:.1f} %"
    width = max(map(len, values.values()))
    return [(name, value.rjust(width), notes.get(name, "")) for name, value in values.items()]


def _list_effects(summary: dict[str, Any], shown: int) -> list[tuple[object, ...]]:
    """List the workers with the largest effects, up and down."""
    known = [each for each in summary["effects"] if each["effect"] is not None]
    order = sorted(known, key=lambda each: -each["effect"])
    lines: list[tuple[object, ...]] = [
        (shorten(each["worker"], _MAX_ID), f"{each['alpha_without']:.4f}", f"{each['effect'] + 0.0:+.4f}")
        for each in [*order[:shown], *order[max(shown, len(order) - shown) :]]
    ]
    gap = [("...", "", "")] if len(order) > 2 * shown else []
    return [("worker", "alpha without", "effect"), *lines[:shown], *gap, *lines[shown:]] if lines else []
