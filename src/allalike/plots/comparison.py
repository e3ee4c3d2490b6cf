"""Methods side by side, the best above: their errors with limits of 95 %, or without known truths how much they agree.

Limits are those of the mean over tasks, so they overlap more than the paired test of the table allows: the shape of a
mark says what that test found. Methods that failed are named below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.plots.canvas import INK, PALE, clean, open_axes, say_nothing, shorten

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_comparison"]

_VERDICTS = {
    "best": ("o", INK, "best"),
    "tie": ("o", "white", "as good, within chance"),
    "worse": ("s", PALE, "worse"),
    "oracle": ("*", "white", "knows the truth"),
    "": ("o", INK, ""),
}


def draw_comparison(table: pd.DataFrame, unit: str, unweighted: str, ax: Axes | None = None) -> Axes:
    """Draw methods one below the other.

    Parameters
    ----------
    table
        One row per method, the best first: method, value (NaN where it failed), low, high, verdict.
    unit
        What the value is.
    unweighted
        The name of the method to which the others are compared, by a line.
    ax
        Where to draw.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"method": ["P-TD", "UA"], "value": [0.1, 0.2], "low": 0.05, "high": 0.3})
    >>> axes = draw_comparison(table.assign(verdict=["best", "worse"]), "error", "UA")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['P-TD', 'UA']
    """
    axes = open_axes(ax, height=1.2 + 0.22 * len(table))
    value = table["value"].to_numpy(np.float64)
    if not np.isfinite(value).any():
        return say_nothing(axes, "No method has found anything that can be compared.")
    place = np.arange(len(table))
    limited = np.isfinite(table["low"].to_numpy(np.float64))
    if limited.any():
        axes.hlines(
            place[limited], table["low"][limited], table["high"][limited], colors="0.35", label="limits of 95 %"
        )
    for verdict, (shape, colour, label) in _VERDICTS.items():
        of = (table["verdict"] == verdict).to_numpy() & np.isfinite(value)
        if of.any():
            style: dict[str, Any] = {
                "markerfacecolor": colour,
                "markeredgecolor": INK,
                "markersize": 9 if shape == "*" else 6,
            }
            axes.plot(value[of], place[of], shape, label=label or "_", linestyle="", **style)
    base = value[(table["method"] == unweighted).to_numpy()]
    if np.isfinite(base).any():
        axes.axvline(base[0], color="0.45", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0, label="without weights")
    for row in np.flatnonzero(~np.isfinite(value)):
        axes.text(0.01, row, "failed" if table["verdict"].iloc[row] == "failed" else "not known", va="center",
                  fontsize="small", color="0.35", transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set_yticks(place, shorten(table["method"]), parse_math=False, fontsize="small")
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(table) - 0.3, -0.7), xlabel=unit)
    clean(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes
