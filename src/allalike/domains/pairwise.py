"""Labels that are compared pair by pair: texts, masks, sets, intervals, and whatever the user can compare.

Where a distance does not come from an inner product, the answers to a task are compared with each other, once, and the
distances are kept for all rounds; a task has few answers, so that is cheap. A code is a parsed label. A block packs its
labels into a store, in whatever form makes comparing fast, and prepared labels are places in that store.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.noise import General

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    from allalike._core.columns.column import Column
    from allalike.domains.contract import Measure

    Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Stored:
    """The labels of a block in the form in which they are compared, and the hash of each."""

    store: Any
    label_hash: npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Pairwise(Domain):
    """A kind of label that is compared pair by pair.

    A domain below this one says how a label is parsed (`parse`), how many parsed labels are stored (`pack`) and found
    again (`unpack`), and how far stored labels are apart (`compare`). Where labels must agree in something, it finds
    out what they have in common (`find_common`, `join_common`). Its rules may return places in the store, or an array
    of objects: parsed labels that nobody gave.
    """

    @abstractmethod
    def parse(self, value: Any) -> Any:
        """Turn a given label into its inner form; raise ValueError with the reason if it does not fit."""

    @abstractmethod
    def pack(self, parsed: list[Any]) -> Any:
        """Put parsed labels in the form in which they are compared."""

    @abstractmethod
    def unpack(self, store: Any, places: Array) -> npt.NDArray[np.object_]:
        """Return the labels at these places of a store, parsed."""

    @abstractmethod
    def compare(self, left: Any, i: Places, right: Any, j: Places) -> Floats:
        """Measure how far label i[k] of one store is from label j[k] of another, for all k at once."""

    def present(self, parsed: Any, common: Any) -> Any:
        """Turn a parsed label into one for the user."""
        return parsed

    def text(self, label: Any) -> str:
        """Write a label for the user in a table."""
        return str(label)

    def key(self, parsed: Any) -> object:
        """Return what identifies a parsed label: equal labels have equal keys, with equal representations."""
        return parsed

    def find_common(self, parsed: list[Any]) -> Any:
        """Return what these labels have in common, or refuse those that do not go together."""
        return None

    def join_common(self, commons: Iterable[Any]) -> Any:
        """Return what the labels of several parts have in common."""
        return None

    def compare_answers(self, block: Block, store: Any) -> PairDistances:
        """Compare the answers to each task with each other; labels are places in the store."""
        return PairDistances.of(block, lambda i, j: self._compare_once(store, block.label[i], block.label[j]))

    def _compare_once(self, store: Any, i: Places, j: Places) -> Floats:
        """Compare labels of a store; where the same ones meet again and again, each two are compared once."""
        n_labels = int(max(i.max(initial=0), j.max(initial=0))) + 1
        if n_labels**2 >= len(i):  # they hardly can
            return self.compare(store, i, store, j)
        pair, place = np.unique(np.minimum(i, j) * n_labels + np.maximum(i, j), return_inverse=True)
        first, second = np.divmod(pair, n_labels)
        return self.compare(store, first, store, second)[place]

    def hash_answers(self, block: Block, store: Any, label_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Hash the label of each answer, given the hash of each label in the store."""
        return label_hash[block.label]

    def prepare_rule(self, block: Block, store: Any) -> list[object]:
        """Return what the rule needs of a block, beside the distances of its pairs."""
        return []

    @property
    def noise(self) -> General:
        """Nothing in particular."""
        return General()

    @property
    def recurring(self) -> bool:
        """Whether a truth is one of the answers, and not put together from parts of them."""
        return self.rule != "majority"

    def learn(self, labels: Column) -> PairwiseEncoding:
        """Find out what the labels have in common."""
        return PairwiseEncoding(domain=self, common=self.find_common(labels.parsed(self.parse)[1]))


