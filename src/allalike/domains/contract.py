"""The contract of label types: domains, encodings and kernels.

A `Domain` is a label type with the options that the user chose: distances, rules, expected noise. `Domain.learn` looks
at the labels and returns an `Encoding`, which turns labels into arrays. `Kernels` compare and aggregate these arrays.
Label types whose distances come from no inner product need less: see `allalike.domains.pairwise`.

A label has three forms. *Given* is the label as it came, and as it comes back to the user. A *code* is a row of an
array that means the same in every part of the answers: the number of a class, a number, a parsed text. *Prepared* is
what a block makes of codes so that rounds are fast: a number without its task's centre, a place in a store of texts.

    given --encode--> code --prepare--> prepared
    given <--decode-- code <--restore-- prepared

Answers, gold labels and estimated labels are codes. `Encoding` converts between given labels and codes and prepares
blocks; `Kernels` work on prepared blocks, and restore their results. Overrides have the docstring of their base.

Capabilities that only some label types have are properties that are None for all others: `Domain.record`,
`Domain.pictures`, `Domain.marks`, `Domain.repeats`, `Encoding.fields`, `Encoding.things` and `Encoding.offsets`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from dataclasses import fields as options_of
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import known_sums
from allalike._core.blocks.pairs import add_pairs, pair_chunks
from allalike._core.options import Options
from allalike._core.registry import did_you_mean
from allalike.domains.spelling import Spelling
from allalike.errors import UnknownNameError
from allalike.rules.base import find_rule, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allalike._core.blocks.block import Add, Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
    from allalike._core.columns.values import Values
    from allalike.domains.offsets import Offsets
    from allalike.noise import Noise
    from allalike.rules import Decision, Rule

    Measure = Callable[[Array, Array], Floats]

E = TypeVar("E", bound="Encoding")


@dataclass(frozen=True, kw_only=True)
class Domain(Options, ABC):
    """A label type, with the options that the user chose.

    Every domain has a ``rule``, the name of one of its `rules` or a `Rule` of the user's own, and a ``distance``, one
    of its `distances`; the first of each is the default. `numeric` says that a label is one number.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]]
    distances: ClassVar[tuple[str, ...]]
    numeric: ClassVar[bool] = False
    rule: str | Rule = ""
    distance: Any = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rule, str):
            self._choose("rule", tuple(rule.name for rule in self.rules))
        if isinstance(self.distance, str):
            self._choose("distance", self.distances)

    def _choose(self, option: str, choices: tuple[str, ...]) -> None:
        chosen = getattr(self, option) or choices[0]
        if chosen not in choices:
            hint = did_you_mean(chosen, choices)
            known = f"It has: {', '.join(choices)}."
            raise UnknownNameError(f"The {self.name} domain has no {option} called {chosen!r}.{hint} {known}")
        object.__setattr__(self, option, chosen)

    @abstractmethod
    def learn(self, labels: Column) -> Encoding:
        """Learn from the labels what they have in common, such as the classes that occur."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The noise that this domain expects."""

    @property
    def n_classes(self) -> int | None:
        """The number of classes, 0 if it is to be counted, and None where labels are not classes."""
        return None

    @property
    def spelling(self) -> Spelling:
        """The normalisation of each distinct label when labels are read: none, unless they are classes."""
        return Spelling(strip=False)

    @property
    def recurring(self) -> bool:
        """Whether two estimates can be the same label: not for numbers, nor for labels composed of parts."""
        return True

    @property
    def power(self) -> int:
        """The power of a length that distances are, where they have no largest value: 2 for squares; else 0."""
        return 0

    @property
    def record(self) -> Any:
        """The domain as a `Record`, where labels have fields; the label type of a field may still be open (None)."""
        return None

    @property
    def pictures(self) -> Any:
        """The domain as a `Bitmap`: how labels that are pictures are split, and written as files."""
        return None

    @property
    def marks(self) -> Marks | None:
        """The share of an answer that is right, for labels of several parts."""
        return None

    @property
    def repeats(self) -> Any:
        """The domain as a `Ranking`, where a worker's answers to a task add up; elsewhere the first counts."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what a summary contains about this domain."""
        return {"name": self.name, "distance": self.distance, "rule": str(self.rule)}


