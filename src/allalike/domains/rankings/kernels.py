"""Kernels of rankings: distances and rules, one block at a time.

Tasks whose answers all order the same items are compared by positions, all others pair by pair of items. The numbers
would be the same, but complete orders need no list of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.matrices import MatrixSum
from allalike._core.blocks.pairs import pair_chunks
from allalike._core.late import pd
from allalike.domains.contract import Kernels
from allalike.domains.rankings import comparisons
from allalike.domains.rankings.ballots import Parts
from allalike.domains.rankings.codes import Codes, Listed
from allalike.domains.rankings.positions import DISTANCES, PositionDistance

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.rules import Decision

_DIGITS = 12
_MAX_INT8 = np.iinfo(np.int8).max


@dataclass(frozen=True, kw_only=True)
class RankingKernels(Kernels):
    """Sums of distances of rankings, linear in the number of answers, or of comparisons where there are gaps."""

    @property
    def distance(self) -> PositionDistance:
        """The distance of complete rankings."""
        return DISTANCES[self.domain.distance]

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far rankings are apart, row by row; NaN where they have no pair of items in common."""
        result = np.full(len(left), np.nan)
        loose = np.ones(len(left), np.bool_)
        (one, i), (other, j) = _list_distinct(left), _list_distinct(right)
        sizes = one.strict[i]
        same = (sizes > 0) & (sizes == other.strict[j])
        for q in np.unique(sizes[same]).tolist():
            chosen = same & (sizes == q)
            items, places = _sort_chosen(one, i[chosen], q)
            other_items, other_places = _sort_chosen(other, j[chosen], q)
            alike = (items == other_items).all(axis=1)
            rows = np.flatnonzero(chosen)[alike]
            result[rows] = self.distance.between(places[alike].T, other_places[alike].T)
            loose[rows] = False
        if loose.any() and self.domain.distance == "kendall":
            result[loose] = comparisons.distance(left[loose], right[loose])
        return result

    def guess_distances(self, left: Array, right: Array) -> Floats:
        """Return how far two orders at random of as many items are apart, for other tasks have other items."""
        return np.asarray(self.distance.of_guesses(Listed.of(left).sizes.astype(np.float64)))

    def distance_within(self, block: Block, left: Array, right: Array) -> Floats:
        """Compare positions where orders are complete, and all others pair by pair of items."""
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
        """Add up, per answer, distances to peers."""
        own = weights.take(block.worker)
        distance, weight = np.empty(len(own)), block.to_answers(block.per_task(own)) - own
        parts = block[Parts]
        for part in parts.parts:
            distance[part.rows] = self.distance.to_peers(part.block, part.position, own[part.rows])
        if (loose := parts.loose) is not None:
            distance[loose.rows], weight[loose.rows] = loose.peer_distances(own[loose.rows])
        return distance, weight

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        """Add up, per pair of workers, the distance and the number of common tasks, or the share that they share."""
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
        """Measure how far each answer is from its task's truth; NaN where they have no pair of items in common."""
        return _measure_distance_to(block, truth, self.domain.distance)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task by the rule; the agreement of the answers with the outcome is its confidence."""
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


def _list_distinct(codes: Codes) -> tuple[Listed, Array]:
    """List the items of the different codes, and return where each code is in the list."""
    place, different = pd.factorize(codes)
    return Listed.of(different), place


def _sort_chosen(listed: Listed, place: Array, q: int) -> tuple[Array, Array]:
    """Return the items of some labels in their order, and the positions at which they stand."""
    rows = listed.strict == q
    table = listed.table(rows, q)
    position = find_positions(table)
    mine = (np.cumsum(rows) - 1)[place]
    return np.take_along_axis(table, position, axis=1)[mine], position[mine]
