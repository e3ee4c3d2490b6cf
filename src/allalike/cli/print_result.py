"""Screen output of `allalike discover`: about 20 lines of 80 columns.

It contains the labels, the best and the worst workers, and next steps as commands to copy. Facts that need no action
are in the report and in the summary. Alpha and constant workers need another pass over the answers, which is skipped
above 5 million.
"""

from __future__ import annotations

import math
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.text_format import count
from allalike.cli.console import WIDTH, Line, fold, keep_whole, rows, visible
from allalike.cli.options import format_message
from allalike.errors import UnsupportedError
from allalike.result.commands import complete_command
from allalike.result.messages import (
    Message,
    describe_gold_error,
    describe_label_confidence,
    describe_model,
    describe_screening,
    format_counts,
    format_label_changes,
    percent,
    percent_of,
    two_digits,
)
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.engines import Piece
    from allalike.result.result import Result


_N_WORKERS, _N_TASKS, _N_STEPS, _MIN_GOLD = 3, 3, 4, 20  # workers at each end; gold labels for intervals
_MAX_ID = 24  # characters of an id in a column; longer ids get a separate line
_MAX_ANSWERS = 5_000_000
_UNCERTAIN = 0.8  # confidence below which further answers are suggested
_BAR, _EIGHTHS = 8, "▏▎▍▌▋▊▉█"
_UNITS = {"error_rate": "error rate", "rmse": "RMSE"}
_OPENERS = {"darwin": "open", "win32": "start"}


def draw_screen(result: Result, paths: Sequence[Path], *, typed: Sequence[str] = ()) -> list[Line]:
    """Return the lines about a result: labels, least certain tasks, workers, next steps.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")], method="UA")
    >>> for line in draw_screen(result, [])[:2]:
    ...     print(line.text)
    4 answers by 2 workers on 2 tasks, 2 classes
    Ties were broken at random in 1 task.
    """
    from allalike.methods.auto.next_labels import rank_tasks

    summary = Summary.from_dict(result.summary)
    look = summary.answers <= _MAX_ANSWERS
    uncertain = rank_tasks(result.found.pieces(), _N_TASKS)
    kind = summary.domain.name if summary.domain.classes is None else count(summary.domain.classes, "class")
    workers = [
        *_describe_agreement(result, look=look),
        *map(format_message, describe_screening(summary, flagged=False)),
    ]
    lines = [
        Line(f"{format_counts(*summary.counts)}, {kind}", bold=True),
        *_fold([*_describe_labels(result, summary, look=look), *_describe_tasks(result, uncertain)]),
        Line(""),
        *_list_workers(result),
        *_fold(workers, "  "),
    ]
    return [*lines, *draw_steps(_list_steps(result, paths, typed, uncertain), paths)]


def draw_steps(steps: Sequence[tuple[str, str]], paths: Sequence[Path]) -> list[Line]:
    """Return the lines of the next steps, each a command with its purpose, and of the output folder."""
    lines = [Line(""), Line("Next steps", bold=True)] if steps else []
    for command, purpose in steps:
        line = f"  {visible(command)}  # {purpose}"
        lines += [Line(line)] if len(line) <= WIDTH else [Line(f"  # {purpose}:"), Line(f"  {visible(command)}")]
    return [*lines, Line(f"Saved in {visible(paths[0].parent)}.")] if paths else lines


