"""How rankings are compared and aggregated, one block at a time.

Tasks whose answers all order the same items go by positions, as ever. Where there are ties or gaps, a task goes by
pairs of items (`allalike.domains.rankings.compared`); the numbers would be the same, but complete orders need no list
of pairs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.matrices import MatrixSum
from allalike._core.blocks.pairs import add_pairs, pair_chunks
from allalike._core.columns.values import numpy_of
from allalike._core.late import pa, pc, pd
from allalike._core.limits import MAX_ITEMS
from allalike._core.system.json_text import parse_json
from allalike.domains.contract import Kernels
from allalike.domains.rankings import compared as comparisons
from allalike.domains.rankings import footrule, kendall
from allalike.domains.rankings.ballots import Parts
from allalike.domains.rankings.bradley_terry import sort_scores
from allalike.domains.rankings.codes import Listed, numbers
from allalike.domains.spelling import json_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.block import Ties
    from allalike.rules import Decision

DISTANCES = {"kendall": kendall, "footrule": footrule}
_DIGITS = 12
_MAX_INT8 = np.iinfo(np.int8).max


@dataclass(frozen=True, kw_only=True)
class RankingKernels(Kernels):
    """Sums of distances of rankings, linear in the number of answers, or of comparisons where there are gaps."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far rankings are apart, row by row; NaN where they have no pair of items in common."""
        return _distance(left, right, self.domain.distance)

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Return how far two orders at random of as many items are apart, for other tasks have other items."""
        return np.asarray(DISTANCES[self.domain.distance].of_guesses(_count_items(left)))

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        """Compare positions where orders are complete, and all others pair by pair of items."""
        found, rest = np.empty(len(left)), np.ones(len(left), np.bool_)
        for part in block[Parts]:
            column = np.full(len(block.label), -1)
            column[part.rows] = np.arange(len(part.rows))
            mine = np.flatnonzero(column[left] >= 0)
            one, other = (part.position[:, column[side[mine]]] for side in (left, right))
            found[mine], rest[mine] = DISTANCES[self.domain.distance].distance(one, other), False
        if rest.any():
            found[rest] = super().distance_within(block, left[rest], right[rest])
        return found

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Add up, per answer, distances to peers."""
        own = weights.take(block.worker)
        distance, weight = np.empty(len(own)), block.to_answers(block.per_task(own)) - own
        parts = block[Parts]
        for part in parts:
            peer_distance = DISTANCES[self.domain.distance].peer_distance
            distance[part.rows] = peer_distance(part.block, part.position, own[part.rows])
        if (loose := parts.loose) is not None:
            distance[loose.rows], weight[loose.rows] = loose.peer_distances(own[loose.rows])
        return distance, weight

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks, or the share that they share."""
        parts = block[Parts]
        if parts.loose is None:
            return add_pairs(block, rows, self._pairs(block, rows))
        asked = rows or slice(0, block.n_workers)
        shape = asked.stop - asked.start, block.n_workers
        total, common = MatrixSum(shape), MatrixSum(shape)
        for left, right, distance in self._pairs(block, asked):
            place = block.worker[left] - asked.start, block.worker[right]
            total.add_entries(*place, distance)
            common.add_entries(*place, np.ones(len(left)))
        parts.loose.add_pairs(block, total, common, asked)
        return {"distance": _round(total.result()), "common": _round(common.result())}

    def _pairs(self, block: Block, rows: slice | None) -> Iterator[tuple[Array, Array, Floats]]:
        """Yield pairs of answers to the tasks with complete orders, and their distances."""
        compare = DISTANCES[self.domain.distance].distance
        for part in block[Parts]:
            picked = replace(part.block, worker=block.worker[part.rows], n_workers=block.n_workers)
            for left, right in pair_chunks(picked, rows):
                yield part.rows[left], part.rows[right], compare(part.position[:, left], part.position[:, right])

    def distance_to(self, block: Block, truth: Array) -> Floats:
        """Measure how far each answer is from its task's truth; NaN where they have no pair of items in common."""
        return _distance_to(block, truth, self.domain.distance)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task by the rule; the agreement of the answers with the outcome is its confidence."""
        found = super().decide(block, weights, faults, ties)
        weight, total = block.answer_weights(weights)
        distance = _distance_to(block, found.label, "kendall")
        met = ~np.isnan(distance)
        if not met.all():
            weight, distance = weight * met, np.nan_to_num(distance)
            total = block.per_task(weight)
        share = 1 - np.divide(
            block.per_task(weight * distance), total, out=np.full(len(total), np.nan), where=total > 0
        )
        return replace(found, confidence=np.clip(share, 0.0, 1.0))

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find the truths, and where items have scores, these and their standard errors, best first."""
        found = super().aggregate(block, weights, faults, ties=ties)
        if "scores" not in found:
            return found
        scores, errors = sort_scores(block, weights, found["label"], found["scores"])
        return {**found, "scores": scores, "standard_errors": errors}

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell for which tasks two rankings are not the same."""
        apart = np.asarray(left != right, np.bool_)
        return apart if apart.ndim == 1 else np.asarray(apart.any(axis=1))


def find_positions(orders: Array) -> Array:
    """Return, per row, where the items stand, in the order of their codes; what fills a row up comes last.

    >>> find_positions(np.array([[7, 2, 5]]))
    array([[1, 2, 0]], dtype=int8)
    """
    codes = orders.view(f"u{orders.dtype.itemsize}")
    return np.argsort(codes, axis=1).astype(np.int8 if orders.shape[1] <= _MAX_INT8 else np.int16)


def _round(sums: Any) -> Any:
    """Round sums of fractions, so that a whole task is one."""
    if isinstance(sums, np.ndarray):
        return sums.round(_DIGITS)
    sums = sums.tocsr()  # where what belongs to the same place is one number
    sums.data = sums.data.round(_DIGITS)
    return sums


def _count_items(codes: Array) -> Array:
    """Count the items of each label, as far as is needed to know whether there are two."""
    return Listed.of(codes).sizes


def _distance_to(block: Block, truth: Array, distance: str) -> Floats:
    found = np.empty(len(block.worker))
    parts = block[Parts]
    for part in parts:
        codes, q = truth[part.tasks], len(part.position)
        whole, places = _find_complete(codes, q)
        each = np.stack([part.block.to_answers(place) for place in places.T])
        found[part.rows] = DISTANCES[distance].distance(part.position, each)
        if not whole.all():
            here = part.block.to_answers(~whole)
            rows, told = part.rows[here], part.block.to_answers(codes)[here]
            found[rows] = comparisons.distance(block.label[rows], told) if distance == "kendall" else np.nan
    if parts.loose is not None:
        found[parts.loose.rows] = parts.loose.distance_to(truth[parts.loose.tasks])
    return found


def _find_complete(codes: Array, q: int) -> tuple[npt.NDArray[np.bool_], Array]:
    """Tell which codes are orders of q items without ties and gaps, and where their items stand; 0 for all others."""
    if codes.ndim == 2:
        return np.ones(len(codes), np.bool_), find_places(codes, q)
    flat, sizes = numbers(codes)
    if (sizes == q).all() and (flat >= 0).all():
        return np.ones(len(codes), np.bool_), _places_in(flat, q)
    tied = sum_by(np.repeat(np.arange(len(codes)), sizes), (flat < 0).astype(np.float64), len(codes))
    whole = np.asarray((sizes == q) & (tied == 0))
    places = np.zeros((len(codes), q), np.int16)
    if whole.any():
        places[whole] = find_places(codes[whole], q)
    return whole, places


def find_places(codes: Array, q: int) -> Array:
    """Return the positions of items in complete orders of q items, in the order of their codes.

    >>> find_places(np.array([[7, 2, 5]]), 3)
    array([[1, 2, 0]], dtype=int8)
    """
    if codes.ndim == 2:
        return find_positions(codes)[:, :q]
    return _places_in(numbers(codes)[0], q)


def _places_in(items: Array, q: int) -> Array:
    return find_positions(items.astype(np.min_scalar_type(-int(items.max(initial=0)) - 1)).reshape(-1, q))


def _distance(left: Array, right: Array, distance: str) -> Floats:
    """Compare codes: complete orders of the same items by positions, all others pair by pair of items."""
    found = np.full(len(left), np.nan)
    loose = np.ones(len(left), np.bool_)
    (one, i), (other, j) = _list_once(left), _list_once(right)
    sizes = one.strict[i]
    same = (sizes > 0) & (sizes == other.strict[j])
    for q in np.unique(sizes[same]).tolist():
        chosen = same & (sizes == q)
        items, places = zip(*(_sort_items(*side, chosen, q) for side in ((one, i), (other, j))), strict=True)
        alike = (items[0] == items[1]).all(axis=1)
        rows = np.flatnonzero(chosen)[alike]
        found[rows] = DISTANCES[distance].distance(places[0][alike].T, places[1][alike].T)
        loose[rows] = False
    if loose.any() and distance == "kendall":
        found[loose] = comparisons.distance(left[loose], right[loose])
    return found


def _list_once(codes: Array) -> tuple[Listed, Array]:
    """List the items of codes, of which the same object is looked at once, and tell where each is in the list."""
    if codes.ndim == 2:
        return Listed.of(codes), np.arange(len(codes))

    addresses = np.frombuffer(codes.tobytes(), np.intp)  # of the objects, which is what an array of them holds
    place, different = pd.factorize(addresses)
    first = np.empty(len(different), np.intp)
    first[place[::-1]] = np.arange(len(codes))[::-1]
    return Listed.of(codes[first]), place


def _sort_items(listed: Listed, place: Array, chosen: Array, q: int) -> tuple[Array, Array]:
    """Return the items of some labels in their order, and the positions at which they stand."""
    rows = listed.strict == q
    table = listed.table(rows, q, np.min_scalar_type(-int(listed.items.max(initial=0)) - 1))
    position = find_positions(table)
    mine = (np.cumsum(rows) - 1)[place[chosen]]
    return np.take_along_axis(table, position, axis=1)[mine], position[mine]


# Rankings as they are written: items, best first, in a list, as text, or as ranks.
#
#     a>b>c          a > b = c > d          a>{b,c}>d          ["a", ["b", "c"], "d"]          {"a": 1, "b": 2, "c": 2}
#
# A ranking is parsed into a tuple of items, best first; items that are tied stand in a tuple of their own. Whoever
# ranks some items only says nothing about the others.


_MAX_SHOWN_ITEMS = 6
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_TIES = re.compile("[=~]")
_NOT_PLAIN = r"[<{}\[]|^[^>=~]*[,;|][^>=~]*$"  # what is more than items with marks between them, or wrong
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


def read_ranking(value: Any) -> tuple[Any, ...]:
    """Read a ranking as a tuple of different items; raise ValueError with the reason if it is none.

    >>> read_ranking("x > y>z"), read_ranking('[3, 1]')
    (('x', 'y', 'z'), (3, 1))
    >>> read_ranking("a>b=c"), read_ranking("a>{c,b}"), read_ranking([["a"], ["b", "c"]])
    (('a', ('b', 'c')), ('a', ('b', 'c')), ('a', ('b', 'c')))
    >>> read_ranking({"a": 1, "b": 2, "c": 2})
    ('a', ('b', 'c'))
    """
    places = [tuple(map(_item, place)) for place in _places(value)]
    items = list(chain.from_iterable(places))
    if len(set(items)) < len(items):
        twice = next(item for place, item in enumerate(items) if item in items[:place])
        raise ValueError(f"it ranks {_shortened(twice)} twice")
    if not 0 < len(items) <= MAX_ITEMS:
        raise ValueError(f"it ranks {len(items):,} items; 1 to {MAX_ITEMS:,} can be compared")
    return tuple(place[0] if len(place) == 1 else tuple(in_order(place)) for place in places)


def read_rankings(texts: Any) -> list[tuple[Any, ...] | None]:
    """Read an Arrow array of texts as `read_ranking` does, but all at once, and leave what is not plain to it.

    >>> import pyarrow as pa
    >>> read_rankings(pa.array(["x > y>z", "a>c=b", "[3, 1]", "a>a", ""]))
    [('x', 'y', 'z'), ('a', ('b', 'c')), None, None, None]
    """
    if pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type):
        return [None] * len(texts)
    texts = texts.cast(pa.large_string())  # in which texts may have more than 2 GB together
    split = pc.split_pattern(texts, ">")
    coded = split.flatten().dictionary_encode()
    places = [_read_place(text) for text in coded.dictionary.to_pylist()]
    code, ends = numpy_of(coded.indices), numpy_of(split.offsets)
    sizes = np.diff(ends)
    owner = np.repeat(np.arange(len(texts)), sizes)
    odd = numpy_of(pc.match_substring_regex(texts, _NOT_PLAIN)) | (sizes > MAX_ITEMS)
    odd[owner[np.array([place is None for place in places], np.bool_)[code]]] = True
    keys = np.sort(owner * len(places) + code)
    odd[keys[1:][keys[1:] == keys[:-1]] // max(len(places), 1)] = True
    flat = list(map(places.__getitem__, code.tolist()))
    found = [
        None if skip else tuple(flat[begin:end])
        for skip, (begin, end) in zip(odd, pairwise(ends.tolist()), strict=True)
    ]
    tied = np.array([isinstance(place, tuple) for place in places], np.bool_)[code]
    for label in np.unique(owner[tied & (sizes[owner] > 1)]).tolist():  # may have an item here and there
        items = list_items(found[label] or ())
        if len(set(items)) < len(items) or len(items) > MAX_ITEMS:
            found[label] = None
    return found


def _read_place(text: str) -> Any:
    """Read the items of one place; nothing if there is something wrong with it, or perhaps."""
    items = [item.strip() for item in _TIES.split(text)]
    if not all(items) or len(set(items)) < len(items):
        return None
    return items[0] if len(items) == 1 else tuple(in_order(items))


def list_items(parsed: tuple[Any, ...]) -> list[Any]:
    """List the items of a parsed ranking, whether they are tied or not.

    >>> list_items(("a", ("b", "c")))
    ['a', 'b', 'c']
    """
    return [item for place in parsed for item in (place if isinstance(place, tuple) else (place,))]


def describe_difference(what: str, left: list[Any], right: list[Any]) -> str:
    """Say that two rankings have different items, and which."""
    here, there = ([_shortened(item) for item in items] for items in (left, right))
    only = [item for item in (*here, *there) if (item in here) != (item in there)]
    return (
        f"{what} rank different items: {_joined(here, ' > ')} against {_joined(there, ' > ')}. Only one of them has"
        f" {_joined(only, ', ')}."
    )


def _places(value: Any) -> list[list[Any]]:
    """Take a label apart into places, best first, and each of these into the items that share it."""
    if isinstance(value, str):
        text = value.lstrip()
        if text.startswith("{") and ":" in text:
            return _by_rank(_json_ranks(text))
        return _nested(json_list(text)) if text.startswith("[") else _split(value)
    if isinstance(value, Mapping):
        return _by_rank(value)
    if isinstance(value, list | tuple):
        return _nested(list(value))
    if isinstance(value, np.ndarray) and value.ndim:
        return _nested(list(value.tolist()))
    raise ValueError("a ranking is a list of items, or text such as 'a>b>c'")


def _nested(places: list[Any]) -> list[list[Any]]:
    if any(isinstance(place, _SEVERAL) and not len(place) for place in places):
        raise ValueError("a place has no item")
    return [list(place) if isinstance(place, _SEVERAL) else [place] for place in places]


def _json_ranks(text: str) -> Mapping[Any, Any]:
    try:
        ranks: Mapping[Any, Any] = parse_json(text)
    except json.JSONDecodeError:
        raise ValueError('it looks like ranks, but is no JSON such as {"a": 1, "b": 2}') from None
    return ranks


def _by_rank(ranks: Mapping[Any, Any]) -> list[list[Any]]:
    """Sort items by their ranks, of which the smallest is the best."""
    places: dict[float, list[Any]] = {}
    for item, rank in ranks.items():
        number = rank.item() if isinstance(rank, np.generic) else rank
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError(f"the rank of {_shortened(item)} is {rank!r}, which is no number")
        places.setdefault(number, []).append(item)
    return [places[rank] for rank in sorted(places)]


def _split(text: str) -> list[list[str]]:
    if "<" in text or (">" not in text and not _TIES.search(text) and any(mark in text for mark in ",;|")):
        raise ValueError("a ranking is written best first, with '>' between the items, or as a JSON list")
    return [_split_place(place.strip()) for place in text.split(">")]


def _split_place(place: str) -> list[str]:
    """Take a place apart: an item, several with '=' between them, or several in braces."""
    if place.startswith("{") and place.endswith("}"):
        return [item.strip() for item in place[1:-1].split(",")]
    if "{" in place or "}" in place:
        raise ValueError("items that share a place are written as a>b=c, or as a>{b,c}")
    return [item.strip() for item in _TIES.split(place)]


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
    raise ValueError(f"{item!r} is neither the name nor the number of an item")


def in_order(items: Iterable[Any]) -> list[Any]:
    """Sort numbers by size and names by letters; names that are whole numbers count as numbers here."""
    items = list(items)
    if all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in items):
        return sorted(items, key=int)
    return sorted(items, key=lambda item: (isinstance(item, str), item))


def write_ranking(ranking: Any) -> str:
    """Write a ranking so that it can be read again; several by one worker stand one behind the other.

    >>> write_ranking(["a", ["b", "c"]]), write_ranking(["a>b", "c"]), write_ranking("a>b; c>a")
    ('a>b=c', '["a>b", "c"]', 'a>b; c>a')
    """
    if isinstance(ranking, str):  # which stands for several
        return ranking
    places = [[str(item) for item in (place if isinstance(place, list) else [place])] for place in ranking]
    text = ">".join("=".join(place) for place in places)
    try:
        plain = _places(text) == places and not text.startswith(("[", "{"))
    except ValueError:
        plain = False
    return text if plain else json.dumps(ranking, ensure_ascii=False)


def _joined(items: list[str], separator: str) -> str:
    shown = items[:_MAX_SHOWN_ITEMS]
    return separator.join([*shown, "..."] if len(items) > len(shown) else shown)


def _shortened(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:30]}..."
