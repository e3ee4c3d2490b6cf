"""Faults of workers: how many err how far, and where truths are known, whether disparity tells who errs.

A worker's disparity is her mean distance to the others. If the dots rise from left to right, who is far from the others
is far from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.bins import find_edges
from allalike.plots.canvas import INK, PALE, clean, open_axes, say_nothing, whole_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from allalike._core.blocks.block import Floats

__all__ = ["draw_errors", "draw_faults"]

_MAX_TICKS = 60  # workers who can be told apart on an axis


def draw_faults(values: Floats, unit: str, ax: Axes | None = None) -> Axes:
    """Draw how many workers err how far.

    Parameters
    ----------
    values
        One per worker; NaN is left out.
    unit
        What they are.
    ax
        Where to draw.

    >>> int(sum(bar.get_height() for bar in draw_faults(np.array([0.1, 0.2, np.nan]), "error rate").patches))
    2
    """
    axes = open_axes(ax, height=3.4)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return say_nothing(axes, "Of no worker it is known how far she errs.")
    axes.hist(finite, bins=find_edges(finite, 30).tolist(), color=PALE, edgecolor="white", linewidth=0.6)
    if len(finite) <= _MAX_TICKS:
        axes.plot(finite, np.zeros(len(finite)), "|", color="black", markersize=10, clip_on=False)
    axes.set(xlabel=unit, ylabel="workers")
    whole_ticks(axes)
    clean(axes)
    return axes


def draw_errors(table: pd.DataFrame, unit: str, title: str, ax: Axes | None = None) -> Axes:
    """Draw each worker's disparity against her error on known truths.

    Parameters
    ----------
    table
        One row per worker: disparity, error, answers (to tasks whose truth is known).
    unit
        What the error is.
    title
        What it says, in a sentence above.
    ax
        Where to draw.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"disparity": [0.2, 0.3], "error": [0.1, 0.2], "answers": [5, 9]})
    >>> len(draw_errors(table, "error", "").collections[0].get_offsets())
    2
    """
    axes = open_axes(ax, height=4.2)
    size = 15 + 85 * table["answers"] / max(float(table["answers"].max()), 1.0)
    axes.scatter(table["disparity"], table["error"], s=size, color=INK, alpha=0.65, edgecolors="white", linewidths=0.5)
    axes.set(xlabel="disparity (mean distance to the other workers)", ylabel=f"{unit} on known truths")
    if title:
        axes.set_title(title, fontsize="medium", loc="left")
    axes.margins(0.08)
    clean(axes)
    return axes
