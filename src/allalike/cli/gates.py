"""Gates: what a panel must fulfil, so that a program that runs it can stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

from allalike.cli.console import echo, visible
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["FAILED", "Gate", "take_gate_options"]

FAILED = 3  # the exit code


def take_gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what must be fulfilled."""
    drift = click.option("--fail-if-drift", is_flag=True, help="Exit with code 3 if a judge changed (see --since).")
    under = click.option("--fail-under", type=float, help="Exit with code 3 if the rate (see --good) is below, as 0.9.")
    return under(drift(command))


@dataclass(frozen=True)
class Gate:
    """What must be fulfilled: a rate that is not below some share, judges who did not change."""

    least: float | None = None
    steady: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Take it from the options, and refuse what can be neither fulfilled nor not.

        >>> Gate.of({"fail_under": 0.9, "good": (), "fail_if_drift": False})
        Traceback (most recent call last):
        allalike.errors.OptionError: --fail-under 0.9 needs a rate. Say with --good which label it is the rate of.
        """
        least, steady = options["fail_under"], options["fail_if_drift"]
        if least is not None and not 0 <= least <= 1:
            raise OptionError(f"--fail-under is {least:g}. It must be a share of the tasks, from 0 to 1.")
        if least is not None and not options["good"]:
            raise OptionError(f"--fail-under {least:g} needs a rate. Say with --good which label it is the rate of.")
        if steady and not options["since"]:
            raise OptionError("--fail-if-drift needs an earlier panel. Name its folder with --since.")
        return cls(least, steady)

    def leave(self, summary: Mapping[str, Any]) -> None:
        """End with code 3, and a line on the error stream for each reason, if something is not fulfilled."""
        reasons = list(self.find_reasons(summary["panel"]))
        for reason in reasons:
            echo(visible(f"allalike: {reason}"), err=True)
        if reasons:
            click.get_current_context().exit(FAILED)

    def find_reasons(self, panel: Mapping[str, Any]) -> Iterator[str]:
        """Say what is not fulfilled.

        >>> rate = {"good": ["pass"], "estimate": 0.87, "low": 0.81, "high": 0.92, "apparent": 0.9, "known": 80}
        >>> list(Gate(0.9).find_reasons({"rate": rate}))
        ['the rate of pass is 0.87, below 0.9 (limits 0.81 to 0.92, by 80 known truths).']
        >>> list(Gate(0.8).find_reasons({"rate": rate}))
        []
        """
        if self.least is not None:
            yield from _find_low(panel["rate"], self.least)
        if self.steady and panel["drift"]["drifted"]:
            first = panel["drift"]["named"][0]
            yield (
                f"{', '.join(panel['drift']['drifted'])} changed since {panel['drift']['since']}"
                f" ({first['judge']} {first['what']}: {first['before']:.3g} before, {first['now']:.3g} now)."
            )


def _find_low(told: Mapping[str, Any], least: float) -> Iterator[str]:
    known = told["estimate"] is not None
    rate = told["estimate"] if known else told["apparent"]
    if rate >= least:
        return
    sure = "as the panel calls it, not corrected by known truths"
    if known:
        sure = f"limits {told['low']:.3g} to {told['high']:.3g}, by {told['known']:,} known truths"
    yield f"the rate of {' or '.join(map(str, told['good']))} is {rate:.3g}, below {least:g} ({sure})."
