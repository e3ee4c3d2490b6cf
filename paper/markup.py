"""Tables as people read them: Markdown, LaTeX, and one record per cell for CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paper.cells import Cell, Line, Section
    from paper.reported_tables import Table

__all__ = ["markdown_rows", "to_latex", "to_markdown", "to_records"]

_MEASURES = {"ri": "RI", "change": "change"}
_MARKDOWN = {"best": "<u>**{}**</u>", "tie": "**{}**", "worse than UA": "*{}*", "": "{}"}
_LATEX = {
    "best": r"\underline{{\textbf{{{}}}}}",
    "tie": r"\textbf{{{}}}",
    "worse than UA": r"\textcolor{{gray}}{{{}}}",
    "": "{}",
}
_ESCAPED = {"&": r"\&", "%": r"\%", "_": r"\_", "→": r"$\to$"}


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Write a table in Markdown; all columns but the first ones hold numbers.

    >>> print(markdown_rows(["data", "RI"], [["DOTS3", "-1.0"]]))
    | data | RI |
    | --- | ---: |
    | DOTS3 | -1.0 |
    """
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def to_markdown(sections: Iterable[Section]) -> str:
    r"""Write the parts of a table, with three lines for each row: our numbers, the paper's, and the differences.

    Best numbers are underlined and bold, those that do not differ from the best are bold, and those worse than UA are
    in italics.

    >>> from paper.experiments import Results
    >>> from paper.cells import fill
    >>> from paper.reported_tables import TABLES
    >>> print("\n".join(to_markdown(fill(TABLES["table-3"], Results({}))).splitlines()[-4:]))
    | ETCH | no data |  |  |  |  |  |
    |  | paper | -28 | -39 | -39 | <u>**-43**</u> | **-42** |
    | ETCH | no data |  |  |  |  |  |
    |  | paper | -1 | -2 | <u>**-4**</u> | -2 | -2 |
    """
    parts = []
    for section in sections:
        rows = [row for line in section.lines for row in _rows(line, _MARKDOWN)]
        parts.append(f"**{section.title}**\n\n" + markdown_rows(["data", "", *section.columns], rows, words=2))
    return "\n\n".join(parts)


def to_latex(table: Table, sections: Iterable[Section]) -> str:
    r"""Write a table for LaTeX, which needs the packages booktabs and xcolor.

    >>> from paper.experiments import Results
    >>> from paper.cells import fill
    >>> from paper.reported_tables import TABLES
    >>> table = TABLES["table-3"]
    >>> print(to_latex(table, fill(table, Results({}))).splitlines()[3])
    Borda & & EXP & TOP2 & MAS & P-TD-D & iP-TD \\
    """
    lines = [rf"% {table.name}: {table.title}"]
    for section in sections:
        lines += [
            rf"\begin{{tabular}}{{ll{'r' * len(section.columns)}}}",
            r"\toprule",
            rf"{_escape(section.title)} & & {' & '.join(section.columns)} \\",
        ]
        for line in section.lines:
            lines.append(r"\midrule")
            lines += [rf"{_escape(row[0])} & {' & '.join(row[1:])} \\" for row in _rows(line, _LATEX)]
        lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def to_records(table: Table, sections: Iterable[Section]) -> list[dict[str, Any]]:
    """Return one record per cell, with everything that is known about it; shares and changes are in percent.

    >>> from paper.experiments import Results
    >>> from paper.cells import fill
    >>> from paper.reported_tables import TABLES
    >>> table = TABLES["table-3"]
    >>> records = to_records(table, fill(table, Results({})))
    >>> len(records), records[0]["label"], records[0]["paper"]
    (110, 'SYN.HS', -5.0)
    """
    return [
        _record(table, section, line, cell) for section in sections for line in section.lines for cell in line.cells
    ]


def _rows(line: Line, marks: dict[str, str]) -> list[list[str]]:
    """Return the three lines of a row; where there are no data, two."""
    printed = [marks[cell.printed.mark].format(f"{cell.printed.percent:.0f}") for cell in line.cells]
    if not any(cell.score for cell in line.cells):
        return [[line.label, "no data", *("" for _ in line.cells)], ["", "paper", *printed]]
    ours = _each(line, lambda cell: marks[cell.mark].format(_number(cell.percent)))
    differences = _each(line, lambda cell: f"{cell.difference:+.1f}")
    return [
        [line.label, f"{_MEASURES[line.interpretation.measure]} here", *ours],
        ["", "paper", *printed],
        ["", "difference", *differences],
    ]


def _each(line: Line, write: Callable[[Cell], str]) -> list[str]:
    return [write(cell) if not math.isnan(cell.percent) else "" for cell in line.cells]


def _number(value: float) -> str:
    """Write a number with one digit, and never -0.0."""
    return f"{round(value, 1) + 0.0:.1f}"


def _escape(text: str) -> str:
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def _record(table: Table, section: Section, line: Line, cell: Cell) -> dict[str, Any]:
    interpretation, score = line.interpretation, cell.score
    facts = {
        "table": table.name,
        "part": section.title,
        "label": line.row.dataset,
        "group": line.row.group,
        "read_as": interpretation.dataset,
        "source": interpretation.source,
        "rule": str(interpretation.rule),
        "workers": interpretation.workers,
        "tasks": interpretation.tasks,
        "measure": interpretation.measure,
        "column": cell.column,
        "method": cell.method,
        "here": cell.percent,
        "paper": cell.printed.percent,
        "difference": cell.difference,
        "se": cell.se,
        "mark": cell.mark,
        "paper_mark": cell.printed.mark,
        "counts": interpretation.counts,
    }
    if score is None:
        return facts
    percents = {name: 100 * getattr(score, name) for name in ("ri", "ri_se", "change", "change_se", "dropped")}
    return {**facts, "repetitions": score.repetitions, "error": score.error, "error_se": score.error_se, **percents}
