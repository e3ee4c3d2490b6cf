"""The commands that list what there is: methods, domains, rules, formats."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import echo, notes_for_warnings, rows

if TYPE_CHECKING:
    from collections.abc import Mapping


_FORMATS = {
    "text with columns": (".csv", ".tsv", ".tab", ".txt"),
    "JSON: an object per line, or a list of them": (".jsonl", ".ndjson", ".json"),
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".feather", ".arrow"),
    "Excel": (".xlsx", ".xlsm"),
    "PrefLib: orders, and categories": (".soc", ".soi", ".toc", ".toi", ".cat"),
}


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
    from allalike.domains.rule_table import RULES

    lines: dict[tuple[str, str], list[str]] = {}
    for name, domains in RULES.items():
        for domain, rule in domains.items():
            lines.setdefault((name, rule.summary), []).append(domain)
    echo(rows([(name, ", ".join(domains), summary) for (name, summary), domains in lines.items()], indent=""))


@click.command
def formats() -> None:
    """List the formats of files, and the tools whose exports are recognised by their content, one line each.

    The name of a tool can be given to --from, which also knows "plain": read a file as what it is, whoever wrote it.
    Last come the tools for which discover writes truths: --to NAME.
    """
    from allalike.readers.formats.endings import ENDINGS
    from allalike.readers.tools import TOOLS
    from allalike.result.writers import WRITERS

    with notes_for_warnings(quiet=False):
        found, writers = TOOLS.everything(), WRITERS.everything()
    formats = {ending: what for what, endings in _FORMATS.items() for ending in endings}
    plain: dict[str, list[str]] = {}
    for ending in filter(formats.get, ENDINGS):  # others are known only to be refused
        plain.setdefault(formats[ending], []).append(ending)
    listed = [(" ".join(endings), what) for what, endings in plain.items()]
    tools = [(name, tool.title, tool.summary) for name, tool in sorted(found.items())]
    written = [(name, writer.summary, ", ".join(writer.kinds) or "all kinds") for name, writer in writers.items()]
    read = ["Files by their endings:", rows(listed), "Exports of tools (--from):", rows(tools)]
    echo("\n".join([*read, "Written for tools (--to), and the kinds of label:", rows(written)]))


# The command `allalike schema`, and JSON that names its schema.


@click.command
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the schema of what a command prints with --json, such as 'allalike schema jury', or list them.

    It is a JSON Schema (draft 2020-12). The JSON of a command names its own, such as "schema": "allalike/jury/1"; the
    number grows if something is renamed, left out or means something else, and not if something is added.
    """
    from allalike.telling.schemas import SCHEMAS, make_schema, name_schema

    if name is None:
        echo("\n".join(map(name_schema, SCHEMAS)))
    else:
        echo(json.dumps(make_schema(name), indent=2))


def echo_json(command: str, record: Mapping[str, Any]) -> None:
    """Print what a command found as JSON; what is not known is null."""
    from allalike.telling.schemas import name_schema

    told = _without_nan({"schema": name_schema(command), **record})
    echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def _without_nan(value: Any) -> Any:
    """Return what JSON can hold.

    >>> _without_nan({"error": float("nan"), "tied": [1, 2.5]})
    {'error': None, 'tied': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