def view_report(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Return the command that opens the report among these files, if it is there."""
    from allalike.readers.sources import is_passing
    from allalike.result.saving import REPORT

    pages = [path for path in paths if path.name == REPORT and not is_passing(path)]
    return [(shlex.join([_OPENERS.get(sys.platform, "xdg-open"), str(page)]), "view the report") for page in pages]


def _fold(texts: Sequence[str], indent: str = "") -> list[Line]:
    return [Line(line) for text in texts for line in fold(f"{indent}{text}", f"{indent}  ")]


def _describe_labels(result: Result, summary: Summary, *, look: bool) -> list[str]:
    messages = [
        *describe_label_confidence(summary, _expect_unweighted(result) if look else None),
        *list(describe_gold_error(summary))[:1],
        *describe_model(summary),
        *map(Message, format_label_changes(summary, recurring=result.run.domain.recurring)),
    ]
    return [format_message(message) for message in messages]


def _expect_unweighted(result: Result) -> float | None:
    """Return the expected accuracy of the unweighted labels, from class probabilities."""
    run = result.run
    known = result.posteriors is not None and "confidence" in result.summary and not run.n_gold
    if not known or result.posteriors is None or run.n_tasks * run.encoding.n_labels > _MAX_ANSWERS:
        return None
    probability, found = result.posteriors().joined().found["probability"], result.found.joined().found
    return float(np.mean(probability[np.arange(run.n_tasks), found["unweighted"]]))


def _describe_tasks(result: Result, uncertain: Piece) -> list[str]:
    """List the least certain tasks with their confidences, if known."""
    confidence = uncertain.found["confidence"]
    if not len(confidence) or not np.isfinite(confidence).all() or result.run.domain.name == "bitmap":
        return []
    tasks = zip(uncertain.tasks.tolist(), confidence.tolist(), strict=True)
    return [f"Least certain tasks: {', '.join(f'{keep_whole(task)} ({percent(each)})' for task, each in tasks)}."]


def _describe_agreement(result: Result, *, look: bool) -> list[str]:
    """Describe Krippendorff's alpha, per scale for surveys."""
    if result.run.worker_task is not None or not (look or "agreement" in vars(result)):
        return []
    if result.run.domain.record is not None:
        from allalike.reliability.agreement import measure_scales  # needs pandas

        scales = measure_scales(result.run)
        known = {name: each for name, each in scales.items() if each.run.n_tasks > 1 and not math.isnan(each.alpha)}
        listed = [f"{name} {each.alpha:.2f} ({count(each.run.n_tasks, 'question')})" for name, each in known.items()]
        return [f"Krippendorff's alpha by scale: {'; '.join(listed)}."] if listed else []
    agreement = result.agreement
    if math.isnan(agreement.alpha):
        return []
    interval = "" if math.isnan(agreement.ci_low) else f" ({agreement.ci_low:.2f} to {agreement.ci_high:.2f})"
    return [f"Agreement: Krippendorff's alpha {agreement.alpha:.2f}{interval}."]


# Workers: the best and the worst, with error, rank range, a bar for the weight, and flags.


def _list_workers(result: Result) -> list[Line]:
    """Return a table of the best and the worst workers, each with flags."""
    picked = _pick(result)
    columns = _list_columns(result, picked)
    table: list[Sequence[object]] = list(zip(*columns.values(), strict=True))
    names, reasons = list(columns["worker"]), [result._flagged["reason"][number] for number in picked]
    if len(result.run.workers) > len(picked):
        for listed, gap in ((table, ("...", *[""] * (len(columns) - 1))), (names, "..."), (reasons, "")):
            listed.insert(_N_WORKERS, gap)
    short = [("" if len(str(name)) > _MAX_ID else name, *row[1:]) for name, row in zip(names, table, strict=True)]
    head, *texts = rows([tuple(columns), *short]).split("\n")
    width = max(map(len, [head, *texts]))
    lines = [Line(head, bold=True)]
    for name, text, flag in zip(names, texts, reasons, strict=True):
        beside = width + 2 + len(flag) <= WIDTH
        lines += [Line(f"  {name}")] if len(str(name)) > _MAX_ID else []
        lines.append(Line(f"{text:{width}}  ", flag) if flag and beside else Line(text))
        lines += [Line("    ", flag)] if flag and not beside else []
    return lines


def _order_workers(result: Result) -> tuple[list[int], int]:
    """Return the workers by weight and error, those with few answers last, and the number with enough answers."""
    from allalike.result.tables import find_few

    fit = result.weighing
    few = find_few(result.run, fit)
    order = np.lexsort((np.nan_to_num(fit.fault, nan=np.inf), -fit.weight, few))
    return [int(number) for number in order], len(order) - int(few.sum())


def _pick(result: Result) -> list[int]:
    """Return the positions of the best and the worst workers among those with enough answers."""
    order, known = _order_workers(result)
    order = order[:known] if known >= 2 * _N_WORKERS else order
    return [*order[:_N_WORKERS], *order[max(_N_WORKERS, len(order) - _N_WORKERS) :]]


def _list_columns(result: Result, picked: list[int]) -> dict[str, Sequence[object]]:
    from allalike.result.tables import fault_columns

    fit, blocks = result.weighing, _has_blocks()
    bars = [draw_bar(float(fit.weight[number]) / float(fit.weight.max()), blocks=blocks) for number in picked]
    columns: dict[str, Sequence[object]] = {"worker": [visible(result.run.workers[number]) for number in picked]}
    columns["answers"] = result.run.answer_counts[picked].tolist()
    known = fit.uncertainty
    if known is None:
        return {**columns, "mean error": list(map(_write_error, fit.fault[picked].tolist())), "weight": bars}
    errors = fault_columns(fit, known)
    error, low, high = (errors[name][picked].tolist() for name in (known.unit, "ci_low", "ci_high"))
    write = percent_of if known.unit == "error_rate" else _write_error
    columns[_UNITS.get(known.unit, "mean error")] = list(map(write, error))
    if not all(map(math.isnan, low)):
        ends = zip(low, high, strict=True)
        columns["95 % interval"] = [
            "" if math.isnan(one) else f"{write(one).removesuffix(' %')} to {write(other)}" for one, other in ends
        ]
    elif known.rank_low is not None and known.rank_high is not None:
        ranks = zip(known.rank_low[picked].tolist(), known.rank_high[picked].tolist(), strict=True)
        columns["rank"] = [
            "" if math.isnan(one) else f"{one:.0f}" if one == other else f"{one:.0f} to {other:.0f}"
            for one, other in ranks
        ]
    return {**columns, "weight": bars}


def _write_error(error: float) -> str:
    return "" if math.isnan(error) else two_digits(error)


def draw_bar(share: float, *, blocks: bool) -> str:
    """Draw a share as a bar of blocks, or of number signs without block characters; empty only for 0.

    >>> draw_bar(0.55, blocks=True), draw_bar(0.55, blocks=False), draw_bar(1e-6, blocks=True), draw_bar(0, blocks=True)
    ('████▍', '####', '▏', '')
    """
    if not share > 0:
        return ""
    if not blocks:
        return "#" * max(1, round(share * _BAR))
    full, rest = divmod(max(1, round(share * _BAR * len(_EIGHTHS))), len(_EIGHTHS))
    return _EIGHTHS[-1] * full + (_EIGHTHS[rest - 1] if rest else "")


def _has_blocks() -> bool:
    """Return whether standard output can show block characters."""
    try:
        _EIGHTHS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# Next steps: commands with their purpose, the most useful first.


def _list_steps(result: Result, paths: Sequence[Path], typed: Sequence[str], uncertain: Piece) -> list[tuple[str, str]]:
    """List commands that use gold labels, or the saved result."""
    from allalike.readers.sources import is_passing
    from allalike.result.saved import find_digest

    n_gold, column, steps = result.run.n_gold, result.run.notes.get("gold_column"), []
    if typed and n_gold < _MIN_GOLD and (column or not n_gold):
        purpose = "use the gold labels of this column" if column else f"label {_MIN_GOLD} random tasks yourself"
        steps.append((complete_command(typed, {"gold": f"column:{column}" if column else "gold.csv"}), purpose))
    steps += view_report(paths)
    if not typed:
        return steps
    folder = next((str(path.parent) for path in paths[:1] if not is_passing(path) and find_digest(path.parent)), None)
    if folder and (worker := _find_flagged(result)) is not None:
        steps.append((shlex.join(["allalike", "explain", folder, "worker", worker]), "why this worker is flagged"))
    if folder is None or result.run.worker_task is not None:
        return [*steps, (f"{complete_command(typed, {})} more.csv", "add answers later")]
    if (uncertain.found["confidence"] < _UNCERTAIN).any() and (budget := _count_plannable(result)):
        steps.append((shlex.join(["allalike", "plan", folder, "--budget", str(budget)]), "plan further answers"))
    return [*steps, (shlex.join(["allalike", "update", folder, "more.csv"]), "add answers later")][:_N_STEPS]


def _find_flagged(result: Result) -> str | None:
    """Return the worker to examine first: one significantly worse than the crowd, otherwise one to exclude."""
    from allalike.result.summaries import find_worse

    worse = find_worse(result.run, result.weighing)
    kinds = result._flagged["flag"].tolist()
    order = _order_workers(result)[0][::-1]
    flagged = [] if worse is None else [number for number in order if number in worse.evidence]
    flagged += [number for kind in ("look", "block") for number in order if kinds[number] == kind]
    return str(result.run.workers[flagged[0]]) if flagged else None


def _count_plannable(result: Result) -> int:
    """Count the uncertain tasks if further answers can be planned, otherwise return 0."""
    with suppress(UnsupportedError):
        if result.summary["answers"] <= _MAX_ANSWERS and result.plan(1):
            return sum(int((piece.found["confidence"] < _UNCERTAIN).sum()) for piece in result.found.pieces())
    return 0
