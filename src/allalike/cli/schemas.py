"""JSON schemas of what commands print with ``--json``, made from the structs that hold it.

The JSON names its schema, such as ``allalike/jury/2``. The number grows if a fact is renamed, removed or redefined. New
facts do not change it, so readers must allow for facts that they do not know.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from allalike._core.registry import did_you_mean
from allalike.errors import UnknownNameError
from allalike.panels.summary import PanelSummary
from allalike.result.summary import Changes, Section, Summary, name_schema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Number = float | None
_Rows = tuple[dict[str, Any], ...]


class SavedSummary(Summary, kw_only=True):
    """The summary of a result, and the files that were written."""

    files: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    read: dict[str, Any] = {}
    proof: str = ""
    safe_csv: bool = False
    state: dict[str, Any] = {}


class SavedResult(SavedSummary, kw_only=True):
    """The summary of a result, and the files that were written."""


class SavedResults(Section):
    """The summaries of several columns of labels, and why others have no result."""

    results: dict[str, SavedSummary]
    failed: dict[str, str]


class UpdatedResult(Summary, kw_only=True):
    """The summary of all answers, and what changed."""

    changes: Changes


class SavedPanel(SavedResult, kw_only=True):
    """The summary of a result, and the statistics of the panel."""

    panel: PanelSummary


class ComparedMethod(Section):
    """A row of the comparison of methods."""

    method: str
    seconds: _Number
    iterations: int | None
    converged: bool | None
    note: str
    error: _Number = None
    change: _Number = None
    RI: _Number = None
    p: _Number = None
    same: _Number = None
    distance: _Number = None
    verdict: str = ""


class ComparedMethods(Summary, kw_only=True):
    """Methods ranked by their errors, or by how much they agree."""

    methods: tuple[ComparedMethod, ...]
    best: str = ""
    agreement: dict[str, Any] = {}
    file: str = ""


class WithoutWorker(Section):
    """Alpha without a worker."""

    worker: Any
    alpha_without: _Number
    effect: _Number


class AgreementSummary(Summary, kw_only=True):
    """Agreement of the workers."""

    alpha: _Number
    ci_low: _Number
    ci_high: _Number
    observed: _Number
    expected: _Number
    expected_error: _Number
    percent: _Number
    fleiss: _Number
    ac1: _Number
    cohen: _Number
    expected_from: str
    cohen_pairs: int | None
    coefficients: dict[str, _Number]
    ordinal_limits: tuple[_Number, ...]
    paired_answers: int
    paired_tasks: int
    effects: tuple[WithoutWorker, ...]
    sampled_tasks: int | None = None


class AgreementByGroup(Section):
    """Agreement of the workers in each group of answers."""

    by: tuple[str, ...]
    groups: _Rows


class ExplainedTask(Section, kw_only=True):
    """Why a task has its label."""

    task: Any
    truth: Any
    ci_low: Any
    ci_high: Any
    unweighted: Any
    is_gold: Any
    runner_up: Any
    confidence: _Number = None
    support: _Number = None
    standard_error: _Number
    runner_up_score: _Number
    margin: _Number
    spread: _Number
    changed: bool
    tied: bool
    abstained: bool
    measure: str
    n_tried: int
    answers: _Rows
    labels: _Rows


class ExplainedWorker(Section, kw_only=True):
    """What a worker is like."""

    worker: Any
    answers: int
    weight: _Number
    shared_tasks: _Number = None
    disparity: _Number = None
    mean_error: _Number = None
    error_rate: _Number = None
    rmse: _Number = None
    ci_low: _Number = None
    ci_high: _Number = None
    relative_error: _Number = None
    rank_low: _Number = None
    rank_high: _Number = None
    informativeness: _Number = None
    informativeness_se: _Number = None
    prior_answers: _Number = None
    few_answers: bool = False
    uninformative: bool = False
    copy_group: Any = None
    component: Any = None
    disagrees: int
    compared: int
    without: dict[str, Any] | None
    too_large: bool
    flags: _Rows
    nearest: _Rows
    farthest: _Rows
    disagreements: _Rows


class ExpectedError(Section):
    """An expected error with its 95 % confidence interval."""

    expected: _Number
    ci_low: _Number
    ci_high: _Number


class PlanStep(Section):
    """What some answers cost, and the error that is expected with them."""

    answers: int
    workers: int
    tasks: int
    cost: float
    after: ExpectedError


class PlannedAnswers(Section):
    """Whom to ask about which task next, what that brings, and whether to stop."""

    budget: float
    price: _Number
    batch: int | None
    min_gain: float
    max_per_worker: int
    tasks: int
    known: int
    before: ExpectedError
    next: PlanStep
    all: PlanStep
    stop: bool
    answers: _Rows
    file: str


class Suggestion(Section):
    """Options that answer a question, with a preview of the result and the complete command."""

    options: dict[str, Any]
    title: str
    preview: str
    files: tuple[str, ...]
    command: str


class Failure(Section):
    """What any command prints instead if its input or its call is wrong (exit code 2)."""

    message: str
    lines: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]


SCHEMAS: Mapping[str, tuple[type[Section], ...]] = {
    "discover": (SavedResult, SavedResults),
    "update": (UpdatedResult,),
    "jury": (SavedPanel,),
    "compare": (ComparedMethods,),
    "agreement": (AgreementSummary, AgreementByGroup),
    "explain": (ExplainedTask, ExplainedWorker),
    "plan": (PlannedAnswers,),
    "error": (Failure,),
}


def make_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a command prints with ``--json``.

    >>> make_schema("jury")["properties"]["schema"]
    {'const': 'allalike/jury/2'}
    >>> make_schema("jurry")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No command 'jurry' has a schema. Did you mean 'jury'? Those are: discover, ...
    """
    if command not in SCHEMAS:
        close = did_you_mean(command, SCHEMAS)
        raise UnknownNameError(f"No command {command!r} has a schema.{close} Those are: {', '.join(SCHEMAS)}.")
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
