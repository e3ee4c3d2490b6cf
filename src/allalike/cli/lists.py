"""The commands that list what there is: methods, domains, rules."""

from __future__ import annotations

import click

from allalike.cli.console import echo, notes_for_warnings, rows

__all__ = ["domains", "methods", "rules"]


@click.command
def methods() -> None:
    """List the methods, one line each."""
    from allalike.methods import METHODS

    with notes_for_warnings(quiet=False):
        found = METHODS.everything()
    echo(rows([(name, method.summary) for name, method in found.items()], indent=""))


@click.command
def domains() -> None:
    """List the kinds of label, one line each."""
    from allalike.domains import DOMAINS

    with notes_for_warnings(quiet=False):
        found = DOMAINS.everything()
    lines = [
        (
            name,
            domain.summary,
            f"distances: {', '.join(domain.distances)}",
            f"rules: {', '.join(rule.name for rule in domain.rules)}",
        )
        for name, domain in found.items()
    ]
    echo(rows(lines, indent=""))


@click.command
def rules() -> None:
    """List the rules that find a task's label, one line each."""
    from allalike.domains import RULES

    lines: dict[tuple[str, str], list[str]] = {}
    for name, domains in RULES.items():
        for domain, rule in domains.items():
            lines.setdefault((name, rule.summary), []).append(domain)
    echo(rows([(name, ", ".join(domains), summary) for (name, summary), domains in lines.items()], indent=""))
