"""The contract of label types: domains, encodings and kernels.

A `Domain` is a label type with the options that the user chose: distances, rules, expected noise. `Domain.learn`
inspects the labels and returns an `Encoding`, which converts labels to arrays. `Kernels` compare and aggregate these
arrays. Label types without an inner product implement the shorter interface of `allalike.domains.pairwise`.

A label has three forms. A *given* label has the form of the input, which is also the form of the output. A *code* is a
row of an array with the same meaning in every partition: a class number, a number, a parsed text. A *prepared* label is
optimised for repeated rounds: a number minus the centre of its task, or an index into a store of texts.

    given --encode--> code --prepare--> prepared
    given <--decode-- code <--restore-- prepared

Answers, gold labels and estimated labels are codes. `Encoding` converts between given labels and codes and prepares
blocks. `Kernels` work on prepared blocks and restore codes from their results. Overrides inherit docstrings.

Capabilities that only some label types have are properties, which are None for all others: `Domain.record`,
`Domain.pictures`, `Domain.repeats`, `Encoding.fields`, `Encoding.things` and `Encoding.offsets`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as options_of
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Add, Array, Block, Floats, Ties, known_sums
from allalike._core.blocks.pairs import add_pairs, pair_chunks
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.options import Options
from allalike._core.registry import did_you_mean
from allalike.domains.offsets import Offsets
from allalike.domains.spelling import Spelling
from allalike.errors import LabelError, UnknownNameError
from allalike.noise import Noise
from allalike.rules import Decision, Rule
from allalike.rules.base import find_rule, unknown

Measure = Callable[[Array, Array], Floats]

E = TypeVar("E", bound="Encoding")


@dataclass(frozen=True, kw_only=True)
class Domain(Options, ABC):
    """A label type, with the options that the user chose.

    Every domain has a ``rule`` and a ``distance``. The rule is the name of one of its `rules`, or a custom `Rule`. The
    distance is one of its `distances`. The first of each is the default. `numeric` is true for single numbers.
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
            known = f"Use one of: {', '.join(choices)}."
            raise UnknownNameError(f"The label type {self.name!r} has no {option} {chosen!r}.{hint} {known}")
        object.__setattr__(self, option, chosen)

    @abstractmethod
    def learn(self, labels: Column) -> Encoding:
        """Learn properties that the labels share, such as the set of classes."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The noise model expected by default."""

    @property
    def n_classes(self) -> int | None:
        """The number of classes: 0 if it is to be counted, None if labels are not classes."""
        return None

    @property
    def spelling(self) -> Spelling:
        """The normalisation of distinct labels during reading; only classes have one by default."""
        return Spelling(strip=False)

    @property
    def recurring(self) -> bool:
        """Whether two estimates can be equal: False for numbers and for labels composed of parts."""
        return True

    @property
    def power(self) -> int:
        """The power of the labels' unit in which distances are measured: 2 if squared, 0 if bounded."""
        return 0

    @property
    def record(self) -> Any:
        """The domain as a `Record`, if labels have fields; label types of fields may still be None."""
        return None

    @property
    def pictures(self) -> Any:
        """The domain as a `Bitmap`, if labels are images that can be split and exported."""
        return None

    @property
    def repeats(self) -> Any:
        """The domain as a `Ranking`, if repeated answers to a task are combined; otherwise the first answer counts."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return the description of this domain for a summary."""
        return {"name": self.name, "distance": self.distance, "rule": str(self.rule)}


class Marks(ABC):
    """A label type whose labels have several parts that are scored separately: elements, objects, pixels."""

    @abstractmethod
    def count_marks(self, answer: Any, truth: Any) -> Mapping[Any, tuple[int, int, int]]:
        """Return the sizes of the intersection, the answer and the truth for each tag."""

    def measure_marks(self, answer: Any, truth: Any) -> dict[str, float]:
        """Return further measures of the quality of an answer by name; NaN if unknown."""
        return {}


