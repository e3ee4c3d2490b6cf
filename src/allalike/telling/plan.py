"""What there is to say about a plan: what it costs, what it brings, and when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["remark_plan"]


def remark_plan(summary: Mapping[str, Any]) -> list[str]:
    """Say what a plan asks for, what it costs and brings, and whether to stop.

    >>> told = {"expected": 0.1, "low": 0.02, "high": 0.15}
    >>> step = {"answers": 3, "cost": 6.0, "tasks": 2, "workers": 3, "after": told}
    >>> for line in remark_plan({"measure": "error_rate", "budget": 6, "before": told, "next": step, "all": step,
    ...                          "worth": 0.0, "stop": False}):
    ...     print(line)
    Ask for 3 answers to 2 tasks, of 3 workers, for 6 of 6.
    Expected error now: 10.0 % (2.0 to 15.0 %).
    After these answers: 10.0 % (2.0 to 15.0 %).
    """
    now, whole, measure = summary["next"], summary["all"], summary["measure"]
    lines = [f"Expected error now: {_write(summary['before'], measure)}."]
    if now["answers"]:
        asked = (
            f"{count(now['answers'], 'answer')} to {count(now['tasks'], 'task')}, of {count(now['workers'], 'worker')}"
        )
        lines.insert(0, f"Ask for {asked}, for {now['cost']:g} of {summary['budget']:g}.")
        lines.append(f"After these answers: {_write(now['after'], measure)}.")
    if whole["answers"] > now["answers"]:
        after = _write(whole["after"], measure)
        lines.append(f"After all {whole['answers']:,} that are worth it, for {whole['cost']:g}: {after}.")
    if summary["stop"]:
        least = f"as much as {summary['worth']:g} per unit of money" if summary["worth"] else "anything"
        then = f"Stop after {whole['cost']:g} of {summary['budget']:g}" if whole["answers"] else "Stop"
        lines.append(f"{then}: by this crowd's own estimate, nobody who may still be asked brings {least}.")
    return lines


def _write(error: Mapping[str, float], measure: str) -> str:
    if measure == "error_rate":
        return f"{100 * error['expected']:.1f} % ({100 * error['low']:.1f} to {100 * error['high']:.1f} %)"
    return f"rmse {error['expected']:.4g} ({error['low']:.4g} to {error['high']:.4g})"
