"""Domain: a kind of label. How it is encoded, how far two labels are apart, how labels are aggregated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike.blocks import Array, Block, Floats, pair_chunks
from allalike.errors import UnknownNameError
from allalike.registry import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allalike.columns import Column
    from allalike.noise import Noise
    from allalike.rules import Decision, Rule
    from allalike.ties import Ties
    from allalike.values import Values

__all__ = ["Domain"]


@dataclass(frozen=True, kw_only=True)
class Domain(ABC):
    """Be a kind of label.

    A domain says how labels become arrays (`resolve`, `encode`, `decode`), how far they are apart (`apart`,
    `peer_sums`), which rules aggregate them, and which noise it expects. Everything else follows here. `numeric` says
    that a label is one number.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]]
    distances: ClassVar[tuple[str, ...]]
    numeric: ClassVar[bool] = False
    rule: str = ""
    distance: Any = ""

    def __post_init__(self) -> None:
        """Take the first rule and the first distance unless others are asked for."""
        self._choose("rule", tuple(rule.name for rule in self.rules))
        self._choose("distance", self.distances)

    def _choose(self, option: str, choices: tuple[str, ...]) -> None:
        chosen = getattr(self, option) or choices[0]
        if chosen not in choices:
            hint = did_you_mean(chosen, choices)
            raise UnknownNameError(
                f"The {self.name} domain has no {option} called {chosen!r}.{hint} It has: {', '.join(choices)}."
            )
        object.__setattr__(self, option, chosen)

    @property
    @abstractmethod
    def model(self) -> Noise:
        """The noise that this domain expects."""

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, where labels are classes and nothing else."""
        return None

    @property
    def n_labels(self) -> int:
        """How many different labels occur, where they are numbered."""
        return 0

    @abstractmethod
    def resolve(self, labels: Column) -> Self:
        """Fix what depends on the labels that occur, such as the classes."""

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Turn labels into an array."""

    def settle(self, labels: Array, task: Array, tasks: Values) -> Array:
        """Return encoded labels that may depend on their tasks, given as numbers among the ids of all tasks."""
        return labels

    @abstractmethod
    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Turn known truths into an array, and return the domain that knows them; nobody need have answered them."""

    @abstractmethod
    def decode(self, codes: Array) -> Values:
        """Turn an array back into labels."""

    @abstractmethod
    def apart(self, left: Array, right: Array) -> Floats:
        """Measure how far encoded labels are apart, pair by pair."""

    @abstractmethod
    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up, per worker, the weighted distance to her peers and their weight."""

    def with_choices(self, **choices: Any) -> Self:
        """Return the domain with another rule, or before it is resolved with another distance."""
        chosen = copy(self)
        for name, value in choices.items():
            object.__setattr__(chosen, name, value)
        chosen.__post_init__()
        return chosen

    def prepare(self, block: Block) -> Block:
        """Compute once what every round needs."""
        return block

    def differs(self, block: Block, left: Array, right: Array) -> Array:
        """Tell for which tasks of a block two encoded labels are not the same."""
        return np.asarray(left != right)

    def apart_from(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        return self.apart(block.label, block.spread(truth))

    def export(self, labels: Values, tasks: Values, folder: Path) -> Values:
        """Return labels as they go into a table; those that are files are written to the folder."""
        return labels

    def describe(self) -> dict[str, Any]:
        """Say in a summary what this domain is."""
        return {"name": self.name, "distance": self.distance, "rule": self.rule}

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block, in the encoding of the block."""
        rule = next(rule for rule in self.rules if rule.name == self.rule)
        return rule.decide(block, weights, faults, ties)

    def restore(self, block: Block, label: Array) -> Array:
        """Undo what `prepare` did to labels."""
        return label

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find, per task, the label, how sure it is, and whether it was drawn among equals."""
        found = self.decide(block, weights, faults, ties)
        label = self.restore(block, found.label)
        return {"label": label, "confidence": found.confidence, "error": found.error, "tied": found.tied}

    def loss_sums(self, block: Block, weights: Floats, *, ties: Ties) -> dict[str, Floats]:
        """Add up, per worker, the distance to the task's own weighted aggregate, and her answers."""
        found = self.decide(block, weights, np.zeros(block.n_workers), ties)
        return _loss(block, self.apart_from(block, found.label), np.ones(len(block.label)))

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Add up, per worker, the distance to the truths that are known, and her answers to these tasks."""
        if not len(block.gold_task):
            return _loss(block, np.zeros(len(block.label)), np.zeros(len(block.label)))
        place = np.zeros(block.n_tasks, np.int64)  # tasks without gold borrow the first truth, and count nothing
        place[block.gold_task] = np.arange(len(block.gold_task))
        known = np.zeros(block.n_tasks)
        known[block.gold_task] = 1.0
        counts = block.spread(known)
        return _loss(block, counts * self.apart_from(block, block.gold_label[place]), counts)

    def pair_sums(self, block: Block) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks, as sparse matrices."""
        pairs = ((left, right, self.apart(block.label[left], block.label[right])) for left, right in pair_chunks(block))
        return self.pair_matrices(block, pairs)

    def pair_matrices(self, block: Block, pairs: Iterable[tuple[Array, Array, Floats]]) -> dict[str, Any]:
        """Add up the distances of pairs of answers; a pair whose distance is unknown (NaN) does not count."""
        from scipy import sparse

        sums: dict[str, Any] = {}
        shape = block.n_workers, block.n_workers
        for left, right, apart in pairs:
            known = ~np.isnan(apart)
            place = block.worker[left[known]], block.worker[right[known]]
            for name, values in (("distance", apart[known]), ("common", known[known].astype(np.float64))):
                part = sparse.coo_array((values, place), shape=shape).tocsr()
                sums[name] = sums[name] + part if name in sums else part
        return sums


def _loss(block: Block, loss: Floats, counts: Floats) -> dict[str, Floats]:
    return {"distance": block.per_worker(loss), "answers": block.per_worker(counts)}
