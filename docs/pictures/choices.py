"""The pictures of the page on choosing: errors by answers, by workers who guess, and on public data.

`make pictures` draws them from ``docs/evidence/choosing.csv``, which `benchmarks/choosing.py` measures.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

__all__ = ["PICTURES", "draw"]

FOLDER = Path(__file__).parent
_COLOURS = {"UA": "#8c959f", "iP-TD": "#bc5a08", "DS": "#6f42c1", "auto": "#1f6feb"}
_NAMES = {"UA": "a vote"}


class Panel(NamedTuple):
    """Which figures are drawn, and what is written above and below."""

    part: str
    above: str
    below: str


PICTURES = {
    "choosing": (
        Panel("answers, 4 classes", "thirty workers who err 10 to 70 % of the time", "answers per task"),
        Panel("bad", "ten workers; the others are right 80 % of the time", "workers who guess"),
    ),
    "choosing-public": (
        Panel("public, few tasks", "public sets of fewer than 50 tasks", "answers per task"),
        Panel("public, many tasks", "public sets of 100 tasks and more", "answers per task"),
    ),
}


def lines_of(part: str) -> dict[str, dict[int, float]]:
    """Return the errors of each method in percent, averaged over data sets."""
    with (FOLDER.parent / "evidence" / "choosing.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == part]
    found: dict[str, dict[int, list[float]]] = {}
    for row in (row for row in rows if not (part.startswith("public") and row["at"] == "0")):  # 0 is all there are
        found.setdefault(row["method"], {}).setdefault(int(row["at"]), []).append(100 * float(row["error"]))
    return {method: {at: fmean(errors) for at, errors in line.items()} for method, line in found.items()}


def draw(name: str) -> Path:
    """Draw a picture."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    panels = PICTURES[name]
    figure, drawn = plt.subplots(ncols=len(panels), figsize=(4.2 * len(panels), 3.2), layout="constrained")
    for axes, panel in zip(drawn, panels, strict=True):
        _draw_lines(axes, panel)
    drawn[0].set_ylabel("wrong truths, %")
    drawn[-1].legend(frameon=False)
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


def _draw_lines(axes: Any, panel: Panel) -> None:
    for method, line in lines_of(panel.part).items():
        label = _NAMES.get(method, method)
        axes.plot(list(line), list(line.values()), marker="o", markersize=4, color=_COLOURS[method], label=label)
    axes.set(title=panel.above, xlabel=panel.below, ylim=(0, None))
    axes.title.set_fontsize(10)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    for each in PICTURES:
        draw(each)
