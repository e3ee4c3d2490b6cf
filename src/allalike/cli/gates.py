"""Gates on errors, agreement and panels; a failed gate ends the program with exit code 3."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from allalike._core.text_format import count
from allalike.cli.console import echo, visible
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.panels.summary import PanelSummary
    from allalike.reliability.agreement import Agreement, Agreements
    from allalike.result.summary import ErrorOnGold

_FAILED = 3  # the exit code


def exit_if(*reasons: str) -> None:
    """Exit with code 3 if a gate fails, with a line on standard error for each reason that is not empty."""
    failed = [reason for reason in reasons if reason]
    for reason in failed:
        echo(visible(f"allalike: {reason}"), err=True)
    if failed:
        click.get_current_context().exit(_FAILED)


def check_limit(
    name: str, value: float | None, evidence: str, *, least: float | None = None, most: float | None = None
) -> str:
    """Return a message if a value is out of range or unknown, otherwise an empty string.

    >>> check_limit("the error", 0.25, "by 40 gold labels", most=0.2)
    'the error is 0.25, above 0.2 (by 40 gold labels).'
    >>> check_limit("alpha", None, "", least=0.8), check_limit("alpha", None, "")
    ('alpha is unknown.', '')
    """
    if least is None and most is None:
        return ""
    if value is None or isnan(value):
        return f"{name} is unknown."
    if least is not None and value < least:
        return f"{name} is {value:.3g}, below {least:g} ({evidence})."
    return f"{name} is {value:.3g}, above {most:g} ({evidence})." if most is not None and value > most else ""


def check_error(gold: ErrorOnGold | None, most: float | None) -> str:
    """Check the error on gold labels."""
    error, tasks = (None, 0) if gold is None else (gold.error, gold.tasks)
    return check_limit("the error", error, f"by {count(tasks, 'gold label')}", most=most)


def check_alpha(found: Agreement | Agreements, least: float | None) -> Iterator[str]:
    """Check Krippendorff's alpha of all answers, or of each group."""
    groups = zip(found, found.table.itertuples(), strict=True) if isinstance(found, Mapping) else [((), found)]
    for values, part in groups:
        name = " of ".join(["Krippendorff's alpha", *filter(None, [", ".join(values)])])
        yield check_limit(name, part.alpha, _write_interval(part.ci_low, part.ci_high), least=least)


def _write_interval(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None or isnan(low) else f"95 % interval {low:.3g} to {high:.3g}"


def check_panel_options(options: Mapping[str, Any]) -> None:
    """Check the options for gates of a panel."""
    least = options["fail_under"]
    if least is not None and not 0 <= least <= 1:
        raise OptionError(f"--fail-under is {least:g}. It must be a share of the tasks, from 0 to 1.")
    if least is not None and not options["positive"]:
        raise OptionError(f"--fail-under {least:g} needs a rate. Name the label with --positive.")
    if options["fail_if_drift"] and not options["baseline"]:
        raise OptionError("--fail-if-drift needs an earlier panel. Name its folder with --baseline.")


def check_panel(panel: PanelSummary, options: Mapping[str, Any]) -> Iterator[str]:
    """Check the rate of positive tasks, and the drift of judges."""
    if options["fail_under"] is not None and (rate := panel.rate) is not None:
        value, evidence = rate.apparent, "not corrected by gold labels"
        if rate.estimate is not None:
            interval = _write_interval(rate.ci_low, rate.ci_high)
            value, evidence = rate.estimate, f"{interval}, by {count(rate.known, 'gold label')}"
        name = f"the rate of {' or '.join(map(str, rate.positive))}"
        yield check_limit(name, value, evidence, least=options["fail_under"])
    if options["fail_if_drift"] and (drift := panel.drift) is not None and drift.drifted:
        first = drift.named[0]
        interval = _write_interval(first.ci_low, first.ci_high)
        yield (
            f"{', '.join(drift.drifted)} changed since {drift.baseline} ({first.judge}, {first.what}:"
            f" {first.before:.3g} before, {first.now:.3g} now; {interval} of the change)."
        )
