"""Bradley-Terry: each item has a strength, and wins against another in proportion to both.

    P(a beats b) = p_a / (p_a + p_b) = 1 / (1 + exp(s_b - s_a)),        s = log p

The scores s are those under which the weighted comparisons are most probable (Zermelo 1929, Bradley and Terry 1952).
With n_ab the weighted number of times that a was preferred to b, of which a tie is half a time for either, they
maximise the concave function

    sum over a, b of  n_ab log P(a beats b),

by Newton's method, until no score moves by more than 1e-9. Zermelo's iteration, the MM algorithm of Hunter (2004), has
the same limit, and where comparisons hang together by a thread it needs many thousands of rounds in place of ten.

An item that always wins would be infinitely strong. So either item of each pair that was compared is given a tenth of
a win beforehand. Only differences of scores mean something: the mean over items that are connected by comparisons is
0, and scores of items that are not cannot be compared with each other. The standard errors come from the information
that the comparisons hold, for scores with that mean; they know nothing of workers who err together.

It suits comparisons of many items with few answers for each pair; where preferences go in circles no strengths fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Ties
from allalike.domains.rankings.ballots import Ballots, Ranked, decide, list_ballots
from allalike.domains.rankings.codes import unpack

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.rules.base import Decision

RIDGE = 0.1  # wins for either item of each pair that was compared
_TOLERANCE = 1e-9
_MAX_ROUNDS, _MAX_HALVINGS = 100, 30
_MAX_LOGIT = 500.0  # beyond which exp overflows, and nothing changes
_ROUNDING = 1e-10  # of the surprise, which is no change
_DIGITS = 6  # of scores that tell items apart, for the iteration stops before the last ones are right


def bradley_terry(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by their strengths, under which the comparisons are most probable (Bradley and Terry 1952).

    It fails where preferences go in circles, and where some items were never compared with the others, not even
    through third ones: their scores have no common zero.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>c"), ("joe", 1, "b>a")]
    >>> result = allalike.discover(rows, domain=Ranking(rule="bradley terry"), method="UA")
    >>> result.objects[["item", "score", "standard_error"]].round(2).values.tolist()
    [['a', 1.23, 1.35], ['b', 0.58, 1.17], ['c', -1.81, 2.24]]
    """
    scores = np.empty(block.n_tasks, object)

    def find(votes: Ballots) -> Ranked:
        score = fit_strengths(votes.counts)
        for task, row in zip(votes.part.tasks.tolist(), score, strict=True):
            scores[task] = row
        return votes.by_score(np.round(score, _DIGITS))

    return replace(decide(block, weights, ties, find), more={"scores": scores})