class Marks(ABC):
    """Labels of several parts, each of which may be right: elements, objects, pixels (`Domain.marks`)."""

    @property
    def marks(self) -> Self:
        """The label type itself."""
        return self

    @abstractmethod
    def count_marks(self, said: Any, truth: Any) -> Mapping[Any, tuple[int, int, int]]:
        """Return, by tag, the sizes of the intersection, of the answer, and of the truth."""

    def measure_marks(self, said: Any, truth: Any) -> dict[str, float]:
        """Return further measures of how good an answer is, by name; NaN is unknown."""
        return {}


class Things(ABC):
    """Labels that list things, of which estimated labels have a table of their own (`Encoding.things`)."""

    @abstractmethod
    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return the columns of a table of the objects of some labels: one row each, ``task`` first."""

    @property
    def votes(self) -> Any:
        """The `ObjectVotes`: how answers become votes on classes, for methods that need these, if they can."""
        return None

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return further columns of the table of workers."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Encoding(ABC):
    """The vocabulary of the labels, and their conversion to arrays and back.

    It is the same for all parts of the answers. Encodings that were learned from parts are joined by `merge`.
    `offsets` are subtracted from each worker's numbers before answers are compared, where that was asked for.
    """

    domain: Domain
    offsets: Offsets | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """The kernels for blocks that this encoding prepared."""

    @property
    def numeric(self) -> bool:
        """Whether a label is one number."""
        return self.domain.numeric

    @property
    def n_classes(self) -> int | None:
        """The number of classes, where labels are classes and nothing else."""
        return self.domain.n_classes

    @property
    def nominal(self) -> bool:
        """Whether labels are classes without an order."""
        return self.n_classes is not None

    @property
    def coordinates(self) -> Floats | None:
        """A vector for each numbered label, such that distances are their squared distances; if known."""
        return None

    @property
    def noise(self) -> Noise:
        """The noise to expect in these labels."""
        return self.domain.noise

    @property
    def n_labels(self) -> int:
        """The number of different labels, where codes are their numbers."""
        return 0

    @property
    def vocabulary(self) -> list[Any]:
        """The meaning of the numbers in codes; encodings with the same vocabulary have the same codes."""
        return []

    def merge(self, others: Sequence[Self]) -> Self:
        """Return the encoding of all labels that this one and others were learned from."""
        return self

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Turn given labels into codes; without labels, into an empty array of the type and shape that codes have."""

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Turn gold labels into codes; the encoding may grow, because answers need not contain them."""
        return self, self.encode(labels)

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        """Return which gold labels occur in no answer yet, but may occur in later ones."""
        return np.zeros(len(truths), np.bool_)

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        """Return codes that may depend on their tasks, given as numbers among the ids of all tasks."""
        return codes

    def remap(self, codes: Array, known: Self) -> Array:
        """Return codes of an encoding that knows fewer labels as codes of this one."""
        return codes

    @abstractmethod
    def decode(self, codes: Array) -> Values:
        """Turn codes into labels for the user."""

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return further columns of the table of estimated labels.

        Columns called ``label``, ``low`` or ``high`` replace the decoded label and the confidence interval of a number.
        """
        return {}

    def store(self, block: Block) -> Block:
        """Convert labels to the form that takes long to find, where there is one, whatever tasks are made of them."""
        return block

    def prepare(self, block: Block) -> Block:
        """Compute once what every round needs; labels are codes, or stored."""
        return block

    @property
    def fields(self) -> Any:
        """The encoding as a `RecordEncoding`, where labels are compared and decided field by field."""
        return None

    @property
    def things(self) -> Things | None:
        """The capability to list the objects of a label, or None."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what a summary contains about the labels."""
        return self.domain.describe()