class Things(ABC):
    """Labels that list objects; estimated labels have a separate table (`Encoding.things`)."""

    @abstractmethod
    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return the columns of a table with one row per object; the first column is ``task``."""

    @property
    def votes(self) -> Any:
        """The `ObjectVotes` that convert answers to votes on classes, or None."""
        return None

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return further columns of the worker table."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Encoding(ABC):
    """The vocabulary of the labels, and their conversion to arrays and back.

    All partitions of the answers share one encoding. `merge` joins encodings learned from partitions. `offsets` are
    subtracted from each worker's numbers before answers are compared, if bias correction is enabled.
    """

    kernels_type: ClassVar[type[Kernels]]
    domain: Domain
    offsets: Offsets | None = field(default=None, compare=False)

    @property
    def kernels(self) -> Kernels:
        """The kernels for blocks prepared by this encoding; override it if they need more than the domain."""
        return self.kernels_type(domain=self.domain)

    @property
    def numeric(self) -> bool:
        """Whether a label is one number."""
        return self.domain.numeric

    @property
    def n_classes(self) -> int | None:
        """The number of classes, if labels are plain classes."""
        return self.domain.n_classes

    @property
    def nominal(self) -> bool:
        """Whether labels are unordered classes."""
        return self.n_classes is not None

    @property
    def coordinates(self) -> Floats | None:
        """A vector for each label number, such that their squared distances are the label distances, or None."""
        return None

    @property
    def noise(self) -> Noise:
        """The noise expected in these labels."""
        return self.domain.noise

    @property
    def n_labels(self) -> int:
        """The number of distinct labels, if codes are label numbers."""
        return 0

    @property
    def vocabulary(self) -> list[Any]:
        """The meaning of code numbers; equal vocabularies imply equal codes."""
        return []

    def merge(self, others: Sequence[Self]) -> Self:
        """Return the encoding learned from the labels of all these encodings."""
        return self

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Convert given labels to codes; without labels, return an empty array of the dtype and shape of codes."""

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Convert gold labels to codes; the encoding may grow, because gold labels need not occur in answers."""
        return self, self.encode(labels)

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        """Return whether each gold label is absent from all answers but may occur in later answers."""
        return np.zeros(len(truths), np.bool_)

    def remap(self, codes: Array, known: Self) -> Array:
        """Convert codes of a smaller encoding to codes of this encoding."""
        return codes

    @abstractmethod
    def decode(self, codes: Array) -> Values:
        """Convert codes to labels for the user."""

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return further columns of the truth table.

        Columns named ``label``, ``low`` or ``high`` replace the decoded label and the confidence interval of a number.
        """
        return {}

    def store(self, block: Block) -> Block:
        """Precompute expensive properties of labels, which do not depend on the split into tasks."""
        return block

    def prepare(self, block: Block) -> Block:
        """Precompute everything that all rounds share; labels are codes or stored labels."""
        return block

    @property
    def fields(self) -> Any:
        """The encoding as a `RecordEncoding`, if labels are compared and estimated field by field."""
        return None

    @property
    def things(self) -> Things | None:
        """The interface that lists the objects of a label, or None."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return the description of the labels for a summary."""
        return self.domain.describe()


