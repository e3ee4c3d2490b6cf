"""The running example: five workers, four questions, and how good each worker is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paper.figures.base import Figure
from paper.figures.style import GREY, INK, look_of, tidy
from paper.reported_tables.example import solve_example

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from allalike._core.blocks.block import Floats
    from paper.experiments.runner import Results

__all__ = ["EXAMPLE"]

_SHOWN_METHODS = ("UA", "P-TD", "P-TD-AK(ridge=4)", "OA, from the true variances")

TRUTH = np.array([80.0, 0.0, 40.0, -10.0])
VARIANCES = np.array([55.0, 80.0, 100.0, 120.0, 165.0])


def _draw(results: Results, canvas: Canvas) -> None:
    canvas.set_size_inches(8.4, 4.6)
    found = {answer.name: answer.labels for answer in solve_example()}
    reports = np.array([found[f"worker {number}"] for number in range(1, len(VARIANCES) + 1)])
    for axes, first in zip(canvas.subplots(1, 2), (0, 2), strict=True):
        both = slice(first, first + 2)
        _draw_reports(axes, reports[:, both], TRUTH[both])
        axes.scatter(*TRUTH[both], marker="x", s=60, color=INK, label="truth", zorder=3)
        for method, answer in ((name, found[name]) for name in found if name in _SHOWN_METHODS):
            look = look_of(method.partition(",")[0])
            axes.scatter(
                *answer[both], marker=look.mark, s=9 * look.size, color=look.colour, label=look.label, zorder=3
            )
        axes.margins(0.09)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel(f"question {first + 1}")
        axes.set_ylabel(f"question {first + 2}")
        tidy(axes)
    handles, labels = axes.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside upper left", ncols=5, frameon=False, columnspacing=1.2)


def _draw_reports(axes: Axes, reports: Floats, truth: Floats) -> None:
    """Draw a circle around each report, and the worker's number outside, on the side away from the truth."""
    from matplotlib.patches import Circle

    for number, (report, variance) in enumerate(zip(reports, VARIANCES, strict=True), 1):
        radius = float(np.sqrt(variance))
        axes.add_patch(Circle((report[0], report[1]), radius, fill=False, edgecolor=GREY))
        axes.scatter(report[0], report[1], s=9, color=GREY)
        away = (report - truth) / np.linalg.norm(report - truth)
        x, y = report + (radius + 2.5) * away
        axes.text(x, y, str(number), color=INK, ha="center", va="center")


EXAMPLE = Figure(
    name="figure-example",
    title="The running example",
    caption=(
        "Questions 1 and 2, and 3 and 4. Dots are the answers of the five workers; the radius of a worker's circle is"
        " the standard deviation of her errors, so its area grows with their variance. P-TD-AK has the ridge λ = 4; the"
        " oracle (OA) knows the variances."
    ),
    settings=list,
    draw=_draw,
)
