"""Encoding: how labels become arrays, learned from the labels that occur.

A label has three forms. *Given* is the label as it came, and as it comes back to the user. A *code* is a row of an
array that means the same in every part of the answers: the number of a class, a number, a parsed text. *Prepared* is
what a block makes of codes so that rounds are fast: a number without its task's centre, a place in a store of texts.

    given --encode--> code --prepare--> prepared
    given <--decode-- code <--restore-- prepared

Answers, known truths and truths that were found are codes. `Encoding` has the verbs between given and code and prepares
blocks; `Kernels` work on prepared blocks, and restore what they find.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike._core.blocks.ties import Ties
    from allalike._core.columns.values import Values
    from allalike.domains.base import Domain
    from allalike.domains.kernels import Add, Kernels
    from allalike.noise import Noise
    from allalike.rules import Rule

__all__ = ["Apart", "Encoding", "Votes"]


@dataclass(frozen=True, kw_only=True)
class Encoding(ABC):
    """What the labels at hand have in common, and how they become arrays and labels again.

    It is the same for all parts of the answers. Encodings that were learned from parts are joined by `merge`.
    """

    domain: Domain

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
    def noise(self) -> Noise:
        """The noise to expect in these labels."""
        return self.domain.noise

    @property
    def n_labels(self) -> int:
        """How many different labels occur, where codes are their numbers."""
        return 0

    @property
    def n_numbers(self) -> int:
        """How many numbers a label is, where labels are numbers."""
        return 1

    @property
    def coordinates(self) -> Floats | None:
        """Of each label that codes number: a vector, such that distances are those of vectors, squared; if known."""
        return None

    @property
    def vocabulary(self) -> list[Any]:
        """What the numbers in codes mean; codes of two encodings with the same vocabulary are the same."""
        return []

    @property
    def for_looks(self) -> Self:
        """The encoding under which copies and guesses are looked for: of numbers, that with squared distances."""
        return self

    def with_rule(self, rule: str | Rule) -> Self:
        """Return the encoding of the same labels under another rule."""
        return replace(self, domain=replace(self.domain, rule=rule))

    def merge(self, others: Sequence[Self]) -> Self:
        """Return the encoding of all labels that this one and others were learned from."""
        return self

    def measures_like(self, other: Self) -> bool:
        """Tell whether two labels are as far apart as another encoding of the same domain says."""
        return True

    def find_units(self, add: Add) -> Self:
        """Return the encoding with what only sums over the answers of all tasks tell, such as a unit of distance.

        ``add(kernel, *params)`` adds up, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        return self

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Turn given labels into codes."""

    @property
    def nothing(self) -> Array:
        """No codes, of the type and shape that codes have."""
        return self.encode(Column("label", []))

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Turn known truths into codes; nobody need have answered them, so the encoding may grow."""
        return self, self.encode(labels)

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        """Tell which known truths are labels that nobody gave yet, and that later answers may give."""
        return np.zeros(len(truths), np.bool_)

    def put_known(self, found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
        """Return what was found for tasks with the truths that are known for some of them in place."""
        label = found["label"].copy()
        width = label.shape[1:]  # known truths of tasks that nobody answered may be longer
        label[task] = truths[(slice(None), *map(slice, width))]
        return {**found, "label": label}

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        """Return codes that may depend on their tasks, given as numbers among the ids of all tasks."""
        return codes

    def add(self, codes: Array, starts: Array) -> Array:
        """Make one code of each group of neighbouring ones: all that a worker said of a task, where that adds up."""
        raise OptionError(
            f"repeats is 'add', but {self.domain.name} labels cannot be added up. Keep a worker's first or last"
            " answer to a task with repeats='first' or 'last'."
        )

    def remap(self, codes: Array, known: Self) -> Array:
        """Return codes of an encoding that knows fewer labels as codes of this one."""
        return codes

    @abstractmethod
    def decode(self, codes: Array) -> Values:
        """Turn codes into labels for the user."""

    def tell(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return what else the table of truths says of some tasks, by what was found for them.

        A column that is called ``label`` stands in the place of the decoded label.
        """
        return {}

    def show_limits(self, limits: Floats) -> Values | Floats:
        """Return limits of truths that are numbers, as the table of truths has them."""
        return limits

    @property
    def votes(self) -> Votes | None:
        """How answers become votes on classes, for methods that need these, if they can."""
        return None

    @property
    def apart(self) -> Apart | None:
        """How the fields of labels are weighed, each as if it were the label, where that was asked for."""
        return None

    @property
    def has_objects(self) -> bool:
        """Whether truths are made of objects, of which `list_objects` makes a table of its own."""
        return False

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return the columns of a table of the objects of some truths: one row each, ``task`` first."""
        raise NotImplementedError

    def calibrate(self, add: Add, problems: Problems) -> Self:
        """Return the encoding that knows what is to be taken away from each worker's answers before they are compared.

        ``add(kernel, *params)`` adds up, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        return self

    def correct(self, block: Block) -> Block:
        """Take away what `calibrate` found, and prepare the block again."""
        return block

    def prepare(self, block: Block) -> Block:
        """Compute once what every round needs."""
        return block

    def prepare_again(self, block: Block, known: Self) -> Block:
        """Prepare a block that another encoding prepared, with codes of another vocabulary."""
        label = self.remap(known.kernels.restore_answers(block, np.arange(len(block.label))), known)
        gold = self.remap(known.kernels.restore_gold(block), known)
        return self.prepare(replace(block, label=label, gold_label=gold, prepared={}))

    def describe(self) -> dict[str, Any]:
        """Return what a summary says of the labels."""
        return self.domain.describe()


class Votes(ABC):
    """How answers become votes on classes, and the decisions on these become truths."""

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """The encoding of the votes."""

    @abstractmethod
    def cast(self, block: Block) -> Block:
        """Return the votes of a block, prepared; they are tasks, in the order of the tasks they belong to."""

    @abstractmethod
    def count(self, block: Block, weights: Floats, found: Mapping[str, Array], ties: Ties) -> dict[str, Array]:
        """Put the truths of a block together, given what was found for each vote."""


@dataclass(frozen=True)
class Apart(ABC):
    """How each field of labels becomes answers of its own, and what is decided field by field becomes truths.

    Parameters
    ----------
    encodings
        The name of each field and its encoding; nothing for a field that nobody filled.
    """

    encodings: tuple[tuple[str, Encoding | None], ...]

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
    def decide(self, block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> dict[str, Array]:
        """Put the truths of a block together; ``find`` returns what is found in the block of a field."""
