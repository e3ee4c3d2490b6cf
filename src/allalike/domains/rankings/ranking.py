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
from allalike.domains.rankings import codes, comparisons, voting
from allalike.domains.rankings.ballots import Part, Parts, hash_orders
from allalike.domains.rankings.codes import (
    NEXT,
    REST,
    TIED,
    Codes,
    Rankings,
    fill_gaps,
    list_numbers,
    pack,
    renumber,
    unpack,
)
from allalike.domains.rankings.comparisons import Comparisons
from allalike.domains.rankings.kemeny import MOST_EXACT, kemeny, minimax, slater
from allalike.domains.rankings.positions import DISTANCES, PositionDistance
from allalike.domains.rankings.text import describe_difference, list_items, read_ranking, sort_items, write_ranking
from allalike.domains.spelling import check_separator, split_items
from allalike.errors import GoldError, UnsupportedError
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Rule
from allalike.rules.vote import best_worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
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
    "bradley terry": voting.bradley_terry,
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

    @property
    def repeats(self) -> Self:
        return self

    add = staticmethod(codes.add_up)
    take_apart = staticmethod(codes.take_apart)

    @property
    def noise(self) -> Noise:
        return OneCoin(classes=2) if self.distance == "kendall" else General()

    def learn(self, labels: Column) -> RankingEncoding:
        rankings = list(map(list_items, labels.parsed(self._parse)[1]))
        return RankingEncoding.of(self, chain.from_iterable(rankings), max(map(len, rankings), default=0))


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
        """Number items in their order."""
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
        places, parsed = labels.parsed(self.domain._parse)
        return _encode(parsed, {item: number for number, item in enumerate(self.items)})[places]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        places, parsed = labels.parsed(self.domain._parse)
        known, by_text = set(self.items), {str(item): item for item in self.items}
        every = dict.fromkeys(chain.from_iterable(map(list_items, parsed)))
        meant = {item: item if item in known else by_text.get(str(item), item) for item in every}
        new = [item for item in dict.fromkeys(meant.values()) if item not in known]
        items = [*self.items, *new]
        number = {item: number for number, item in enumerate(items)}
        table = _encode(parsed, {item: number[meant[item]] for item in every})
        n_unanswered = self.n_unanswered + len(new)
        return replace(self, items=items, item_hash=hash_objects(items), n_unanswered=n_unanswered), table[places]

    def fit_tasks(self, codes: Array, task: Array, tasks: Values) -> Array:
        return fill_gaps(codes, task, len(tasks)) if self.domain.gaps == "last" else codes

    def remap(self, codes: Array, known: Self) -> Array:
        number = {item: number for number, item in enumerate(self.items)}
        return renumber(codes, np.array([number.get(item, 0) for item in known.items], np.int64))

    def decode(self, codes: Array) -> Values:
        flat, sizes = list_numbers(codes)
        ends, found = np.cumsum(sizes).tolist(), flat.tolist()
        parts = (found[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True))
        return Values(list(map(self._decode, parts)), text=write_ranking)

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
        if self.domain.gaps == "last":  # answers and truths, of which some may have come later than others
            task = np.append(block.task, block.gold_task)
            every = fill_gaps(np.append(block.label, block.gold_label), task, block.n_tasks)
            block = replace(block, label=every[: len(block.label)], gold_label=every[len(block.label) :])
        rankings = unpack(block.label)
        complete = self._find_complete(block, rankings)
        hashes = np.empty(len(block.label), np.uint64)
        parts, loose = [], None
        for q in np.unique(complete).tolist():
            mine = block.to_answers(complete == q)
            tasks, rows = np.flatnonzero(complete == q), np.flatnonzero(mine)
            if q == 0:
                found = unpack(block.label[rows])
                hashes[rows], loose = _hash_labels(found, self.item_hash), Comparisons.of(block, tasks, rows, found)
                continue
            order, picked = rankings.table(mine, q), block.pick(tasks, rows)
            hashes[rows] = hash_orders(self.item_hash[order.T])
            position = np.ascontiguousarray(find_positions(order).T)
            items = np.sort(order[picked.starts], axis=1)
            parts.append(
                Part(block=picked, tasks=tasks, rows=rows, items=items, position=position, item_hash=self.item_hash)
            )
        if loose is not None and self.domain.distance != "kendall":
            raise UnsupportedError(
                f"The distance {self.domain.distance!r} needs complete rankings without ties, and some answers here"
                " have ties, or rank other items than others to the same task. Take the distance 'kendall'."
            )
        self._check_truths(block, rankings, complete)
        keep_ties = self.domain.ties == "keep"
        return block.keeping(Parts(tuple(parts), loose, self.item_hash, keep_ties), AnswerHashes(hashes))

    def _find_complete(self, block: Block, rankings: Rankings) -> Array:
        """Return the number of items of each task whose answers all order the same items, else 0."""
        strict, width = rankings.strict, len(self.items)
        first = np.cumsum(rankings.n_items) - rankings.n_items
        items = np.sort(rankings.label * width + rankings.item) - rankings.label * width
        example = block.to_answers(block.starts)
        place = np.arange(len(items)) + (first[example] - first)[rankings.label]
        odd = np.zeros(len(strict), np.bool_)
        odd[rankings.label[items[np.minimum(place, len(items) - 1)] != items]] = True
        odd |= (strict == 0) | (strict != strict[example])
        complete = np.where(block.per_task(odd.astype(np.float64)) > 0, 0, strict[block.starts])
        complete[block.gold_task[unpack(block.gold_label).strict == 0]] = 0
        return complete

    def _check_truths(self, block: Block, rankings: Rankings, complete: Array) -> None:
        """Refuse truths that do not rank the items of their task; where answers have gaps, two of them will do."""
        first = np.searchsorted(rankings.label, np.append(block.starts, len(block.label)))
        for code, task in zip(block.gold_label, block.gold_task.tolist(), strict=True):
            truth = unpack(np.array([code], object)).item.tolist()
            items = set(rankings.item[first[task] : first[task + 1]].tolist())
            met = items.intersection(truth)
            if len(met) < (len(items) if complete[task] else min(len(items), 2)) or (
                complete[task] and met != set(truth)
            ):
                answer = unpack(block.label[block.starts[[task]]]).item.tolist()
                raise GoldError(
                    describe_difference(
                        "A known truth and an answer to its task",
                        [self.items[item] for item in truth],
                        [self.items[item] for item in answer],
                    )
                )

    def describe(self) -> dict[str, Any]:
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.domain.rule in ("kemeny", "slater") else about


