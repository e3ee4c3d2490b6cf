"""The command `allalike list`, and JSON on standard output."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import echo, notes_for_warnings, rows
from allalike.errors import OptionError

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


@click.command("list", no_args_is_help=True)
@click.argument("what", type=click.Choice(["methods", "domains", "rules", "formats", "schemas"]))
@click.argument("name", required=False)
def list_(what: str, name: str | None) -> None:
    """List methods, domains (label types), rules, formats or schemas.

    'formats' lists file endings, the tools whose exports are detected by their content (--tool), and the tools for
    which discover writes labels (--to). 'schemas NAME' prints the JSON Schema (draft 2020-12) of what the command NAME
    prints with --json, such as 'allalike list schemas jury'. The JSON of a command names its own schema; its number
    grows if a fact is renamed, removed or redefined, and not if facts are added.
    """
    if name is not None and what != "schemas":
        raise OptionError(f"'allalike list {what}' takes no name, but {name!r} was given.")
    with notes_for_warnings(quiet=False):
        echo(_schema(name) if what == "schemas" else _LISTS[what]())


def _methods() -> str:
    from allalike.methods import METHODS

    return rows([(name, method.summary) for name, method in METHODS.everything().items()], indent="")


def _domains() -> str:
    from allalike.domains import DOMAINS

    lines = [
        (
            name,
            domain.summary,
            f"distances: {', '.join(domain.distances)}",
            f"rules: {', '.join(rule.name for rule in domain.rules)}",
        )
        for name, domain in DOMAINS.everything().items()
    ]
    return rows(lines, indent="")


def _rules() -> str:
    from allalike.domains.rule_table import RULES

    lines: dict[tuple[str, str], list[str]] = {}
    for name, domains in RULES.items():
        for domain, rule in domains.items():
            lines.setdefault((name, rule.summary), []).append(domain)
    return rows([(name, ", ".join(domains), summary) for (name, summary), domains in lines.items()], indent="")


def _formats() -> str:
    from allalike.readers.formats.endings import ENDINGS
    from allalike.readers.tools import TOOLS
    from allalike.result.writers import WRITERS

    formats = {ending: what for what, endings in _FORMATS.items() for ending in endings}
    known: dict[str, list[str]] = {}
    for ending in filter(formats.get, ENDINGS):  # others are known only to be refused
        known.setdefault(formats[ending], []).append(ending)
    tools = [(name, tool.title, tool.summary) for name, tool in sorted(TOOLS.everything().items())]
    written = [
        (name, each.summary, ", ".join(each.kinds) or "all types") for name, each in WRITERS.everything().items()
    ]
    parts: dict[str, Any] = {
        "Files by their endings:": [(" ".join(endings), what) for what, endings in known.items()],
        "Exports of tools (--tool); 'plain' reads a file as it is:": tools,
        "Written for tools (--to), and the label types:": written,
    }
    return "\n".join(line for title, table in parts.items() for line in (title, rows(table)))


def _schema(name: str | None) -> str:
    from allalike.cli.schemas import SCHEMAS, make_schema
    from allalike.result.summary import name_schema

    return "\n".join(map(name_schema, SCHEMAS)) if name is None else json.dumps(make_schema(name), indent=2)


_LISTS = {"methods": _methods, "domains": _domains, "rules": _rules, "formats": _formats}


def echo_json(command: str, record: Mapping[str, Any]) -> None:
    """Print a record as JSON that names its schema; numbers that are not finite are null."""
    from allalike.result.summary import name_schema

    told = plain({"schema": name_schema(command), **record})
    echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return what JSON can hold.

    >>> plain({"error": float("nan"), "tied": [1, 2.5]})
    {'error': None, 'tied': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
