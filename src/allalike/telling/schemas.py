"""Schemas: what the JSON of each command looks like, for programs that read it.

They are made of the types that a summary has (`allalike.telling.summary`), so that there is one list of what is told;
what is only printed is listed here. A JSON names its schema, such as ``allalike/jury/1``. The number grows if something
is renamed, left out, or means something else; what is added does not change it, so that readers must allow for more
than they know.
"""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

from allalike._core.registry import did_you_mean
from allalike.errors import UnknownNameError
from allalike.telling.panel_summary import PanelSummary
from allalike.telling.summary import Changes, Section, Summary

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_KINDS: Mapping[str, Any] = {
    **{name: kind for kind, name in _PLAIN.items()},
    "number": int | float,
    "object": dict,
    "array": list,
}


class JsonForm(NamedTuple):
    """An object: what it is, and the type of each thing in it, or a form, a list of one, or a mapping to one.

    The names of things that may be missing end with a question mark.
    """

    summary: str
    things: Mapping[str, Any]


def _list_things(kind: type[Section]) -> dict[str, Any]:
    """List the facts of a section; those that have a usual value may be missing.

    >>> class Pair(Section):
    ...     one: int
    ...     two: float | None = None
    >>> _list_things(Pair)
    {'one': <class 'int'>, 'two?': float | None}
    """
    hints = {
        name: hint for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()
    }
    hints.pop("written", None)  # which is the summary itself
    return {f"{name}?" if hasattr(kind, name) else name: hint for name, hint in hints.items()}


