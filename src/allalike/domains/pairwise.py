"""Label types that are compared pair by pair: texts, masks, sets, intervals, custom labels.

If a distance is not based on an inner product, the answers to each task are compared once, and the distances are kept
for all rounds. Tasks have few answers, so this is cheap. A code is a parsed label. A block packs its labels into a
store optimised for comparisons; prepared labels are indices into that store.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, known_sums
from allalike._core.blocks.pairs import AnswerHashes, PairDistances
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike.domains.contract import Domain, Encoding, Kernels, Measure
from allalike.noise import General
from allalike.rules.base import unknown

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Stored:
    """The distinct labels of a block: parsed, packed for comparisons, and hashed."""

    labels: npt.NDArray[np.object_]
    store: Any
    label_hash: npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Pairwise(Domain):
    """A label type that is compared pair by pair.

    A subclass parses a label (`_parse`), packs parsed labels for comparisons (`_pack`), and compares labels of such
    stores (`_compare`). If labels must share a property, such as a type, the subclass learns it (`_find_common`,
    `_join_common`). Its rules may return indices into the store, or an array of objects: parsed labels that occur in no
    answer.
    """

    @abstractmethod
    def _parse(self, value: Any) -> Any:
        """Parse a given label; raise ValueError with the reason if it is invalid."""

    @abstractmethod
    def _pack(self, parsed: list[Any], /) -> Any:
        """Convert parsed labels to the form used for comparisons."""

    @abstractmethod
    def _compare(self, left: Any, i: Places, right: Any, j: Places) -> Floats:
        """Compute the distance between label i[k] of one store and label j[k] of another, for all k."""

    def _present(self, parsed: Any, common: Any) -> Any:
        """Convert a parsed label to one for the user."""
        return parsed

    def _text(self, label: Any) -> str:
        """Format a label as text for a table."""
        return str(label)

    def _key(self, parsed: Any) -> object:
        """Return a key that identifies a parsed label: equal labels have equal keys with equal representations."""
        return parsed

    def _find_common(self, parsed: list[Any]) -> Any:
        """Return the property that these labels share; raise an error if they are incompatible."""
        return None

    def _join_common(self, commons: Iterable[Any]) -> Any:
        """Return the property that the labels of several partitions share."""
        return None

    def _compare_answers(self, block: Block, store: Any) -> PairDistances:
        """Compare all answers to each task; labels are indices into the store."""
        return PairDistances.of(block, lambda i, j: self._compare_once(store, block.label[i], block.label[j]))

    def _compare_once(self, store: Any, i: Places, j: Places) -> Floats:
        """Compare labels of a store; compute each distinct pair only once if pairs repeat."""
        n_labels = int(max(i.max(initial=0), j.max(initial=0))) + 1
        if n_labels**2 >= len(i):  # pairs hardly repeat
            return self._compare(store, i, store, j)
        pair, place = np.unique(np.minimum(i, j) * n_labels + np.maximum(i, j), return_inverse=True)
        first, second = np.divmod(pair, n_labels)
        return self._compare(store, first, store, second)[place]

    def _hash_answers(self, block: Block, store: Any, label_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Hash the label of each answer, given the hashes of the stored labels."""
        return label_hash[block.label]

    def _prepare_rule(self, block: Block, store: Any) -> list[object]:
        """Return the data that the rule needs in addition to pairwise distances."""
        return []

    @property
    def noise(self) -> General:
        return General()

    @property
    def recurring(self) -> bool:
        return self.rule != "majority"

    def learn(self, labels: Column) -> Encoding:
        return PairwiseEncoding(domain=self, common=self._find_common(labels.parsed(self._parse)[1]))


