"""Summary of a result: one definition of its facts for the JSON, its schema, its validation and the messages.

`Result.summary` and ``summary.json`` contain the same facts as a dictionary. Methods, readers and label types may add
others.
"""

from collections.abc import Mapping
from typing import Any, Self

import msgspec


class Section(msgspec.Struct):
    """Group of related facts; facts that are unknown have a default.

    >>> Unparsed.from_dict({"labels": 3, "of": 12, "example": "?", "further": 1})
    Unparsed(labels=3, of=12, example='?')
    >>> Unparsed.from_dict({"labels": 3})
    Traceback (most recent call last):
    msgspec.ValidationError: Object missing required field `of`
    """

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Read the facts from a dictionary and ignore others."""
        return msgspec.convert(found, cls)


def name_schema(command: str) -> str:
    """Return the schema name for the JSON of a command."""
    return f"allalike/{command}/2"


class LabelKind(Section):
    """The label type, its distance and its aggregation rule."""

    name: str
    distance: str = ""
    rule: str = ""
    classes: int | None = None
    classes_from: str = "data"
    numbers: str = ""
    target: str = ""
    levels_from: str = ""
    radius: float | None = None
    quorum: float | str | None = None
    quorum_curve: dict[str, float] | None = None


class ConfidenceSummary(Section):
    """Expected share of correct labels with its interval and source, and answers per task.

    ``trust`` is the accuracy with which the crowd predicts workers' errors (0 to 1), given at least 20 gold labels.
    """

    mean: float
    estimated_from: str
    share_right: float | None = None
    share_right_low: float | None = None
    share_right_high: float | None = None
    trust: float | None = None
    answers_per_task: float = 0.0
    effective_answers_per_task: float | None = None


class AlternativeModel(Section):
    """Alternative solution that fits about as well, and the leading workers of both solutions."""

    nats: float
    tasks: int
    share: float
    leaders: tuple[Any, ...]
    its_leaders: tuple[Any, ...]


class ModelSummary(Section):
    """Model that a method chose, and the reason; ``copies`` explains why copy detection was skipped."""

    workers: str = ""
    fields: dict[str, Any] | None = None
    chosen: str = ""
    why: str = ""
    gold_calibration: Any = None
    f_ratio: float | None = None
    start: str = ""
    alternative: AlternativeModel | None = None
    copies: str = ""


class Components(Section):
    """Number of components without common tasks, and number of workers in the largest."""

    number: int
    largest: int


class FlaggedWorker(Section):
    """Worker to check, with the evidence: interval of the error, error relative to others, or informativeness."""

    worker: Any
    ci_low: float | None = None
    ci_high: float | None = None
    relative_error: float | None = None
    informativeness: float = 0.0
    informativeness_se: float = 0.0


class UninformativeWorkers(Section):
    """Workers whose answers do not depend on the tasks."""

    workers: int
    share_of_answers: float
    named: tuple[FlaggedWorker, ...] = ()


class FlaggedWorkers(Section):
    """Workers who are clearly worse than the crowd."""

    workers: int
    unit: str
    crowd: float
    named: tuple[FlaggedWorker, ...] = ()


class WorkerGroup(Section):
    """Copy group, or group of similar workers."""

    kind: str
    members: tuple[Any, ...]
    size: int
    common_tasks: int
    shared_rare: int
    p_value: float


class ScreeningSummary(Section):
    """Copy groups, similar workers, and uninformative workers."""

    uninformative: UninformativeWorkers
    flagged: FlaggedWorkers | None = None
    components: Components | None = None
    groups: tuple[WorkerGroup, ...] = ()
    n_groups: dict[str, int] = {}


class Correlation(Section):
    """Rank correlation with its 95 % interval, and the number of workers."""

    rank_correlation: float
    ci_low: float
    ci_high: float
    workers: int


class ErrorOnGold(Section):
    """Mean distance of estimated labels to gold labels."""

    tasks: int = 0
    error: float | None = None
    unweighted_error: float | None = None
    disparity_error_correlation: Correlation | None = None


class Unparsed(Section):
    """Number of labels without a recognisable answer, and an example."""

    labels: int
    of: int
    example: Any


class ChangedLabel(Section):
    """Task whose label changed."""

    task: Any
    before: Any
    now: Any


class ChangedWorker(Section):
    """Worker whose error relative to the others changed significantly."""

    worker: Any
    what: str
    before: float
    now: float
    answers_before: int
    answers_now: int
    ci_low: float
    ci_high: float
    p_value: float


class Changes(Section):
    """Changes after answers were added."""

    answers: int
    n_changed: int | None
    of: int
    tested: int
    duplicates_removed: int = 0
    labels: tuple[str, ...] = ()
    changed: tuple[ChangedLabel, ...] = ()
    workers: tuple[ChangedWorker, ...] = ()
    copies: tuple[tuple[Any, ...], ...] = ()


class MethodName(Section):
    """Name and options of the method."""

    name: str
    options: dict[str, Any] = {}


class Summary(Section):
    """Summary of a result, a comparison or a check: counts, settings, findings and inferred options."""

    answers: int
    workers: int
    tasks: int
    domain: LabelKind
    method: MethodName = msgspec.field(default_factory=lambda: MethodName(name=""))
    engine: str = ""
    iterations: int = 0
    changed: int = 0
    tied: int = 0
    effective_workers: float = 0.0
    min_confidence: float = 0.0
    abstained: int | None = None
    confidence: ConfidenceSummary | None = None
    model: ModelSummary | None = None
    screening: ScreeningSummary | None = None
    gold: ErrorOnGold | None = None
    guessed: dict[str, Any] = {}
    missing_dropped: int = 0
    abstained_dropped: int = 0
    unparsed: Unparsed | None = None
    duplicates_added: int = 0
    duplicates_removed: int = 0
    silent: int | None = None
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    changes: Changes | None = None
    ranked_by: str = ""
    not_served: tuple[str, ...] = ()
    seed: int | None = None
    ties: str = ""
    converged: bool | None = None
    gold_column: str = ""
    careless: dict[str, tuple[str, ...]] = {}

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of answers, workers and tasks."""
        return self.answers, self.workers, self.tasks
