"""Reasons: why numbers differ from the paper's, as far as known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paper.reported_tables.interpretations import Interpretation
    from paper.reported_tables.tables import Row

__all__ = ["REASONS", "Reason", "reason_for"]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a number differs.

    Parameters
    ----------
    why
        The reason.
    methods, groups, datasets, kinds
        Where it holds; everywhere if none is given. Data sets are those that are meant, where a label is wrong.
    """

    why: str
    methods: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def holds(self, row: Row, interpretation: Interpretation, method: str) -> bool:
        """Tell whether it holds for a cell."""
        pairs = (
            (self.methods, method),
            (self.groups, row.group),
            (self.datasets, interpretation.dataset),
            (self.kinds, row.kind),
        )
        return all(not allowed or value in allowed for allowed, value in pairs)


_SMALL_DATASETS = ("DOTS3", "DOTS5", "DOTS7", "DOTS9", "PUZZ5", "PUZZ7", "PUZZ9", "PUZZ11")

# The first that holds is given.
REASONS = (
    Reason(
        methods=("MAS",),
        kinds=("numbers",),
        why="MAS, numbers: its density has no maximum, and what the authors' search ends at depends on where it stops;"
        " here error scales are bounded from below. The large positive numbers of the paper are such ends.",
    ),
    Reason(
        methods=("MAS",),
        why="MAS, other labels: the authors weigh by 1/2 less a worker's share of all error scales, which makes weights"
        " nearly equal; here the weight is the distance to the largest scale.",
    ),
    Reason(
        kinds=("rankings",),
        datasets=("BUILD",),
        why="BUILD, ranked: the paper speaks of four items, the public file ranks 25 buildings, and which four it took"
        " is not known.",
    ),
    Reason(
        methods=("D-TD",),
        groups=("best worker",),
        why="D-TD, best worker: the unweighted answer is that of a random worker, whose distance to it is 0. How the"
        " paper goes on from there is not known; here a fault of 0 is smoothed.",
    ),
    Reason(
        methods=("TOP2",),
        kinds=("rankings",),
        why="TOP2, rankings: many rankings of few items are equally close, and which of them are left at the end of the"
        " peeling is chance, but not the same chance here and there. SYN.HS stays unexplained.",
    ),
    Reason(
        methods=("P-TD-D", "iP-TD"),
        groups=("veto", "plurality"),
        datasets=_SMALL_DATASETS,
        why="P-TD and iP-TD under veto and plurality, DOTS and PUZZ: the printed numbers are between those of the"
        " weights 1 / disparity, which all rankings have here, and max - disparity.",
    ),
    Reason(
        methods=("P-TD-AK",),
        groups=("2",),
        why="P-TD-AK, two classes: no reading that we tried is as good as what is printed.",
    ),
    Reason(
        methods=("CATD",),
        datasets=("SYN.N",),
        why="CATD, real SYN.N: after 15 rounds one worker decides alone, so it matters how good the very best workers"
        " of the paper's one generated crowd are.",
    ),
    Reason(
        methods=("KDE",),
        why="KDE: the paper does not define its variant. A plain loop over the published algorithm gives our numbers.",
    ),
)


def reason_for(row: Row, interpretation: Interpretation, method: str) -> str:
    """Return the first reason that holds for a cell, or nothing.

    >>> from paper.reported_tables import TABLES, interpret_row
    >>> row = TABLES["table-2"].rows[0]
    >>> reason_for(row, interpret_row(row), "P-TD-AK")
    'P-TD-AK, two classes: no reading that we tried is as good as what is printed.'
    """
    return next((reason.why for reason in REASONS if reason.holds(row, interpretation, method)), "")
