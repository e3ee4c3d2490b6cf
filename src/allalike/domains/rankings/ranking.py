"""Rankings: labels that put a task's items in order, best first.

    kendall:   d(A, B) = pairs of items in opposite order / pairs that both compared; a tie is half way
    footrule:  d(A, B) = sum_a |pos_A(a) - pos_B(a)| / floor(q^2 / 2)   for q items

A ranking is a vote on each pair of its items, so a worker's distance to the others needs no pairs of answers
(`allalike.domains.rankings.positions`). Fifteen voting rules turn rankings into one.

It works for orders of some items by everyone, for lists of the best few, for ties, and for comparisons of two items at
a time. It fails where a ranking is a matter of taste, for then there is no true order; where two workers compared no
pair in common, of whom nothing is known; and of many items with few comparisons each, most orders are as good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.matrices import MatrixSum
from allalike._core.blocks.pairs import AnswerHashes, pair_chunks
from allalike._core.columns.hashes import hash_objects, mix
from allalike._core.columns.values import Values
from allalike._core.options import choice, option
from allalike.domains.contract import Domain, Encoding, Kernels, Things
from allalike.domains.rankings import codes as written
from allalike.domains.rankings import comparisons, voting
from allalike.domains.rankings.ballots import Part, Parts, hash_orders
from allalike.domains.rankings.bradley_terry import bradley_terry
from allalike.domains.rankings.codes import NEXT, REST, TIED, Codes, Listed, Rankings, list_numbers, unpack
from allalike.domains.rankings.comparisons import Comparisons
from allalike.domains.rankings.kemeny import MOST_EXACT, check_items, kemeny, minimax, slater
from allalike.domains.rankings.positions import DISTANCES, PositionDistance
from allalike.domains.rankings.text import describe_difference, list_items, read_ranking, sort_items, write_ranking
from allalike.domains.spelling import check_separator, split_items
from allalike.errors import GoldError, UnsupportedError
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Rule
from allalike.rules.vote import best_worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
    from allalike._core.columns.factors import Codes as Places
    from allalike.rules import Decision

_DIGITS = 12
_MAX_INT8 = np.iinfo(np.int8).max

VOTING = {
    "borda": voting.borda,
    "plurality": voting.plurality,
    "veto": voting.veto,
    "copeland": voting.copeland,
    "kemeny": kemeny,
    "slater": slater,
    "modal": voting.modal,
    "minimax": minimax,
    "best worker": best_worker,
    "maximin": voting.maximin,
    "schulze": voting.schulze,
    "ranked pairs": voting.ranked_pairs,
    "bucklin": voting.bucklin,
    "stv": voting.stv,
    "bradley terry": bradley_terry,
}


@dataclass(frozen=True, kw_only=True)
class Ranking(Domain):
    """Orders of a task's items, best first, which may have ties and gaps.

    A label is text such as ``a>b>c``, ``a>b=c`` or ``a>{b,c}``, a JSON list or a Python list in which items that are
    tied stand in a list of their own, or ranks such as ``{"a": 1, "b": 2, "c": 2}``. A comparison of two items is a
    ranking too. Another task may have other items. A ranking comes back as a list, and as ``a>b=c`` in a file. Its
    confidence is the share of agreement behind it: 1 minus the weighted mean distance of the answers to it.

    Where a worker answers a task several times, the answers are added up (``duplicates="add"`` of `allalike.read`): of
    each pair of items that they compared, it counts how often they preferred which, and they count once.

    Parameters
    ----------
    rule
        Aggregation rule: ``borda``, ``plurality``, ``veto``, ``copeland``, ``kemeny``, ``slater``,
        ``modal``, ``minimax``, ``best worker``, ``maximin``, ``schulze``, ``ranked pairs``, ``bucklin``, ``stv`` or
        ``bradley terry``. Kemeny and Slater are exact up to 16 items, and minimax takes at most 8. Plurality, veto,
        minimax, bucklin and stv count places, and need complete rankings without ties.
    distance
        ``kendall`` (the share of pairs in opposite order, of those that both compared; a tie is half way) or
        ``footrule`` (how far items are displaced; without ties and gaps only).
    gaps
        Position of items that a worker did not rank: not known (``unknown``), or that they are behind all others
        and tied (``last``), as where workers name the best few.
    ties
        Treatment of items with equal scores: their order is drawn (``draw``), or the truth says that they are tied
        (``keep``); rules without scores always draw.
    separator
        Separator of the items of a text if not ``>``, such as ``";"``; the best comes first.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "c>b>a")]
    >>> found = allalike.discover(rows, domain=Ranking(rule="kemeny"), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(3).tolist()
    ([['a', 'b', 'c']], [0.667])
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "b>c"), ("eve", 1, "a>b=c")]
    >>> allalike.discover(rows, domain="ranking", method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """

    name: ClassVar[str] = "ranking"
    summary: ClassVar[str] = "orders of a task's items, best first, with ties and gaps; Kendall tau, or the footrule"
    rules: ClassVar[tuple[Rule, ...]] = tuple(Rule(name, decide) for name, decide in VOTING.items())
    distances: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    gaps: str = choice("unknown", "last")
    ties: str = choice("draw", "keep")
    separator: str | None = option(None, check_separator)

    def _parse(self, value: Any) -> tuple[Any, ...]:
        """Read a ranking as a tuple of different items; those that are tied stand in a tuple of their own."""
        listed = self.separator is not None and isinstance(value, str) and self.separator in value
        if not listed or value.lstrip().startswith(("[", "{")):  # JSON is still read as such
            return read_ranking(value)
        return read_ranking(split_items(value, self.separator or ""))

    def read(self, labels: Column) -> tuple[Places, list[tuple[Any, ...]]]:
        """Read each different label once; return which of them each row has, and them as `parse` reads them."""
        return labels.parsed(self._parse)

    @property
    def repeats(self) -> Self:
        return self

    def add(self, codes: Array, starts: Array) -> Array:
        """Put the rankings of each group of neighbours together: what a worker said of a task."""
        return written.add_up(codes, starts)

    def take_apart(self, codes: Array) -> tuple[Array, Array]:
        """Return single rankings."""
        return written.take_apart(codes)

    @property
    def noise(self) -> Noise:
        return OneCoin(classes=2) if self.distance == "kendall" else General()

    def learn(self, labels: Column) -> RankingEncoding:
        parsed = self.read(labels)[1]
        places = tuple(set(chain.from_iterable(parsed)))
        items = list_items(places)
        rankings = parsed if len(items) == len(places) else map(list_items, parsed)  # where some are tied
        return RankingEncoding.of(self, items, max(map(len, rankings), default=0))


@dataclass(frozen=True, kw_only=True)
class RankingEncoding(Encoding, Things):
    """The items that occur, in their order; codes are those of `allalike.domains.rankings.codes`.

    Behind the items of the answers stand those that only known truths have, ``n_unanswered`` of them. ``longest`` is
    how many items the longest ranking has.
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
        ordered = sort_items(set(items))
        return cls(domain=domain, items=ordered, item_hash=hash_objects(ordered), longest=longest)

    @property
    def kernels(self) -> RankingKernels:
        return RankingKernels(domain=self.domain)

    @property
    def vocabulary(self) -> list[Any]:
        return [*self.items, self.longest]

    def merge(self, others: Sequence[Self]) -> Self:
        parts = [self, *others]
        items = chain.from_iterable(part.items[: len(part.items) - part.n_unanswered] for part in parts)
        return self.of(self.domain, items, max(part.longest for part in parts))

    def encode(self, labels: Column) -> Array:
        codes, parsed = self.domain.read(labels)
        return _encode(parsed, {item: code for code, item in enumerate(self.items)})[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
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
        return written.fill_gaps(codes, task, len(tasks)) if self.domain.gaps == "last" else codes

    def remap(self, codes: Array, known: Self) -> Array:
        number = {item: code for code, item in enumerate(self.items)}
        place = np.array([number.get(item, 0) for item in known.items], np.int64)
        return written.renumber(codes, place)

    def decode(self, codes: Array) -> Values:
        flat, sizes = list_numbers(codes)
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
        return self if self.domain.rule == "bradley terry" else None

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
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
            Parts(tuple(parts), rest, self.item_hash, keep_ties=self.domain.ties == "keep"),
            AnswerHashes(hashes),
        )

    def _fill(self, block: Block) -> Block:
        """Fill the gaps of answers and truths, of which some may have come later than others."""
        if self.domain.gaps != "last":
            return block
        task = np.append(block.task, block.gold_task)
        label, gold = np.split(
            written.fill_gaps(np.append(block.label, block.gold_label), task, block.n_tasks), [len(block.label)]
        )
        return replace(block, label=label, gold_label=gold)

    def _part(self, block: Block, orders: Listed, complete: Array, q: int) -> tuple[Part | None, Array]:
        """Put tasks together whose answers all order q items; where these are not the same, the task has gaps."""
        chosen = complete == q
        mine = block.to_answers(chosen)
        tasks, rows = np.flatnonzero(chosen), np.flatnonzero(mine)
        order = orders.table(mine, q)
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
            codes = (np.fromiter([code], object, 1) for code in (block.gold_label[place], answer))
            pair = [[self.items[item] for item in unpack(code).item] for code in codes]
            raise GoldError(describe_difference("A known truth and an answer to its task", *pair))

    def describe(self) -> dict[str, Any]:
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.domain.rule in ("kemeny", "slater") else about


def _encode(parsed: list[tuple[Any, ...]], number: Mapping[Any, int]) -> Codes:
    """Write parsed rankings as codes; places that recur are looked up once."""
    sizes = np.fromiter(map(len, parsed), np.int64, len(parsed))
    place = {place: k for k, place in enumerate(dict.fromkeys(chain.from_iterable(parsed)))}
    flat = np.fromiter(map(place.__getitem__, chain.from_iterable(parsed)), np.int64, int(sizes.sum()))
    codes = written.pack(list(_numbered(items, number)) for items in place)
    return written.join(codes, flat, sizes)


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
    begins = found.starts
    rankings = mix(np.add.reduceat(mix(item_hash[found.item] ^ place), begins))
    label = found.label[begins]
    return mix(np.add.reduceat(rankings, np.flatnonzero(np.append(True, np.diff(label) > 0))))


@dataclass(frozen=True, kw_only=True)
class RankingKernels(Kernels):
    """Sums of distances of rankings, linear in the number of answers, or of comparisons where there are gaps."""

    @property
    def distance(self) -> PositionDistance:
        """The distance of complete rankings."""
        return DISTANCES[self.domain.distance]

    def distance_between(self, left: Array, right: Array) -> Floats:
        result = np.full(len(left), np.nan)
        loose = np.ones(len(left), np.bool_)
        one, other = Listed.of(left), Listed.of(right)
        for q in np.unique(one.strict[(one.strict > 0) & (one.strict == other.strict)]).tolist():
            chosen = (one.strict == q) & (other.strict == q)
            (items, places), (others, there) = (_sort_items(side.table(chosen, q)) for side in (one, other))
            same = (items == others).all(axis=1)
            rows = np.flatnonzero(chosen)[same]
            result[rows] = self.distance.between(places[same].T, there[same].T)
            loose[rows] = False
        if loose.any() and self.domain.distance == "kendall":
            result[loose] = comparisons.distance(left[loose], right[loose])
        return result

    def guess_distances(self, left: Array, right: Array) -> Floats:
        return np.asarray(self.distance.of_guesses(Listed.of(left).sizes.astype(np.float64)))

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        result, rest = np.empty(len(left)), np.ones(len(left), np.bool_)
        for part in block[Parts].parts:
            column = np.full(len(block.label), -1)
            column[part.rows] = np.arange(len(part.rows))
            mine = np.flatnonzero(column[left] >= 0)
            one, other = (part.position[:, column[side[mine]]] for side in (left, right))
            result[mine], rest[mine] = self.distance.between(one, other), False
        if rest.any():
            result[rest] = super().distance_within(block, left[rest], right[rest])
        return result

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        own = weights.take(block.worker)
        distance, weight = np.empty(len(own)), block.to_answers(block.per_task(own)) - own
        parts = block[Parts]
        for part in parts.parts:
            distance[part.rows] = self.distance.to_peers(part.block, part.position, own[part.rows])
        if (loose := parts.loose) is not None:
            distance[loose.rows], weight[loose.rows] = loose.peer_distances(own[loose.rows])
        return distance, weight

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        asked = rows or slice(0, block.n_workers)
        shape = asked.stop - asked.start, block.n_workers
        total, common = MatrixSum(shape), MatrixSum(shape)
        for part in block[Parts].parts:
            picked = replace(part.block, worker=block.worker[part.rows], n_workers=block.n_workers)
            for left, right in pair_chunks(picked, rows):
                place = picked.worker[left] - asked.start, picked.worker[right]
                total.add_entries(*place, self.distance.between(part.position[:, left], part.position[:, right]))
                common.add_entries(*place, np.ones(len(left)))
        if (loose := block[Parts].loose) is None:
            return {"distance": total.result(), "common": common.result()}
        loose.add_pairs(block, total, common, asked)
        return {"distance": _round(total.result()), "common": _round(common.result())}

    def distance_to(self, block: Block, truth: Array) -> Floats:
        return _measure_distance_to(block, truth, self.domain.distance)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        decision = super().decide(block, weights, faults, ties)
        weight, total = block.answer_weights(weights)
        distance = _measure_distance_to(block, decision.label, "kendall")
        met = ~np.isnan(distance)
        if not met.all():
            weight, distance = weight * met, np.nan_to_num(distance)
            total = block.per_task(weight)
        sums, unknown = block.per_task(weight * distance), np.full(len(total), np.nan)
        share = 1 - np.divide(sums, total, out=unknown, where=total > 0)
        return replace(decision, confidence=np.clip(share, 0.0, 1.0))


def _round(sums: Any) -> Any:
    """Round sums of fractions, so that a whole task is one."""
    if isinstance(sums, np.ndarray):
        return sums.round(_DIGITS)
    sums = sums.tocsr()  # in which each place has one number
    sums.data = sums.data.round(_DIGITS)
    return sums


def find_positions(items: Array) -> Array:
    """Return, per row, where the items stand, in the order of their numbers."""
    return np.argsort(items, axis=1).astype(np.int8 if items.shape[1] <= _MAX_INT8 else np.int16)


def _measure_distance_to(block: Block, truth: Codes, distance: str) -> Floats:
    result = np.empty(len(block.worker))
    parts = block[Parts]
    for part in parts.parts:
        codes, q = truth[part.tasks], len(part.position)
        listed = Listed.of(codes)
        whole = listed.strict == q
        places = np.zeros((len(codes), q), np.int16)
        places[whole] = find_positions(listed.table(whole, q))
        each = np.stack([part.block.to_answers(place) for place in places.T])
        result[part.rows] = DISTANCES[distance].between(part.position, each)
        if not whole.all():
            here = part.block.to_answers(~whole)
            rows, others = part.rows[here], part.block.to_answers(codes)[here]
            result[rows] = comparisons.distance(block.label[rows], others) if distance == "kendall" else np.nan
    if parts.loose is not None:
        result[parts.loose.rows] = parts.loose.distance_to(truth[parts.loose.tasks])
    return result


def _sort_items(table: Array) -> tuple[Array, Array]:
    """Return the items of some labels in their order, and the positions at which they stand."""
    position = find_positions(table)
    return np.take_along_axis(table, position, axis=1), position
