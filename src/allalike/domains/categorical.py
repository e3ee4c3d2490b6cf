"""Classes: labels that are either the same or not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike.blocks import Array, Block, Floats, group_labels
from allalike.distances import hamming
from allalike.domains.base import Domain
from allalike.errors import LabelError
from allalike.noise import OneCoin
from allalike.registry import check_number
from allalike.rules.base import Rule
from allalike.rules.vote import plurality

if TYPE_CHECKING:
    from allalike.columns import Column
    from allalike.values import Values

__all__ = ["Categorical"]


@dataclass(frozen=True, kw_only=True)
class Categorical(Domain):
    """Compare labels of any hashable type by Hamming distance.

    Parameters
    ----------
    classes
        How many classes there are. Without it, the classes that occur are counted, which is too few where a rare
        class was never answered; it matters for what a guess is worth.
    rule
        How a task's labels become one: ``plurality``.

    >>> import allalike
    >>> rows = [("ada", 1, "cat"), ("bob", 1, "cat"), ("eve", 1, "dog")]
    >>> allalike.discover(rows, domain=Categorical(classes=3)).truth["label"].tolist()
    ['cat']
    """

    name: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "classes of any hashable type; Hamming distance"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("plurality", plurality),)
    distances: ClassVar[tuple[str, ...]] = ("hamming",)
    classes: int | None = None
    labels: Values | None = field(default=None, init=False, repr=False, compare=False)
    label_hash: npt.NDArray[np.uint64] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is not None:
            check_number(self.classes, "classes", least=1, whole=True)

    @property
    def n_labels(self) -> int:
        """How many different labels occur."""
        return len(self.labels) if self.labels is not None else 0

    @property
    def n_classes(self) -> int:
        """How many classes there are: as many as were given, or else as occur."""
        return self.classes or self.n_labels

    @property
    def model(self) -> OneCoin:
        """Expect that every worker errs with a probability of her own."""
        return OneCoin(classes=self.n_classes)

    def resolve(self, labels: Column) -> Self:
        """Fix the labels that occur, in their order."""
        _, values = labels.factors
        if self.classes is not None and len(values) > self.classes:
            raise LabelError(
                f"There are {len(values)} different labels, but classes is {self.classes}. Raise it, or correct"
                f" the labels: {_some(values.tolist())}."
            )
        resolved = replace(self)
        object.__setattr__(resolved, "labels", values)
        object.__setattr__(resolved, "label_hash", values.hashes())
        return resolved

    def encode(self, labels: Column) -> Array:
        """Number the labels in their order, in as few bytes as it takes."""
        codes, values = labels.factors
        return codes.astype(_code_type(len(values)), copy=False)

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Number the truths like the labels; a truth that nobody answered gets the number after the last."""
        codes, values = labels.factors
        place = {value: code for code, value in enumerate(self.labels.tolist())} if self.labels else {}
        known = np.array([place.get(value, self.n_labels) for value in values.tolist()], np.int64)
        return self, known[codes]

    def decode(self, codes: Array) -> Values:
        """Return the labels of these numbers."""
        assert self.labels is not None
        return self.labels.take(codes)

    def prepare(self, block: Block) -> Block:
        """Number the pairs of task and label that occur."""
        assert self.label_hash is not None
        return block.with_prepared(**group_labels(block, self.n_labels), label_hash=self.label_hash)

    def apart(self, left: Array, right: Array) -> Floats:
        """Compare labels pair by pair."""
        return hamming.distance(left, right)

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up Hamming distances, linear in the number of answers."""
        return hamming.peer_sums(block, weights)

    def describe(self) -> dict[str, Any]:
        """Say how many classes there are, and whence that is known."""
        source = "data" if self.classes is None else "given"
        return {**super().describe(), "classes": self.n_classes, "classes_from": source}


def _code_type(n_labels: int) -> Any:
    return next(t for t in (np.int8, np.int16, np.int32) if n_labels <= np.iinfo(t).max)


def _some(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
