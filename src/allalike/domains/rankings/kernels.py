"""How rankings are compared and aggregated, one block at a time.

Tasks whose answers all order the same items go by positions, as ever. Where there are ties or gaps, a task goes by
pairs of items (`allalike.distances.comparisons`); the numbers would be the same, but complete orders need no list of
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.matrices import MatrixSum
from allalike._core.blocks.pairs import add_pairs, pair_chunks
from allalike._core.blocks.rankings import Listed, numbers
from allalike._core.late import pd
from allalike.distances import comparisons, footrule, kendall
from allalike.domains.contract import Kernels
from allalike.rules.ballots import Parts
from allalike.rules.bradley_terry import sort_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.ties import Ties
    from allalike.rules import Decision

__all__ = ["DISTANCES", "RankingKernels", "find_places", "find_positions"]

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
