"""A map of workers: who answers alike is close.

Good workers crowd together, each bad one is alone in her own way, and copies lie on each other. Size is answers,
lightness is how far she errs, a ring with a number is a group that copies, and shape is a flag. The two axes have no
meaning of their own but one unit, that of the distances, so both have the same scale. Names are written where there is
room for them, those of the worst and the best first, at most 40.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.plots.canvas import FAULTS, MARKS, open_axes, say_nothing, shorten
from allalike.plots.workers import MAX_NAMED

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from allalike.blocks.block import Floats

__all__ = ["choose_names", "draw_map"]

_SMALL, _LARGE = 25.0, 220.0
_CROWD = 60  # workers for whom marks may be large
_FONT = 7.0  # points


def draw_map(table: pd.DataFrame, unit: str, distance: str, ax: Axes | None = None) -> Axes:
    """Draw workers at their places.

    Parameters
    ----------
    table
        One row per worker: worker, x, y, answers, value, group, mark.
    unit, distance
        What the value is, and what the distance of two workers is.
    ax
        Where to draw.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"worker": ["ada", "eve"], "x": [0.0, 1.0], "y": 0.0, "answers": [5, 9]})
    >>> axes = draw_map(table.assign(value=[0.1, 0.4], group="", mark="usual"), "error rate", "distance")
    >>> [text.get_text() for text in axes.texts]
    ['eve', 'ada']
    """
    axes = open_axes(ax, 6.4, 4.8)
    if len(table) < 2:
        return say_nothing(axes, "A map needs two workers with a task in common.")
    size = _find_sizes(table["answers"].to_numpy(np.float64))
    value = table["value"].to_numpy(np.float64)
    known = value[np.isfinite(value)]
    span = {"vmin": float(known.min()), "vmax": float(known.max())} if len(known) else {}
    places = None
    for mark, shape in MARKS.items():
        of = (table["mark"] == mark).to_numpy()
        if of.any():
            places = axes.scatter(
                table["x"][of], table["y"][of], s=size[of], c=value[of], marker=shape, cmap=FAULTS, edgecolors="black",
                linewidths=0.6, plotnonfinite=True, label=mark, **span,
            )  # fmt: skip
    grouped = (table["group"] != "").to_numpy()
    if grouped.any():
        axes.scatter(
            table["x"][grouped], table["y"][grouped], s=2.2 * size[grouped] + 60, facecolors="none",
            edgecolors="black", linewidths=1.2, label="copies, with their group",
        )  # fmt: skip
    if places is not None and span and span["vmin"] < span["vmax"]:
        axes.figure.colorbar(places, ax=axes, label=unit, shrink=0.8)
    axes.set(xticks=[], yticks=[], xlabel=distance)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    _write_names(axes, table, value, size)
    if grouped.any() or table["mark"].nunique() > 1:
        legend = axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        for handle in legend.legend_handles:
            if handle is not None and hasattr(handle, "set_sizes"):
                handle.set_sizes([40.0])
    return axes


def _find_sizes(answers: Floats) -> Floats:
    """Return areas in proportion to answers, within limits that a picture of so many workers has room for."""
    large = _LARGE if len(answers) <= _CROWD else _LARGE / 3
    return np.clip(large * answers / max(float(answers.max()), 1.0), min(_SMALL, large / 3), large)


def _write_names(axes: Axes, table: pd.DataFrame, value: Floats, size: Floats) -> None:
    names = shorten(table["worker"])
    titles = [f"{name} [{group}]" if group else name for name, group in zip(names, table["group"], strict=True)]
    points = table[["x", "y"]].to_numpy(np.float64)
    order = np.argsort(-np.nan_to_num(value, nan=-np.inf).round(12), kind="stable")
    if len(order) > MAX_NAMED:
        order = np.concatenate([order[: MAX_NAMED // 2], order[-(MAX_NAMED // 2) :]])
    width = axes.bbox.width * 72 / axes.figure.dpi
    span = float(np.ptp(points, axis=0).max()) or 1.0
    shift = np.sqrt(size / np.pi) + 2
    for row in choose_names(points / span * 0.6 * width, [titles[i] for i in order], order, shift):
        axes.annotate(
            titles[row], points[row], (shift[row], 0), textcoords="offset points", va="center", fontsize=_FONT,
            parse_math=False,
        )  # fmt: skip


def choose_names(points: Floats, titles: list[str], order: npt.NDArray[np.intp], shift: Floats) -> list[int]:
    """Return whose names are written: each, in this order, whose name lies on no earlier one; lengths are in points.

    >>> apart, close = np.array([[0.0, 0.0], [0.0, 40.0]]), np.array([[0.0, 0.0], [2.0, 1.0]])
    >>> [choose_names(places, ["eve", "ada"], np.array([1, 0]), np.full(2, 5.0)) for places in (apart, close)]
    [[1, 0], [1]]
    """
    taken: list[tuple[float, float, float]] = []
    chosen = []
    for row, title in zip(order.tolist(), titles, strict=True):
        left, middle = points[row, 0] + shift[row], points[row, 1]
        right = left + 0.6 * _FONT * len(title)
        if all(right < a or left > b or abs(middle - y) > 1.2 * _FONT for a, b, y in taken):
            taken.append((left, right, middle))
            chosen.append(row)
    return chosen
