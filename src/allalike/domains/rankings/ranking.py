"""Rankings: labels that order a task's items, best first.

    kendall:   d(A, B) = discordant pairs of items / pairs compared by both; a tie is halfway
    footrule:  d(A, B) = sum_a |pos_A(a) - pos_B(a)| / floor(q^2 / 2)   for q items

A ranking is a vote on every pair of items, so a worker's distance to the others needs no pairs of answers
(`allalike.domains.rankings.parts`). Fifteen voting rules aggregate rankings.

Rankings work for complete orders, top-k lists, ties and pairwise comparisons. They fail for matters of taste, which
have no true order. The distance between workers who compared no common pair is unknown. With many items and few
comparisons per item, many orders fit equally well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.blocks.pairs import AnswerHashes, MatrixSum
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_objects, mix
from allalike._core.columns.values import Values
from allalike._core.options import choice, option
from allalike.distances.orders import DISTANCES, find_positions
from allalike.domains.contract import Domain, Encoding, Kernels, Things
from allalike.domains.rankings import codes, voting
from allalike.domains.rankings.ballots import hash_orders
from allalike.domains.rankings.codes import (
    NEXT,
    REST,
    TIED,
    Codes,
    Rankings,
    fill_gaps,
    pack,
    renumber,
    split,
    unpack,
)
from allalike.domains.rankings.kemeny import MOST_EXACT, kemeny, minimax, slater
from allalike.domains.rankings.parts import Comparisons, Orders, Parts, compare_codes, split_tasks
from allalike.domains.rankings.text import list_items, read_ranking, sort_items, write_ranking
from allalike.domains.spelling import check_separator, split_items
from allalike.errors import GoldError, UnsupportedError
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Decision, Rule
from allalike.rules.vote import best_worker

_DIGITS = 12
_MAX_SHOWN = 6  # items in a message

_RULES = (
    *(voting.borda, voting.plurality, voting.veto, voting.copeland, kemeny, slater, voting.modal, minimax, best_worker),
    *(voting.maximin, voting.schulze, voting.ranked_pairs, voting.bucklin, voting.stv, voting.bradley_terry),
)
VOTING = {decide.__name__.replace("_", " "): decide for decide in _RULES}


@dataclass(frozen=True, kw_only=True)
class Ranking(Domain):
    """Orders of a task's items, best first, which may have ties and gaps.

    A label is text such as ``a>b>c``, ``a>b=c`` or ``a>{b,c}``, a list (Python or JSON) with nested lists of tied
    items, or ranks such as ``{"a": 1, "b": 2, "c": 2}``. A comparison of two items is also a ranking. Different tasks
    may have different items. Estimates are lists, and text such as ``a>b=c`` in files. Their confidence is 1 minus the
    weighted mean distance of the answers.

    If a worker answers a task several times, the answers are combined (``duplicates="add"`` of `allalike.read`): each
    pair of items counts as one comparison with the mean preference.

    Parameters
    ----------
    rule
        Aggregation rule: ``borda``, ``plurality``, ``veto``, ``copeland``, ``kemeny``, ``slater``, ``modal``,
        ``minimax``, ``best worker``, ``maximin``, ``schulze``, ``ranked pairs``, ``bucklin``, ``stv`` or
        ``bradley terry``. Kemeny and Slater are exact for up to 16 items, and minimax supports at most 8. Plurality,
        veto, minimax, bucklin and stv count positions, and need complete rankings without ties.
    distance
        ``kendall`` (the share of discordant pairs among those that both compared; a tie counts half) or ``footrule``
        (the displacement of items; only without ties and gaps).
    gaps
        Position of unranked items: ``unknown``, or ``last`` (tied after all others, as in top-k lists).
    ties
        Treatment of items with equal scores: their order is random (``draw``), or they are tied in the estimate
        (``keep``). Rules without scores always draw.
    separator
        Separator between items in text if not ``>``, such as ``";"``; the best item comes first.

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
    summary: ClassVar[str] = "orders of a task's items, best first, with ties and gaps; Kendall tau or footrule"
    rules: ClassVar[tuple[Rule, ...]] = tuple(Rule(name, decide) for name, decide in VOTING.items())
    distances: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    gaps: str = choice("unknown", "last")
    ties: str = choice("draw", "keep")
    separator: str | None = option(None, check_separator)

    def _parse(self, value: Any) -> tuple[Any, ...]:
        """Parse a ranking as a tuple of distinct items; tied items form a nested tuple."""
        listed = self.separator is not None and isinstance(value, str) and self.separator in value
        if not listed or value.lstrip().startswith(("[", "{")):  # JSON takes precedence
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
class RankingKernels(Kernels):
    """Sums of distances between rankings, linear in the number of answers or, with gaps, of comparisons."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        return _measure(left, right, self.domain.distance)

    def guess_distances(self, left: Array, right: Array) -> Floats:
        return np.asarray(DISTANCES[self.domain.distance].of_guesses(unpack(left).n_items.astype(np.float64)))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        own, measure = weights.take(block.worker), DISTANCES[self.domain.distance]
        distance, weight = np.empty(len(own)), np.empty(len(own))
        for part in block[Parts].parts:
            distance[part.rows], weight[part.rows] = part.peer_distances(own[part.rows], measure)
        return distance, weight

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        asked, parts = rows or slice(0, block.n_workers), block[Parts].parts
        sums = {name: MatrixSum((asked.stop - asked.start, block.n_workers)) for name in ("distance", "common")}
        for part in parts:
            for left, right, *numbers in part.compare_pairs(block, asked, DISTANCES[self.domain.distance]):
                for total, values in zip(sums.values(), numbers, strict=True):
                    total.add_entries(left - asked.start, right, values)
        fractions = any(isinstance(part, Comparisons) for part in parts)
        return {name: _round(total.result()) if fractions else total.result() for name, total in sums.items()}

    def distance_to(self, block: Block, truth: Array) -> Floats:
        return _measure_to(block, truth, self.domain.distance)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        decision = super().decide(block, weights, faults, ties)
        weight, total = block.answer_weights(weights)
        distance = _measure_to(block, decision.label, "kendall")
        met = ~np.isnan(distance)
        if not met.all():
            weight, distance = weight * met, np.nan_to_num(distance)
            total = block.per_task(weight)
        sums, unknown = block.per_task(weight * distance), np.full(len(total), np.nan)
        share = 1 - np.divide(sums, total, out=unknown, where=total > 0)
        return replace(decision, confidence=np.clip(share, 0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class RankingEncoding(Encoding, Things):
    """The sorted items; codes are described in `allalike.domains.rankings.codes`.

    ``longest`` is the maximum number of items in a ranking.
    """

    kernels_type: ClassVar[type[Kernels]] = RankingKernels
    domain: Ranking
    items: list[Any]
    item_hash: npt.NDArray[np.uint64]
    longest: int

    @classmethod
    def of(cls, domain: Ranking, items: Iterable[Any], longest: int) -> Self:
        """Number the items in sorted order."""
        ordered = sort_items(set(items))
        return cls(domain=domain, items=ordered, item_hash=hash_objects(ordered), longest=longest)

    @property
    def vocabulary(self) -> list[Any]:
        return [*self.items, self.longest]

    def merge(self, others: Sequence[Self]) -> Self:
        parts = [self, *others]
        items = chain.from_iterable(part.items for part in parts)
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
        return replace(self, items=items, item_hash=hash_objects(items)), table[places]

    def remap(self, codes: Array, known: Self) -> Array:
        number = {item: number for number, item in enumerate(self.items)}
        return renumber(codes, np.array([number.get(item, 0) for item in known.items], np.int64))

    def decode(self, codes: Array) -> Values:
        return Values(list(map(self._decode, codes.tolist())), text=write_ranking)

    def _decode(self, code: bytes) -> Any:
        rankings: list[list[Any]] = []
        for numbers in split(code):
            rankings.append([])
            for mark, number in pairwise([NEXT, *numbers]):
                if number == REST:
                    break
                if number >= 0 and mark != TIED:
                    rankings[-1].append(self.items[number])
                elif number >= 0:
                    *_, last = rankings[-1]
                    rankings[-1][-1] = [*(last if isinstance(last, list) else [last]), self.items[number]]
        return rankings[0] if len(rankings) == 1 else "; ".join(map(write_ranking, rankings))

    @property
    def things(self) -> Self | None:
        return self if self.domain.rule == "bradley terry" else None

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        ranked = unpack(found["label"])
        return {
            "task": tasks.take(ranked.label),
            "item": Values([self.items[item] for item in ranked.item]),
            "rank": ranked.level + 1,
            "score": np.concatenate([*found["scores"], np.empty(0)]),
            "standard_error": np.concatenate([*found["standard_errors"], np.empty(0)]),
        }

    def prepare(self, block: Block) -> Block:
        if self.domain.gaps == "last":
            task = np.append(block.task, block.gold_task)
            every = fill_gaps(np.append(block.label, block.gold_label), task, block.n_tasks)
            block = replace(block, label=every[: len(block.label)], gold_label=every[len(block.label) :])
        rankings, width = unpack(block.label), len(self.items)
        different = np.unique(block.task[rankings.label] * width + rankings.item)
        n_items = np.bincount(different // width, minlength=block.n_tasks)
        complete = ~np.logical_or.reduceat(rankings.strict != block.to_answers(n_items), block.starts)
        complete[block.gold_task[unpack(block.gold_label).strict == 0]] = False
        self._check_truths(block, different // width, different % width, complete)
        if self.domain.distance != "kendall" and not complete.all():
            raise UnsupportedError(
                f"The distance {self.domain.distance!r} needs complete rankings without ties, but some answers have"
                " ties, or rank other items than other answers to the same task. Use the distance 'kendall'."
            )
        hashes, parts = np.empty(len(block.label), np.uint64), list[Orders | Comparisons]()
        for q, whole, tasks, rows in split_tasks(block, n_items, complete):
            picked = block.pick(tasks, rows)
            if not whole:
                own = unpack(picked.label)
                hashes[rows] = _hash_labels(own, self.item_hash)
                parts.append(Comparisons.of(q, own, picked, tasks=tasks, rows=rows))
                continue
            order = rankings.table(np.isin(np.arange(len(block.label)), rows), q)
            hashes[rows] = hash_orders(self.item_hash[order.T])
            items, position = np.sort(order[picked.starts], axis=1), np.ascontiguousarray(find_positions(order).T)
            parts.append(Orders(block=picked, tasks=tasks, rows=rows, items=items, position=position))
        return block.keeping(Parts(tuple(parts), self.item_hash, self.domain.ties == "keep"), AnswerHashes(hashes))

    def _check_truths(self, block: Block, item_task: Array, items: Array, complete: Array) -> None:
        """Raise an error if gold labels and tasks differ in their items; with gaps, two common items suffice."""
        first = np.searchsorted(item_task, np.arange(block.n_tasks + 1))
        for code, task in zip(block.gold_label, block.gold_task.tolist(), strict=True):
            truth = set(unpack(np.array([code], object)).item.tolist())
            asked = set(items[first[task] : first[task + 1]].tolist())
            if truth == asked or (not complete[task] and len(truth & asked) >= min(len(asked), 2)):
                continue
            there, here = (
                ", ".join(str(self.items[item]) for item in sorted(which)[:_MAX_SHOWN]) for which in (truth, asked)
            )
            raise GoldError(f"A gold label and the answers to its task rank different items: {there} and {here}.")

    def describe(self) -> dict[str, Any]:
        about = {**super().describe(), "items": len(self.items), "longest": self.longest}
        return {**about, "exact": self.longest <= MOST_EXACT} if self.domain.rule in ("kemeny", "slater") else about


def _encode(parsed: list[tuple[Any, ...]], number: Mapping[Any, int]) -> Codes:
    """Convert parsed rankings to codes; repeated positions are looked up once."""
    numbers: dict[Any, list[int]] = {}
    for place in dict.fromkeys(chain.from_iterable(parsed)):
        first, *others = place if isinstance(place, tuple) else (place,)
        numbers[place] = [number[first], *(each for item in others for each in (TIED, number[item]))]
    return pack([each for place in ranking for each in numbers[place]] for ranking in parsed)


def _hash_labels(found: Rankings, item_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash labels with ties, gaps or several rankings, regardless of the order of these rankings."""
    begins, place = found.starts, mix(found.level.astype(np.uint64) * np.uint64(2))
    rankings = mix(np.add.reduceat(mix(item_hash[found.item] ^ place), begins))
    label = found.label[begins]
    return mix(np.add.reduceat(rankings, np.flatnonzero(np.append(True, np.diff(label) > 0))))


