"""Gates: what agreement, errors and panels must fulfil, so that a program that runs them can stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.console import echo, visible
from allalike.cli.options import option
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FAILED = 3  # the exit code


def take_gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what must be fulfilled."""
    drift = option(
        "--fail-if-drift", group="Output", is_flag=True, help="Exit with code 3 if a judge changed (--baseline)."
    )
    under = option(
        "--fail-under", group="Output", type=float, help="Exit with code 3 if the rate (--positive) is below, as 0.9."
    )
    decorated: Callable[..., Any] = under(drift(command))
    return decorated


def check_gates(options: Mapping[str, Any]) -> None:
    """Refuse what a panel can neither fulfil nor not.

    >>> check_gates({"fail_under": 0.9, "positive": (), "fail_if_drift": False})
    Traceback (most recent call last):
    allalike.errors.OptionError: --fail-under 0.9 needs a rate. Name the label with --positive.
    """
    least = options["fail_under"]
    if least is not None and not 0 <= least <= 1:
        raise OptionError(f"--fail-under is {least:g}. It must be a share of the tasks, from 0 to 1.")
    if least is not None and not options["positive"]:
        raise OptionError(f"--fail-under {least:g} needs a rate. Name the label with --positive.")
    if options["fail_if_drift"] and not options["baseline"]:
        raise OptionError("--fail-if-drift needs an earlier panel. Name its folder with --baseline.")


def find_failures(panel: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the gates that a panel fails: a rate below the least one, and judges who changed.

    >>> rate = {"positive": ["pass"], "estimate": 0.87, "ci_low": 0.81, "ci_high": 0.92, "apparent": 0.9, "known": 80}
    >>> list(find_failures({"rate": rate}, {"fail_under": 0.9, "fail_if_drift": False}))
    ['the rate of pass is 0.87, below 0.9 (95 % confidence interval 0.81 to 0.92, by 80 gold labels).']
    >>> list(find_failures({"rate": rate}, {"fail_under": 0.8, "fail_if_drift": False}))
    []
    """
    if options["fail_under"] is not None:
        told = panel["rate"]
        rate, sure = told["apparent"], "as the panel calls it, not corrected by gold labels"
        if told["estimate"] is not None:
            interval = f"95 % confidence interval {told['ci_low']:.3g} to {told['ci_high']:.3g}"
            rate, sure = told["estimate"], f"{interval}, by {count(told['known'], 'gold label')}"
        name = f"the rate of {' or '.join(map(str, told['positive']))}"
        yield from _compare(name, rate, sure, least=options["fail_under"])
    if options["fail_if_drift"] and panel["drift"]["drifted"]:
        drift = panel["drift"]
        first = drift["named"][0]
        yield (
            f"{', '.join(drift['drifted'])} changed since {drift['baseline']}"
            f" ({first['judge']}, {first['what']}: {first['before']:.3g} before, {first['now']:.3g} now;"
            f" 95 % confidence interval of the change {first['ci_low']:.3g} to {first['ci_high']:.3g})."
        )


def leave_if(reasons: Iterable[str]) -> None:
    """End with code 3, and a line on the error stream for each reason, if there is one."""
    told = list(reasons)
    for reason in told:
        echo(visible(f"allalike: {reason}"), err=True)
    if told:
        click.get_current_context().exit(FAILED)


def find_disagreement(summary: Mapping[str, Any], least: float | None) -> Iterator[str]:
    """Say where alpha is below what it must be, or not known: for all answers, or in groups of them.

    >>> list(find_disagreement({"alpha": 0.61, "ci_low": 0.55, "ci_high": 0.68}, 0.667))
    ["Krippendorff's alpha is 0.61, below 0.667 (limits 0.55 to 0.68)."]
    >>> group = {"group": {"topic": "sport"}, "alpha": None, "ci_low": None, "ci_high": None}
    >>> list(find_disagreement({"groups": [group]}, 0.8))
    ["Krippendorff's alpha of sport is not known."]
    """
    for told in summary.get("groups", [summary]):
        name = " of ".join(["Krippendorff's alpha", *filter(None, [", ".join(told.get("group", {}).values())])])
        yield from _compare(name, told["alpha"], _limit(told["ci_low"], told["ci_high"]), least=least)


def find_large_error(summary: Mapping[str, Any], most: float | None) -> Iterator[str]:
    """Say whether truths are further from those that are known than they may be.

    >>> summary = {"gold": {"error": 0.25, "tasks": 40}, "domain": {"distance": "hamming"}}
    >>> list(find_large_error(summary, 0.2))
    ['the error is 0.25, above 0.2 (by 40 known truths).']
    """
    told = {"error": None, "tasks": 0, **summary.get("gold", {})}
    yield from _compare("the error", told["error"], f"by {count(told['tasks'], 'known truth')}", most=most)


def _compare(
    name: str, value: float | None, sure: str, *, least: float | None = None, most: float | None = None
) -> Iterator[str]:
    """Say that a value is below the least or above the most that it may be, or not known, and how sure it is."""
    if least is None and most is None:
        return
    if value is None:
        yield f"{name} is not known."
    elif least is not None and value < least:
        yield f"{name} is {value:.3g}, below {least:g} ({sure})."
    elif most is not None and value > most:
        yield f"{name} is {value:.3g}, above {most:g} ({sure})."


def _limit(low: float | None, high: float | None) -> str:
    return "no limits are known" if low is None or high is None else f"limits {low:.3g} to {high:.3g}"
