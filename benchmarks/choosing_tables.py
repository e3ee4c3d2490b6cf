"""The tables of ``docs/guide/CHOOSING.md``, made of the figures in ``docs/evidence/choosing.csv``.

python benchmarks/choosing_tables.py    # writes them into the page again
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import fmean

__all__ = ["FIGURES", "PAGE", "read", "show"]

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURES = DOCS / "guide" / "CHOOSING.md", DOCS / "evidence" / "choosing.csv"
_TABLE = re.compile(r"(<!-- figures: (.+?) -->\n\n).*?(?=\n\n|\n\Z)", flags=re.DOTALL)
_NAMES = {"UA": "a vote", "auto": "`auto`", "auto, absolute": "`auto`, absolute"}

Figures = dict[tuple[str, str, str, int], float]


def read(path: Path = FIGURES) -> Figures:
    """Return the mean errors by part, crowd, method and number."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["part"], row["crowd"], row["method"], int(row["at"])): float(row["error"]) for row in rows}


def show(page: str, figures: Figures) -> str:
    """Return a page with the tables of today's figures."""
    return _TABLE.sub(lambda found: found[1] + _tabulate(found[2], figures), page)


def _tabulate(part: str, figures: Figures) -> str:
    mine = {key[1:]: error for key, error in figures.items() if key[0] == part}
    mine = _over_sets(mine) if part.startswith("public") else mine
    crowds = list(dict.fromkeys(crowd for crowd, _, _ in mine))
    methods = list(dict.fromkeys(method for _, method, _ in mine))
    numbers = list(dict.fromkeys(number for _, _, number in mine))
    cells = {
        (crowd, method, number): cell
        for crowd in crowds
        for number in numbers
        for method, cell in zip(methods, _bold([mine[crowd, each, number] for each in methods], part), strict=True)
    }
    names = {method: _NAMES.get(method, method) for method in methods}
    if len(numbers) == 1:
        lines = {crowd: [cells[crowd, method, numbers[0]] for method in methods] for crowd in crowds}
        return _lines("workers", list(names.values()), lines)
    heads = ["all" if part.startswith("public") and number == 0 else f"{number:,}" for number in numbers]
    lines = {
        ", ".join(filter(None, (crowd, names[method]))): [cells[crowd, method, number] for number in numbers]
        for crowd in crowds
        for method in methods
    }
    return _lines("", heads, lines)


def _over_sets(mine: dict[tuple[str, str, int], float]) -> dict[tuple[str, str, int], float]:
    """Average over data sets."""
    places = dict.fromkeys((method, number) for _, method, number in mine)
    return {("", *place): fmean(error for key, error in mine.items() if key[1:] == place) for place in places}


def _bold(errors: list[float], part: str) -> list[str]:
    """Write errors in percent, or as they are where they are lengths; the least is bold unless all are the same."""
    shown = [f"{error:.2f}" if part == "numbers" else f"{100 * error:.1f}" for error in errors]
    least = min(shown, key=float)
    return [f"**{each}**" if each == least and len(set(shown)) > 1 else each for each in shown]


def _lines(first: str, heads: list[str], lines: dict[str, list[str]]) -> str:
    table = [f"| {first} | {' | '.join(heads)} |", "| --- |" + " --: |" * len(heads)]
    return "\n".join([*table, *(f"| {name} | {' | '.join(cells)} |" for name, cells in lines.items())])


if __name__ == "__main__":
    PAGE.write_text(show(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")
