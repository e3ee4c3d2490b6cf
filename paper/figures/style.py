"""Style: what methods look like, the same in all figures.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart. The proximity methods have colours, the
oracle is black, UA is dashed, and all others are thin and grey, with dashes and marks of their own; a method for
numbers and one for classes may share them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["BLUE", "FAINT", "GREY", "INK", "SETTINGS", "Look", "add_legend", "look_of", "ordered", "tidy"]

INK, GREY, FAINT = "#222222", "#858585", "#e4e4e4"
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"

SETTINGS: dict[str, Any] = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.titlesize": 10,
    "figure.dpi": 150,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.fontsize": 9,
    "savefig.dpi": 150,
    "svg.fonttype": "path",
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn: its name, colour, mark, dashes and the width of its line.

    >>> Look("CRH").is_thin, Look("P-TD", BLUE).is_thin
    (True, False)
    """

    label: str
    colour: str = GREY
    mark: str = "o"
    dashes: Any = "solid"
    width: float = 0.9

    @property
    def is_thin(self) -> bool:
        """Whether it stays in the background."""
        return self.colour == GREY

    @property
    def size(self) -> float:
        """How large its mark is; a star looks smaller than it is."""
        return 6.5 if self.mark == "*" else 4.0


# In the order of legends: the limits, the family, the others.
LOOKS = {
    "OA": Look("oracle (OA)", INK, "*", "solid", 1.7),
    "UA": Look("unweighted (UA)", INK, "D", (0, (4, 2)), 1.4),
    "P-TD": Look("P-TD", BLUE, "o", "solid", 1.7),
    "P-TD-AK": Look("P-TD-AK", VERMILION, "^", "solid", 1.7),
    "iP-TD": Look("iP-TD", GREEN, "s", "solid", 1.7),
    "P-TD-AK(ridge=0, nonpositive='clip')": Look("λ = 0", VERMILION, "^", "solid", 1.7),
    "P-TD-AK(ridge=2, nonpositive='clip')": Look("λ = 2", ORANGE, "o", (0, (5, 1)), 1.7),
    "P-TD-AK(ridge=4, nonpositive='clip')": Look("λ = 4", SKY, "s", (0, (2, 1)), 1.7),
    "D-TD": Look("D-TD", PURPLE, "v", "solid", 1.7),
    "CRH": Look("CRH", mark="h"),
    "CATD": Look("CATD", mark="p", dashes=(0, (7, 2))),
    "DS-1": Look("DS", mark="p", dashes=(0, (7, 2))),
    "GTM": Look("GTM", mark="<", dashes=(0, (3, 1.5))),
    "EVD": Look("EVD", mark="<", dashes=(0, (3, 1.5))),
    "KDE": Look("KDE", mark=">", dashes=(0, (1, 2))),
    "IBP": Look("IBP", mark=">", dashes=(0, (1, 2))),
    "EXP": Look("EXP", mark="X", dashes=(0, (7, 2, 1, 2))),
    "TOP2": Look("TOP2", mark="P", dashes=(0, (3, 1.5, 1, 1.5, 1, 1.5))),
}


def look_of(method: str) -> Look:
    """Return the look of a method, whatever its options, unless these have a look of their own.

    >>> look_of("iP-TD(max_iter=2)").label
    'iP-TD'
    """
    return LOOKS[method] if method in LOOKS else LOOKS[method.partition("(")[0]]


def ordered(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of legends, each once.

    >>> ordered(["iP-TD", "UA", "iP-TD"])
    ['UA', 'iP-TD']
    """
    places = list(LOOKS.values())
    return sorted(dict.fromkeys(methods), key=lambda method: places.index(look_of(method)))


def tidy(axes: Axes, title: str = "") -> None:
    """Leave of a frame what is needed, and put the title above its left edge.

    >>> from paper.figures.base import matplotlib
    >>> axes = matplotlib().figure.Figure().subplots()
    >>> tidy(axes, "DOTS3")
    >>> axes.get_title(loc="left")
    'DOTS3'
    """
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=2.5)
    axes.set_title(title, loc="left")


def add_legend(canvas: Canvas, methods: Iterable[str], *, lines: bool = True) -> None:
    """Name the methods once, above all panels; those that look the same have one entry.

    >>> from paper.figures.base import matplotlib
    >>> canvas = matplotlib().figure.Figure()
    >>> add_legend(canvas, ["GTM", "EVD", "UA"])
    >>> [text.get_text() for text in canvas.legends[0].get_texts()]
    ['unweighted (UA)', 'GTM / EVD']
    """
    from matplotlib.lines import Line2D

    names: dict[Look, list[str]] = {}
    for look in map(look_of, ordered(methods)):
        same = names.setdefault(replace(look, label=""), [])
        same.extend([look.label] if look.label not in same else [])
    handles = []
    for look, labels in names.items():
        style: dict[str, Any] = {"color": look.colour, "linewidth": look.width, "markersize": look.size}
        style["linestyle"] = look.dashes if lines else "none"
        style["marker"] = "none" if lines and look.is_thin else look.mark
        handles.append(Line2D([], [], **style, label=" / ".join(labels)))
    columns = int(canvas.get_figwidth() / 1.45)
    canvas.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, handlelength=2.8)