@dataclass(frozen=True, kw_only=True)
class Kernels(ABC):
    """Comparison and aggregation of encoded labels, one block at a time.

    A kernel is a function of a prepared block and of arrays with a number per worker. It returns sums per worker or
    results per task. It needs only the block and the options of the domain. A domain must define distances between
    codes and sums over peers. Equal kernels have equal distances.
    """

    domain: Domain

    @abstractmethod
    def distance_between(self, left: Array, right: Array) -> Floats:
        """Compute distances between pairs of codes; NaN if unknown."""

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Compute distances between codes of different tasks; NaN if they are not comparable."""
        return self.distance_between(left, right)

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        """Compute distances between answers to the same tasks of a prepared block, given their indices."""
        return self.distance_between(block.label[left], block.label[right])

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        """Return two distance functions, within and across tasks, whose arguments are indices into these codes."""
        return (
            lambda i, j: self.distance_between(codes[i], codes[j]),
            lambda i, j: self.guess_distances(codes[i], codes[j]),
        )

    @abstractmethod
    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weighted distance of each answer to its peers, and the total weight of these peers."""

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Sum the weighted distances to peers, and the weights of peers, per worker."""
        distance, weight = self.peer_distances(block, weights)
        return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Sum the distances and count the common tasks per pair of workers.

        The matrices, dense or sparse, have a row for each worker in ``rows`` and a column for each worker of the block.
        ``rows`` is a range of the block's workers, by default all.
        """
        chunks = pair_chunks(block, rows)
        return add_pairs(block, rows, ((*pair, self.distance_within(block, *pair)) for pair in chunks))

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Compute the distance between each answer and its task's label; both are prepared."""
        return self.distance_between(block.label, block.to_answers(truth))

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Sum the known distances to gold labels and count the answers per worker."""
        if not len(block.gold_task):
            return known_sums(block, unknown(len(block.worker)))
        row = block.gold_row  # tasks without gold use the last gold label here, and are masked below
        distance = self.distance_to(block, block.gold_label[row])
        return known_sums(block, np.where(block.to_answers(row >= 0), distance, np.nan))

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block by the rule; labels are prepared."""
        return find_rule(self.domain.rules, self.domain.rule).decide(block, weights, faults, ties)

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Estimate the code and confidence of each task's label, and whether a tie was broken at random."""
        found = self.decide(block, weights, faults, ties)
        return {**found.columns(), "label": self.restore(block, found.label)}

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        """Return the kernels with the best quorum for these weights, and a description of this quorum.

        ``add(kernel, *params)`` sums the named arrays of a kernel over all blocks; the arrays have one row per worker.
        """
        return self, {}

    def restore(self, block: Block, label: Array) -> Array:
        """Convert prepared labels, one per task, to codes."""
        return label

    def restore_answers(self, block: Block, rows: Array) -> Array:
        """Return the exact codes of the answers in these rows."""
        return block.label[rows]

    def restore_gold(self, block: Block) -> Array:
        """Return the gold labels of a block as codes."""
        label = block.gold_label[block.gold_row] if len(block.gold_task) else block.label[block.starts]
        return self.restore(block, label)[block.gold_task]

    def scatter(self, block: Block) -> Floats:
        """Compute the largest distance between an answer and its task's centre, if rounding depends on it."""
        return np.zeros(block.n_tasks)

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Return whether two labels of each task differ, given the scatter of the task's answers."""
        return np.asarray(left != right)


def check_forms(labels: Column, codes: Array, forms: Sequence[str], usual: str = "") -> None:
    """Raise an error for the first label whose form differs from the usual one, by default that of the first label.

    Codes refer to the forms of distinct labels; an empty form fits any other.
    """
    usual = usual or next((form for form in forms if form), "")
    odd = np.array([form not in ("", usual) for form in forms], np.bool_)[codes]
    if odd.any():
        row = int(np.argmax(odd))
        where = f"The {labels.name} in row {labels.row(row)}"
        raise LabelError(f"{where} has {forms[codes[row]]}, but others have {usual}. Use one form.")


def field_names(domain: Domain | None) -> tuple[str, ...]:
    """Return the field names of a record label type, which may be columns of a table.

    >>> from allalike import Real, Record
    >>> field_names(Record("year:real, name")), field_names(Real())
    (('year', 'name'), ())
    """
    return () if domain is None or domain.record is None else tuple(domain.record.field_names)


def spell_domain(domain: Domain) -> str:
    """Return the text that names a domain, for example in a message about an inferred label type.

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
    return spelled if '"' in spelled else spelled.replace("'", '"')  # avoids quoting in a shell


def choose_options(domain: Domain, choices: Mapping[str, str]) -> Domain:
    """Return a domain with another distance or rule; a default rule is replaced by one that fits.

    The target is only a default: it applies if the label type has a target and the user chose none.
    """
    if getattr(domain, "target", "none") is not None:
        choices = {name: value for name, value in choices.items() if name != "target"}
    fitting = {"rule": ""} if domain.rule == domain.rules[0].name else {}
    return replace(domain, **{**fitting, **choices}) if choices else domain


def with_rule(encoding: E, rule: str | Rule) -> E:
    """Return the encoding of the same labels under another rule."""
    return replace(encoding, domain=replace(encoding.domain, rule=rule))
