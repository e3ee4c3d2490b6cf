"""Rankings: labels that put a task's items in order, best first."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike.columns.hashes import hash_objects
from allalike.columns.values import Values
from allalike.distances import footrule, kendall
from allalike.domains.base import Domain
from allalike.domains.lists import json_list
from allalike.errors import GoldError, LabelError
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Rule
from allalike.rules.ballots import hash_orders
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

_MOST = 1000  # items of a task; they have half a million pairs
_SMALL = np.iinfo(np.int8).max
_SHOWN = 6  # items in a message
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_TIED = "=~{}"
_NOT_YET = "tied and partial rankings are not supported yet; rank every item of the task once, one above the other"
_DISTANCES = {"kendall": kendall, "footrule": footrule}


@dataclass(frozen=True, kw_only=True)
class Ranking(Domain):
    """Compare complete orders of a task's items, best first.

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
    items: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    item_hash: npt.NDArray[np.uint64] | None = field(default=None, init=False, repr=False, compare=False)
    longest: int = field(default=0, init=False, repr=False, compare=False)
    n_unheard: int = field(default=0, init=False, repr=False, compare=False)

    @property
    def vocabulary(self) -> list[Any]:
        """The items in their order, and how many the longest ranking has, for so long is a row."""
        return [*self.items, self.longest]

    @property
    def model(self) -> Noise:
        """Expect, of each pair of items, that a worker errs with a probability of her own."""
        return OneCoin(classes=2) if self.distance == "kendall" else General()

    def resolve(self, labels: Column) -> Self:
        """Fix the items that occur, in their order, and how many the longest ranking has."""
        parsed = labels.parsed(self.parse)[1]
        return self._of(chain.from_iterable(parsed), max(map(len, parsed), default=0))

    def join(self, parts: Sequence[Self]) -> Self:
        """Put the items of all shards in their order; those that only known truths have come again with the truths."""
        items = chain.from_iterable(part.items[: len(part.items) - part.n_unheard] for part in parts)
        return self._of(items, max((part.longest for part in parts), default=0))

    def _of(self, items: Iterable[Any], longest: int) -> Self:
        if self.rule == "minimax":
            check_items(longest)
        return self._with(_in_order(set(items)), longest)

    def _with(self, items: list[Any], longest: int, n_unheard: int = 0) -> Self:
        return self._knowing(items=items, item_hash=hash_objects(items), longest=longest, n_unheard=n_unheard)

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Read a ranking as a tuple of different items.

        >>> Ranking().parse("x > y>z"), Ranking().parse('[3, 1]')
        (('x', 'y', 'z'), (3, 1))
        """
        items = tuple(map(_item, _listed(value)))
        if len(set(items)) < len(items):
            twice = next(item for place, item in enumerate(items) if item in items[:place])
            raise ValueError(f"it ranks {_shortened(twice)} twice")
        if not 0 < len(items) <= _MOST:
            raise ValueError(f"it ranks {len(items):,} items; 1 to {_MOST:,} can be compared")
        return items

    def encode(self, labels: Column) -> Array:
        """Number the items, and give each answer a row of them, best first, filled up with -1."""
        codes, parsed = labels.parsed(self.parse)
        return self._table(parsed, {item: code for code, item in enumerate(self.items)})[codes]

    def _table(self, parsed: list[tuple[Any, ...]], place: dict[Any, int]) -> Array:
        lengths = np.fromiter(map(len, parsed), np.int64, len(parsed))
        width = max(int(lengths.max(initial=0)), self.longest)
        table = np.full((len(parsed), width), -1, np.min_scalar_type(-len(place) - 1))
        flat = map(place.__getitem__, chain.from_iterable(parsed))
        table[np.arange(width) < lengths[:, None]] = np.fromiter(flat, np.int64, int(lengths.sum()))
        return table

    def take_gold(self, labels: Column) -> tuple[Self, Array]:
        """Number the items of the truths like those of the answers; ``"1"`` is item 1 if there is no other."""
        codes, parsed = labels.parsed(self.parse)
        place = {item: code for code, item in enumerate(self.items)}
        by_text = {str(item): item for item in self.items}
        parsed = [tuple(item if item in place else by_text.get(str(item), item) for item in row) for row in parsed]
        new = [item for item in dict.fromkeys(chain.from_iterable(parsed)) if item not in place]
        items = [*self.items, *new]
        table = self._table(parsed, {item: code for code, item in enumerate(items)})
        return self._with(items, self.longest, self.n_unheard + len(new)), table[codes]

    def translate(self, labels: Array, known: Self) -> Array:
        """Number items anew, and make rows as long as the longest."""
        place = {item: code for code, item in enumerate(self.items)}
        codes = np.array([*(place.get(item, -1) for item in known.items), -1], np.min_scalar_type(-len(place) - 1))
        filling = np.full((len(labels), max(self.longest - labels.shape[1], 0)), -1, codes.dtype)
        return np.hstack([codes[labels], filling])

    def decode(self, codes: Array) -> Values:
        """Return each ranking as a list of items."""
        return Values([[self.items[code] for code in row if code >= 0] for row in codes.tolist()], text=_text)

    def prepare(self, block: Block) -> Block:
        """Part the tasks by their number of items, and find each item's position in each answer."""
        assert self.item_hash is not None
        position = _positions(block.label)
        items = np.take_along_axis(block.label, position, axis=1)
        self._check_items(block, items)
        n_items = np.count_nonzero(items[block.starts] >= 0, axis=1)
        answer_hash = np.empty(len(block.label), np.uint64)
        parts = []
        for q in np.unique(n_items):
            tasks = np.flatnonzero(n_items == q)
            rows = np.flatnonzero(block.to_answers(n_items == q))
            sizes = block.sizes[tasks]
            answer_hash[rows] = hash_orders(self.item_hash[block.label[rows, :q].T])
            part = replace(
                block,
                starts=np.cumsum(sizes) - sizes,
                sizes=sizes,
                worker=block.worker[rows],
                label=block.label[rows, :q],
                task_hash=block.task_hash[tasks],
                gold_task=block.gold_task[:0],
                gold_label=block.gold_label[:0],
            )
            parts.append(
                part.with_prepared(
                    tasks=tasks,
                    rows=rows,
                    items=items[block.starts[tasks], :q],
                    position=np.ascontiguousarray(position[rows, :q].T),
                    item_hash=self.item_hash,
                )
            )
        return block.with_prepared(parts=np.array(parts, object), answer_hash=answer_hash)

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
        here, there = ([_shortened(self.items[code]) for code in row if code >= 0] for row in (left, right))
        rows = [" > ".join(row[:_SHOWN]) + (" > ..." if len(row) > _SHOWN else "") for row in (here, there)]
        only = [item for item in (*here, *there) if (item in here) != (item in there)]
        listed = ", ".join(only[:_SHOWN]) + (", ..." if len(only) > _SHOWN else "")
        return (
            f"{what} rank different items: {rows[0]} against {rows[1]}. Only one of them has {listed}."
            f" {_NOT_YET[0].upper()}{_NOT_YET[1:]}."
        )

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task by the rule; the agreement of the answers with the outcome is its confidence."""
        found = super().decide(block, weights, faults, ties)
        weight, total = block.answer_weights(weights)
        apart = _from_truth(block, found.label, "kendall")
        return replace(found, confidence=np.clip(1 - block.per_task(weight * apart) / total, 0.0, 1.0))

    def apart(self, left: Array, right: Array) -> Floats:
        """Measure how far rankings of the same items are apart, row by row."""
        n_items = np.count_nonzero(left >= 0, axis=1)
        left, right = _positions(left), _positions(right)
        apart = np.zeros(len(left))
        for q in np.unique(n_items):
            rows = np.flatnonzero(n_items == q)
            apart[rows] = _DISTANCES[self.distance].distance(left[rows, :q].T, right[rows, :q].T)
        return apart

    def apart_from(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth."""
        return _from_truth(block, truth, self.distance)

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell for which tasks two rankings are not the same."""
        return np.asarray((left != right).any(axis=1))

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up distances to peers, linear in the number of answers."""
        own = weights.take(block.worker)
        apart = np.empty(len(own))
        for part in block.prepared["parts"]:
            rows = part.prepared["rows"]
            apart[rows] = _DISTANCES[self.distance].peer_distance(part, own[rows])
        peers = block.to_answers(block.per_task(own)) - own
        return {"distance": block.per_worker(apart), "weight": block.per_worker(peers)}

    def describe(self) -> dict[str, Any]:
        """Say how many items there are, and whether the rule finds the best ranking for certain."""
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.rule in ("kemeny", "slater") else about


