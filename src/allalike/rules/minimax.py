"""The error-correcting rule: the ranking that is wrong by as little as possible in the worst case.

Let t be half of the largest Kendall tau distance between two answers. Any ranking whose weighted mean distance to the
answers is at most t may be the truth; take the ranking whose largest distance to these is least (Procaccia, Shah and
Zick 2016). If there are none, take Kemeny's.

The largest distance to a set B needs no pairs of rankings: K(r, b) = q(q-1)/2 - K(r, b reversed), so the ranking
nearest to all of B is the one farthest from B reversed, and distances to a set are found by swapping neighbours, step
by step. Still there are q! rankings, so at most 8 items will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import TOLERANCE, Ties
from allalike._core.limits import MAX_LISTED_ITEMS
from allalike.errors import UnsupportedError
from allalike.rules.ballots import Ballots, Ranked, decide
from allalike.rules.orders import all_orders, draw_order, task_chunks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.rules.base import Decision

__all__ = ["check_items", "minimax"]


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
