"""What there is to say about a plan: what it costs, what it brings, and when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["remark_plan"]


def remark_plan(summary: Mapping[str, Any]) -> list[str]:
    """Say what a plan asks for, what it costs and brings, how far that can be trusted, and whether to stop.

    >>> told = {"expected": 0.1, "low": 0.02, "high": 0.15}
    >>> step = {"answers": 3, "cost": 6.0, "tasks": 2, "workers": 3, "after": told}
    >>> for line in remark_plan({"measure": "error_rate", "budget": 6, "before": told, "next": step, "all": step,
    ...                          "worth": 0.0, "stop": False, "known": 40}):
    ...     print(line)
    Ask for 3 answers to 2 tasks, of 3 workers, for 6 of 6.
    Expected now: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    With these answers: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    """
    now, whole = summary["next"], summary["all"]
    lines = [f"Expected now: {_write(summary['before'], summary)}."]
    if now["answers"]:
        asked = [count(now[name], name[:-1]) for name in ("answers", "tasks", "workers")]
        lines.insert(
            0, f"Ask for {asked[0]} to {asked[1]}, of {asked[2]}, for {now['cost']:g} of {summary['budget']:g}."
        )
        lines.append(f"With these answers: {_write(now['after'], summary)}.")
    if whole["answers"] > now["answers"]:
        after = _write(whole["after"], summary)
        lines.append(f"With all {whole['answers']:,} that are worth it, for {whole['cost']:g}: {after}.")
    if not summary["known"]:
        held = " Of such limits, half held on public crowds." if summary["measure"] == "error_rate" else ""
        lines.append(
            "This is the crowd's own estimate, which cannot see errors that most workers share, so it may be far too"
            f" low.{held} Some known truths (gold) tell."
        )
    if summary["stop"]:
        least = f"as much as {summary['worth']:g} per unit of money" if summary["worth"] else "anything"
        then = f"Stop after {whole['cost']:g} of {summary['budget']:g}" if whole["answers"] else "Stop"
        lines.append(f"{then}: by this crowd's own estimate, nobody who may still be asked brings {least}.")
    return lines


def _write(error: Mapping[str, float], summary: Mapping[str, Any]) -> str:
    if summary["measure"] == "error_rate":
        shares = [f"{100 * error[name]:.1f}" for name in ("expected", "low", "high")]
        return f"{shares[0]} % of the truths are wrong ({shares[1]} to {shares[2]} %)"
    return f"truths are off by {error['expected']:.4g} (rmse; {error['low']:.4g} to {error['high']:.4g})"