_NUMBER = float | None
_ROWS = tuple[Mapping[str, Any], ...]
_COUNTS = {"answers": int, "workers": int, "tasks": int}
SUMMARY = {
    **_list_things(Summary),
    "seed?": int,
    "ties?": str,
    "converged?": bool | None,
    "gold_column?": str,
    "careless?": Mapping[str, tuple[str, ...]],
}
_SAVED = JsonForm(
    "What was found: counts, settings, what was guessed, what was noticed; and the files that were written.",
    {
        **SUMMARY,
        "files": tuple[str, ...],
        "inputs?": tuple[str, ...],
        "read?": Mapping[str, Any],
        "proof?": str,
        "safe_csv?": bool,
        "state?": Mapping[str, Any],
    },
)
_COLUMNS = JsonForm(
    "What was found for each of several columns of labels, and why others have no result.",
    {"results": {str: _SAVED}, "failed": Mapping[str, str]},
)
_UPDATED = JsonForm("What was found in all answers, and what changed.", {**SUMMARY, "changes": Changes})
_PANEL = JsonForm("What was found, and what is known of the panel.", {**_SAVED.things, "panel": PanelSummary})
_METHOD = JsonForm(
    "How a method did beside others.",
    {
        "method": str,
        "seconds": _NUMBER,
        "iterations": int | None,
        "converged": bool | None,
        "note": str,
        **dict.fromkeys(("error?", "change?", "RI?", "p?", "same?", "distance?"), _NUMBER),
        "verdict?": str,
    },
)
_COMPARED = JsonForm(
    "How methods did: by their errors, or by how much they agree.",
    {**SUMMARY, "methods": [_METHOD], "best?": str, "agreement?": Mapping[str, Any], "file?": str},
)
_WITHOUT = JsonForm(
    "How alpha would be without a worker.", {"worker": Any, "alpha_without": _NUMBER, "effect": _NUMBER}
)
_AGREEMENT = JsonForm(
    "How much workers agree.",
    {
        **SUMMARY,
        **dict.fromkeys(("alpha", "low", "high", "observed", "expected", "expected_error"), _NUMBER),
        **dict.fromkeys(("percent", "fleiss", "ac1", "cohen"), _NUMBER),
        "sampled_tasks?": int,
        "expected_from": str,
        "cohen_pairs": int | None,
        "coefficients": Mapping[str, _NUMBER],
        "ordinal_limits": tuple[_NUMBER, ...],
        "paired_answers": int,
        "paired_tasks": int,
        "effects": [_WITHOUT],
    },
)
_AGREEMENTS = JsonForm("How much workers agree in each group of answers.", {"by": tuple[str, ...], "groups": _ROWS})
_TASK = JsonForm(
    "Why a task has its truth.",
    {
        **dict.fromkeys(("task", "truth", "low", "high", "unweighted", "known", "runner_up"), Any),
        **dict.fromkeys(("confidence?", "support?", "error", "runner_up_score", "margin", "spread"), _NUMBER),
        **dict.fromkeys(("changed", "tied", "abstained"), bool),
        "measure": str,
        "n_tried": int,
        "answers": _ROWS,
        "labels": _ROWS,
    },
)
_WORKER = JsonForm(
    "What a worker is like.",
    {
        "worker": Any,
        "answers": int,
        **dict.fromkeys(("weight", "shared?", "disparity?", "fault?", "error_rate?", "rmse?"), _NUMBER),
        **dict.fromkeys(("low?", "high?", "signal?", "signal_error?", "earlier?"), _NUMBER),
        **dict.fromkeys(("few?", "no_signal?"), bool),
        "group?": Any,
        "disagrees": int,
        "compared": int,
        "without": Mapping[str, Any] | None,
        "too_large": bool,
        **dict.fromkeys(("flags", "nearest", "farthest", "disagreements"), _ROWS),
    },
)
_DRAWN = JsonForm(
    "What `allalike simulate` drew, and the files that it wrote.",
    {"model": str, "domain": str, **_COUNTS, "seed": int, "mean_fault": float, "files": tuple[str, ...]},
)
_DATASET = {"name": str, "summary": str, "domain": str, **{f"{name}?": int for name in (*_COUNTS, "gold")}}
_DATASETS = JsonForm(
    "All public data sets.",
    {
        "datasets": [
            JsonForm(
                "A public data set, its source, and whether its files are here.",
                {**_DATASET, "source": str, "here": bool},
            )
        ]
    },
)
_SOURCE = JsonForm(
    "A source of public data sets: who made it, under which licence, and where its files lie.",
    {
        **dict.fromkeys(("name", "domain", "citation", "licence", "sha256", "repo", "commit", "root", "note"), str),
        "bytes": int,
        "public": bool,
        "archive?": str,
        "files": _ROWS,
        "datasets": [JsonForm("A public data set.", _DATASET)],
        "folder": str | None,
    },
)
_ERROR = JsonForm(
    "An error that is expected, with its limits of 95 %.", {"expected": _NUMBER, "low": _NUMBER, "high": _NUMBER}
)
_STEP = JsonForm(
    "What some answers cost, and which error is expected with them.", {**_COUNTS, "cost": float, "after": _ERROR}
)
_PLAN = JsonForm(
    "Whom to ask about which task next, what that brings, and whether to stop.",
    {
        "budget": float,
        "price": _NUMBER,
        "batch": int | None,
        "worth": float,
        "max_load": int,
        "tasks": int,
        "known": int,
        "before": _ERROR,
        "next": _STEP,
        "all": _STEP,
        "stop": bool,
        "answers": _ROWS,
        "file": str,
    },
)

SCHEMAS: Mapping[str, tuple[int, tuple[JsonForm, ...]]] = {
    "discover": (1, (_SAVED, _COLUMNS)),
    "update": (1, (_UPDATED,)),
    "jury": (1, (_PANEL,)),
    "compare": (1, (_COMPARED,)),
    "agreement": (1, (_AGREEMENT, _AGREEMENTS)),
    "explain": (1, (_TASK, _WORKER)),
    "simulate": (1, (_DRAWN,)),
    "datasets": (1, (_DATASETS, _SOURCE)),
    "next": (1, (_PLAN,)),
}


def name_schema(command: str) -> str:
    """Return the name of a schema, which the JSON of a command has, too.

    >>> name_schema("jury")
    'allalike/jury/1'
    """
    return f"allalike/{command}/{SCHEMAS[command][0]}"


