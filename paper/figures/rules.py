"""Rules: how well rankings are aggregated, by nine voting rules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.datasets import DATASETS
from allalike.simulation import as_model
from paper.experiments.settings import Setting
from paper.figures.base import Figure, here
from paper.figures.panels import RANKED, RANKERS, RULES
from paper.figures.style import FAINT, add_legend, look_of, ordered, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from paper.experiments.runner import Results

__all__ = ["RULES_ALL", "RULES_DOTS", "draw_rules"]

_WORKERS = 10
_WIDTH_SHARE = 0.62  # of the place between two rules, for the methods of one


def _setting(source: str, rule: str) -> Setting:
    fresh = source not in DATASETS
    return Setting(source=source, workers=_WORKERS, tasks=1, methods=RANKERS, rule=rule, fresh=fresh)


def _settings(sources: tuple[str, ...]) -> list[Setting]:
    return [_setting(source, rule) for source in sources if here(source) for rule in RULES]


def draw_rules(axes: Axes, results: Results, source: str) -> None:
    """Draw the mean error of each method under each rule, with its standard error, one group for each rule."""
    methods = ordered(_setting(source, RULES[0]).methods)
    scores = [{score.method: score for score in results.scores(_setting(source, rule))} for rule in RULES]
    for method, shift in zip(methods, np.linspace(-_WIDTH_SHARE / 2, _WIDTH_SHARE / 2, len(methods)), strict=True):
        look = look_of(method)
        axes.errorbar(
            [of_rule[method].error for of_rule in scores],
            np.arange(len(RULES)) + shift,
            xerr=[of_rule[method].error_se for of_rule in scores],
            color=look.colour,
            fmt=look.mark,
            markersize=look.size,
            elinewidth=0.8,
        )
    axes.set_yticks(range(len(RULES)), RULES)
    axes.set_ylim(len(RULES) - 0.5, -0.5)


def _draw(results: Results, canvas: Canvas, *, sources: tuple[str, ...], columns: int, width: float) -> None:
    shown = [source for source in sources if here(source)]
    rows = -(-len(shown) // columns)
    canvas.set_size_inches(width, 4.4 * rows + 0.6)
    grid = canvas.subplots(rows, columns, squeeze=False, sharey=True)
    for axes, source in zip(grid.ravel(), shown, strict=False):
        draw_rules(axes, results, source)
        tidy(axes, as_model(source).name if source not in DATASETS else source)
        axes.grid(visible=False, axis="y")
        for edge in range(1, len(RULES)):
            axes.axhline(edge - 0.5, color=FAINT, linewidth=0.8)
        axes.set_xlim(left=0)
        axes.set_xlabel("error (Kendall tau)")
    for axes in grid.ravel()[len(shown) :]:
        axes.set_visible(False)
    add_legend(canvas, ["UA", *RANKERS], lines=False)


def _figure(name: str, title: str, sources: tuple[str, ...], *, columns: int, width: float) -> Figure:
    return Figure(
        name=f"figure-{name}",
        title=title,
        caption=_CAPTION,
        settings=partial(_settings, sources),
        draw=partial(_draw, sources=sources, columns=columns, width=width),
        sources=sources,
        repetitions=1000,
    )


_CAPTION = (
    f"Mean Kendall tau distance to the true ranking of four items under nine voting rules, with {_WORKERS} workers;"
    " bars are standard errors. Ties count half for both sides under Copeland, unlike in the paper. With the rule of"
    " the best worker, UA takes anyone, and so does D-TD, which finds that one best whom it took for the truth."
)

RULES_DOTS = _figure("rules", "Nine voting rules on DOTS3", ("DOTS3",), columns=1, width=6.8)
RULES_ALL = _figure("rules-all", "Nine voting rules, all rankings of four items", RANKED, columns=5, width=12.4)
