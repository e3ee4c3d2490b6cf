"""Disparity and fault: whether those who are close to the others are close to the truth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.datasets import DATASETS
from allalike.engines import Memory
from allalike.methods import METHODS
from allalike.readers import read_gold
from allalike.simulation import as_model, simulate
from allalike.theory import expected_disparity, expected_disparity_one_coin
from crowd_data import load
from paper.figures.base import Figure, here
from paper.figures.style import BLUE, GREY, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from allalike._core.blocks.block import Floats
    from allalike.answers import Answers
    from allalike.domains import Encoding
    from paper.experiments.runner import Results

__all__ = ["DISPARITY", "DISPARITY_ALL", "disparities"]

_MAIN_SOURCES = ("Medicine", "EMO", "DOTS3")
_ALL_SOURCES = (
    *("binary SYN.N", "binary SYN.HS", "k=4 SYN", "real SYN.N", "real SYN.HS", "ranking SYN.N", "ranking SYN.HS"),
    *("Chinese", "English", "IT", "Medicine", "Pokemon", "Science", "GG", "DOGS", "FLAGS"),
    *("Pred.T1", "Pred.T2", "Pred.T3", "Pred.T4"),
    *("TRI1", "TRI2", "EMO", "BUILD"),
    *("DOTS3", "DOTS5", "DOTS7", "DOTS9", "PUZZ5", "PUZZ7", "PUZZ9", "PUZZ11", "BUILD.ranking"),
    *("TRANSL", "schema_matching_powarematch", "intervals", "ETCH"),
)
_TITLES = {"schema_matching_powarematch": "schema matching", "BUILD.ranking": "BUILD, ranked"}
_WORKERS = 150  # of a generated crowd
_MANY_WORKERS = 4  # on one point
_LOG_RATIO = 20  # times the median fault, from where on axes are logarithmic


def disparities(source: str) -> tuple[Encoding, Floats, Floats]:
    """Return the encoding of a crowd or data set, and each worker's disparity and distance to the truth.

    >>> encoding, disparity, fault = disparities("real SYN.HS")
    >>> encoding.domain.name, len(fault), float(np.corrcoef(disparity, fault)[0, 1]) > 0.9
    ('real', 150, True)
    """
    answers = load(source).answers if source in DATASETS else _generated(source)
    run = Memory().load(answers)
    disparity = METHODS["UA"]().fit(run).disparity
    fault = METHODS["OA"]().fit(run).fault
    known = run.sum(run.kernels.gold_sums)["answers"] > 0
    return answers.encoding, disparity[known], fault[known]


def _generated(source: str) -> Answers:
    crowd = simulate(as_model(source), workers=_WORKERS)
    return read_gold(crowd.truth, crowd.answers)


def _draw(results: Results, canvas: Canvas, *, sources: tuple[str, ...], columns: int, side: float) -> None:
    shown = [source for source in sources if here(source)]
    rows = -(-len(shown) // columns)
    canvas.set_size_inches(side * columns, side * rows + 0.2)
    grid = canvas.subplots(rows, columns, squeeze=False).ravel()
    for axes, source in zip(grid, shown, strict=False):
        _draw_panel(axes, *disparities(source))
        tidy(axes, _TITLES.get(source, source))
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    canvas.supxlabel("disparity: average distance to the other workers", fontsize=9)
    canvas.supylabel("fault: distance to the truth", fontsize=9)


def _draw_panel(axes: Axes, labels: Encoding, disparity: Floats, fault: Floats) -> None:
    places, count = np.unique(np.column_stack([disparity, fault]), axis=0, return_counts=True)
    largest = count.max()
    area = 12.0 if largest < _MANY_WORKERS else 4 + 60 * count / largest
    axes.scatter(places[:, 0], places[:, 1], s=area, color=BLUE, alpha=0.55, linewidths=0, zorder=2)
    expected = _expected(labels, fault)
    if expected is not None:
        axes.plot(*expected, color=GREY, linewidth=1, zorder=1)
    text = f"r = {np.corrcoef(disparity, fault)[0, 1]:.2f}".replace("-", "\N{MINUS SIGN}")
    axes.text(0.98, 0.04, text, transform=axes.transAxes, ha="right", color=GREY, fontsize=8)
    if fault.max() > _LOG_RATIO * np.median(fault):
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=-0.04 * fault.max())


def _expected(labels: Encoding, fault: Floats) -> tuple[Floats, Floats] | None:
    """Return the line on which unbiased workers lie on average, where it is known."""
    faults, mean = np.sort(fault), float(fault.mean())
    if labels.numeric:
        return expected_disparity(faults, mean), faults
    if labels.n_classes is not None:
        return expected_disparity_one_coin(faults, mean, classes=labels.n_classes), faults
    return None


_POINTS_NOTE = (
    "One point for each worker; where many have the same two distances, its area says how many. r is the correlation."
    " For classes and numbers, the line is what theory expects of workers who err in their own ways, given the mean"
    " fault: where points lie to its left, workers share mistakes."
)

DISPARITY = Figure(
    name="figure-disparity",
    title="Disparity and fault",
    caption=f"{_POINTS_NOTE} One data set of classes, one of numbers and one of rankings.",
    settings=list,
    draw=partial(_draw, sources=_MAIN_SOURCES, columns=3, side=2.9),
    sources=_MAIN_SOURCES,
)
DISPARITY_ALL = Figure(
    name="figure-disparity-all",
    title="Disparity and fault, all data",
    caption=(
        f"{_POINTS_NOTE} Generated crowds have {_WORKERS} workers. Axes are logarithmic where the worst worker is more"
        f" than {_LOG_RATIO} times as far from the truth as the median."
    ),
    settings=list,
    draw=partial(_draw, sources=_ALL_SOURCES, columns=6, side=2.0),
    sources=_ALL_SOURCES,
)