def make_schema(command: str) -> dict[str, Any]:
    """Return the schema of what a command prints with ``--json``, as JSON Schema has it (draft 2020-12).

    >>> make_schema("jury")["properties"]["schema"]
    {'const': 'allalike/jury/1'}
    >>> make_schema("jurry")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No command 'jurry' has a schema. Did you mean 'jury'? Those are: discover, ...
    """
    if command not in SCHEMAS:
        close = did_you_mean(command, SCHEMAS)
        raise UnknownNameError(f"No command {command!r} has a schema.{close} Those are: {', '.join(SCHEMAS)}.")
    forms = [describe_form(form) for form in SCHEMAS[command][1]]
    for form in forms:
        form["properties"] = {"schema": {"const": name_schema(command)}, **form["properties"]}
        form["required"] = ["schema", *form["required"]]
    whole = forms[0] if len(forms) == 1 else {"type": "object", "anyOf": forms}
    return {
        "$schema": _DIALECT,
        "$id": f"urn:allalike:{command}:{SCHEMAS[command][0]}",
        "title": name_schema(command),
        **whole,
    }


def describe_form(hint: Any) -> dict[str, Any]:
    """Return the schema of a type, a form, or a list of one.

    >>> describe_form([JsonForm("A pair.", {"one": int, "two?": float | None})])["items"]["properties"]["two"]
    {'anyOf': [{'type': 'number'}, {'type': 'null'}]}
    """
    if hint is Any:
        return {}
    if isinstance(hint, JsonForm):
        return {
            "type": "object",
            "description": hint.summary,
            "properties": {name.removesuffix("?"): describe_form(each) for name, each in hint.things.items()},
            "required": [name for name in hint.things if not name.endswith("?")],
        }
    if isinstance(hint, list):
        return {"type": "array", "items": describe_form(hint[0])}
    if isinstance(hint, dict):
        return {"type": "object", "additionalProperties": describe_form(hint[str])}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, UnionType):
        return {"anyOf": [describe_form(each) for each in get_args(hint)]}
    if isinstance(hint, type) and issubclass(hint, Section):
        return describe_form(JsonForm((hint.__doc__ or "").strip().partition("\n")[0], _list_things(hint)))
    values = [describe_form(each) for each in get_args(hint) if each is not Ellipsis]
    if get_origin(hint) is not tuple:
        return {"type": "object", "additionalProperties": values[-1]}
    if Ellipsis in get_args(hint):
        return {"type": "array", "items": values[0]}
    return {"type": "array", "prefixItems": values, "minItems": len(values), "maxItems": len(values)}


def find_misfit(value: Any, schema: Mapping[str, Any], place: str = "") -> str | None:
    """Return the place of the first part of a JSON value that does not fit a schema; None if all of it fits.

    It knows the parts of JSON Schema that `describe_form` writes.

    >>> schema = describe_form(JsonForm("A pair.", {"one": int, "two?": tuple[float, ...]}))
    >>> [find_misfit(each, schema) for each in ({"one": 1}, {"one": True}, {"one": 1, "two": [1.5, "x"]}, {}, [])]
    [None, '.one', '.two[1]', '.one', '']
    """
    if "anyOf" in schema:
        return None if any(find_misfit(value, each) is None for each in schema["anyOf"]) else place
    kind = schema.get("type")
    if kind is not None and not (
        isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
    ):
        return place
    if kind == "object":
        return _find_in_object(value, schema, place)
    return _find_in_array(value, schema, place) if kind == "array" else None


def _find_in_object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    missing = (f"{place}.{name}" for name in schema.get("required", ()) if name not in value)
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    misfits = (find_misfit(each, known.get(name, others), f"{place}.{name}") for name, each in value.items())
    return next(missing, None) or next((found for found in misfits if found is not None), None)


def _find_in_array(value: Sequence[Any], schema: Mapping[str, Any], place: str) -> str | None:
    forms = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
    if len(forms) != len(value):
        return place
    misfits = (
        find_misfit(each, form, f"{place}[{n}]") for n, (each, form) in enumerate(zip(value, forms, strict=True))
    )
    return next((found for found in misfits if found is not None), None)
