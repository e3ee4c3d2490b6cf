"""What a kind of label must say: the contracts of domains, encodings and kernels.

A `Domain` is a kind of label as the user chooses it: which distances and rules there are, and which noise to expect. It
knows nothing of the labels at hand: `Domain.learn` looks at them, and returns an `Encoding`, which makes arrays of
labels. `Kernels` compare and aggregate these arrays.

A label has three forms. *Given* is the label as it came, and as it comes back to the user. A *code* is a row of an
array that means the same in every part of the answers: the number of a class, a number, a parsed text. *Prepared* is
what a block makes of codes so that rounds are fast: a number without its task's centre, a place in a store of texts.

    given --encode--> code --prepare--> prepared
    given <--decode-- code <--restore-- prepared

Answers, known truths and truths that were found are codes. `Encoding` has the verbs between given and code and prepares
blocks; `Kernels` work on prepared blocks, and restore what they find.

What only some kinds can do is a capability (`allalike.domains.capabilities`): `Domain.record`, `Domain.pictures` and
`Domain.repeats`, `Encoding.fields`, `Encoding.things` and `Encoding.offsets` are objects, or None.
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
    from allalike.domains.capabilities import Adding, FieldKinds, Fields, Marks, Pictures, Things
    from allalike.domains.offsets import Offsets
    from allalike.noise import Noise
    from allalike.rules import Decision, Rule

    Measure = Callable[[Array, Array], Floats]

E = TypeVar("E", bound="Encoding")


@dataclass(frozen=True, kw_only=True)
class Domain(Options, ABC):
    """A kind of label, with the options that the user chose.

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
        """Take the first rule and the first distance unless others are asked for."""
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
        object.__setattr__(self, option, chosen)  # before anybody has seen it

    @abstractmethod
    def learn(self, labels: Column) -> Encoding:
        """Find out what the labels have in common, such as the classes that occur."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The noise that this domain expects."""

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, 0 if that is to be counted, and None where labels are no classes."""
        return None

    @property
    def spelling(self) -> Spelling:
        """What is done with each different label when labels are read: nothing, unless they are classes."""
        return Spelling(strip=False)

    @property
    def recurring(self) -> bool:
        """Whether truths found in two ways can well be the same: not numbers, nor what is put together from parts."""
        return True

    @property
    def power(self) -> int:
        """Which power of a length distances are, where they have no largest value: 2 if they are squares; else 0."""
        return 0

    @property
    def record(self) -> FieldKinds[Domain] | None:
        """The fields of a label, where it has some."""
        return None

    @property
    def pictures(self) -> Pictures | None:
        """How labels that are pictures are split, and written as files."""
        return None

    @property
    def marks(self) -> Marks | None:
        """How much of an answer is right, where labels say several things."""
        return None

    @property
    def repeats(self) -> Adding | None:
        """How a worker's answers to a task add up, where they do; elsewhere the first counts."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what a summary says of this domain."""
        return {"name": self.name, "distance": self.distance, "rule": str(self.rule)}


@dataclass(frozen=True, kw_only=True)
class Encoding(ABC):
    """What the labels at hand have in common, and how they become arrays and labels again.

    It is the same for all parts of the answers. Encodings that were learned from parts are joined by `merge`.
    `offsets` are what is each worker's own, to be found and taken away before answers are compared, where that was
    asked for.
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
        """How many classes there are, where labels are classes and nothing else."""
        return self.domain.n_classes

    @property
    def nominal(self) -> bool:
        """Whether labels are classes that are the same or not, and nothing else: none is between two others."""
        return self.n_classes is not None

    @property
    def coordinates(self) -> Floats | None:
        """Of each label that codes number: a vector, such that distances are those of vectors, squared; if known."""
        return None

    @property
    def noise(self) -> Noise:
        """The noise to expect in these labels."""
        return self.domain.noise

    @property
    def n_labels(self) -> int:
        """How many different labels occur, where codes are their numbers."""
        return 0

    @property
    def vocabulary(self) -> list[Any]:
        """What the numbers in codes mean; codes of two encodings with the same vocabulary are the same."""
        return []

    def merge(self, others: Sequence[Self]) -> Self:
        """Return the encoding of all labels that this one and others were learned from."""
        return self

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Turn given labels into codes; without labels, into none of the type and shape that codes have."""

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Turn known truths into codes; nobody need have answered them, so the encoding may grow."""
        return self, self.encode(labels)

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        """Tell which known truths are labels that nobody gave yet, and that later answers may give."""
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
        """Return what else the table of truths says of some tasks, by what was found for them.

        Columns that are called ``label``, ``low`` or ``high`` stand in the place of the decoded label and of the limits
        of a number.
        """
        return {}

    def store(self, block: Block) -> Block:
        """Put labels in the form that takes long to find, where there is one, for whatever tasks are made of them."""
        return block

    def prepare(self, block: Block) -> Block:
        """Compute once what every round needs; labels are codes, or stored."""
        return block

    @property
    def fields(self) -> Fields[Encoding] | None:
        """How labels are compared and decided field by field, where they have fields."""
        return None

    @property
    def things(self) -> Things[Encoding] | None:
        """How the things are listed of which truths are made, where they are."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what a summary says of the labels."""
        return self.domain.describe()


