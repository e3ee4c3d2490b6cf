"""The command `allalike agreement`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
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
_N_LINES = 12  # coefficients and workers


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
        notes = [_read_notes(each) for each in groups]
    if not quiet:
        for line in dict.fromkeys(line for each in notes for line in list_notes(each)):
            if len(groups) == 1 or not line.startswith("Detected: the labels"):  # in the table
                echo(line, err=True)
    if as_json:
        shown = {} if isinstance(found, Mapping) else found.run.notes
        echo_json("agreement", {**shown, **found.summary()})
    elif not quiet:
        lines = draw_groups(found) if isinstance(found, Mapping) else _draw_agreement(found, notes[0])
        echo("\n".join(lines))
    exit_if(*check_alpha(found, options["fail_under"]))


def _read_notes(found: Agreement) -> Summary:
    from allalike.result.summaries import describe_answers

    run = found.run
    return Summary.from_dict({**run.notes, **describe_answers(run), "domain": run.encoding.describe()})


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


def draw_groups(found: Agreements) -> list[str]:
    r"""Return the lines of a table with a line per group, and an explanation.

    >>> import allalike
    >>> table = {"worker": "abab", "task": "1122", "label": "xxxy", "sex": "ffff"}
    >>> print("\n".join(draw_groups(allalike.agreement(dict(zip(table, map(list, table.values()))), by="sex"))[:2]))
      sex  kind         answers  workers  tasks  alpha  95 % interval  equal
      f    categorical        4        2      2  0.000                  50 %
    """
    lines: list[tuple[Any, ...]] = [(*found.by, *_HEADS)]
    for row in found.table.itertuples(index=False, name=None):
        values, (*counts, kind, alpha, low, high, equal) = row[: len(found.by)], row[len(found.by) : len(found.by) + 8]
        interval = "" if isnan(low) else f"{low:.2f} to {high:.2f}"
        names = [shorten(name or "(none)", _MAX_NAME) for name in values]
        equal = "" if isnan(equal) else f"{100 * equal:.0f} %"
        lines.append((*names, kind, *counts, "-" if isnan(alpha) else f"{alpha:.3f}", interval, equal))
    prose = (
        "Alpha is 1 for perfect agreement, and 0 if answers to the same task are as far apart as answers to any two"
        " tasks of the group. It needs two tasks, and its interval needs 20. Equal is the share of equal pairs of"
        " answers to a task."
    )
    return [*rows(lines).splitlines(), "", *wrap(prose, WIDTH)]


def _draw_agreement(found: Agreement, notes: Summary) -> list[str]:
    prose = f"{format_counts(*notes.counts)} ({notes.domain.name}, {visible(notes.domain.distance)})."
    if (alpha := found.found).tasks < notes.tasks:
        prose += f" Alpha uses {alpha.answers:,} of them, on {alpha.tasks:,} tasks with several answers."
    if found.sampled_tasks is not None:
        prose += f" The numbers below are from a sample of {found.sampled_tasks:,} tasks."
    values = _list_values(found, notes)
    lines = [*wrap(prose, WIDTH), "", rows(values), ""]
    if isnan(alpha.value):
        reason = "all answers are the same" if alpha.expected == 0 else "answers to different tasks cannot be compared"
        return [*lines, f"Alpha is unknown: {reason if alpha.tasks else 'no task has two answers'}."]
    error = f", standard error {alpha.error:.2g}" if alpha.error > 0 else ""
    prose = (
        f"The mean distance between answers to the same task is {alpha.observed:.4g}, and between any answers"
        f" {alpha.expected:.4g} (from {alpha.source}{error}). Alpha is 1 for perfect agreement, and 0"
        " if the two distances are equal."
    )
    lines += wrap(prose, WIDTH)
    if effects := _list_effects(found, max(2, _N_LINES - len(values))):
        lines += ["", "Workers who lower alpha most:", rows(effects)]
    return lines


def _list_values(found: Agreement, notes: Summary) -> list[tuple[str, str, str]]:
    """List the coefficients with their values and intervals."""
    from allalike.reliability.coefficients import name_alpha

    def describe_interval(low: float, high: float) -> str:
        return "" if isnan(low) else f"{low:.3f} to {high:.3f} (95 %, for other tasks)"

    pairs = found.cohen_pairs
    remarks = {
        name_alpha(notes.domain.name, notes.domain.distance): describe_interval(found.ci_low, found.ci_high),
        "ordinal alpha": describe_interval(*found.ordinal[1:]),
        "percent agreement": "equal pairs of answers to a task",
        "Cohen's kappa": "" if pairs is None else f"mean over {count(pairs.pairs, 'pair')} of workers",
    }
    known = {name: nan if value is None else value for name, value in found.coefficients().items()}
    values = {name: "-" if isnan(value) else f"{value:.3f}" for name, value in known.items()}
    if not isnan(equal := known.get("percent agreement", nan)):
        values["percent agreement"] = f"{100 * equal:.1f} %"
    width = max(map(len, values.values()))
    return [(name, value.rjust(width), remarks.get(name, "")) for name, value in values.items()]


def _list_effects(found: Agreement, most: int) -> list[tuple[object, ...]]:
    """List the workers who lower alpha most."""
    without = found.found.without
    effects = zip((found.alpha - without).tolist(), without.tolist(), found.run.workers.tolist(), strict=True)
    lowering = sorted((each for each in effects if each[0] < 0), key=lambda each: each[0])[:most]
    lines = [(shorten(worker, _MAX_ID), f"{alpha:.4f}", f"{effect:+.4f}") for effect, alpha, worker in lowering]
    return [("worker", "alpha without", "effect"), *lines] if lines else []