@dataclass(frozen=True, kw_only=True)
class Kernels(ABC):
    """Comparison and aggregation of encoded labels, one block at a time.

    A kernel is a function of a prepared block and of numbers per worker. It returns sums per worker, or results per
    task. Everything a kernel needs beside the options of the domain is in the block, so it can be sent anywhere. A
    domain must define distances of codes, and sums over peers. Kernels that are equal have equal distances.
    """

    domain: Domain

    @abstractmethod
    def distance_between(self, left: Array, right: Array) -> Floats:
        """Compute distances of codes, pair by pair; NaN where they are unknown."""

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Compute distances of codes of different tasks; NaN where these cannot be compared."""
        return self.distance_between(left, right)

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        """Compute distances of answers to the same tasks of a prepared block, by their places in it."""
        return self.distance_between(block.label[left], block.label[right])

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        """Return distances of codes of one task, and of different tasks, as functions of places among these codes."""
        return (
            lambda i, j: self.distance_between(codes[i], codes[j]),
            lambda i, j: self.guess_distances(codes[i], codes[j]),
        )

    @abstractmethod
    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to the other answers of its task, and their weight."""

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Sum, per worker, the weighted distances to the peers and their weights."""
        distance, weight = self.peer_distances(block, weights)
        return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Sum, per pair of workers, the distances and the number of common tasks.

        The matrices, dense or sparse, have a row for each worker in ``rows``, a range of the block's workers and by
        default all, and a column for each worker of the block.
        """
        chunks = pair_chunks(block, rows)
        return add_pairs(block, rows, ((*pair, self.distance_within(block, *pair)) for pair in chunks))

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Compute the distance of each answer to its task's label, both prepared."""
        return self.distance_between(block.label, block.to_answers(truth))

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Sum, per worker, the known distances to gold labels, and count the answers."""
        if not len(block.gold_task):
            return known_sums(block, unknown(len(block.worker)))
        row = block.gold_row  # tasks without gold borrow the last gold label, and count nothing
        distance = self.distance_to(block, block.gold_label[row])
        return known_sums(block, np.where(block.to_answers(row >= 0), distance, np.nan))

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block by the rule; the labels are prepared ones."""
        return find_rule(self.domain.rules, self.domain.rule).decide(block, weights, faults, ties)

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Estimate, per task, the code of the label, its confidence, and whether it was drawn among equals."""
        found = self.decide(block, weights, faults, ties)
        return {**found.columns(), "label": self.restore(block, found.label)}

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        """Return the kernels with the quorum that fits the weights, and its description; most have none.

        ``add(kernel, *params)`` sums, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        return self, {}

    def restore(self, block: Block, label: Array) -> Array:
        """Return prepared labels, one per task, as codes."""
        return label

    def restore_answers(self, block: Block, rows: Array) -> Array:
        """Return the labels of some answers, in order, as codes: exactly those that were prepared."""
        return block.label[rows]

    def restore_gold(self, block: Block) -> Array:
        """Return the gold labels of a block as codes."""
        return block.gold_label

    def scatter(self, block: Block) -> Floats:
        """Compute the largest distance of each task's answers from its centre, where rounding depends on it."""
        return np.zeros(block.n_tasks)

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Return for which tasks two labels differ, given the scatter of each task's answers."""
        return np.asarray(left != right)


def field_names(domain: Domain | None) -> tuple[str, ...]:
    """Return the names of the fields of a label, where it has some; they may be columns of a table.

    >>> from allalike import Real, Record
    >>> field_names(Record("year:real, name")), field_names(Real())
    (('year', 'name'), ())
    """
    return () if domain is None or domain.record is None else tuple(domain.record.field_names)


def spell_domain(domain: Domain) -> str:
    """Return how a domain is written where it is named, as after it was guessed.

    >>> from allalike import Real, Record, Set
    >>> spell_domain(Record("year:real")), spell_domain(Real()), spell_domain(Set(separator=";"))
    ('record(fields="year:real")', 'real', 'set(separator=";")')
    """
    if domain.record is not None:
        return str(domain.record.spec)
    usual = type(domain)() if domain.name != "custom" else domain
    options = {option.name: getattr(domain, option.name) for option in options_of(domain)}
    chosen = [f"{name}={value!r}" for name, value in options.items() if value != getattr(usual, name)]
    spelled = f"{domain.name}({', '.join(chosen)})" if chosen else domain.name
    return spelled if '"' in spelled else spelled.replace("'", '"')  # which needs no marks in a shell


def choose_options(domain: Domain, choices: Mapping[str, str]) -> Domain:
    """Return a domain with another distance or rule; unless a rule was asked for, it is one that fits.

    A target is a default: it is chosen for label types that have one if the user chose none.
    """
    if getattr(domain, "target", "none") is not None:
        choices = {name: value for name, value in choices.items() if name != "target"}
    fitting = {"rule": ""} if domain.rule == domain.rules[0].name else {}
    return replace(domain, **{**fitting, **choices}) if choices else domain


def with_rule(encoding: E, rule: str | Rule) -> E:
    """Return the encoding of the same labels under another rule."""
    return replace(encoding, domain=replace(encoding.domain, rule=rule))
