"""Workers, from the best to the worst, each with the limits of what is known of her.

A short line is well known, a long one hardly. Of more than 40 workers, the 20 best and the 20 worst are shown; the
median is that of all. A limit beyond three times the worst worker's value is cut at the edge, lest one worker with two
answers press all others together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from allalike.plots.canvas import INK, MARKS, clean, open_axes, say_nothing, shorten

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["MAX_NAMED", "draw_workers", "pick_ends"]

MAX_NAMED = 40
_MAX_LIMIT = 3.0  # times the largest value


def draw_workers(table: pd.DataFrame, unit: str, ax: Axes | None = None) -> Axes:
    """Draw workers one below the other, the best above.

    Parameters
    ----------
    table
        One row per worker: worker, value, low, high (NaN where not known), group (a number, or an empty text), mark.
    unit
        What the value is.
    ax
        Where to draw.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"worker": ["eve", "ada"], "value": [0.4, 0.1], "low": 0.05, "high": 0.6})
    >>> axes = draw_workers(table.assign(group="", mark="usual"), "error rate")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['ada', 'eve']
    """
    known = table[np.isfinite(table["value"])]
    known = known.iloc[np.argsort(known["value"].to_numpy().round(12), kind="stable")]
    shown, left = pick_ends(known)
    axes = open_axes(ax, height=1.1 + 0.19 * (len(shown) + bool(left)))
    if known.empty:
        return say_nothing(axes, "Of no worker it is known how far she errs.")
    place = np.arange(len(shown)) + (np.arange(len(shown)) >= MAX_NAMED // 2) * bool(left)
    end = _find_end(shown)
    _draw_limits(axes, shown, place, end)
    for mark, shape in MARKS.items():
        of = (shown["mark"] == mark).to_numpy()
        if of.any():
            axes.plot(shown["value"][of], place[of], shape, color=INK, markersize=5, label=mark)
    middle = float(np.median(known["value"]))
    axes.axvline(middle, color="0.45", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0, label="median worker")
    _draw_groups(axes, shown, place)
    names = shorten(shown["worker"])
    ticks = place.tolist()
    if left:
        half = MAX_NAMED // 2
        names, ticks = [*names[:half], f"({left:,} more)", *names[half:]], [*ticks[:half], half, *ticks[half:]]
    axes.set_yticks(ticks, names, parse_math=False, fontsize="small")
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, end), ylim=(place[-1] + 0.7, -0.7), xlabel=unit)
    clean(axes)
    _explain(axes)
    return axes


def pick_ends(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the first and the last rows, at most 40, and how many are between them.

    >>> import pandas as pd
    >>> rows, left = pick_ends(pd.DataFrame({"worker": range(100)}))
    >>> len(rows), rows["worker"].iloc[[0, 19, 20, 39]].tolist(), left
    (40, [0, 19, 80, 99], 60)
    """
    left = max(len(table) - MAX_NAMED, 0)
    if not left:
        return table, 0
    rows = np.concatenate([np.arange(MAX_NAMED // 2), np.arange(len(table) - MAX_NAMED // 2, len(table))])
    return table.iloc[rows], left


def _find_end(shown: pd.DataFrame) -> float:
    highs = shown["high"].to_numpy(np.float64)
    largest = float(shown["value"].max())
    furthest = max(float(highs[np.isfinite(highs)].max(initial=0.0)), largest)
    return 1.06 * (min(furthest, _MAX_LIMIT * largest) if largest > 0 else furthest) or 1.0


def _draw_limits(axes: Axes, shown: pd.DataFrame, place: npt.NDArray[np.intp], end: float) -> None:
    low, high = (shown[name].to_numpy(np.float64) for name in ("low", "high"))
    known = ~np.isnan(low) & ~np.isnan(high)
    if known.any():
        axes.hlines(
            place[known], low[known], np.minimum(high[known], end), colors=INK, linewidth=1.4, label="limits of 95 %"
        )
    cut = known & (high > end)
    if cut.any():
        axes.plot(np.full(cut.sum(), end), place[cut], ">", color=INK, markersize=4, clip_on=False, label="goes on")


def _draw_groups(axes: Axes, shown: pd.DataFrame, place: npt.NDArray[np.intp]) -> None:
    for row, (value, group) in enumerate(zip(shown["value"], shown["group"], strict=True)):
        if group:
            axes.plot(value, place[row], "o", color="black", markersize=10, markerfacecolor="none")
            axes.annotate(group, (value, place[row]), (7, 2), textcoords="offset points", fontsize="x-small")


def _explain(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    if not set(MARKS) & set(by_label) - {"usual"}:
        by_label.pop("usual", None)
    if any(line.get_markersize() == 10 for line in axes.lines):
        by_label["copies, with their group"] = Line2D(
            [], [], marker="o", color="black", markersize=10, markerfacecolor="none", linestyle=""
        )
    axes.legend(
        by_label.values(), by_label.keys(), frameon=False, fontsize="small", loc="lower center",
        bbox_to_anchor=(0.5, 1.0), ncols=3,
    )  # fmt: skip
