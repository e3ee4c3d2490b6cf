"""Canvas: axes to draw on, and what all pictures have in common.

Where the user gives no axes, they belong to a figure of their own that pyplot does not know: nothing is to be closed,
and no picture of hers is drawn into. Such axes show themselves at the end of a cell of a notebook; elsewhere
``ax.figure.savefig("workers.pdf")`` saves them. With ``ax=plt.gca()`` pyplot shows them.

Marks differ in lightness and in shape, so that a picture says the same in grey.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FAULTS",
    "INK",
    "MARKS",
    "PALE",
    "ShownAxes",
    "clean",
    "open_axes",
    "say_nothing",
    "shorten",
    "whole_ticks",
]

INK, PALE = "#1f4e79", "#9db8d2"
FAULTS = "cividis_r"  # light is good, dark is bad; its lightness falls evenly
MARKS = {"usual": "o", "few answers": "D", "no signal": "^"}
_MAX_NAME = 24


class ShownAxes(Axes):
    """Axes that a notebook shows as a picture.

    >>> axes = open_axes(None)
    >>> axes._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        assert isinstance(self.figure, Figure)
        self.figure.savefig(picture, format="png", metadata={"Software": None})
        return picture.getvalue()


def open_axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes that were given, or else new ones in a figure of their own, of so many inches.

    >>> open_axes(None, 3.3, 2.5).figure.get_size_inches()
    array([3.3, 2.5])
    """
    if ax is not None:
        return ax
    axes = ShownAxes(Figure(figsize=(width, height), layout="constrained"), 111)
    axes.figure.add_subplot(axes)
    return axes


def clean(axes: Axes) -> None:
    """Take away the lines above and at the right."""
    axes.spines[["top", "right"]].set_visible(False)


def say_nothing(axes: Axes, why: str) -> Axes:
    """Write in the middle of the axes why there is nothing to see.

    >>> say_nothing(open_axes(None), "Nobody answered.").texts[0].get_text()
    'Nobody answered.'
    """
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", wrap=True, transform=axes.transAxes)
    return axes


def shorten(names: Iterable[object]) -> list[str]:
    r"""Return names that fit beside a picture, in one line each.

    >>> shorten([7, "two\nlines", "x" * 30])
    ['7', 'two lines', 'xxxxxxxxxxxxxxxxxxxxxxx…']
    """
    lines = ["".join(c if c.isprintable() else " " for c in str(name)) for name in names]
    return [line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…" for line in lines]


def whole_ticks(axes: Axes) -> None:
    """Have the axis at the left count in whole numbers."""
    axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 2.5, 5, 10]))
