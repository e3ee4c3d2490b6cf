"""Kemeny and Slater: the order that contradicts the answers the least.

    cost(order) = sum of P(b, a) over all pairs with a before b,

is the least for Kemeny's order, where P(b, a) is the share of weight that puts b before a (Kemeny 1959). It is the
maximum-likelihood order if workers err as Mallows says. Slater's rule counts majorities instead of weight: 1 if P(b, a)
> 1/2, else 0 (Slater 1961).

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

from allalike._core.blocks.block import TOLERANCE, Ties
from allalike._core.limits import MAX_LISTED_ITEMS, MAX_ORDERED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Drawn, Ranked, decide
from allalike.domains.rankings.orders import all_orders, draw_order, task_chunks
from allalike.domains.rankings.tables import check_time, report_search

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.rules.base import Decision

MOST_EXACT = 16  # items
_MOST_LISTED = 6  # items whose orders are listed sooner than the programme is run


def kemeny(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking with the least weighted Kendall tau distance to the answers.

    It works best of all rules if workers err as Mallows says, with up to 16 items exactly. It fails to be quick
    with many, and to be unique where answers are few.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=Ranking(rule="kemeny"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, lambda votes: _least_cost(votes, votes.before, "kemeny"))


def slater(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking that contradicts the fewest majorities.

    It works where majorities are clear. It fails where they are narrow, for one of 51 % counts as much as one of
    all; several orders are then equally good, and one is drawn.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=Ranking(rule="slater"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(
        block, weights, ties, lambda votes: _least_cost(votes, (votes.margin > 0).astype(np.float64), "slater")
    )


def _least_cost(votes: Ballots, against: Floats, rule: str) -> Ranked:
    """Minimise, per task, the sum of against[b, a] over all pairs with a before b."""
    if votes.n_items > MOST_EXACT:
        return _search(votes, against, rule)
    everyone = np.arange(votes.n_tasks)
    order, drawn = np.empty((votes.n_tasks, votes.n_items), np.intp), np.ones(votes.n_tasks, np.bool_)
    if votes.n_items > min(_MOST_LISTED, MAX_LISTED_ITEMS):
        for tasks in task_chunks(everyone, votes.n_items << votes.n_items):
            order[tasks], drawn[tasks] = _by_sets(against[tasks], votes.priority(tasks))
    if votes.n_items <= MAX_LISTED_ITEMS:
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


def _search(votes: Ballots, against: Floats, rule: str) -> Ranked:
    """Move one item at a time to where it helps most, from Borda's order, until no move helps.

    Where another order is a move away and as good, the order counts as drawn.
    """
    check_time(votes.n_items, most=MAX_ORDERED_ITEMS, rule=rule)
    order = votes.by_score(votes.before.sum(axis=2))[0]
    drawn = np.zeros(votes.n_tasks, np.bool_)
    for task in range(votes.n_tasks):
        order[task], drawn[task] = _improve(against[task], order[task], rule)
    return order, drawn


def _improve(against: Floats, order: npt.NDArray[np.intp], rule: str) -> tuple[npt.NDArray[np.intp], bool]:
    """Move items while it helps; return the order, and whether there is another as good, a move away.

    The cost falls by later[i, k] if the item at place i goes from before the one at place k to behind it. ``gain`` adds
    that up along each row, from a column of zeros on: from gain[i, i], where the item stands, to gain[i, j + 1] if it
    goes down to j, and to gain[i, j] if it goes up to j. A move changes these sums between its two places alone.
    """
    n_items = len(order)
    sorted_against = against[np.ix_(order, order)]
    later = sorted_against.T - sorted_against
    gain = np.zeros((n_items, n_items + 1))
    np.cumsum(later, axis=1, out=gain[:, 1:])
    place, moves = np.arange(n_items), 0
    while True:
        rise = gain - gain[place, place][:, None]
        rise[place, place] = rise[place, place + 1] = -np.inf  # where it stands already
        largest = rise.max()
        if largest <= TOLERANCE:
            return order, bool(largest >= -TOLERANCE)
        start, stop = divmod(int(np.argmax(rise >= largest - TOLERANCE)), n_items + 1)
        target = stop if stop < start else stop - 1
        low, high = min(start, target), max(start, target) + 1
        shift = 1 if target < start else -1
        order[low:high] = np.roll(order[low:high], shift)
        later[low:high] = np.roll(later[low:high], shift, axis=0)
        later[:, low:high] = np.roll(later[:, low:high], shift, axis=1)
        gain[low:high] = np.roll(gain[low:high], shift, axis=0)
        gain[:, low + 1 : high + 1] = gain[:, low, None] + later[:, low:high].cumsum(axis=1)
        moves += 1
        report_search(rule, n_items, moves, 0)