def _measure(left: Codes, right: Codes, distance: str) -> Floats:
    """Compare rankings row by row: orders of the same items by positions, others only by Kendall's distance."""
    result = np.full(len(left), np.nan)
    loose = np.ones(len(left), np.bool_)
    one, other = unpack(left), unpack(right)
    sizes = np.where(one.strict == other.strict, one.strict, 0)
    for q in np.unique(sizes[sizes > 0]).tolist():
        tables = [side.table(sizes == q, q) for side in (one, other)]
        places = [find_positions(table) for table in tables]
        items, others = (np.take_along_axis(*each, axis=1) for each in zip(tables, places, strict=True))
        same = (items == others).all(axis=1)
        rows = np.flatnonzero(sizes == q)[same]
        result[rows] = DISTANCES[distance].between(*(place[same].T for place in places))
        loose[rows] = False
    if loose.any() and distance == "kendall":
        result[loose] = compare_codes(left[loose], right[loose])
    return result


def _measure_to(block: Block, truth: Codes, distance: str) -> Floats:
    """Compute the distance between each answer and its task's label."""
    result = np.empty(len(block.label))
    for part in block[Parts].parts:
        label = truth[part.tasks]
        if isinstance(part, Orders) and ((listed := unpack(label)).strict == len(part.position)).all():
            places = part.block.to_answers(find_positions(listed.item.reshape(len(label), -1)))
            result[part.rows] = DISTANCES[distance].between(part.position, np.ascontiguousarray(places.T))
        else:
            result[part.rows] = _measure(part.block.label, part.block.to_answers(label), distance)
    return result


def _round(sums: Any) -> Any:
    """Round sums of fractions, so that a complete task counts as exactly 1."""
    if isinstance(sums, np.ndarray):
        return sums.round(_DIGITS)
    sums = sums.tocsr()  # merges repeated entries
    sums.data = sums.data.round(_DIGITS)
    return sums
