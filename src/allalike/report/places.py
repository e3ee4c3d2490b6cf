r"""Places of workers: a map on which those who answer alike are close, and an order in which they are neighbours.

**Map.** With the matrix D of the mean distances of workers on their common tasks, classical scaling (Torgerson:
Psychometrika 17, 1952) takes the two largest eigenvalues of

    B = -1/2 J D^2 J,    J = I - 11'/n,

and puts worker i at (sqrt(l_1) v_1i, sqrt(l_2) v_2i). A worker who is bad in her own way is far from everybody, so the
good ones are in a crowd and the bad ones around it; copies lie on each other. The first axis is turned so that larger
disparities lie to the right, and the second so that its longest arm points up.

**Order.** Workers are joined pair by pair, the closest first, and the leaves of that tree are neighbours who agree
(`leaves`).

Two workers without a common task are taken to be as far apart as each is from those she met, on average. Where most
pairs never met, neither picture says much, and where all distances are the same, all directions are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.report.leaves import order_leaves

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["fill_unknown", "order_workers", "place_workers"]

_MAX_BEST_ORDER = 200  # leaves that are put in the best of all orders, which takes time with their cube


def fill_unknown(distances: Floats) -> Floats:
    """Return symmetric distances in which pairs who never met are as far apart as each is from others, on average.

    >>> nan = np.nan
    >>> fill_unknown(np.array([[0.0, 0.2, nan], [0.2, 0.0, 0.4], [nan, 0.4, 0.0]]))
    array([[0. , 0.2, 0.3],
           [0.2, 0. , 0.4],
           [0.3, 0.4, 0. ]])
    """
    apart = np.where(np.eye(len(distances), dtype=np.bool_), np.nan, distances)
    known = np.isfinite(apart)
    total, count = np.where(known, apart, 0.0).sum(axis=1), known.sum(axis=1)
    overall = float(total.sum() / count.sum()) if count.sum() else 0.0
    mean = np.where(count > 0, total / np.maximum(count, 1), overall)
    filled = np.where(known, apart, (mean[:, None] + mean[None, :]) / 2)
    filled = (filled + filled.T) / 2
    np.fill_diagonal(filled, 0.0)
    return np.asarray(filled)


def place_workers(distances: Floats, disparity: Floats) -> Floats:
    """Return two coordinates of each worker, from distances of all pairs.

    >>> line = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> place_workers(line, np.array([0.1, 0.1, 0.5]))[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    n = len(distances)
    squares = distances**2
    rows = squares.mean(axis=1, keepdims=True) if n else squares
    centred = -0.5 * (squares - rows - rows.T + squares.mean()) if n else squares
    values, vectors = np.linalg.eigh(centred)
    places = np.zeros((n, 2))
    for axis, number in enumerate(np.argsort(-values, kind="stable")[:2]):
        places[:, axis] = np.sqrt(max(values[number], 0.0)) * vectors[:, number]
    return places * _signs(places, np.nan_to_num(disparity))


def _signs(places: Floats, disparity: Floats) -> Floats:
    if not len(places):
        return np.ones(2)
    spread = disparity - disparity.mean()
    arms = [float(places[:, 0] @ spread), float(places[np.argmax(np.abs(places[:, 1]).round(9)), 1])]
    return np.where(np.array(arms) < 0, -1.0, 1.0)


def order_workers(distances: Floats) -> npt.NDArray[np.intp]:
    """Return the numbers of workers in an order in which neighbours agree, from distances of all pairs.

    >>> apart = 1.0 - np.eye(4)
    >>> apart[0, 3] = apart[3, 0] = 0.1
    >>> order = order_workers(apart).tolist()
    >>> abs(order.index(0) - order.index(3))
    1
    """
    if len(distances) < 3:
        return np.arange(len(distances))
    return order_leaves(distances, best=len(distances) <= _MAX_BEST_ORDER)
