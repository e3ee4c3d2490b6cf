"""Rules that search for an optimal order: Kemeny, Slater, and the error-correcting rule.

    cost(order) = sum of P(b, a) over all pairs with a before b

is minimal for Kemeny's order, where P(b, a) is the share of weight that prefers b to a (Kemeny 1959). It is the
maximum-likelihood order under Mallows' model. Slater's rule counts majorities instead of weight: 1 if P(b, a) > 1/2,
otherwise 0 (Slater 1961).

Finding the optimal order is NP-hard. Up to 16 items, dynamic programming computes the minimum cost of every set of
items at the top (Held and Karp 1962). If several orders are optimal, one is drawn: from all of them for up to 8 items,
otherwise item by item from the bottom. For more than 16 items, a local search starts from Borda's order and repeatedly
makes the best move of a single item. The summary then reports ``exact: false``, because the result may be suboptimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Floats
from allalike._core.limits import MAX_LISTED_ITEMS, MAX_ORDERED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Ranked, check_time, hash_orders, voting_rule
from allalike.domains.rankings.parts import cut_tasks

MOST_EXACT = 16  # items
_MOST_LISTED = 6  # items; up to this number, listing all orders is faster than dynamic programming


@voting_rule
def kemeny(votes: Ballots) -> Ranked:
    """Return the ranking with the smallest weighted Kendall tau distance to the answers.

    The rule works best if errors follow Mallows' model, and is exact for up to 16 items. It fails with many items,
    where it is slow, and with few answers, where several orders are optimal.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="kemeny"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return _least_cost(votes, votes.before, "kemeny")


