"""A matrix of workers in which those who agree stand together.

Dark pairs are far apart; hatched ones have no task in common. Blocks of light cells along the diagonal are groups that
answer alike. Up to 40 workers are named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.plots.canvas import FAULTS, open_axes, say_nothing, shorten
from allalike.plots.workers import MAX_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from allalike.blocks.block import Floats

__all__ = ["draw_matrix"]


def draw_matrix(
    distances: Floats, names: Sequence[object], distance: str, told: str = "", ax: Axes | None = None
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
    told
        What is to be said above.
    ax
        Where to draw.

    >>> axes = draw_matrix(np.array([[0.0, 0.5], [0.5, 0.0]]), ["ada", "eve"], "distance")
    >>> axes.images[0].get_array().shape, [label.get_text() for label in axes.get_yticklabels()]
    ((2, 2), ['ada', 'eve'])
    """
    n = len(names)
    side = 4.6 if n > MAX_NAMED else 3.0 + 0.11 * n
    axes = open_axes(ax, side + 1.4, side)
    known = np.isfinite(distances[np.triu_indices(n, 1)])
    if not known.any():
        return say_nothing(axes, "No two workers have a task in common.")
    axes.patch.set(facecolor="white", edgecolor="0.7", hatch="////")
    largest = float(np.nanmax(distances)) or 1.0
    image = axes.imshow(np.ma.masked_invalid(distances), cmap=FAULTS, vmin=0, vmax=largest, interpolation="nearest")
    axes.figure.colorbar(image, ax=axes, label=distance, shrink=0.8)
    if n <= MAX_NAMED:
        labels = shorten(names)
        axes.set_xticks(range(n), labels, rotation=90, parse_math=False, fontsize="x-small")
        axes.set_yticks(range(n), labels, parse_math=False, fontsize="x-small")
        axes.tick_params(length=0)
    else:
        axes.set(xticks=[], yticks=[], xlabel=f"{n:,} workers; neighbours agree")
    if told:
        axes.set_title(told, fontsize="medium")
    return axes
