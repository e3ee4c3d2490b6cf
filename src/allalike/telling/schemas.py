"""Schemas: what the JSON of each command looks like, for programs that read it.

They are made of the types that a summary has (`allalike.telling.summary`), so that there is one list of what is told. A
JSON names its schema, such as ``allalike/jury/1``. The number grows if something is renamed, left out, or means
something else; what is added does not change it, so that readers must allow for more than they know.
"""

from collections.abc import Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Any, get_args, get_origin

from allalike._core.registry import did_you_mean
from allalike.errors import UnknownNameError
from allalike.telling.panel_summary import PanelSummary
from allalike.telling.summary import Changes, LabelKind, Section, Summary

__all__ = ["SCHEMAS", "make_schema", "name_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class SavedSummary(Summary):
    """What was found: counts, settings, what was guessed, what was noticed; and the files that were written."""

    files: tuple[str, ...]
    state: Mapping[str, Any] = MappingProxyType({})


class DiscoverOutput(SavedSummary):
    """What `allalike discover` found, and the files that it wrote."""

    schema: str


class UpdateOutput(Summary):
    """What `allalike update` found in all answers, and what changed."""

    schema: str
    changes: Changes


class DiscoverOutputs(Section):
    """What `allalike discover` found for each of several columns of labels, and why others have no result."""

    schema: str
    results: Mapping[str, SavedSummary]
    failed: Mapping[str, str]


class JuryOutput(SavedSummary):
    """What `allalike jury` found: as `discover` has it, and what is known of the panel."""

    schema: str
    panel: PanelSummary


class MethodRow(Section):
    """How a method did beside others."""

    method: str
    seconds: float | None
    iterations: int | None
    converged: bool | None
    note: str


class CompareOutput(Summary):
    """How methods did: by their errors, or by how much they agree."""

    schema: str
    methods: tuple[MethodRow, ...]
    file: str = ""


class AlphaWithout(Section):
    """How alpha would be without a worker."""

    worker: Any
    alpha_without: float | None
    effect: float | None


class AgreementOutput(Section):
    """How much workers agree."""

    schema: str
    answers: int
    workers: int
    tasks: int
    domain: LabelKind
    alpha: float | None
    low: float | None
    high: float | None
    percent: float | None
    fleiss: float | None
    ac1: float | None
    cohen: float | None
    coefficients: Mapping[str, float | None]
    paired_answers: int
    paired_tasks: int
    effects: tuple[AlphaWithout, ...]


class AgreementOutputs(Section):
    """How much workers agree in each group of answers."""

    schema: str
    by: tuple[str, ...]
    groups: tuple[Mapping[str, Any], ...]


class TaskOutput(Section):
    """Why a task has its truth."""

    schema: str
    task: Any
    truth: Any
    confidence: float | None
    unweighted: Any
    changed: bool
    tied: bool
    answers: tuple[Mapping[str, Any], ...]


class WorkerOutput(Section):
    """What a worker is like."""

    schema: str
    worker: Any
    answers: int
    weight: float | None
    flags: tuple[str, ...]
    disagreements: tuple[Mapping[str, Any], ...]


class SimulateOutput(Section):
    """What `allalike simulate` drew, and the files that it wrote."""

    schema: str
    model: str
    domain: str
    answers: int
    workers: int
    tasks: int
    seed: int
    mean_fault: float
    files: tuple[str, ...]


class ListedDataset(Section):
    """A public data set."""

    name: str
    summary: str
    domain: str
    workers: int = 0
    tasks: int = 0
    answers: int = 0


class FoundDataset(ListedDataset):
    """A public data set, its source, and whether its files are here."""

    source: str
    here: bool


class DatasetsOutput(Section):
    """All public data sets."""

    schema: str
    datasets: tuple[FoundDataset, ...]


class SourceOutput(Section):
    """A source of public data sets: who made it, under which licence, and where its files lie."""

    schema: str
    name: str
    domain: str
    citation: str
    licence: str
    files: tuple[Mapping[str, Any], ...]
    datasets: tuple[ListedDataset, ...]
    folder: str | None


class ExpectedError(Section):
    """An error that is expected, with its limits of 95 %."""

    expected: float | None
    low: float | None
    high: float | None


class PlanStep(Section):
    """What some answers cost, and which error is expected with them."""

    answers: int
    cost: float
    tasks: int
    workers: int
    after: ExpectedError


class NextOutput(Section):
    """Whom to ask about which task next, what that brings, and whether to stop."""

    schema: str
    budget: float
    tasks: int
    measure: str
    before: ExpectedError
    next: PlanStep
    all: PlanStep
    stop: bool
    answers: tuple[Mapping[str, Any], ...]
    file: str


SCHEMAS: Mapping[str, tuple[int, tuple[type[Section], ...]]] = {
    "discover": (1, (DiscoverOutput, DiscoverOutputs)),
    "update": (1, (UpdateOutput,)),
    "jury": (1, (JuryOutput,)),
    "compare": (1, (CompareOutput,)),
    "agreement": (1, (AgreementOutput, AgreementOutputs)),
    "explain": (1, (TaskOutput, WorkerOutput)),
    "simulate": (1, (SimulateOutput,)),
    "datasets": (1, (DatasetsOutput, SourceOutput)),
    "next": (1, (NextOutput,)),
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
    named = {"const": name_schema(command)}
    forms = [_describe_section(form) for form in SCHEMAS[command][1]]
    for form in forms:
        form["properties"] = {
            "schema": named,
            **{key: each for key, each in form["properties"].items() if key != "schema"},
        }
    whole = forms[0] if len(forms) == 1 else {"type": "object", "anyOf": forms}
    return {
        "$schema": _DIALECT,
        "$id": f"urn:allalike:{command}:{SCHEMAS[command][0]}",
        "title": name_schema(command),
        **whole,
    }


def _describe_section(kind: type[Section]) -> dict[str, Any]:
    """Describe an object: what stands in it, and which of that always does.

    >>> class Pair(Section):
    ...     '''Two numbers.'''
    ...     one: int
    ...     two: float | None = None
    >>> _describe_section(Pair)["properties"], _describe_section(Pair)["required"]
    ({'one': {'type': 'integer'}, 'two': {'anyOf': [{'type': 'number'}, {'type': 'null'}]}}, ['one'])
    """
    hints = {
        name: hint for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()
    }
    hints.pop("written", None)  # which is the summary itself
    return {
        "type": "object",
        "description": (kind.__doc__ or "").strip().partition("\n")[0],
        "properties": {name: _describe(hint) for name, hint in hints.items()},
        "required": [name for name in hints if not hasattr(kind, name)],
    }


def _describe(hint: Any) -> dict[str, Any]:
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, UnionType):
        return {"anyOf": [_describe(each) for each in get_args(hint)]}
    if isinstance(hint, type) and issubclass(hint, Section):
        return _describe_section(hint)
    values = [_describe(each) for each in get_args(hint) if each is not Ellipsis]
    if get_origin(hint) is tuple:
        return {"type": "array", "items": values[0]}
    return {"type": "object", "additionalProperties": values[-1]}