@voting_rule
def slater(votes: Ballots) -> Ranked:
    """Return the ranking that contradicts the fewest majorities.

    The rule works with clear majorities. It fails with narrow ones, because a majority of 51 % counts as much as
    unanimity. Several orders are then optimal, and one is chosen at random.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>c>a"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="slater"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return _least_cost(votes, (votes.margin > 0).astype(np.float64), "slater")


def _least_cost(votes: Ballots, against: Floats, rule: str) -> Ranked:
    """Minimise the sum of against[b, a] over all pairs with a before b, per task."""
    everyone = np.arange(votes.n_tasks)
    order, drawn = np.empty((votes.n_tasks, votes.n_items), np.intp), np.ones(votes.n_tasks, np.bool_)
    if votes.n_items > MOST_EXACT:
        check_time(votes.n_items, most=MAX_ORDERED_ITEMS, rule=rule)
        start = votes.by_score(votes.before.sum(axis=2)).order
        for task in range(votes.n_tasks):
            order[task], drawn[task] = _improve(against[task], start[task])
        return Ranked(order, drawn)
    if votes.n_items > min(_MOST_LISTED, MAX_LISTED_ITEMS):
        for some in cut_tasks(votes.n_tasks, votes.n_items << votes.n_items):
            order[some], drawn[some], *_ = _by_sets(against[some], votes.priority(everyone[some]))
    if votes.n_items <= MAX_LISTED_ITEMS:
        orders = _all_orders(votes.n_items)
        several = np.flatnonzero(drawn)
        for tasks in (several[some] for some in cut_tasks(len(several), len(orders.order))):
            order[tasks], drawn[tasks], *_ = _draw_order(votes, tasks, orders.cost(against[tasks]))
    return Ranked(order, drawn)


def _by_sets(against: Floats, priority: npt.NDArray[np.uint64]) -> Ranked:
    """Compute the optimal order from the optimal costs of all sets of items; bits of an index represent a set."""
    n_tasks, n_items, _ = against.shape
    behind = np.zeros((n_tasks, n_items, 1))  # per item and set: the cost of placing the item right after the set
    for item in range(n_items):
        behind = np.concatenate([behind, behind + against[:, :, item, None]], axis=2)
    cost, sets = np.full((n_tasks, 1 << n_items), np.inf), np.arange(1 << n_items)
    cost[:, 0], size = 0.0, np.bitwise_count(sets)
    for k in range(1, n_items + 1):
        for item in range(n_items):
            with_item = np.flatnonzero((size == k) & (sets >> item & 1 == 1))
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
    return Ranked(order, drawn)


def _improve(against: Floats, order: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], bool]:
    """Make the best move of one item until no move helps; return the order, and whether an equally good move exists.

    The cost decreases by later[i, k] if the item at position i moves from before to after the item at position k.
    ``gain`` contains cumulative sums along rows, starting with zero. The gain of a move is the difference to gain[i,
    i]: gain[i, j + 1] for a move down to j, and gain[i, j] for a move up to j.
    """
    n_items = len(order)
    place = np.arange(n_items)
    later = (against.T - against)[np.ix_(order, order)]
    while True:
        gain = np.pad(np.cumsum(later, axis=1), ((0, 0), (1, 0)))
        gain -= gain[place, place][:, None]
        gain[place, place] = gain[place, place + 1] = -np.inf  # excludes the current position
        largest = gain.max()
        if largest <= TOLERANCE:
            return order, bool(largest >= -TOLERANCE)
        start, stop = divmod(int(np.argmax(gain >= largest - TOLERANCE)), n_items + 1)
        target = stop if stop < start else stop - 1
        moved = np.insert(np.delete(place, start), target, start)
        order, later = order[moved], later[np.ix_(moved, moved)]


@dataclass(frozen=True)
class _Orders:
    """All orders of a number of items."""

    order: npt.NDArray[np.int8]

    @property
    def pairs(self) -> npt.NDArray[np.intp]:
        """The pairs of items a < b."""
        return np.array(np.triu_indices(self.order.shape[1], 1))

    @cached_property
    def forth(self) -> Floats:
        """Whether a precedes b, per pair of items a < b (row) and order (column), as 1 or 0."""
        a, b = self.pairs
        place = np.argsort(self.order, axis=1).T
        return np.asarray(place[a] < place[b], np.float64)

    @cached_property
    def reverse(self) -> npt.NDArray[np.intp]:
        """The index of each order's reverse."""
        return self.number(self.order[:, ::-1])

    @cached_property
    def neighbours(self) -> npt.NDArray[np.intp]:
        """The index of each order with two adjacent items swapped, with a row per position."""
        swapped = []
        for here in range(self.order.shape[1] - 1):
            order = self.order.copy()
            order[:, [here, here + 1]] = order[:, [here + 1, here]]
            swapped.append(self.number(order))
        return np.array(swapped, np.intp).reshape(-1, len(self.order))

    def number(self, order: Array) -> npt.NDArray[np.intp]:
        """Return the indices of orders given as rows: the number of preceding orders."""
        numbers, n_items = np.zeros(len(order), np.intp), order.shape[1]
        for k in range(n_items):
            numbers += (order[:, k + 1 :] < order[:, k, None]).sum(axis=1) * factorial(n_items - 1 - k)
        return numbers

    def cost(self, against: Floats) -> Floats:
        """Sum against[b, a] over all pairs with a before b, per task and order."""
        a, b = self.pairs
        back, forth = against[:, a, b], against[:, b, a]
        return np.asarray(back.sum(axis=1, keepdims=True) + (forth - back) @ self.forth)

    def levels(self, start: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
        """Count the swaps of neighbours from each order (row) to the nearest of a set of orders, per task."""
        level = np.where(start, 0, -1).astype(np.int8)
        reached = start
        for step in range(1, len(self.forth) + 1):
            new = np.zeros_like(reached)
            for neighbour in self.neighbours:
                new |= reached[neighbour]
            new &= level < 0
            if not new.any():
                break
            level[new] = step
            reached = new
        return level


@lru_cache(maxsize=MAX_LISTED_ITEMS + 1)
def _all_orders(n_items: int) -> _Orders:
    """List all orders of a number of items."""
    return _Orders(np.array(list(permutations(range(n_items))), np.int8).reshape(-1, n_items))


def _draw_order(votes: Ballots, tasks: npt.NDArray[np.intp], badness: Floats) -> Ranked:
    """Return the order with the smallest badness for each task, chosen at random among equals; orders are columns."""
    table = _all_orders(votes.n_items)
    best = badness <= badness.min(axis=1, keepdims=True) + TOLERANCE
    winner = best.argmax(axis=1)
    drawn = np.count_nonzero(best, axis=1) > 1
    if drawn.any():
        place, number = np.nonzero(best & drawn[:, None])
        items = votes.part.items[tasks[place, None], table.order[number]]
        hashes = hash_orders(votes.parts.item_hash[items].T)
        priority = votes.ties.priority(votes.part.block.task_hash[tasks[place]], hashes, number)
        ranked = np.lexsort((priority, place))
        first = np.concatenate([[True], np.diff(place[ranked]) > 0])
        winner[drawn] = number[ranked[first]]
    return Ranked(table.order[winner].astype(np.intp), drawn)


# The error-correcting rule: the ranking with the smallest maximum error.
#
# Let t be half of the largest Kendall tau distance between two answers. Every ranking whose weighted mean distance to
# the answers is at most t is a candidate for the true ranking. The estimate minimises the largest distance to all
# candidates (Procaccia, Shah and Zick 2016). Without candidates, it is Kemeny's order.
#
# The largest distance to a set B follows from K(r, b) = q(q-1)/2 - K(r, b reversed): it is largest for the order
# nearest to B reversed. Breadth-first search over swaps of neighbours computes distances to a set. Since there are q!
# rankings, the maximum is 8 items.


@voting_rule
def minimax(votes: Ballots) -> Ranked:
    """Return the ranking with the smallest maximum error, if errors are at most half of the largest disagreement.

        label = the r with the least max over r' of K(r, r'),   r' with sum_i w_i K(r', x_i) / sum_i w_i <= t

    The rule works against adversarial errors of bounded size. It fails if errors are random, as most are: Kemeny's
    order is then closer on average.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="minimax"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    check_time(votes.n_items, most=MAX_LISTED_ITEMS, rule="minimax")
    orders = _all_orders(votes.n_items)
    n_orders, n_pairs = len(orders.order), len(orders.forth)
    task = votes.part.block.task
    number = orders.number(np.argsort(votes.position, axis=0).T)
    order, drawn = np.empty((votes.n_tasks, votes.n_items), np.intp), np.empty(votes.n_tasks, np.bool_)
    for tasks in (np.arange(votes.n_tasks)[some] for some in cut_tasks(votes.n_tasks, n_orders)):
        cost = orders.cost(votes.before[tasks])
        here = slice(*np.searchsorted(task, [tasks[0], tasks[-1] + 1]))
        given = np.zeros(cost.shape[::-1], np.bool_)
        given[number[here], task[here] - tasks[0]] = True
        largest = n_pairs - np.where(given, orders.levels(given[orders.reverse]), n_pairs).min(axis=0)
        possible = (cost <= largest[:, None] / 2 + TOLERANCE).T
        badness = -orders.levels(possible[orders.reverse]).T.astype(np.float64)
        nothing = ~possible.any(axis=0)
        badness[nothing] = cost[nothing]
        order[tasks], drawn[tasks], *_ = _draw_order(votes, tasks, badness)
    return Ranked(order, drawn)
