"""A map of workers: who answers alike is close.

Good workers crowd together, each bad one is alone in her own way, and copies lie on each other. Size is answers,
lightness is how far she errs, a ring with a number is a group that copies, and shape is a flag. The two axes have no
meaning of their own but one unit, that of the distances, so both have the same scale. Names are written where there is
room for them, those of the worst and the best first, at most 40.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.plots.canvas import FAULTS, MARKS, open_axes, say_nothing, shorten
from allalike.plots.workers import MAX_NAMED

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from allalike._core.blocks.block import Floats

__all__ = ["choose_names", "draw_map"]

_SMALL, _LARGE = 25.0, 220.0
_CROWD = 60  # workers for whom marks may be large
_FONT = 7.0  # points
_RING = 2.0  # times the area of its mark
_MARGIN, _GAP = 0.1, 2.0
_CAREFUL = 0.85  # of the room, which legend and scale take from


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
    value = table["value"].to_numpy(np.float64).round(12)  # what differs by rounding only has one colour
    known = value[np.isfinite(value)]
    span: dict[str, Any] = {"vmin": float(known.min()), "vmax": float(known.max())} if len(known) else {}
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
            table["x"][grouped], table["y"][grouped], s=_RING * size[grouped] + 60, facecolors="none",
            edgecolors="black", linewidths=1.2, label="copies, with their group",
        )  # fmt: skip
    if places is not None and span and span["vmin"] < span["vmax"]:
        axes.figure.colorbar(places, ax=axes, label=unit, shrink=0.8)
    axes.set(xticks=[], yticks=[], xlabel=f"close workers answer alike\n(distance: {distance})")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(_MARGIN)
    rings = np.where(grouped, _RING * size + 60, size)
    _write_names(axes, table, value, np.sqrt(rings / np.pi))
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


def _write_names(axes: Axes, table: pd.DataFrame, value: Floats, radius: Floats) -> None:
    names = shorten(table["worker"])
    titles = [f"{name} [{group}]" if group else name for name, group in zip(names, table["group"], strict=True)]
    order = np.argsort(-np.nan_to_num(value, nan=-np.inf).round(12), kind="stable")
    if len(order) > MAX_NAMED:
        order = np.concatenate([order[: MAX_NAMED // 2], order[-(MAX_NAMED // 2) :]])
    places = table[["x", "y"]].to_numpy(np.float64)
    spans = np.ptp(places, axis=0) * (1 + 2 * _MARGIN)
    room = np.array([axes.bbox.width, axes.bbox.height]) * 72 / axes.figure.dpi
    scale = float((room[spans > 0] / spans[spans > 0]).min(initial=np.inf)) if spans.any() else 1.0
    titled = [titles[i] for i in order]
    for row, side in choose_names(_CAREFUL * scale * places, radius, titled, order).items():
        axes.annotate(
            titles[row],
            (float(places[row, 0]), float(places[row, 1])),
            (side * (float(radius[row]) + _GAP), 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=_FONT,
            parse_math=False,
        )


def choose_names(points: Floats, radius: Floats, titles: list[str], order: npt.NDArray[np.intp]) -> dict[int, int]:
    """Return whose names are written, and at which side: 1 is right, -1 is left.

    Each is, in this order, whose name covers no earlier one and no other mark. Lengths are in points.

    >>> row, close = np.array([[0.0, 0.0], [90.0, 0.0]]), np.array([[0.0, 0.0], [8.0, 1.0]])
    >>> [choose_names(places, np.full(2, 5.0), ["eve", "ada"], np.array([1, 0])) for places in (row, close)]
    [{1: -1, 0: 1}, {}]
    """
    half = 0.6 * _FONT
    margin = _MARGIN * np.ptp(points[:, 0])
    first, last = points[:, 0].min() - margin, points[:, 0].max() + margin
    taken: list[tuple[float, float, float]] = []
    chosen = {}
    for row, title in zip(order.tolist(), titles, strict=True):
        x, y = points[row]
        for side in (1, -1):
            ends = x + side * (radius[row] + _GAP), x + side * (radius[row] + _GAP + 0.6 * _FONT * len(title))
            left, right = min(ends), max(ends)
            across = (points[:, 0] + radius > left) & (points[:, 0] - radius < right)
            covered = across & (abs(points[:, 1] - y) < half + radius)
            free = all(right < a or left > b or abs(y - z) > 2 * half for a, b, z in taken)
            if free and first <= left and right <= last and not covered.any():
                taken.append((left, right, y))
                chosen[row] = side
                break
    return chosen
