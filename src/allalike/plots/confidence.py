"""How sure truths are: how many tasks have which confidence, and which of them the weights changed.

Of numbers it is the width of the limits of 95 %, on a scale of powers where that spans more than two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.bins import find_edges
from allalike.plots.canvas import INK, PALE, clean, open_axes, say_nothing, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allalike._core.blocks.block import Array, Floats

__all__ = ["BINS", "draw_confidence", "draw_widths"]

BINS = 20


def draw_confidence(counts: Array, mean: float, name: str, ax: Axes | None = None) -> Axes:
    """Draw how many truths lie in each twentieth of confidence.

    Parameters
    ----------
    counts
        Two rows of counts from 0 to 1: of truths that are the same without weights, and of those that are not.
    mean
        The mean confidence.
    name
        What it is: confidence or support.
    ax
        Where to draw.

    >>> counts = np.zeros((2, 20), int)
    >>> counts[0, 19], counts[1, 12] = 7, 2
    >>> axes = draw_confidence(counts, 0.9, "confidence")
    >>> [int(bar.get_height()) for bar in axes.patches if bar.get_height()]
    [7, 2]
    """
    axes = open_axes(ax, height=3.4)
    used = np.flatnonzero(counts.sum(axis=0))
    if not len(used):
        return say_nothing(axes, f"The {name} of these truths is not known.")
    edges = np.linspace(0, 1, BINS + 1)
    same, changed = counts
    style: dict[str, Any] = {"width": 1 / BINS, "align": "edge", "edgecolor": "white", "linewidth": 0.6}
    axes.bar(edges[:-1], same, color=PALE, label="as without weights", **style)
    if changed.any():
        axes.bar(edges[:-1], changed, bottom=same, color=INK, hatch="///", label="changed by weights", **style)
    axes.axvline(mean, color="black", linewidth=1, linestyle=(0, (4, 3)), label=f"mean {mean:.3f}")
    axes.set(xlim=(edges[min(used[0], BINS // 2)], 1.0), xlabel=f"{name} of truths (0 to 1)", ylabel="tasks")
    _finish(axes)
    return axes


def draw_widths(widths: Floats, sampled: bool, ax: Axes | None = None) -> Axes:
    """Draw how wide the limits of truths are that are numbers.

    Parameters
    ----------
    widths
        Upper minus lower limit of each truth.
    sampled
        Whether these are some of the tasks only.
    ax
        Where to draw.

    >>> draw_widths(np.array([1.0, 2.0, 2.5]), sampled=False).get_ylabel()
    'tasks'
    """
    axes = open_axes(ax, height=3.4)
    finite = widths[np.isfinite(widths)]
    if not len(finite):
        return say_nothing(axes, "How sure these truths are is not known.")
    above = finite[finite > 0]
    powers = len(above) == len(finite) and above.max() > 100 * above.min()
    edges = np.exp(find_edges(np.log(finite), BINS)) if powers else find_edges(finite, BINS)
    edges[[0, -1]] = min(edges[0], finite.min()), max(edges[-1], finite.max())  # lest rounding lose the ends
    axes.hist(finite, bins=edges.tolist(), color=PALE, edgecolor="white", linewidth=0.6)
    if powers:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    median = float(np.median(finite))
    axes.axvline(median, color="black", linewidth=1, linestyle=(0, (4, 3)), label=f"median {median:.3g}")
    beside = f"tasks (a sample of {len(widths):,})" if sampled else "tasks"
    axes.set(xlabel="width of the limits of 95 % (in the unit of the labels)", ylabel=beside)
    _finish(axes)
    return axes


def _finish(axes: Axes) -> None:
    whole_ticks(axes)
    clean(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