@dataclass(frozen=True, kw_only=True)
class PairwiseKernels(Kernels):
    """Sums over pairs of answers; pairs with unknown distance (NaN) are ignored."""

    domain: Pairwise

    def distance_between(self, left: Array, right: Array) -> Floats:
        places = np.arange(len(left))
        return self.compare_among(np.concatenate([left, right]))[0](places, places + len(left))

    def compare_among(self, codes: Array) -> tuple[Measure, Measure]:
        labels, place = distinct(codes)
        store = self.domain._pack(labels)

        def measure(i: Array, j: Array) -> Floats:
            left, right, distance = place[i], place[j], np.zeros(len(i))
            others = np.flatnonzero(left != right)
            distance[others] = self.domain._compare(store, left[others], store, right[others])
            return distance

        return measure, measure

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        return block[PairDistances].peer_distances(block, weights)

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        return block[PairDistances].pair_sums(block, rows)

    def distance_to(self, block: Block, truth: Array) -> Floats:
        return self._distance_to(block, np.arange(len(block.label)), truth, block.task)

    def _distance_to(self, block: Block, answer: Array, truth: Array, place: Array) -> Floats:
        store = block[Stored].store
        parsed = truth.dtype == object
        other, j = (self.domain._pack(list(truth)), place) if parsed else (store, truth[place])
        return self.domain._compare(store, block.label[answer], other, j)

    def gold_sums(self, block: Block) -> dict[str, Floats]:
        place = block.to_answers(block.gold_row)
        answer, distance = np.flatnonzero(place >= 0), unknown(len(place))
        if len(answer):
            distance[answer] = self._distance_to(block, answer, block.gold_label, place[answer])
        return known_sums(block, distance)

    def restore(self, block: Block, label: Array) -> Array:
        return label if label.dtype == object else block[Stored].labels[label]

    def restore_answers(self, block: Block, rows: Array) -> Array:
        return self.restore(block, block.label[rows])

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        return self.distance_between(left, right) > 0


@dataclass(frozen=True, kw_only=True)
class PairwiseEncoding(Encoding):
    """Parsed labels and their shared property."""

    kernels_type: ClassVar[type[Kernels]] = PairwiseKernels
    domain: Pairwise
    common: Any = None

    def merge(self, others: Sequence[Self]) -> Self:
        return replace(self, common=self.domain._join_common([self.common, *(other.common for other in others)]))

    def encode(self, labels: Column) -> Array:
        codes, parsed = labels.parsed(self.domain._parse)
        return objects(parsed)[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        gold = replace(self, common=self.domain._find_common(labels.parsed(self.domain._parse)[1]))
        return self.merge([gold]), self.encode(labels)

    def decode(self, codes: Array) -> Values:
        return Values([self.domain._present(label, self.common) for label in codes], text=self.domain._text)

    def store(self, block: Block) -> Block:
        if Stored in block:
            return block
        labels, place = distinct(block.label)
        label_hash = hash_objects(map(self.domain._key, labels))
        return replace(block, label=place).keeping(Stored(objects(labels), self.domain._pack(labels), label_hash))

    def prepare(self, block: Block) -> Block:
        stored = self.store(block)
        store = stored[Stored].store
        pairs = self.domain._compare_answers(stored, store)
        return stored.keeping(self._hash_answers(stored), pairs, *self.domain._prepare_rule(stored, store))

    def _hash_answers(self, stored: Block) -> AnswerHashes:
        """Hash the label of each answer in a stored block."""
        return AnswerHashes(self.domain._hash_answers(stored, stored[Stored].store, stored[Stored].label_hash))


def distinct(labels: Array) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the distinct parsed labels in order of first occurrence, and the index of each label among them."""
    ids = np.fromiter(map(id, labels), np.int64, len(labels))
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return list(labels[np.sort(first)]), order[place]


def objects(labels: Collection[Any]) -> npt.NDArray[np.object_]:
    """Put labels into an array of objects, even if they are sequences.

    >>> objects([(1, 2), (3, 4)])
    array([(1, 2), (3, 4)], dtype=object)
    """
    return np.fromiter(labels, object, len(labels))
