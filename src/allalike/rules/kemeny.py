"""Kemeny and Slater: the order that contradicts the answers the least.

    minimise the sum of P(b, a) over all pairs with a before b,

where P(b, a) is the share of weight that puts b before a (Kemeny 1959). It is the maximum-likelihood order if workers
err as Mallows says. Slater's rule counts majorities instead of weight: 1 if P(b, a) > 1/2, else 0 (Slater 1961).

Finding the best order is NP-hard. Up to 16 items a dynamic programme finds the best cost of every set of items at the
top (Held and Karp 1962). Where several orders are best, up to 8 items all orders are listed and one of the best is
drawn; with more items the draw goes item by item, from the bottom. With more than 16 items the search is local: it
starts from Borda's order and moves one item at a time to where it helps most, until no move helps. Such an order need
not be the best, and the domain says so (``exact: false``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.ties import TOLERANCE, Ties
from allalike.rules.ballots import Ballots, Drawn, Ranked, decide
from allalike.rules.orders import MOST_LISTED, all_orders, draw_order, task_chunks

if TYPE_CHECKING:
    from allalike.blocks.block import Block, Floats
    from allalike.rules.base import Decision

__all__ = ["MOST_EXACT", "kemeny", "slater"]

MOST_EXACT = 16  # items
_MAX_LISTED_ITEMS = 6  # items whose orders are listed sooner than the programme is run


def kemeny(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking with the least weighted Kendall tau distance to the answers.

    It works best of all rules if workers err as Mallows says, with up to 16 items exactly. It fails to be quick
    with many, and to be unique where answers are few.

    >>> import allalike
    >>> from allalike.domains.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=Ranking(rule="kemeny"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, lambda votes: _least_cost(votes, votes.before))


def slater(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking that contradicts the fewest majorities.

    It works where majorities are clear. It fails where they are narrow, for one of 51 % counts as much as one of
    all; several orders are then equally good, and one is drawn.

    >>> import allalike
    >>> from allalike.domains.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=Ranking(rule="slater"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, lambda votes: _least_cost(votes, (votes.margin > 0).astype(np.float64)))


def _least_cost(votes: Ballots, against: Floats) -> Ranked:
    """Minimise, per task, the sum of against[b, a] over all pairs with a before b."""
    if votes.n_items > MOST_EXACT:
        return _search(votes, against)
    everyone = np.arange(votes.n_tasks)
    order, drawn = np.empty((votes.n_tasks, votes.n_items), np.intp), np.ones(votes.n_tasks, np.bool_)
    if votes.n_items > min(_MAX_LISTED_ITEMS, MOST_LISTED):
        for tasks in task_chunks(everyone, votes.n_items << votes.n_items):
            order[tasks], drawn[tasks] = _by_sets(against[tasks], votes.priority(tasks))
    if votes.n_items <= MOST_LISTED:
        orders = all_orders(votes.n_items)
        for tasks in task_chunks(everyone[drawn], len(orders.order)):
            order[tasks], drawn[tasks] = draw_order(votes, tasks, orders.cost(against[tasks]))
    return order, drawn


def _by_sets(against: Floats, priority: npt.NDArray[np.uint64]) -> Drawn:
    """Find the best order from the best costs of all sets of items, a set being the bits of a number."""
    n_tasks, n_items, _ = against.shape
    behind = np.zeros((n_tasks, n_items, 1))  # of item and set: the cost of the item right behind the set
    for item in range(n_items):
        behind = np.concatenate([behind, behind + against[:, :, item, None]], axis=2)
    cost = np.full((n_tasks, 1 << n_items), np.inf)
    cost[:, 0] = 0.0
    for sets in _sets_by_size(n_items)[1:]:
        for item in range(n_items):
            with_item = sets[sets >> item & 1 == 1]
            rest = with_item ^ (1 << item)
            cost[:, with_item] = np.minimum(cost[:, with_item], cost[:, rest] + behind[:, item, rest])
    everyone, items = np.arange(n_tasks), np.arange(n_items)
    order = np.zeros((n_tasks, n_items), np.intp)
    drawn = np.zeros(n_tasks, np.bool_)
    left = np.full(n_tasks, (1 << n_items) - 1)
    for place in range(n_items - 1, -1, -1):
        rest = left[:, None] ^ (1 << items)
        is_left = left[:, None] >> items & 1 == 1
        last = np.where(is_left, cost[everyone[:, None], rest] + behind[everyone[:, None], items, rest], np.inf)
        best = last <= cost[everyone, left][:, None] + TOLERANCE
        drawn |= best.sum(axis=1) > 1
        order[:, place] = np.lexsort((priority, best), axis=-1)[:, -1]
        left ^= 1 << order[:, place]
    return order, drawn


@lru_cache(maxsize=MOST_EXACT)
def _sets_by_size(n_items: int) -> list[npt.NDArray[np.int64]]:
    sets = np.arange(1 << n_items)
    size = np.bitwise_count(sets)
    return [np.flatnonzero(size == k) for k in range(n_items + 1)]


def _search(votes: Ballots, against: Floats) -> Ranked:
    """Move one item at a time to where it helps most, from Borda's order, until no move helps.

    Where another order is a move away and as good, the order counts as drawn.
    """
    everyone = np.arange(votes.n_tasks)
    order = votes.by_score(votes.before.sum(axis=2))[0]
    drawn = np.zeros(votes.n_tasks, np.bool_)
    active = everyone
    while len(active):
        gain = _gains(against[active], order[active])
        best = gain.reshape(len(active), -1).argmax(axis=1)
        item, target = np.divmod(best, votes.n_items)
        largest = gain[np.arange(len(active)), item, target]
        improves = largest > TOLERANCE
        drawn[active[~improves]] = np.abs(largest[~improves]) <= TOLERANCE
        active, item, target = active[improves], item[improves], target[improves]
        order[active] = _moved(order[active], item, target)
    return order, drawn


def _gains(against: Floats, order: npt.NDArray[np.intp]) -> Floats:
    """Return, per task, by how much moving the item at place i (row) to place j (column) lowers the cost."""
    n_items = order.shape[1]
    rows = np.take_along_axis(against, order[:, :, None], axis=1)
    sorted_against = np.take_along_axis(rows, order[:, None, :], axis=2)
    later = sorted_against.transpose(0, 2, 1) - sorted_against  # of i and k: the gain if i goes from before k to behind
    down = np.triu(later, 1).cumsum(axis=2)
    up = np.tril(-later, -1)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    gain = np.where(np.arange(n_items) > np.arange(n_items)[:, None], down, up)
    gain[:, np.arange(n_items), np.arange(n_items)] = -np.inf
    return np.asarray(gain, np.float64)


def _moved(
    order: npt.NDArray[np.intp], item: npt.NDArray[np.intp], target: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Move the item at one place to another; those between make room."""
    place = np.tile(np.arange(order.shape[1], dtype=np.float64), (len(order), 1))
    place[np.arange(len(order)), item] = target + np.where(target > item, 0.5, -0.5)
    return np.take_along_axis(order, np.argsort(place, axis=1), axis=1)