def sort_scores(
    block: Block, weights: Floats, label: Array, scores: npt.NDArray[np.object_]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Return, per task, the scores in the order of its truth, best first, and their standard errors."""
    found = unpack(label)
    first = np.searchsorted(found.label, np.arange(block.n_tasks + 1))
    ordered, errors = np.empty(block.n_tasks, object), np.empty(block.n_tasks, object)
    for tasks, votes in list_ballots(block, weights, Ties()):
        error = standard_errors(votes.counts, np.stack(list(scores[tasks])))
        for k, task in enumerate(tasks.tolist()):
            place = np.searchsorted(votes.part.items[k], found.item[first[task] : first[task + 1]])
            ordered[task], errors[task] = scores[task][place], error[k, place]
    return ordered, errors


def fit_strengths(counts: Floats, ridge: float = RIDGE) -> Floats:
    """Return the scores of items, per table of how often a (row) was preferred to b (column).

    >>> counts = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    >>> score = fit_strengths(counts, ridge=0.0)[0]
    >>> round(float(np.exp(score[0] - score[1])), 9)
    2.0
    """
    wins = _with_ridge(counts, ridge)
    games = wins + wins.transpose(0, 2, 1)
    means = _mean_of_connected(games)
    score = np.zeros(wins.shape[:2])
    odds = _Odds.of(wins, score)
    active = np.arange(len(wins))
    for _ in range(_MAX_ROUNDS):
        rows = slice(None) if len(active) == len(wins) else active
        step, odds = _step(wins[rows], games[rows], means[rows], score[rows], odds)
        score[rows] += step
        moves = np.abs(step).max(axis=1) > _TOLERANCE
        if not moves.any():
            break
        if not moves.all():
            active, odds = active[moves], _Odds(odds.chance[moves], odds.surprise[moves])
    return np.asarray(score - np.einsum("tab,tb->ta", means, score))


def _with_ridge(counts: Floats, ridge: float) -> Floats:
    wins = counts + ridge * (counts + counts.transpose(0, 2, 1) > 0)
    wins[:, np.arange(wins.shape[1]), np.arange(wins.shape[1])] = 0.0
    return wins


class _Odds(NamedTuple):
    """How probable wins are under some scores, and how surprising the comparisons."""

    chance: Floats
    surprise: Floats

    @classmethod
    def of(cls, wins: Floats, score: Floats) -> _Odds:
        chance = _chances(score)
        return cls(chance, -np.einsum("tab,tab->t", wins, np.log(chance)))


def _step(wins: Floats, games: Floats, means: Floats, score: Floats, odds: _Odds) -> tuple[Floats, _Odds]:
    """Return a step of Newton's method for each task, halved until it makes the comparisons more probable."""
    gradient = wins.sum(axis=2) - np.einsum("tab,tab->ta", games, odds.chance)
    laplacian = _information(games, odds.chance)
    size = _size_of(laplacian)
    step: Floats = np.linalg.solve(laplacian / size + means, gradient[:, :, None] / size)[:, :, 0]
    for _ in range(_MAX_HALVINGS):
        found = _Odds.of(wins, score + step)
        worse = found.surprise > odds.surprise * (1 + _ROUNDING)
        if not worse.any():
            break
        step[worse] /= 2
    return step, found


def _chances(score: Floats) -> Floats:
    """Return the probability that item a (row) beats item b."""
    gap = np.clip(score[:, None, :] - score[:, :, None], -_MAX_LOGIT, _MAX_LOGIT)
    return np.asarray(1 / (1 + np.exp(gap, out=gap)))


def _information(games: Floats, chance: Floats) -> Floats:
    """Return the matrix of second derivatives, which is a Laplacian: each row adds up to 0."""
    matrix = games * chance * (chance - 1)
    items = np.arange(matrix.shape[1])
    matrix[:, items, items] = 0.0
    matrix[:, items, items] = -matrix.sum(axis=2)
    return matrix


def _size_of(laplacian: Floats) -> Floats:
    """Return the mean of each matrix's diagonal, by which its entries are around 1."""
    mean = np.trace(laplacian, axis1=1, axis2=2) / laplacian.shape[1]
    return np.asarray(np.where(mean > 0, mean, 1.0)[:, None, None])


def _mean_of_connected(games: Floats) -> Floats:
    """Return the matrices that take the mean over connected items, of which comparisons say nothing.

    Added to the information, they make it invertible, and change nothing else.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_tasks, n_items = games.shape[:2]
    task, a, b = np.nonzero(games)
    nodes = task * n_items + a, task * n_items + b
    graph = coo_array((np.ones(len(task), np.int8), nodes), shape=(n_tasks * n_items,) * 2)
    part = connected_components(graph, connection="strong")[1].reshape(n_tasks, n_items)  # it has both directions
    together = part[:, :, None] == part[:, None, :]
    return np.asarray(together / together.sum(axis=2, keepdims=True))


def standard_errors(counts: Floats, score: Floats, ridge: float = RIDGE) -> Floats:
    """Return the standard errors of scores: the information is a Laplacian, whose pseudo-inverse is their covariance.

    >>> counts = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    >>> standard_errors(counts, fit_strengths(counts, 0.0), 0.0).round(4)
    array([[0.6124, 0.6124]])
    """
    wins = _with_ridge(counts, ridge)
    games = wins + wins.transpose(0, 2, 1)
    means = _mean_of_connected(games)
    laplacian = _information(games, _chances(score))
    size = _size_of(laplacian)
    inverse = (np.linalg.inv(laplacian / size + means) - means) / size
    variance = np.diagonal(inverse, axis1=1, axis2=2)
    alone = np.diagonal(means, axis1=1, axis2=2) == 1
    return np.where(alone, np.nan, np.sqrt(np.maximum(variance, 0.0)))
