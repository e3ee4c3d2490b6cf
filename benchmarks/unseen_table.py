"""A compact table of figures, to be read in a terminal while a method is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen_crowds import FAMILIES
from unseen_figures import VOTE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unseen_figures import Figure, Figures

__all__ = ["write_table"]

_MARKS = {1: "+", 0: " ", -1: "-"}


def write_table(figures: Figures) -> str:
    """Write percent right by crowd, then what follows; + and - are clearly above and below the vote."""
    methods, families = figures.methods, figures.families(*FAMILIES)
    wide = max(len(one.crowd) for one in figures.every) + 1
    lines = [_line("", ["gold", *("vote" if name == VOTE else name for name in methods)], wide)]
    for family in families:
        crowds = figures.crowds(family)
        lines += [
            _line(one.crowd, [str(one.gold), *(_score(figures, one, m) for m in methods)], wide) for one in crowds
        ]
        lines += [_means(figures, f"  {family}", crowds, wide)]
    crowds = figures.crowds(*families)
    lines += [_means(figures, "mean of crowds", crowds, wide)]
    each = [figures.by_family(name, *families) for name in methods]
    lines += [_line("mean of families", ["", *(_percent(share) for share in each)], wide)]
    counts: dict[str, Callable[[str], Sequence[Figure]]] = {
        "clearly above": lambda name: figures.clearly(name, crowds, 1),
        "clearly below": lambda name: figures.clearly(name, crowds, -1),
        "below by 1.5": lambda name: figures.far_below(name, crowds),
    }
    lines += [_line(what, ["", *(str(len(count(name))) for name in methods)], wide) for what, count in counts.items()]
    sure = [figures.calibration(name, crowds) for name in methods]
    lines += [_line("calibration error", ["", *("" if each is None else f"{each:.3f}" for each in sure)], wide)]
    lines += [_line("limits hold, %", ["", *(_held(figures, name, crowds) for name in methods)], wide)]
    return "\n".join(line.rstrip() for line in lines)


def _line(first: str, cells: Sequence[str], wide: int) -> str:
    return f"{first:<{max(wide, 18)}}" + "".join(f"{cell:>{max(len(cell) + 1, 9)}}" for cell in cells)


def _score(figures: Figures, crowd: Figure, method: str) -> str:
    figure = figures.by_name.get((crowd.crowd, method))
    if figure is None:
        return " "
    return "none " if figure.right is None else f"{100 * figure.right:.1f}{_MARKS[figure.clear]}"


def _means(figures: Figures, what: str, crowds: Sequence[Figure], wide: int) -> str:
    return _line(what, ["", *(_percent(figures.right(name, crowds)) for name in figures.methods)], wide)


def _percent(share: float | None) -> str:
    return " " if share is None else f"{100 * share:.1f} "


def _held(figures: Figures, method: str, crowds: Sequence[Figure]) -> str:
    """Return the percentage of workers within their limits, and of those who may be."""
    found = figures.of(method, crowds)
    judged = sum(figure.judged for figure in found)
    within, allowed = (sum(getattr(figure, name) for figure in found) for name in ("within", "allowed"))
    return f"{100 * within / judged:.0f}/{100 * allowed / judged:.0f}" if judged else ""
