"""Detect a column of a matrix that is the consensus of the other columns, and not a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import is_gold, name_consensus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers.guessing.contents import TableSample

_MOST_CLASSES = 20
_MOST_CELLS = 1_000_000
_LEAST_COLUMNS, _LEAST_ROWS = 4, 20
MOST_DEPARTURES = 0.05  # of the rows, where a column is a consensus
_CLEAR_ERRORS = 2.0  # standard errors by which its departures are fewer than those of any other column


def find_consensus(sample: TableSample, names: Sequence[str]) -> str | None:
    """Return the column that agrees with the majority of the others in 95 % of the rows, clearly more than any does.

    A very good worker may do so as well, so it is a reason to mention the column, and not to exclude it.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> ada, bob, eve = "yxyyy" * 8, "xyyxy" * 8, "xxxyx" * 8
    >>> vote = ["x" if row.count("x") > 1 else "y" for row in zip(ada, bob, eve)]
    >>> cells = {"ada": [*ada], "bob": [*bob], "eve": [*eve], "kim": vote}
    >>> find_consensus(TableSample(cells), [*cells])
    'kim'
    """
    found = measure_departures(sample, [name for name in names if not is_gold(name) and not name_consensus(name)])
    if len(found) < _LEAST_COLUMNS:
        return None
    (first, (rate, rows)), (_, (other, _)) = sorted(found.items(), key=lambda item: item[1][0])[:2]
    clear = (other - rate) * rows >= _CLEAR_ERRORS * np.sqrt((other + rate) * rows) > 0
    return first if rows >= _LEAST_ROWS and rate <= MOST_DEPARTURES and clear else None


def measure_departures(sample: TableSample, names: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Measure in which share of how many rows each column departs from the majority of the others; not for numbers."""
    n_rows = min(sample.n_rows, _MOST_CELLS // max(len(names), 1))
    numbers: dict[str, int] = {}
    codes = np.full((len(names), n_rows), -1, np.int64)
    for place, name in enumerate(names):
        content = sample[name]
        if content.n_present > _MOST_CLASSES or len(numbers) > 2 * _MOST_CLASSES:
            return {}
        number = np.array([numbers.setdefault(str(value), len(numbers)) for value in content.values], np.int64)
        codes[place] = np.where(content.missing, -1, number[content.codes])[:n_rows]
    votes = np.stack([(codes == number).sum(axis=0) for number in range(len(numbers) or 1)], axis=1)
    found = {}
    for name, own in zip(names, codes, strict=True):
        rows = np.flatnonzero(own >= 0)
        others = votes[rows].copy()
        others[np.arange(len(rows)), own[rows]] -= 1
        most = others.max(axis=1, initial=0)
        clear = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)  # rows in which the others have a majority
        if clear.any():
            found[name] = float((others[clear].argmax(axis=1) != own[rows][clear]).mean()), int(clear.sum())
    return found
