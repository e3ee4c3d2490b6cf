"""Voting rules that go step by step: STV strikes out items, ranked pairs locks majorities in.

Both break a tie at the step where it arises, by the priorities of the items in it, and go on from there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Ties
from allalike._core.limits import MAX_LISTED_ITEMS, MAX_ORDERED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Ranked, decide
from allalike.domains.rankings.orders import all_orders, draw_order, task_chunks
from allalike.domains.rankings.tables import check_time, report_search
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.rules.base import Decision

_MAX_TOGETHER = 40  # items of tasks that are decided together
_PAIRS_AT_ONCE = 1 << 10


class _Majorities(NamedTuple):
    """Of each pair of items, per task: winner, loser, margin, and the number of its size; the largest come first."""

    winner: npt.NDArray[np.intp]
    loser: npt.NDArray[np.intp]
    margin: Floats
    level: npt.NDArray[np.int64]


def stv(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Strike out, again and again, the item that the least weight puts first; the last to be struck out is the best.

    Among items with equally little weight, one is drawn (single transferable vote; Hare 1859).

        struck out next = the a with the least w(a is first among those left)

    It works for choosing one item by people who know their first choices well. It fails to be monotone: more first
    places may harm an item.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>c>b"), ("eve", 1, "b>c>a"), ("joe", 1, "c>b>a"), ("kim", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=Ranking(rule="stv"), method="UA").truth["label"].tolist()
    [['c', 'a', 'b']]
    """
    return decide(block, weights, ties, _strike_out)


def _strike_out(votes: Ballots) -> Ranked:
    everyone = np.arange(votes.n_tasks)
    priority = votes.priority(everyone)
    order = np.zeros((votes.n_tasks, votes.n_items), np.intp)
    out = np.zeros(order.shape, np.bool_)
    drawn = np.zeros(votes.n_tasks, np.bool_)
    for place in range(votes.n_items - 1, -1, -1):
        gone = votes.part.block.to_answers(out).T
        first = np.where(gone, votes.n_items, votes.position).argmin(axis=0)
        score = np.where(out, np.inf, votes.weight_at(first))
        least = score <= score.min(axis=1, keepdims=True) + TOLERANCE
        drawn |= least.sum(axis=1) > 1
        loser = np.lexsort((priority, least), axis=-1)[:, -1]
        order[:, place] = loser
        out[everyone, loser] = True
    return order, drawn


