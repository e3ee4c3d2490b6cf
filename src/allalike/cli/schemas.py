"""JSON schemas of the ``--json`` output of `discover`, `update` and `jury`, generated from their structs.

The JSON names its schema, such as ``allalike/jury/2``. The number increases if a fact is renamed, removed or redefined.
New facts do not change it, so programs must ignore unknown facts.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from allalike._core.registry import did_you_mean
from allalike.errors import UnknownNameError
from allalike.panels.summary import PanelSummary
from allalike.result.summary import Changes, Section, Summary, name_schema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class SavedResult(Summary, kw_only=True):
    """Summary of a result, with the written files."""

    files: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    read: dict[str, Any] = {}
    proof: str = ""
    safe_csv: bool = False
    state: dict[str, Any] = {}


class SavedResults(Section):
    """Summaries of several label columns, and reasons of failures."""

    results: dict[str, dict[str, Any]]  # each as SavedResult
    failed: dict[str, str]


class UpdatedResult(Summary, kw_only=True):
    """Summary of all answers, with the changes."""

    changes: Changes


class SavedPanel(SavedResult, kw_only=True):
    """Summary of a result, with the statistics of the panel."""

    panel: PanelSummary


class Suggestion(Section):
    """Options that resolve an error, with a preview of the result and the complete command."""

    options: dict[str, Any]
    title: str
    preview: str
    files: tuple[str, ...]
    command: str


class Failure(Section):
    """Output of any command for an invalid input or call (exit code 2)."""

    message: str
    lines: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]


SCHEMAS: Mapping[str, tuple[type[Section], ...]] = {
    "discover": (SavedResult, SavedResults),
    "update": (UpdatedResult,),
    "jury": (SavedPanel,),
    "error": (Failure,),
}


def make_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the ``--json`` output of a command.

    >>> make_schema("jury")["properties"]["schema"]
    {'const': 'allalike/jury/2'}
    >>> make_schema("jurry")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No command 'jurry' has a schema. Did you mean 'jury'? Commands: discover, ...
    """
    if command not in SCHEMAS:
        close = did_you_mean(command, SCHEMAS)
        raise UnknownNameError(f"No command {command!r} has a schema.{close} Commands: {', '.join(SCHEMAS)}.")
    kinds = SCHEMAS[command]
    _, parts = msgspec.json.schema_components(kinds)
    for kind in kinds:
        form = parts[kind.__name__]
        form["properties"] = {"schema": {"const": name_schema(command)}, **form["properties"]}
        form["required"] = ["schema", *form.get("required", ())]
    if len(kinds) > 1:
        whole: dict[str, Any] = {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]}
    else:
        whole = parts.pop(kinds[0].__name__)
    name = name_schema(command)
    return {"$schema": _DIALECT, "$id": f"urn:{name.replace('/', ':')}", **whole, "title": name, "$defs": parts}
