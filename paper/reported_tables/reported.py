"""What the paper prints: each number of its tables, with its mark."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paper.reported_tables.tables import Row

__all__ = ["Printed", "printed_row", "reported"]


class Printed(NamedTuple):
    """A number of the paper in percent, and its mark: ``best``, ``tie``, ``worse than UA`` or none."""

    percent: float
    mark: str


Key = tuple[str, str, str, int, int, str]


@cache
def reported() -> Mapping[Key, Printed]:
    """Return all printed numbers, by table, data set, group (classes or rule), workers, tasks and method.

    >>> reported()["table-2", "SYN.N", "2", 10, 15, "P-TD-AK"]
    Printed(percent=-9.0, mark='best')
    """
    with (files("paper.reported_tables") / "reported.csv").open(encoding="utf-8") as file:
        return {
            (
                row["table"],
                row["dataset"],
                row["group"],
                int(row["workers"]),
                int(row["tasks"]),
                row["method"],
            ): Printed(float(row["percent"]), row["mark"])
            for row in csv.DictReader(file)
        }


def printed_row(row: Row, method: str) -> Printed:
    """Return what a table prints in a row, in the column of a method.

    >>> from paper.reported_tables.tables import TABLES
    >>> printed_row(TABLES["table-2"].rows[0], "CRH").percent
    -14.0
    """
    return reported()[row.table, row.dataset, row.group, row.workers, row.tasks, method]
