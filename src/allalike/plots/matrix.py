"""A matrix of workers in which those who agree stand together.

Dark pairs are far apart, up to a distance that few exceed; hatched ones have no task in common. Blocks of light cells
along the diagonal are groups that answer alike. Up to 40 workers are named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.plots.canvas import FAULTS, open_axes, say_nothing, shorten
from allalike.plots.workers import MAX_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from allalike._core.blocks.block import Floats

__all__ = ["draw_matrix"]

_USUAL, _MUCH = 0.99, 1.5


def draw_matrix(
    distances: Floats, names: Sequence[object], distance: str, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw how far each two workers are apart, in the order that is given.

    Parameters
    ----------
    distances
        Each worker against each; NaN where they have no task in common.
    names
        Who they are.
    distance
        What the distance is.
    title
        What is to be said above.
    ax
        Where to draw.

    >>> axes = draw_matrix(np.array([[0.0, 0.5], [0.5, 0.0]]), ["ada", "eve"], "distance")
    >>> axes.images[0].get_array().shape, [label.get_text() for label in axes.get_yticklabels()]
    ((2, 2), ['ada', 'eve'])
    """
    n = len(names)
    side = 4.6 if n > MAX_NAMED else 4.0 + 0.085 * n
    axes = open_axes(ax, side + 1.4, side)
    pairs = distances[np.triu_indices(n, 1)]
    known = pairs[np.isfinite(pairs)]
    if not len(known):
        return say_nothing(axes, "No two workers have a task in common.")
    axes.patch.set(facecolor="white", edgecolor="0.7", hatch="////")
    largest, usual = float(known.max()), float(np.quantile(known, _USUAL))
    cut = largest > _MUCH * usual > 0  # few pairs are so far apart that all others would look the same
    largest = (usual if cut else largest) or 1.0
    image = axes.imshow(
        distances,
        cmap=FAULTS,
        vmin=0,
        vmax=largest,
        interpolation="nearest",
    )
    axes.figure.colorbar(
        image, ax=axes, label=f"{distance} on common tasks", shrink=0.8, extend="max" if cut else "neither"
    )
    if n <= MAX_NAMED:
        labels = shorten(names)
        axes.set_xticks(range(n), labels, rotation=90, parse_math=False, fontsize="x-small")
        axes.set_yticks(range(n), labels, parse_math=False, fontsize="x-small")
        axes.tick_params(length=0)
    else:
        axes.set(xticks=[], yticks=[], xlabel=f"{n:,} workers; neighbours agree")
    if title:
        axes.set_title(title, fontsize="medium")
    return axes
