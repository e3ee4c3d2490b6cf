"""How rankings become codes, and blocks of them are prepared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.pairs import AnswerHashes
from allalike._core.columns.hashes import hash_objects, mix
from allalike._core.columns.values import Values
from allalike._core.options import choice, option
from allalike.domains.capabilities import Things
from allalike.domains.contract import Domain, Encoding
from allalike.domains.rankings.ballots import Part, Parts, hash_orders
from allalike.domains.rankings.codes import (
    NEXT,
    REST,
    TIED,
    Listed,
    Rankings,
    fill_gaps,
    join,
    numbers,
    pack,
    renumber,
    unpack,
)
from allalike.domains.rankings.comparisons import Comparisons
from allalike.domains.rankings.elimination import check_items
from allalike.domains.rankings.kemeny import MOST_EXACT
from allalike.domains.rankings.kernels import (
    RankingKernels,
    describe_difference,
    find_positions,
    in_order,
    list_items,
    read_ranking,
    read_rankings,
    write_ranking,
)
from allalike.domains.spelling import check_separator, split_items
from allalike.errors import GoldError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike._core.columns.column import Column
    from allalike._core.columns.factors import Codes


@dataclass(frozen=True, kw_only=True)
class RankingOptions(Domain):
    """What can be chosen about rankings, beside their rule and distance; `allalike.Ranking` explains it."""

    gaps: str = choice("unknown", "last")
    ties: str = choice("draw", "keep")
    separator: str | None = option(None, check_separator)

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Read a ranking as a tuple of different items; those that are tied stand in a tuple of their own."""
        return read_ranking(split_items(value, self.separator or "") if self._splits(value) else value)

    def _splits(self, value: Any) -> bool:
        """Return whether a label is a text with separators, for lists and other forms are still read as such."""
        listed = self.separator is not None and isinstance(value, str) and self.separator in value
        return listed and not value.lstrip().startswith(("[", "{"))

    def read(self, labels: Column) -> tuple[Codes, list[tuple[Any, ...]]]:
        """Read each different label once; return which of them each row has, and them as `parse` reads them."""
        return labels.parsed(self.parse, read_rankings if self.separator is None else None)