def ranked_pairs(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Go through the majorities, the largest first, and keep each that contradicts none kept before (Tideman 1987).

    Majorities of the same size are taken in a drawn order, and two items that share the weight evenly go in a drawn
    order if nothing else orders them.

        kept = the majorities a > b, the largest first, unless a chain b > ... > a was kept before

    It works where majorities go in circles: the weakest of a circle is dropped. It fails to be quick with hundreds
    of items.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=Ranking(rule="ranked pairs"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, _lock_in)


def _lock_in(votes: Ballots) -> Ranked:
    check_time(votes.n_items, most=MAX_ORDERED_ITEMS, rule="ranked pairs")
    majorities = _majorities(votes)
    if votes.n_items <= _MAX_TOGETHER:
        above, drawn = _lock_together(votes, majorities)
        return np.argsort(-above.sum(axis=2), axis=1, kind="stable"), drawn
    found = [_lock_alone(votes, _Majorities(*(values[task] for values in majorities))) for task in range(votes.n_tasks)]
    order, drawn = map(np.array, zip(*found, strict=True))
    return order, drawn


def _lock_together(votes: Ballots, majorities: _Majorities) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Keep majorities, one of each task at a time; return what is above what, and whether that was drawn."""
    everyone = np.arange(votes.n_tasks)
    above = np.tile(np.eye(votes.n_items, dtype=np.bool_), (votes.n_tasks, 1, 1))
    settled = above  # what was above what when the majorities of this size began
    drawn = np.zeros(votes.n_tasks, np.bool_)
    for k, (winner, loser, margin, level) in enumerate(zip(*(values.T for values in majorities), strict=True)):
        if k > 0:
            smaller = level != majorities.level[:, k - 1]
            settled = np.where(smaller[:, None, None], above, settled)
        contradicted = above[everyone, loser, winner]
        implied = above[everyone, winner, loser]
        drawn |= contradicted & ~settled[everyone, loser, winner]
        drawn |= (margin <= TOLERANCE) & ~contradicted & ~implied
        to_winner, from_loser = above[everyone, :, winner], above[everyone, loser, :]
        above = above | (to_winner[:, :, None] & from_loser[:, None, :] & ~contradicted[:, None, None])
    return above, drawn


def _lock_alone(votes: Ballots, majorities: _Majorities) -> tuple[npt.NDArray[np.intp], bool]:
    """Do the same for one task of many items, and return its order.

    Nearly all majorities follow from larger ones, or contradict them. These are left out many at a time.
    """
    above, drawn = np.eye(votes.n_items, dtype=np.bool_), False
    winner, loser, margin, level = majorities
    starts = np.searchsorted(level, np.arange(level[-1] + 2))  # of each size, and the end
    batches = np.unique(np.searchsorted(starts, np.arange(0, len(level), _PAIRS_AT_ONCE)))
    for first, last in pairwise(starts[[*batches, -1]].tolist()):
        report_search("ranked pairs", votes.n_items, first, len(level))
        unsaid = first + np.flatnonzero(_is_open(above, winner[first:last], loser[first:last]))
        for equal in np.split(unsaid, np.flatnonzero(np.diff(level[unsaid])) + 1):
            for k in equal[_is_open(above, winner[equal], loser[equal])].tolist():
                if above[loser[k], winner[k]]:  # by one of the same size
                    drawn = True
                elif not above[winner[k], loser[k]]:
                    drawn |= bool(margin[k] <= TOLERANCE)
                    above[np.flatnonzero(above[:, winner[k]])] |= above[loser[k]]
    return np.argsort(-above.sum(axis=1), kind="stable"), drawn


def _is_open(above: npt.NDArray[np.bool_], winner: Array, loser: Array) -> npt.NDArray[np.bool_]:
    """Tell for which pairs nothing says as yet which item is above."""
    return ~(above[loser, winner] | above[winner, loser])


def _majorities(votes: Ballots) -> _Majorities:
    pairs = np.stack(np.triu_indices(votes.n_items, 1), axis=1)
    priority = votes.priority(np.arange(votes.n_tasks))
    margin = votes.margin[:, pairs[:, 0], pairs[:, 1]]
    earlier = priority[:, pairs[:, 0]] < priority[:, pairs[:, 1]]
    forth = np.where(margin == 0, earlier, margin > 0)
    winner, loser = (np.where(forth, pairs[:, i], pairs[:, j]) for i, j in ((0, 1), (1, 0)))
    size = np.abs(margin)
    largest_first = np.argsort(-size, axis=1, kind="stable")
    step = -np.diff(np.take_along_axis(size, largest_first, axis=1), axis=1) > TOLERANCE
    level = np.zeros(size.shape, np.int64)
    np.put_along_axis(level, largest_first[:, 1:], step.cumsum(axis=1), axis=1)
    keys = (np.take_along_axis(priority, loser, axis=1), np.take_along_axis(priority, winner, axis=1), level)
    order = np.lexsort(keys, axis=-1)
    return _Majorities(*(np.take_along_axis(values, order, axis=1) for values in (winner, loser, size, level)))


# The error-correcting rule: the ranking that is wrong by as little as possible in the worst case.
#
# Let t be half of the largest Kendall tau distance between two answers. Any ranking whose weighted mean distance to the
# answers is at most t may be the truth; take the ranking whose largest distance to these is least (Procaccia, Shah and
# Zick 2016). If there are none, take Kemeny's.
#
# The largest distance to a set B needs no pairs of rankings: K(r, b) = q(q-1)/2 - K(r, b reversed), so the ranking
# nearest to all of B is the one farthest from B reversed, and distances to a set are found by swapping neighbours, step
# by step. Still there are q! rankings, so at most 8 items will do.


def minimax(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking that is least wrong in the worst case, if the answers err by as much as they differ.

        label = the r with the least max over r' of K(r, r'),   r' with sum_i w_i K(r', x_i) / sum_i w_i <= t

    It works against errors that an adversary chose, up to a known size. It fails to use that most errors are
    chance: Kemeny is then closer on average.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=Ranking(rule="minimax"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, _least_worst)


def check_items(n_items: int) -> None:
    """Refuse rankings of too many items.

    >>> check_items(9)
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: The rule 'minimax' takes rankings of at most 8 items, and there are some of 9.
    Take another rule, such as kemeny or borda.
    """
    if n_items > MAX_LISTED_ITEMS:
        raise UnsupportedError(
            f"The rule 'minimax' takes rankings of at most {MAX_LISTED_ITEMS} items, and there are some of {n_items}."
            " Take another rule, such as kemeny or borda."
        )


def _least_worst(votes: Ballots) -> Ranked:
    check_items(votes.n_items)
    orders = all_orders(votes.n_items)
    n_orders, n_pairs = len(orders.order), len(orders.forth)
    task = votes.part.block.task
    number = orders.number(np.argsort(votes.position, axis=0).T)
    order, drawn = np.empty((votes.n_tasks, votes.n_items), np.intp), np.empty(votes.n_tasks, np.bool_)
    for tasks in task_chunks(np.arange(votes.n_tasks), n_orders):
        cost = orders.cost(votes.before[tasks])
        here = slice(*np.searchsorted(task, [tasks[0], tasks[-1] + 1]))
        given = np.zeros(cost.shape[::-1], np.bool_)
        given[number[here], task[here] - tasks[0]] = True
        largest = n_pairs - np.where(given, orders.levels(given[orders.reverse]), n_pairs).min(axis=0)
        possible = (cost <= largest[:, None] / 2 + TOLERANCE).T
        badness = -orders.levels(possible[orders.reverse]).T.astype(np.float64)
        nothing = ~possible.any(axis=0)
        badness[nothing] = cost[nothing]
        order[tasks], drawn[tasks] = draw_order(votes, tasks, badness)
    return order, drawn