@dataclass(frozen=True, kw_only=True)
class Kernels(ABC):
    """How encoded labels are compared and aggregated, one block at a time.

    A kernel is a function of a prepared block and of numbers per worker. It returns sums per worker, or what it found
    for each task. Everything a kernel needs beside the options of the domain is in the block, so it can be sent
    anywhere. A domain must say how far codes are apart, and add up over peers. Labels are equally far apart under
    kernels that are equal.
    """

    domain: Domain

    @abstractmethod
    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far codes are apart, pair by pair; NaN where that is unknown."""

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Measure how far codes of different tasks are apart; NaN where these cannot be compared."""
        return self.distance_between(left, right)

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        """Measure how far answers to the same tasks of a prepared block are apart, by their places in it."""
        return self.distance_between(block.label[left], block.label[right])

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        """Return how far codes of one task are apart, and codes of different tasks, by their places among these."""
        return (
            lambda i, j: self.distance_between(codes[i], codes[j]),
            lambda i, j: self.guess_distances(codes[i], codes[j]),
        )

    @abstractmethod
    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to the other answers of its task, and their weight."""

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up, per worker, the weighted distance to her peers and their weight."""
        distance, weight = self.peer_distances(block, weights)
        return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks.

        The matrices, dense or sparse, have a row for each worker in ``rows``, a range of the block's workers and by
        default all, and a column for each worker of the block.
        """
        chunks = pair_chunks(block, rows)
        return add_pairs(block, rows, ((*pair, self.distance_within(block, *pair)) for pair in chunks))

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth, both prepared."""
        return self.distance_between(block.label, block.to_answers(truth))

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Add up, per worker, the distance to the truths that are known, where it is known, and her answers there."""
        if not len(block.gold_task):
            return known_sums(block, unknown(len(block.worker)))
        row = block.gold_row  # tasks without gold borrow the last truth, and count nothing
        distance = self.distance_to(block, block.gold_label[row])
        return known_sums(block, np.where(block.to_answers(row >= 0), distance, np.nan))

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block by the rule; the labels found are prepared ones."""
        return find_rule(self.domain.rules, self.domain.rule).decide(block, weights, faults, ties)

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find, per task, the code of the truth, how sure it is, and whether it was drawn among equals."""
        found = self.decide(block, weights, faults, ties)
        label = self.restore(block, found.label)
        sure = {"confidence": found.confidence, "error": found.error, "tied": found.tied}
        return {"label": label, **sure, **found.more}

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        """Return the kernels with the quorum that fits the weights, and what a summary says of it; most have none.

        ``add(kernel, *params)`` adds up, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        return self, {}

    def restore(self, block: Block, label: Array) -> Array:
        """Return prepared labels, one per task, as codes."""
        return label

    def restore_answers(self, block: Block, rows: Array) -> Array:
        """Return the labels of some answers, in order, as codes: exactly those that were prepared."""
        return block.label[rows]

    def restore_gold(self, block: Block) -> Array:
        """Return the known truths of a block as codes."""
        return block.gold_label

    def scatter(self, block: Block) -> Floats:
        """Measure how far each task's answers lie from its centre, where rounding depends on it."""
        return np.zeros(block.n_tasks)

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell for which tasks two truths are not the same, given how far each task's answers scatter."""
        return np.asarray(left != right)


def field_names(domain: Domain | None) -> tuple[str, ...]:
    """Return the names of the fields of a label, where it has some; they may be columns of a table.

    >>> from allalike import Real, Record
    >>> field_names(Record("year:real, name")), field_names(Real())
    (('year', 'name'), ())
    """
    return () if domain is None or domain.record is None else domain.record.field_names


def spell_domain(domain: Domain) -> str:
    """Return how a domain is written where it is named, as after it was guessed.

    >>> from allalike import Real, Record, Set
    >>> spell_domain(Record("year:real")), spell_domain(Real()), spell_domain(Set(separator=";"))
    ('record(fields="year:real")', 'real', 'set(separator=";")')
    """
    if domain.record is not None:
        return domain.record.spec
    usual = type(domain)() if domain.name != "custom" else domain
    options = {option.name: getattr(domain, option.name) for option in options_of(domain)}
    chosen = [f"{name}={value!r}" for name, value in options.items() if value != getattr(usual, name)]
    spelled = f"{domain.name}({', '.join(chosen)})" if chosen else domain.name
    return spelled if '"' in spelled else spelled.replace("'", '"')  # which needs no marks in a shell


def choose_options(domain: Domain, choices: Mapping[str, str]) -> Domain:
    """Return a domain with another distance or rule; unless a rule was asked for, it is one that fits.

    >>> from allalike import Real
    >>> choose_options(Real(), {"distance": "absolute"}).rule
    'median'
    """
    fitting = {"rule": ""} if domain.rule == domain.rules[0].name else {}
    return replace(domain, **{**fitting, **choices}) if choices else domain


def with_rule(encoding: E, rule: str | Rule) -> E:
    """Return the encoding of the same labels under another rule.

    >>> import allalike
    >>> with_rule(allalike.read([("ada", 1, 2.5)]).encoding, "median").domain.rule
    'median'
    """
    return replace(encoding, domain=replace(encoding.domain, rule=rule))