def _positions(label: Array) -> Array:
    """Return, per row, where the items stand, in the order of their codes; what fills a row up comes last."""
    codes = label.view(f"u{label.dtype.itemsize}")
    return np.argsort(codes, axis=1).astype(np.int8 if label.shape[1] <= _SMALL else np.int16)


def _from_truth(block: Block, truth: Array, distance: str) -> Floats:
    apart = np.empty(len(block.worker))
    for part in block.prepared["parts"]:
        position = part.prepared["position"]
        places = _positions(truth[part.prepared["tasks"]])[:, : len(position)]
        spread = np.stack([part.to_answers(place) for place in places.T])
        apart[part.prepared["rows"]] = _DISTANCES[distance].distance(position, spread)
    return apart


def _listed(value: Any) -> list[Any]:
    """Take a label apart into its items."""
    if isinstance(value, str):
        return json_list(value) if value.lstrip().startswith("[") else _split(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return list(value.tolist())
    raise ValueError("a ranking is a list of items, or text such as 'a>b>c'")


def _split(text: str) -> list[str]:
    if any(mark in text for mark in _TIED):
        raise ValueError(_NOT_YET)
    if "<" in text or (">" not in text and any(mark in text for mark in ",;|")):
        raise ValueError("a ranking is written best first, with '>' between the items, or as a JSON list")
    return [item.strip() for item in text.split(">")]


def _item(item: Any) -> Any:
    """Check one item; a whole number is the same item however it is written."""
    if type(item) is int or (type(item) is str and item):
        return item
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, str) and item:
        return str(item)
    if isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
        return int(item) if item == int(item) else item
    if item is None or isinstance(item, str):
        raise ValueError("a place has no item")
    several = isinstance(item, list | tuple | set | frozenset | dict | np.ndarray)
    raise ValueError(_NOT_YET if several else f"{item!r} is neither the name nor the number of an item")


def _in_order(items: Iterable[Any]) -> list[Any]:
    """Sort numbers by size and names by letters; names that are whole numbers count as numbers here."""
    items = list(items)
    if all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in items):
        return sorted(items, key=int)
    return sorted(items, key=lambda item: (isinstance(item, str), item))


def _text(items: list[Any]) -> str:
    """Write a ranking so that it can be read again."""
    names = [str(item) for item in items]
    text = ">".join(names)
    try:
        return text if _split(text) == names and not text.startswith("[") else json.dumps(items, ensure_ascii=False)
    except ValueError:
        return json.dumps(items, ensure_ascii=False)


def _shortened(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:30]}..."
