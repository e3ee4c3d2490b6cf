"""Bradley-Terry: each item has a strength, and wins against another in proportion to both.

    P(a beats b) = p_a / (p_a + p_b) = 1 / (1 + exp(s_b - s_a)),        s = log p

The scores s are those under which the weighted comparisons are most probable (Zermelo 1929, Bradley and Terry 1952).
With n_ab the weighted number of times that a was preferred to b, of which a tie is half a time for either, they
maximise the concave function

    sum over a, b of  n_ab log P(a beats b),

by Newton's method, until no score moves by more than 1e-9. Zermelo's iteration, the MM algorithm of Hunter (2004), has
the same limit, but takes thousands of rounds where few comparisons connect the items.

An item that always wins would be infinitely strong. So either item of each pair that was compared is given a tenth of
a win beforehand. Only differences of scores mean something: the mean over items that are connected by comparisons is
0, and scores of items that are not cannot be compared with each other. The standard errors come from the information
that the comparisons hold, for scores with that mean; they ignore that errors of workers may be correlated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike.domains.rankings.ballots import Ballots, Ranked, decide
from allalike.domains.rankings.codes import unpack

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.rules.base import Decision

RIDGE = 0.1  # wins for either item of each pair that was compared
_TOLERANCE = 1e-9
_MAX_ROUNDS, _MAX_HALVINGS = 100, 30
_MAX_LOGIT = 500.0  # beyond which exp overflows, and nothing changes
_ROUNDING = 1e-10  # of the log likelihood, which is no change
_DIGITS = 6  # of scores that separate items, for the iteration stops before the last ones are right


def bradley_terry(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by their strengths, under which the comparisons are most probable (Bradley and Terry 1952).

    It works for comparisons of many items with few answers for each pair. It fails where preferences go in circles, and
    where some items were never compared with the others, not even through third ones: their scores have no common zero.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>c"), ("joe", 1, "b>a")]
    >>> result = allalike.discover(rows, domain=allalike.Ranking(rule="bradley terry"), method="UA")
    >>> result.objects[["item", "score", "standard_error"]].round(2).values.tolist()
    [['a', 1.23, 1.35], ['b', 0.58, 1.17], ['c', -1.81, 2.24]]
    """
    strengths = np.empty(block.n_tasks, object)  # items, scores and standard errors of each task

    def find(votes: Ballots) -> Ranked:
        score, error = fit_strengths(votes.counts)
        for task, *columns in zip(votes.part.tasks.tolist(), votes.part.items, score, error, strict=True):
            strengths[task] = columns
        return votes.by_score(np.round(score, _DIGITS))

    decision = decide(block, weights, ties, find)
    ranked = unpack(decision.label)
    first = np.searchsorted(ranked.label, np.arange(block.n_tasks + 1))
    scores, errors = np.empty(block.n_tasks, object), np.empty(block.n_tasks, object)
    for task, (items, score, error) in enumerate(strengths):
        place = np.searchsorted(items, ranked.item[first[task] : first[task + 1]])
        scores[task], errors[task] = score[place], error[place]
    return replace(decision, more={"scores": scores, "standard_errors": errors})


def fit_strengths(counts: Floats, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """Return the scores of items and their standard errors, per table of how often a (row) was preferred to b (column).

    The pseudo-inverse of the information is the covariance of the scores; an item without comparisons has no error.

    >>> counts = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    >>> score = fit_strengths(counts, ridge=0.0)[0][0]
    >>> round(float(np.exp(score[0] - score[1])), 9)
    2.0
    """
    n_items = counts.shape[1]
    wins = counts + ridge * (counts + counts.transpose(0, 2, 1) > 0)
    wins[:, np.arange(n_items), np.arange(n_items)] = 0.0
    games = wins + wins.transpose(0, 2, 1)
    means = _mean_of_connected(games)
    score = np.zeros(wins.shape[:2])
    odds = _Odds.of(wins, score)
    for _ in range(_MAX_ROUNDS):
        step, odds = _step(wins, games, means, score, odds)
        score += step
        if np.abs(step).max(initial=0.0) <= _TOLERANCE:
            break
    laplacian, size = _find_information(games, odds.chance)
    inverse = (np.linalg.inv(laplacian / size + means) - means) / size
    variance = np.diagonal(inverse, axis1=1, axis2=2)
    alone = np.diagonal(means, axis1=1, axis2=2) == 1
    error = np.where(alone, np.nan, np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(score - np.einsum("tab,tb->ta", means, score)), error


class _Odds(NamedTuple):
    """How probable wins are under some scores, and minus the log likelihood of the comparisons."""

    chance: Floats
    surprise: Floats

    @classmethod
    def of(cls, wins: Floats, score: Floats) -> _Odds:
        gap = np.clip(score[:, None, :] - score[:, :, None], -_MAX_LOGIT, _MAX_LOGIT)
        chance = np.asarray(1 / (1 + np.exp(gap, out=gap)))
        return cls(chance, -np.einsum("tab,tab->t", wins, np.log(chance)))


def _step(wins: Floats, games: Floats, means: Floats, score: Floats, odds: _Odds) -> tuple[Floats, _Odds]:
    """Return a step of Newton's method for each task, halved until it makes the comparisons more probable."""
    gradient = wins.sum(axis=2) - np.einsum("tab,tab->ta", games, odds.chance)
    laplacian, size = _find_information(games, odds.chance)
    step: Floats = np.linalg.solve(laplacian / size + means, gradient[:, :, None] / size)[:, :, 0]
    for _ in range(_MAX_HALVINGS):
        result = _Odds.of(wins, score + step)
        worse = result.surprise > odds.surprise * (1 + _ROUNDING)
        if not worse.any():
            break
        step[worse] /= 2
    return step, result


def _find_information(games: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Return the matrices of second derivatives, which are Laplacians, and the mean of each one's diagonal."""
    laplacian = games * chance * (chance - 1)
    items = np.arange(laplacian.shape[1])
    laplacian[:, items, items] = 0.0
    laplacian[:, items, items] = -laplacian.sum(axis=2)
    mean = np.trace(laplacian, axis1=1, axis2=2) / len(items)
    return laplacian, np.asarray(np.where(mean > 0, mean, 1.0)[:, None, None])


def _mean_of_connected(games: Floats) -> npt.NDArray[np.float64]:
    """Return the matrices that take the mean over connected items.

    Comparisons do not determine that mean. Added to the information, they make it invertible.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_tasks, n_items = games.shape[:2]
    task, a, b = np.nonzero(games)
    nodes = task * n_items + a, task * n_items + b
    graph = coo_array((np.ones(len(task), np.int8), nodes), shape=(n_tasks * n_items,) * 2)
    part = connected_components(graph, connection="strong")[1].reshape(n_tasks, n_items)  # it has both directions
    together: Array = part[:, :, None] == part[:, None, :]
    return np.asarray(together / together.sum(axis=2, keepdims=True))
