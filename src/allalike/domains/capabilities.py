"""Capabilities: what only some kinds of label can do.

A contract (`allalike.domains.contract`) has what every kind needs. Where a kind can do more, one of its classes is
below a class of this page, too, and a property of the contract returns it, and None for all other kinds. Whoever needs
the capability asks for it by that property, and never looks at the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allalike._core.blocks.block import Add, Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
    from allalike._core.columns.values import Values

Kind = TypeVar("Kind")  # a domain
Known = TypeVar("Known")  # an encoding


class FieldKinds(ABC, Generic[Kind]):
    """The fields of which labels consist, each of a kind of its own (`Domain.record`)."""

    fields: Any  # pairs of a name and a kind; a kind that is None is still to be guessed
    one: bool  # whether each label fills one of them only, so that labels of different fields have no distance

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields; they may be columns of a table."""
        return tuple(name for name, _ in self.fields)

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the kind of a field is still to be guessed, when labels are seen."""

    @abstractmethod
    def close(self, labels: Column, guess: Callable[[Column, Array], Kind]) -> Kind:
        """Return the domain with all that was open; ``guess`` tells the kind of what some rows of the labels hold."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """How the domain is written where it is named, as after it was guessed."""


class Pictures(ABC):
    """Labels that are pictures (`Domain.pictures`)."""

    @property
    @abstractmethod
    def splits(self) -> bool:
        """Whether one answer may stand for several, which `split` then makes of it."""

    @abstractmethod
    def split(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Return answers of which one stands for several, such as a map with several objects, one by one.

        The columns are task and label, and worker unless these are known truths.
        """

    @abstractmethod
    def export(self, masks: Array, tasks: Values, folder: Path) -> Values:
        """Write codes, of which some may be none, as files into a folder; return their paths for a table."""


class Marks(ABC):
    """Labels that say several things, of which some may be right (`Domain.marks`): elements, objects, pixels."""

    @property
    def marks(self) -> Self:
        """They are right or wrong one by one."""
        return self

    @abstractmethod
    def count_marks(self, said: Any, truth: Any) -> Mapping[Any, tuple[int, int, int]]:
        """Return, by tag, how much of an answer is in the truth, how much it says, and how much the truth says."""

    def measure_marks(self, said: Any, truth: Any) -> dict[str, float]:
        """Return what else says how good an answer is, by name; NaN is unknown."""
        return {}


class Adding(ABC):
    """Labels that add up, as comparisons of two things do (`Domain.repeats`)."""

    @abstractmethod
    def add(self, codes: Array, starts: Array) -> Array:
        """Make one code of each group of neighbouring ones: all that a worker said of a task."""

    @abstractmethod
    def take_apart(self, codes: Array) -> tuple[Array, Array]:
        """Return the codes that were added up, one by one, and how many each was made of."""


class Fields(ABC, Generic[Known]):
    """Labels of several fields, which are compared and decided field by field (`Encoding.fields`).

    Where workers are weighed in each field alone (`alone`), each field becomes answers of its own.
    """

    @property
    @abstractmethod
    def encodings(self) -> tuple[tuple[str, Known | None], ...]:
        """The name of each field and its encoding; nothing for a field that nobody filled."""

    @property
    @abstractmethod
    def alone(self) -> bool:
        """Whether workers have a weight for each field, found as if it were the label."""

    @abstractmethod
    def find_units(self, add: Add) -> Known:
        """Return the encoding with the units of distance, which only sums over the answers of all tasks tell."""

    @abstractmethod
    def shared(self, left: Array, right: Array) -> Floats:
        """Measure how much of two codes is compared, pair by pair, where their distance is known: all of it, or less.

        A worker's sums count a pair by so much, as they count a task that both answered.
        """

    @abstractmethod
    def put_known(self, found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
        """Return what was found for tasks with the truths that are known for some of them in place."""

    @abstractmethod
    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return what else the table of workers says of each."""

    @abstractmethod
    def count(self, block: Block) -> dict[str, Floats]:
        """Count, per worker and field, her ``answers``."""

    @abstractmethod
    def pick(self, block: Block, *, field: int) -> Block:
        """Return a task whose only answer fills a field, not prepared; no task if nobody did."""

    @abstractmethod
    def take(self, block: Block, *, field: int, place: Array, example: Array) -> Block:
        """Return a block of the answers of a field, prepared, which has all tasks; who did not fill it is left out.

        ``place`` is the number that each worker of the whole run has among those who filled the field, and -1 for the
        others. A task in which nobody did is dropped, and its answer is the example.
        """

    @abstractmethod
    def join(self, block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> dict[str, Array]:
        """Put the truths of a block together; ``find`` returns what is found in the block of a field."""


class Votes(ABC, Generic[Known]):
    """How answers become votes on classes, and the decisions on these become truths (`Things.votes`)."""

    @property
    @abstractmethod
    def encoding(self) -> Known:
        """The encoding of the votes."""

    @abstractmethod
    def cast(self, block: Block) -> Block:
        """Return the votes of a block, prepared; they are tasks, in the order of the tasks they belong to."""

    @abstractmethod
    def count(self, block: Block, weights: Floats, found: Mapping[str, Array], ties: Ties) -> dict[str, Array]:
        """Put the truths of a block together, given what was found for each vote."""


class Things(ABC, Generic[Known]):
    """Labels that list things, of which truths have a table of their own (`Encoding.things`)."""

    @abstractmethod
    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return the columns of a table of the objects of some truths: one row each, ``task`` first."""

    @property
    def votes(self) -> Votes[Known] | None:
        """How answers become votes on classes, for methods that need these, if they can."""
        return None

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return what else the table of workers says of each."""
        return {}
