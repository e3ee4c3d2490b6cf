"""Cells: our number beside the paper's, for every row and column of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder
from paper.reported_tables import Interpretation, Row, Table, interpret_row, reason_for
from paper.reported_tables.reported import printed_row

if TYPE_CHECKING:
    from paper.experiments.runner import Results
    from paper.experiments.scores import Score
    from paper.experiments.settings import Setting
    from paper.reported_tables import Part, Printed

__all__ = ["Cell", "Line", "Section", "fill", "is_here", "settings_of"]

_PRINTED_REPETITIONS = 1000


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Two numbers beside each other, both in percent.

    Parameters
    ----------
    column, method
        The method in the paper's words, and with its options here.
    printed
        What the paper has.
    score
        What was found here; nothing where there are no data.
    measure
        Which number of the score it is compared with.

    >>> from paper.reported_tables import Printed
    >>> cell = Cell(column="CRH", method="CRH", printed=Printed(-14.0, ""), score=None, measure="ri")
    >>> cell.percent, cell.mark
    (nan, '')
    """

    column: str
    method: str
    printed: Printed
    score: Score | None
    measure: str

    @property
    def percent(self) -> float:
        """Our number."""
        return 100 * getattr(self.score, self.measure) if self.score else math.nan

    @property
    def se(self) -> float:
        """Its standard error."""
        return 100 * getattr(self.score, f"{self.measure}_se") if self.score else math.nan

    @property
    def difference(self) -> float:
        """Ours less the paper's."""
        return self.percent - self.printed.percent

    @property
    def is_noise(self) -> bool:
        """Whether chance may explain the difference: it is below two standard errors of both numbers, and rounding."""
        if self.score is None:
            return False
        theirs = self.se * math.sqrt(self.score.repetitions / _PRINTED_REPETITIONS)
        return abs(self.difference) <= 2 * math.hypot(self.se, theirs) + 0.5

    @property
    def mark(self) -> str:
        """``best``, ``tie``, ``worse than UA`` or nothing, as the paper marks its numbers."""
        if self.score is None:
            return ""
        return "worse than UA" if self.percent > 0 else self.score.verdict.replace("worse", "")


@dataclass(frozen=True, kw_only=True)
class Line:
    """The cells of a row.

    >>> from paper.reported_tables import TABLES
    >>> row = TABLES["table-3"].parts[1].rows[0]
    >>> Line(row=row, interpretation=interpret_row(row), cells=()).label
    'SYN.N → SYN.HS'
    """

    row: Row
    interpretation: Interpretation
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        """The paper's label, and what it is read as where that is something else."""
        means = {
            "dataset": self.interpretation.dataset if self.interpretation.dataset != self.row.dataset else "",
            "workers": f"n = {self.interpretation.workers}" if self.interpretation.workers != self.row.workers else "",
        }
        read = ", ".join(value for value in means.values() if value)
        classes = f" ({self.row.group})" if self.row.kind == "classes" else ""
        return f"{self.row.dataset}{classes}" + (f" → {read}" if read else "")

    @property
    def dropped(self) -> float:
        """The share of repetitions in which UA and a method are both without error, at most."""
        return max((cell.score.dropped for cell in self.cells if cell.score), default=math.nan)

    def reason(self, cell: Cell) -> str:
        """Say why a cell differs from the paper, as far as known."""
        if cell.is_noise:
            return "Within the noise of both."
        return reason_for(self.row, self.interpretation, cell.column) or "Not known."


@dataclass(frozen=True, kw_only=True)
class Section:
    """The lines of a part of a table."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def is_here(source: str) -> bool:
    """Tell whether a crowd can be drawn, or the data of a data set are here.

    >>> is_here("binary SYN.N")
    True
    """
    return source not in DATASETS or find_folder(source_of(source)) is not None


def settings_of(table: Table, *, as_labelled: bool = False) -> list[Setting]:
    """Return the experiments behind a table, where there are data.

    >>> from paper.reported_tables import TABLES
    >>> settings = settings_of(TABLES["table-3"])
    >>> {"ranking SYN.N", "ranking SYN.HS"} <= {setting.source for setting in settings}
    True
    """
    return [
        interpretation.setting(part.columns)
        for part in table.parts
        for _, interpretation in _interpretations(part, as_labelled=as_labelled)
        if is_here(interpretation.source)
    ]


def fill(table: Table, results: Results, *, as_labelled: bool = False) -> list[Section]:
    """Put the results into the cells of a table.

    >>> from dataclasses import replace
    >>> from paper.experiments import run
    >>> from paper.reported_tables import TABLES
    >>> table = TABLES["table-A"]
    >>> small = replace(table, parts=(replace(table.parts[0], rows=table.rows[:1], columns=("GTM",)),))
    >>> [section] = fill(small, run(settings_of(small), repetitions=100, jobs=1))
    >>> [(line.label, line.cells[0].printed.percent, line.cells[0].percent < 0) for line in section.lines]
    [('SYN.N', -27.0, True), ('SYN.N → SYN.N, truncated', -27.0, True)]
    """
    sections = []
    for part in table.parts:
        pairs = _interpretations(part, as_labelled=as_labelled)
        lines = tuple(_line(row, interpretation, part.columns, results) for row, interpretation in pairs)
        sections.append(Section(title=part.title, columns=part.columns, lines=lines))
    return sections


def _interpretations(part: Part, *, as_labelled: bool) -> list[tuple[Row, Interpretation]]:
    """List rows and what they are read as; a second interpretation of a row comes after the first."""
    pairs = []
    for row in part.rows:
        interpretation = interpret_row(row, as_labelled=as_labelled)
        pairs += [(row, each) for each in (interpretation, interpretation.beside()) if each is not None]
    return pairs


def _line(row: Row, interpretation: Interpretation, columns: tuple[str, ...], results: Results) -> Line:
    setting = interpretation.setting(columns)
    scores = {}
    if setting in results.errors:
        by = "ri" if interpretation.measure == "ri" else "error"
        scores = {score.method: score for score in results.scores(setting, by=by)}
    cells = tuple(
        Cell(
            column=column,
            method=interpretation.method(column),
            printed=printed_row(row, column),
            score=scores.get(interpretation.method(column)),
            measure=interpretation.measure,
        )
        for column in columns
    )
    return Line(row=row, interpretation=interpretation, cells=cells)
