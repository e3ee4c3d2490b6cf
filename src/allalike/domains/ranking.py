"""Rankings: labels that put a task's items in order, best first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike.blocks.pairs import AnswerHashes
from allalike.columns.hashes import hash_objects
from allalike.columns.values import Values
from allalike.distances import footrule, kendall
from allalike.domains.base import Domain
from allalike.domains.encoding import Encoding
from allalike.domains.items import describe_difference, in_order, read_ranking, write_ranking
from allalike.domains.kernels import Kernels
from allalike.errors import GoldError, LabelError
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Rule
from allalike.rules.ballots import Part, Parts, hash_orders
from allalike.rules.kemeny import MOST_EXACT
from allalike.rules.minimax import check_items
from allalike.rules.voting import VOTING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike.blocks.block import Array, Block, Floats
    from allalike.blocks.ties import Ties
    from allalike.columns.column import Column
    from allalike.rules import Decision

__all__ = ["Ranking"]

_MAX_INT8 = np.iinfo(np.int8).max
_DISTANCES = {"kendall": kendall, "footrule": footrule}


@dataclass(frozen=True, kw_only=True)
class Ranking(Domain):
    """Complete orders of a task's items, best first.

    A label is text such as ``a>b>c``, a JSON list, or a Python list. All answers to a task rank the same items; another
    task may have others, and more or fewer. A ranking comes back as a list, and as ``a>b>c`` in a file. Its confidence
    is the share of agreement behind it: 1 minus the weighted mean Kendall tau distance of the answers to it.

    Parameters
    ----------
    rule
        How a task's rankings become one: ``borda``, ``plurality``, ``veto``, ``copeland``, ``kemeny``, ``slater``,
        ``modal``, ``minimax``, ``best worker``, ``maximin``, ``schulze``, ``ranked pairs``, ``bucklin`` or ``stv``.
        Kemeny and Slater are exact up to 16 items, and minimax takes at most 8.
    distance
        ``kendall`` (the share of pairs in opposite order) or ``footrule`` (how far items are displaced).

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "c>b>a")]
    >>> found = allalike.discover(rows, domain=Ranking(rule="kemeny"), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(3).tolist()
    ([['a', 'b', 'c']], [0.667])
    """

    name: ClassVar[str] = "ranking"
    summary: ClassVar[str] = "complete orders of a task's items, best first; Kendall tau, or Spearman's footrule"
    rules: ClassVar[tuple[Rule, ...]] = tuple(Rule(name, decide) for name, decide in VOTING.items())
    distances: ClassVar[tuple[str, ...]] = tuple(_DISTANCES)

    @property
    def noise(self) -> Noise:
        """Of each pair of items, a worker errs with a probability of her own."""
        return OneCoin(classes=2) if self.distance == "kendall" else General()

    def learn(self, labels: Column) -> RankingEncoding:
        """Number the items that occur, in their order, and find out how many the longest ranking has."""
        parsed = labels.parsed(self.parse)[1]
        return RankingEncoding.of(self, chain.from_iterable(parsed), max(map(len, parsed), default=0))

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Read a ranking as a tuple of different items.

        >>> Ranking().parse("x > y>z"), Ranking().parse('[3, 1]')
        (('x', 'y', 'z'), (3, 1))
        """
        return read_ranking(value)


@dataclass(frozen=True, kw_only=True)
class RankingEncoding(Encoding):
    """The items that occur, in their order; a code is a row of items' numbers, best first, filled up with -1.

    Behind the items of the answers stand those that only known truths have, ``n_unanswered`` of them. ``longest`` is
    how many items the longest ranking has, for so long is a row.
    """

    domain: Ranking
    items: list[Any]
    item_hash: npt.NDArray[np.uint64]
    longest: int
    n_unanswered: int = 0

    @classmethod
    def of(cls, domain: Ranking, items: Iterable[Any], longest: int) -> Self:
        """Number items in their order; the rule must be able to deal with so many."""
        if domain.rule == "minimax":
            check_items(longest)
        ordered = in_order(set(items))
        return cls(domain=domain, items=ordered, item_hash=hash_objects(ordered), longest=longest)

    @property
    def kernels(self) -> RankingKernels:
        """Kendall tau or footrule."""
        return RankingKernels(domain=self.domain)

    @property
    def vocabulary(self) -> list[Any]:
        """The items in their order, and how long a row is."""
        return [*self.items, self.longest]

    def merge(self, others: Sequence[Self]) -> Self:
        """Put the items of all parts in their order; those that only known truths have come again with the truths."""
        parts = [self, *others]
        items = chain.from_iterable(part.items[: len(part.items) - part.n_unanswered] for part in parts)
        return self.of(self.domain, items, max(part.longest for part in parts))

    def encode(self, labels: Column) -> Array:
        """Number the items of each label."""
        codes, parsed = labels.parsed(self.domain.parse)
        return self._table(parsed, {item: code for code, item in enumerate(self.items)})[codes]

    def _table(self, parsed: list[tuple[Any, ...]], place: dict[Any, int]) -> Array:
        lengths = np.fromiter(map(len, parsed), np.int64, len(parsed))
        width = max(int(lengths.max(initial=0)), self.longest)
        table = np.full((len(parsed), width), -1, np.min_scalar_type(-len(place) - 1))
        flat = map(place.__getitem__, chain.from_iterable(parsed))
        table[np.arange(width) < lengths[:, None]] = np.fromiter(flat, np.int64, int(lengths.sum()))
        return table

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Number the items of the truths like those of the answers; ``"1"`` is item 1 if there is no other."""
        codes, parsed = labels.parsed(self.domain.parse)
        place = {item: code for code, item in enumerate(self.items)}
        by_text = {str(item): item for item in self.items}
        parsed = [tuple(item if item in place else by_text.get(str(item), item) for item in row) for row in parsed]
        new = [item for item in dict.fromkeys(chain.from_iterable(parsed)) if item not in place]
        items = [*self.items, *new]
        table = self._table(parsed, {item: code for code, item in enumerate(items)})
        n_unanswered = self.n_unanswered + len(new)
        return replace(self, items=items, item_hash=hash_objects(items), n_unanswered=n_unanswered), table[codes]

    def remap(self, codes: Array, known: Self) -> Array:
        """Number items anew, and make rows as long as the longest."""
        place = {item: code for code, item in enumerate(self.items)}
        table = np.array([*(place.get(item, -1) for item in known.items), -1], np.min_scalar_type(-len(place) - 1))
        filling = np.full((len(codes), max(self.longest - codes.shape[1], 0)), -1, table.dtype)
        return np.hstack([table[codes], filling])

    def decode(self, codes: Array) -> Values:
        """Return each ranking as a list of items."""
        return Values([[self.items[code] for code in row if code >= 0] for row in codes.tolist()], text=write_ranking)

    def prepare(self, block: Block) -> Block:
        """Part the tasks by their number of items, and find each item's position in each answer."""
        position = _positions(block.label)
        items = np.take_along_axis(block.label, position, axis=1)
        self._check_items(block, items)
        n_items = np.count_nonzero(items[block.starts] >= 0, axis=1)
        answer_hash = np.empty(len(block.label), np.uint64)
        parts = []
        for q in np.unique(n_items):
            tasks = np.flatnonzero(n_items == q)
            rows = np.flatnonzero(block.to_answers(n_items == q))
            answer_hash[rows] = hash_orders(self.item_hash[block.label[rows, :q].T])
            parts.append(
                Part(
                    block=block.pick(tasks, rows),
                    tasks=tasks,
                    rows=rows,
                    items=items[block.starts[tasks], :q],
                    position=np.ascontiguousarray(position[rows, :q].T),
                    item_hash=self.item_hash,
                )
            )
        return block.keeping(Parts(tuple(parts)), AnswerHashes(answer_hash))

    def _check_items(self, block: Block, items: Array) -> None:
        """Refuse answers and truths that do not rank the items of their task."""
        first = items[block.starts]
        odd = np.flatnonzero((items != block.to_answers(first)).any(axis=1))
        if len(odd):
            start = block.starts[np.searchsorted(block.starts, odd[0], side="right") - 1]
            raise LabelError(self._difference("Two answers to a task", block.label[odd[0]], block.label[start]))
        if not len(block.gold_task):
            return
        truth = np.take_along_axis(block.gold_label, _positions(block.gold_label), axis=1)
        width = items.shape[1]
        strange = (truth[:, :width] != first[block.gold_task]).any(axis=1) | (truth[:, width:] >= 0).any(axis=1)
        if strange.any():
            place = int(np.argmax(strange))
            answer = block.label[block.starts[block.gold_task[place]]]
            raise GoldError(
                self._difference("A known truth and an answer to its task", block.gold_label[place], answer)
            )

    def _difference(self, what: str, left: Array, right: Array) -> str:
        return describe_difference(what, *([self.items[code] for code in row if code >= 0] for row in (left, right)))

    def describe(self) -> dict[str, Any]:
        """Return how many items there are, and whether the rule finds the best ranking for certain."""
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.domain.rule in ("kemeny", "slater") else about


class RankingKernels(Kernels):
    """Sums of distances of rankings, linear in the number of answers."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far rankings of the same items are apart, row by row."""
        n_items = np.count_nonzero(left >= 0, axis=1)
        left, right = _positions(left), _positions(right)
        distance = np.zeros(len(left))
        for q in np.unique(n_items):
            rows = np.flatnonzero(n_items == q)
            distance[rows] = _DISTANCES[self.domain.distance].distance(left[rows, :q].T, right[rows, :q].T)
        return distance

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Return how far two orders at random of as many items are apart, for other tasks have other items."""
        return np.asarray(_DISTANCES[self.domain.distance].of_guesses(np.count_nonzero(left >= 0, axis=1)))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Add up, per answer, distances to peers."""
        own = weights.take(block.worker)
        distance = np.empty(len(own))
        for part in block[Parts]:
            peer_distance = _DISTANCES[self.domain.distance].peer_distance
            distance[part.rows] = peer_distance(part.block, part.position, own[part.rows])
        return distance, block.to_answers(block.per_task(own)) - own

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        return _distance_to(block, truth, self.domain.distance)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task by the rule; the agreement of the answers with the outcome is its confidence."""
        found = super().decide(block, weights, faults, ties)
        weight, total = block.answer_weights(weights)
        distance = _distance_to(block, found.label, "kendall")
        return replace(found, confidence=np.clip(1 - block.per_task(weight * distance) / total, 0.0, 1.0))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell for which tasks two rankings are not the same."""
        return np.asarray((left != right).any(axis=1))


def _positions(label: Array) -> Array:
    """Return, per row, where the items stand, in the order of their codes; what fills a row up comes last."""
    codes = label.view(f"u{label.dtype.itemsize}")
    return np.argsort(codes, axis=1).astype(np.int8 if label.shape[1] <= _MAX_INT8 else np.int16)


def _distance_to(block: Block, truth: Array, distance: str) -> Floats:
    found = np.empty(len(block.worker))
    for part in block[Parts]:
        places = _positions(truth[part.tasks])[:, : len(part.position)]
        each = np.stack([part.block.to_answers(place) for place in places.T])
        found[part.rows] = _DISTANCES[distance].distance(part.position, each)
    return found
