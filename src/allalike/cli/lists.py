"""The command `allalike list`, and JSON on standard output."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from allalike.cli.console import echo, rows
from allalike.errors import OptionError

_FORMATS = {
    "text with columns": (".csv", ".tsv", ".tab", ".txt"),
    "JSON: an object per line, or a list of them": (".jsonl", ".ndjson", ".json"),
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".feather", ".arrow"),
    "Excel": (".xlsx", ".xlsm"),
    "PrefLib: orders, and categories": (".soc", ".soi", ".toc", ".toi", ".cat"),
}


def _list_methods() -> dict[str, Any]:
    from allalike.methods import METHODS

    return {"": [(name, method.summary) for name, method in METHODS.everything().items()]}


def _list_domains() -> dict[str, Any]:
    from allalike.domains import DOMAINS

    lines = []
    for name, domain in DOMAINS.everything().items():
        rules = ", ".join(rule.name for rule in domain.rules)
        lines.append((name, domain.summary, f"distances: {', '.join(domain.distances)}", f"rules: {rules}"))
    return {"": lines}


def _list_rules() -> dict[str, Any]:
    from allalike.domains.rule_table import RULES

    lines: dict[tuple[str, str], list[str]] = {}
    for name, domains in RULES.items():
        for domain, rule in domains.items():
            lines.setdefault((name, rule.summary), []).append(domain)
    return {"": [(name, ", ".join(domains), summary) for (name, summary), domains in lines.items()]}


def _list_formats() -> dict[str, Any]:
    from allalike.readers.tools import TOOLS
    from allalike.result.writers import WRITERS

    written = WRITERS.everything().items()
    return {
        "Files by their endings:": [(" ".join(endings), what) for what, endings in _FORMATS.items()],
        "Exports of tools (--tool); 'plain' reads a file as it is:": [
            (name, tool.title, tool.summary) for name, tool in sorted(TOOLS.everything().items())
        ],
        "Written for tools (--to), and the label types:": [
            (name, each.summary, ", ".join(each.kinds) or "all types") for name, each in written
        ],
    }


def _list_coefficients() -> dict[str, Any]:
    from allalike.reliability.coefficients import COEFFICIENTS

    return {"": [(name, *about) for name, about in COEFFICIENTS.items()]}


def _list_models() -> dict[str, Any]:
    from allalike.simulation import MODELS, POPULATIONS

    tables: dict[str, Any] = {"Models:": MODELS, "Populations:": POPULATIONS}
    return {title: [(name, each.summary) for name, each in table.items()] for title, table in tables.items()}


_LISTS = {
    "methods": _list_methods,
    "domains": _list_domains,
    "rules": _list_rules,
    "formats": _list_formats,
    "coefficients": _list_coefficients,
    "models": _list_models,
}


@click.command("list", no_args_is_help=True)
@click.argument("what", metavar="WHAT", type=click.Choice([*_LISTS, "schemas"]))
@click.argument("name", required=False)
def list_(what: str, name: str | None) -> None:
    """List methods, label types, rules, formats and more.

    WHAT is methods, domains (label types), rules, formats (file formats, and tools to read from and write for),
    coefficients (of agreement), models (of simulated crowds) or schemas. 'schemas NAME' prints the JSON Schema for the
    --json output of a command. The version of a schema changes if a fact is renamed, removed or redefined.
    """
    if name is not None and what != "schemas":
        raise OptionError(f"'allalike list {what}' does not accept a name such as {name!r}. Leave it out.")
    if what == "schemas":
        _print_schemas(name)
        return
    for title, table in _LISTS[what]().items():
        echo(title + "\n" + rows(table) if title else rows(table, indent=""))


def _print_schemas(name: str | None) -> None:
    from allalike.cli.schemas import SCHEMAS, make_schema
    from allalike.result.summary import name_schema

    echo("\n".join(map(name_schema, SCHEMAS)) if name is None else json.dumps(make_schema(name), indent=2))


def echo_json(command: str, record: Mapping[str, Any]) -> None:
    """Print a record as JSON with the name of its schema; numbers that are not finite become null."""
    from allalike.result.summary import name_schema

    named = _plain({"schema": name_schema(command), **record})
    echo(json.dumps(named, indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
