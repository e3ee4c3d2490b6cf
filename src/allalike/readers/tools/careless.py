"""Careless respondents: people whose answers to a survey deserve a look, each with the reason.

Three signs need no truth. A **check of attention** says what to answer, and was answered otherwise. The **same answer**
in all rows of a matrix: with share s of it in each row, that happens by chance with the product of the shares, and only
what is less probable than 1 % counts. Rows that ask for the same thing are alike for honest people, too; where more
than a tenth answer so, it says nothing of anybody. **Less than a third of the median time**: if times were lognormal
with a deviation of 0.5, 1.4 % of careful people would be as fast. Leiner: Too fast, too straight, too weird. Survey
Research Methods 2019, compares such signs. None of them proves anything: they say whose answers to look at.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.tools.sheets import BLANKS

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_CHANCE = 0.01
_MIN_ROWS = 3  # of a matrix
_MAX_STRAIGHT = 0.1  # of all people
_FAST = 1 / 3
_MIN_PEOPLE = 10  # fewer have no median that says what is fast


def find_inattentive(cells: Sequence[str], right: str) -> list[int]:
    """Return who answered a check of attention with something else.

    >>> find_inattentive(["Agree", "agree ", "Disagree", ""], "Agree")
    [2]
    """
    said = [cell.strip().casefold() for cell in cells]
    return [row for row, cell in enumerate(said) if cell not in ("", right.strip().casefold())]


def find_straight(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return who gave the same answer in all rows of a matrix, though that is improbable.

    >>> rows = [["abcd"[(person + row) % 4] for person in range(12)] + ["a"] for row in range(4)]
    >>> find_straight(rows), find_straight([["a"] * 13] * 4)
    ([12], [])
    """
    if len(columns) < _MIN_ROWS:
        return []
    counts = [Counter(cell for cell in cells if cell.strip() not in BLANKS) for cells in columns]
    found = []
    for row, said in enumerate(zip(*columns, strict=True)):
        if len(set(said)) == 1 and said[0].strip() not in BLANKS:
            shares = [count[said[0]] / count.total() for count in counts]
            found += [row] if float(np.prod(shares)) < _LEAST_CHANCE else []
    return found if len(found) <= _MAX_STRAIGHT * len(columns[0]) else []


def find_fast(seconds: Sequence[str]) -> tuple[list[int], float]:
    """Return who needed less than a third of the median time, and that median.

    >>> find_fast(["300"] * 9 + ["90"]), find_fast(["300", "1"])
    (([9], 300.0), ([], nan))
    """
    times = np.array([_number(cell) for cell in seconds])
    known = times[times > 0]
    if len(known) < _MIN_PEOPLE:
        return [], float("nan")
    median = float(np.median(known))
    return np.flatnonzero((times > 0) & (times < _FAST * median)).tolist(), median


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
