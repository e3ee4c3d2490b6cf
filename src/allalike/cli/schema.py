"""The command `allalike schema`, and JSON that names its schema."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from allalike.cli.console import echo

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["echo_json", "schema"]


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
