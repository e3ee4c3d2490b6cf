"""Labels that are compared pair by pair: texts, masks, sets, intervals, and whatever the user can compare.

Where a distance does not come from an inner product, the answers to a task are compared with each other, once, and
the distances are kept for all rounds; a task has few answers, so that is cheap. Every label is parsed once and kept
in a store, in whatever form makes comparing fast; answers are places in the store.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike.blocks import Array, Block, Floats, pair_chunks, sum_by
from allalike.domains.base import Domain
from allalike.hashing import hash_objects
from allalike.noise import General
from allalike.values import Values

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.columns import Column

__all__ = ["Compared"]


@dataclass(frozen=True, kw_only=True)
class Compared(Domain):
    """Be a kind of label that is compared pair by pair.

    A domain below this one says how a label is parsed (`parse`), how many parsed labels are stored (`pack`), how far
    stored labels are apart (`compare`), and how a parsed label is shown (`present`). Its rules may return places in
    the store, or an array of objects: parsed labels that nobody gave.
    """

    store: Any = field(default=None, init=False, repr=False, compare=False)
    parsed: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    label_hash: npt.NDArray[np.uint64] | None = field(default=None, init=False, repr=False, compare=False)

    @abstractmethod
    def parse(self, value: Any) -> Any:
        """Turn a label as it came into its inner form; raise ValueError with the reason if it does not fit."""

    @abstractmethod
    def pack(self, parsed: list[Any]) -> Any:
        """Put parsed labels in the form in which they are compared."""

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

    def resolve(self, labels: Column) -> Self:
        """Parse the labels that occur."""
        return self._with(labels.parsed(self.parse)[1])

    def encode(self, labels: Column) -> Array:
        """Return the place of each answer's label in the store."""
        return labels.parsed(self.parse)[0]

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Add the truths to the store, and return their places."""
        codes, parsed = labels.parsed(self.parse)
        return self._with([*self.parsed, *parsed]), codes.astype(np.int64) + len(self.parsed)

    def _with(self, parsed: list[Any]) -> Self:
        resolved = replace(self)
        keys = [self.key(label) for label in parsed]
        for name, value in (("parsed", parsed), ("store", self.pack(parsed)), ("label_hash", hash_objects(keys))):
            object.__setattr__(resolved, name, value)
        return resolved

    def decode(self, codes: Array) -> Values:
        """Show labels, given as places in the store or as parsed labels."""
        labels = codes if codes.dtype == object else [self.parsed[code] for code in codes]
        return Values([self.present(label) for label in labels], text=self.text)

    def text(self, label: Any) -> str:
        """Write a label in a table."""
        return str(label)

    def apart(self, left: Array, right: Array) -> Floats:
        """Measure how far labels are apart, be they places in the store or parsed labels."""
        return self.compare(*self._stored(left), *self._stored(right))

    def _stored(self, labels: Array) -> tuple[Any, npt.NDArray[np.intp]]:
        if labels.dtype != object:
            return self.store, labels.astype(np.intp)
        return self.pack(list(labels)), np.arange(len(labels))

    def apart_from(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        store, place = self._stored(truth)
        return self.compare(self.store, block.label.astype(np.intp), store, block.spread(place))

    def differs(self, block: Block, left: Array, right: Array) -> Array:
        """Tell for which tasks of a block two labels are apart."""
        return self.apart(left, right) > 0

    def prepare(self, block: Block) -> Block:
        """Compare the answers to each task with each other, once."""
        pairs = pair_chunks(block)
        left = np.concatenate([i for i, _ in pairs])
        right = np.concatenate([j for _, j in pairs])
        once = left < right
        apart = self.apart(block.label[left[once]], block.label[right[once]])
        assert self.label_hash is not None
        return block.with_prepared(
            left=np.concatenate([left[once], right[once]]),
            right=np.concatenate([right[once], left[once]]),
            apart=np.concatenate([apart, apart]),
            answer_hash=self.label_hash[block.label],
        )

    def pair_sums(self, block: Block) -> dict[str, Any]:
        """Add up the distances of the pairs per pair of workers."""
        left, right, apart = (block.prepared[name] for name in ("left", "right", "apart"))
        return self.pair_matrices(block, [(left, right, apart)])

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up the distances of the pairs; a pair whose distance is unknown (NaN) does not count."""
        left, right, apart = (block.prepared[name] for name in ("left", "right", "apart"))
        weight = np.where(np.isnan(apart), 0.0, weights.take(block.worker[right]))
        worker = block.worker[left]
        return {
            "distance": sum_by(worker, np.nan_to_num(apart) * weight, block.n_workers),
            "weight": sum_by(worker, weight, block.n_workers),
        }
