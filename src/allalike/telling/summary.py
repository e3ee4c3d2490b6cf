"""Summary: what a result says of itself, with a type for each thing that is told.

`Result.summary` and ``summary.json`` are the same as a dictionary, in which methods, readers and kinds of label have
their say, and may add what nobody tells.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, dataclass_transform, get_args

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Section:
    """Facts that belong together; those that are not known are nothing.

    A subclass lists its facts. Dataclasses do so as well, but making them takes longer than solving a small crowd.

    >>> Unparsed.from_dict({"labels": 3, "of": 12, "example": "?", "further": 1})
    Unparsed(labels=3, of=12, example='?')
    >>> Unparsed.from_dict({"labels": 3})
    Traceback (most recent call last):
    ...
    TypeError: Unparsed needs of, example.
    """

    def __init__(self, **facts: Any) -> None:
        kind = type(self)
        missing = [name for name in kind.__annotations__ if name not in facts and not hasattr(kind, name)]
        if missing:
            raise TypeError(f"{kind.__name__} needs {', '.join(missing)}.")
        vars(self).update(facts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Take them from a dictionary, which may have others."""
        known = {name: hint for name, hint in cls.__annotations__.items() if name in found}
        return cls(**{name: _read(found[name], _find_section(hint)) for name, hint in known.items()})


def _find_section(hint: Any) -> type[Section] | None:
    """Return the section that a fact is, or has several of, if it does."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and issubclass(kind, Section))
    return next(kinds, None)


def _read(value: Any, kind: type[Section] | None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(each, kind) for each in value)
    return value if kind is None or value is None else kind.from_dict(value)


class LabelKind(Section):
    """What kind of label it is, and how labels are compared and become one."""

    name: str
    distance: str = ""
    rule: str = ""
    classes: int | None = None
    classes_from: str = "data"
    numbers: str = ""
    radius: float | None = None
    quorum: float | None = None
    quorum_curve: dict[str, float] | None = None


class HowSure(Section):
    """How often truths are expected to be right, what says so, and how many independent answers a task has."""

    mean: float
    told_by: str
    answers_per_task: float = 0.0
    voices_per_task: float | None = None


class OtherReading(Section):
    """Another way to read the answers that fits about as well, and who leads either."""

    nats: float
    tasks: int
    share: float
    leaders: tuple[Any, ...]
    its_leaders: tuple[Any, ...]


class HowRead(Section):
    """How the answers were read by a method that may read them in several ways; copies and signal if not looked for."""

    workers: str = ""
    fields: dict[str, Any] | None = None
    taken: str = ""
    why: str = ""
    known_truths: Any = None
    f_ratio: float | None = None
    start: str = ""
    second_reading: OtherReading | None = None
    signal: str = ""
    copies: str = ""


class PartSizes(Section):
    """How many parts without a common task there are, and how many workers the largest has."""

    number: int
    largest: int


class Suspect(Section):
    """A worker who should be looked at, with the limits of her error, or how much signal she has."""

    worker: Any
    low: float = 0.0
    high: float = 0.0
    signal: float = 0.0
    error: float = 0.0


class Silent(Section):
    """Workers whose answers do not depend on the tasks."""

    workers: int
    share_of_answers: float
    silenced: bool
    named: tuple[Suspect, ...] = ()


class Suspects(Section):
    """Workers who are clearly worse than the crowd."""

    workers: int
    unit: str
    crowd: float
    named: tuple[Suspect, ...] = ()


class AlikeGroup(Section):
    """Workers who answer alike: copies, or only alike."""

    kind: str
    members: tuple[Any, ...]
    size: int
    common: int
    shared_rare: int
    probability: float


class TrustInWorkers(Section):
    """Who copies, who is only alike, and whose answers carry no signal."""

    no_signal: Silent
    look_at: Suspects | None = None
    parts: PartSizes | None = None
    groups: tuple[AlikeGroup, ...] = ()
    n_groups: Mapping[str, int] = _NOTHING


class Correlation(Section):
    """A rank correlation with its limits, and of how many workers."""

    rank_correlation: float
    low: float
    high: float
    workers: int


class ErrorOnGold(Section):
    """How far truths are from those that are known."""

    tasks: int = 0
    error: float | None = None
    unweighted_error: float | None = None
    disparity_predicts: Correlation | None = None


class Unparsed(Section):
    """Labels in which no answer was found."""

    labels: int
    of: int
    example: Any


class TurnedTruth(Section):
    """A task whose truth is another one now."""

    task: Any
    before: Any
    now: Any


class ChangedWorker(Section):
    """A worker whose answers are nearer to the truth than before, or farther, by the measure of others."""

    worker: Any
    what: str
    before: float
    now: float
    answers_before: int
    answers_now: int
    low: float
    high: float
    probability: float


class Changes(Section):
    """What changed when answers were added."""

    answers: int
    turned: int | None
    of: int
    set_aside: int = 0
    labels: tuple[str, ...] = ()
    tested: int
    truths: tuple[TurnedTruth, ...] = ()
    workers: tuple[ChangedWorker, ...] = ()
    copies: tuple[tuple[Any, ...], ...] = ()


class SavedGeneration(Section):
    """When a result was saved, what there was, and how many truths turned since the time before."""

    when: str
    answers: int
    workers: int
    tasks: int
    turned: int | None = None


class MethodName(Section):
    """What the method is called, and its options."""

    name: str
    options: Mapping[str, Any] = _NOTHING


class Summary(Section):
    """What a result, a comparison or the answers themselves say: counts, settings, and what was found and guessed.

    >>> import allalike
    >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]).summary
    >>> summary = Summary.from_dict(found)
    >>> summary.answers, summary.domain.name, summary.gold, summary.to_dict() == found
    (3, 'categorical', None, True)
    """

    answers: int
    workers: int
    tasks: int
    domain: LabelKind
    method: MethodName = MethodName(name="")
    engine: str = ""
    iterations: int = 0
    changed: int = 0
    tied: int = 0
    effective_workers: float = 0.0
    min_confidence: float = 0.0
    abstained: int | None = None
    confidence: HowSure | None = None
    reading: HowRead | None = None
    trust: TrustInWorkers | None = None
    gold: ErrorOnGold | None = None
    guessed: Mapping[str, Any] = _NOTHING
    missing_dropped: int = 0
    abstained_dropped: int = 0
    unparsed: Unparsed | None = None
    repeats_added: int = 0
    repeats_set_aside: int = 0
    silent: int | None = None
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = _NOTHING
    changes: Changes | None = None
    generations: tuple[SavedGeneration, ...] = ()
    ranked_by: str = ""
    not_served: tuple[str, ...] = ()
    written: Mapping[str, Any] = _NOTHING

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many answers, workers and tasks there are."""
        return self.answers, self.workers, self.tasks

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Take it from a dictionary, which may have more."""
        return super().from_dict({**found, "written": dict(found)})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, as it is written."""
        return dict(self.written)
