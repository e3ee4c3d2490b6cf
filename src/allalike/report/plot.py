"""Charts of the report as SVG images, for notebooks and papers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import OutputError, UnsupportedError
from allalike.report.content import describe
from allalike.report.page import read_asset

if TYPE_CHECKING:
    import os

    from allalike.report.report_data import Material


@dataclass(frozen=True, repr=False)
class Chart:
    """A chart as SVG, which notebooks display."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart to a file, ``.svg`` or (if `cairosvg` is installed) ``.png``, and return its path.

        >>> Chart("<svg/>").save("map.gif")
        Traceback (most recent call last):
        allalike.errors.OutputError: Cannot write map.gif: charts are saved as .svg or .png. Name it map.svg.
        """
        target = Path(path)
        if target.suffix.lower() == ".svg":
            target.write_text(self.svg, encoding="utf-8")
            return target
        if target.suffix.lower() != ".png":
            raise OutputError(f"Cannot write {target}: charts are saved as .svg or .png. Name it {target.stem}.svg.")
        try:
            import cairosvg  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            message = (
                f"Cannot write {target}: PNG needs cairosvg. Run 'pip install cairosvg', or name {target.stem}.svg."
            )
            raise OutputError(message) from None
        cairosvg.svg2png(bytestring=self.svg.encode(), write_to=str(target), scale=2)
        return target


@dataclass(frozen=True)
class Plots:
    """Charts of a result, the same as in its report.

    Examples
    --------
    >>> import allalike
    >>> crowd = allalike.simulate("one-coin(classes=3)", workers=7, tasks=50, seed=1)
    >>> "w1" in allalike.discover(crowd.answers).plot.workers().svg
    True
    """

    material: Material

    def workers(self) -> Chart:
        """Draw the 95 % confidence intervals of the best and the worst workers; without gold labels, their ranks."""
        return self._draw("intervals", "errors of workers are unknown")

    def map(self) -> Chart:
        """Draw workers on a map by multidimensional scaling: workers with similar answers are close."""
        return self._draw("map", "distances between workers are unknown or do not differ significantly")

    def confidence(self) -> Chart:
        """Draw a histogram of the labels' confidence, or of the width of intervals for numbers."""
        return self._draw("confidence", "the confidence of the labels is unknown")

    def errors(self) -> Chart:
        """Draw a histogram of the workers' estimated errors."""
        return self._draw("errors", "errors of workers are unknown or do not differ significantly")

    def gold(self) -> Chart:
        """Draw each worker's disparity (mean distance to the others) against the error on gold labels."""
        return self._draw("gold", "fewer than three workers answered three tasks with gold labels")

    @cached_property
    def _page(self) -> dict[str, Any]:
        return describe(self.material)

    def _draw(self, name: str, reason: str) -> Chart:
        """Return a chart with the workers' names and the colours of the light theme."""
        chart = self._page["charts"].get(name)
        if chart is None:
            raise UnsupportedError(
                f"There is nothing to draw: {reason}. Use the tables result.workers and result.truth instead."
            )
        names = self._page["data"]["people"]["names"]
        colours = dict(re.findall(r"--([\w-]+): (#\w+)", read_asset("style.css").partition("}")[0]))
        chart = re.sub(r"(?<=[>\"])W(\d+)(?=[<\"])", lambda alias: escape(names[int(alias[1]) - 1]), chart)
        return Chart(re.sub(r"var\(--([\w-]+)\)", lambda colour: colours[colour[1]], chart))
