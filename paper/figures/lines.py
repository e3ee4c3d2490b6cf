"""Lines: how the error falls with more workers, and with more tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from paper.figures.base import Figure, here
from paper.figures.panels import CATEGORICAL, REAL, SYNTHETIC, TRIANGLES, VARIANTS
from paper.figures.style import add_legend, look_of, ordered, tidy
from paper.figures.sweeps import Sweep, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from allalike._core.blocks.block import Array, Floats
    from paper.experiments.runner import Results
    from paper.experiments.settings import Setting
    from paper.figures.style import Look

__all__ = ["LINE_FIGURES", "draw_lines"]

_LABEL_RATIO = 1.4  # how much larger the next labelled place is

Places = npt.NDArray[np.int64]
Draw = Callable[..., None]


def draw_lines(axes: Axes, results: Results, settings: list[Setting], *, along: str, relative: bool = False) -> None:
    """Draw the mean error of each method against the number of workers or tasks, with its standard error.

    Parameters
    ----------
    axes
        Where to draw.
    results, settings
        The experiments; those without results are left out.
    along
        What is on the horizontal axis: ``workers`` or ``tasks``.
    relative
        Whether errors are divided by that of UA.

    >>> from paper.experiments import run
    >>> from paper.figures.base import matplotlib
    >>> settings = Sweep(source="k=4 SYN", methods=("OA",), tasks=(2, 4), workers=(), pool=100).settings()
    >>> axes = matplotlib().figure.Figure().subplots()
    >>> draw_lines(axes, run(settings, repetitions=100, jobs=1), settings, along="tasks")
    >>> [line.get_xdata().tolist() for line in axes.lines]
    [[2, 4], [2, 4]]
    """
    shown = [setting for setting in settings if setting in results.errors]
    if not shown:
        axes.set_axis_off()
        return
    places = np.array([getattr(setting, along) for setting in shown])
    scores = [{score.method: score for score in results.scores(setting)} for setting in shown]
    for method in ordered(name for of_setting in scores for name in of_setting):
        line = [of_setting[method] for of_setting in scores]
        mean = np.array([1 + score.change if relative else score.error for score in line])
        se = np.array([score.change_se if relative else score.error_se for score in line])
        _draw_line(axes, places, mean, se, look_of(method))
    _label_places(axes, places, "workers n" if along == "workers" else "tasks m")


def _draw_line(axes: Axes, places: Places, mean: Floats, se: Floats, look: Look) -> None:
    mark, layer = ("none", 1.5) if look.is_thin else (look.mark, 2.0)
    style = {"color": look.colour, "linestyle": look.dashes, "linewidth": look.width, "zorder": layer}
    axes.plot(places, mean, **style, marker=mark, markersize=look.size)
    if not look.is_thin:
        axes.fill_between(places, mean - se, mean + se, color=look.colour, alpha=0.13, linewidth=0)


def _label_places(axes: Axes, places: Places, label: str) -> None:
    """Label the places on a logarithmic axis, but not two that are too close; let the errors start at 0."""
    far = [place for before, place in zip([0, *places], places, strict=False) if place >= _LABEL_RATIO * before]
    axes.set_xscale("log")
    axes.set_xticks(places, [str(place) if place in far else "" for place in places])
    axes.minorticks_off()
    axes.set_xlabel(label)
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.03 * top, top)


def _draw_columns(
    results: Results, canvas: Canvas, *, sweeps: tuple[Sweep, ...], relative: bool = False, width: float = 2.6
) -> None:
    """Draw one column for each crowd: more workers above, more tasks below."""
    shown = [sweep for sweep in sweeps if here(sweep.source)]
    canvas.set_size_inches(width * len(shown) + 0.4, 5.6)
    grid = canvas.subplots(2, len(shown), squeeze=False)
    for pair, sweep in zip(grid.T, shown, strict=True):
        _draw_sweep(pair, results, sweep, relative=relative)
    for axes in grid[:, 0]:
        axes.set_ylabel("error / error of UA" if relative else "error")
    add_legend(canvas, _methods(shown))


def _draw_pairs(results: Results, canvas: Canvas, *, sweeps: tuple[Sweep, ...]) -> None:
    """Draw two crowds in each row, each in two panels: more workers, more tasks."""
    shown = [sweep for sweep in sweeps if here(sweep.source)]
    rows = -(-len(shown) // 2)
    canvas.set_size_inches(10.5, 2.1 * rows + 0.5)
    grid = canvas.subplots(rows, 4, squeeze=False).reshape(-1, 2)
    for pair, sweep in zip(grid, shown, strict=False):
        _draw_sweep(pair, results, sweep)
        pair[0].set_ylabel("error")
    for axes in grid[len(shown) :].ravel():
        axes.set_visible(False)
    add_legend(canvas, _methods(shown))


def _draw_sweep(pair: Array, results: Results, sweep: Sweep, *, relative: bool = False) -> None:
    draw_lines(pair[0], results, sweep.over_workers(), along="workers", relative=relative)
    draw_lines(pair[1], results, sweep.over_tasks(), along="tasks", relative=relative)
    tidy(pair[0], f"{sweep.title}, m = {sweep.usual[1]}")
    tidy(pair[1], f"{sweep.title}, n = {sweep.usual[0]}")


def _draw_tasks(results: Results, canvas: Canvas, *, sweeps: tuple[Sweep, ...]) -> None:
    """Draw one panel for each crowd, with more and more tasks."""
    canvas.set_size_inches(4.2 * len(sweeps) + 0.8, 3.8)
    grid = canvas.subplots(1, len(sweeps), squeeze=False)[0]
    for axes, sweep in zip(grid, sweeps, strict=True):
        draw_lines(axes, results, sweep.over_tasks(), along="tasks")
        tidy(axes, f"{sweep.title}, n = {sweep.usual[0]}")
    grid[0].set_ylabel("error")
    add_legend(canvas, _methods(sweeps))


def _methods(sweeps: Iterable[Sweep]) -> list[str]:
    return ["UA", *(method for sweep in sweeps for method in sweep.methods)]


def _figure(name: str, title: str, caption: str, draw: Draw, sweeps: tuple[Sweep, ...]) -> Figure:
    return Figure(
        name=f"figure-{name}",
        title=title,
        caption=caption,
        settings=partial(settings_of, sweeps),
        draw=partial(draw, sweeps=sweeps),
        sources=tuple(sweep.source for sweep in sweeps),
        repetitions=1000 if sweeps[0] in VARIANTS else 300,
    )


_SIZES_NOTE = "Mean error with more workers (n) and 15 tasks, and with more tasks (m) and ten workers"
_RIDGE_NOTE = "P-TD-AK with the ridge λ, five workers and more and more tasks, numbers from a generated crowd"

LINE_FIGURES = (
    _figure("variants", "Variants of P-TD-AK", f"{_RIDGE_NOTE}.", _draw_tasks, VARIANTS[:1]),
    _figure(
        "regularisation",
        "Variants of P-TD-AK for two kinds of crowd",
        f"{_RIDGE_NOTE}: with normal or with two kinds of workers.",
        _draw_tasks,
        VARIANTS,
    ),
    _figure(
        "lines",
        "Classes and numbers, generated crowds",
        f"{_SIZES_NOTE}. Of two methods with the same line, the first is for numbers and the second for two classes.",
        _draw_columns,
        SYNTHETIC,
    ),
    _figure("real", "Numbers, real data", f"{_SIZES_NOTE}.", _draw_columns, REAL),
    _figure("categorical-all", "Classes, all crowds and data sets", f"{_SIZES_NOTE}.", _draw_pairs, CATEGORICAL),
    _figure(
        "triangles",
        "Triangles",
        f"{_SIZES_NOTE}, as a share of the error of UA.",
        partial(_draw_columns, relative=True, width=4.2),
        TRIANGLES,
    ),
)
