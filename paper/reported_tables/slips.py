"""Slips: where a table of the paper is not what its labels and captions say.

None of them is stated by the paper. All follow from the fit of generated crowds and of the public data to the printed
numbers, and each is one entry here, so that whoever doubts it can leave it out (``python -m paper --as-labelled``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paper.biased_copeland import BIASED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.rules import Rule
    from paper.reported_tables.tables import Row

__all__ = ["SLIPS", "TOP_OF_THREE", "Slip"]

TOP_OF_THREE = "The columns TOP2 have an expert core of three workers, not of two: with two they do not fit."


@dataclass(frozen=True, kw_only=True)
class Slip:
    """What some rows really are.

    Parameters
    ----------
    why
        What is wrong, in a sentence.
    tables, groups, datasets
        Which rows: those of these tables, groups (classes or rules) and labels; all if none is given.
    labels
        The data set that is meant, for each label.
    measure, workers, rule
        What is meant instead.

    >>> from paper.reported_tables.tables import TABLES
    >>> row = TABLES["table-B"].parts[2].rows[0]
    >>> [slip.changes(row) for slip in SLIPS if slip.concerns(row)]
    [{'measure': 'change'}, {'workers': 30}]
    """

    why: str
    tables: tuple[str, ...]
    groups: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    measure: str | None = None
    workers: int | None = None
    rule: str | Rule | None = None

    def concerns(self, row: Row) -> bool:
        """Tell whether it concerns a row."""
        return (
            row.table in self.tables
            and (not self.groups or row.group in self.groups)
            and (not self.datasets or row.dataset in self.datasets)
            and (not self.labels or row.dataset in self.labels)
        )

    def changes(self, row: Row) -> dict[str, Any]:
        """Return what is different about a row that it concerns."""
        changes = {"measure": self.measure, "workers": self.workers, "rule": self.rule}
        changes["dataset"] = self.labels.get(row.dataset)
        return {name: value for name, value in changes.items() if value is not None}


SLIPS = (
    Slip(
        tables=("table-2",),
        groups=("2",),
        labels={"SYN.HS": "SYN.N", "SYN.N": "SYN.HS"},
        why="Table 2: the rows SYN.HS and SYN.N of two classes are swapped.",
    ),
    Slip(
        tables=("table-3",),
        groups=("plurality", "copeland"),
        labels={"SYN.N": "SYN.HS", "BUILD": "SYN.N", "DOTS3": "BUILD", "PUZZ5": "DOTS3"},
        why="Table 3, Plurality and Copeland: the rows labelled SYN.N, BUILD, DOTS3 and PUZZ5 are SYN.HS, SYN.N, BUILD"
        " and DOTS3.",
    ),
    Slip(
        tables=("table-3",),
        groups=("borda",),
        labels={"PUZZ5": "PUZZ11", "PUZZ7": "PUZZ5", "PUZZ9": "PUZZ7", "PUZZ11": "PUZZ9"},
        why="Table 3, Borda: the rows labelled PUZZ5, 7, 9 and 11 are in the alphabetical order of files: PUZZ11, 5, 7"
        " and 9.",
    ),
    Slip(
        tables=("table-3",),
        groups=("borda",),
        datasets=("PUZZ7", "PUZZ9"),
        measure="change",
        why="Table 3, Borda: the rows labelled PUZZ7 and PUZZ9 are relative changes of the error, not RI.",
    ),
    Slip(
        tables=("table-A", "table-B", "table-C"),
        measure="change",
        why="Tables A, B and C of the appendix are relative changes of the error, not RI as their captions say: RI"
        " cannot be above 100 %, and +176 % is printed.",
    ),
    Slip(
        tables=("table-B",),
        groups=("best worker", "kemeny"),
        workers=30,
        why="Table B: the rows of the best worker and of Kemeny have 30 workers, not 10 as the caption says.",
    ),
    Slip(
        tables=("table-3", "table-C"),
        groups=("copeland",),
        rule=BIASED,
        why="Copeland's rule counts a draw between two items as an error. Equal weights draw often and others never,"
        " so all weighted methods seem far better than they are.",
    ),
)
