"""Cells that divide, found by experts on pictures from a microscope: Marzahl and others (2020).

A file has one line per view of a picture, and one per mark. A viewed picture without marks is an empty answer. Marks
are squares of equal size around a click; their centre is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.domains import Points
from allalike.readers import read
from crowd_data.base import Parsed, Parser

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SIDE = re.compile(r'"([xy][12])": "(-?[\d.]+)"')
_MIN_FIELDS = 9  # of a mark; a line with fewer fields means no marks
_DELETED = 8
_RADIUS = 25  # pixels; the authors match marks within it


def read_marks(lines: Iterable[str]) -> dict[str, list[list[float]]]:
    """Return the centres of the marks in each viewed picture."""
    marks: dict[str, list[list[float]]] = {}
    for line in filter(None, map(str.strip, lines)):
        fields = line.removeprefix("[").split("|")
        if fields[0] == "image name":
            continue
        here = marks.setdefault(fields[0], [])
        if not line.startswith("[") and len(fields) >= _MIN_FIELDS and fields[_DELETED] != "True":
            side = {name: float(value) for name, value in _SIDE.findall(fields[2])}
            here.append([(side["x1"] + side["x2"]) / 2, (side["y1"] + side["y2"]) / 2])
    return marks


def _clicked(folder: Path) -> Parsed:
    """Read the marks of each participant in the first round, and the editor's marks as gold."""
    paths = sorted((folder / "round1").glob("participant_*.txt"))
    rows = [
        (int(path.stem.removeprefix("participant_")), task, marks)
        for path in paths
        for task, marks in read_marks(path.read_text(encoding="utf-8").splitlines()).items()
    ]
    gold = read_marks((folder / "round1" / "ground_truth.txt").read_text(encoding="utf-8").splitlines())
    note = f"The radius is {_RADIUS} pixels, as its authors match marks."
    return Parsed(read(rows, domain=Points(radius=_RADIUS)), gold, note)


POINTS = (Parser("points_mitosis", "points_mitosis", "where cells divide in a picture", _clicked),)
