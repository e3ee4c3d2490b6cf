"""Kernels: how encoded labels are compared and aggregated, one block at a time.

A kernel is a function of a prepared block and of numbers per worker. It returns sums per worker, or what it found for
each task. Everything a kernel needs beside the options of the domain is in the block, so it can be sent anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.pairs import add_pairs, pair_chunks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.ties import Ties
    from allalike.domains.base import Domain
    from allalike.rules import Decision

__all__ = ["Add", "Kernels"]

Add = Callable[..., "dict[str, Floats]"]  # add(kernel, *params): a kernel's sums per worker, over all blocks


@dataclass(frozen=True, kw_only=True)
class Kernels(ABC):
    """The sums and decisions of one domain. A domain must say how far codes are apart, and add up over peers."""

    domain: Domain

    @abstractmethod
    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far codes are apart, pair by pair."""

    def shared(self, left: Array, right: Array) -> Floats:
        """Measure how much of two codes is compared, pair by pair, where their distance is known: all of it, or less.

        A worker's sums count a pair by so much, as they count a task that both answered.
        """
        return np.ones(len(left))

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Measure how far codes of different tasks are apart; NaN where these cannot be compared."""
        return self.distance_between(left, right)

    @abstractmethod
    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Return, per answer, the weighted distance to the other answers of its task, and their weight."""

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up, per worker, the weighted distance to her peers and their weight."""
        distance, weight = self.peer_distances(block, weights)
        return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}

    def check_digits(self, distance: Floats) -> None:  # noqa: B027
        """Refuse labels whose sums of distances, the largest of each problem, have too few digits left."""

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth, both prepared."""
        return self.distance_between(block.label, block.to_answers(truth))

    def loss_sums(self, block: Block, weights: Floats, *, ties: Ties) -> dict[str, Floats]:
        """Add up, per worker, the distance to the task's own weighted aggregate, and her answers."""
        found = self.decide(block, weights, np.zeros(block.n_workers), ties)
        return _loss(block, self.distance_to(block, found.label), np.ones(len(block.label)))

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Add up, per worker, the distance to the truths that are known, and her answers to these tasks."""
        if not len(block.gold_task):
            return _loss(block, np.zeros(len(block.label)), np.zeros(len(block.label)))
        row = block.gold_row  # tasks without gold borrow the last truth, and count nothing
        counts = block.to_answers((row >= 0).astype(np.float64))
        return _loss(block, counts * self.distance_to(block, block.gold_label[row]), counts)

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks.

        The matrices, dense or sparse, have a row for each worker in ``rows``, a range of the block's workers and by
        default all, and a column for each worker of the block.
        """
        pairs = (
            (left, right, self.distance_between(block.label[left], block.label[right]))
            for left, right in pair_chunks(block, rows)
        )
        return add_pairs(block, rows, pairs)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task of a block by the rule; the labels found are prepared ones."""
        return self.domain.aggregation.decide(block, weights, faults, ties)

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find, per task, the code of the truth, how sure it is, and whether it was drawn among equals."""
        found = self.decide(block, weights, faults, ties)
        label = self.restore(block, found.label)
        sure = {"confidence": found.confidence, "error": found.error, "tied": found.tied}
        return {"label": label, **sure, **found.more}

    def settle(self, add: Add, weights: Floats) -> Self:
        """Return the kernels with what is chosen once weights are known, such as a quorum.

        ``add(kernel, *params)`` adds up, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        return self

    def describe_choices(self) -> dict[str, Any]:
        """Return what a summary says of that which was settled."""
        return {}

    def worker_columns(self, add: Add, weights: Floats, faults: Floats) -> dict[str, Floats]:
        """Return what else the table of workers says of each, by kernels that are added up as in `settle`."""
        return {}

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


def _loss(block: Block, loss: Floats, counts: Floats) -> dict[str, Floats]:
    return {"distance": block.per_worker(loss), "answers": block.per_worker(counts)}