def _encode(parsed: list[tuple[Any, ...]], number: Mapping[Any, int]) -> Codes:
    """Write parsed rankings as codes; places that recur are looked up once."""
    numbers: dict[Any, list[int]] = {}
    for place in dict.fromkeys(chain.from_iterable(parsed)):
        first, *others = place if isinstance(place, tuple) else (place,)
        numbers[place] = [number[first], *(each for item in others for each in (TIED, number[item]))]
    return pack([each for place in ranking for each in numbers[place]] for ranking in parsed)


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
        one, other = unpack(left), unpack(right)
        sizes = np.where(one.strict == other.strict, one.strict, 0)
        for q in np.unique(sizes[sizes > 0]).tolist():
            (items, places), (others, there) = (_sort_items(side.table(sizes == q, q)) for side in (one, other))
            same = (items == others).all(axis=1)
            rows = np.flatnonzero(sizes == q)[same]
            result[rows] = self.distance.between(places[same].T, there[same].T)
            loose[rows] = False
        if loose.any() and self.domain.distance == "kendall":
            result[loose] = comparisons.distance(left[loose], right[loose])
        return result

    def guess_distances(self, left: Array, right: Array) -> Floats:
        return np.asarray(self.distance.of_guesses(unpack(left).n_items.astype(np.float64)))

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
        listed = unpack(codes)
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