@dataclass(frozen=True, kw_only=True)
class RankingEncoding(Encoding, Things[Encoding]):
    """The items that occur, in their order; codes are those of `allalike.domains.rankings.codes`.

    Behind the items of the answers stand those that only known truths have, ``n_unanswered`` of them. ``longest`` is
    how many items the longest ranking has.
    """

    domain: RankingOptions
    items: list[Any]
    item_hash: npt.NDArray[np.uint64]
    longest: int
    n_unanswered: int = 0

    @classmethod
    def of(cls, domain: RankingOptions, items: Iterable[Any], longest: int) -> Self:
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
        """The items in their order, and how many the longest ranking has."""
        return [*self.items, self.longest]

    def merge(self, others: Sequence[Self]) -> Self:
        """Put the items of all parts in their order; those that only known truths have come again with the truths."""
        parts = [self, *others]
        items = chain.from_iterable(part.items[: len(part.items) - part.n_unanswered] for part in parts)
        return self.of(self.domain, items, max(part.longest for part in parts))

    def encode(self, labels: Column) -> Array:
        """Number the items of each label; equal labels have the same object."""
        codes, parsed = self.domain.read(labels)
        return _encode(parsed, {item: code for code, item in enumerate(self.items)})[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        """Number the items of the truths like those of the answers; ``"1"`` is item 1 if there is no other."""
        codes, parsed = self.domain.read(labels)
        place = {item: code for code, item in enumerate(self.items)}
        by_text = {str(item): item for item in self.items}
        every = dict.fromkeys(chain.from_iterable(map(list_items, parsed)))
        meant = {item: item if item in place else by_text.get(str(item), item) for item in every}
        new = [item for item in dict.fromkeys(meant.values()) if item not in place]
        items = [*self.items, *new]
        number = {item: code for code, item in enumerate(items)}
        table = _encode(parsed, {item: number[meant[item]] for item in every})
        n_unanswered = self.n_unanswered + len(new)
        return replace(self, items=items, item_hash=hash_objects(items), n_unanswered=n_unanswered), table[codes]

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        """Put items that a worker did not rank at the end, if that is what gaps mean."""
        return fill_gaps(codes, task, len(tasks)) if self.domain.gaps == "last" else codes

    def remap(self, codes: Array, known: Self) -> Array:
        """Number items anew."""
        number = {item: code for code, item in enumerate(self.items)}
        place = np.array([number.get(item, 0) for item in known.items], np.int64)
        if codes.ndim == 1:
            return renumber(codes, place)
        return np.where(codes >= 0, place[codes], -1)

    def decode(self, codes: Array) -> Values:
        """Return each ranking as a list of items, and several by one worker as a text."""
        flat, sizes = numbers(codes)
        ends, found = np.cumsum(sizes).tolist(), flat.tolist()
        parts = (found[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True))
        plain = not (flat < 0).any()
        labels = [[self.items[k] for k in part] if plain else self._decode(part) for part in parts]
        return Values(labels, text=write_ranking)

    def _decode(self, code: list[int]) -> Any:
        rankings: list[list[Any]] = [[]]
        tied = rest = False
        for number in code:
            if number == NEXT:
                rankings.append([])
            rest = number == REST or (rest and number != NEXT)
            if number >= 0 and not rest:
                places, item = rankings[-1], self.items[number]
                if tied:
                    places[-1] = [*(places[-1] if isinstance(places[-1], list) else [places[-1]]), item]
                else:
                    places.append(item)
            tied = number == TIED
        return rankings[0] if len(rankings) == 1 else "; ".join(map(write_ranking, rankings))

    @property
    def things(self) -> Self | None:
        """The items, where they have scores."""
        return self if self.domain.rule == "bradley terry" else None

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """List the items of each task, best first, with their scores and how sure these are."""
        ranked = unpack(found["label"])
        n_items = np.bincount(ranked.label, minlength=len(tasks))
        unknown = [np.full(size, np.nan) for size in n_items]
        scores, errors = (found.get(name, unknown) for name in ("scores", "standard_errors"))
        return {
            "task": tasks.take(ranked.label),
            "item": Values([self.items[item] for item in ranked.item]),
            "rank": ranked.level + 1,
            "score": np.concatenate([*scores, np.empty(0)]),
            "standard_error": np.concatenate([*errors, np.empty(0)]),
        }

    def prepare(self, block: Block) -> Block:
        """Part the tasks: complete orders by their number of items, and beside them those with ties and gaps."""
        block = self._fill(block)
        orders = Listed.of(block.label)
        if (orders.strict == orders.strict[:1]).all():
            complete = orders.strict[block.starts]
        else:
            least, most = (reduce.reduceat(orders.strict, block.starts) for reduce in (np.minimum, np.maximum))
            complete = np.where(least == most, least, 0)
        complete[block.gold_task[Listed.of(block.gold_label).strict == 0]] = 0
        hashes = np.empty(len(block.label), np.uint64)
        parts = []
        for q in np.unique(complete[complete > 0]).tolist():
            part, order = self._part(block, orders, complete, q)
            if part is not None:
                parts.append(part)
                hashes[part.rows] = hash_orders(self.item_hash[order.T])
        loose = np.flatnonzero(complete == 0)
        rest = self._compare(block, loose, hashes) if len(loose) else None
        self._check_truths(block, orders, complete)
        return block.keeping(
            Parts(tuple(parts), loose=rest, item_hash=self.item_hash, keep_ties=self.domain.ties == "keep"),
            AnswerHashes(hashes),
        )

    def _fill(self, block: Block) -> Block:
        """Fill the gaps of answers and truths, of which some may have come later than others."""
        if self.domain.gaps != "last" or block.label.ndim == 2:
            return block
        task = np.append(block.task, block.gold_task)
        label, gold = np.split(
            fill_gaps(np.append(block.label, block.gold_label), task, block.n_tasks), [len(block.label)]
        )
        return replace(block, label=label, gold_label=gold)

    def _part(self, block: Block, orders: Listed, complete: Array, q: int) -> tuple[Part | None, Array]:
        """Put tasks together whose answers all order q items; where these are not the same, the task has gaps."""
        chosen = complete == q
        mine = block.to_answers(chosen)
        tasks, rows = np.flatnonzero(chosen), np.flatnonzero(mine)
        order = orders.table(mine, q, np.min_scalar_type(-len(self.items) - 1))
        position = find_positions(order)
        items = np.sort(order, axis=1)
        picked = block.pick(tasks, rows)
        odd = (items != picked.to_answers(items[picked.starts])).any(axis=1)
        if odd.any():
            gone = picked.per_task(odd.astype(np.float64)) > 0
            complete[tasks[gone]] = 0
            kept = ~picked.to_answers(gone)
            tasks, rows, order, position, items = tasks[~gone], rows[kept], order[kept], position[kept], items[kept]
            if not len(tasks):
                return None, order
            picked = block.pick(tasks, rows)
        part = Part(
            block=picked,
            tasks=tasks,
            rows=rows,
            items=items[picked.starts],
            position=np.ascontiguousarray(position.T),
            item_hash=self.item_hash,
        )
        return part, order

    def _compare(self, block: Block, tasks: npt.NDArray[np.intp], hashes: npt.NDArray[np.uint64]) -> Comparisons:
        """Compare the items of tasks with ties and gaps pair by pair."""
        if self.domain.distance != "kendall":
            raise UnsupportedError(
                f"The distance {self.domain.distance!r} needs complete rankings without ties, and some answers here"
                " have ties, or rank other items than others to the same task. Take the distance 'kendall'."
            )
        chosen = np.zeros(block.n_tasks, np.bool_)
        chosen[tasks] = True
        rows = np.flatnonzero(block.to_answers(chosen))
        found = unpack(block.label[rows])
        hashes[rows] = _hash_labels(found, self.item_hash)
        return Comparisons.of(block, tasks, rows, found)

    def _check_truths(self, block: Block, orders: Listed, complete: Array) -> None:
        """Refuse truths that do not rank the items of their task; where answers have gaps, two of them will do."""
        if not len(block.gold_task):
            return
        truth, width = Listed.of(block.gold_label), len(self.items)
        task = np.repeat(block.task, orders.sizes)
        known = np.isin(np.repeat(block.gold_task, truth.sizes) * width + truth.items, task * width + orders.items)
        owner = np.repeat(np.arange(len(block.gold_task)), truth.sizes)
        met = np.bincount(owner[known], minlength=len(block.gold_task))
        q = complete[block.gold_task]
        n_items = np.bincount(np.unique(task * width + orders.items) // width, minlength=block.n_tasks)[block.gold_task]
        least = np.where(q > 0, q, np.minimum(n_items, 2))
        strange = (met < least) | ((q > 0) & (truth.sizes > q))
        if strange.any():
            place = int(np.argmax(strange))
            answer = block.label[block.starts[block.gold_task[place]]]
            pair = [self._list(code) for code in (block.gold_label[place], answer)]
            raise GoldError(describe_difference("A known truth and an answer to its task", *pair))

    def _list(self, code: Any) -> list[Any]:
        """List the items of one code."""
        codes = code[None] if isinstance(code, np.ndarray) else np.fromiter([code], object, 1)
        return [self.items[item] for item in unpack(codes).item]

    def describe(self) -> dict[str, Any]:
        """Return how many items there are, and whether the rule finds the best ranking for certain."""
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.domain.rule in ("kemeny", "slater") else about


def _encode(parsed: list[tuple[Any, ...]], number: Mapping[Any, int]) -> npt.NDArray[np.object_]:
    """Write parsed rankings as codes; places that recur are looked up once."""
    sizes = np.fromiter(map(len, parsed), np.int64, len(parsed))
    place = {place: k for k, place in enumerate(dict.fromkeys(chain.from_iterable(parsed)))}
    flat = np.fromiter(map(place.__getitem__, chain.from_iterable(parsed)), np.int64, int(sizes.sum()))
    codes = pack(list(_numbered(items, number)) for items in place)
    return join(codes, flat, sizes)


def _numbered(place: Any, number: Mapping[Any, int]) -> Iterator[int]:
    """Yield the numbers of the items of a place, with marks between them."""
    first, *others = place if isinstance(place, tuple) else (place,)
    yield number[first]
    for item in others:
        yield TIED
        yield number[item]


def _hash_labels(found: Rankings, item_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash labels with ties, gaps and several rankings, of which the order has no part in it."""
    place = mix(found.level.astype(np.uint64) * np.uint64(2) + found.filled.astype(np.uint64))
    begins = np.flatnonzero(np.append(True, np.diff(found.ranking) > 0))
    rankings = mix(np.add.reduceat(mix(item_hash[found.item] ^ place), begins))
    label = found.label[begins]
    return mix(np.add.reduceat(rankings, np.flatnonzero(np.append(True, np.diff(label) > 0))))
