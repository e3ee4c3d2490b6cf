"""Labels that are compared pair by pair: texts, masks, sets, intervals, and whatever the user can compare.

Where a distance does not come from an inner product, the answers to a task are compared with each other, once, and
the distances are kept for all rounds; a task has few answers, so that is cheap. The labels of a shard are parsed once
and kept in a store, in whatever form makes comparing fast; answers are places in the store, which all blocks of the
shard share. Truths leave a block as parsed labels, which mean the same everywhere.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike.blocks.block import Array, Block, Floats, pair_chunks, sum_by
from allalike.columns.hashes import hash_objects
from allalike.columns.values import Values
from allalike.domains.base import Domain
from allalike.noise import General

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from allalike.columns.column import Column

__all__ = ["Compared", "objects"]


@dataclass(frozen=True, kw_only=True)
class Compared(Domain):
    """Be a kind of label that is compared pair by pair.

    A domain below this one says how a label is parsed (`parse`), how many parsed labels are stored (`pack`) and found
    again (`unpack`), how far stored labels are apart (`compare`), and how a parsed label is shown (`present`). Its
    rules may return places in the store, or an array of objects: parsed labels that nobody gave.
    """

    store: Any = field(default=None, init=False, repr=False, compare=False)
    label_hash: npt.NDArray[np.uint64] | None = field(default=None, init=False, repr=False, compare=False)

    @abstractmethod
    def parse(self, value: Any) -> Any:
        """Turn a label as it came into its inner form; raise ValueError with the reason if it does not fit."""

    @abstractmethod
    def pack(self, parsed: list[Any]) -> Any:
        """Put parsed labels in the form in which they are compared."""

    @abstractmethod
    def unpack(self, store: Any, places: Array) -> npt.NDArray[np.object_]:
        """Return the labels at these places of a store, parsed."""

    @abstractmethod
    def compare(self, left: Any, i: npt.NDArray[np.intp], right: Any, j: npt.NDArray[np.intp]) -> Floats:
        """Measure how far label i[k] of one store is from label j[k] of another, for all k at once."""

    def present(self, parsed: Any) -> Any:
        """Turn a parsed label into one for the user."""
        return parsed

    def key(self, parsed: Any) -> object:
        """Return what identifies a parsed label: equal labels have equal keys, with equal representations."""
        return parsed

    @property
    def model(self) -> General:
        """Expect nothing in particular."""
        return General()

    @property
    def recurring(self) -> bool:
        """Whether a truth is one of the answers, and not put together from parts of them."""
        return self.rule != "majority"

    def resolve(self, labels: Column) -> Self:
        """Return the domain as it is: shards share no more than the kind of label."""
        return self

    def hold(self, labels: Column) -> Self:
        """Parse the labels, and put them in the store."""
        return self._holding(labels.parsed(self.parse)[1])

    def _holding(self, parsed: list[Any]) -> Self:
        return self._knowing(store=self.pack(parsed), label_hash=hash_objects(map(self.key, parsed)))

    def shared(self) -> Self:
        """Let the store go."""
        return self._knowing(store=None, label_hash=None)

    def narrow(self, labels: Array) -> tuple[Self, Array]:
        """Keep in the store what these answers say."""
        if labels.dtype == object:
            return self._holding(list(labels)), np.arange(len(labels))
        used, places = np.unique(labels, return_inverse=True)
        return self._holding(list(self.unpack(self.store, used))), places

    def encode(self, labels: Column) -> Array:
        """Return the place of each answer's label in the store."""
        return labels.parsed(self.parse)[0]

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Return the truths, parsed."""
        codes, parsed = labels.parsed(self.parse)
        return self.join([self, self.resolve(labels)]), objects(parsed)[codes]

    def loosen(self, labels: Array) -> Array:
        """Return labels parsed, be they so already, or places in the store at hand."""
        return labels if labels.dtype == object else self.unpack(self.store, labels)

    def decode(self, codes: Array) -> Values:
        """Show labels, be they parsed, or places in the store at hand."""
        return Values([self.present(label) for label in self.loosen(codes)], text=self.text)

    def text(self, label: Any) -> str:
        """Write a label in a table."""
        return str(label)

    def apart(self, left: Array, right: Array) -> Floats:
        """Measure how far labels are apart, be they parsed, or places in the store at hand."""
        left, right = self.loosen(left), self.loosen(right)
        apart = np.zeros(len(left))
        others = np.array([k for k, (a, b) in enumerate(zip(left, right, strict=True)) if a is not b], np.intp)
        if len(others):
            store, i = self.pack([*left[others], *right[others]]), np.arange(len(others))
            apart[others] = self.compare(store, i, store, i + len(others))
        return apart

    def apart_from(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        return self._from_truth(block, np.arange(len(block.label)), truth, block.to_answers(np.arange(block.n_tasks)))

    def _from_truth(self, block: Block, answer: Array, truth: Array, place: Array) -> Floats:
        """Measure how far some answers are from some truths, be these parsed, or places in the block's store."""
        store = block.prepared["store"]
        other, j = (self.pack(list(truth)), place) if truth.dtype == object else (store, truth[place].astype(np.intp))
        return self.compare(store, block.label[answer].astype(np.intp), other, j)

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Add up, per worker, the distance to the truths that are known, where it is known, and her answers there."""
        if not len(block.gold_task):
            return super().gold_sums(block)
        place = np.full(block.n_tasks, -1)
        place[block.gold_task] = np.arange(len(block.gold_task))
        place = block.to_answers(place)
        answer = np.flatnonzero(place >= 0)
        apart = self._from_truth(block, answer, block.gold_label, place[answer])
        worker, known = block.worker[answer], ~np.isnan(apart)
        return {
            "distance": sum_by(worker, np.nan_to_num(apart), block.n_workers),
            "answers": sum_by(worker, known.astype(np.float64), block.n_workers),
        }

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell which labels are apart."""
        return self.apart(left, right) > 0

    def restore(self, block: Block, label: Array) -> Array:
        """Return labels as they mean the same in every shard: parsed."""
        return label if label.dtype == object else self.unpack(block.prepared["store"], label)

    def answered(self, block: Block, rows: Array) -> Array:
        """Return what some answers say, parsed."""
        return self.restore(block, block.label[rows])

    def prepare(self, block: Block) -> Block:
        """Compare the answers to each task with each other, once."""
        pairs = list(pair_chunks(block))
        left = np.concatenate([i for i, _ in pairs])
        right = np.concatenate([j for _, j in pairs])
        once = left < right
        store, label = self._stored(block), block.label.astype(np.intp)
        apart = self.compare(store, label[left[once]], store, label[right[once]])
        return block.with_prepared(
            left=np.concatenate([left[once], right[once]]),
            right=np.concatenate([right[once], left[once]]),
            apart=np.concatenate([apart, apart]),
            answer_hash=self._answer_hash(block),
            store=store,
        )

    def _stored(self, block: Block) -> Any:
        """Return the store in which the answers of a block are places."""
        return self.store

    def _answer_hash(self, block: Block) -> npt.NDArray[np.uint64]:
        assert self.label_hash is not None
        return self.label_hash[block.label]

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up the distances of the pairs per pair of workers."""
        left, right, apart = (block.prepared[name] for name in ("left", "right", "apart"))
        if rows is not None:
            asked = (block.worker[left] >= rows.start) & (block.worker[left] < rows.stop)
            left, right, apart = left[asked], right[asked], apart[asked]
        return self.pair_matrices(block, rows, [(left, right, apart)])

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up the distances of the pairs; a pair whose distance is unknown (NaN) does not count."""
        left, right, apart = (block.prepared[name] for name in ("left", "right", "apart"))
        weight = np.where(np.isnan(apart), 0.0, weights.take(block.worker[right]))
        worker = block.worker[left]
        return {
            "distance": sum_by(worker, np.nan_to_num(apart) * weight, block.n_workers),
            "weight": sum_by(worker, weight, block.n_workers),
        }


def objects(labels: Collection[Any]) -> npt.NDArray[np.object_]:
    """Put labels in an array as they are, also if they are lists.

    >>> objects([(1, 2), (3, 4)])
    array([(1, 2), (3, 4)], dtype=object)
    """
    return np.fromiter(labels, object, len(labels))
