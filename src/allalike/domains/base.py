"""Domain: a kind of label. How it is encoded, how far two labels are apart, how labels are aggregated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike.blocks.block import Array, Block, Floats, pair_chunks
from allalike.blocks.matrices import MatrixSum
from allalike.errors import UnknownNameError
from allalike.registry import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from allalike.blocks.ties import Ties
    from allalike.columns.column import Column
    from allalike.columns.values import Values
    from allalike.noise import Noise
    from allalike.rules import Decision, Rule

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
    rule: str | Rule = ""
    distance: Any = ""

    def __post_init__(self) -> None:
        """Take the first rule and the first distance unless others are asked for."""
        if isinstance(self.rule, str):
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

    @property
    def vocabulary(self) -> list[Any]:
        """What the numbers in encoded labels mean; blocks of two domains with the same one go together."""
        return []

    @property
    def recurring(self) -> bool:
        """Whether truths found in two ways can well be the same label: classes, orders, or one of the answers.

        Numbers hardly ever are the same, nor are labels that are put together from parts of the answers.
        """
        return True

    @abstractmethod
    def resolve(self, labels: Column) -> Self:
        """Fix what depends on the labels that occur, and what all shards of the answers share, such as the classes."""

    def join(self, parts: Sequence[Self]) -> Self:
        """Return the domain that knows what these know, each of which was resolved by the labels of a shard."""
        return self

    def hold(self, labels: Column) -> Self:
        """Return the resolved domain with the labels of one shard at hand, ready to encode them and prepare blocks."""
        return self

    def shared(self) -> Self:
        """Return the domain without labels at hand: what all shards share, to which kernels are bound."""
        return self

    def narrow(self, labels: Array) -> tuple[Self, Array]:
        """Return the domain with no more labels at hand than these, encoded or loose, and how it encodes them."""
        return self, labels

    def loosen(self, labels: Array) -> Array:
        """Return encoded labels as `restore` returns truths: so that they mean the same in every shard."""
        return labels

    def translate(self, labels: Array, known: Self) -> Array:
        """Return loose labels of a domain that knows fewer of them as this one has them."""
        return labels

    @abstractmethod
    def encode(self, labels: Column) -> Array:
        """Turn labels into an array; places among the labels at hand are allowed, for `restore` undoes them."""

    def settle(self, labels: Array, task: Array, tasks: Values) -> Array:
        """Return encoded labels that may depend on their tasks, given as numbers among the ids of all tasks."""
        return labels

    @abstractmethod
    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Turn known truths into an array, and return the domain that knows them; nobody need have answered them."""

    def unheard_of(self, truths: Array) -> Array:
        """Tell which known truths are labels that nobody gave, and that later answers may give."""
        return np.zeros(len(truths), np.bool_)

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
        chosen = self._knowing(**choices)
        chosen.__post_init__()
        return chosen

    def _knowing(self, **facts: Any) -> Self:
        """Return the domain with other values of some fields, be they options or not."""
        domain = copy(self)
        for name, value in facts.items():
            object.__setattr__(domain, name, value)
        return domain

    def prepare(self, block: Block) -> Block:
        """Compute once what every round needs."""
        return block

    def prepare_again(self, block: Block, known: Self) -> Block:
        """Prepare a block anew that was prepared by a domain with another vocabulary."""
        label, gold = (self.translate(labels, known) for labels in (block.label, block.gold_label))
        return self.prepare(replace(block, label=label, gold_label=gold, prepared={}))

    def answered(self, block: Block, rows: Array) -> Array:
        """Return the labels of some answers of a prepared block, in order, as `restore` returns truths."""
        return block.label[rows]

    def scatter(self, block: Block) -> Floats:
        """Measure how far each task's answers lie from its centre, where rounding depends on it."""
        return np.zeros(block.n_tasks)

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell for which tasks two truths are not the same, given how far each task's answers scatter."""
        return np.asarray(left != right)

    def apart_from(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        return self.apart(block.label, block.to_answers(truth))

    def export(self, labels: Values, tasks: Values, folder: Path) -> Values:
        """Return labels as they go into a table; those that are files are written to the folder."""
        return labels

    def describe(self) -> dict[str, Any]:
        """Say in a summary what this domain is."""
        return {"name": self.name, "distance": self.distance, "rule": str(self.rule)}

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block, in the encoding of the block."""
        own = self.rule
        rule = next(rule for rule in self.rules if rule.name == own) if isinstance(own, str) else own
        return rule.decide(block, weights, faults, ties)

    def restore(self, block: Block, label: Array) -> Array:
        """Undo what `prepare` did to labels."""
        return label

    def known_truths(self, block: Block) -> Array:
        """Return the truths that are known as `restore` returns those that are found."""
        return block.gold_label

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
        counts = block.to_answers(known)
        return _loss(block, counts * self.apart_from(block, block.gold_label[place]), counts)

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks.

        The matrices, dense or sparse, have a row for each worker in ``rows``, a range of the block's workers and by
        default all, and a column for each worker of the block.
        """
        pairs = (
            (left, right, self.apart(block.label[left], block.label[right])) for left, right in pair_chunks(block, rows)
        )
        return self.pair_matrices(block, rows, pairs)

    def pair_matrices(
        self, block: Block, rows: slice | None, pairs: Iterable[tuple[Array, Array, Floats]]
    ) -> dict[str, Any]:
        """Add up the distances of pairs of answers; a pair whose distance is unknown (NaN) does not count."""
        rows = rows or slice(0, block.n_workers)
        shape = rows.stop - rows.start, block.n_workers
        distance, common = MatrixSum(shape), MatrixSum(shape)
        for left, right, apart in pairs:
            known = np.flatnonzero(~np.isnan(apart))
            if len(known) < len(apart):
                left, right, apart = left[known], right[known], apart[known]
            place = block.worker[left] - rows.start, block.worker[right]
            distance.add_entries(*place, apart)
            common.add_entries(*place, np.ones(len(apart)))
        return {"distance": distance.result(), "common": common.result()}


def _loss(block: Block, loss: Floats, counts: Floats) -> dict[str, Floats]:
    return {"distance": block.per_worker(loss), "answers": block.per_worker(counts)}