@dataclass(frozen=True, kw_only=True)
class PairwiseEncoding(Encoding):
    """Parsed labels, and what they have in common."""

    domain: Pairwise
    common: Any = None

    @property
    def kernels(self) -> PairwiseKernels:
        """Distances of pairs."""
        return PairwiseKernels(domain=self.domain)

    def merge(self, others: Sequence[Self]) -> Self:
        """Join what the labels of all parts have in common."""
        return replace(self, common=self.domain.join_common([self.common, *(other.common for other in others)]))

    def encode(self, labels: Column) -> Array:
        """Parse the labels; equal ones are the same object."""
        codes, parsed = labels.parsed(self.domain.parse)
        return objects(parsed)[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Parse the truths, which must go together with the labels."""
        return self.merge([replace(self, common=self.domain.learn(labels).common)]), self.encode(labels)

    def decode(self, codes: Array) -> Values:
        """Show parsed labels."""
        return Values([self.domain.present(label, self.common) for label in codes], text=self.domain.text)

    def store(self, block: Block) -> Block:
        """Store the labels of the block, unless they are."""
        if Stored in block:
            return block
        labels, place = distinct(block.label)
        label_hash = hash_objects(map(self.domain.key, labels))
        return replace(block, label=place).keeping(Stored(self.domain.pack(labels), label_hash))

    def prepare(self, block: Block) -> Block:
        """Store the labels of the block, and compare the answers to each task with each other, once."""
        stored = self.store(block)
        store = stored[Stored].store
        pairs = self.domain.compare_answers(stored, store)
        return stored.keeping(self.hash_answers(stored), pairs, *self.domain.prepare_rule(stored, store))

    def hash_answers(self, stored: Block) -> AnswerHashes:
        """Hash the label of each answer, given stored ones."""
        return AnswerHashes(self.domain.hash_answers(stored, stored[Stored].store, stored[Stored].label_hash))


def distinct(labels: Array) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return parsed labels, each once and in the order in which they come, and where each is among them.

    >>> one, other = (1, 2), (3, 4)
    >>> distinct(objects([one, other, one]))
    ([(1, 2), (3, 4)], array([0, 1, 0]))
    """
    ids = np.fromiter(map(id, labels), np.int64, len(labels))
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return list(labels[np.sort(first)]), order[place]


@dataclass(frozen=True, kw_only=True)
class PairwiseKernels(Kernels):
    """Sums over pairs of answers; a pair whose distance is unknown (NaN) does not count."""

    domain: Pairwise

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Compare parsed labels."""
        distance = np.zeros(len(left))
        others = np.array([k for k, (a, b) in enumerate(zip(left, right, strict=True)) if a is not b], np.intp)
        if len(others):
            labels, place = distinct(np.concatenate([left[others], right[others]]))
            store, (i, j) = self.domain.pack(labels), np.split(place, 2)
            distance[others] = self.domain.compare(store, i, store, j)
        return distance

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        """Store the labels once, however often they are compared."""
        labels, place = distinct(codes)
        store = self.domain.pack(labels)

        def measure(i: Array, j: Array) -> Floats:
            left, right, distance = place[i], place[j], np.zeros(len(i))
            others = np.flatnonzero(left != right)
            distance[others] = self.domain.compare(store, left[others], store, right[others])
            return distance

        return measure, measure

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Add up, per answer, the distances of the pairs."""
        return block[PairDistances].peer_distances(block, weights)

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up the distances of the pairs per pair of workers."""
        return block[PairDistances].pair_sums(block, rows)

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth, stored or parsed."""
        task = block.task
        return self._distance_to(block, np.arange(len(block.label)), truth, task)

    def _distance_to(self, block: Block, answer: Array, truth: Array, place: Array) -> Floats:
        store = block[Stored].store
        parsed = truth.dtype == object
        other, j = (self.domain.pack(list(truth)), place) if parsed else (store, truth[place])
        return self.domain.compare(store, block.label[answer], other, j)

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        """Add up, per worker, the distance to the truths that are known, where it is known, and her answers there."""
        if not len(block.gold_task):
            return super().gold_sums(block)
        place = block.to_answers(block.gold_row)
        answer = np.flatnonzero(place >= 0)
        distance = self._distance_to(block, answer, block.gold_label, place[answer])
        worker, known = block.worker[answer], ~np.isnan(distance)
        return {
            "distance": sum_by(worker, np.nan_to_num(distance), block.n_workers),
            "answers": sum_by(worker, known.astype(np.float64), block.n_workers),
        }

    def restore(self, block: Block, label: Array) -> Array:
        """Return stored labels parsed."""
        return label if label.dtype == object else self.domain.unpack(block[Stored].store, label)

    def restore_answers(self, block: Block, rows: Array) -> Array:
        """Return what some answers say, parsed."""
        return self.restore(block, block.label[rows])

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell which labels are apart."""
        return self.distance_between(left, right) > 0


def objects(labels: Collection[Any]) -> npt.NDArray[np.object_]:
    """Put labels in an array as they are, also if they are lists.

    >>> objects([(1, 2), (3, 4)])
    array([(1, 2), (3, 4)], dtype=object)
    """
    return np.fromiter(labels, object, len(labels))
