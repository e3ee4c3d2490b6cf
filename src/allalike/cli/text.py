"""What a result says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.cli.console import rows, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from allalike.api.result import Result

__all__ = ["gold_text", "guesses", "report_text", "share", "worker_rows"]

_N_SHOWN_WORKERS = 5


def guesses(summary: Mapping[str, Any]) -> list[str]:
    """Say what was guessed or set aside, with the flag that overrides it."""
    lines = []
    guessed = summary.get("guessed", {})
    if "columns" in guessed:
        columns = guessed["columns"]
        flag = visible(",".join(f"{role}={name}" for role, name in columns.items()))
        listed = ", ".join(f"{name!r} is the {role}" for role, name in columns.items())
        lines.append(f"Recognised: {listed} (--columns {flag}).")
    if "layout" in guessed:
        lines.append(
            f"Recognised: the masks lie as {guessed['layout']} (a manifest.csv with worker, task, path overrides)."
        )
    if "domain" in guessed:
        lines.append(f"Recognised: the labels are {guessed['domain']} (--domain {guessed['domain']}).")
    if "engine" in guessed:
        lines.append(
            "Note: the files are larger than half of the free memory, so the answers are kept on disk (--engine"
            f" {guessed['engine']}; --engine memory overrides)."
        )
    if summary.get("missing_dropped"):
        lines.append(f"Dropped {summary['missing_dropped']:,} rows without a label (--missing drop).")
    if summary.get("repeats_set_aside"):
        lines.append(
            f"Set aside {summary['repeats_set_aside']:,} repeated answers of a worker to a task (--repeats says which)."
        )
    if summary["workers"] == 1:
        lines.append("There is one worker only: her answers are the truth, and nothing is known about her fault.")
    return lines


def report_text(result: Result, paths: Sequence[Path]) -> str:
    """Say what was found."""
    summary, domain = result.summary, result.summary["domain"]
    classes = ""
    if "classes" in domain:
        source = "counted in the data" if domain["classes_from"] == "data" else "as given"
        classes = f", {domain['classes']:,} classes {source}"
    rounds = f"{summary['iterations']} round{'s' if summary['iterations'] > 1 else ''}"
    lines = [
        f"{summary['answers']:,} answers of {summary['workers']:,} workers to {summary['tasks']:,} tasks"
        f" ({domain['name']} labels{classes}).",
        f"{summary['method']['name']}, {rounds}: weighed like {summary['effective_workers']:,.1f} equal workers.",
        f"{summary['changed']:,} of {summary['tasks']:,} truths ({share(summary['changed'], summary['tasks'])}) differ"
        " from the unweighted answer" + (f"; {summary['tied']:,} were drawn among equals." if summary["tied"] else "."),
        *gold_text(result),
        "",
        rows(worker_rows(result)),
        "",
        "Written: " + ", ".join(map(visible, paths)),
    ]
    return "\n".join(lines)


def gold_text(result: Result) -> list[str]:
    """Say how large the error against known truths is."""
    if "error" not in result.summary.get("gold", {}):
        return []
    gold = result.summary["gold"]
    return [
        f"Error against the gold of {gold['tasks']:,} tasks: {gold['error']:.4g}; unweighted"
        f" {gold['unweighted_error']:.4g}."
    ]


def worker_rows(result: Result, shown: int = _N_SHOWN_WORKERS) -> list[tuple[object, ...]]:
    """List the best and the worst workers, by weight and then by fault."""
    import numpy as np

    weighing, ids = result.weighing, result.run.workers
    order = np.lexsort((np.nan_to_num(weighing.fault, nan=np.inf), -weighing.weight))
    counts = result.run.answer_counts
    picked = [*order[:shown], *order[max(shown, len(order) - shown) :]]
    lines: list[tuple[object, ...]] = [("worker", "answers", "fault", "weight")]
    for place, number in enumerate(picked):
        if place == shown and len(order) > 2 * shown:
            lines.append(("...", "", "", ""))
        row = (
            str(ids[number]),
            int(counts[number]),
            float(weighing.fault[number]),
            float(weighing.weight[number]),
        )
        lines.append(row)
    return lines


def share(part: int, whole: int) -> str:
    """Write a share in percent.

    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %"
