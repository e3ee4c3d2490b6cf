"""The equations behind P-TD-AK: one for each pair of workers, and what least squares makes of them."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from paper.figures.base import Figure
from paper.figures.style import BLUE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from allalike._core.blocks.block import Floats
    from paper.experiments.runner import Results

__all__ = ["MATRICES", "pair_matrix"]

_WORKERS = 5


def pair_matrix(workers: int) -> Floats:
    """Return A, whose row for a pair (i, j) says that their distance is f_i + f_j; both orders of a pair are there.

    >>> pair_matrix(3).astype(int).tolist()
    [[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 1]]
    >>> (pair_matrix(3).T @ pair_matrix(3)).astype(int).tolist()
    [[4, 2, 2], [2, 4, 2], [2, 2, 4]]
    """
    pairs = np.array(list(permutations(range(workers), 2)))
    matrix: Floats = np.eye(workers)[pairs].sum(axis=1)
    return matrix


def _draw(results: Results, canvas: Canvas) -> None:
    matrix = pair_matrix(_WORKERS)
    square = matrix.T @ matrix
    scale = (2 * _WORKERS - 2) * (2 * _WORKERS - 4)
    canvas.set_size_inches(9.6, 5.2)
    above, below = canvas.subfigures(2, 1, height_ratios=(1, 1.2), squeeze=False).ravel()
    wide = above.subplots()
    _show(wide, matrix.T, r"$A^\top$: one column for each pair of workers, $d_{ij} = f_i + f_j$")
    pairs = [f"{i},{j}" for i, j in permutations(range(1, _WORKERS + 1), 2)]
    wide.set_xticks(range(len(pairs)), pairs)
    shown: dict[str, Floats] = {
        r"$A^\top A = 2(n-2)\,I + 2J$": square,
        r"$A^\top A + \lambda I$ with $\lambda = 4$": square + 4 * np.eye(_WORKERS),
        rf"${scale}\,(A^\top A)^{{-1}} = (2n-2)\,I - J$": np.asarray(scale * np.linalg.inv(square), np.float64),
    }
    for axes, (title, values) in zip(below.subplots(1, len(shown)), shown.items(), strict=True):
        _show(axes, values, title)


def _show(axes: Axes, values: Floats, title: str) -> None:
    """Write the numbers of a matrix into its cells, which are the darker the larger they are."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("shades", ["white", BLUE])
    axes.imshow(np.abs(values), cmap=shades, vmin=0, vmax=2 * np.abs(values).max())
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:.0f}".replace("-", "\N{MINUS SIGN}")
        axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=8)
    numbers = [str(worker) for worker in range(1, _WORKERS + 1)]
    axes.set_yticks(range(_WORKERS), numbers)
    axes.set_xticks(range(values.shape[1]), numbers * (values.shape[1] // _WORKERS))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left")


MATRICES = Figure(
    name="figure-matrices",
    title="The matrices behind P-TD-AK, for five workers",
    caption=(
        "Each pair of workers gives one equation for their faults, d(i, j) = f(i) + f(j). Least squares needs the"
        " inverse of AᵀA, with λ added to its diagonal if there is a ridge. It has a closed form (I is the identity, J"
        " has only ones); hence faults are a multiple of the disparities less a constant."
    ),
    settings=list,
    draw=_draw,
)
