"""Strengths of items under the model of Bradley and Terry, from tables of win counts.

    P(a beats b) = 1 / (1 + exp(s_b - s_a))

Newton's method maximises the likelihood, which is a concave function of the scores s. The information matrix is a graph
Laplacian, whose pseudo-inverse is the covariance of the scores.
"""

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats

RIDGE = 0.1  # prior wins of both items of each compared pair
_TOLERANCE = 1e-9
_MAX_ROUNDS, _MAX_HALVINGS = 100, 30
_MAX_LOGIT = 500.0  # beyond this, exp overflows and probabilities do not change
_ROUNDING = 1e-10  # smaller relative changes of the log likelihood are rounding errors


def fit_strengths(counts: Floats, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """Return the scores of items and their standard errors, for each table of win counts of a (row) over b (column).

    The pseudo-inverse of the information matrix is the covariance; items without comparisons have no standard error.

    >>> counts = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    >>> score = fit_strengths(counts, ridge=0.0)[0][0]
    >>> round(float(np.exp(score[0] - score[1])), 9)
    2.0
    """
    wins = counts + ridge * (counts + counts.transpose(0, 2, 1) > 0) * (1.0 - np.eye(counts.shape[1]))
    games = wins + wins.transpose(0, 2, 1)
    means, score = _mean_of_connected(games), np.zeros(wins.shape[:2])
    chance, surprise = _find_odds(wins, score)
    for _ in range(_MAX_ROUNDS):  # Newton steps
        gradient = wins.sum(axis=2) - np.einsum("tab,tab->ta", games, chance)
        laplacian, size = _find_information(games, chance)
        step: Floats = np.linalg.solve(laplacian / size + means, gradient[:, :, None] / size)[:, :, 0]
        for _ in range(_MAX_HALVINGS):  # until the likelihood increases
            chance, new = _find_odds(wins, score + step)
            worse = new > surprise * (1 + _ROUNDING)
            if not worse.any():
                break
            step[worse] /= 2
        score, surprise = score + step, new
        if np.abs(step).max(initial=0.0) <= _TOLERANCE:
            break
    laplacian, size = _find_information(games, chance)
    inverse = (np.linalg.inv(laplacian / size + means) - means) / size
    variance = np.diagonal(inverse, axis1=1, axis2=2)
    alone = np.diagonal(means, axis1=1, axis2=2) == 1
    error = np.where(alone, np.nan, np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(score - np.einsum("tab,tb->ta", means, score)), error


def _find_odds(wins: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Return win probabilities given scores, and the negative log likelihood of the comparisons."""
    gap = np.clip(score[:, None, :] - score[:, :, None], -_MAX_LOGIT, _MAX_LOGIT)
    chance = np.asarray(1 / (1 + np.exp(gap, out=gap)))
    return chance, np.asarray(-np.einsum("tab,tab->t", wins, np.log(chance)))


def _find_information(games: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Return the information matrices, which are graph Laplacians, and the mean diagonal of each."""
    laplacian = games * chance * (chance - 1)
    items = np.arange(laplacian.shape[1])
    laplacian[:, items, items] = 0.0
    laplacian[:, items, items] = -laplacian.sum(axis=2)
    mean = np.trace(laplacian, axis1=1, axis2=2) / len(items)
    return laplacian, np.asarray(np.where(mean > 0, mean, 1.0)[:, None, None])


def _mean_of_connected(games: Floats) -> npt.NDArray[np.float64]:
    """Return the matrices that average over connected items.

    Comparisons do not determine this average. Adding these matrices makes the information invertible.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_tasks, n_items = games.shape[:2]
    task, a, b = np.nonzero(games)
    nodes = task * n_items + a, task * n_items + b
    graph = coo_array((np.ones(len(task), np.int8), nodes), shape=(n_tasks * n_items,) * 2)
    part = connected_components(graph, connection="strong")[1].reshape(n_tasks, n_items)  # edges have both directions
    together: Array = part[:, :, None] == part[:, None, :]
    return np.asarray(together / together.sum(axis=2, keepdims=True))
